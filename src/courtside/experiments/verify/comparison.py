"""Are a few fresh seeds from the same population as the seeds of a band? One permutation test over all metrics and points.

If nothing changed, it does not matter which of all the seeds are called fresh. So the labels are shuffled, and each time the
largest correlation of label and number over all cells (metric x point) is noted. What is found in truth is held against
those largest ones, which pays for looking at many cells at once however much they hang together (Westfall and Young 1993,
the single-step maximum). Nothing is assumed about the shape of a distribution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from courtside.settings.metric_names import is_per_episode

FALSE_ALARMS = 0.005
"""Share of untouched codes that are called broken, over all metrics and points together."""
DRAWS = 10_000
"""Shuffles of the labels; where there are fewer ways to label, each is taken once."""
FAR = 10.0
"""Robust deviations from the median beyond which a number counts as this far: one wild seed must not hide the others."""

Seeds = Mapping[str, Float[np.ndarray, "_ points"]]
"""Metric -> one number per seed and point; NaN where it had no value."""
Fault = Literal["broken", "missing"]
Direction = Literal["inside", "above", "below", "broken", "missing"]


@dataclass(frozen=True)
class MetricResult:
    """How one metric compares."""

    metric: str
    passed: bool
    direction: Direction
    """`broken`: not a finite number. `missing`: no value where every seed of the band has one."""
    point: int
    """The point at which it is furthest from the band."""
    value: float
    """Mean of the fresh seeds there."""
    low: float
    """From here ..."""
    high: float
    """... to here the mean of as many healthy seeds stays, at every point of every metric at once, but for false alarms."""
    distance: float
    """How many standard errors it is from the band's mean there."""
    p_value: float
    """How often a healthy code looks as strange as this in any metric."""


@dataclass(frozen=True)
class _Cells:
    """What is compared, standardised: columns of mean 0 and length 1."""

    columns: Float[np.ndarray, "seeds cells"]
    owner: list[tuple[str, int | None]]
    """Metric and point of each column; None for the metric's average over all points."""


def compare(band: Seeds, fresh: Seeds, false_alarms: float = FALSE_ALARMS) -> list[MetricResult]:
    """One result per metric of the band, in its order."""
    faults: dict[str, Fault | None] = {name: _fault(name, band[name], fresh.get(name)) for name in band}
    sound = [name for name in band if faults[name] is None and _usable(band[name]).any()]
    tested = _test(band, {name: fresh[name] for name in sound}, false_alarms) if sound else {}
    faulty = {name: _faulty_result(name, fault, band[name], fresh) for name, fault in faults.items() if fault}
    return [(faulty | tested)[name] for name in band if name in faulty or name in tested]


def _usable(values: np.ndarray) -> np.ndarray:
    """Points at which every seed of the band has a value. [points]"""
    return np.all(np.isfinite(values), axis=0)


def _fault(name: str, band: np.ndarray, fresh: np.ndarray | None) -> Fault | None:
    """What needs no test: a metric that is gone, without values, or not a number."""
    if fresh is None:
        return "missing"
    values = fresh[:, _usable(band)]
    if not is_per_episode(name) and not np.isfinite(values).all():
        return "broken"
    absent = (~np.isfinite(values)).sum(axis=0)
    return "missing" if np.any((absent >= 3) & (absent > len(fresh) / 2)) else None


def _faulty_result(name: str, fault: Fault, band: np.ndarray, fresh: Seeds) -> MetricResult:
    usable = np.flatnonzero(_usable(band))
    point = int(usable[0]) if usable.size else 0
    if name in fresh and usable.size:
        point = int(usable[np.argmax((~np.isfinite(fresh[name][:, usable])).sum(axis=0))])
    usual = band[:, point][np.isfinite(band[:, point])]
    low, high = (float(usual.min()), float(usual.max())) if usual.size else (math.nan, math.nan)
    return MetricResult(name, False, fault, point, math.nan, low, high, math.inf, 0.0)


