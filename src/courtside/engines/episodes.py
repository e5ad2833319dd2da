"""Whole episodes under a fixed policy, through the very pieces that training uses.

Each episode is the first one of its own env, so short episodes are not counted more often than long ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray

from courtside.algos import acting
from courtside.algos.team import Team
from courtside.engines.rollout import rows_of, some_action
from courtside.envs.base import Env
from courtside.envs.wrappers import draw_fresh, goes_on, start_episode, step_episode
from courtside.hosts.base import Host
from courtside.types import EnvSpec, EpisodeEnd, EpisodeState, Obs, Policy, make_key

MAX_EPISODE_STEPS = 27_000
"""Where an episode that does not end by itself is cut, so that an evaluation always comes back."""


class Episodes(NamedTuple):
    """What came of E episodes; the return is the mean over agents."""

    returns: Array | np.ndarray
    lengths: Array | np.ndarray
    agent_returns: Array | np.ndarray
    """The return of every agent. [E, A]"""
    info: dict[str, Any]
    """What the world itself said at the end of each episode. [E, ...]"""


class _Playing(NamedTuple):
    """E episodes under way."""

    env_state: EpisodeState
    obs: Obs
    memories: Any
    ended: Array
    end: EpisodeEnd
    """How each episode ended, where it did."""
    step: Array


def play_episodes(
    env: Env,
    team: Team,
    policies: Sequence[Policy],
    key: PRNGKeyArray,
    num_episodes: int,
    deterministic: bool,
) -> Episodes:
    """Play E episodes of a JAX world side by side."""
    playing, fresh, step_key = _start(env, team, key, num_episodes)

    def step(playing: _Playing) -> _Playing:
        return _step(env, team, policies, fresh, step_key, deterministic, playing)[0]

    def going_on(playing: _Playing) -> Array:
        return ~jnp.all(playing.ended) & (playing.step < MAX_EPISODE_STEPS)

    return _finish(jax.lax.while_loop(going_on, step, playing))


class Trace(NamedTuple):
    """One episode, state by state."""

    states: Any
    """The world's own states, from the first to the one that the last step led to. [L + 1, ...]"""
    rewards: np.ndarray
    """[L, A]"""
    ending: str
    """`terminated`, `time limit`, or empty where the guard cut it."""
    features: np.ndarray | None = None
    """What the agents saw before each step, as their networks are given it; None where a person played. [L, A, D]"""
    actions: tuple[np.ndarray, ...] = ()
    """As the policies chose them, one array per group of agents. [L, A, ...]"""


class _Steps(NamedTuple):
    """One step of every episode, or with an axis in front many. [E, ...]"""

    inner: Any
    """The world's own state after it, before any reset."""
    reward: Any
    terminated: Any
    features: Any
    actions: Any


TRACE_BLOCK = 64
"""Steps of a trace that are played in one call."""


def trace_episodes(
    env: Env,
    team: Team,
    policies: Sequence[Policy],
    key: PRNGKeyArray,
    num_episodes: int,
    deterministic: bool,
) -> list[Trace]:
    """The very episodes that `play_episodes` plays with the same key, with every state on the way."""
    playing, fresh, step_key = _start(env, team, key, num_episodes)
    first = jax.device_get(playing.env_state.inner)

    @jax.jit
    def play_block(playing: _Playing) -> tuple[_Playing, Any]:
        step = lambda p, _: _step(env, team, policies, fresh, step_key, deterministic, p)  # noqa: E731
        return jax.lax.scan(step, playing, length=TRACE_BLOCK)

    blocks = []
    while not bool(jnp.all(playing.ended)) and len(blocks) * TRACE_BLOCK < MAX_EPISODE_STEPS:
        playing, seen = play_block(playing)
        blocks.append(jax.device_get(seen))
    played: _Steps = jax.tree.map(lambda *parts: np.concatenate(parts), *blocks)
    lengths, ended = np.asarray(_finish(playing).lengths), np.asarray(playing.ended)
    words = [
        ("terminated" if played.terminated[n - 1, i].any() else "time limit") if ended[i] else ""
        for i, n in enumerate(lengths)
    ]
    return [_cut_trace(first, played, i, int(n), words[i]) for i, n in enumerate(lengths)]


def _cut_trace(first: Any, played: _Steps, index: int, length: int, ending: str) -> Trace:
    """One of the episodes that were played side by side."""
    join = lambda a, b: np.concatenate([a[index][None], b[:length, index]])  # noqa: E731
    own = jax.tree.map(lambda x: x[:length, index], played)
    return Trace(jax.tree.map(join, first, played.inner), own.reward, ending, own.features, own.actions)


