"""Proximal Policy Optimization: the Learning Phase, to be read from top to bottom.

Schulman et al. 2017 (arXiv:1707.06347), with the details that made it work in practice: orthogonal initialisation, Adam
epsilon 1e-5, advantages normalised per minibatch, clipped value loss, entropy bonus, global gradient norm clip, annealed
rates, early stop on KL. How a policy reads a rollout, and one that remembers reads it as sequences, is in `algos.reading`.

Where we depart from common code: a time limit is bootstrapped with the value of the true last observation; values and
log-probabilities of a rollout are computed in one pass after it (same network, same numbers, one large product instead of
many small ones); running statistics move once per update, after it, so that a rollout and its update see the same numbers.

Logs losses/{policy_loss, value_loss, entropy, approx_kl, old_approx_kl, clipfrac, explained_variance, grad_norm} and
charts/{learning_rate, reward}; losses are means over all minibatch steps of the update. `algos.vitals` adds what tells of
its health.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside import spaces
from courtside.algos import reading, vitals
from courtside.algos.algorithm import Algorithm, Parts
from courtside.algos.group import Group
from courtside.algos.inputs import batch_features, flat_weight, network_input
from courtside.algos.nets import distributions
from courtside.algos.nets.actor_critic import ActorCritic, make_actor_critic
from courtside.algos.nets.recurrent import LSTMState, blank_memory, forget, memory_size
from courtside.algos.normalizing import move_obs_stats, normalize_rewards
from courtside.algos.ops import losses
from courtside.algos.ops.adam import AdamNumbers, adam_start, adam_step
from courtside.algos.ops.returns import generalized_advantage
from courtside.algos.ops.running_stats import make_running_stats
from courtside.algos.ops.schedules import ScheduleNumbers, make_schedule_numbers, schedule_value
from courtside.algos.team import each_group
from courtside.settings.config import Config
from courtside.types import Learner, Metrics, Policy, Rollout

# --- What it is given ------------------------------------------------------------------------------------------------


class PPOHyper(eqx.Module):
    """Rates and coefficients: traced, so that many settings can share one compiled program."""

    learning_rate: ScheduleNumbers
    clip_coef: ScheduleNumbers
    ent_coef: ScheduleNumbers
    vf_coef: Float[Array, "*P"]
    gamma: Float[Array, "*P"]
    gae_lambda: Float[Array, "*P"]
    max_grad_norm: Float[Array, "*P"]
    target_kl: Float[Array, "*P"]
    adam_eps: Float[Array, "*P"]
    weight_decay: Float[Array, "*P"]
    update_epochs: Int[Array, "*P"]


@dataclass(frozen=True)
class PPOSwitches:
    """Shapes and switches: static, so that other ones make another program."""

    num_minibatches: int
    norm_adv: bool
    clip_vloss: bool
    norm_reward: bool
    early_stop: Literal["off", "epoch", "minibatch"]


def make_hyper(config: Config) -> PPOHyper:
    ppo, number = config.ppo, partial(jnp.asarray, dtype=jnp.float32)
    schedules = {
        name: make_schedule_numbers(ppo.schedule(name), config.num_updates, config.batch_size) for name in ppo.SCHEDULES
    }
    return PPOHyper(
        **schedules,
        vf_coef=number(ppo.vf_coef),
        gamma=number(ppo.gamma),
        gae_lambda=number(ppo.gae_lambda),
        max_grad_norm=number(ppo.max_grad_norm),
        target_kl=number(0.0 if ppo.target_kl is None else ppo.target_kl),
        adam_eps=number(ppo.adam_eps),
        weight_decay=number(ppo.weight_decay),
        update_epochs=jnp.asarray(ppo.update_epochs, jnp.int32),
    )


def make_switches(config: Config) -> PPOSwitches:
    ppo = config.ppo
    early_stop = "off" if ppo.target_kl is None else ppo.target_kl_mode
    return PPOSwitches(ppo.num_minibatches, ppo.norm_adv, ppo.clip_vloss, ppo.norm_reward, early_stop)


def init(group: Group, key: PRNGKeyArray) -> Learner:
    """A fresh learner."""
    net_key, run_key = jax.random.split(key)
    params = make_actor_critic(group.net, group.observation, group.action, net_key, group.critic_size)
    envs = (group.num_envs, group.num_agents)
    return Learner(
        params=params,
        opt_state=adam_start(ravel_pytree(params)[0]),
        key=run_key,
        update=jnp.zeros((), jnp.int32),
        policy_state=at_rest(group, group.num_envs),
        obs_stats=make_running_stats((spaces.feature_size(group.observation),)),
        discounted_return=jnp.zeros(envs, jnp.float32),
        return_stats=make_running_stats(()),
    )


# --- Acting ----------------------------------------------------------------------------------------------------------


def act(group: Group, policy: Policy, features: Array, policy_state: Any, noise: Array) -> tuple[Array, Any]:
    """Draw actions from the policy as it is now; hands on what a recurrent policy remembers. features: [*batch, A, D]"""
    head, policy_state = policy.params.step(network_input(group, policy, features), policy_state)
    return distributions.sample(group.action, head, noise), policy_state


def act_greedily(group: Group, policy: Policy, features: Array, policy_state: Any) -> tuple[Array, Any]:
    """The most likely action."""
    head, policy_state = policy.params.step(network_input(group, policy, features), policy_state)
    return distributions.mode(group.action, head), policy_state


def at_rest(group: Group, num_envs: int) -> Any:
    """What a policy remembers before an episode: nothing, and feed-forward ones never do. [B, A, H]"""
    size = memory_size(group.net)
    return blank_memory((num_envs, group.num_agents), size) if size else ()


def note_ends(group: Group, policy_state: Any, ended: Bool[Array, "B"]) -> Any:
    """What is remembered, once it is known in which envs an episode ended."""
    return forget(policy_state, ended)


# --- The update ------------------------------------------------------------------------------------------------------


class Batch(eqx.Module):
    """A rollout ready to learn from: M samples, or one minibatch of them."""

    features: Array
    """What the network is fed, or bytes that become it; with a central critic the rows of all agents, the own one first."""
    action: Array
    log_prob: Float[Array, "M"]
    value: Float[Array, "M"]
    advantage: Float[Array, "M"]
    target: Float[Array, "M"]
    weight: Float[Array, "M"] | None = None
    """0 for steps of agents that had left the episode; None with a single agent."""
    starts: Bool[Array, "M"] | None = None
    """Where an episode begins, so that all is forgotten; only for policies that remember."""
    memory: LSTMState | None = None
    """What was remembered before the first step of each of the sequences that the samples are, however many. [S, H]"""


class Lesson(eqx.Module):
    """What an update learns from, and who learns; the epochs leave it as it is."""

    learner: Learner
    """Already with its next key and running statistics."""
    batch: Batch
    shuffle_key: PRNGKeyArray
    seen: Metrics
    """What is known before the first gradient step."""


class Descent(eqx.Module):
    """What moves during an update. The parameters are one long vector here: one Adam kernel instead of one per layer."""

    flat_params: Float[Array, "W"]
    opt_state: Any
    sums: Float[Array, "num_losses"]
    """Running sums of the minibatch losses, in the order of LOSS_NAMES."""
    num_minibatches: Float[Array, ""]
    last_kl: Float[Array, ""]
    stopped: Array
    """Early stop on KL has struck: the rest of the update changes nothing."""
    first_bad: Int[Array, ""]
    """What was first not finite, as `vitals.FIRST_BAD` counts; 0 while all is."""


def update(group: Group, hyper: PPOHyper, learner: Learner, rollout: Rollout) -> tuple[Learner, Metrics]:
    """The Learning Phase: advantages, then epochs of shuffled minibatch steps, then the running statistics."""
    lesson, descent = start(group, hyper, learner, rollout)
    descent = jax.lax.fori_loop(0, hyper.update_epochs, partial(run_epoch, group, hyper, lesson), descent)
    return finish(group, hyper, lesson, descent)


def start(
    group: Group, hyper: PPOHyper, learner: Learner, rollout: Rollout, behaviour: Policy | None = None
) -> tuple[Lesson, Descent]:
    """All that comes before the first gradient step. `behaviour`: who acted, if not the learner's own policy."""
    key, shuffle_key = jax.random.split(learner.key)
    mean_reward = jnp.mean(rollout.reward)
    if group.switches.norm_reward:
        learner, rollout = normalize_rewards(learner, rollout, hyper.gamma)
    batch = make_batch(group, hyper, learner.policy, rollout, behaviour)
    seen = vitals.observation_metrics(group, batch.features, batch.weight)
    bad = vitals.first_bad_input(mean_reward, seen["health/obs_abs_max"], batch.value, batch.advantage)
    agents = group.agents if group.is_central else slice(None)
    stats = move_obs_stats(group, learner.obs_stats, rollout.features[..., agents, :], batch.weight)
    learner = eqx.tree_at(lambda s: (s.key, s.obs_stats), learner, (key, stats))
    return Lesson(learner, batch, shuffle_key, seen | {"charts/reward": mean_reward}), make_descent(learner, bad)