def _test(band: Seeds, fresh: Seeds, false_alarms: float) -> dict[str, MetricResult]:
    cells = _make_cells(band, fresh)
    num_fresh, num_all = len(next(iter(fresh.values()))), cells.columns.shape[0]
    labels = _labellings(num_fresh, num_all)
    scale = math.sqrt(num_all / (num_fresh * (num_all - num_fresh)))
    shuffled = np.abs(labels @ cells.columns).max(axis=1) * scale
    true = np.abs(cells.columns[-num_fresh:].sum(axis=0)) * scale
    critical = float(np.quantile(shuffled, 1 - false_alarms, method="higher"))
    is_complete = len(labels) == math.comb(num_all, num_fresh)
    results = {}
    for name in fresh:
        own = [i for i, (metric, _) in enumerate(cells.owner) if metric == name]
        as_strange = int(np.sum(shuffled >= true[own].max() - 1e-9))
        p_value = as_strange / len(labels) if is_complete else (as_strange + 1) / (len(labels) + 1)
        cell = max((i for i in own if cells.owner[i][1] is not None), key=lambda i: true[i])
        point = int(cells.owner[cell][1] or 0)
        result = _result(name, point, band[name][:, point], fresh[name][:, point], critical)
        is_strange = p_value <= false_alarms
        direction: Direction = result.direction if is_strange else "inside"
        results[name] = replace(result, passed=not is_strange, direction=direction, p_value=p_value)
    return results


def _result(name: str, point: int, usual: np.ndarray, here: np.ndarray, critical: float) -> MetricResult:
    """A metric where it is furthest from its band, not judged yet."""
    value = float(np.nanmean(here)) if np.isfinite(here).any() else math.nan
    error = float(usual.std(ddof=1)) * math.sqrt(1 / len(here) + 1 / len(usual))
    gap = value - float(usual.mean())
    distance = abs(gap) / error if error > 0 else (0.0 if gap == 0 else math.inf)
    direction: Direction = "above" if gap > 0 else "below"
    return MetricResult(name, True, direction, point, value, *limits(usual, len(here), critical), distance, 1.0)


def limits(usual: Float[np.ndarray, "seeds"], num_fresh: int, critical: float) -> tuple[float, float]:
    """How far the mean of fresh seeds may be from the band's, so that label and number correlate by `critical` at most.

    r² = k g² / (S + k g²), so g = √(S r² / (k (1 - r²))); S = (n + m - 2) σ², k = n m / (n + m).
    """
    num_all = len(usual) + num_fresh
    within = (num_all - 2) * float(usual.var(ddof=1))
    gap = math.sqrt(within * critical**2 * num_all / (num_fresh * len(usual) * max(1 - critical**2, 1e-12)))
    mean = float(usual.mean())
    return mean - gap, mean + gap


def _make_cells(band: Seeds, fresh: Seeds) -> _Cells:
    """The band's seeds above, the fresh ones below; every metric's points, then its average over them."""
    columns, owner = [], []
    for name, values in fresh.items():
        points = np.flatnonzero(_usable(band[name]))
        together = np.concatenate([band[name][:, points], values[:, points]])
        own = np.stack([_standardize(_tame(column)) for column in together.T])
        columns += [*own, _standardize(own.mean(axis=0))]
        owner += [*((name, int(point)) for point in points), (name, None)]
    return _Cells(np.stack(columns, axis=1), owner)


def _tame(column: Float[np.ndarray, "seeds"]) -> Float[np.ndarray, "seeds"]:
    """Missing numbers become the median, wild ones are brought in; the same for all seeds, whatever their label."""
    middle = float(np.nanmedian(column))
    column = np.where(np.isfinite(column), column, middle)
    low, high = np.quantile(column, [0.16, 0.84])
    reach = FAR * (high - low) / 2
    return np.clip(column, middle - reach, middle + reach) if reach > 0 else column


def _standardize(column: Float[np.ndarray, "seeds"]) -> Float[np.ndarray, "seeds"]:
    centred = column - column.mean()
    length = float(np.linalg.norm(centred))
    return centred / length if length > 1e-12 * max(1.0, float(np.abs(column).max())) else np.zeros_like(column)


def _labellings(num_fresh: int, num_all: int) -> Float[np.ndarray, "draws seeds"]:
    """Ways to call `num_fresh` of all seeds fresh: 1 for those, 0 for the others."""
    if math.comb(num_all, num_fresh) <= DRAWS:
        chosen = np.asarray(list(itertools.combinations(range(num_all), num_fresh)))
    else:
        noise = np.random.default_rng(0).random((DRAWS, num_all))
        chosen = np.argpartition(noise, num_fresh, axis=1)[:, :num_fresh]
    labels = np.zeros((len(chosen), num_all))
    np.put_along_axis(labels, chosen, 1.0, axis=1)
    return labels
