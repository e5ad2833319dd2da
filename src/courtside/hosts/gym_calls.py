"""How the Gymnasium envs of a slice are called: the action out of the shared arrays, what came of it into them. No JAX here."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from courtside.hosts.arrays import HostArrays
from courtside.hosts.facts import EnvFacts
from courtside.hosts.faults import FAILURES, Fault, describe_value
from courtside.hosts.gym_spaces import make_action_reader, make_obs_writer


class GymCalls:
    """See `kinds.Calls`. The one agent of an env is always there."""

    def __init__(self, envs: list[Any], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs, self._steps = envs, [env.step for env in envs]
        self.first_features, self.absent = np.zeros_like(arrays.features), np.zeros_like(arrays.absent)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._write = make_obs_writer(facts.observation, arrays.features.dtype == np.uint8)
        self._read_actions = make_action_reader(facts.action)
        self._action, self._reward, self._busy_since = arrays.actions[0][:, 0], arrays.reward[:, 0], arrays.busy_since
        self._terminated, self._truncated = arrays.terminated[:, 0], arrays.truncated[:, 0]
        self._final_rows = list(arrays.final_features[:, 0])

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        """The hot loop: `step` of each env into its row."""
        now, write, rows, reward, busy_since = (
            time.monotonic,
            self._write,
            self._final_rows,
            self._reward,
            self._busy_since,
        )
        ended, faults = [], {}
        self._terminated.fill(False)
        self._truncated.fill(False)
        for i, (step, action) in enumerate(zip(self._steps, self._read_actions(self._action), strict=True)):
            busy_since[i] = now()
            try:
                obs, reward[i], terminated, truncated, _ = step(action)
                write(rows[i], obs)
                if terminated or truncated:
                    self._terminated[i], self._truncated[i] = terminated, truncated and not terminated
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        return ended, faults

    def reset(self, i: int, seed: int | None) -> None:
        self._busy_since[i] = time.monotonic()
        found = self.envs[i].reset(seed=seed)
        if not isinstance(found, tuple) or len(found) != 2:
            raise Fault(f"reset() returned {describe_value(found)}, expected the pair (observation, info)")
        self._write(self.first_features[i, 0], found[0])

    def adopt(self, i: int, env: Any) -> None:
        self.envs[i], self._steps[i] = env, env.step


def play_randomly(env: Any) -> Callable[[int], bool]:
    """A function that takes random step number `count` and says whether the episode ended; actions are drawn beforehand."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(32)]

    def step(count: int) -> bool:
        _, _, terminated, truncated, _ = env.step(actions[count % 32])
        return bool(terminated or truncated)

    return step