def make_batch(
    group: Group, hyper: PPOHyper, policy: Policy, rollout: Rollout, behaviour: Policy | None = None
) -> Batch:
    """Values, log-probabilities (of whoever acted) and advantages of a rollout, flattened to M = T x B x A samples."""
    features = batch_features(group, policy, rollout.features)
    read = reading.read_rollout(group, policy, features, rollout, behaviour)
    log_prob, _ = distributions.log_prob_and_entropy(group.action, read.head, rollout.action)
    value, ended = read.value, rollout.terminated | rollout.truncated
    advantage = generalized_advantage(
        rollout.reward, value, read.next_value, rollout.terminated, ended, hyper.gamma, hyper.gae_lambda
    )
    columns = (features, rollout.action, log_prob, value, advantage, advantage + value)
    flat = (x.reshape(group.num_samples, *x.shape[3:]) for x in columns)
    starts = None if read.first is None else reading.starts_of(group, rollout)
    return Batch(*flat, weight=flat_weight(rollout.active), starts=starts, memory=read.first)


def make_descent(learner: Learner, first_bad: Int[Array, ""]) -> Descent:
    flat_params, _ = ravel_pytree(learner.params)
    nothing = jnp.zeros((), jnp.float32)
    sums = jnp.zeros(len(LOSS_NAMES), jnp.float32)
    return Descent(flat_params, learner.opt_state, sums, nothing, nothing, jnp.zeros((), bool), first_bad)


