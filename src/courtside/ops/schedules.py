"""Schedules as traced numbers: one formula covers every form, so members of a population may differ in form."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from courtside.schedules import Schedule


class ScheduleNumbers(eqx.Module):
    """The numbers of a `Schedule`, as arrays."""

    start: Float[Array, "*P"]
    end: Float[Array, "*P"]
    exponential: Float[Array, "*P"]
    """1 for an exponential form, 0 for a linear or constant one."""
    warmup: Float[Array, "*P"]


def make_schedule_numbers(schedule: Schedule) -> ScheduleNumbers:
    numbers = (schedule.start, schedule.end, float(schedule.exponential), schedule.warmup)
    return ScheduleNumbers(*(jnp.asarray(number, jnp.float32) for number in numbers))


def schedule_value(schedule: ScheduleNumbers, progress: Float[Array, ""]) -> Float[Array, ""]:
    """The value at `progress` p from 0 to 1; whoever trains on past the planned end keeps the value there.

    linear:       start + (end - start) p
    exponential:  start (end / start)^p
    times min(1, p / warmup) while it warms up.
    """
    tiny, progress = jnp.finfo(jnp.float32).tiny, jnp.minimum(progress, 1.0)
    linear = schedule.start + (schedule.end - schedule.start) * progress
    ratio = jnp.maximum(schedule.end, tiny) / jnp.maximum(schedule.start, tiny)
    exponential = schedule.start * ratio**progress
    rise = jnp.minimum(1.0, progress / jnp.maximum(schedule.warmup, tiny))
    value = jnp.where(schedule.exponential > 0, exponential, linear)
    return value * jnp.where(schedule.warmup > 0, rise, 1.0)
