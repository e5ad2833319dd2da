"""The Rollout Phase: T steps of B envs under the policy as it is, handed to the Learning Phase as one `Rollout`.

`collect` runs JAX worlds inside the compiled program; `collect_host` steps worlds that live outside it. Both return the
same Rollout and the same summary of the episodes that ended. Randomness of a whole rollout is drawn in a few large calls
before the first step, because many small ones cost more than the steps themselves.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PRNGKeyArray

from courtside.algos import ppo
from courtside.envs.base import Env
from courtside.envs.wrappers import start_episode, step_episode
from courtside.hosts.base import Host
from courtside.keys import KEY_KIND, make_key
from courtside.nets import distributions
from courtside.preprocess import decode_action, encode
from courtside.types import EpisodeEnd, Metrics, Rollout, TimeStep, TrainState

METRICS = ("charts/episodes", "charts/episodic_return", "charts/episodic_length")
"""What `summarize_episodes` logs of every world."""


def metric_names(env: Env) -> tuple[str, ...]:
    """METRICS, and one name for each thing that this world itself wants logged."""
    timestep = jax.eval_shape(functools.partial(_any_step, env), 0)
    return (*METRICS, *(f"env/{name}" for name in sorted(timestep.info)))


def _any_step(env: Env, seed: Array) -> TimeStep:
    """Some first step, to see what it is made of."""
    key, space = make_key(seed), env.spec.action
    head = jnp.zeros((env.spec.num_agents, distributions.head_size(space)))
    action = decode_action(space, distributions.mode(space, head), jnp)
    return env.step(env.reset(key)[0], action, key)[1]


def start_envs(env: Env, setup: ppo.Setup, state: TrainState, key: PRNGKeyArray) -> TrainState:
    """Give a fresh learner its B envs, each at the start of an episode."""
    env_state, obs = jax.vmap(lambda k: start_episode(env, k))(jax.random.split(key, setup.num_envs))
    return eqx.tree_at(lambda s: (s.env_state, s.obs), state, (env_state, obs), is_leaf=lambda x: x is None)


def collect(env: Env, setup: ppo.Setup, state: TrainState) -> tuple[TrainState, Rollout, Metrics]:
    """The Rollout Phase of a JAX world."""
    key, rollout_key = jax.random.split(state.key)
    noise, step_keys, reset_keys = draw_randomness(setup, rollout_key)
    fresh = jax.vmap(jax.vmap(lambda k: start_episode(env, k)))(reset_keys)

    def step(carry: tuple[Any, Any, Any], inputs: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        env_state, obs, policy_state = carry
        noise_now, keys_now, fresh_now = inputs
        features = encode(setup.observation, obs, jnp)
        action, policy_state = ppo.act(setup, state.policy, features, policy_state, noise_now)
        env_state, timestep, end = jax.vmap(lambda *args: step_episode(env, *args))(
            env_state, decode_action(setup.action, action, jnp), keys_now, fresh_now
        )
        final = encode(setup.observation, timestep.final_obs, jnp)
        seen = (features, action, timestep.reward, timestep.terminated, timestep.truncated, final)
        return (env_state, timestep.obs, policy_state), (seen, end)

    carry = (state.env_state, state.obs, state.policy_state)
    (env_state, obs, policy_state), (seen, ends) = jax.lax.scan(step, carry, (noise, step_keys, fresh))
    rollout = Rollout(*seen, last_features=encode(setup.observation, obs, jnp), policy_state=state.policy_state)
    state = eqx.tree_at(
        lambda s: (s.key, s.env_state, s.obs, s.policy_state), state, (key, env_state, obs, policy_state)
    )
    return state, rollout, summarize_episodes(ends)


def draw_randomness(
    setup: ppo.Setup, key: PRNGKeyArray
) -> tuple[Float[Array, "T B A K"], Key[Array, "T B"], Key[Array, "T B"]]:
    """All that a rollout draws, from one call: noise of the actions, keys of the steps and of the resets.

    A key is two random words, so words that come out of a generator are as good as keys that were split.
    """
    steps, envs, agents = setup.num_steps, setup.num_envs, setup.num_agents
    num_noise = agents * distributions.noise_size(setup.action)
    bits = jax.random.bits(key, (steps, envs, num_noise + 4), jnp.uint32)
    noise = distributions.noise_from_bits(setup.action, bits[..., 4:].reshape(steps, envs, agents, -1))
    step_keys, reset_keys = (jax.random.wrap_key_data(bits[..., i : i + 2], impl=KEY_KIND) for i in (0, 2))
    return noise, step_keys, reset_keys


def collect_host(
    host: Host, choose: Callable[[np.ndarray, int], np.ndarray], features: np.ndarray, num_steps: int
) -> tuple[np.ndarray, Rollout, EpisodeEnd]:
    """The Rollout Phase of a world outside JAX; `choose(features, t)` draws the actions of step t.

    Returns the features to go on from, the rollout and the episodes' ends.
    """
    columns: list[np.ndarray] = []
    for t in range(num_steps):
        action = choose(features, t)
        step = host.step(decode_action(host.spec.action, action, np))
        row = (features, action, *step[1:])
        if not columns:
            columns = [np.empty((num_steps, *part.shape), part.dtype) for part in row]
        for column, part in zip(columns, row, strict=True):
            column[t] = part
        features = step.features.copy()
    stacked = jax.device_put([*columns, features])
    return features, Rollout(*stacked[:6], last_features=stacked[-1]), EpisodeEnd(*stacked[6:-1])


def summarize_episodes(ends: EpisodeEnd) -> Metrics:
    """Means over the episodes that ended in this rollout; NaN where none did."""
    weight = ends.ended.astype(jnp.float32)
    count = jnp.sum(weight)
    told = {
        "charts/episodic_return": ends.episode_return,
        "charts/episodic_length": ends.episode_length,
        **{f"env/{name}": value for name, value in ends.info.items()},
    }
    means = {name: jnp.sum(_per_env(value, weight) * weight) / count for name, value in told.items()}
    return {"charts/episodes": count, **means}


def _per_env(value: Array, like: Float[Array, "T B"]) -> Float[Array, "T B"]:
    """Means over whatever axes follow T and B, such as the agents; steps that do not count must not add a NaN either."""
    mean = jnp.mean(value.astype(jnp.float32).reshape(*like.shape, -1), axis=-1)
    return jnp.where(like > 0, mean, 0.0)