def _start(env: Env, team: Team, key: PRNGKeyArray, num_episodes: int) -> tuple[_Playing, Any, PRNGKeyArray]:
    """The episodes as they begin, when nothing is remembered; what worlds go on with after theirs (nobody looks), and the
    key of the steps."""
    start_key, step_key = jax.random.split(key)
    keys = jax.random.split(start_key, num_episodes)
    start = jax.vmap(lambda k: start_episode(env, k))(keys)
    nothing = jnp.zeros(num_episodes, bool)
    playing = _Playing(
        *start, acting.memories_at_rest(team, num_episodes), nothing, _blank_end(env, start[0]), jnp.int32(0)
    )
    return playing, keys if goes_on(env) else start, step_key


def _blank_end(env: Env, start: EpisodeState) -> EpisodeEnd:
    """Zeros in the shape of how episodes end."""
    key, action = make_key(0), some_action(env.spec)
    first_step = lambda state: step_episode(env, state, action, key, draw_fresh(env, key))[2]  # noqa: E731
    end = jax.eval_shape(jax.vmap(first_step), start)
    return jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), end)


def _step(
    env: Env,
    team: Team,
    policies: Sequence[Policy],
    fresh: Any,
    step_key: PRNGKeyArray,
    deterministic: bool,
    playing: _Playing,
) -> tuple[_Playing, _Steps]:
    """One step of every episode, and what came of it."""
    action_key, env_key = jax.random.split(jax.random.fold_in(step_key, playing.step))
    num_episodes = playing.ended.shape[0]
    noise = None if deterministic else acting.draw_noise(team, action_key, (num_episodes,))
    features = rows_of(team, playing.obs)
    actions, memories = acting.act(team, policies, features, playing.memories, noise)
    action, keys = acting.join_actions(team, actions, jnp), jax.random.split(env_key, num_episodes)
    env_state, timestep, end = jax.vmap(lambda *args: step_episode(env, *args))(playing.env_state, action, keys, fresh)
    inner = jax.vmap(lambda s, a, k: env.step(s, a, k)[0])(playing.env_state.inner, action, keys)
    first = end.ended & ~playing.ended
    kept = jax.tree.map(lambda new, old: _where(first, new, old), end, playing.end)
    playing = _Playing(env_state, timestep.obs, memories, playing.ended | first, kept, playing.step + 1)
    return playing, _Steps(inner, timestep.reward, timestep.terminated, features, actions)


def _where(condition: Array, new: Array, old: Array) -> Array:
    return jnp.where(condition.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _finish(playing: _Playing) -> Episodes:
    """Episodes cut by the guard count with what they had until then."""
    ended, running = playing.ended, playing.env_state
    returns = _where(ended, playing.end.episode_return, running.episode_return)
    lengths = jnp.where(ended, playing.end.episode_length, running.episode_length)
    return Episodes(jnp.mean(returns, axis=-1), lengths, returns, playing.end.info)


def longest_episode(spec: EnvSpec) -> int:
    """Steps after which an episode is cut that does not end by itself: never before the world's own clock does that."""
    return max(MAX_EPISODE_STEPS, (spec.time_limit or 0) + 1)


def play_host_episodes(host: Host, team: Team, choose: Any, seed: int, num_episodes: int) -> Episodes:
    """Play E episodes of a world outside JAX, as many at a time as the host has envs.

    `choose(features, t)` gives the actions for features [B, A, D] at step t, one array per group of agents.
    """
    returns, lengths, told = [], [], []
    while len(returns) < num_episodes:
        got_returns, got_lengths, got_told = _play_first_episodes(host, team, choose, seed + len(returns))
        returns += list(got_returns)
        lengths += got_lengths.tolist()
        told += list(got_told)
    each = np.asarray(returns[:num_episodes])
    info = {name: np.asarray([row[k] for row in told[:num_episodes]]) for k, name in enumerate(host.spec.told_names)}
    return Episodes(each.mean(axis=-1), np.asarray(lengths[:num_episodes]), each, info)


def _play_first_episodes(host: Host, team: Team, choose: Any, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns [B, A], lengths and what was told [B, n]; episodes cut by the guard count with what they had until then."""
    features = host.reset(seed)
    ended = np.zeros(host.num_envs, bool)
    returns, lengths = np.zeros((host.num_envs, team.num_agents)), np.zeros(host.num_envs, np.int64)
    told = np.zeros((host.num_envs, len(host.spec.told_names)), np.float32)
    for t in range(longest_episode(host.spec)):
        step = host.step(acting.join_actions(team, choose(features, t), np))
        features = step.features
        first = step.ended & ~ended
        so_far = np.where(ended[:, None], returns, returns + step.reward)
        returns = np.where(first[:, None], step.episode_return, so_far)
        lengths = np.where(first, step.episode_length, lengths + ~ended)
        if told.size:
            told = np.where(ended[:, None], told, step.told)
        ended |= first
        if ended.all():
            break
    return returns, lengths, told
