"""Worlds for the corpus of sick runs: any world of ours with one thing changed, and one where exploration decides.

`--env-id health_worlds:altered --env-options world=cartpole obs_scale=1000` (with this folder on Python's path).
"""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from courtside.envs.base import Env, make_timestep
from courtside.settings.values import split_words
from courtside.settings.worlds import make_jax_env
from courtside.spaces import Box, Space
from courtside.types import EnvSpec, Obs, TimeStep


@dataclass(frozen=True)
class Altered:
    """A world whose rewards, observations or clock are not what they were."""

    world: Env
    reward_scale: float = 1.0
    obs_scale: float = 1.0
    nan_odds: float = 0.0
    """Chance of each step to show nothing but NaN."""
    time_limit: int = 0
    """Steps after which an episode is cut; 0 leaves the world's own limit."""
    paid_action: int = -1
    """An action that is paid for itself, whatever comes of it; -1 for none."""
    pay: float = 0.0

    @property
    def spec(self) -> EnvSpec:
        spec = self.world.spec
        limit = self.time_limit or spec.time_limit
        return dataclasses.replace(spec, observation=_scaled(spec.observation, self.obs_scale), time_limit=limit)

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Obs]:
        state, obs = self.world.reset(key)
        return state, self._show(obs)

    def step(self, state: Any, action: Array, key: PRNGKeyArray) -> tuple[Any, TimeStep]:
        state, timestep = self.world.step(state, action, key)
        paid = jnp.where(action == self.paid_action, self.pay, 0.0) if self.pay else 0.0
        obs = self._spoil(self._show(timestep.obs), key)
        reward = timestep.reward * self.reward_scale + paid
        return state, dataclasses.replace(timestep, obs=obs, final_obs=obs, reward=reward)

    def _show(self, obs: Obs) -> Obs:
        return obs if self.obs_scale == 1 else jax.tree.map(lambda x: x * self.obs_scale, obs)

    def _spoil(self, obs: Obs, key: PRNGKeyArray) -> Obs:
        if not self.nan_odds:
            return obs
        is_bad = jax.random.uniform(jax.random.fold_in(key, 1)) < self.nan_odds
        return jax.tree.map(lambda x: jnp.where(is_bad, jnp.nan, x), obs)


def altered(
    world: str = "cartpole",
    options: str = "",
    reward_scale: float = 1.0,
    obs_scale: float = 1.0,
    nan_odds: float = 0.0,
    time_limit: int = 0,
    paid_action: int = -1,
    pay: float = 0.0,
) -> Altered:
    """A world of ours, told `options` (NAME=VALUE words with commas between), with something changed."""
    inner = make_jax_env(world, split_words(word for word in options.split(",") if word))
    return Altered(inner, reward_scale, obs_scale, nan_odds, time_limit, paid_action, pay)


def _scaled(space: Space, factor: float) -> Space:
    """The range of observations that are multiplied by `factor`."""
    if factor == 1 or not isinstance(space, Box):
        return space
    low, high = ((bound * abs(factor)).ravel() for bound in (space.low_array, space.high_array))
    return Box(tuple(low.tolist()), tuple(high.tolist()), space.shape, space.dtype_name)


@dataclass(frozen=True)
class Hills:
    """Agents on a line between -2 and 2, all paid the mean of their heights: a low hill is near, a high one farther off.

    Who tries little never meets the high one. An agent sees where everybody stands, itself first.
    """

    num_agents: int = 1
    stride: float = 0.3

    @property
    def spec(self) -> EnvSpec:
        observation = Box(-2.0, 2.0, (self.num_agents,))
        return EnvSpec(
            name="hills",
            observation=observation,
            action=Box(-1.0, 1.0, (1,)),
            num_agents=self.num_agents,
            time_limit=30,
        )

    def reset(self, key: PRNGKeyArray) -> tuple[Array, Obs]:
        place = jax.random.uniform(key, (self.num_agents,), minval=-0.1, maxval=0.1)
        return place, self._show(place)

    def step(self, state: Array, action: Array, key: PRNGKeyArray) -> tuple[Array, TimeStep]:
        place = jnp.clip(state + self.stride * jnp.clip(action[:, 0], -1, 1), -2, 2)
        height = 0.3 * jnp.exp(-jnp.square(place / 0.3)) + jnp.exp(-jnp.square((place - 1.4) / 0.4))
        reward = jnp.broadcast_to(jnp.mean(height), place.shape)
        return place, make_timestep(self._show(place), reward, jnp.zeros(self.num_agents, bool))

    def _show(self, place: Array) -> Obs:
        return jnp.stack([jnp.roll(place, -i) for i in range(self.num_agents)])


def hills(num_agents: int = 1, stride: float = 0.3) -> Hills:
    return Hills(num_agents, stride)
