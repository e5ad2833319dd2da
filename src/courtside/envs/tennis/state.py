"""The state of one match, and how it is laid out."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from courtside.envs.tennis.dynamics import Body
from courtside.envs.tennis.rules import Rally

Bodies = Float[Array, "3 4"]
"""Left racket, right racket (each from its own side) and ball (from the left): x, y, vx, vy."""


class TennisState(eqx.Module):
    """Everything that can change; leading axes come from vmap."""

    bodies: Bodies
    before: Bodies
    """One step earlier; zeros at the start of an episode."""
    rally: Rally
    left_over: Int[Array, ""]
    """Physics steps for which the next ball had fallen when the step that ended the rally was over."""
    coming: Float[Array, "3"]
    """Drawn beforehand: where the next serve comes down (as the left agent sees it), and the rackets' next places."""


def unpack(bodies: Bodies) -> tuple[Body, Body, Body]:
    left, right, ball = (Body(*(bodies[i, j] for j in range(4))) for i in range(3))
    return left, right, ball


def pack(left: Body, right: Body, ball: Body) -> Bodies:
    return jnp.stack([*left, *right, *ball]).reshape(3, 4)
