"""The state of one match, how it is laid out, and what an agent is shown of it: eight numbers a step, those of the last three
steps in a row, the oldest first."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
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


# --- what agents are shown ------------------------------------------------------------------------------------------

NUM_FRAMES, FRAME_SIZE = 3, 8
MIRROR = np.array([-1, 1, -1, 1], np.float32)


def show(bodies: Bodies, ball_velocity: bool) -> Float[Array, "2 8"]:
    """Racket and ball, own side to the left: x, y and velocity of each.

    In the original the last two are the racket's own velocity once more, for it reads the wrong body.
    """
    rackets, ball = bodies[:2], jnp.stack([bodies[2], bodies[2] * MIRROR])
    velocity = ball[:, 2:] if ball_velocity else rackets[:, 2:]
    return jnp.concatenate([rackets, ball[:, :2], velocity], axis=1)


def show_all(oldest: Bodies, before: Bodies, now: Bodies, ball_velocity: bool) -> Float[Array, "2 24"]:
    return jnp.concatenate([show(bodies, ball_velocity) for bodies in (oldest, before, now)], axis=1)


def show_first(now: Bodies, ball_velocity: bool) -> Float[Array, "2 24"]:
    """At the start of an episode: nothing was shown before."""
    frame = show(now, ball_velocity)
    return jnp.concatenate([jnp.zeros((2, (NUM_FRAMES - 1) * FRAME_SIZE), jnp.float32), frame], axis=1)
