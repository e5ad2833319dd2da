"""Auto-reset, time limit and episode statistics around any world: one step that never leaks value over an end."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from courtside.envs.base import Env
from courtside.types import EpisodeEnd, EpisodeState, Obs, TimeStep

Fresh = tuple[EpisodeState, Obs] | PRNGKeyArray
"""What the next episode begins with: all of it, or only a key where the world goes on from how the last one ended."""


def start_episode(env: Env, key: PRNGKeyArray) -> tuple[EpisodeState, Obs]:
    """A fresh episode of one env."""
    return _count_from_zero(env, *env.reset(key))


def draw_fresh(env: Env, key: PRNGKeyArray) -> Fresh:
    """What `step_episode` is to be given for the case that an episode ends."""
    return key if goes_on(env) else start_episode(env, key)


def goes_on(env: Env) -> bool:
    """Whether the world's episodes begin from how the last one ended."""
    return hasattr(env, "next_episode")


def begin_next(env: Env, state: Any, key: PRNGKeyArray) -> tuple[Any, Obs]:
    """The world's own state, and what is seen, at the start of the episode after one that ended in `state`."""
    return env.next_episode(state, key) if goes_on(env) else env.reset(key)  # pyright: ignore[reportAttributeAccessIssue]


def step_episode(
    env: Env,
    state: EpisodeState,
    action: Array,
    key: PRNGKeyArray,
    fresh: Fresh,
    score_cap: float | None = None,
) -> tuple[EpisodeState, TimeStep, EpisodeEnd]:
    """One step of one env; where the episode ends, state and `obs` become those of the next, `final_obs` stays the true one.

    An episode ends when every agent has terminated or been truncated, when the spec's time limit is reached, or when an
    agent has earned `score_cap`.
    """
    inner, timestep = env.step(state.inner, action, key)
    length, episode_return = state.episode_length + 1, state.episode_return + timestep.reward
    timestep = apply_time_limit(env.spec.time_limit, timestep, length)
    timestep = apply_score_cap(score_cap, timestep, episode_return)
    done = timestep.terminated | timestep.truncated
    ended = jnp.all(done)
    going_on = (EpisodeState(inner, episode_return, length, done), timestep.obs)
    begun = fresh if isinstance(fresh, tuple) else _count_from_zero(env, *begin_next(env, inner, fresh))
    next_state, obs = jax.tree.map(lambda a, b: jax.lax.select(jnp.broadcast_to(ended, a.shape), a, b), begun, going_on)
    timestep = TimeStep(
        obs, timestep.reward, timestep.terminated, timestep.truncated, timestep.final_obs, timestep.info
    )
    return next_state, timestep, EpisodeEnd(ended, episode_return, length, timestep.info)


def _count_from_zero(env: Env, inner: Any, obs: Obs) -> tuple[EpisodeState, Obs]:
    nothing = jnp.zeros(env.spec.num_agents, jnp.float32)
    return EpisodeState(inner, nothing, jnp.zeros((), jnp.int32), nothing > 0), obs


def apply_time_limit(time_limit: int | None, timestep: TimeStep, length: Array) -> TimeStep:
    """Truncate whoever has not terminated once the clock runs out."""
    return timestep if time_limit is None else _cut(timestep, length >= time_limit)


def apply_score_cap(score_cap: float | None, timestep: TimeStep, earned: Float[Array, "A"]) -> TimeStep:
    """Truncate whoever has not terminated once the best agent has earned enough."""
    return timestep if score_cap is None else _cut(timestep, jnp.max(earned) >= score_cap)


def _cut(timestep: TimeStep, when: Bool[Array, ""]) -> TimeStep:
    truncated = timestep.truncated | (when & ~timestep.terminated)
    return TimeStep(timestep.obs, timestep.reward, timestep.terminated, truncated, timestep.final_obs, timestep.info)
