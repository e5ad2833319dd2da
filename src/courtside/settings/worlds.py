"""Names of worlds, and where they lead; an unknown name lists the near ones. Nothing heavy is imported before it is asked for."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from courtside.errors import ConfigError, EnvContractError, describe_error
from courtside.settings import gate
from courtside.settings.kinds import EnvSource, Games, Kind, all_kinds, find_kind, owner_of
from courtside.settings.values import Option, read_options, signature_options, unknown_name

MULTIGRID, GAMES = "multigrid", "games"
GROUPS = {
    "classic": "classic control",
    MULTIGRID: "grid worlds of several agents",
    GAMES: "games of two agents, continuous",
    "duos": "two agents, continuous, with a known optimum",
    "probes": "tests with a known answer",
}
"""Group of worlds -> what it is."""


@dataclass(frozen=True)
class EnvEntry:
    """A world of ours."""

    name: str
    target: str
    """`module:callable` that builds it; the grid worlds share one, which is given the name."""
    about: str
    aliases: tuple[str, ...] = ()
    """Other names it answers to, such as Gymnasium's id of the same world."""
    group: str = "classic"


CLASSIC = (
    EnvEntry("cartpole", "courtside.envs.classic:CartPole", "balance a pole on a cart", ("CartPole-v1",)),
    EnvEntry("acrobot", "courtside.envs.classic:Acrobot", "swing a two-link arm up", ("Acrobot-v1",)),
    EnvEntry("mountain-car", "courtside.envs.classic:MountainCar", "rock a car out of a valley", ("MountainCar-v0",)),
    EnvEntry(
        "pendulum", "courtside.envs.classic:Pendulum", "swing a pendulum up with torque (continuous)", ("Pendulum-v1",)
    ),
)
GRIDS = tuple(
    EnvEntry(grid.name, "courtside.envs.multigrid.catalogue:make", grid.about, grid.aliases, MULTIGRID)
    for grid in importlib.import_module("courtside.envs.multigrid.catalogue").entries()
)
TENNIS = (EnvEntry("tennis", "courtside.envs.tennis.world:Tennis", "two rackets keep a ball in play", (), GAMES),)
DUOS = (
    EnvEntry("duo-meet", "courtside.envs.duo:Meet", "two agents meet half-way, paid together", (), "duos"),
    EnvEntry("duo-chase", "courtside.envs.duo:Chase", "a chaser and a runner, one pays the other", (), "duos"),
)
PROBES = tuple(
    EnvEntry(name, f"courtside.envs.probe:{kind}", f"probe: {about}", (), "probes")
    for name, kind, about in (
        ("probe-constant", "Constant", "the value is 1"),
        ("probe-observed-value", "ObservedValue", "the value is what is seen"),
        ("probe-discount", "Discount", "the reward comes one step later"),
        ("probe-action", "ActionChoice", "one action is the right one"),
        ("probe-observed-action", "ObservedAction", "the right action is what is seen"),
        ("probe-continuous", "Continuous", "the right number is what is seen"),
        ("probe-two-agents", "TwoAgents", "two agents, each with its own right action"),
        ("probe-time-limit", "TimeLimit", "tells a time limit from an end"),
        ("probe-multi-discrete", "MultiChoice", "several right choices at once"),
    )
)
RECALL = EnvEntry(
    "probe-memory", "courtside.envs.recall:Recall", "probe: name a cue that was shown before", (), "probes"
)
ENVS: tuple[EnvEntry, ...] = (*CLASSIC, *GRIDS, *TENNIS, *DUOS, *PROBES, RECALL)


def find_env(env_id: str) -> EnvSource:
    """Say where an env id leads, or which names come near it."""
    if (kind := owner_of(env_id)) is not None:
        return kind.read(env_id)
    if ":" in env_id:
        return EnvSource("module", env_id)
    name = env_id.removeprefix("courtside/").removesuffix("-v0") if env_id.startswith("courtside/") else env_id
    for entry in ENVS:
        if name.lower() == entry.name:
            return EnvSource("jax", entry.name)
        if name in entry.aliases:
            note = f"{name} runs as our JAX world {entry.name!r}"
            note += "." if entry.group in (MULTIGRID, GAMES) else f"; --env-id gym:{name} takes Gymnasium's own."
            return EnvSource("jax", entry.name, note=note)
    for kind in all_kinds():
        if (source := kind.look_up(env_id)) is not None:
            return source
    others = " Any Gymnasium env is gym:NAME, any Atari game atari:NAME."
    raise ConfigError(unknown_name("env", env_id, _nearby(name), "courtside envs") + others)


def _nearby(name: str) -> list[str]:
    """The names to look for near ones in: the original ids where the name looks like one of them."""
    if name.lower().startswith("multigrid"):
        return [alias for entry in GRIDS for alias in entry.aliases]
    return [*(entry.name for entry in ENVS), *(near for kind in all_kinds() for near in kind.near(name))]


def find_entry(name: str) -> EnvEntry:
    """A world of ours by its own name."""
    return next(entry for entry in ENVS if entry.name == name)


def world_options(name: str) -> tuple[Option, ...]:
    """What a world of ours can be told."""
    entry = find_entry(name)
    if entry.group == MULTIGRID:
        return _load_own("courtside.envs.multigrid.build:list_options")(name)
    return signature_options(_load_own(entry.target))


