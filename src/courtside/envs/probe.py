"""Probes: worlds so small that the right answer is known. An agent that misses it has a bug, and the probe says where.

Each probe carries its answers: `known_value(obs, gamma)` is the value of the best policy, `best_action(obs)` what that
policy does (None where any action is as good), `probe_obs()` the observations worth asking about. After training, the
critic must give the known value and the policy's likeliest action must be the best one.

Where no action matters, any kind will do: a `spec` with another action space makes the same probe for other algorithms.

    Constant        value 1                        the critic learns at all; nothing leaks over a true end
    ObservedValue   value = what is seen           the observation reaches the critic
    Discount        value γ, then 1                rewards travel back in time
    ActionChoice    action 1                       the policy learns at all
    ObservedAction  action = what is seen          the observation reaches the policy
    Continuous      action = what is seen          the same for real numbers
    MultiChoice     both parts = what is seen      several choices at once, discrete observations
    TwoAgents       each agent its own rule        agents are not mixed up
    TimeLimit       value 1/(1-γ)                  a cut is not an end, and the bootstrap takes the true last observation
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.base import Env, make_timestep
from courtside.spaces import Box, Discrete, MultiDiscrete
from courtside.types import EnvSpec, Obs, TimeStep


@runtime_checkable
class Probe(Env, Protocol):
    """A world that knows the answers."""

    def known_value(self, obs: Obs, gamma: float) -> Float[Array, "A"]:
        """The value of the best policy at one observation `[A, ...]`."""
        ...

    def best_action(self, obs: Obs) -> Array | None:
        """What the best policy does there; None where it does not matter."""
        ...

    def probe_obs(self) -> Array:
        """Observations to ask about. `[N, A, ...]`"""
        ...


def _signs(key: PRNGKeyArray, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """-1 or 1, each as likely."""
    return jax.random.rademacher(key, shape, jnp.float32)


def _end(obs: Obs, reward: Float[Array, "A"]) -> TimeStep:
    """Every agent's task is over after this one step."""
    return make_timestep(obs, reward, jnp.ones(reward.shape, jnp.bool_))


def _right_or_wrong(right: Bool[Array, "A"]) -> Float[Array, "A"]:
    return jnp.where(right, 1.0, -1.0).astype(jnp.float32)


