"""Schedules as traced numbers: one formula covers every form, so members of a population may differ in form."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

from courtside.settings.schedules import Schedule


class ScheduleNumbers(eqx.Module):
    """The numbers of a `Schedule`, as arrays."""

    start: Float[Array, "*P"]
    end: Float[Array, "*P"]
    exponential: Float[Array, "*P"]
    """1 for an exponential form or a decay, 0 for a linear or constant one."""
    warmup: Float[Array, "*P"]
    """Updates during which the value rises from 0; 0 for none."""
    decays: Float[Array, "*P"]
    """1 for a decay, which knows no planned end."""
    horizon: Float[Array, "*P"]
    """Updates from start to end: all that are planned; those of a half-life for a decay."""


def make_schedule_numbers(schedule: Schedule, num_updates: int, batch_size: int) -> ScheduleNumbers:
    """For a run of `num_updates` planned updates of `batch_size` environment steps each."""
    horizon = schedule.half_life / batch_size or num_updates
    warmup = schedule.warmup_steps / batch_size or schedule.warmup * num_updates
    flags = float(schedule.exponential), float(schedule.half_life > 0)
    numbers = (schedule.start, schedule.end, flags[0], warmup, flags[1], horizon)
    return ScheduleNumbers(*(jnp.asarray(number, jnp.float32) for number in numbers))


def schedule_value(schedule: ScheduleNumbers, update: Real[Array, ""]) -> Float[Array, ""]:
    """The value after `update` updates u, with p = u / horizon; whoever trains on past the planned end keeps the value there.

    linear:       start + (end - start) p
    exponential:  start (end / start)^p
    decay:        end + (start - end) (1/2)^p, from u alone, so that it is the same to the bit whatever the plan.
    times min(1, u / warmup) while it warms up.
    """
    tiny, decays = jnp.finfo(jnp.float32).tiny, schedule.decays > 0
    position = update / schedule.horizon
    progress = jnp.minimum(position, 1.0)
    linear = schedule.start + (schedule.end - schedule.start) * progress
    ratio = jnp.maximum(schedule.end, tiny) / jnp.maximum(schedule.start, tiny)
    floor = jnp.where(decays, schedule.end, 0.0)
    power = jnp.where(decays, 0.5, ratio) ** jnp.where(decays, position, progress)
    exponential = floor + (schedule.start - floor) * power
    rise = jnp.minimum(1.0, update / jnp.maximum(schedule.warmup, tiny))
    value = jnp.where(schedule.exponential > 0, exponential, linear)
    return value * jnp.where(schedule.warmup > 0, rise, 1.0)
