"""Who is paid and who loses, judged at the places that a physics step finds.

- A ball that has left the plane above the net, on either side, pays the racket that touched it last; the right one where
  nobody did. After that the left racket counts as the last, which is how the original is written: when a shot of the right
  one then flies out untouched, the left one is blamed.
- The floor costs the agent on whose side it is; walls and net cost the left agent if its racket counts as the last, else the
  right one. The other agent's pay of that step is taken back to 0.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from courtside.envs.tennis import court
from courtside.envs.tennis.dynamics import Body

NOBODY, LEFT, RIGHT = -1, 0, 1


class Rally(eqx.Module):
    """What the referee remembers."""

    last: Int[Array, ""]
    """Racket that counts as the last to have touched the ball: NOBODY, LEFT or RIGHT."""
    left_touches: Bool[Array, ""]
    right_touches: Bool[Array, ""]
    """Whether a racket is in contact with the ball."""
    over_net: Bool[Array, ""]
    """The ball is at the plane above the net."""
    left_pay: Float[Array, ""]
    right_pay: Float[Array, ""]
    """Since the last step of the world."""
    ended: Bool[Array, ""]
    crossings: Int[Array, ""]
    """In this episode, as are the hits."""
    hits: Int[Array, ""]


def new_rally() -> Rally:
    """Before anything has happened."""
    count, no, nothing = jnp.zeros((), jnp.int32), jnp.zeros((), jnp.bool_), jnp.zeros((), jnp.float32)
    return Rally(count + NOBODY, no, no, no, nothing, nothing, no, count, count)


def judge(rally: Rally, ball: Body, left_touches: Bool[Array, ""], right_touches: Bool[Array, ""]) -> Rally:
    """First the crossing, then racket touches, then what ends the rally."""
    over_net = is_over_net(ball)
    crossed = rally.over_net & ~over_net
    left_pay = rally.left_pay + jnp.where(crossed & (rally.last == LEFT), court.CROSSING_PAYS, 0.0)
    right_pay = rally.right_pay + jnp.where(crossed & (rally.last != LEFT), court.CROSSING_PAYS, 0.0)
    left_hits, right_hits = left_touches & ~rally.left_touches, right_touches & ~rally.right_touches
    last = jnp.where(right_hits, RIGHT, jnp.where(left_hits | crossed, LEFT, rally.last))
    ended, left_loses = find_end(ball, last)
    left_pay = jnp.where(ended, jnp.where(left_loses, left_pay + court.LOSING_PAYS, 0.0), left_pay)
    right_pay = jnp.where(ended, jnp.where(left_loses, 0.0, right_pay + court.LOSING_PAYS), right_pay)
    crossings, hits = rally.crossings + crossed, rally.hits + (left_hits | right_hits)
    return Rally(last, left_touches, right_touches, over_net, left_pay, right_pay, ended, crossings, hits)


def is_over_net(ball: Body) -> Bool[Array, ""]:
    beyond = ball.y - jnp.clip(ball.y, court.NET_TOP, court.OVER_TOP)
    return ball.x**2 + beyond**2 < court.BALL_RADIUS**2


def find_end(ball: Body, last: Int[Array, ""]) -> tuple[Bool[Array, ""], Bool[Array, ""]]:
    """Whether the ball is in contact with floor, wall or net, and whether that is the left agent's loss."""
    reach = court.BALL_RADIUS + court.TOUCH
    on_floor, at_wall = ball.y < court.FLOOR + reach, jnp.abs(ball.x) > -court.WALL - reach
    beside, above = jnp.maximum(jnp.abs(ball.x) - court.NET_HALF_WIDTH, 0.0), jnp.maximum(ball.y - court.NET_TOP, 0.0)
    at_net = beside**2 + above**2 < reach**2
    return on_floor | at_wall | at_net, jnp.where(on_floor, ball.x < 0, last == LEFT)


def close(rally: Rally, left_over: Int[Array, ""]) -> Rally:
    """A rally that has ended, with what the serve of a new ball brings about; `left_over`: physics steps left for it.

    A ball taken away from the plane above the net has left it too: that pays the right agent, if still in this step.
    """
    taken = rally.ended & rally.over_net
    last = jnp.where(rally.ended, jnp.where(taken, LEFT, NOBODY), rally.last)
    right_pay = rally.right_pay + jnp.where(taken & (left_over > 0), court.CROSSING_PAYS, 0.0)
    left, right, over_net = (flag & ~rally.ended for flag in (rally.left_touches, rally.right_touches, rally.over_net))
    return Rally(last, left, right, over_net, rally.left_pay, right_pay, rally.ended, rally.crossings, rally.hits)
