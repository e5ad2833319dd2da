"""A metric along a run as the points of a chart: means over even stretches, with the range in which most updates lie.

Metrics of episodes count each episode, all others each update, as the verdict does. No JAX here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from courtside.dash.lines import Excerpt
from courtside.runs.lines import as_number
from courtside.settings.metric_names import count_of, is_per_episode

Axis = Literal["step", "update", "time"]
AXES: tuple[Axis, ...] = ("step", "update", "time")
LOW, HIGH = 0.1, 0.9
"""Between these quantiles lie the updates of a point."""
Numbers = Float[np.ndarray, "N"]
"""One for each row."""
Points = Float[np.ndarray, "G"]
"""One for each point of a chart."""


class Clock(NamedTuple):
    """Seconds of training by step: what `timing.jsonl` adds up to."""

    steps: Numbers
    seconds: Numbers

    def at(self, steps: Points) -> Points:
        return np.interp(steps, self.steps, self.seconds) if self.steps.size else np.zeros_like(steps)


def make_clock(timing: Excerpt) -> Clock:
    """From the rows of `timing.jsonl`, asked for `step`, `seconds` and `steps_per_second`; compiling does not count. In a sample
    rows are missing, so there the steps since the row before are taken at the row's own speed."""
    seconds, steps, speed = (timing.columns[name] for name in ("seconds", "step", "steps_per_second"))
    rows = np.isfinite(seconds) & np.isfinite(steps) & (timing.is_whole | (speed > 0))
    taken = seconds[rows] if timing.is_whole else np.diff(steps[rows], prepend=0.0) / speed[rows]
    return Clock(np.append(0.0, steps[rows]), np.append(0.0, np.cumsum(taken)))


def names_needed(metrics: Sequence[str]) -> list[str]:
    """Columns that charts of these metrics are made from."""
    counts = [count_of(metric) for metric in metrics if is_per_episode(metric)]
    return [*dict.fromkeys(("step", "update", *metrics, *counts))]


def make_series(
    table: Excerpt, metric: str, places: Numbers, points: int, span: tuple[float, float] | None = None
) -> dict[str, list[float | None]]:
    """x, mean, low and high of at most so many points; `places` are where the rows lie on the axis."""
    values = table.columns[metric]
    ended = table.columns[count_of(metric)] if is_per_episode(metric) else np.full(table.count, np.nan)
    weights = np.where(np.isnan(ended), 1.0, ended)  # as many as episodes ended in the row, where that is known
    rows = ~np.isnan(values) & np.isfinite(places) & (weights > 0)
    if span is not None:
        rows &= (places >= span[0]) & (places <= span[1])
    if not rows.any():
        return {"x": [], "mean": [], "low": [], "high": []}
    columns = _bucket(places[rows], values[rows], weights[rows], points)
    return {name: listed(numbers) for name, numbers in columns.items()}


def _bucket(x: Numbers, values: Numbers, weights: Numbers, points: int) -> dict[str, Points]:
    """Rows in order, the same number of them in every point but for one."""
    starts = np.linspace(0, x.size, min(points, x.size) + 1).astype(int)[:-1]
    total = np.add.reduceat(weights, starts)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.add.reduceat(values * weights, starts) / total
    last = np.append(starts[1:], x.size) - 1
    if starts.size == x.size:
        return {"x": x, "mean": values, "low": values, "high": values}
    low, high = _quantiles(values, starts)
    return {"x": x[last], "mean": mean, "low": low, "high": high}


def _quantiles(values: Numbers, starts: Int[np.ndarray, "G"]) -> tuple[Points, Points]:
    """Of every stretch, by its sorted values."""
    ends = np.append(starts[1:], values.size)
    label = np.repeat(np.arange(starts.size), ends - starts)
    ordered = values[np.lexsort((values, label))]
    span = ends - starts - 1
    low, high = (starts + np.rint(level * span).astype(int) for level in (LOW, HIGH))
    return ordered[low], ordered[high]


def listed(numbers: Points) -> list[float | None]:
    """As JSON has them: null for what is not a finite number."""
    return [value if finite else None for value, finite in zip(numbers.tolist(), np.isfinite(numbers), strict=True)]


def plain(value: Any) -> float | None:
    """One number as JSON has it."""
    number = as_number(value)
    return number if number is not None and math.isfinite(number) else None
