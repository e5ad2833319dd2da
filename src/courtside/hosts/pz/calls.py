"""From a source to one PettingZoo env in which agents act at the same time, what it says about itself, and how the PettingZoo envs of a slice are called: actions by agent out of the shared arrays, what came of them into rows.

Every agent of `possible_agents` has its row in every step, whether it is there or not:
- An agent that has left (`terminated` or `truncated` was set) keeps that flag and its last observation, and is paid 0,
  until the episode ends: when no agent is left that plays.
- An agent that has not joined yet counts as terminated, with zeros for an observation. In the step in which it joins, or
  comes back, its flag goes, its observation appears and it is paid 0: it did nothing for what it might be paid.
`absent` tells who these are; the env is not given their actions, unless it still lists them in `env.agents`.
No JAX here.
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from courtside import encoding, spaces
from courtside.errors import ConfigError, CourtsideError, EnvContractError, describe_error
from courtside.hosts.arrays import HostArrays
from courtside.hosts.calls import FAILURES
from courtside.hosts.facts import EnvFacts, join_agents
from courtside.hosts.gym.spaces import convert_action, convert_observation
from courtside.hosts.pz.kind import PREFIX, targets
from courtside.hosts.rows import EnvFault, describe_value, make_action_reader, make_obs_writer
from courtside.settings import gate
from courtside.settings.kinds import EnvSource
from courtside.settings.values import unknown_name

TO_PARALLEL = "wrap it with pettingzoo.utils.conversions.aec_to_parallel in a function of yours, and name that"


def build_env(source: EnvSource) -> Any:
    """One env from `pz:MODULE` (its `parallel_env`), `pz:MODULE:NAME` (a function or class that takes no arguments) or
    `pz:NAMESPACE/NAME`, as PettingZoo's own list has it."""
    pettingzoo, env_id = load(), source.id
    maker = _find_registered(pettingzoo, source.name) if "/" in source.name else _find_maker(source)
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


def build_drawn(source: EnvSource) -> Any:
    raise ConfigError("PettingZoo envs cannot be filmed; leave --video out.")


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


def _find_maker(source: EnvSource) -> Any:
    module, _, name = source.name.partition(":")
    if not module:
        raise ConfigError("The env 'pz:' names no module; write pz:MODULE or pz:MODULE:NAME.")
    try:
        return gate.load_maker(targets(source)[0])
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


def load() -> Any:
    """PettingZoo itself, or how to get it."""
    try:
        import pettingzoo
    except ModuleNotFoundError as error:
        raise ConfigError('PettingZoo is not installed; type: pip install "courtside[pettingzoo]"') from error
    return pettingzoo


class Answer(NamedTuple):
    """What `step` returned, by agent."""

    obs: Mapping
    reward: Mapping
    terminated: Mapping
    truncated: Mapping


