"""Tennis as the rest of courtside knows worlds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, UInt8

from courtside.envs.base import make_timestep
from courtside.envs.tennis import court, rendering
from courtside.envs.tennis.dynamics import Body, find_contact, hold_speed, mirror, move, steer
from courtside.envs.tennis.rules import Rally, close, judge
from courtside.envs.tennis.serving import first_serve, next_serve, put_racket, serve_ball
from courtside.envs.tennis.state import (
    FRAME_SIZE,
    NUM_FRAMES,
    Bodies,
    TennisState,
    pack,
    show_all,
    show_first,
    unpack,
)
from courtside.errors import ConfigError
from courtside.spaces import Box
from courtside.types import EnvSpec, Obs, TimeStep

FARTHEST_SEEN = 100.0
"""No number that an agent is shown is larger: rackets run at 30, a ball just hit at less than 80."""
MAX_PHYSICS_STEPS = 20
"""A new ball must not come down in the step that it was served in."""


@dataclass(frozen=True)
class Tennis:
    """Two rackets keep a ball in the air; each shot over the net pays 0.1, a lost ball costs 0.01."""

    mode: Literal["faithful", "fixed"] = "faithful"
    """faithful: as the original is, its mistakes included; fixed: all of them mended."""
    ball_velocity: bool | None = None
    """Show the ball's velocity, where the original shows the racket's own a second time. None: as the mode says."""
    terminal_observation: bool | None = None
    """Show how a rally ended, where the original shows how the next one begins. None: as the mode says."""
    fresh_serve: bool | None = None
    """Begin every episode with a new ball, where one that was cut off in flight would fly on. None: as the mode says."""
    physics_steps: int = court.PHYSICS_STEPS
    """Physics steps of 0.02 s in each step, 1 to 20."""

    render_fps: ClassVar[int] = 10

    def __post_init__(self) -> None:
        if not 1 <= self.physics_steps <= MAX_PHYSICS_STEPS:
            raise ConfigError(
                f"The option physics_steps of tennis is {self.physics_steps}, but it must be 1 to {MAX_PHYSICS_STEPS}; "
                f"the original has {court.PHYSICS_STEPS}."
            )

    def mends(self, switch: bool | None) -> bool:
        """A switch given on its own beats the mode."""
        return self.mode == "fixed" if switch is None else switch

    @property
    def spec(self) -> EnvSpec:
        return EnvSpec(
            name="tennis",
            observation=Box(-FARTHEST_SEEN, FARTHEST_SEEN, (NUM_FRAMES * FRAME_SIZE,)),
            action=Box(-1.0, 1.0, (2,)),
            num_agents=court.NUM_AGENTS,
            time_limit=court.LIMIT // self.physics_steps + 1,
            agent_names=("racket_0", "racket_1"),
        )

    @property
    def sight(self) -> dict[str, Any]:
        """All that decides how the world looks to an agent: a network trained under another would be misled."""
        return {"ball_velocity": self.mends(self.ball_velocity), "physics_steps": self.physics_steps}

    def reset(self, key: PRNGKeyArray) -> tuple[TennisState, Obs]:
        state = first_serve(key)
        return state, self._first(state.bodies)

    def next_episode(self, state: TennisState, key: PRNGKeyArray) -> tuple[TennisState, Obs]:
        """The next episode of the match that stands in `state`."""
        if self.mends(self.fresh_serve):
            return self.reset(key)
        state = next_serve(state, key)
        return state, self._first(state.bodies)

    def step(self, state: TennisState, action: Float[Array, "2 2"], key: PRNGKeyArray) -> tuple[TennisState, TimeStep]:
        action = jnp.clip(action, -1.0, 1.0)
        nothing = jnp.zeros_like(state.rally.left_pay)
        unpaid = eqx.tree_at(lambda r: (r.left_pay, r.right_pay), state.rally, (nothing, nothing))
        start = (unpack(state.bodies), unpaid, jnp.zeros((), jnp.int32))

        def one_step(_: Array, now: tuple[Any, Rally, Array]) -> tuple[Any, Rally, Array]:
            bodies, rally, left_over = now
            return *physics_step(bodies, rally, action), left_over + rally.ended

        # Unrolled, XLA would compile for longer and, on a CPU, step more slowly.
        bodies, rally, left_over = jax.lax.fori_loop(0, self.physics_steps, one_step, start)
        rally = close(rally, left_over)
        reward = jnp.stack([rally.left_pay, rally.right_pay])
        after = TennisState(pack(*bodies), state.bodies, rally, left_over, state.coming)
        info = {"crossings": rally.crossings, "hits": rally.hits}
        terminated = jnp.broadcast_to(rally.ended, (court.NUM_AGENTS,))
        return after, make_timestep(self._observe(state.before, after), reward, terminated, None, info)

    def _observe(self, oldest: Bodies, state: TennisState) -> Float[Array, "2 24"]:
        """Going on, the last three frames; after an end the first of the next episode, as far as it is known."""
        going_on = show_all(oldest, state.before, state.bodies, self.mends(self.ball_velocity))
        if self.mends(self.terminal_observation):
            return going_on
        left, right = (put_racket(place) for place in state.coming[1:])
        served = pack(left, right, serve_ball(state.coming[0], state.left_over))
        return jnp.where(state.rally.ended, self._first(served), going_on)

    def _first(self, bodies: Bodies) -> Float[Array, "2 24"]:
        return show_first(bodies, self.mends(self.ball_velocity))

    def render(self, state: TennisState) -> UInt8[Array, "h w 3"]:
        """The court from the side, 20 pixels a metre."""
        return rendering.draw(state)


def physics_step(
    bodies: tuple[Body, Body, Body], rally: Rally, action: Float[Array, "2 2"]
) -> tuple[tuple[Body, Body, Body], Rally]:
    """One physics step; once the rally has ended, all stays as it was when the ball touched down."""
    left, right, ball = steer(bodies[0], *action[0]), steer(bodies[1], *action[1]), hold_speed(bodies[2])
    contacts = find_contact(left, ball), find_contact(right, mirror(ball))
    judged = judge(rally, ball, contacts[0].touches, contacts[1].touches)
    judged = jax.tree.map(lambda old, new: jnp.where(rally.ended, old, new), rally, judged)
    moved = move(left, right, ball, contacts)
    return jax.tree.map(lambda old, new: jnp.where(judged.ended, old, new), bodies, moved), judged
