"""How far a run has come: a curve that looks odd is no illness where the task is solved.

Where thresholds say what is wanted, a run is measured by the way from where it began to them; where none do, by whether its
return has risen at all.
"""

from __future__ import annotations

import math

import numpy as np

from courtside.health.history import Case
from courtside.health.stretches import RETURN, cut, episode_counts, median, weighted_mean
from courtside.health.verdict import holds, window_span, window_unit
from courtside.settings.config import Threshold
from courtside.settings.metric_names import SCORE, is_evaluation, is_per_episode

EARLY = 0.25
"""Share of the plan before which it is too early to miss progress."""
FAR = 0.7
"""Share of the way to its thresholds below which a run is far from solved."""
FIRST_SHARE, LAST_SHARE = 0.03, 0.1
"""Shares of a history that count as its beginning and its end."""
MIN_ROWS = 5
GAIN = 4.0
"""A return has risen when its gain is this many times the deviation between neighbouring stretches."""


def progress(case: Case) -> float:
    """Share of the planned updates that are done."""
    return int(case.history.updates[-1]) / max(case.config.num_updates, 1) if len(case.history) else 0.0


def yardstick(case: Case) -> str:
    """The metric of episodes that tells how well they went: what the run is judged by, the score or the return first."""
    judged = [threshold.metric for threshold in case.config.thresholds if is_per_episode(threshold.metric)]
    return next((metric for metric in (SCORE, RETURN, *judged) if metric in judged), RETURN)


def told(metric: str) -> str:
    """The yardstick in a sentence."""
    return {SCORE: "score", RETURN: "return"}.get(metric, metric)


def closeness(case: Case) -> float | None:
    """Share of the way to the thresholds on episodes and evaluations, of the one that is farthest off; None where there
    are none."""
    shares = [
        _share_of_way(case, threshold) for threshold in case.config.thresholds
        if is_per_episode(threshold.metric)
        or (is_evaluation(threshold.metric) and np.isfinite(case.evals[threshold.metric]).any())  # there may be none yet
    ]  # fmt: skip
    return min(shares, default=None)


def _share_of_way(case: Case, threshold: Threshold) -> float:
    """0 at the level of the first updates, 1 at the threshold."""
    start, now = levels(case, threshold.metric)
    if math.isnan(now):
        return 0.0
    sign = 1.0 if threshold.op in (">=", ">") else -1.0
    if sign * (now - threshold.value) >= 0:
        return 1.0
    way = sign * (threshold.value - start)
    if math.isnan(way) or way <= 0:
        return 0.0
    return float(np.clip(sign * (now - start) / way, 0.0, 1.0))


def levels(case: Case, metric: str) -> tuple[float, float]:
    """Means over the episodes of the first and of the last part of the run; NaN where none ended.

    Of evaluations the first and the last.
    """
    if is_evaluation(metric):
        evals = case.evals[metric][np.isfinite(case.evals[metric])]
        return float(evals[0]), float(evals[-1])
    history = case.history
    first, last = (max(MIN_ROWS, round(share * len(history))) for share in (FIRST_SHARE, LAST_SHARE))
    column, episodes = history[metric], episode_counts(history, metric)
    beginning = weighted_mean(column[:first], episodes[:first])
    if math.isnan(beginning):  # no episode ended so early: take the first that did
        values = cut(history, metric).values
        beginning = next(iter(values[np.isfinite(values)].tolist()), math.nan)
    return beginning, weighted_mean(column[-last:], episodes[-last:])


def has_risen(case: Case) -> bool:
    """Whether the yardstick ends clearly above where it began."""
    values = cut(case.history, yardstick(case)).values
    values = values[np.isfinite(values)]
    if values.size < 4:
        return False
    noise = (median(np.abs(np.diff(values)))) + 1e-9 * float(np.max(np.abs(values)))
    return float(np.mean(values[-3:]) - np.mean(values[:2])) > GAIN * noise


def is_failing(case: Case) -> bool:
    """Whether the run is far from what is wanted, as far as one can know."""
    share = closeness(case)
    return not has_risen(case) if share is None else share < FAR


def is_solved(case: Case) -> bool:
    """Whether the run is where it should be: at its thresholds, as long as the verdict asks; or risen where it has none."""
    share = closeness(case)
    return has_risen(case) if share is None else share >= 1.0 and _is_held(case)


def _is_held(case: Case) -> bool:
    """Whether the thresholds on episodes hold over the windows that the verdict looks at."""
    history = case.history
    for threshold in case.config.thresholds:
        episodes = episode_counts(history, threshold.metric)
        place = history.steps if window_unit(threshold) == "steps" else np.cumsum(np.nan_to_num(episodes))
        recent = place > place[-1] - window_span(threshold)
        value = weighted_mean(history[threshold.metric][recent], episodes[recent])
        if is_per_episode(threshold.metric) and not holds(threshold, value):
            return False
    return True


def wanted_return(case: Case) -> float | None:
    """What the thresholds ask the yardstick to be at least; None where none does."""
    wanted = [t.value for t in case.config.thresholds if t.metric == yardstick(case) and t.op in (">=", ">")]
    return max(wanted, default=None)


def certainty(case: Case) -> float:
    """How much a judgement that rests on `is_failing` is worth: less where no threshold says what is wanted."""
    return 1.0 if closeness(case) is not None else 0.6


def shortfall(case: Case) -> str:
    """The sentence that says how far the run has come."""
    start, now = levels(case, yardstick(case))
    share = closeness(case)
    tale = f"The {told(yardstick(case))} went from {start:.3g} to {now:.3g}"
    return f"{tale}." if share is None else f"{tale}, {share:.0%} of the way to what the verdict asks for."