def _load_own(target: str) -> Any:
    """What an entry of ours names; what users name goes through `gate`."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def make_jax_env(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Build a world of ours by its name; options are text, as typed, or Python values."""
    entry, words = find_entry(name), {key.replace("-", "_"): value for key, value in (options or {}).items()}
    make = _load_own(entry.target)
    if entry.group == MULTIGRID:  # these read their options themselves, since some have several names
        return make(name, **words)
    return make(**read_options(name, world_options(name), words))


def build_world(source: EnvSource, options: Mapping[str, Any] | None = None) -> Any:
    """The JAX world that an env id leads to, told `options`; None where the env is stepped outside JAX by a host."""
    if source.kind == "jax":
        return make_jax_env(source.name, options)
    if (games := games_of(source)) is not None:
        games.give(source, options or {})  # raises where an option does not fit
        return None
    world = build_own(source.name, options) if source.kind == "module" else None
    if world is None and options:
        raise ConfigError(
            f"{source.name} is stepped outside JAX and takes no options, but {next(iter(options))!r} was given; "
            "leave it out, or name a function without arguments that builds the env with it (module:function)."
        )
    return world


def kind_of(source: EnvSource) -> Kind | None:
    """Who steps it; None where JAX does."""
    return None if source.kind == "jax" else find_kind(source.kind)


def games_of(source: EnvSource) -> Games | None:
    """What its kind says of its games, if they have names and options of their own."""
    kind = kind_of(source)
    return None if kind is None else kind.games


def give_options(source: EnvSource, options: Mapping[str, Any]) -> EnvSource:
    """The source as its host is given it; only games have options."""
    games = games_of(source)
    return source if games is None else games.give(source, options)


def outside_jax(env: str | EnvSource) -> EnvSource:
    """The source of an env that is for a host; one sentence where it is for none."""
    source = find_env(env) if isinstance(env, str) else env
    if source.kind == "jax":
        raise ConfigError(
            f"{source.name!r} is a JAX world, which needs no host; gym:NAME takes a Gymnasium env, pz:MODULE a PettingZoo one, "
            "atari:GAME an Atari game, gba:GAME one of the Game Boy Advance."
        )
    return source


def describe_game(env_id: str, options: Mapping[str, str]) -> tuple[EnvSource, dict[str, Any]] | None:
    """A game and its declared pipeline with these options; None where there is none to declare."""
    kind = owner_of(env_id)
    if kind is None or kind.games is None:
        return None
    source = kind.read(env_id)
    return (source, game) if (game := kind.games.describe(source, options)) else None


def targets_of(env: str | EnvSource) -> tuple[str, ...]:
    """The code that an env names, as `gate` knows it; none for ids that lead to what is installed by its registered name."""
    if isinstance(env, str):
        if ":" not in env:  # nor need it be known here: settings are read where the env is not installed too
            return ()
        env = find_env(env)
    kind = kind_of(env)
    return () if kind is None else kind.targets(env)


def stand_for(env_id: str) -> EnvSource:
    """Where an env id leads that the person at this command named themselves, functions included."""
    gate.allow(targets_of(env_id), own=True)
    return find_env(env_id)


def world_name(env_id: str) -> str:
    """Our name of a world, whichever name was typed; `gym:CartPole-v1` is the same task as `cartpole`."""
    source = find_env(env_id)
    if games_of(source) is not None:
        return source.bare_id
    return next((entry.name for entry in ENVS if source.name in entry.aliases), source.name)


def build_own(target: str, options: Mapping[str, Any] | None = None) -> Any:
    """The user's JAX world from `module:NAME`; None where NAME is a Gymnasium env, which its host builds itself.

    NAME is a class or a function, called with the options alone, or a world that is ready. Whether a JAX world keeps the
    contract is not looked at.
    """
    made = gate.load_maker(target, options or {})
    if isinstance(made, type) and _is_gymnasium(made):
        return None
    env = _call(target, made, options or {})
    if _is_gymnasium(type(env)):
        if env is made:
            raise ConfigError(
                f"{target} is one Gymnasium env, but training builds several; name its class, or a function that builds it."
            )
        with contextlib.suppress(Exception):  # it was built only to look at it
            env.close()
        return None
    if not any(hasattr(env, name) for name in ("spec", "reset", "step")):
        raise ConfigError(
            f"{target} gives a {type(env).__name__} without spec, reset and step; "
            "it must be a courtside world or a gymnasium.Env."
        )
    return env


def _call(target: str, made: Any, options: Mapping[str, Any]) -> Any:
    """What a class or function builds; anything else is taken as it is."""
    from courtside.types import EnvSpec

    is_ready = not isinstance(made, type) and isinstance(getattr(made, "spec", None), EnvSpec)
    is_maker = not is_ready and gate.may_call(target, made)
    values = read_options(target, signature_options(made) if is_maker else (), options)
    if not is_maker:
        return made
    try:
        return made(**values)
    except Exception as error:
        raise EnvContractError(
            f"{target} could not be built: {describe_error(error)}. It must be buildable without arguments; "
            f"`courtside check {target}` tries it."
        ) from error


def _is_gymnasium(kind: type) -> bool:
    """By the name of the package, so that it need not be installed to ask."""
    return any(base.__module__.partition(".")[0] == "gymnasium" for base in kind.__mro__)