@dataclass(frozen=True)
class Constant:
    """One step, reward 1, nothing to see: the value is 1. A critic that bootstraps over the end says more."""

    spec: EnvSpec = EnvSpec(name="probe-constant", observation=Box(0.0, 0.0, (1,)), action=Discrete(2))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = jnp.zeros((1, 1), jnp.float32)
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Array, key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        return state, _end(state, jnp.ones(1, jnp.float32))

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return jnp.ones(1, jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> None:
        return None

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.zeros((1, 1, 1), jnp.float32)


@dataclass(frozen=True)
class ObservedValue:
    """One step that pays what was seen (-1 or 1): the value is the observation."""

    spec: EnvSpec = EnvSpec(name="probe-observed-value", observation=Box(-1.0, 1.0, (1,)), action=Discrete(2))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = _signs(key, (1, 1))
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Array, key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        return state, _end(state, state[:, 0])

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return obs[:, 0]

    def best_action(self, obs: Float[Array, "1 1"]) -> None:
        return None

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.array([[[-1]], [[1]]], jnp.float32)


@dataclass(frozen=True)
class Discount:
    """Two steps, seen as 0 and 1, that pay 0 and 1: the values are γ and 1."""

    spec: EnvSpec = EnvSpec(name="probe-discount", observation=Box(0.0, 1.0, (1,)), action=Discrete(2))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = jnp.zeros((1, 1), jnp.float32)
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Array, key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        obs = jnp.ones((1, 1), jnp.float32)
        return obs, make_timestep(obs, state[:, 0], state[:, 0] == 1)

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return jnp.where(obs[:, 0] == 1, 1.0, gamma).astype(jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> None:
        return None

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.array([[[0]], [[1]]], jnp.float32)


@dataclass(frozen=True)
class ActionChoice:
    """One step, nothing to see: action 1 pays 1, action 0 costs 1."""

    spec: EnvSpec = EnvSpec(name="probe-action", observation=Box(0.0, 0.0, (1,)), action=Discrete(2))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = jnp.zeros((1, 1), jnp.float32)
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Int[Array, "1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        return state, _end(state, _right_or_wrong(action == self.best_action(state)))

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return jnp.ones(1, jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> Int[Array, "1"]:
        return jnp.ones(1, jnp.int32)

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.zeros((1, 1, 1), jnp.float32)


@dataclass(frozen=True)
class ObservedAction:
    """One step: having seen 1, action 1 is right; having seen -1, action 0. Right pays 1, wrong costs 1."""

    spec: EnvSpec = EnvSpec(name="probe-observed-action", observation=Box(-1.0, 1.0, (1,)), action=Discrete(2))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = _signs(key, (1, 1))
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Int[Array, "1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        return state, _end(state, _right_or_wrong(action == self.best_action(state)))

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return jnp.ones(1, jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> Int[Array, "1"]:
        return (obs[:, 0] > 0).astype(jnp.int32)

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.array([[[-1]], [[1]]], jnp.float32)


@dataclass(frozen=True)
class Continuous:
    """One step: answer the number seen (-1 .. 1) with the same number; costs the squared difference, so the value is 0.

    The range of actions is twice as wide, so that no answer lies at its edge. A policy with deviation σ is worth -σ².
    """

    spec: EnvSpec = EnvSpec(name="probe-continuous", observation=Box(-1.0, 1.0, (1,)), action=Box(-2.0, 2.0, (1,)))

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = jax.random.uniform(key, (1, 1), jnp.float32, -1, 1)
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Float[Array, "1 1"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        return state, _end(state, -((action - state)[:, 0] ** 2))

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        return jnp.zeros(1, jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> Float[Array, "1 1"]:
        return obs

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.array([[[-0.8]], [[0]], [[0.8]]], jnp.float32)


@dataclass(frozen=True)
class MultiChoice:
    """One step: repeat both symbols seen (one of 2, one of 3); each right part pays ½, so the value is 1."""

    spec: EnvSpec = EnvSpec(
        name="probe-multi-discrete", observation=MultiDiscrete((2, 3)), action=MultiDiscrete((2, 3))
    )

    def reset(self, key: PRNGKeyArray) -> tuple[Int[Array, "1 2"], Int[Array, "1 2"]]:
        obs = jax.random.randint(key, (1, 2), 0, jnp.array([[2, 3]]), jnp.int32)
        return obs, obs

    def step(
        self, state: Int[Array, "1 2"], action: Int[Array, "1 2"], key: PRNGKeyArray
    ) -> tuple[Int[Array, "1 2"], TimeStep]:
        return state, _end(state, jnp.mean((action == state).astype(jnp.float32), axis=-1))

    def known_value(self, obs: Int[Array, "1 2"], gamma: float) -> Float[Array, "1"]:
        return jnp.ones(1, jnp.float32)

    def best_action(self, obs: Int[Array, "1 2"]) -> Int[Array, "1 2"]:
        return obs

    def probe_obs(self) -> Int[Array, "N 1 2"]:
        return jnp.array([[[i, j]] for i in range(2) for j in range(3)], jnp.int32)


@dataclass(frozen=True)
class TwoAgents:
    """One step, two agents with opposite rules: the first repeats the sign it sees, the second does the opposite.

    Each sees its own sign and which agent it is (-1 or 1). The first plays for 1, the second for 2, so that rewards,
    values or actions that land at the wrong agent show.
    """

    spec: EnvSpec = EnvSpec(name="probe-two-agents", observation=Box(-1.0, 1.0, (2,)), action=Discrete(2), num_agents=2)

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "2 2"], Float[Array, "2 2"]]:
        obs = jnp.stack([_signs(key, (2,)), jnp.array([-1, 1], jnp.float32)], axis=-1)
        return obs, obs

    def step(
        self, state: Float[Array, "2 2"], action: Int[Array, "2"], key: PRNGKeyArray
    ) -> tuple[Float[Array, "2 2"], TimeStep]:
        stakes = jnp.array([1, 2], jnp.float32)
        return state, _end(state, stakes * _right_or_wrong(action == self.best_action(state)))

    def known_value(self, obs: Float[Array, "2 2"], gamma: float) -> Float[Array, "2"]:
        return jnp.where(obs[:, 1] > 0, 2.0, 1.0).astype(jnp.float32)

    def best_action(self, obs: Float[Array, "2 2"]) -> Int[Array, "2"]:
        return (obs[:, 0] * obs[:, 1] < 0).astype(jnp.int32)

    def probe_obs(self) -> Float[Array, "N 2 2"]:
        return jnp.array([[[a, -1], [b, 1]] for a in (-1, 1) for b in (-1, 1)], jnp.float32)


@dataclass(frozen=True)
class TimeLimit:
    """Costs 1 in the first step (seen as -1), pays 1 in every later one (seen as 1), and is cut every 4 steps.

    The world itself never ends, so the values are 1/(1-γ), and one step before that -1 + γ/(1-γ). Whoever takes the cut
    for an end finds `value_if_ended`; whoever bootstraps from the first observation of the next episode falls short too.
    """

    spec: EnvSpec = EnvSpec(name="probe-time-limit", observation=Box(-1.0, 1.0, (1,)), action=Discrete(2), time_limit=4)

    def reset(self, key: PRNGKeyArray) -> tuple[Float[Array, "1 1"], Float[Array, "1 1"]]:
        obs = -jnp.ones((1, 1), jnp.float32)
        return obs, obs

    def step(
        self, state: Float[Array, "1 1"], action: Array, key: PRNGKeyArray
    ) -> tuple[Float[Array, "1 1"], TimeStep]:
        obs = jnp.ones((1, 1), jnp.float32)
        return obs, make_timestep(obs, state[:, 0], jnp.zeros(1, jnp.bool_))

    def known_value(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        later = 1 / (1 - gamma)
        return jnp.where(obs[:, 0] > 0, later, -1 + gamma * later).astype(jnp.float32)

    def value_if_ended(self, obs: Float[Array, "1 1"], gamma: float) -> Float[Array, "1"]:
        """The mistaken value (at λ = 1): the few rewards before the cut, averaged over where the agent may stand."""
        sums = [(1 - gamma**left) / (1 - gamma) for left in range(1, self.spec.time_limit or 1)]
        later = sum(sums) / len(sums)
        return jnp.where(obs[:, 0] > 0, later, -1 + gamma * sums[-1]).astype(jnp.float32)

    def best_action(self, obs: Float[Array, "1 1"]) -> None:
        return None

    def probe_obs(self) -> Float[Array, "N 1 1"]:
        return jnp.array([[[-1]], [[1]]], jnp.float32)


PROBES: tuple[type[Probe], ...] = (
    Constant, ObservedValue, Discount, ActionChoice, ObservedAction, Continuous, MultiChoice, TwoAgents, TimeLimit,
)  # fmt: skip
