"""What an agent is shown: eight numbers a step, those of the last three steps in a row, the oldest first."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from courtside.envs.tennis.state import Bodies

NUM_FRAMES, FRAME_SIZE = 3, 8
MIRROR = np.array([-1, 1, -1, 1], np.float32)


def show(bodies: Bodies, ball_velocity: bool) -> Float[Array, "2 8"]:
    """Racket and ball, own side to the left: x, y and velocity of each.

    In the original the last two are the racket's own velocity once more, for it reads the wrong body.
    """
    rackets, ball = bodies[:2], jnp.stack([bodies[2], bodies[2] * MIRROR])
    velocity = ball[:, 2:] if ball_velocity else rackets[:, 2:]
    return jnp.concatenate([rackets, ball[:, :2], velocity], axis=1)


def stack(oldest: Bodies, before: Bodies, now: Bodies, ball_velocity: bool) -> Float[Array, "2 24"]:
    return jnp.concatenate([show(bodies, ball_velocity) for bodies in (oldest, before, now)], axis=1)


def first(now: Bodies, ball_velocity: bool) -> Float[Array, "2 24"]:
    """At the start of an episode: nothing was shown before."""
    frame = show(now, ball_velocity)
    return jnp.concatenate([jnp.zeros((2, (NUM_FRAMES - 1) * FRAME_SIZE), jnp.float32), frame], axis=1)
