"""Scores by hand."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from courtside.experiments.tune.objective import (
    EPISODES,
    RETURN,
    SeedResult,
    judge_seed,
    judge_trial,
    metrics_needed,
    ratio,
)
from courtside.settings.config import Config, EnvConfig, PPOConfig, Threshold

CONFIG = Config(
    env=EnvConfig(num_envs=10),
    learning=PPOConfig(num_steps=10),
    thresholds=(Threshold(RETURN, ">=", 10.0, 200), Threshold("losses/entropy", "<", 0.5, 200)),
)
"""100 steps an update; judged over the last two updates."""


def columns(returns, entropy, episodes=None):
    count = len(returns)
    return {
        RETURN: np.asarray(returns, np.float32),
        "losses/entropy": np.asarray(entropy, np.float32),
        EPISODES: np.asarray([1] * count if episodes is None else episodes, np.float32),
    }


def seed(passed=False, steps=None, close=0.0, score=0.0):
    return SeedResult(passed, steps, close, score, 1000)


@pytest.mark.parametrize(
    ("value", "op", "target", "expected"),
    [
        (5.0, ">=", 10.0, 0.5),
        (80.0, "<=", 40.0, 0.5),
        (-400.0, ">=", -100.0, 0.25),
        (-1.0, ">=", 10.0, 0.0),
        (3.0, "<", 0.0, 0.25),
        (20.0, ">=", 10.0, 1.0),
        (float("nan"), ">=", 10.0, 0.0),
        (None, "<", 1.0, 0.0),
    ],
)
def test_ratio(value, op, target, expected):
    assert ratio(value, op, target) == expected


def test_a_seed_that_passes():
    result = judge_seed(CONFIG, columns([0, 0, 12, 12, 12], [1, 1, 0.25, 0.25, 0.25]))
    assert result == SeedResult(True, 400, 1.0, 12.0, 500)


def test_a_threshold_on_evaluations_is_judged_by_the_last():
    config = dataclasses.replace(CONFIG, thresholds=(*CONFIG.thresholds, Threshold("eval/score", ">=", 2.0)))
    told = columns([12] * 5, [0.25] * 5) | {"eval/score": np.array([np.nan, 1, np.nan, 3, np.nan], np.float32)}
    assert judge_seed(config, told) == SeedResult(True, 400, 1.0, 12.0, 500)
    assert judge_seed(config, told | {"eval/score": told["eval/score"][::-1]}).passed is False
    assert "eval/score" in metrics_needed(config)


def test_a_seed_that_came_near_is_half_its_mean_and_half_its_worst_threshold():
    result = judge_seed(CONFIG, columns([0, 0, 0, 5, 5], [1, 1, 1, 0.25, 0.25]))
    assert not result.passed
    assert result.closeness == pytest.approx(((0.5 + 1.0) / 2 + 0.5) / 2)
    assert result.steps_to_pass is None


def test_returns_weigh_the_episodes_that_ended_and_none_is_not_a_number():
    result = judge_seed(CONFIG, columns([9, 9, 9, 2, 8], [1] * 5, [1, 1, 1, 3, 1]))
    assert result.final_return == pytest.approx((3 * 2 + 8) / 4)
    assert np.isnan(judge_seed(CONFIG, columns([0] * 5, [1] * 5, [0] * 5)).final_return)
    assert judge_seed(CONFIG, columns([99] * 5, [0.1] * 5, [1, 1, 1, 0, 0])).closeness == pytest.approx((0.5 + 0) / 2)


def test_score_is_chance_and_worst_tenth_and_a_little_speed():
    found = judge_trial([seed(True, 400, 1.0), seed(False, 600, 0.5), seed(), seed(False, None, 0.8)], True)
    assert found.pass_share == 0.25
    assert found.worst_tenth == 0.0
    assert found.steps_to_pass == 400
    assert found.score == pytest.approx((1 + 0.5) / 4 + 0.0 + 0.1 * (0.6 + 0.4) / 4)


def test_steady_beats_lucky_and_fast_beats_slow():
    lucky = judge_trial([seed(True, 100, 1.0), seed(), seed(), seed()], True)
    steady = judge_trial([seed(False, None, 0.9)] * 4, True)
    slow, fast = judge_trial([seed(True, 900, 1.0)] * 4, True), judge_trial([seed(True, 300, 1.0)] * 4, True)
    assert lucky.score < steady.score < slow.score < fast.score <= 2.1


@pytest.mark.parametrize("count", [4, 16, 64])
def test_no_speed_makes_up_for_a_seed(count):
    quick = [seed(True, 1, 1.0)] * (count - 1)
    lost, never = (judge_trial([*quick, last], True) for last in (seed(False, 1, 1.0), seed(False, None, 1.0)))
    slow = judge_trial([seed(True, 999, 1.0)] * count, True)
    assert never.score < slow.score
    assert lost.score < slow.score


def test_without_thresholds_the_return_counts():
    config = dataclasses.replace(CONFIG, thresholds=())
    assert metrics_needed(config) == (RETURN, EPISODES)
    results = [judge_seed(config, columns([0, 0, 0, 0, 0, value], [1] * 6)) for value in (4.0, 8.0)]
    found = judge_trial(results, False)
    assert found.worst_tenth == results[0].final_return == 2.0, "the last third of a short run"
    assert found.score == (3.0 + 2.0) / 2
