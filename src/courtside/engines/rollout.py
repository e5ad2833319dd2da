"""The Rollout Phase of JAX worlds: T steps of B envs under the policy as it is, handed to the Learning Phase as one `Rollout`.

`collect` runs inside the compiled program; worlds that live outside it are stepped by `host_rollout`, which gives the same
Rollout. Randomness of a whole rollout is drawn in a few large calls before the first step, because many small ones cost more
than the steps themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PRNGKeyArray

from courtside.algos import acting
from courtside.algos.nets import distributions
from courtside.algos.team import Team
from courtside.encoding import decode_action, encode, pack
from courtside.envs.base import Env
from courtside.envs.wrappers import draw_fresh, start_episode, step_episode
from courtside.settings.metric_names import EPISODES, GAME_LENGTH, GAME_SCORE, GAMES, SCORE
from courtside.types import KEY_KIND, EnvSpec, EpisodeEnd, Metrics, Rollout, TrainState, make_key

METRICS = (EPISODES, "charts/episodic_return", "charts/episodic_length", "charts/truncated")
"""What `summarize_episodes` logs of every world; of those with several agents SCORE too."""

MAX_AHEAD_BYTES = 256
"""Size of a world's state up to which the first states of new episodes are drawn in bulk, ahead of the rollout."""


def metric_names(env: Env, team: Team) -> tuple[str, ...]:
    """METRICS, the score and each return of several agents, and one name for each thing that this world wants logged."""
    timestep = jax.eval_shape(lambda: env.step(env.reset(make_key(0))[0], some_action(env.spec), make_key(0))[1])
    own = (f"env/{name}" for name in sorted(timestep.info))
    several = (SCORE, *map(_return_name, team.names)) if team.num_agents > 1 else ()
    return (*METRICS, *several, *own)


def _return_name(agent: str) -> str:
    return f"agents/{agent}/episodic_return"


def some_action(spec: EnvSpec) -> Array:
    """An action of everybody that a JAX world takes, to see what its steps are made of. [A, ...]"""
    head = jnp.zeros((spec.num_agents, distributions.head_size(spec.action)))
    return decode_action(spec.action, distributions.mode(spec.action, head), jnp)


def rows_of(team: Team, obs: Any) -> Array:
    """What a rollout keeps of the observations of a JAX world, whose agents all have one kind: bytes or features."""
    group = team.groups[0]
    return pack(group.observation, obs, jnp) if group.packed else encode(group.observation, obs, jnp)


def start_envs(env: Env, team: Team, state: TrainState, key: PRNGKeyArray) -> TrainState:
    """Give fresh learners their B envs, each at the start of an episode."""
    env_state, obs = jax.vmap(lambda k: start_episode(env, k))(jax.random.split(key, team.num_envs))
    return eqx.tree_at(lambda s: (s.env_state, s.obs), state, (env_state, obs), is_leaf=lambda x: x is None)


def collect(env: Env, team: Team, state: TrainState) -> tuple[TrainState, Rollout, Metrics]:
    """The Rollout Phase of a JAX world."""
    key, rollout_key = jax.random.split(state.key)
    noise, step_keys, reset_keys = draw_randomness(team, rollout_key)
    start = jax.vmap(lambda k: draw_fresh(env, k))
    ahead = _state_bytes(state) <= MAX_AHEAD_BYTES
    fresh = jax.vmap(start)(reset_keys) if ahead else reset_keys
    policies = state.policy

    def step(carry: tuple[Any, Any, Any], inputs: tuple[Any, Any, Any]) -> tuple[Any, Any]:
        env_state, obs, memories = carry
        noise_now, keys_now, fresh_now = inputs
        features = rows_of(team, obs)
        actions, memories = acting.act(team, policies, features, memories, noise_now)
        before = env_state.done
        env_state, timestep, end = jax.vmap(lambda *args: step_episode(env, *args, score_cap=team.score_cap))(
            env_state, acting.join_actions(team, actions, jnp), keys_now, fresh_now if ahead else start(fresh_now)
        )
        memories = acting.note_ends(team, memories, end.ended)
        flags = (timestep.reward, timestep.terminated, timestep.truncated)
        seen = (features, actions, *flags, rows_of(team, timestep.final_obs))
        return (env_state, timestep.obs, memories), (seen, ~before, end)

    remembered = tuple(learner.policy_state for learner in state.learners)
    carry = (state.env_state, state.obs, remembered)
    (env_state, obs, memories), (seen, active, ends) = jax.lax.scan(step, carry, (noise, step_keys, fresh))
    active = active if team.num_agents > 1 else None
    kept = acting.rollout_memory(team, remembered)
    rollout = Rollout(*seen, last_features=rows_of(team, obs), active=active, ends=ends, memory=kept)
    learners = tuple(replace(learner, policy_state=m) for learner, m in zip(state.learners, memories, strict=True))
    state = replace(state, learners=learners, key=key, env_state=env_state, obs=obs)
    return state, rollout, summarize_episodes(ends, team.names, rollout.truncated)


