"""Running mean and variance, and scaling by them."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from courtside.types import RunningStats


def make_running_stats(size: tuple[int, ...]) -> RunningStats:
    """Nothing seen yet: mean 0, variance 1, and a count so small that the first batch takes over."""
    return RunningStats(jnp.zeros(size), jnp.ones(size), jnp.asarray(1e-4, jnp.float32))


def merge_batch(
    stats: RunningStats, batch: Float[Array, "M *D"], weight: Float[Array, "M"] | None = None
) -> RunningStats:
    """Add M samples: the parallel update of mean and variance. A weight of 0 leaves a sample out.

    δ = x̄ - μ;  n' = n + m;  μ' = μ + δ m/n';  σ²' = (n σ² + m s² + δ² n m/n') / n'
    Chan, Golub, LeVeque 1983, eq. 2.1.
    """
    count, batch_mean, batch_var = _moments(batch, weight)
    total = stats.count + count
    delta = batch_mean - stats.mean
    mean = stats.mean + delta * (count / total)
    spread = stats.var * stats.count + batch_var * count
    var = (spread + jnp.square(delta) * (stats.count * count / total)) / total
    return RunningStats(mean, var, total)


def _moments(batch: Float[Array, "M *D"], weight: Float[Array, "M"] | None) -> tuple[Array, Array, Array]:
    """m, x̄ and s² of a batch."""
    if weight is None:
        return jnp.asarray(batch.shape[0], jnp.float32), jnp.mean(batch, axis=0), jnp.var(batch, axis=0)
    count, column = jnp.sum(weight), weight.reshape(-1, *(1,) * (batch.ndim - 1))
    mean = jnp.sum(column * batch, axis=0) / jnp.maximum(count, 1.0)
    return count, mean, jnp.sum(column * jnp.square(batch - mean[None]), axis=0) / jnp.maximum(count, 1.0)


def normalize(stats: RunningStats, value: Float[Array, "*batch"], clip: float) -> Float[Array, "*batch"]:
    """clip((x - μ) / √(σ² + 1e-8), ±clip), over the last axes that the statistics have."""
    axes = (1,) * (value.ndim - stats.mean.ndim) + stats.mean.shape
    mean, deviation = stats.mean.reshape(axes), jnp.sqrt(stats.var + 1e-8).reshape(axes)
    return jnp.clip((value - mean) / deviation, -clip, clip)


def scale(stats: RunningStats, value: Float[Array, "*batch"], clip: float) -> Float[Array, "*batch"]:
    """clip(x / √(σ² + 1e-8), ±clip): rewards keep their sign and their zero."""
    return jnp.clip(value / jnp.sqrt(stats.var + 1e-8), -clip, clip)
