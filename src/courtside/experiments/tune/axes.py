"""Searched settings as axes: where each trial stands, on what scale, and how its value is written for people.

Shared by the table, the plots and the importances, so that a value reads the same everywhere. No JAX, no matplotlib.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from courtside.errors import ConfigError
from courtside.experiments.tune.trials import Settings, Trial
from courtside.settings.schedules import parse_schedule

FEW = 10
"""Whole numbers up to this many stand side by side as words do."""


@dataclass(frozen=True)
class Axis:
    """One searched setting and where the trials stand on it."""

    name: str
    places: Float[np.ndarray, "N"]
    """Each trial's place: its value on a linear or logarithmic scale, or the number of its word."""
    low: float
    high: float
    log: bool = False
    """Places are log10 of the value."""
    complement: bool = False
    """Places are -log10(1 - value): 0.9, 0.99 and 0.999 are evenly spaced."""
    words: tuple[str, ...] = ()
    """What the places 0, 1, 2 ... stand for; empty where values are numbers."""

    def ticks(self, most: int = 5) -> list[tuple[float, str]]:
        """Places worth a label, and the labels."""
        if self.words:
            return [(float(i), text) for i, text in enumerate(self.words)]
        if not self.log:
            return [(place, short(place)) for place in round_numbers(self.low, self.high, most)]
        if self.complement:
            return [(p, short(1 - 10**-p)) for p in round_powers(self.low, self.high, most, (1, 2))]
        return [(p, short(10**p)) for p in round_powers(self.low, self.high, most)]


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """The most round numbers between two others that are no more than `most`."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    steps = (power * factor for factor in (1, 2, 2.5, 5, 10, 20, 50))
    candidates = ([i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)] for step in steps)
    return next(numbers for numbers in candidates if len(numbers) <= most)


def round_powers(low: float, high: float, most: int, coarse: tuple[int, ...] = (1, 3)) -> list[float]:
    """Powers of ten where 1, 2 and 5 times one stand, or `coarse` times; the ends where there is hardly one between."""
    exponents = range(math.floor(low) - 1, math.ceil(high) + 1)
    for mantissas in ((1, 2, 5), coarse, (1,)):
        places = [
            e + math.log10(m) for e in exponents for m in mantissas if low - 1e-9 <= e + math.log10(m) <= high + 1e-9
        ]
        if len(places) <= most:
            break
    return places if len(places) > 1 else [low, high]


def make_axes(space: Sequence[Settings], trials: Sequence[Trial]) -> list[Axis]:
    """An axis for each searched setting that took more than one value, in the order of the space."""
    axes = (make_axis(one, [trial.settings.get(one["name"]) for trial in trials]) for one in space)
    return [axis for axis in axes if axis is not None]


def make_axis(one: Settings, values: Sequence[Any]) -> Axis | None:
    """None where there is nothing to compare."""
    if any(value is None for value in values) or len({word(value) for value in values}) < 2:
        return None
    if "values" in one:
        return _choice_axis(one["name"], one["values"], values)
    if one.get("whole") and one["high"] - one["low"] < FEW:
        return _choice_axis(one["name"], range(int(one["low"]), int(one["high"]) + 1), values)
    is_log, flip = bool(one.get("log") or one.get("from_one")), bool(one.get("from_one"))
    low, high, *places = (_place(number(value), is_log, flip) for value in (one["low"], one["high"], *values))
    return Axis(one["name"], np.asarray(places, np.float64), low, high, is_log, flip)


def _choice_axis(name: str, choices: Sequence[Any], values: Sequence[Any]) -> Axis:
    """Words in the order of their size where they are numbers."""
    by_word = {word(value): value for value in choices}
    ordered = sorted(by_word, key=lambda text: (number(by_word[text]), text))
    places = np.asarray([ordered.index(word(value)) for value in values], np.float64)
    return Axis(name, places, 0.0, len(ordered) - 1.0, words=tuple(ordered))


def _place(value: float, is_log: bool, flip: bool) -> float:
    if not is_log:
        return value
    return -math.log10(max(1 - value, 1e-12)) if flip else math.log10(max(value, 1e-12))


def same(one: Any, other: Any) -> bool:
    """Whether two settings mean the same: 0.0005 is 5e-4, and 0.02 is not linear(0.02, 0)."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return list(one) == list(other)
    if not isinstance(one, str) and not isinstance(other, str):
        return one == other
    try:
        return parse_schedule(str(one)) == parse_schedule(str(other))
    except ConfigError:
        return str(one) == str(other)


def number(value: Any) -> float:
    """A setting as one number: that at the start of a schedule, the sum of a list of sizes, infinity for a mere word."""
    if isinstance(value, list | tuple):
        return float(sum(value))
    if not isinstance(value, str):
        return math.inf if value is None else float(value)
    try:
        return float(parse_schedule(value).start)
    except ConfigError:
        return math.inf


def word(value: Any) -> str:
    """A setting as it is written in tables and on axes."""
    if isinstance(value, list | tuple):
        return "x".join(map(str, value))
    return short(value) if isinstance(value, float) else str(value)


def short(value: float) -> str:
    """A number in three digits: 0.000712 -> 7.12e-4, 0.9876 -> 0.988, 12345.6 -> 12,346."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:.3g}" if value < 0.99 or value >= 1 else f"{value:.4g}"
