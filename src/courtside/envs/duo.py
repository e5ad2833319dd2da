"""Two small worlds of two agents with continuous actions, whose best play is known: one together, one against each other.

    Meet    the nearer the two are, the better for both    best mean return -1.35; doing nothing gets -10
    Chase   what the runner wins the chaser loses          a saddle point, on average 0.975 for the runner

Both answer `best_action(state)`, what best play does, and `optimal_return(state)`, what it earns in an episode that begins
there, summed without discount. They are learned in seconds: a family of algorithms that misses the optimum has a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from courtside.envs.base import make_timestep
from courtside.spaces import Box
from courtside.types import EnvSpec, TimeStep

MEET_STEPS, MEET_SPEED = 15, 0.1
CHASE_STEPS, CHASER_SPEED, RUNNER_SPEED = 25, 0.15, 0.1

Places = Float[Array, "2 2"]
"""Where each agent is in the square: [A, axes]."""
Corridor = Float[Array, "2"]
"""Where the chaser is and where the runner."""


@dataclass(frozen=True)
class Meet:
    """Two agents in a square of side 2 have to meet; both get minus the mean of their distances along the two axes.

    Seen: one's own place, then the other's. An action is a move of up to 0.1 along each axis. Best is to go half the way each,
    as fast as possible: whoever goes all of it misses a partner that does the same.
    """

    spec: EnvSpec = EnvSpec(
        name="duo-meet",
        observation=Box(-1.0, 1.0, (4,)),
        action=Box(-1.0, 1.0, (2,)),
        num_agents=2,
        time_limit=MEET_STEPS,
    )

    @property
    def scripts(self) -> dict[str, Any]:
        return {"best": lambda state, agent, key: self.best_action(state)[agent]}

    def reset(self, key: PRNGKeyArray) -> tuple[Places, Float[Array, "2 4"]]:
        state = jax.random.uniform(key, (2, 2), jnp.float32, -1.0, 1.0)
        return state, _meet_obs(state)

    def step(self, state: Places, action: Float[Array, "2 2"], key: PRNGKeyArray) -> tuple[Places, TimeStep]:
        state = jnp.clip(state + MEET_SPEED * jnp.clip(action, -1.0, 1.0), -1.0, 1.0)
        distance = jnp.mean(jnp.abs(state[0] - state[1]))
        return state, make_timestep(_meet_obs(state), jnp.full(2, -distance), jnp.zeros(2, jnp.bool_))

    def best_action(self, state: Places) -> Float[Array, "2 2"]:
        return jnp.clip((state[::-1] - state) / (2 * MEET_SPEED), -1.0, 1.0)

    def optimal_return(self, state: Places) -> Float[Array, "2"]:
        """- Σₖ mean over the axes of max(0, δ - 0.2 k): no play brings two agents together faster.

        On average over first states -1.35: E max(0, δ - c) = (2 - c)³ / 12 for δ between two places drawn at random.
        """
        gap = jnp.abs(state[0] - state[1])[None] - 2 * MEET_SPEED * _count(MEET_STEPS)[:, None]
        return jnp.full(2, -jnp.sum(jnp.mean(jnp.maximum(gap, 0.0), axis=1)))


def _meet_obs(state: Places) -> Float[Array, "2 4"]:
    return jnp.concatenate([state, state[::-1]], axis=1)


@dataclass(frozen=True)
class Chase:
    """A runner in a corridor from -1 to 1 and a faster chaser behind it; each step pays the runner the gap between them.

    The chaser pays it. The runner cannot get past the chaser: the episode ends when it is caught. Seen: 1 for the chaser and
    -1 for the runner, one's own place, the other's. An action is a move of up to 0.15 (chaser) or 0.1 (runner).
    """

    spec: EnvSpec = EnvSpec(
        name="duo-chase",
        observation=Box(-1.0, 1.0, (3,)),
        action=Box(-1.0, 1.0, (1,)),
        num_agents=2,
        time_limit=CHASE_STEPS,
        agent_names=("chaser_0", "runner_0"),
    )

    @property
    def scripts(self) -> dict[str, Any]:
        return {"best": lambda state, agent, key: self.best_action(state)[agent]}

    def reset(self, key: PRNGKeyArray) -> tuple[Corridor, Float[Array, "2 3"]]:
        """The chaser in the middle half, the runner 0.2 to 0.5 to its left or its right."""
        chaser, gap, side = jax.random.uniform(key, (3,), jnp.float32)
        ahead = (0.2 + 0.3 * gap) * jnp.where(side < 0.5, -1.0, 1.0)
        state = jnp.stack([chaser - 0.5, chaser - 0.5 + ahead])
        return state, _chase_obs(state)

    def step(self, state: Corridor, action: Float[Array, "2 1"], key: PRNGKeyArray) -> tuple[Corridor, TimeStep]:
        speed = jnp.array([CHASER_SPEED, RUNNER_SPEED], jnp.float32)
        chaser, runner = jnp.clip(state + speed * jnp.clip(action[:, 0], -1.0, 1.0), -1.0, 1.0)
        gap = jnp.maximum((runner - chaser) * jnp.sign(state[1] - state[0]), 0.0)
        is_caught = gap == 0.0
        state = jnp.stack([chaser, jnp.where(is_caught, chaser, runner)])
        return state, make_timestep(_chase_obs(state), jnp.stack([-gap, gap]), jnp.stack([is_caught, is_caught]))

    def best_action(self, state: Corridor) -> Float[Array, "2 1"]:
        """Both as fast as they can, the way the runner is from the chaser."""
        return jnp.full((2, 1), jnp.sign(state[1] - state[0]))

    def optimal_return(self, state: Corridor) -> Float[Array, "2"]:
        """Σₖ max(0, g + min(0.1 k, w) - 0.15 k) for the runner, minus that for the chaser; g the gap, w the runner's way to
        the wall. Running keeps the gap at least that wide whatever the chaser does, and chasing at most that wide."""
        gap, steps = jnp.abs(state[1] - state[0]), _count(CHASE_STEPS)
        to_wall = 1.0 - state[1] * jnp.sign(state[1] - state[0])
        gaps = gap + jnp.minimum(RUNNER_SPEED * steps, to_wall) - CHASER_SPEED * steps
        total = jnp.sum(jnp.maximum(gaps, 0.0))
        return jnp.stack([-total, total])


def _chase_obs(state: Corridor) -> Float[Array, "2 3"]:
    role = jnp.array([1.0, -1.0], jnp.float32)
    return jnp.stack([role, state, state[::-1]], axis=1)


def _count(steps: int) -> Float[Array, "T"]:
    """1 .. T."""
    return jnp.arange(1, steps + 1, dtype=jnp.float32)
