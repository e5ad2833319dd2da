"""Names of worlds, and where they lead; an unknown name lists the near ones. Nothing heavy is imported before it is asked for."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any

from courtside.config import unknown_name
from courtside.errors import ConfigError, EnvContractError


@dataclass(frozen=True)
class EnvEntry:
    """A world of ours."""

    name: str
    target: str
    """`module:callable` that builds it."""
    about: str
    aliases: tuple[str, ...] = ()
    """Other names it answers to, such as Gymnasium's id of the same world."""


@dataclass(frozen=True)
class EnvSource:
    """Where an env id leads: `jax` (a world of ours), `gym` (a Gymnasium id) or `module` (the user's class)."""

    kind: str
    name: str
    note: str = ""


ENVS: tuple[EnvEntry, ...] = (
    EnvEntry("cartpole", "courtside.envs.classic:CartPole", "balance a pole on a cart", ("CartPole-v1",)),
    EnvEntry("acrobot", "courtside.envs.classic:Acrobot", "swing a two-link arm up", ("Acrobot-v1",)),
    EnvEntry("mountain-car", "courtside.envs.classic:MountainCar", "rock a car out of a valley", ("MountainCar-v0",)),
    EnvEntry(
        "pendulum", "courtside.envs.classic:Pendulum", "swing a pendulum up with torque (continuous)", ("Pendulum-v1",)
    ),
    EnvEntry("probe-constant", "courtside.envs.probe:Constant", "probe: the value is 1"),
    EnvEntry("probe-observed-value", "courtside.envs.probe:ObservedValue", "probe: the value is what is seen"),
    EnvEntry("probe-discount", "courtside.envs.probe:Discount", "probe: the reward comes one step later"),
    EnvEntry("probe-action", "courtside.envs.probe:ActionChoice", "probe: one action is the right one"),
    EnvEntry("probe-observed-action", "courtside.envs.probe:ObservedAction", "probe: the right action is what is seen"),
    EnvEntry("probe-continuous", "courtside.envs.probe:Continuous", "probe: the right number is what is seen"),
    EnvEntry("probe-two-agents", "courtside.envs.probe:TwoAgents", "probe: two agents, each with its own right action"),
    EnvEntry("probe-time-limit", "courtside.envs.probe:TimeLimit", "probe: tells a time limit from an end"),
    EnvEntry("probe-multi-discrete", "courtside.envs.probe:MultiChoice", "probe: several right choices at once"),
)


def find_env(env_id: str) -> EnvSource:
    """Say where an env id leads, or which names come near it."""
    prefix, colon, rest = env_id.partition(":")
    if colon and prefix == "gym":
        return EnvSource("gym", rest)
    if colon:
        return EnvSource("module", env_id)
    for entry in ENVS:
        if env_id.lower() == entry.name or env_id in entry.aliases:
            note = (
                f"{env_id} runs as our JAX world {entry.name!r}; --env-id gym:{env_id} takes Gymnasium's own."
                if env_id in entry.aliases
                else ""
            )
            return EnvSource("jax", entry.name, note)
    if _in_gymnasium(env_id):
        return EnvSource(
            "gym", env_id, f"{env_id} is not a world of ours, so Gymnasium's own is used (--env-id gym:{env_id})."
        )
    raise ConfigError(
        unknown_name("env", env_id, [e.name for e in ENVS], "courtside envs") + " Any Gymnasium env is gym:NAME."
    )


def make_jax_env(name: str) -> Any:
    """Build a world of ours by its name."""
    entry = next(e for e in ENVS if e.name == name)
    return load_object(entry.target)()


def world_name(env_id: str) -> str:
    """Our name of a world, whichever name was typed; `gym:CartPole-v1` is the same task as `cartpole`."""
    source = find_env(env_id)
    return next((entry.name for entry in ENVS if source.name in entry.aliases), source.name)


def build_own(target: str) -> Any:
    """The user's JAX world from `module:NAME`; None where NAME is a Gymnasium env, which its host builds itself.

    NAME is a class or a function, called without arguments, or a world that is ready. Whether a JAX world keeps the
    contract is not looked at.
    """
    made = load_object(target)
    if isinstance(made, type) and _is_gymnasium(made):
        return None
    env = _call(target, made)
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


def _call(target: str, made: Any) -> Any:
    """What a class or function builds; anything else is taken as it is."""
    from courtside.envs.base import EnvSpec

    is_ready = not isinstance(made, type) and isinstance(getattr(made, "spec", None), EnvSpec)
    if is_ready or not callable(made):
        return made
    try:
        return made()
    except Exception as error:
        raise EnvContractError(
            f"{target} could not be built: {_one_line(error)}. It must be buildable without arguments; "
            f"`courtside check {target}` tries it."
        ) from error


def _is_gymnasium(kind: type) -> bool:
    """By the name of the package, so that it need not be installed to ask."""
    return any(base.__module__.partition(".")[0] == "gymnasium" for base in kind.__mro__)


def load_object(target: str) -> Any:
    """Import `module:name`; a module in the current folder is found too, as with `python -m`."""
    module_name, _, attribute = target.partition(":")
    if not module_name or module_name.startswith("."):
        raise ConfigError(f"The env {target!r} names no module; write MODULE:CLASS, such as my_worlds:Maze.")
    module = _import(module_name, attribute)
    if not attribute or not hasattr(module, attribute):
        names = [n for n in dir(module) if not n.startswith("_")]
        raise ConfigError(unknown_name(f"class in {module_name}", attribute, names))
    return getattr(module, attribute)


def _import(module_name: str, attribute: str) -> Any:
    """Any code of the user's may raise as it is imported, and a script may leave."""
    _see_current_folder()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(error.name + ".")):
            raise ConfigError(
                f"There is no module {module_name!r} to take {attribute!r} from; start courtside where it can be imported."
            ) from error
        raise ConfigError(f"The module {module_name!r} needs {error.name!r}, which is not installed.") from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"The module {module_name!r} could not be imported: {_one_line(error)}. Mend that, "
            f"then try it with `courtside check {module_name}:{attribute}`."
        ) from error


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _see_current_folder() -> None:
    """The installed command, unlike `python -m`, does not look where the user stands."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())


def _in_gymnasium(env_id: str) -> bool:
    """Whether Gymnasium knows the id; False where it is not installed."""
    if importlib.util.find_spec("gymnasium") is None:
        return False
    import gymnasium

    return env_id in gymnasium.registry
