"""How the PettingZoo envs of a slice are called: actions by agent out of the shared arrays, what came of them into rows.

Every agent of `possible_agents` has its row in every step, whether it is there or not:
- An agent that has left (`terminated` or `truncated` was set) keeps that flag and its last observation, and is paid 0,
  until the episode ends: when no agent is left that plays.
- An agent that has not joined yet counts as terminated, with zeros for an observation. In the step in which it joins, or
  comes back, its flag goes, its observation appears and it is paid 0: it did nothing for what it might be paid.
`absent` tells who these are; the env is not given their actions, unless it still lists them in `env.agents`.
No JAX here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from courtside import encoding, spaces
from courtside.hosts.arrays import HostArrays
from courtside.hosts.facts import EnvFacts
from courtside.hosts.faults import FAILURES, Fault, describe_value
from courtside.hosts.gym_spaces import make_action_reader, make_obs_writer


class Answer(NamedTuple):
    """What `step` returned, by agent."""

    obs: Mapping
    reward: Mapping
    terminated: Mapping
    truncated: Mapping


class ParallelCalls:
    """See `kinds.Calls`."""

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
            raise Fault(f"reset() returned {describe_value(found)}, expected the pair (observations, infos) of dicts")
        self._agents[i] = agents = self._list_agents(self.envs[i])
        if not agents:
            raise Fault("env.agents is empty after reset(), expected the agents that begin the episode")
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
                raise Fault(f"step() gave no {what} for agent {name!r}, expected one for every agent that acted")
        terminated, truncated = bool(answer.terminated[name]), bool(answer.truncated[name])
        if not (stays or terminated or truncated):
            raise Fault(
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
            raise Fault(f"there is no observation for agent {name!r}, expected one for every agent in env.agents")
        try:
            self._writers[k](rows[k, : self._sizes[k]], observations[name])
        except Fault as fault:
            raise Fault(f"agent {name!r}: {fault}") from None

    def _list_agents(self, env: Any) -> list[Any]:
        agents = list(env.agents)
        for name in agents:
            if name not in self._names:
                raise Fault(f"env.agents holds {name!r}, expected only names of possible_agents: {self._names}")
        return agents


def _take_apart(found: Any) -> Answer:
    if not isinstance(found, tuple) or len(found) != 5:
        raise Fault(
            f"step() returned {describe_value(found)}, expected five dicts: observations, rewards, terminations, "
            "truncations, infos"
        )
    for part, name in zip(found, ("observations", "rewards", "terminations", "truncations"), strict=False):
        if not isinstance(part, Mapping):
            raise Fault(f"the {name} of step() are {describe_value(part)}, expected a dict by agent")
    return Answer(*found[:4])


def _has_joined(answer: Answer, name: Any, was_listed: bool) -> bool:
    """Whether an agent that was away and is in `env.agents` now takes part: the env may only have kept one that is done."""
    return not (answer.terminated.get(name, was_listed) or answer.truncated.get(name, False))


def _number(name: Any, reward: Any) -> float:
    try:
        return float(reward)
    except (TypeError, ValueError):
        raise Fault(f"agent {name!r}: the reward is {reward!r:.40}, expected one number") from None


def play_randomly(env: Any) -> Callable[[int], bool]:
    """A function that takes random step number `count` and says whether the episode ended; actions are drawn beforehand."""
    actions = {}
    for k, agent in enumerate(env.possible_agents):
        space = env.action_space(agent)
        space.seed(k)
        actions[agent] = [space.sample() for _ in range(32)]

    def step(count: int) -> bool:
        _, _, terminated, truncated, _ = env.step({agent: actions[agent][count % 32] for agent in env.agents})
        return all(terminated.get(agent) or truncated.get(agent) for agent in env.agents)

    return step
