"""PPO's losses, one equation each, over a minibatch of M samples."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def normalize_advantage(advantage: Float[Array, "*M"]) -> Float[Array, "*M"]:
    """(Â - mean Â) / (std Â + 1e-8), with the unbiased deviation (n - 1)."""
    return (advantage - jnp.mean(advantage)) / (jnp.std(advantage, ddof=1) + 1e-8)


def clipped_surrogate_loss(
    log_ratio: Float[Array, "*M"], advantage: Float[Array, "*M"], clip_coef: Float[Array, ""]
) -> Float[Array, ""]:
    """L = - mean min(ρ Â, clip(ρ, 1 - ε, 1 + ε) Â), ρ = π(a|s) / π_old(a|s).

    Schulman et al. 2017 (arXiv:1707.06347), eq. 7.
    """
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1.0 - clip_coef, 1.0 + clip_coef)
    return -jnp.mean(jnp.minimum(ratio * advantage, clipped * advantage))


def squared_value_loss(value: Float[Array, "*M"], target: Float[Array, "*M"]) -> Float[Array, ""]:
    """L = ½ mean (V - R)². The only place where the half is taken."""
    return 0.5 * jnp.mean(jnp.square(value - target))


def clipped_value_loss(
    value: Float[Array, "*M"], old_value: Float[Array, "*M"], target: Float[Array, "*M"], clip_coef: Float[Array, ""]
) -> Float[Array, ""]:
    """L = ½ mean max((V - R)², (V_old + clip(V - V_old, -ε, ε) - R)²)."""
    near = old_value + jnp.clip(value - old_value, -clip_coef, clip_coef)
    return 0.5 * jnp.mean(jnp.maximum(jnp.square(value - target), jnp.square(near - target)))


def approximate_kl(log_ratio: Float[Array, "*M"]) -> Float[Array, ""]:
    """KL(π_old || π) ≈ mean (ρ - 1 - log ρ): unbiased, never negative. Schulman's k3 estimator."""
    return jnp.mean(jnp.expm1(log_ratio) - log_ratio)


def clip_fraction(log_ratio: Float[Array, "*M"], clip_coef: Float[Array, ""]) -> Float[Array, ""]:
    """Share of samples whose ratio left the clip range: mean [|ρ - 1| > ε]."""
    return jnp.mean((jnp.abs(jnp.expm1(log_ratio)) > clip_coef).astype(jnp.float32))


def explained_variance(value: Float[Array, "*M"], target: Float[Array, "*M"]) -> Float[Array, ""]:
    """1 - Var(R - V) / Var(R): 1 is a perfect critic, 0 no better than a constant; NaN where R never varies."""
    spread = jnp.var(target)
    return jnp.where(spread > 0, 1.0 - jnp.var(target - value) / spread, jnp.nan)
