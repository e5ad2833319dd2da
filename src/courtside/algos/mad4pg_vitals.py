"""What an update of the MAD4PG family logs beside what it does: means of losses, edges of value ranges, each agent's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from courtside.algos import vitals
from courtside.algos.ops.losses import weighted_mean
from courtside.algos.ops.schedules import schedule_value
from courtside.algos.replay import ring
from courtside.types import Metrics, OffPolicyLearner, Rollout

if TYPE_CHECKING:
    from courtside.algos.experience import Experience
    from courtside.algos.mad4pg import MAD4PGHyper, Moving, Prediction, Targets

LOSS_NAMES = (
    "losses/actor_loss", "losses/critic_loss", "losses/value_mean", "losses/value_std", "losses/target_mean",
    "losses/td_error", "health/mass_first", "health/mass_last", "health/clipped_low", "health/clipped_high",
    "health/target_low", "health/target_high", "losses/actor_grad_norm", "losses/critic_grad_norm",
)  # fmt: skip
METRICS = (
    *LOSS_NAMES, "losses/param_norm", "losses/target_gap", "health/obs_abs_max", "health/obs_std", "health/obs_constant",
    "health/action_at_bound", "health/noise_effect", "health/first_bad", "charts/noise_scale", "charts/actor_learn_rate",
    "charts/critic_learn_rate", "charts/learning_steps", "charts/reward", "replay/size", "replay/age",
)  # fmt: skip
"""What `update` logs."""
AGENT_NAMES = (
    "losses/actor_loss", "losses/critic_loss", "losses/value_mean", "losses/value_std", "health/mass_first",
    "health/mass_last",
)  # fmt: skip
"""What is logged of each of several agents too, whether or not they share a network."""


def loss_parts(predicted: Prediction, target: Targets, error: Array, weight: Array) -> list[Array]:
    """What is told of a batch beside its losses."""
    means = [predicted.mean, predicted.std, target.value, error, *_edge_mass(target), *target.clipped]
    there = weight > 0
    lowest = jnp.min(jnp.where(there, target.value, jnp.inf))
    highest = jnp.max(jnp.where(there, target.value, -jnp.inf))
    return [*(weighted_mean(jax.lax.stop_gradient(x), weight) for x in means), lowest, highest]


def agent_parts(
    predicted: Prediction, reached: Prediction, critic_losses: Float[Array, "M A"], target: Targets, weight: Array
) -> Float[Array, "A names"]:
    """What is told of each agent, in the order of AGENT_NAMES."""
    told = [-reached.mean, critic_losses, predicted.mean, predicted.std, *_edge_mass(target)]
    there = jnp.maximum(jnp.sum(weight, axis=0), 1.0)
    return jnp.stack([jnp.sum(jax.lax.stop_gradient(x) * weight, axis=0) / there for x in told], axis=-1)


def _edge_mass(target: Targets) -> tuple[Float[Array, "M A"], Float[Array, "M A"]]:
    """Share of the projected target that lies on the first and on the last atom."""
    if target.probs is None:
        return jnp.zeros_like(target.value), jnp.zeros_like(target.value)
    return target.probs[..., 0], target.probs[..., -1]


def loss_metrics(
    hyper: MAD4PGHyper,
    learner: OffPolicyLearner,
    experience: Experience,
    moving: Moving,
    count: Array,
    rollout: Rollout,
    index: int,
) -> Metrics:
    """Means over the gradient steps; not a number where there were none."""
    steps = count.astype(jnp.float32)
    means = moving.sums[index] / steps
    update = learner.update - 1
    param_norm = optax.tree.norm((learner.params, learner.critic))
    gap = optax.tree.norm(optax.tree.sub(learner.critic, learner.target_critic)) / optax.tree.norm(learner.critic)
    mean_reward = jnp.mean(rollout.reward)
    bad = vitals.first_bad(
        vitals.bad_number("reward", mean_reward),
        vitals.bad_number("observation", rollout.features),
        moving.first_bad,
        vitals.bad_number("parameters", param_norm),
    )
    return {name: means[i] for i, name in enumerate(LOSS_NAMES)} | {
        "losses/param_norm": param_norm,
        "losses/target_gap": gap,
        "health/first_bad": bad.astype(jnp.float32),
        "charts/actor_learn_rate": schedule_value(hyper.actor_rate, update),
        "charts/critic_learn_rate": schedule_value(hyper.critic_rate, update),
        "charts/learning_steps": experience.learning_steps.astype(jnp.float32),
        "charts/reward": mean_reward,
        "replay/size": ring.size(experience.ring).astype(jnp.float32),
        "replay/age": moving.age / steps,
    }