class ParallelCalls:
    """See `hosts.calls.Calls`."""

    def __init__(self, envs: list[Any], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs, self.arrays = envs, arrays
        self.first_features = np.zeros_like(arrays.features)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._names = list(envs[0].possible_agents)
        self._agents: list[list[Any]] = [[] for _ in envs]
        """Whom each env lists in `agents` since its last answer: these it wants actions of."""
        self._terminated, self._truncated = np.ones_like(arrays.terminated), np.zeros_like(arrays.truncated)
        """Flags of the episode under way, which a reset clears: the shared ones still tell of the step before it."""
        packed = arrays.features.dtype == np.uint8
        self._writers = [make_obs_writer(seen, packed) for seen, _ in facts.agents]
        size_of = encoding.packed_size if packed else spaces.feature_size
        self._sizes = [size_of(seen) for seen, _ in facts.agents]
        self._readers = [make_action_reader(done) for _, done in facts.agents]
        count = facts.num_agents
        self._actions = arrays.actions if facts.per_agent else [arrays.actions[0][:, k] for k in range(count)]

    @property
    def absent(self) -> np.ndarray:
        return self._terminated | self._truncated

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        ended, faults = [], {}
        chosen = [read(action) for read, action in zip(self._readers, self._actions, strict=True)]
        by_name = dict(zip(self._names, chosen, strict=True))
        for i, env in enumerate(self.envs):
            self.arrays.busy_since[i] = time.monotonic()
            try:
                answer = _take_apart(env.step({name: by_name[name][i] for name in self._agents[i]}))
                self._take(i, answer)
            except FAILURES as error:
                faults[i] = error
                continue
            if (self._terminated[i] | self._truncated[i]).all():
                ended.append(i)
        return ended, faults

    def reset(self, i: int, seed: int | None) -> None:
        self.arrays.busy_since[i] = time.monotonic()
        found = self.envs[i].reset(seed=seed)
        if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], Mapping):
            raise EnvFault(
                f"reset() returned {describe_value(found)}, expected the pair (observations, infos) of dicts"
            )
        self._agents[i] = agents = self._list_agents(self.envs[i])
        if not agents:
            raise EnvFault("env.agents is empty after reset(), expected the agents that begin the episode")
        self.first_features[i] = 0
        for k, name in enumerate(self._names):
            self._terminated[i, k], self._truncated[i, k] = name not in agents, False
            if name in agents:
                self._write(self.first_features[i], k, found[0])

    def adopt(self, i: int, env: Any) -> None:
        self.envs[i] = env

    def _take(self, i: int, answer: Answer) -> None:
        """One env's answer into the rows of its agents."""
        a, before = self.arrays, self._agents[i]
        self._agents[i] = agents = self._list_agents(self.envs[i])
        a.final_features[i], a.reward[i] = a.features[i], 0.0
        for k, name in enumerate(self._names):
            if not (self._terminated[i, k] or self._truncated[i, k]):
                self._take_player(i, k, answer, name in agents)
            elif name in agents and _has_joined(answer, name, name in before):
                self._write(a.final_features[i], k, answer.obs)
                self._terminated[i, k] = self._truncated[i, k] = False
        a.terminated[i], a.truncated[i] = self._terminated[i], self._truncated[i]

    def _take_player(self, i: int, k: int, answer: Answer, stays: bool) -> None:
        """The row of an agent that took part in the step."""
        name, rows = self._names[k], self.arrays.final_features[i]
        for part, what in (
            (answer.reward, "reward"),
            (answer.terminated, "terminated"),
            (answer.truncated, "truncated"),
        ):
            if name not in part:
                raise EnvFault(f"step() gave no {what} for agent {name!r}, expected one for every agent that acted")
        terminated, truncated = bool(answer.terminated[name]), bool(answer.truncated[name])
        if not (stays or terminated or truncated):
            raise EnvFault(
                f"agent {name!r} left env.agents without being terminated or truncated, expected one of the two"
            )
        if answer.obs.get(name) is not None or not (terminated or truncated):
            self._write(rows, k, answer.obs)
        self.arrays.reward[i, k] = _number(name, answer.reward[name])
        self._terminated[i, k], self._truncated[i, k] = terminated, truncated and not terminated

    def _write(self, rows: np.ndarray, k: int, observations: Mapping) -> None:
        """The observation of agent k into its row; what is left of the row stays as it is."""
        name = self._names[k]
        if name not in observations:
            raise EnvFault(f"there is no observation for agent {name!r}, expected one for every agent in env.agents")
        try:
            self._writers[k](rows[k, : self._sizes[k]], observations[name])
        except EnvFault as fault:
            raise EnvFault(f"agent {name!r}: {fault}") from None

    def _list_agents(self, env: Any) -> list[Any]:
        agents = list(env.agents)
        for name in agents:
            if name not in self._names:
                raise EnvFault(f"env.agents holds {name!r}, expected only names of possible_agents: {self._names}")
        return agents


def _take_apart(found: Any) -> Answer:
    if not isinstance(found, tuple) or len(found) != 5:
        raise EnvFault(
            f"step() returned {describe_value(found)}, expected five dicts: observations, rewards, terminations, "
            "truncations, infos"
        )
    for part, name in zip(found, ("observations", "rewards", "terminations", "truncations"), strict=False):
        if not isinstance(part, Mapping):
            raise EnvFault(f"the {name} of step() are {describe_value(part)}, expected a dict by agent")
    return Answer(*found[:4])


def _has_joined(answer: Answer, name: Any, was_listed: bool) -> bool:
    """Whether an agent that was away and is in `env.agents` now takes part: the env may only have kept one that is done."""
    return not (answer.terminated.get(name, was_listed) or answer.truncated.get(name, False))


def _number(name: Any, reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise EnvFault(f"agent {name!r}: the reward is {reward!r:.40}, expected one number") from None


make_calls = ParallelCalls


def play_randomly(env: Any) -> Callable[[int], bool]:
    actions = {}
    for k, agent in enumerate(env.possible_agents):
        space = env.action_space(agent)
        space.seed(k)
        actions[agent] = [space.sample() for _ in range(32)]

    def step(count: int) -> bool:
        _, _, terminated, truncated, _ = env.step({agent: actions[agent][count % 32] for agent in env.agents})
        return all(terminated.get(agent) or truncated.get(agent) for agent in env.agents)

    return step
