"""Learning curves of several runs as quantiles on common steps. No JAX here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from courtside.metric_names import RETURN, count_of
from courtside.runlog import Row
from courtside.statistics import quantiles

CURVE_POINTS = 100
"""Steps at which the learning curves are compared, at most."""
LEVELS = (0.1, 0.5, 0.9)
"""Quantiles of the learning curves."""


@dataclass(frozen=True)
class Curves:
    """Learning curves on common steps; `quantiles` has one row for each of `levels`, NaN before the first episode's end."""

    steps: tuple[int, ...]
    levels: tuple[float, ...]
    quantiles: tuple[tuple[float, ...], ...]


def make_curves(histories: Sequence[Sequence[Row]], metric: str = RETURN) -> Curves:
    """Quantiles over the members of the mean return since the grid's previous step."""
    last = max((rows[-1]["step"] for rows in histories if rows), default=0)
    points = min(CURVE_POINTS, max(map(len, histories), default=0))
    grid = np.unique(np.ceil(np.linspace(0, last, points + 1)[1:]).astype(np.int64))
    if not grid.size:
        return Curves((), LEVELS, tuple(() for _ in LEVELS))
    found = quantiles(np.stack([curve_on(rows, grid, metric) for rows in histories]), LEVELS)
    return Curves(tuple(grid.tolist()), LEVELS, tuple(map(tuple, found.tolist())))


def curve_on(rows: Sequence[Row], grid: np.ndarray, metric: str = RETURN) -> np.ndarray:
    """One member's mean return in each stretch of the grid; the last known one goes on where no episode ended.

    NaN before the first episode's end and beyond the member's newest step.   [G]
    """
    known = [row for row in rows if row.get(metric) is not None]
    place = np.searchsorted(grid, [row["step"] for row in known])
    weights = np.asarray([row.get(count_of(metric), 1) for row in known], np.float64)
    scores = np.asarray([row[metric] for row in known], np.float64)
    count = np.bincount(place, weights, minlength=grid.size)
    total = np.bincount(place, weights * scores, minlength=grid.size)
    curve = np.divide(total, count, out=np.full(grid.size, np.nan), where=count > 0)
    return np.where(grid <= (rows[-1]["step"] if rows else 0), carry_on(curve), np.nan)


def carry_on(curve: np.ndarray) -> np.ndarray:
    """The newest number in the place of each gap behind it."""
    newest = np.maximum.accumulate(np.where(np.isnan(curve), 0, np.arange(curve.size)))
    return curve[newest]
