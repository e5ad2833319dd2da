"""A world compiled for tools that step it from outside JAX, one env or a batch of them, on the CPU.

Programs are made once per world and shared by every env of that kind. Randomness is one key per env, which each reset
and each step splits: a seed decides all that follows, through as many episodes as are played, and an env plays the same
alone and in a batch. Arrays that a world holds (a frozen opponent) are handed to the programs as data, so that another
opponent of the same make needs no new compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree, UInt32

from courtside.envs.base import Env
from courtside.envs.wrappers import apply_time_limit, begin_next, goes_on
from courtside.types import KEY_KIND, Obs, TimeStep

LITTLE_EFFORT = {"xla_backend_optimization_level": 1}
"""For programs that step one env: compiled in half the time, and no slower, since most of a step is getting in and out."""


class LiveEnv(eqx.Module):
    """One env in the middle of an episode."""

    state: PyTree
    key: UInt32[Array, "*batch 2"]
    """As plain numbers: JAX passes those in and out of a program several times faster than its own kind of key."""
    length: Int[Array, "*batch"]


class StepResult(eqx.Module):
    """What a step gives back, in as few arrays as it takes."""

    obs: Obs
    outcome: Float[Array, "*batch 3 A"]
    """Reward, terminated, truncated."""
    info: dict[str, Array]
    final_obs: Obs
    """What the step led to where `obs` is already of the next episode; only in a batch."""


class WorldPrograms(NamedTuple):
    """The compiled functions of a world, and the arrays it holds; their first argument."""

    data: PyTree
    reset: Callable[..., Any]
    restart: Callable[..., Any]
    """As `reset`, given the episode before instead of a key."""
    step: Callable[..., Any]


def start(world: Env, key: UInt32[Array, "2"]) -> tuple[LiveEnv, Obs]:
    """A fresh episode."""
    key, now = _split(key)
    state, obs = world.reset(now)
    return LiveEnv(state, jax.random.key_data(key), jnp.zeros((), jnp.int32)), obs


def start_next(world: Env, before: LiveEnv) -> tuple[LiveEnv, Obs]:
    """The episode after another one; only some worlds care how that one ended."""
    key, now = _split(before.key)
    state, obs = begin_next(world, before.state, now)
    return LiveEnv(state, jax.random.key_data(key), jnp.zeros((), jnp.int32)), obs


def move(world: Env, limit: int | None, episode: LiveEnv, action: Array) -> tuple[LiveEnv, TimeStep]:
    """One step, cut by the clock; nothing is reset."""
    key, now = _split(episode.key)
    state, timestep = world.step(episode.state, action, now)
    length = episode.length + 1
    return LiveEnv(state, jax.random.key_data(key), length), apply_time_limit(limit, timestep, length)


def _split(key: UInt32[Array, "2"]) -> Array:
    return jax.random.split(jax.random.wrap_key_data(key, impl=KEY_KIND))


def draw_key(generator: np.random.Generator) -> np.ndarray:
    """The key of an env, from Gymnasium's generator."""
    return generator.integers(2**32, size=2, dtype=np.uint32)


def on_cpu(tree: Any) -> Any:
    """Arrays on the CPU, where one small step is soonest done; what is computed from them stays there."""
    return jax.device_put(tree, jax.local_devices(backend="cpu")[0])


def single_programs(world: Env) -> WorldPrograms:
    """`reset(data, key)` and `restart(data, episode)` -> (episode, obs), `step(data, episode, action)` -> (episode, shown).

    Arrays are `[A, ...]`.
    """
    data, rest = eqx.partition(world, eqx.is_array)
    return WorldPrograms(on_cpu(data), *_compile_single(rest))


@functools.cache
def _compile_single(rest: Any) -> tuple[Callable[..., Any], ...]:
    def reset(data: PyTree, key: Array) -> tuple[LiveEnv, Obs]:
        return start(eqx.combine(data, rest), key)

    def restart(data: PyTree, before: LiveEnv) -> tuple[LiveEnv, Obs]:
        return start_next(eqx.combine(data, rest), before)

    def step(data: PyTree, episode: LiveEnv, action: Array) -> tuple[LiveEnv, StepResult]:
        world = eqx.combine(data, rest)
        episode, timestep = move(world, world.spec.time_limit, episode, action)
        return episode, StepResult(timestep.obs, _outcome(timestep), timestep.info, ())

    reset, restart, step = (jax.jit(f, compiler_options=LITTLE_EFFORT) for f in (reset, restart, step))
    return reset, restart if goes_on(rest) else _from_key(reset), step


