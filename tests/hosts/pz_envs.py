"""PettingZoo envs of every kind: agents that are unlike, that leave early, join late, and envs that go wrong on purpose."""

import os

import gymnasium
import numpy as np
import pettingzoo
from gymnasium import spaces

FAULT_STEP = 3


class Duet(pettingzoo.ParallelEnv):
    """Two agents with nothing in common: `scout` terminates after 3 steps, `hauler` is cut off after 5.

    Each is paid the sum of the action it gave, so that a test sees what arrived.
    """

    metadata = {"name": "duet"}  # noqa: RUF012
    possible_agents = ["scout", "hauler"]  # noqa: RUF012
    observation_spaces = {  # noqa: RUF012
        "scout": spaces.Dict({"sign": spaces.Discrete(3), "wind": spaces.Box(-1.0, 1.0, (1,), np.float32)}),
        "hauler": spaces.Box(-2.0, 2.0, (2, 3), np.float32),
    }
    action_spaces = {  # noqa: RUF012
        "scout": spaces.Discrete(3, start=5),
        "hauler": spaces.Box(-0.5, 0.5, (2,), np.float32),
    }

    def observation_space(self, agent):
        return self.observation_spaces[agent]

    def action_space(self, agent):
        return self.action_spaces[agent]

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.count = list(self.possible_agents), 0
        return self.look(), {agent: {} for agent in self.agents}

    def look(self):
        wind = self.rng.uniform(-1, 1, 1).astype(np.float32)
        load = self.rng.uniform(-2, 2, (2, 3)).astype(np.float32)
        seen = {"scout": {"sign": int(self.rng.integers(3)), "wind": wind}, "hauler": load}
        return {agent: seen[agent] for agent in self.agents}

    def step(self, actions):
        assert list(actions) == self.agents, f"actions of {list(actions)}, but {self.agents} are here"
        for agent, action in actions.items():
            assert self.action_space(agent).contains(action), f"{action!r} is not in {self.action_space(agent)}"
        self.count += 1
        obs, here = self.look(), self.agents
        rewards = {agent: float(np.sum(actions[agent])) for agent in here}
        terminated = {agent: agent == "scout" and self.count >= 3 for agent in here}
        truncated = {agent: agent == "hauler" and self.count >= 5 for agent in here}
        self.agents = [agent for agent in here if not (terminated[agent] or truncated[agent])]
        return obs, rewards, terminated, truncated, {agent: {} for agent in here}


