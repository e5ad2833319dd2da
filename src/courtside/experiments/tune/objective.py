"""What a search maximises: the chance to pass and the worst tenth of the seeds, not the luckiest one.

    score = chance + worst tenth + min(0.1, 1/2n) · speed        0 to 2.1, for n seeds

chance: mean over the seeds of 1 for a verdict that passes at the end, ½ for one that held earlier and was lost, else 0.
worst tenth: mean closeness of the worst ⌈n/10⌉ seeds. Closeness tells how near a seed's last window came to the thresholds,
0 to 1: 1 where one holds, else the ratio of value and target (a length of 80 where 40 are allowed is ½), then half the mean
over the thresholds and half the least of them, so that no threshold is given up for another. A ratio, because the start of a
run differs by setting: measured from there, a setting that learns in its first steps would look worse than a slow one.
speed: mean over the seeds of the share of the run that was left when all thresholds first held; 0 where they never did.

Where a world has no thresholds the score is half the mean and half the worst tenth of the last window's return. No JAX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from courtside.health.statistics import worst_tenth
from courtside.health.verdict import ThresholdResult, VerdictTracker, window_unit
from courtside.settings.config import Config
from courtside.settings.metric_names import EPISODES, RETURN, blank_untold, count_of, is_evaluation

LOST = 0.5
"""What a pass counts that did not last to the end of the run."""
SPEED = 0.1
"""Weight of an early pass, at most: enough to choose between settings that always pass. With many seeds it is less, half of
what one seed counts, so that no speed makes up for a seed."""
WINDOW = 100_000
"""Steps at the end whose return counts where no threshold says otherwise."""

Columns = Mapping[str, np.ndarray]
"""One array per metric, one entry per update; of evaluations not a number where there was none."""


@dataclass(frozen=True)
class SeedResult:
    """How one seed of a trial fared."""

    passed: bool
    steps_to_pass: int | None
    """First step at which all thresholds held together; None where they never did."""
    closeness: float
    """0 to 1."""
    final_return: float
    """Mean return of the last window; not a number where no episode ended in it."""
    steps: int


@dataclass(frozen=True)
class Score:
    """What a trial came to, over its seeds."""

    score: float
    pass_share: float
    worst_tenth: float
    steps_to_pass: float | None
    """Median over the seeds that pass at the end."""


def metrics_needed(config: Config) -> tuple[str, ...]:
    """The columns that judging reads."""
    judged = [threshold.metric for threshold in config.thresholds]
    return tuple(dict.fromkeys((*judged, RETURN, EPISODES, *map(count_of, judged))))


def judge_seed(config: Config, columns: Columns) -> SeedResult:
    """One seed's result from its columns, one entry per update."""
    tracker = VerdictTracker(config.thresholds)
    tracker.add(_rows(config, columns))
    verdict = tracker.verdict()
    near, paid = closeness(verdict.results), final_return(config, columns)
    return SeedResult(verdict.passed, verdict.steps_to_pass, near, paid, len(columns[RETURN]) * config.batch_size)


def final_return(config: Config, columns: Columns) -> float:
    """Mean return of the episodes that ended in the last window: a threshold's, or the last third of a short run."""
    windows = [t.window_steps for t in config.thresholds if t.metric == RETURN and window_unit(t) == "steps"]
    count = len(columns[RETURN])
    window = windows[0] if windows else min(WINDOW, count * config.batch_size // 3)
    last = slice(-max(1, -(-window // config.batch_size)), None)
    weights = columns[EPISODES][last]
    if not weights.any():
        return math.nan
    ended = weights > 0
    return float(np.average(columns[RETURN][last][ended].astype(np.float64), weights=weights[ended]))


def _rows(config: Config, columns: Columns) -> list[dict[str, Any]]:
    """Rows as the log has them, each evaluation behind its update, with nothing but what judging reads."""
    names = [name for name in metrics_needed(config) if name in columns]
    lists = {name: columns[name].tolist() for name in names}
    rows = []
    for i in range(len(columns[RETURN])):
        at = {"step": (i + 1) * config.batch_size, "update": i + 1}
        row = at | {name: lists[name][i] for name in names if not is_evaluation(name)}
        evaluation = {name: lists[name][i] for name in names if is_evaluation(name) and not math.isnan(lists[name][i])}
        rows += [blank_untold(row), *([at | evaluation] if evaluation else [])]
    return rows


def closeness(results: Sequence[ThresholdResult]) -> float:
    """Half the mean and half the least of how near each threshold is to holding, 0 to 1; 0 where there are none."""
    near = [1.0 if result.passed else ratio(result.value, result.op, result.target) for result in results]
    return (sum(near) / len(near) + min(near)) / 2 if near else 0.0


def ratio(value: float | None, op: str, target: float) -> float:
    """How near a value that misses its bound is to it: the smaller of the two over the larger, 0 to 1.

    A bound of 0 has no ratio; there it is 1 / (1 + distance). A value of the other sign counts 0.
    """
    if value is None or not math.isfinite(value):
        return 0.0
    if value >= target if op in (">=", ">") else value <= target:
        return 1.0  # holds now, but not for a whole window
    if target == 0:
        return 1 / (1 + abs(value))
    if value * target <= 0:
        return 0.0
    return min(abs(value), abs(target)) / max(abs(value), abs(target))


def judge_trial(results: Sequence[SeedResult], has_thresholds: bool, most_seeds: int = 0) -> Score:
    """A trial's score from its seeds; see the head of this file.

    Scores that are compared must weigh speed alike: `most_seeds` is the largest number of seeds among them.
    """
    passed = [result for result in results if result.passed]
    median = float(np.median([r.steps_to_pass for r in passed if r.steps_to_pass is not None])) if passed else None
    if not has_thresholds:
        returns = [result.final_return for result in results]
        low = worst_tenth(np.asarray(returns))
        return Score((float(np.mean(returns)) + low) / 2, 0.0, low, None)
    low = worst_tenth(np.asarray([result.closeness for result in results]))
    chance = float(np.mean([1.0 if r.passed else 0.0 if r.steps_to_pass is None else LOST for r in results]))
    speed = float(np.mean([0.0 if r.steps_to_pass is None else 1 - r.steps_to_pass / r.steps for r in results]))
    score = chance + low + speed_weight(max(len(results), most_seeds)) * speed
    return Score(score, len(passed) / len(results), low, median)


def speed_weight(num_seeds: int) -> float:
    return min(SPEED, 1 / (2 * num_seeds))
