"""Auto-reset, time limit and episode statistics around any world: one step that never leaks value over an end."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from courtside.envs.base import Env
from courtside.types import EpisodeEnd, EpisodeState, Obs, TimeStep


def start_episode(env: Env, key: PRNGKeyArray) -> tuple[EpisodeState, Obs]:
    """A fresh episode of one env."""
    inner, obs = env.reset(key)
    nothing = jnp.zeros(env.spec.num_agents, jnp.float32)
    return EpisodeState(inner, nothing, jnp.zeros((), jnp.int32), nothing > 0), obs


def step_episode(
    env: Env, state: EpisodeState, action: Array, key: PRNGKeyArray, fresh: tuple[EpisodeState, Obs]
) -> tuple[EpisodeState, TimeStep, EpisodeEnd]:
    """One step of one env; where the episode ends, the state and `obs` become `fresh`, `final_obs` stays the true one.

    An episode ends when every agent has terminated or been truncated, or when the spec's time limit is reached.
    """
    inner, timestep = env.step(state.inner, action, key)
    length = state.episode_length + 1
    timestep = apply_time_limit(env.spec.time_limit, timestep, length)
    done = timestep.terminated | timestep.truncated
    ended = jnp.all(done)
    episode_return = state.episode_return + timestep.reward
    going_on = (EpisodeState(inner, episode_return, length, done), timestep.obs)
    next_state, obs = _select(ended, fresh, going_on)
    timestep = TimeStep(
        obs, timestep.reward, timestep.terminated, timestep.truncated, timestep.final_obs, timestep.info
    )
    return next_state, timestep, EpisodeEnd(ended, episode_return, length, timestep.info)


def apply_time_limit(time_limit: int | None, timestep: TimeStep, length: Array) -> TimeStep:
    """Truncate whoever has not terminated once the clock runs out."""
    if time_limit is None:
        return timestep
    truncated = timestep.truncated | ((length >= time_limit) & ~timestep.terminated)
    return TimeStep(timestep.obs, timestep.reward, timestep.terminated, truncated, timestep.final_obs, timestep.info)


def _select(condition: Array, if_true: Any, if_false: Any) -> Any:
    """Choose between two pytrees of one shape, leaf by leaf; random keys among the leaves are allowed."""
    return jax.tree.map(lambda a, b: jax.lax.select(jnp.broadcast_to(condition, a.shape), a, b), if_true, if_false)