def run_epoch(group: Group, hyper: PPOHyper, lesson: Lesson, i: Array, descent: Descent) -> Descent:
    """Epoch number i: every sample is in exactly one of its minibatches; once `stopped`, nothing moves any more."""

    def step(descent: Descent, indices: Array) -> tuple[Descent, None]:
        learn = partial(gradient_step, group, hyper, lesson.learner, take(group, lesson.batch, indices))
        if group.switches.early_stop == "off":
            return learn(descent), None
        return jax.lax.cond(descent.stopped, lambda descent: descent, learn, descent), None

    order = reading.minibatches(group, group.switches.num_minibatches, lesson.shuffle_key, i)
    descent, _ = jax.lax.scan(step, descent, order)
    if group.switches.early_stop == "epoch":
        descent = eqx.tree_at(lambda s: s.stopped, descent, descent.stopped | (descent.last_kl > hyper.target_kl))
    return descent


def take(group: Group, batch: Batch, indices: Int[Array, "samples"]) -> Batch:
    """One minibatch; where it is made of sequences, also what was remembered before them."""
    samples = jax.tree.map(lambda x: x[indices], dataclasses.replace(batch, memory=None))
    sequences = reading.sequences_of(group, indices)
    return dataclasses.replace(samples, memory=jax.tree.map(lambda x: x[sequences], batch.memory))


def gradient_step(group: Group, hyper: PPOHyper, learner: Learner, minibatch: Batch, descent: Descent) -> Descent:
    """Gradient of the loss, Adam, and what is logged of both; too far a step is taken back where minibatches stop early."""
    _, unravel = ravel_pytree(learner.params)
    (loss, parts), grads = jax.value_and_grad(ppo_loss, has_aux=True)(
        unravel(descent.flat_params), group, hyper, learner.update, minibatch
    )
    grads = ravel_pytree(grads)[0]
    grad_norm = jnp.linalg.norm(grads)
    rate = schedule_value(hyper.learning_rate, learner.update)
    numbers = AdamNumbers(rate, hyper.adam_eps, hyper.max_grad_norm, hyper.weight_decay)
    flat_params, opt_state = adam_step(numbers, descent.flat_params, grads, grad_norm, descent.opt_state)
    bad = vitals.first_bad(vitals.bad_number("loss", loss), vitals.bad_number("gradient", grad_norm))
    moved = Descent(
        flat_params,
        opt_state,
        sums=descent.sums + jnp.stack([*parts, grad_norm]),
        num_minibatches=descent.num_minibatches + 1.0,
        last_kl=parts[LOSS_NAMES.index("approx_kl")],
        stopped=descent.stopped,
        first_bad=jnp.where(descent.first_bad > 0, descent.first_bad, bad),
    )
    if group.switches.early_stop != "minibatch":
        return moved
    too_far = moved.last_kl > 1.5 * hyper.target_kl
    kept = eqx.tree_at(lambda s: s.stopped, descent, jnp.ones_like(descent.stopped))
    return jax.tree.map(lambda a, b: jnp.where(too_far, a, b), kept, moved)


