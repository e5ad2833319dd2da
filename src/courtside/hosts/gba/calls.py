"""How the GBA games of a slice are called: the action out of the shared arrays, what came of it into them. No JAX here."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from courtside.hosts.arrays import HostArrays
from courtside.hosts.facts import EnvFacts
from courtside.hosts.faults import FAILURES
from courtside.hosts.gba.game import GbaGame


class GbaCalls:
    """See `kinds.Calls`. The one agent of a game is always there, and an episode is all there is of a game."""

    def __init__(self, envs: list[GbaGame], arrays: HostArrays, facts: EnvFacts) -> None:
        self.envs = envs
        self.first_features, self.absent = np.zeros_like(arrays.features), np.zeros_like(arrays.absent)
        self.games: dict[int, tuple[float, int]] = {}
        self.notices: list[str] = []
        self._arrays, self._actions = arrays, arrays.actions[0][:, 0]

    def step(self) -> tuple[list[int], dict[int, BaseException]]:
        ended, faults = [], {}
        for i, (env, action) in enumerate(zip(self.envs, self._actions.tolist(), strict=True)):
            self._arrays.busy_since[i] = time.monotonic()
            try:
                if self._step_one(i, env, action):
                    ended.append(i)
            except FAILURES as error:
                faults[i] = error
        return ended, faults

    def _step_one(self, i: int, env: GbaGame, action: int) -> bool:
        """Step one game into its row; says whether the episode ended."""
        arrays = self._arrays
        obs, arrays.reward[i, 0], terminated, truncated, _ = env.step(action)
        arrays.final_features[i, 0] = obs.reshape(-1)
        arrays.terminated[i, 0], arrays.truncated[i, 0] = terminated, truncated and not terminated
        arrays.told[i] = env.totals
        if env.logbook.notices:
            self.notices += env.logbook.notices
            env.logbook.notices.clear()
        return terminated or truncated

    def reset(self, i: int, seed: int | None) -> None:
        self._arrays.busy_since[i] = time.monotonic()
        self.first_features[i, 0] = self.envs[i].reset(seed).reshape(-1)

    def adopt(self, i: int, env: GbaGame) -> None:
        self.envs[i] = env


def play_randomly(env: GbaGame) -> Callable[[int], bool]:
    """A function that takes random step number `count` and says whether the episode ended; actions are drawn beforehand."""
    actions = np.random.default_rng(0).integers(env.action.n, size=32).tolist()

    def step(count: int) -> bool:
        _, _, terminated, truncated, _ = env.step(actions[count % 32])
        return terminated or truncated

    return step
