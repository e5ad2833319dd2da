"""`courtside check atari:GAME`: whether the game runs here, and the same seed gives the same game."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from courtside.envs.findings import CheckResult, run_in_order
from courtside.hosts.atari.game import AtariGame
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, OwnSpace, play_game


def run_checks(make_env: Callable[[], AtariGame], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    """All checks in order, those after a failed foundation marked as skipped."""
    trial = EnvTrial(make_env, seed, steps, play_game, lambda env, _: OwnSpace(env.observation))
    with closing(trial.env):
        return run_in_order((RUNS, *AFTERWARDS), trial)
