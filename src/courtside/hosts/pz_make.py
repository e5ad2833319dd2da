"""From `pz:MODULE` to one PettingZoo env in which agents act at the same time, and what it says about itself. No JAX here."""

from __future__ import annotations

import functools
import sys
from typing import Any

from courtside.errors import ConfigError, CourtsideError, EnvContractError, describe_error
from courtside.hosts.facts import EnvFacts, join_agents
from courtside.hosts.gym_spaces import convert_action, convert_observation
from courtside.settings import gate
from courtside.settings.values import unknown_name
from courtside.settings.worlds import pz_targets

PREFIX = "pz:"
TO_PARALLEL = "wrap it with pettingzoo.utils.conversions.aec_to_parallel in a function of yours, and name that"


def build_env(env_id: str) -> Any:
    """One env from `pz:MODULE` (its `parallel_env`), `pz:MODULE:NAME` (a function or class that takes no arguments) or
    `pz:NAMESPACE/NAME`, as PettingZoo's own list has it."""
    pettingzoo, name = import_pettingzoo(), env_id.removeprefix(PREFIX)
    maker = _find_registered(pettingzoo, name) if "/" in name else _find_maker(name)
    if not callable(maker) or gate.is_env_class(type(maker)):
        raise ConfigError(
            f"{env_id} names a {type(maker).__name__}, but training builds several envs; name a class, or a function "
            "that builds one."
        )
    try:
        env = maker()
    except Exception as error:
        raise EnvContractError(
            f"{env_id} could not be built: {describe_error(error)}. It must be buildable without arguments."
        ) from error
    if isinstance(env, pettingzoo.AECEnv):
        raise EnvContractError(
            f"{env_id} gives an AEC env, whose agents take turns; expected a ParallelEnv: {TO_PARALLEL}."
        )
    if not isinstance(env, pettingzoo.ParallelEnv):
        raise EnvContractError(f"{env_id} gives a {type(env).__name__}, expected a pettingzoo.ParallelEnv.")
    return env


def _find_registered(pettingzoo: Any, name: str) -> Any:
    """PettingZoo keeps a list of names since 1.27."""
    try:
        pettingzoo.spec("parallel", name)
    except Exception as error:
        known: list[str] = list(getattr(pettingzoo, "parallel_registry", ()))
        if name in getattr(pettingzoo, "aec_registry", ()):
            raise ConfigError(
                f"The agents of {PREFIX}{name} take turns, expected a ParallelEnv: {TO_PARALLEL}."
            ) from error
        raise ConfigError(unknown_name("PettingZoo env", name, known)) from error
    return functools.partial(pettingzoo.make, "parallel", name)


def _find_maker(target: str) -> Any:
    module, _, name = target.partition(":")
    if not module:
        raise ConfigError("The env 'pz:' names no module; write pz:MODULE or pz:MODULE:NAME.")
    try:
        return gate.load_maker(pz_targets(target)[0])
    except ConfigError:
        if name or module not in sys.modules:
            raise
    found = sys.modules[module]
    if hasattr(found, "env"):
        raise ConfigError(
            f"The module {module!r} has only env(), whose agents take turns, no {gate.CONVENTION}(): {TO_PARALLEL}."
        )
    raise ConfigError(
        f"The module {module!r} has no {gate.CONVENTION}(); name the class or function that builds the env: {PREFIX}{module}:NAME."
    )


def describe_env(env_id: str, env: Any) -> EnvFacts:
    """All agents that can ever take part, in the order of `possible_agents`, and their spaces in our terms."""
    agents = list(getattr(env, "possible_agents", ()))
    names = tuple(map(str, agents))
    if not agents or len(set(names)) < len(names):
        raise EnvContractError(
            f"{env_id} has the possible_agents {agents}; expected the distinct names of all agents that may take part: "
            "set it in __init__."
        )
    return join_agents(names, tuple(_describe_agent(env_id, env, agent) for agent in agents))


def _describe_agent(env_id: str, env: Any, agent: Any) -> tuple[Any, Any]:
    try:
        return convert_observation(env.observation_space(agent)), convert_action(env.action_space(agent))
    except CourtsideError as error:
        raise EnvContractError(f"{env_id}, agent {agent!r}: {error}") from None
    except Exception as error:
        raise EnvContractError(
            f"{env_id} has no observation_space or action_space for agent {agent!r}: {describe_error(error)}. "
            "Both are functions of the agent."
        ) from error


def import_pettingzoo() -> Any:
    """PettingZoo itself, or how to get it."""
    try:
        import pettingzoo
    except ModuleNotFoundError as error:
        raise ConfigError('PettingZoo is not installed; type: pip install "courtside[pettingzoo]"') from error
    return pettingzoo
