"""Names of worlds, and where they lead; an unknown name lists the near ones. Nothing heavy is imported before it is asked for."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from courtside.errors import ConfigError, EnvContractError, describe_error
from courtside.settings import gate
from courtside.settings.kinds import atari_ids, gba_ids
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


@dataclass(frozen=True)
class EnvSource:
    """Where an env id leads: `jax` (a world of ours), `gym` (a Gymnasium id), `pz` (PettingZoo), `atari` and `gba` (a game and
    what it is told) or `module` (the user's)."""

    kind: str
    name: str
    note: str = ""


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
    prefix, colon, rest = env_id.partition(":")
    if prefix == atari_ids.KIND and colon:
        return EnvSource(prefix, atari_ids.write_name(*atari_ids.read_name(rest)))
    if (game := gba_ids.recognise(env_id)) is not None:
        return EnvSource(gba_ids.KIND, gba_ids.write_name(*gba_ids.read_name(game)))
    if colon:
        return EnvSource(prefix, rest) if prefix in ("gym", "pz") else EnvSource("module", env_id)
    name = env_id.removeprefix("courtside/").removesuffix("-v0") if env_id.startswith("courtside/") else env_id
    for entry in ENVS:
        if name.lower() == entry.name:
            return EnvSource("jax", entry.name)
        if name in entry.aliases:
            return EnvSource("jax", entry.name, _alias_note(entry, name))
    if (found := atari_ids.recognise(env_id)) is not None:
        return EnvSource(atari_ids.KIND, found.name, found.note)
    if _in_gymnasium(env_id):
        return EnvSource(
            "gym", env_id, f"{env_id} is not a world of ours, so Gymnasium's own is used (--env-id gym:{env_id})."
        )
    others = " Any Gymnasium env is gym:NAME, any Atari game atari:NAME."
    raise ConfigError(unknown_name("env", env_id, _nearby(name), "courtside envs") + others)


def _alias_note(entry: EnvEntry, alias: str) -> str:
    runs = f"{alias} runs as our JAX world {entry.name!r}"
    return f"{runs}." if entry.group in (MULTIGRID, GAMES) else f"{runs}; --env-id gym:{alias} takes Gymnasium's own."


def _nearby(name: str) -> list[str]:
    """The names to look for near ones in: the original ids where the name looks like one of them."""
    if name.lower().startswith("multigrid"):
        return [alias for entry in GRIDS for alias in entry.aliases]
    return [*(entry.name for entry in ENVS), *atari_ids.near_games(name)]


def find_entry(name: str) -> EnvEntry:
    """A world of ours by its own name."""
    return next(entry for entry in ENVS if entry.name == name)


def world_options(name: str) -> tuple[Option, ...]:
    """What a world of ours can be told."""
    entry = find_entry(name)
    if entry.group == MULTIGRID:
        return _load_own("courtside.envs.multigrid.option_list:list_options")(name)
    return signature_options(_load_own(entry.target))


def _load_own(target: str) -> Any:
    """What an entry of ours names; what users name goes through `gate`."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def make_jax_env(name: str, options: Mapping[str, Any] | None = None) -> Any:
    """Build a world of ours by its name; options are text, as typed, or Python values."""
    entry, told = find_entry(name), {key.replace("-", "_"): value for key, value in (options or {}).items()}
    make = _load_own(entry.target)
    if entry.group == MULTIGRID:  # these read their options themselves, since some have several names
        return make(name, **told)
    return make(**read_options(name, world_options(name), told))


def build_world(source: EnvSource, options: Mapping[str, Any] | None = None) -> Any:
    """The JAX world that an env id leads to, told `options`; None where the env is stepped outside JAX by a host."""
    if source.kind == "jax":
        return make_jax_env(source.name, options)
    if source.kind in (atari_ids.KIND, gba_ids.KIND):
        tell_host(source, options)  # raises where an option does not fit
        return None
    world = build_own(source.name, options) if source.kind == "module" else None
    if world is None and options:
        raise ConfigError(
            f"{source.name} is stepped outside JAX and takes no options, but {next(iter(options))!r} was given; "
            "leave it out, or name a function without arguments that builds the env with it (module:function)."
        )
    return world


def tell_host(source: EnvSource, options: Mapping[str, Any] | None) -> EnvSource:
    """The source with what the env is told in its name, as its workers are given it; only games can be told something."""
    if source.kind == gba_ids.KIND:
        from courtside.settings.kinds import gba_options as gba

        named = gba.tell(source.name, options or {})
        gba.require_rom(named)
        return dataclasses.replace(source, name=named)
    if source.kind != atari_ids.KIND:
        return source
    from courtside.settings.kinds import atari_options

    return dataclasses.replace(source, name=atari_options.tell(source.name, options or {}))


def targets_of(env_id: str) -> tuple[str, ...]:
    """The code that an env id names, as `gate` knows it; none for ids that lead to what is installed by its registered name."""
    if ":" not in env_id:  # nor need it be known here: settings are read where the env is not installed too
        return ()
    source = find_env(env_id)
    if source.kind == "module":
        return (source.name,)
    if source.kind == "pz":
        return pz_targets(source.name)
    if source.kind == "gym" and ":" in source.name:
        return (f"{source.name.partition(':')[0]}:",)
    game = gba_ids.read_name(source.name)[0] if source.kind == gba_ids.KIND else ""
    return (gba_ids.target_of(game),) if game and game not in gba_ids.GAMES else ()


def stand_for(env_id: str) -> EnvSource:
    """Where an env id leads that the person at this command named themselves, functions included."""
    gate.allow(targets_of(env_id), own=True)
    return find_env(env_id)


def pz_targets(name: str) -> tuple[str, ...]:
    """A module alone means its `parallel_env`; names with a slash are from PettingZoo's own list."""
    if "/" in name:
        return ()
    module, _, maker = name.partition(":")
    return (f"{module}:{maker or gate.CONVENTION}",)


def tell_folder(source: EnvSource, folder: str, seed: int, num_envs: int) -> EnvSource:
    """The source for envs that are trained on, which may leave something in the run folder; only GBA games do."""
    told = {"folder": folder, "first_seed": seed, "num_envs": num_envs}
    return tell_host(source, told) if source.kind == gba_ids.KIND else source


def world_name(env_id: str) -> str:
    """Our name of a world, whichever name was typed; `gym:CartPole-v1` is the same task as `cartpole`."""
    source = find_env(env_id)
    if source.kind == atari_ids.KIND:
        return f"{atari_ids.PREFIX}{atari_ids.read_name(source.name)[0]}"
    if source.kind == gba_ids.KIND:
        return f"{gba_ids.PREFIX}{gba_ids.read_name(source.name)[0]}"
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


def _in_gymnasium(env_id: str) -> bool:
    """Whether Gymnasium knows the id; False where it is not installed."""
    if importlib.util.find_spec("gymnasium") is None:
        return False
    import gymnasium

    return env_id in gymnasium.registry
