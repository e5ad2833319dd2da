"""Linear layers and how they begin: orthogonal weights, zero biases."""

from __future__ import annotations

import itertools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

HIDDEN_GAIN = math.sqrt(2)


class Linear(eqx.Module):
    """y = x W + b"""

    weight: Float[Array, "*P fan_in fan_out"]
    bias: Float[Array, "*P fan_out"]

    def __call__(self, x: Float[Array, "*batch fan_in"]) -> Float[Array, "*batch fan_out"]:
        y = x @ self.weight
        return y + jnp.broadcast_to(self.bias, y.shape)


def make_layers(shapes: list[tuple[int, int, float]], key: PRNGKeyArray) -> list[Linear]:
    """Orthogonal weights (fan_in, fan_out, gain) and zero biases; all noise comes from one draw, which compiles faster."""
    sizes = [fan_in * fan_out for fan_in, fan_out, _ in shapes]
    noise = jax.random.normal(key, (sum(sizes),))
    pieces = jnp.split(noise, list(itertools.accumulate(sizes))[:-1])
    return [
        Linear(_orthogonal(piece, fan_in, fan_out) * gain, jnp.zeros(fan_out))
        for piece, (fan_in, fan_out, gain) in zip(pieces, shapes, strict=True)
    ]


def _orthogonal(noise: Float[Array, "size"], fan_in: int, fan_out: int) -> Float[Array, "fan_in fan_out"]:
    """A uniformly random matrix with orthonormal rows or columns, whichever are fewer: Q of noise = Q R, R's diagonal > 0."""
    q, r = jnp.linalg.qr(noise.reshape(max(fan_in, fan_out), min(fan_in, fan_out)))
    q = q * jnp.sign(jnp.diagonal(r))[None, :]
    return q if fan_in >= fan_out else q.T
