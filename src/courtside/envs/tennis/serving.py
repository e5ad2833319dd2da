"""How episodes begin: rackets are put down anew, a ball is served only when a rally has ended.

A reset leaves the ball alone. What the reset itself takes is one more physics step, so in the first observation of an
episode a new ball has already fallen for one to five of them; a ball that was cut off in flight flies on, and who touched it
last is remembered.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt32

from courtside.envs.tennis import court
from courtside.envs.tennis.dynamics import Body, fall, go, hold_speed
from courtside.envs.tennis.rules import Rally, close, judge, new_rally
from courtside.envs.tennis.state import TennisState, pack, unpack


def first_serve(key: PRNGKeyArray) -> TennisState:
    """A match begins: both rackets and a new ball, fallen for one physics step."""
    serve, places, coming = draw(key)
    return _begin(places, serve_ball(serve, jnp.ones((), jnp.int32)), new_rally(), coming)


def next_serve(state: TennisState, key: PRNGKeyArray) -> TennisState:
    """The next episode of a match."""
    _, places, coming = draw(key)
    flying, rally = fly_on(state)
    served = serve_ball(state.coming[0], jnp.where(state.rally.ended, state.left_over + 1, 0))
    return _begin(places, _choose(rally.ended, served, flying), rally, coming)


def draw(key: PRNGKeyArray) -> tuple[Float[Array, ""], Float[Array, "2"], Float[Array, "3"]]:
    """Where a ball is served, where both rackets stand, and the same for the next time."""
    # Numbers in -1 .. 1 from the two words of a key: JAX's own generator would cost more than a whole step of the game.
    seed, other = jax.random.key_data(key)
    mixed = _scramble(_scramble(seed + np.arange(1, 7, dtype=np.uint32) * np.uint32(0x9E3779B9)) ^ other)
    far = (mixed >> 8).astype(jnp.float32) * np.float32(2**-23) - 1
    away = court.START_NEAR + (court.START_FAR - court.START_NEAR) * jnp.abs(far)
    serves = jnp.where(far < 0, -away, away)[:2]
    return serves[0], -away[2:4], jnp.concatenate([serves[1:], -away[4:]])


def _scramble(words: UInt32[Array, "_"]) -> UInt32[Array, "_"]:
    """Every bit of the result depends on every bit of a word: multiply and shift, twice."""
    words = (words ^ (words >> 16)) * np.uint32(0x7FEB352D)
    words = (words ^ (words >> 15)) * np.uint32(0x846CA68B)
    return words ^ (words >> 16)


def serve_ball(x: Float[Array, ""], fallen: Int[Array, ""]) -> Body:
    """A new ball after some physics steps of fall, few enough to stay below its top speed."""
    steps, still = fallen.astype(jnp.float32), jnp.zeros_like(x)
    y = court.SERVE_HEIGHT - court.GRAVITY * court.DT**2 * steps * (steps + 1) / 2
    return Body(x, y, still, -court.GRAVITY * court.DT * steps)


def put_racket(place: Float[Array, ""]) -> Body:
    still = jnp.zeros_like(place)
    return Body(place, still + court.START_HEIGHT, still, still)


def fly_on(state: TennisState) -> tuple[Body, Rally]:
    """The physics step that a reset takes; it may be the rally's last. Nobody is hit: the rackets are being put down anew."""
    ball, nobody = hold_speed(unpack(state.bodies)[2]), jnp.zeros((), jnp.bool_)
    judged = close(judge(state.rally, ball, nobody, nobody), jnp.zeros((), jnp.int32))
    falling = fall(ball)
    return go(falling, falling), _choose(state.rally.ended, state.rally, judged)


def _begin(places: Float[Array, "2"], ball: Body, rally: Rally, coming: Float[Array, "3"]) -> TennisState:
    bodies, new = pack(put_racket(places[0]), put_racket(places[1]), ball), new_rally()
    kept = (rally.last, rally.left_touches, rally.right_touches, rally.over_net)
    rally = Rally(*kept, new.left_pay, new.right_pay, new.ended, new.crossings, new.hits)
    return TennisState(bodies, jnp.zeros_like(bodies), rally, new.hits, coming)


def _choose(condition: Array, if_true: Any, if_false: Any) -> Any:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)
