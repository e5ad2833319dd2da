"""Schedules as text: `2.5e-4`, `linear(2.5e-4, 0)`, `exponential(1e-3, 1e-5)`, `warmup(0.05, linear(2.5e-4, 0))`.

These are tied to the plan: they run from the first update to the planned end, so another length makes another run.
`decay(2.5e-4, 2e6)` is not: it halves every 2 million steps whatever the plan, so a run that is stopped early equals the
beginning of a longer one. Nor is a warm-up that is given in steps: `warmup(1e6 steps, 1e-4)`.

Parsed here, without JAX; `ops.schedules` has the same formula for the compiled programs.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

from courtside.errors import ConfigError

FORMS = (
    "a number, constant(x), linear(start, end), exponential(start, end), decay(start, half_life), "
    "decay(start, half_life, floor), warmup(fraction, schedule) or warmup(n steps, schedule)"
)


@dataclass(frozen=True)
class Schedule:
    """A few numbers that cover every form, so that members of a population may mix forms in one program."""

    start: float
    end: float
    """Where it is at the planned end; the floor that a decay never reaches."""
    exponential: bool = False
    """Move by equal factors instead of by equal amounts."""
    warmup: float = 0.0
    """Share of the run during which the value rises linearly from 0."""
    warmup_steps: float = 0.0
    """The same in environment steps, for a warm-up that knows no plan; 0 where it is a share or there is none."""
    half_life: float = 0.0
    """Environment steps in which a decay covers half of the way to its floor; 0 for all other forms."""

    @property
    def is_tied(self) -> bool:
        """Whether the planned length changes what it gives at a step."""
        return not self.half_life and (self.start != self.end or self.warmup > 0)


def value_at(schedule: Schedule, step: float, planned: float) -> float:
    """The value after `step` of `planned` environment steps; `ops.schedules.schedule_value` says the formula."""
    start, end, share = schedule.start, schedule.end, min(step / planned, 1.0)
    if schedule.half_life:
        value = end + (start - end) * 0.5 ** (step / schedule.half_life)
    else:
        value = start * (end / start) ** share if schedule.exponential else start + (end - start) * share
    risen = schedule.warmup_steps or schedule.warmup * planned
    return value * min(1.0, step / risen) if risen else value


def write_schedule(schedule: Schedule) -> str:
    """A schedule as a setting holds it."""
    inner, steps = _write_risen(schedule), schedule.warmup_steps
    if steps:
        return f"warmup({steps:.12g} steps, {inner})"
    return f"warmup({schedule.warmup:.6g}, {inner})" if schedule.warmup else inner


def _write_risen(schedule: Schedule) -> str:
    """The schedule without its warm-up."""
    start, end, half_life = f"{schedule.start:.6g}", f"{schedule.end:.6g}", f"{schedule.half_life:.12g}"
    if schedule.half_life:
        return f"decay({start}, {half_life}, {end})" if schedule.end else f"decay({start}, {half_life})"
    kind = "exponential" if schedule.exponential else "linear"
    return f"constant({start})" if start == end else f"{kind}({start}, {end})"


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
    wanted = {"constant": (1,), "linear": (2,), "exponential": (2,), "decay": (2, 3)}.get(kind, ())
    if len(values) not in wanted or inside.count(",") != len(values) - 1:
        raise ConfigError(f"{name} is {text!r}, which is not a schedule; write {FORMS}.")
    if kind == "decay":
        return _make_decay(*values, text=text, name=name)
    start, end = values[0], values[-1]
    if kind == "exponential" and not (start > 0 and end > 0):
        raise ConfigError(
            f"{name} is {text!r}, but an exponential schedule needs both ends above 0; use linear(...) to reach 0."
        )
    return Schedule(start, end, exponential=kind == "exponential")


def _make_decay(start: float, half_life: float, floor: float = 0.0, *, text: str, name: str) -> Schedule:
    if half_life < 1:
        raise ConfigError(
            f"{name} is {text!r}, but the half-life of a decay is a number of environment steps, 1 or more; write it such as "
            "decay(2.5e-4, 2e6)."
        )
    if floor > start:
        raise ConfigError(
            f"{name} is {text!r}, but a decay falls from its start to its floor; write a floor of {start:g} or less."
        )
    return Schedule(start, floor, exponential=True, half_life=half_life)


def _parse_warmup(inside: str, text: str, name: str) -> Schedule:
    length, _, rest = inside.partition(",")
    count = re.fullmatch(r"(.+?)\s*steps?", length.strip())
    number = _number(count.group(1) if count else length)
    if number is None or not (number >= 1 if count else 0 <= number <= 1) or not rest.strip():
        raise ConfigError(
            f"{name} is {text!r}, but warmup takes a share of the run from 0 to 1 and a schedule, such as warmup(0.05, "
            "linear(2.5e-4, 0)), or environment steps, 1 or more, such as warmup(1e6 steps, 1e-4)."
        )
    risen = parse_schedule(rest, name)
    if risen.warmup or risen.warmup_steps:
        raise ConfigError(f"{name} is {text!r}, but a schedule can warm up only once; leave one warmup out.")
    if count:
        return replace(risen, warmup_steps=number)
    if risen.half_life:
        raise ConfigError(
            f"{name} is {text!r}, but this warmup lasts a share of the planned run and a decay knows no plan; give the warmup in "
            "steps, such as warmup(1e6 steps, ...)."
        )
    return replace(risen, warmup=number)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
