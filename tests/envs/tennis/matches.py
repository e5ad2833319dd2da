"""States put together by hand, and whole matches in one program."""

import functools
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from courtside.envs.tennis.dynamics import Body
from courtside.envs.tennis.state import TennisState
from courtside.envs.tennis.world import Tennis
from courtside.envs.wrappers import draw_fresh, start_episode, step_episode

KEY = jax.random.key(0)
QUICK = {"xla_backend_optimization_level": 1}
AWAY = (-9.0, -1.8521587, 0.0, 0.0)
"""A racket at rest, out of the way."""


def body(*numbers: float) -> Body:
    return Body(*map(jnp.float32, numbers))


def place(env: Tennis, left=AWAY, right=AWAY, ball=(7.0, 6.0, 0.0, 0.0), **rally) -> TennisState:
    """A match that stands just so; rackets from their own side, the ball from the left."""
    state = env.reset(KEY)[0]
    bodies = jnp.array([left, right, ball], jnp.float32)
    rally = {name: jnp.asarray(value, getattr(state.rally, name).dtype) for name, value in rally.items()}
    names = tuple(rally)
    changed = eqx.tree_at(lambda r: [getattr(r, n) for n in names], state.rally, list(rally.values()))
    return eqx.tree_at(lambda s: (s.bodies, s.rally), state, (bodies, changed if names else state.rally))


@functools.cache
def compiled(env: Tennis):
    """One step of a world, and the start of its next episode."""
    return tuple(jax.jit(f, compiler_options=QUICK) for f in (env.step, env.next_episode))


def act(*pairs: tuple[float, float]) -> jax.Array:
    return jnp.array(pairs, jnp.float32)


STILL = np.zeros((2, 2), np.float32)


def load_actors() -> list[tuple[jax.Array, jax.Array]]:
    """Weights [agent, out, in] and biases [agent, out] of the three layers."""
    stored = np.load(Path(__file__).parent / "unity_actors.npz")
    pick = lambda name: jnp.stack([stored[f"agent{i}/{name}"] for i in (1, 2)])  # noqa: E731
    return [(pick(f"{layer}.weight"), pick(f"{layer}.bias")) for layer in ("fc1", "fc2", "output")]


def greedy(layers, obs: jax.Array) -> jax.Array:
    """Actions [B, A, 2] for observations [B, A, 24]."""
    hidden = jnp.swapaxes(obs, 0, 1)
    for i, (weight, bias) in enumerate(layers):
        hidden = jnp.einsum("abd,aod->abo", hidden, weight) + bias[:, None]
        hidden = jax.nn.relu(hidden) if i < 2 else jnp.tanh(hidden)
    return jnp.swapaxes(hidden, 0, 1)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def play_match(env, num_envs, num_steps, layers, randomness, start, key):
    """So many matches side by side, episode after episode; `randomness` 1 acts evenly at random, 0 as the actors say."""

    def step(carry, key):
        state, obs = carry
        key, action_key = jax.random.split(key)
        drawn = jax.random.uniform(action_key, (num_envs, 2, 2), minval=-1.0, maxval=1.0)
        action = jnp.where(randomness > 0, drawn, greedy(layers, obs))
        keys = jax.random.split(key, num_envs)
        moved = jax.vmap(lambda s, a, k: step_episode(env, s, a, k, draw_fresh(env, k)))(state, action, keys)
        state, timestep, end = moved
        score = jnp.max(end.episode_return, axis=-1)
        return (state, timestep.obs), (end.ended, score, end.episode_length)

    return jax.lax.scan(step, start, jax.random.split(key, num_steps))


def begin(env, num_envs, key):
    return jax.jit(jax.vmap(lambda k: start_episode(env, k)))(jax.random.split(key, num_envs))
