"""How a deterministic policy explores: noise on the action, noise that drifts, or noise on the parameters.

Gaussian noise and Ornstein-Uhlenbeck noise (Lillicrap et al. 2015, arXiv:1509.02971) move the action itself; parameter noise
(Plappert et al. 2018, arXiv:1706.01905) lets a copy of the actor act that is pushed in one direction until the first env's
episode ends, and adapts how far until its actions differ by the wanted scale; the copy takes part in what the actor learns.
How large the noise is follows the score of the last episodes, or a schedule. Before learning begins actions are uniform over
their range.

With an ensemble each env is played by one sub-policy (Lowe et al. 2017, arXiv:1706.02275, section 4.3) until its episode ends.
Whatever changes with an episode's end does so at the start of the next rollout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.algos import vitals
from courtside.algos.experience import Experience
from courtside.algos.group import Group
from courtside.algos.inputs import flat_weight, network_input, own_rows
from courtside.algos.nets.deterministic import Actor
from courtside.algos.normalizing import move_obs_stats
from courtside.algos.ops.noise import ScoreWindow, adapt_sigma, annealed_scale, mean_score, ornstein_uhlenbeck
from courtside.algos.ops.schedules import schedule_value
from courtside.types import Metrics, OffPolicyLearner, Rollout, make_key

if TYPE_CHECKING:
    from courtside.algos.mad4pg import MAD4PGHyper

NoiseKind = Literal["gaussian", "ou", "parameter"]
SATURATED = 0.99
"""A greedy action of this size is at the end of its range."""


class Exploration(eqx.Module):
    """What acting remembers of its own noise."""

    scale: Float[Array, ""]
    """Deviation of the noise on an action in -1 .. 1."""
    at_random: Bool[Array, ""]
    """Whether the replay is still being filled with uniform actions."""
    drift: Float[Array, "B A U"] | None
    """Where Ornstein-Uhlenbeck noise has wandered to."""
    perturbed: Actor | None
    """The copy of the actor that plays under parameter noise."""
    sigma: Float[Array, ""]
    """Deviation of the noise on a parameter."""
    direction: PRNGKeyArray | None
    """Which way parameter noise pushes: the key that it is drawn with."""
    member: Int[Array, "B"] | None
    """Which sub-policy plays each env; None without an ensemble."""
    theta: Float[Array, ""]
    """How fast drifting noise returns to 0."""


def make_exploration(
    actor: Actor, kind: NoiseKind, num_envs: int, num_agents: int, action_size: int, ensemble: int
) -> Exploration:
    """As a run begins: uniform actions."""
    return Exploration(
        scale=jnp.zeros((), jnp.float32),
        at_random=jnp.ones((), bool),
        drift=jnp.zeros((num_envs, num_agents, action_size), jnp.float32) if kind == "ou" else None,
        perturbed=actor if kind == "parameter" else None,
        sigma=jnp.asarray(0.05, jnp.float32),
        direction=make_key(0) if kind == "parameter" else None,  # drawn anew before anybody follows it
        member=jnp.arange(num_envs, dtype=jnp.int32) % ensemble if ensemble > 1 else None,
        theta=jnp.zeros((), jnp.float32),
    )


def explore(
    now: Exploration, greedy: Float[Array, "B A U"], noise: Float[Array, "B A U"]
) -> tuple[Float[Array, "B A U"], Exploration]:
    """The action taken, in -1 .. 1, and the noise as it goes on; `noise` is normal."""
    if now.drift is not None:
        drift = ornstein_uhlenbeck(now.drift, noise, now.theta, now.scale)
        now, wander = eqx.tree_at(lambda s: s.drift, now, drift), drift
    elif now.perturbed is not None:
        wander = jnp.zeros_like(noise)
    else:
        wander = now.scale * noise
    uniform = jax.lax.erf(noise * 2**-0.5)  # a normal number through its own distribution function
    return jnp.where(now.at_random, uniform, jnp.clip(greedy + wander, -1.0, 1.0)), now


def acting_params(params: Any, memory: Any) -> Any:
    """The actor that plays: itself, or its perturbed copy."""
    return memory.perturbed if isinstance(memory, Exploration) and memory.perturbed is not None else params


def ensemble_actions(actors: Any, features: Float[Array, "*batch D"], member: Int[Array, "B"] | None) -> Array:
    """Each env's action by its own sub-policy; without a choice envs take turns. Leading axis K on every parameter."""
    every = jax.vmap(lambda actor: actor(features))(actors)
    if every.ndim < 4:  # observations outside any batch of envs: the first sub-policy plays
        return every[0]
    num_envs, count = every.shape[-3], every.shape[0]
    member = jnp.arange(num_envs, dtype=jnp.int32) % count if member is None else member
    chosen = jax.nn.one_hot(member, count, dtype=every.dtype)
    return jnp.einsum("kbau,bk->bau", every, chosen)


