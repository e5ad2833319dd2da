"""Action distributions over a space: sample from ready-made noise, log-probability, entropy, most likely action.

Everything works on the row of numbers that the policy head puts out (`[*batch, K]`). Noise is drawn apart from the
sample, so that a rollout can draw all of it in one call.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt32

from courtside import spaces
from courtside.spaces import Box, Discrete, MultiDiscrete, Space

LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def head_size(space: Space) -> int:
    """K: logits of every choice, or mean and log deviation of every number."""
    match space:
        case Discrete(n):
            return n
        case MultiDiscrete(nvec):
            return sum(nvec)
        case _:
            return 2 * spaces.feature_size(space)


def noise_size(space: Space) -> int:
    """How many random numbers one action takes."""
    return spaces.feature_size(space) if isinstance(space, Box) else head_size(space)


def draw_noise(space: Space, key: PRNGKeyArray, batch: tuple[int, ...]) -> Float[Array, "*batch K2"]:
    """The noise of a whole batch of actions."""
    return noise_from_bits(space, jax.random.bits(key, (*batch, noise_size(space)), jnp.uint32))


def noise_from_bits(space: Space, bits: UInt32[Array, "*batch K2"]) -> Float[Array, "*batch K2"]:
    """Gumbel noise -log(-log u) per choice, or normal noise √2 erf⁻¹(2u - 1) per number.

    u is the middle of one of 2²³ equal steps of (0, 1), so that neither end is ever hit.
    """
    uniform = ((bits >> 9).astype(jnp.float32) + 0.5) * 2.0**-23
    if isinstance(space, Box):
        return math.sqrt(2) * jax.lax.erf_inv(2.0 * uniform - 1.0)
    return -jnp.log(-jnp.log(uniform))


def sample(space: Space, head: Float[Array, "*batch K"], noise: Float[Array, "*batch K2"]) -> Array:
    """a = argmax (logits + gumbel), component by component; or a = μ + σ z."""
    match space:
        case Box():
            mean, log_std = jnp.split(head, 2, axis=-1)
            return mean + jnp.exp(log_std) * noise
        case _:
            return mode(space, head + noise)


def mode(space: Space, head: Float[Array, "*batch K"]) -> Array:
    """The most likely action."""
    match space:
        case Discrete():
            return jnp.argmax(head, axis=-1).astype(jnp.int32)
        case MultiDiscrete():
            choices = [jnp.argmax(logits, axis=-1) for logits in _components(space, head)]
            return jnp.stack(choices, axis=-1).astype(jnp.int32)
        case _:
            return jnp.split(head, 2, axis=-1)[0]


def log_prob_and_entropy(
    space: Space, head: Float[Array, "*batch K"], action: Array
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    """log π(a|s) and the entropy H(π), components independent of each other (their sums).

    categorical: H = - Σ p log p;  Gaussian: log π = Σ -½((a-μ)/σ)² - log σ - log √2π,  H = Σ ½ + log √2π + log σ
    """
    match space:
        case Discrete():
            return _categorical(head, action)
        case MultiDiscrete():
            parts = [_categorical(c, action[..., i]) for i, c in enumerate(_components(space, head))]
            log_probs, entropies = zip(*parts, strict=True)
            return jnp.sum(jnp.stack(log_probs), axis=0), jnp.sum(jnp.stack(entropies), axis=0)
        case _:
            return _gaussian(head, action)


def _categorical(logits: Float[Array, "*batch K"], action: Array) -> tuple[Array, Array]:
    log_p = jax.nn.log_softmax(logits)
    chosen = action[..., None] == jax.lax.broadcasted_iota(action.dtype, logits.shape, logits.ndim - 1)
    return jnp.sum(jnp.where(chosen, log_p, 0.0), axis=-1), -jnp.sum(jnp.exp(log_p) * log_p, axis=-1)


def _gaussian(head: Float[Array, "*batch K"], action: Array) -> tuple[Array, Array]:
    mean, log_std = jnp.split(head, 2, axis=-1)
    z = (action - mean) * jnp.exp(-log_std)
    log_prob = jnp.sum(-0.5 * jnp.square(z) - log_std - LOG_SQRT_2PI, axis=-1)
    return log_prob, jnp.sum(0.5 + LOG_SQRT_2PI + log_std, axis=-1)


def _components(space: MultiDiscrete, head: Float[Array, "*batch K"]) -> list[Array]:
    edges = [sum(space.nvec[: i + 1]) for i in range(len(space.nvec) - 1)]
    return jnp.split(head, edges, axis=-1)
