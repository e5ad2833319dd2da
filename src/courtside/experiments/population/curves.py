"""Learning curves of several runs as quantiles on common steps. No JAX here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from courtside.experiments.population.histories import Scores
from courtside.health.statistics import quantiles

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


def make_curves(members: Sequence[Scores]) -> Curves:
    """Quantiles over the members of the mean score since the grid's previous step."""
    last = max((scores.steps[-1] for scores in members if scores.steps.size), default=0)
    points = min(CURVE_POINTS, max((scores.steps.size for scores in members), default=0))
    grid = np.unique(np.ceil(np.linspace(0, last, points + 1)[1:]).astype(np.int64))
    if not grid.size:
        return Curves((), LEVELS, tuple(() for _ in LEVELS))
    found = quantiles(np.stack([curve_on(scores, grid) for scores in members]), LEVELS)
    return Curves(tuple(grid.tolist()), LEVELS, tuple(map(tuple, found.tolist())))


def curve_on(scores: Scores, grid: np.ndarray) -> np.ndarray:
    """One member's mean score in each stretch of the grid; the last known one goes on where no episode ended.

    NaN before the first episode's end and beyond the member's newest step.   [G]
    """
    known = scores.weights > 0
    place, weights = np.searchsorted(grid, scores.steps[known]), scores.weights[known]
    count = np.bincount(place, weights, minlength=grid.size)
    total = np.bincount(place, weights * scores.values[known], minlength=grid.size)
    curve = np.divide(total, count, out=np.full(grid.size, np.nan), where=count > 0)
    return np.where(grid <= (scores.steps[-1] if scores.steps.size else 0), carry_on(curve), np.nan)


def carry_on(curve: np.ndarray) -> np.ndarray:
    """The newest number in the place of each gap behind it."""
    newest = np.maximum.accumulate(np.where(np.isnan(curve), 0, np.arange(curve.size)))
    return curve[newest]
