"""From an env id to one Gymnasium env, and what it says about itself. No JAX here."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

from courtside.errors import ConfigError, CourtsideError, EnvContractError, describe_error
from courtside.hosts.atari.game import import_ale
from courtside.hosts.atari.ids import is_of_game
from courtside.hosts.facts import EnvFacts
from courtside.hosts.gym_spaces import convert_action, convert_observation
from courtside.settings import gate
from courtside.settings.values import unknown_name


def build_env(env_id: str) -> Any:
    """One Gymnasium env, with the wrappers it was registered with except Gymnasium's own checker: ours runs instead."""
    gymnasium = import_gymnasium()
    prefix, _, name = env_id.partition(":")
    try:
        env = make_registered(name) if prefix == "gym" else gate.load_maker(env_id)()
    except CourtsideError:
        raise
    except Exception as error:
        raise EnvContractError(
            f"{env_id} could not be built: {describe_error(error)}. It must be buildable without arguments."
        ) from error
    if not isinstance(env, gymnasium.Env):
        raise EnvContractError(f"{env_id} gives a {type(env).__name__}, expected a gymnasium.Env.")
    return env


def describe_env(env_id: str, env: Any) -> EnvFacts:
    """Its spaces in our terms, and its time limit where it has one."""
    limit = getattr(getattr(env, "spec", None), "max_episode_steps", None)
    try:
        return EnvFacts(convert_observation(env.observation_space), convert_action(env.action_space), limit)
    except EnvContractError as error:
        raise EnvContractError(f"{env_id}: {error}") from None
    except AttributeError as error:
        raise EnvContractError(f"{env_id} has no observation_space or action_space: {error}.") from error


def import_gymnasium() -> Any:
    """Gymnasium itself, or how to get it."""
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise ConfigError('Gymnasium is not installed; type: pip install "courtside[gym]"') from error
    return gymnasium


def _registered(name: str) -> str:
    """The name behind that of a module, which is imported; Gymnasium itself would import whatever stands before a colon."""
    module, colon, rest = name.partition(":")
    if not colon:
        return name
    if ":" in rest or not rest:
        raise ConfigError(f"gym:{name} cannot be read; write gym:NAME, or gym:MODULE:NAME.")
    gate.load_module(f"{module}:")
    return rest


def know_games(name: str) -> None:
    """Gymnasium knows the ids of Atari games only once their package was imported."""
    if is_of_game(name):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module("ale_py")


def make_registered(name: str, **options: Any) -> Any:
    """The env of `gym:NAME`, or of `gym:MODULE:NAME`, whose module registers it as it is imported."""
    gymnasium, name = import_gymnasium(), _registered(name)
    know_games(name)
    try:
        return gymnasium.make(name, disable_env_checker=True, **options)
    except gymnasium.error.UnregisteredEnv as error:
        if is_of_game(name):
            import_ale()  # says how to get it
        see = 'python -c "import gymnasium; gymnasium.pprint_registry()"'
        raise ConfigError(unknown_name("Gymnasium env", name, list(gymnasium.registry), see)) from error
    except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
        raise ConfigError(f"gym:{name} needs a package that is not installed: {describe_error(error)}.") from error
    except gymnasium.error.DeprecatedEnv as error:
        raise ConfigError(f"gym:{name} is no longer there: {describe_error(error)}.") from error