def _state_bytes(state: TrainState) -> float:
    """Size of one env's state and observation."""
    leaves = jax.tree.leaves((state.env_state, state.obs))
    keys = (jax.random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x for x in leaves)
    return sum(x.size * x.dtype.itemsize for x in keys) / leaves[0].shape[0]


def draw_randomness(
    team: Team, key: PRNGKeyArray
) -> tuple[tuple[Float[Array, "T B _ _"], ...], Key[Array, "T B"], Key[Array, "T B"]]:
    """All that a rollout draws, from one call: noise of the actions, keys of the steps and of the resets.

    A key is two random words, so words that come out of a generator are as good as keys that were split.
    """
    bits = jax.random.bits(key, (team.num_steps, team.num_envs, sum(acting.noise_sizes(team)) + 4), jnp.uint32)
    step_keys, reset_keys = (jax.random.wrap_key_data(bits[..., i : i + 2], impl=KEY_KIND) for i in (0, 2))
    return acting.noise_from_bits(team, bits[..., 4:]), step_keys, reset_keys


def summarize_episodes(
    ends: EpisodeEnd, names: Sequence[str], truncated: Bool[Array, "T B A"], games: EpisodeEnd | None = None
) -> Metrics:
    """Means over the episodes that ended in this rollout, also agent by agent; NaN where none did. The same of whole games.

    An episode counts as truncated where a clock cut it for any agent that was still in it.
    """
    told = {
        "charts/episodic_return": ends.episode_return,
        "charts/episodic_length": ends.episode_length,
        "charts/truncated": jnp.any(truncated, axis=-1),
        **({SCORE: jnp.max(ends.episode_return, axis=-1)} if len(names) > 1 else {}),
        **{_return_name(n): ends.episode_return[..., i] for i, n in enumerate(names) if len(names) > 1},
        **{f"env/{name}": value for name, value in ends.info.items()},
    }
    metrics = _mean_where(ends.ended, EPISODES, told)
    if games is None:
        return metrics
    of_games = {GAME_SCORE: games.episode_return, GAME_LENGTH: games.episode_length}
    return metrics | _mean_where(games.ended, GAMES, of_games)


def _mean_where(ended: Bool[Array, "T B"], count_name: str, told: dict[str, Array]) -> Metrics:
    """How many ended, and the mean over them of each thing told."""
    weight = ended.astype(jnp.float32)
    count = jnp.sum(weight)
    means = {name: jnp.sum(_per_env(value, weight) * weight) / count for name, value in told.items()}
    return {count_name: count, **means}


def _per_env(value: Array, like: Float[Array, "T B"]) -> Float[Array, "T B"]:
    """Means over whatever axes follow T and B, such as the agents; steps that do not count must not add a NaN either."""
    mean = jnp.mean(value.astype(jnp.float32).reshape(*like.shape, -1), axis=-1)
    return jnp.where(like > 0, mean, 0.0)
