"""`courtside check atari:GAME`: whether the game runs here, and the same seed gives the same game."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np

from courtside import spaces
from courtside.envs.findings import CheckResult, run_in_order
from courtside.hosts.atari.game import AtariGame
from courtside.hosts.trial import AFTERWARDS, RUNS, Played, Seen, Trial


class Shown:
    """A space that can be asked as Gymnasium's can."""

    def __init__(self, space: spaces.Box) -> None:
        self.shape, self.dtype, self._space = space.shape, space.dtype, space

    def contains(self, value: Any) -> bool:
        return spaces.contains(self._space, value)


def run_atari_checks(make_env: Callable[[], AtariGame], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    trial = Trial(make_env, seed, steps, play, lambda env, _: Shown(env.observation))
    with closing(trial.env):
        return run_in_order((RUNS, *AFTERWARDS), trial)


def play(env: Any, seed: int, steps: int) -> Played:
    """Random steps of a game, on this console or another, with a reset after each end."""
    actions = np.random.default_rng(seed).integers(env.action.n, size=steps).tolist()
    log, num_resets = [Seen(0, env.reset(seed).copy())], 1
    for step, action in enumerate(actions, start=1):
        obs, reward, terminated, truncated, _ = env.step(action)
        log.append(Seen(step, obs.copy(), reward, terminated, truncated))
        if terminated or truncated:
            log.append(Seen(step, env.reset().copy()))
            num_resets += 1
    return Played(log, num_resets)
