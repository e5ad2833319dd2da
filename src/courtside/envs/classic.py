"""Classic control: CartPole, Acrobot, MountainCar and Pendulum, equal to Gymnasium's step by step.

The state of each is one float32 vector and a step is one expression on it: XLA then needs the fewest kernels, which is
what a world this small costs. Gymnasium computes in float64, so the two agree to rounding, not to the bit.
Where a step ends the task and runs out of time at once, `terminated` alone is set (Gymnasium sets both).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, UInt8

from courtside.envs import classic_rendering
from courtside.envs.base import make_timestep
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec, TimeStep

INF = math.inf


def _uniform(key: PRNGKeyArray, low: float, high: float, size: int) -> Float[Array, "S"]:
    return jax.random.uniform(key, (size,), jnp.float32, low, high)


def _wrap_angle(angle: Float[Array, ""]) -> Float[Array, ""]:
    """The same angle in -π .. π."""
    return angle - 2 * math.pi * jnp.floor(angle / (2 * math.pi) + 0.5)


# --- CartPole: Barto, Sutton & Anderson (1983), "Neuronlike adaptive elements"; Euler steps of 0.02 s ---------------

CART_LIMIT = 2.4
"""Metres from the middle at which the cart is lost."""
POLE_LIMIT = math.radians(12)
"""Angle at which the pole counts as fallen."""
TOTAL_MASS = 1.1
"""Cart of 1 kg and pole of 0.1 kg."""
POLE_MOMENT = 0.05
"""Pole mass times half its length."""


@dataclass(frozen=True)
class CartPole:
    """Push a cart left (0) or right (1) so that its pole stays up; 1 per step. State: x, ẋ, θ, θ̇ (also the observation)."""

    spec: EnvSpec = EnvSpec(
        name="cartpole",
        observation=Box(
            (-2 * CART_LIMIT, -INF, -2 * POLE_LIMIT, -INF), (2 * CART_LIMIT, INF, 2 * POLE_LIMIT, INF), (4,)
        ),
        action=Discrete(2),
        time_limit=500,
    )
    action_names: ClassVar[tuple[str, ...]] = ("left", "right")
    render_fps: ClassVar[int] = 50

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "4"], Float[Array, "1 4"]]:
        state = _uniform(key, -0.05, 0.05, 4)
        return state, state[None]

    def step(
        self, state: Float[Array, "4"], action: Int[Array, "1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "4"], TimeStep]:
        _, x_velocity, angle, angle_velocity = state
        force = jnp.where(action[0] == 1, 10.0, -10.0)
        x_acceleration, angle_acceleration = _cartpole_accelerations(angle, angle_velocity, force)
        # One sum on the whole vector, and the end read from its result: about twice as fast as four scalars.
        state = state + 0.02 * jnp.stack([x_velocity, x_acceleration, angle_velocity, angle_acceleration])
        lost = (jnp.abs(state[0]) > CART_LIMIT) | (jnp.abs(state[2]) > POLE_LIMIT)
        return state, make_timestep(state[None], jnp.ones(1, jnp.float32), lost[None])

    def render(self, state: Float[Array, "4"]) -> UInt8[Array, "h w 3"]:
        return classic_rendering.draw_cartpole(state)


def _cartpole_accelerations(
    angle: Float[Array, ""], velocity: Float[Array, ""], force: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    push = (force + POLE_MOMENT * velocity**2 * sin) / TOTAL_MASS
    angle_acceleration = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 / TOTAL_MASS * cos**2))
    return push - POLE_MOMENT / TOTAL_MASS * angle_acceleration * cos, angle_acceleration


# --- Acrobot: Sutton (1996), "Generalization in RL", in the book's form; one Runge-Kutta step of 0.2 s --------------

MAX_SPEEDS = (4 * math.pi, 9 * math.pi)


@dataclass(frozen=True)
class Acrobot:
    """Torque -1, 0 or 1 on the elbow until the free end is one link above the shoulder; -1 per step, 0 for the last.

    State: θ₁ (0 hangs down), θ₂ (relative to the first link), θ̇₁, θ̇₂. Seen: cosine and sine of each angle, both speeds.
    """

    spec: EnvSpec = EnvSpec(
        name="acrobot",
        observation=Box((-1.0,) * 4 + tuple(-s for s in MAX_SPEEDS), (1.0,) * 4 + MAX_SPEEDS, (6,)),
        action=Discrete(3),
        time_limit=500,
    )
    action_names: ClassVar[tuple[str, ...]] = ("left", "nothing", "right")
    render_fps: ClassVar[int] = 15

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "4"], Float[Array, "1 6"]]:
        state = _uniform(key, -0.1, 0.1, 4)
        return state, _acrobot_obs(state)

    def step(
        self, state: Float[Array, "4"], action: Int[Array, "1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "4"], TimeStep]:
        angle1, angle2, speed1, speed2 = _runge_kutta(state, action[0].astype(jnp.float32) - 1)
        speed1 = jnp.clip(speed1, -MAX_SPEEDS[0], MAX_SPEEDS[0])
        speed2 = jnp.clip(speed2, -MAX_SPEEDS[1], MAX_SPEEDS[1])
        state = jnp.stack([_wrap_angle(angle1), _wrap_angle(angle2), speed1, speed2])
        up = -jnp.cos(state[0]) - jnp.cos(state[0] + state[1]) > 1
        return state, make_timestep(_acrobot_obs(state), jnp.where(up, 0.0, -1.0)[None].astype(jnp.float32), up[None])

    def render(self, state: Float[Array, "4"]) -> UInt8[Array, "h w 3"]:
        return classic_rendering.draw_acrobot(state)


def _acrobot_obs(state: Float[Array, "4"]) -> Float[Array, "1 6"]:
    cos, sin = jnp.cos(state[:2]), jnp.sin(state[:2])
    return jnp.stack([cos[0], sin[0], cos[1], sin[1], state[2], state[3]])[None]


def _runge_kutta(state: Float[Array, "4"], torque: Float[Array, ""]) -> Float[Array, "4"]:
    """y + h/6 (k₁ + 2k₂ + 2k₃ + k₄) with h = 0.2 s."""
    k1 = _acrobot_slope(state, torque)
    k2 = _acrobot_slope(state + 0.1 * k1, torque)
    k3 = _acrobot_slope(state + 0.1 * k2, torque)
    k4 = _acrobot_slope(state + 0.2 * k3, torque)
    return state + 0.2 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def _acrobot_slope(state: Float[Array, "4"], torque: Float[Array, ""]) -> Float[Array, "4"]:
    """θ̇ and θ̈ of both links; masses, lengths and inertias are 1, centres of mass at 0.5, gravity 9.8."""
    angle1, angle2, speed1, speed2 = state
    sin2, cos2 = jnp.sin(angle2), jnp.cos(angle2)
    d1 = 3.5 + cos2
    d2 = 1.25 + 0.5 * cos2
    phi2 = 4.9 * jnp.sin(angle1 + angle2)
    phi1 = -0.5 * speed2**2 * sin2 - speed2 * speed1 * sin2 + 14.7 * jnp.sin(angle1) + phi2
    acceleration2 = (torque + d2 / d1 * phi1 - 0.5 * speed1**2 * sin2 - phi2) / (1.25 - d2**2 / d1)
    return jnp.stack([speed1, speed2, -(d2 * acceleration2 + phi1) / d1, acceleration2])


# --- MountainCar: Moore (1990), "Efficient memory-based learning for robot control" ---------------------------------

LEFT_END, RIGHT_END, GOAL, MAX_SPEED = -1.2, 0.6, 0.5, 0.07


@dataclass(frozen=True)
class MountainCar:
    """Push left (0), not at all (1) or right (2) until the car is at 0.5; -1 per step. State: position, velocity."""

    spec: EnvSpec = EnvSpec(
        name="mountain-car",
        observation=Box((LEFT_END, -MAX_SPEED), (RIGHT_END, MAX_SPEED), (2,)),
        action=Discrete(3),
        time_limit=200,
    )
    action_names: ClassVar[tuple[str, ...]] = ("left", "nothing", "right")
    render_fps: ClassVar[int] = 30

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "2"], Float[Array, "1 2"]]:
        state = jnp.stack([_uniform(key, -0.6, -0.4, 1)[0], jnp.zeros((), jnp.float32)])
        return state, state[None]

    def step(
        self, state: Float[Array, "2"], action: Int[Array, "1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "2"], TimeStep]:
        push = 0.001 * (action[0].astype(jnp.float32) - 1)
        velocity = jnp.clip(state[1] + push - 0.0025 * jnp.cos(3 * state[0]), -MAX_SPEED, MAX_SPEED)
        position = jnp.clip(state[0] + velocity, LEFT_END, RIGHT_END)
        velocity = jnp.where((position <= LEFT_END) & (velocity < 0), 0.0, velocity)  # the left wall stops the car
        state = jnp.stack([position, velocity])
        at_goal = (state[0] >= GOAL) & (state[1] >= 0)
        return state, make_timestep(state[None], jnp.full(1, -1, jnp.float32), at_goal[None])

    def render(self, state: Float[Array, "2"]) -> UInt8[Array, "h w 3"]:
        return classic_rendering.draw_mountain_car(state)


# --- Pendulum: semi-implicit Euler steps of 0.05 s, mass and length 1, gravity 10 -----------------------------------


@dataclass(frozen=True)
class Pendulum:
    """Torque in -2 .. 2 that swings a pendulum up and holds it; -(θ² + 0.1 θ̇² + 0.001 u²) per step, never ends by itself.

    State: θ (0 is up), θ̇. Seen: cosine and sine of θ, θ̇. We keep θ within -π .. π, where float32 is precise.
    """

    spec: EnvSpec = EnvSpec(
        name="pendulum",
        observation=Box((-1.0, -1.0, -8.0), (1.0, 1.0, 8.0), (3,)),
        action=Box(-2.0, 2.0, (1,)),
        time_limit=200,
    )
    render_fps: ClassVar[int] = 20

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "2"], Float[Array, "1 3"]]:
        state = _uniform(key, -1.0, 1.0, 2) * jnp.array([math.pi, 1], jnp.float32)
        return state, _pendulum_obs(state)

    def step(
        self, state: Float[Array, "2"], action: Float[Array, "1 1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "2"], TimeStep]:
        angle, speed = state
        torque = jnp.clip(action[0, 0], -2, 2)
        cost = angle**2 + 0.1 * speed**2 + 0.001 * torque**2
        speed = jnp.clip(speed + 0.05 * (15 * jnp.sin(angle) + 3 * torque), -8, 8)
        state = jnp.stack([_wrap_angle(angle + 0.05 * speed), speed])
        return state, make_timestep(_pendulum_obs(state), -cost[None], jnp.zeros(1, jnp.bool_))

    def render(self, state: Float[Array, "2"]) -> UInt8[Array, "h w 3"]:
        return classic_rendering.draw_pendulum(state)


def _pendulum_obs(state: Float[Array, "2"]) -> Float[Array, "1 3"]:
    return jnp.stack([jnp.cos(state[0]), jnp.sin(state[0]), state[1]])[None]
