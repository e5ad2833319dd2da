"""PPO's losses, one equation each, over a minibatch of M samples.

Every mean takes an optional weight per sample: 0 leaves a sample out, as that of an agent which had left the episode.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

Weight = Float[Array, "*M"] | None


def weighted_mean(x: Float[Array, "*M"], weight: Weight = None) -> Float[Array, ""]:
    """Σ w x / Σ w; the plain mean without weights."""
    return jnp.mean(x) if weight is None else jnp.sum(weight * x) / jnp.maximum(jnp.sum(weight), 1.0)


def normalize_advantage(advantage: Float[Array, "*M"], weight: Weight = None) -> Float[Array, "*M"]:
    """(Â - mean Â) / (std Â + 1e-8), with the unbiased deviation (n - 1)."""
    if weight is None:
        return (advantage - jnp.mean(advantage)) / (jnp.std(advantage, ddof=1) + 1e-8)
    centred = advantage - weighted_mean(advantage, weight)
    variance = jnp.sum(weight * jnp.square(centred)) / jnp.maximum(jnp.sum(weight) - 1.0, 1.0)
    return centred / (jnp.sqrt(variance) + 1e-8)


def clipped_surrogate_loss(
    log_ratio: Float[Array, "*M"], advantage: Float[Array, "*M"], clip_coef: Float[Array, ""], weight: Weight = None
) -> Float[Array, ""]:
    """L = - mean min(ρ Â, clip(ρ, 1 - ε, 1 + ε) Â), ρ = π(a|s) / π_old(a|s).

    Schulman et al. 2017 (arXiv:1707.06347), eq. 7.
    """
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip_coef, 1.0 + clip_coef)
    return -weighted_mean(jnp.minimum(ratio * advantage, clipped * advantage), weight)


def squared_value_loss(
    value: Float[Array, "*M"], target: Float[Array, "*M"], weight: Weight = None
) -> Float[Array, ""]:
    """L = ½ mean (V - R)². The only place where the half is taken."""
    return 0.5 * weighted_mean(jnp.square(value - target), weight)


def clipped_value_loss(
    value: Float[Array, "*M"],
    old_value: Float[Array, "*M"],
    target: Float[Array, "*M"],
    clip_coef: Float[Array, ""],
    weight: Weight = None,
) -> Float[Array, ""]:
    """L = ½ mean max((V - R)², (V_old + clip(V - V_old, -ε, ε) - R)²)."""
    near = old_value + jnp.clip(value - old_value, -clip_coef, clip_coef)
    return 0.5 * weighted_mean(jnp.maximum(jnp.square(value - target), jnp.square(near - target)), weight)


def approximate_kl(log_ratio: Float[Array, "*M"], weight: Weight = None) -> Float[Array, ""]:
    """KL(π_old || π) ≈ mean (ρ - 1 - log ρ): unbiased, never negative. Schulman's k3 estimator."""
    return weighted_mean(jnp.expm1(log_ratio) - log_ratio, weight)


def clip_fraction(
    log_ratio: Float[Array, "*M"], clip_coef: Float[Array, ""], weight: Weight = None
) -> Float[Array, ""]:
    """Share of samples whose ratio left the clip range: mean [|ρ - 1| > ε]."""
    return weighted_mean((jnp.abs(jnp.expm1(log_ratio)) > clip_coef).astype(jnp.float32), weight)


def explained_variance(
    value: Float[Array, "*M"], target: Float[Array, "*M"], weight: Weight = None
) -> Float[Array, ""]:
    """1 - Var(R - V) / Var(R): 1 is a perfect critic, 0 no better than a constant; NaN where R never varies."""
    spread = _variance(target, weight)
    return jnp.where(spread > 0, 1.0 - _variance(target - value, weight) / spread, jnp.nan)


def _variance(x: Float[Array, "*M"], weight: Weight) -> Float[Array, ""]:
    if weight is None:
        return jnp.var(x)
    return weighted_mean(jnp.square(x - weighted_mean(x, weight)), weight)
