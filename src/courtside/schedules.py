"""Schedules as text: `2.5e-4`, `linear(2.5e-4, 0)`, `exponential(1e-3, 1e-5)`, `warmup(0.05, linear(2.5e-4, 0))`.

Parsed here, without JAX; `ops.schedules` turns the four numbers into a value at any point of the run. Progress runs from
0 at the first update to 1 at the planned end.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from courtside.errors import ConfigError

FORMS = "a number, constant(x), linear(start, end), exponential(start, end) or warmup(fraction, schedule)"


@dataclass(frozen=True)
class Schedule:
    """Four numbers that cover every form, so that members of a population may mix forms in one program."""

    start: float
    end: float
    exponential: bool = False
    """Move by equal factors instead of by equal amounts."""
    warmup: float = 0.0
    """Share of the run during which the value rises linearly from 0."""


def parse_schedule(text: str, name: str = "schedule") -> Schedule:
    """Read a schedule; `name` is the setting it belongs to, for the message."""
    text = str(text).strip()
    number = _number(text)
    if number is not None:
        return Schedule(number, number)
    call = re.fullmatch(r"(\w+)\s*\((.*)\)", text)
    if call is None:
        raise ConfigError(f"{name} is {text!r}, which is not a schedule; write {FORMS}.")
    kind, inside = call.group(1), call.group(2)
    if kind == "warmup":
        return _parse_warmup(inside, text, name)
    values = [number for part in inside.split(",") if (number := _number(part)) is not None]
    wanted = {"constant": 1, "linear": 2, "exponential": 2}.get(kind, 0)
    if len(values) != wanted or inside.count(",") != wanted - 1:
        raise ConfigError(f"{name} is {text!r}, which is not a schedule; write {FORMS}.")
    start, end = values[0], values[-1]
    if kind == "exponential" and not (start > 0 and end > 0):
        raise ConfigError(
            f"{name} is {text!r}, but an exponential schedule needs both ends above 0; use linear(...) to reach 0."
        )
    return Schedule(start, end, exponential=kind == "exponential")


def _parse_warmup(inside: str, text: str, name: str) -> Schedule:
    fraction, _, rest = inside.partition(",")
    share = _number(fraction)
    if share is None or not 0 <= share <= 1 or not rest.strip():
        raise ConfigError(
            f"{name} is {text!r}, but warmup takes a share of the run from 0 to 1 and a schedule, such as warmup(0.05, linear(2.5e-4, 0))."
        )
    return replace(parse_schedule(rest, name), warmup=share)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
