"""What follows the gradient steps of the MAD4PG family: how to explore in the next rollout, and what to log of the last."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from courtside.algos import exploration, vitals
from courtside.algos.off_policy import Hyper, Learners, Memory, actions_of
from courtside.algos.ops.noise import ScoreWindow, annealed_scale, mean_score
from courtside.algos.ops.running_stats import merge_batch
from courtside.algos.ops.schedules import schedule_value
from courtside.algos.replay import ring
from courtside.algos.replay.ring import Priorities
from courtside.algos.setup import Setup, network_input
from courtside.types import Metrics, OffPolicyLearner, Rollout

LOSS_NAMES = (
    "losses/actor_loss",
    "losses/critic_loss",
    "losses/value_mean",
    "losses/value_std",
    "losses/target_mean",
    "losses/td_error",
    "health/mass_first",
    "health/mass_last",
    "health/clipped_low",
    "health/clipped_high",
    "health/target_low",
    "health/target_high",
    "losses/actor_grad_norm",
    "losses/critic_grad_norm",
)
METRICS = (
    *LOSS_NAMES,
    "losses/param_norm",
    "losses/target_gap",
    "health/obs_abs_max",
    "health/obs_std",
    "health/obs_constant",
    "health/action_at_bound",
    "health/noise_effect",
    "health/first_bad",
    "charts/noise_scale",
    "charts/actor_learn_rate",
    "charts/critic_learn_rate",
    "charts/learning_steps",
    "charts/reward",
    "replay/size",
    "replay/age",
)
"""What `update` logs."""
AGENT_NAMES = (
    "losses/actor_loss",
    "losses/critic_loss",
    "losses/value_mean",
    "losses/value_std",
    "health/mass_first",
    "health/mass_last",
)
"""What is logged of each of several agents too, whether or not they share a network."""
SATURATED = 0.99
"""A greedy action of this size is at the end of its range."""


class Descent(eqx.Module):
    """What moves during an update."""

    learners: Learners
    priorities: Priorities | None
    """Of the replay's entries, where they have any. The entries themselves stay outside: nothing here moves them."""
    sums: Float[Array, "groups num_losses"]
    """Running sums of each group's losses, in the order of LOSS_NAMES."""
    agent_sums: Float[Array, "A num_agent_losses"]
    """The same of each agent, group by group, in the order of AGENT_NAMES."""
    age: Float[Array, ""]
    """Running sum of the sampled entries' mean age."""
    first_bad: Int[Array, ""]


def greedy_actions(setup: Setup, learner: OffPolicyLearner, rollout: Rollout) -> Float[Array, "T B A U"]:
    """What the policy would have done in the rollout without noise."""
    own = network_input(setup, learner.policy, rollout.features[:, :, np.asarray(setup.agents)])
    member = learner.policy_state.member
    return jax.vmap(lambda x: actions_of(setup, learner.params, x, member))(own)


def explore_on(
    setup: Setup,
    hyper: Hyper,
    learner: OffPolicyLearner,
    memory: Memory,
    rollout: Rollout,
    index: int,
    at_random: Array,
    greedy: Float[Array, "T B A U"],
) -> tuple[OffPolicyLearner, Metrics]:
    """Noise for the next rollout, running statistics, and what the last rollout tells of both."""
    key, noise_key, _ = update_keys(learner.key)
    rows = rollout.features[:, :, np.asarray(setup.agents)]
    own, taken = network_input(setup, learner.policy, rows), rollout.action[index]
    scale = noise_scale(hyper, learner.update + 1, memory.scores)
    distance = jnp.sqrt(jnp.mean(jnp.square(taken - greedy)))
    ended = jnp.zeros((), bool) if rollout.ends is None else jnp.any(rollout.ends.ended[:, 0])
    state = exploration.move_on(
        learner.policy_state, learner.params, noise_key, ended, scale, at_random, distance, hyper.ou_theta
    )
    weight = None if rollout.active is None else rollout.active[..., np.asarray(setup.agents)].reshape(-1)
    weight = None if weight is None else weight.astype(jnp.float32)
    flat = own.reshape(-1, own.shape[-1])
    metrics = vitals.observation_metrics(setup, flat, weight) | {
        "health/action_at_bound": jnp.mean(jnp.abs(greedy) > SATURATED, dtype=jnp.float32),
        "health/noise_effect": jnp.mean(jnp.abs(taken - greedy)),
        "charts/noise_scale": jnp.where(at_random, jnp.nan, scale),
    }
    stats = learner.obs_stats
    if setup.norm_obs:
        stats = merge_batch(stats, rows[..., : setup.own_size].reshape(-1, setup.own_size), weight)
    learner = eqx.tree_at(
        lambda s: (s.key, s.policy_state, s.obs_stats, s.update), learner, (key, state, stats, learner.update + 1)
    )
    return learner, metrics


def update_keys(key: PRNGKeyArray) -> tuple[PRNGKeyArray, PRNGKeyArray, PRNGKeyArray]:
    """The key to go on with, that of the next rollout's noise, and that of the batches (the first group's for all)."""
    on, noise, batches = jax.random.split(key, 3)
    return on, noise, batches


def noise_scale(hyper: Hyper, update: Array, scores: ScoreWindow) -> Float[Array, ""]:
    """The scale by schedule, or annealed from there by the mean score of the last episodes."""
    planned = schedule_value(hyper.noise, update)
    annealed = annealed_scale(planned, hyper.noise_min, hyper.anneal_max, mean_score(scores))
    return jnp.where(hyper.follows_score > 0, annealed, planned)


def loss_metrics(
    setup: Setup,
    hyper: Hyper,
    learner: OffPolicyLearner,
    memory: Memory,
    descent: Descent,
    count: Array,
    rollout: Rollout,
    index: int,
) -> Metrics:
    """Means over the gradient steps; not a number where there were none."""
    steps = count.astype(jnp.float32)
    means = descent.sums[index] / steps
    update = learner.update - 1
    param_norm = optax.tree.norm((learner.params, learner.critic))
    gap = optax.tree.norm(optax.tree.sub(learner.critic, learner.target_critic)) / optax.tree.norm(learner.critic)
    mean_reward = jnp.mean(rollout.reward)
    bad = vitals.first_bad(
        vitals.bad_number("reward", mean_reward),
        vitals.bad_number("observation", rollout.features),
        descent.first_bad,
        vitals.bad_number("parameters", param_norm),
    )
    return {name: means[i] for i, name in enumerate(LOSS_NAMES)} | {
        "losses/param_norm": param_norm,
        "losses/target_gap": gap,
        "health/first_bad": bad.astype(jnp.float32),
        "charts/actor_learn_rate": schedule_value(hyper.actor_rate, update),
        "charts/critic_learn_rate": schedule_value(hyper.critic_rate, update),
        "charts/learning_steps": memory.learning_steps.astype(jnp.float32),
        "charts/reward": mean_reward,
        "replay/size": ring.size(memory.ring).astype(jnp.float32),
        "replay/age": descent.age / steps,
    }