class Trio(pettingzoo.ParallelEnv):
    """Three agents alike; each shows (steps, seed), is paid 1 + its number; `c` leaves after 2 steps, the rest after 4."""

    metadata = {"name": "trio"}  # noqa: RUF012
    possible_agents = ["a", "b", "c"]  # noqa: RUF012
    leaves_after = {"a": 4, "b": 4, "c": 2}  # noqa: RUF012
    seen_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    choice = spaces.Discrete(2)

    def __init__(self):
        self.total, self.start, self.agents = 0, -1, []

    def observation_space(self, agent):
        return self.seen_space

    def action_space(self, agent):
        return self.choice

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.start, self.total = seed, 0
        self.count, self.agents = 0, self.first_agents()
        return self.look(self.agents), {agent: {} for agent in self.agents}

    def first_agents(self):
        return list(self.possible_agents)

    def look(self, agents):
        return {agent: np.array([self.count, self.start], np.float32) for agent in agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.count += 1
        self.total += 1
        here = self.agents
        ended = {agent: self.count >= self.leaves_after[agent] for agent in here}
        self.agents = [agent for agent in here if not ended[agent]]
        rewards = {agent: 1.0 + self.possible_agents.index(agent) for agent in here}
        answer = self.look(here), rewards, ended, dict.fromkeys(here, False), {agent: {} for agent in here}
        return self.go_wrong(*answer) if self.total == FAULT_STEP and self.start == 1 else answer

    def go_wrong(self, *answer):
        """What those below do otherwise in step FAULT_STEP after a reset with seed 1."""
        return answer


class LateJoiner(Trio):
    """`b` joins in step 2 and stays to the end, unless seeded with 8: then it is there from the start."""

    def first_agents(self):
        return ["a", "b", "c"] if self.start == 8 else ["a", "c"]

    def step(self, actions):
        answer = super().step(actions)
        if self.count == 2:
            self.agents = [*self.agents, "b"]
            answer[0].update(self.look(["b"]))
        return answer


class ComesBack(Trio):
    """`c` leaves in step 2 and is there again after step 3."""

    leaves_after = {"a": 6, "b": 6, "c": 2}  # noqa: RUF012

    def step(self, actions):
        if "c" in self.agents and self.count >= 2:
            self.leaves_after = {**self.leaves_after, "c": 5}
        answer = super().step(actions)
        if self.count == 3:
            self.agents = [*self.agents, "c"]
            answer[0].update(self.look(["c"]))
        return answer


class KeepsTheDone(Trio):
    """Never takes an agent out of `agents`, as the first try of many a user does."""

    def step(self, actions):
        answer = super().step(actions)
        self.agents = list(self.possible_agents)
        return answer


class Raises(Trio):
    def go_wrong(self, *answer):
        raise ValueError("the rope tore")


class Dies(Trio):
    def go_wrong(self, *answer):
        os._exit(7)


class NanObservation(Trio):
    def go_wrong(self, obs, *rest):
        return {**obs, "b": np.array([0.0, np.nan], np.float32)}, *rest


class NanReward(Trio):
    def go_wrong(self, obs, rewards, *rest):
        return obs, {**rewards, "b": float("nan")}, *rest


class TextReward(Trio):
    def go_wrong(self, obs, rewards, *rest):
        return obs, {**rewards, "b": "much"}, *rest


class NewShape(Trio):
    def go_wrong(self, obs, *rest):
        return {**obs, "b": np.zeros(3, np.float32)}, *rest


class NoObservation(Trio):
    def go_wrong(self, obs, *rest):
        return {"a": obs["a"]}, *rest


class NoReward(Trio):
    def go_wrong(self, obs, rewards, *rest):
        return obs, {"a": rewards["a"]}, *rest


class LeavesWithoutFlag(Trio):
    def go_wrong(self, *answer):
        self.agents = ["a"]
        return answer


class Stranger(Trio):
    def go_wrong(self, *answer):
        self.agents = ["a", "b", "z"]
        return answer


class OldStep(Trio):
    def go_wrong(self, obs, rewards, terminated, truncated, infos):
        return obs, rewards, terminated, infos


class ListReward(Trio):
    def go_wrong(self, obs, rewards, *rest):
        return obs, [1.0, 2.0], *rest


class EmptyReset(Trio):
    def first_agents(self):
        return []


class OwnDice(Trio):
    def look(self, agents):
        return {agent: np.random.default_rng().normal(size=2).astype(np.float32) for agent in agents}


class Nobody(Trio):
    possible_agents = []  # noqa: RUF012


class TakesText(Trio):
    choice = spaces.Text(3)


class CannotBuild(Trio):
    def __init__(self):
        raise RuntimeError("no licence")


class InTurns(pettingzoo.AECEnv):
    """Agents that act one after the other."""


def make_gym():
    return gymnasium.make("CartPole-v1")


class Mirror(pettingzoo.ParallelEnv):
    """Quickly learned: `left` and `right` each see a number and are paid for naming its sign, for 8 steps."""

    metadata = {"name": "mirror"}  # noqa: RUF012
    possible_agents = ["left", "right"]  # noqa: RUF012
    seen_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
    choice = spaces.Discrete(2)

    def observation_space(self, agent):
        return self.seen_space

    def action_space(self, agent):
        return self.choice

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.count = list(self.possible_agents), 0
        return self.look(), {agent: {} for agent in self.agents}

    def look(self):
        self.shown = {agent: self.rng.uniform(-1, 1, 1).astype(np.float32) for agent in self.possible_agents}
        return self.shown

    def step(self, actions):
        rewards = {agent: float(actions[agent] == (self.shown[agent][0] > 0)) for agent in self.agents}
        self.count += 1
        here, self.agents = self.agents, self.agents if self.count < 8 else []
        flags = dict.fromkeys(here, False), dict.fromkeys(here, self.count >= 8)
        return self.look(), rewards, *flags, {agent: {} for agent in here}


parallel_env = Mirror
ready = Mirror()


class Pixels(LateJoiner):
    """The same in bytes."""

    seen_space = spaces.Box(0, 255, (2,), np.uint8)

    def look(self, agents):
        return {agent: np.array([self.count, self.start], np.uint8) for agent in agents}


class Letters(LateJoiner):
    """The same as one choice, which is never all zeros once it is a row of numbers."""

    seen_space = spaces.Discrete(9)

    def look(self, agents):
        return dict.fromkeys(agents, self.count)