def end_episodes(now: Exploration, ended: Bool[Array, "B"], ensemble: int) -> Exploration:
    """Where an episode ended, noise begins anew and the next sub-policy takes over."""
    if now.drift is not None:
        now = eqx.tree_at(lambda s: s.drift, now, jnp.where(ended[:, None, None], 0.0, now.drift))
    if (member := now.member) is not None:
        following = ((member + 1) % ensemble).astype(member.dtype)
        now = eqx.tree_at(lambda s: s.member, now, jnp.where(ended, following, member))
    return now


def move_on(
    now: Exploration,
    params: Any,
    key: PRNGKeyArray,
    ended: Bool[Array, ""],
    scale: Float[Array, ""],
    at_random: Bool[Array, ""],
    distance: Float[Array, ""],
    theta: Float[Array, ""],
) -> Exploration:
    """Noise for the next rollout: `distance` is how far actions were from greedy ones in the last.

    Noise on the parameters keeps its direction until an episode of the first env has `ended`.
    """
    if now.perturbed is not None and now.direction is not None:
        sigma = jnp.where(now.at_random, now.sigma, adapt_sigma(now.sigma, distance, scale))
        direction = jnp.where(ended | now.at_random, key, now.direction)
        perturbed = _perturb(params, sigma, direction)
        now = eqx.tree_at(lambda s: (s.sigma, s.direction, s.perturbed), now, (sigma, direction, perturbed))
    return eqx.tree_at(lambda s: (s.scale, s.at_random, s.theta), now, (scale, at_random, theta))


def _perturb(params: Any, sigma: Float[Array, ""], key: PRNGKeyArray) -> Any:
    """Every parameter plus normal noise of deviation sigma."""
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(key, len(leaves))
    moved = [x + sigma * jax.random.normal(k, x.shape, x.dtype) for x, k in zip(leaves, keys, strict=True)]
    return jax.tree.unflatten(tree, moved)


# --- From one rollout to the next ------------------------------------------------------------------------------------


def actions_of(group: Group, actor: Any, inputs: Array, member: Array | None) -> Array:
    """An actor's own actions, or those of the sub-policies of an ensemble."""
    if group.switches.ensemble == 1:
        return actor(inputs)
    return ensemble_actions(actor, inputs, member)


def greedy_actions(group: Group, learner: OffPolicyLearner, rollout: Rollout) -> Float[Array, "T B A U"]:
    """What the policy would have done in the rollout without noise."""
    own = network_input(group, learner.policy, own_rows(group, rollout.features))
    member = learner.policy_state.member
    return jax.vmap(lambda x: actions_of(group, learner.params, x, member))(own)


def explore_next(
    group: Group,
    hyper: MAD4PGHyper,
    learner: OffPolicyLearner,
    experience: Experience,
    rollout: Rollout,
    taken: Float[Array, "T B A U"],
    greedy: Float[Array, "T B A U"],
    at_random: Array,
) -> tuple[OffPolicyLearner, Metrics]:
    """The learner as it goes into the next rollout, with its noise and running statistics, and what the last tells of both."""
    key, noise_key, _ = update_keys(learner.key)
    scale = noise_scale(hyper, learner.update + 1, experience.scores)
    distance = jnp.sqrt(jnp.mean(jnp.square(taken - greedy)))
    ended = jnp.zeros((), bool) if rollout.ends is None else jnp.any(rollout.ends.ended[:, 0])
    state = move_on(learner.policy_state, learner.params, noise_key, ended, scale, at_random, distance, hyper.ou_theta)
    rows = own_rows(group, rollout.features)
    weight = flat_weight(None if rollout.active is None else rollout.active[..., np.asarray(group.agents)])
    own = network_input(group, learner.policy, rows)
    metrics = vitals.observation_metrics(group, own.reshape(-1, own.shape[-1]), weight) | {
        "health/action_at_bound": jnp.mean(jnp.abs(greedy) > SATURATED, dtype=jnp.float32),
        "health/noise_effect": jnp.mean(jnp.abs(taken - greedy)),
        "charts/noise_scale": jnp.where(at_random, jnp.nan, scale),
    }
    stats = move_obs_stats(group, learner.obs_stats, rows, weight)
    moved = (key, state, stats, learner.update + 1)
    return eqx.tree_at(lambda s: (s.key, s.policy_state, s.obs_stats, s.update), learner, moved), metrics


def update_keys(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """The key to go on with, that of the next rollout's noise, and that of the batches (the first group's for all)."""
    on, noise, batches = jax.random.split(key, 3)
    return on, noise, batches


def noise_scale(hyper: MAD4PGHyper, update: Array, scores: ScoreWindow) -> Float[Array, ""]:
    """The scale by schedule, or annealed from there by the mean score of the last episodes."""
    planned = schedule_value(hyper.noise, update)
    annealed = annealed_scale(planned, hyper.noise_min, hyper.anneal_max, mean_score(scores))
    return jnp.where(hyper.follows_score > 0, annealed, planned)
