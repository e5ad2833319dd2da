"""Whole episodes under a fixed policy, through the very pieces that training uses.

Each episode is the first one of its own env, so short episodes are not counted more often than long ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from courtside.algos import ppo
from courtside.envs.base import Env
from courtside.envs.wrappers import start_episode, step_episode
from courtside.hosts.base import Host
from courtside.nets import distributions
from courtside.preprocess import decode_action, encode
from courtside.types import EpisodeState, Obs, Policy

MAX_EPISODE_STEPS = 27_000
"""Where an episode that does not end by itself is cut, so that an evaluation always comes back."""


class Episodes(NamedTuple):
    """Returns and lengths of E episodes; the return is the mean over agents."""

    returns: Array | np.ndarray
    lengths: Array | np.ndarray


class _Playing(NamedTuple):
    """E episodes under way."""

    env_state: EpisodeState
    obs: Obs
    policy_state: Any
    ended: Array
    returns: Float[Array, "E"]
    lengths: Int[Array, "E"]
    step: Array


def play_episodes(
    env: Env,
    setup: ppo.Setup,
    policy: Policy,
    policy_state: Any,
    key: PRNGKeyArray,
    num_episodes: int,
    deterministic: bool,
) -> Episodes:
    """Play E episodes of a JAX world side by side."""
    start_key, step_key = jax.random.split(key)
    start = jax.vmap(lambda k: start_episode(env, k))(jax.random.split(start_key, num_episodes))
    nothing = jnp.zeros(num_episodes)
    playing = _Playing(*start, policy_state, nothing > 0, nothing, nothing.astype(jnp.int32), jnp.int32(0))

    def step(playing: _Playing) -> _Playing:
        action_key, env_key = jax.random.split(jax.random.fold_in(step_key, playing.step))
        action, policy_state = _choose(setup, policy, playing, action_key, deterministic)
        env_state, timestep, end = jax.vmap(lambda *args: step_episode(env, *args))(
            playing.env_state, action, jax.random.split(env_key, num_episodes), start
        )
        first = end.ended & ~playing.ended
        returns = jnp.where(first, jnp.mean(end.episode_return, axis=-1), playing.returns)
        lengths = jnp.where(first, end.episode_length, playing.lengths)
        ended = playing.ended | first
        return _Playing(env_state, timestep.obs, policy_state, ended, returns, lengths, playing.step + 1)

    def going_on(playing: _Playing) -> Array:
        return ~jnp.all(playing.ended) & (playing.step < MAX_EPISODE_STEPS)

    return _finish(jax.lax.while_loop(going_on, step, playing))


def _choose(setup: ppo.Setup, policy: Policy, playing: _Playing, key: PRNGKeyArray, deterministic: bool) -> Any:
    features = encode(setup.observation, playing.obs, jnp)
    if deterministic:
        action, policy_state = ppo.act_greedily(setup, policy, features, playing.policy_state)
    else:
        noise = distributions.draw_noise(setup.action, key, features.shape[:-1])
        action, policy_state = ppo.act(setup, policy, features, playing.policy_state, noise)
    return decode_action(setup.action, action, jnp), policy_state


def _finish(playing: _Playing) -> Episodes:
    """Episodes cut by the guard count with what they had until then."""
    so_far = jnp.mean(playing.env_state.episode_return, axis=-1)
    returns = jnp.where(playing.ended, playing.returns, so_far)
    return Episodes(returns, jnp.where(playing.ended, playing.lengths, playing.env_state.episode_length))


def play_host_episodes(host: Host, choose: Any, seed: int, num_episodes: int) -> Episodes:
    """Play E episodes of a world outside JAX, as many at a time as the host has envs.

    `choose(features, t)` gives the actions for features [B, A, D] at step t.
    """
    returns, lengths = [], []
    while len(returns) < num_episodes:
        got = _play_first_episodes(host, choose, seed + len(returns))
        returns += got.returns.tolist()
        lengths += got.lengths.tolist()
    return Episodes(np.asarray(returns[:num_episodes]), np.asarray(lengths[:num_episodes]))


def _play_first_episodes(host: Host, choose: Any, seed: int) -> Episodes:
    """Episodes cut by the guard count with what they had until then."""
    features = host.reset(seed)
    ended = np.zeros(host.num_envs, bool)
    returns, lengths = np.zeros(host.num_envs), np.zeros(host.num_envs, np.int64)
    for t in range(MAX_EPISODE_STEPS):
        step = host.step(decode_action(host.spec.action, choose(features, t), np))
        features = step.features
        first = step.ended & ~ended
        so_far = np.where(ended, returns, returns + step.reward.mean(axis=-1))
        returns = np.where(first, step.episode_return.mean(axis=-1), so_far)
        lengths = np.where(first, step.episode_length, lengths + ~ended)
        ended |= first
        if ended.all():
            break
    return Episodes(returns, lengths)
