"""`courtside check atari:GAME`: whether the game runs here, and the same seed gives the same game."""

from __future__ import annotations

from collections.abc import Callable

from courtside.envs.findings import CheckResult
from courtside.hosts.atari.game import AtariGame
from courtside.hosts.trial import AFTERWARDS, RUNS, EnvTrial, OwnSpace, play_game, run_trial


def run_checks(make_env: Callable[[], AtariGame], *, seed: int = 0, steps: int = 500) -> list[CheckResult]:
    trial = EnvTrial(make_env, seed, steps, play_game, lambda env, _: OwnSpace(env.observation))
    return run_trial(trial, (RUNS, *AFTERWARDS))