def _from_key(reset: Callable[..., Any]) -> Callable[..., Any]:
    """Where it does not matter how the last episode ended, one program begins them all."""
    return lambda data, before: reset(data, before.key)


def picture_program(world: Env, is_batch: bool = False) -> Callable[[PyTree], Array]:
    """The function that draws a state, or a batch of them; the world has a `render`."""
    data, rest = eqx.partition(world, eqx.is_array)
    return functools.partial(_compile_picture(rest, is_batch), on_cpu(data))


@functools.cache
def _compile_picture(rest: Any, is_batch: bool) -> Callable[..., Any]:
    def draw(data: PyTree, state: PyTree) -> Array:
        render = eqx.combine(data, rest).render
        return jax.vmap(render)(state) if is_batch else render(state)

    return jax.jit(draw, compiler_options=LITTLE_EFFORT)


def batch_programs(world: Env, limit: int | None, same_step: bool) -> WorldPrograms:
    """`reset(data, keys)`, `restart(data, episodes)`, `step(data, episodes, over, action)` of B envs; ended ones start anew.

    `same_step`: in the step that ends them; otherwise in the next one, whose action is not used (`over` says which).
    """
    data, rest = eqx.partition(world, eqx.is_array)
    return WorldPrograms(on_cpu(data), *_compile_batch(rest, limit, same_step))


@functools.cache
def _compile_batch(rest: Any, limit: int | None, same_step: bool) -> tuple[Callable[..., Any], ...]:
    def reset(data: PyTree, keys: Array) -> tuple[LiveEnv, Obs]:
        return jax.vmap(functools.partial(start, eqx.combine(data, rest)))(keys)

    def restart(data: PyTree, before: LiveEnv) -> tuple[LiveEnv, Obs]:
        return jax.vmap(functools.partial(start_next, eqx.combine(data, rest)))(before)

    def step(data: PyTree, episodes: LiveEnv, over: Array, action: Array) -> tuple[LiveEnv, StepResult]:
        world = eqx.combine(data, rest)
        moved, timestep = jax.vmap(functools.partial(move, world, limit))(episodes, action)
        outcome = jax.vmap(_outcome)(timestep)
        if same_step:
            ended = jnp.all(timestep.terminated | timestep.truncated, axis=-1)
            episodes, obs = _restart(world, ended, moved, (moved, timestep.obs))
            return episodes, StepResult(obs, outcome, timestep.info, timestep.final_obs)
        episodes, obs = _restart(world, over, episodes, (moved, timestep.obs))
        return episodes, StepResult(obs, jnp.where(over[:, None, None], 0.0, outcome), timestep.info, ())

    return jax.jit(reset), jax.jit(restart) if goes_on(rest) else _from_key(jax.jit(reset)), jax.jit(step)


def _restart(
    world: Env, where: Bool[Array, "B"], before: LiveEnv, going_on: tuple[LiveEnv, Obs]
) -> tuple[LiveEnv, Obs]:
    """New episodes in some places; where there are none to start, none are drawn."""

    def renew(going_on: tuple[LiveEnv, Obs]) -> tuple[LiveEnv, Obs]:
        fresh = jax.vmap(functools.partial(start_next, world))(before)
        return jax.tree.map(functools.partial(choose, where), fresh, going_on)

    return jax.lax.cond(jnp.any(where), renew, lambda same: same, going_on)


def choose(where: Bool[Array, "B"], if_true: Array, if_false: Array) -> Array:
    """Row by row."""
    where = where.reshape(where.shape + (1,) * (if_true.ndim - 1))
    return jax.lax.select(jnp.broadcast_to(where, if_true.shape), if_true, if_false)


def _outcome(timestep: TimeStep) -> Float[Array, "3 A"]:
    flags = [timestep.terminated.astype(jnp.float32), timestep.truncated.astype(jnp.float32)]
    return jnp.stack([timestep.reward, *flags])
