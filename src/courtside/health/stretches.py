"""A history cut into a few dozen stretches, each one number: what detectors look at instead of noisy updates.

A stretch of a loss is the median over its updates; a stretch of something told of episodes is the mean over the episodes,
or that of the stretch before where none ended.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from courtside.health.history import History
from courtside.settings.metric_names import count_of, is_per_episode

MAX_STRETCHES = 40
MIN_UPDATES = 5
"""Updates in a stretch, at least."""
RETURN, LENGTH = "charts/episodic_return", "charts/episodic_length"


@dataclass(frozen=True)
class Stretches:
    """One metric, stretch by stretch."""

    values: Float[np.ndarray, "K"]
    """NaN where a stretch tells nothing."""
    starts: Int[np.ndarray, "K"]
    """Row at which each stretch begins."""

    def __len__(self) -> int:
        return len(self.values)

    def share(self, flags: Bool[np.ndarray, "K"]) -> float:
        """Share of the stretches for which something holds."""
        return float(np.mean(flags)) if len(flags) else 0.0

    def late(self, share: float = 0.25) -> float:
        """The median over the last part of the run; NaN where it tells nothing."""
        return median(self.values[-max(1, round(share * len(self))) :])

    def early(self, share: float = 0.1) -> float:
        return median(self.values[: max(1, round(share * len(self)))])


def cut(history: History, name: str) -> Stretches:
    """The stretches of one metric."""
    count = max(1, min(MAX_STRETCHES, len(history) // MIN_UPDATES))
    edges = np.linspace(0, len(history), count + 1).astype(int)
    pairs = list(itertools.pairwise(edges.tolist()))
    column = history[name]
    if is_per_episode(name):
        counts = episode_counts(history, name)
        means = [weighted_mean(column[a:b], counts[a:b]) for a, b in pairs]
        # Long episodes end in bursts, and between them nothing has changed: the last value stands.
        values = list(itertools.accumulate(means, lambda last, value: last if math.isnan(value) else value))
    else:
        values = [median(column[a:b]) for a, b in pairs]
    return Stretches(np.asarray(values, np.float64), edges[:-1])


def episode_counts(history: History, metric: str = RETURN) -> Float[np.ndarray, "U"]:
    """How many episodes, or games where a metric tells of those, ended in each update; one where the history does not say."""
    name = count_of(metric)
    return np.nan_to_num(history[name], nan=0.0) if name in history else np.ones(len(history))


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Σ w x / Σ w over what is finite and weighs anything; NaN where nothing does."""
    usable = np.isfinite(values) & (weight > 0)
    if not usable.any():
        return float("nan")
    return float(np.average(values[usable].astype(np.float64), weights=weight[usable].astype(np.float64)))


def held_since(flags: Bool[np.ndarray, "K"]) -> int | None:
    """Where the run of True begins that reaches the end; None where the last is False."""
    if not len(flags) or not flags[-1]:
        return None
    false = np.flatnonzero(~flags)
    return int(false[-1]) + 1 if false.size else 0


def first(flags: np.ndarray) -> int | None:
    """The first True."""
    return int(np.argmax(flags)) if np.any(flags) else None


def median(values: np.ndarray) -> float:
    """The median of what is finite; NaN, and no complaint, where nothing is."""
    return _of_finite(np.median, values)


def mean(values: np.ndarray) -> float:
    return _of_finite(np.mean, values)


def highest(values: np.ndarray) -> float:
    return _of_finite(np.max, values)


def lowest(values: np.ndarray) -> float:
    return _of_finite(np.min, values)


def _of_finite(pick: Callable[[np.ndarray], Any], values: np.ndarray) -> float:
    usable = values[np.isfinite(values)]
    return float(pick(usable)) if usable.size else float("nan")