def finish(group: Group, hyper: PPOHyper, lesson: Lesson, descent: Descent) -> tuple[Learner, Metrics]:
    """The learner after all epochs, and what there is to log."""
    learner = lesson.learner
    metrics = make_metrics(group, hyper, learner, lesson.batch, descent) | lesson.seen
    _, unravel = ravel_pytree(learner.params)
    moved = unravel(descent.flat_params), descent.opt_state, learner.update + 1
    return eqx.tree_at(lambda s: (s.params, s.opt_state, s.update), learner, moved), metrics


# --- The loss --------------------------------------------------------------------------------------------------------


def ppo_loss(
    params: ActorCritic, group: Group, hyper: PPOHyper, update: Array, batch: Batch
) -> tuple[Float[Array, ""], tuple[Array, ...]]:
    """L = L_policy - c_entropy H + c_value L_value; also returns the parts, in the order of LOSS_NAMES."""
    clip_coef, weight = schedule_value(hyper.clip_coef, update), batch.weight
    head, value = reading.policy_and_value(group, params, batch.features, batch.starts, batch.memory)
    log_prob, entropy = distributions.log_prob_and_entropy(group.action, head, batch.action)
    log_ratio = log_prob - batch.log_prob
    advantage = losses.normalize_advantage(batch.advantage, weight) if group.switches.norm_adv else batch.advantage
    policy_loss = losses.clipped_surrogate_loss(log_ratio, advantage, clip_coef, weight)
    if group.switches.clip_vloss:
        value_loss = losses.clipped_value_loss(value, batch.value, batch.target, clip_coef, weight)
    else:
        value_loss = losses.squared_value_loss(value, batch.target, weight)
    mean_entropy = losses.weighted_mean(entropy, weight)
    loss = policy_loss - schedule_value(hyper.ent_coef, update) * mean_entropy + hyper.vf_coef * value_loss
    kl, clipped = losses.approximate_kl(log_ratio, weight), losses.clip_fraction(log_ratio, clip_coef, weight)
    return loss, (policy_loss, value_loss, mean_entropy, kl, -losses.weighted_mean(log_ratio, weight), clipped)


# --- What is logged --------------------------------------------------------------------------------------------------

LOSS_NAMES = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac", "grad_norm")
METRICS = (
    *(f"losses/{name}" for name in LOSS_NAMES),
    "losses/explained_variance",
    "charts/learning_rate",
    "charts/reward",
    *vitals.METRICS,
)
"""What `update` logs."""


def make_metrics(group: Group, hyper: PPOHyper, learner: Learner, batch: Batch, descent: Descent) -> Metrics:
    means = descent.sums / jnp.maximum(descent.num_minibatches, 1.0)
    metrics = {f"losses/{name}": means[i] for i, name in enumerate(LOSS_NAMES)}
    metrics["losses/explained_variance"] = losses.explained_variance(batch.value, batch.target, batch.weight)
    metrics["charts/learning_rate"] = schedule_value(hyper.learning_rate, learner.update)
    metrics |= vitals.scale_metrics(batch.value, batch.target, batch.weight, descent.flat_params)
    metrics |= vitals.action_at_bound(group, batch.action, batch.weight)
    return metrics | vitals.first_bad_metric(descent.first_bad, metrics["losses/param_norm"])


# --- As the engines see it -------------------------------------------------------------------------------------------


def without_learning(hyper: PPOHyper) -> PPOHyper:
    return eqx.tree_at(lambda h: h.update_epochs, hyper, jnp.zeros_like(hyper.update_epochs))


def cut_episodes(learners: tuple[Learner, ...], experience: Any) -> tuple[tuple[Learner, ...], Any]:
    """Nothing is remembered or carried on of episodes that were given up."""
    kept = lambda one: {"discounted_return": one.discounted_return, "policy_state": one.policy_state}  # noqa: E731
    blank = (dataclasses.replace(one, **jax.tree.map(jnp.zeros_like, kept(one))) for one in learners)
    return tuple(blank), experience


PPO = Algorithm(
    make_hyper=make_hyper,
    make_switches=make_switches,
    without_learning=without_learning,
    init=init,
    act=act,
    act_greedily=act_greedily,
    at_rest=at_rest,
    note_ends=note_ends,
    update=each_group(update),
    metrics=METRICS,
    cut_episodes=cut_episodes,
    parts=Parts(start, run_epoch, finish, num_epochs=lambda config: config.ppo.update_epochs),
)
