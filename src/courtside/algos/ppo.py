"""Proximal Policy Optimization: the Learning Phase.

Schulman et al. 2017 (arXiv:1707.06347), with the details that made it work in practice: orthogonal initialisation, Adam
epsilon 1e-5, advantages normalised per minibatch, clipped value loss, entropy bonus, global gradient norm clip, annealed
rates, early stop on KL. How a policy that remembers reads a rollout is in `algos.recurrence`.

Where we depart from common code: a time limit is bootstrapped with the value of the true last observation; values and
log-probabilities of a rollout are computed in one pass after it (same network, same numbers, one large product instead of
many small ones); running statistics move once per update, after it, so that a rollout and its update see the same numbers.

Logs losses/{policy_loss, value_loss, entropy, approx_kl, old_approx_kl, clipfrac, explained_variance, grad_norm} and
charts/{learning_rate, reward}; losses are means over all minibatch steps of the update. `algos.vitals` adds what tells of
its health.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside import spaces
from courtside.algos import recurrence, vitals
from courtside.algos.nets import distributions
from courtside.algos.nets.actor_critic import ActorCritic, make_actor_critic
from courtside.algos.nets.recurrent import Memory, blank_memory, forget, memory_size
from courtside.algos.ops import losses
from courtside.algos.ops.adam import AdamNumbers, adam_start, adam_step
from courtside.algos.ops.returns import discounted_running_return, generalized_advantage
from courtside.algos.ops.running_stats import make_running_stats, merge_batch, scale
from courtside.algos.ops.schedules import ScheduleNumbers, make_schedule_numbers, schedule_value
from courtside.algos.setup import Setup, actor_and_critic_inputs, batch_features, network_input
from courtside.encoding import REWARD_CLIP
from courtside.settings.config import Config
from courtside.settings.schedules import parse_schedule
from courtside.types import Learner, Metrics, Policy, Rollout, Said


class Hyper(eqx.Module):
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
    memory: Memory | None = None
    """What was remembered before the first step of each of the sequences that the samples are, however many. [S, H]"""


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


class Lesson(eqx.Module):
    """What an update learns from, and who learns; the epochs leave it as it is."""

    learner: Learner
    """Already with its next key and running statistics."""
    batch: Batch
    shuffle_key: PRNGKeyArray
    seen: Metrics
    """What is known before the first gradient step."""


LOSS_NAMES = ("policy_loss", "value_loss", "entropy", "approx_kl", "old_approx_kl", "clipfrac", "grad_norm")
METRICS = (
    *(f"losses/{name}" for name in LOSS_NAMES),
    "losses/explained_variance",
    "charts/learning_rate",
    "charts/reward",
    *vitals.METRICS,
)
"""What `update` logs."""


def make_hyper(config: Config) -> Hyper:
    ppo = config.ppo
    number = lambda x: jnp.asarray(x, jnp.float32)  # noqa: E731
    schedule = lambda found: make_schedule_numbers(found, config.num_updates, config.batch_size)  # noqa: E731
    return Hyper(
        learning_rate=schedule(config.learning_rate),
        clip_coef=schedule(parse_schedule(ppo.clip_coef)),
        ent_coef=schedule(parse_schedule(ppo.ent_coef)),
        vf_coef=number(ppo.vf_coef),
        gamma=number(ppo.gamma),
        gae_lambda=number(ppo.gae_lambda),
        max_grad_norm=number(ppo.max_grad_norm),
        target_kl=number(0.0 if ppo.target_kl is None else ppo.target_kl),
        adam_eps=number(ppo.adam_eps),
        weight_decay=number(ppo.weight_decay),
        update_epochs=jnp.asarray(ppo.update_epochs, jnp.int32),
    )


def init(setup: Setup, key: PRNGKeyArray) -> Learner:
    """A fresh learner."""
    net_key, run_key = jax.random.split(key)
    params = make_actor_critic(setup.net, setup.observation, setup.action, net_key, setup.critic_size)
    envs = (setup.num_envs, setup.num_agents)
    return Learner(
        params=params,
        opt_state=adam_start(ravel_pytree(params)[0]),
        key=run_key,
        update=jnp.zeros((), jnp.int32),
        policy_state=memory_at_rest(setup, setup.num_envs),
        obs_stats=make_running_stats((spaces.feature_size(setup.observation),)),
        discounted_return=jnp.zeros(envs, jnp.float32),
        return_stats=make_running_stats(()),
    )


def act(setup: Setup, policy: Policy, features: Array, policy_state: Any, noise: Array) -> tuple[Array, Any]:
    """Draw actions from the policy as it is now; hands on what a recurrent policy remembers. features: [*batch, A, D]"""
    head, policy_state = policy.params.step(network_input(setup, policy, features), policy_state)
    return distributions.sample(setup.action, head, noise), policy_state


def act_and_say(setup: Setup, policy: Policy, features: Array, noise: Array) -> tuple[Array, Said]:
    """The same of a feed-forward policy, and what it says of this step; see `Setup.can_say`."""
    head, value = policy.params.policy_and_value(network_input(setup, policy, features))
    return distributions.sample(setup.action, head, noise), Said(head, value)


def act_greedily(setup: Setup, policy: Policy, features: Array, policy_state: Any) -> tuple[Array, Any]:
    """The most likely action."""
    head, policy_state = policy.params.step(network_input(setup, policy, features), policy_state)
    return distributions.mode(setup.action, head), policy_state


def memory_at_rest(setup: Setup, num_envs: int) -> Any:
    """What a policy remembers before an episode: nothing, and feed-forward ones never do. [B, A, H]"""
    size = memory_size(setup.net)
    return blank_memory((num_envs, setup.num_agents), size) if size else ()


def note_ends(setup: Setup, policy_state: Any, ended: Bool[Array, "B"]) -> Any:
    """What is remembered, once it is known in which envs an episode ended."""
    return forget(policy_state, ended)


def update(setup: Setup, hyper: Hyper, learner: Learner, rollout: Rollout) -> tuple[Learner, Metrics]:
    """The Learning Phase: advantages, then epochs of shuffled minibatch steps, then the running statistics."""
    lesson, descent = begin(setup, hyper, learner, rollout)
    epoch = lambda i, descent: run_epoch(setup, hyper, lesson, i, descent)  # noqa: E731
    return end(setup, hyper, lesson, jax.lax.fori_loop(0, hyper.update_epochs, epoch, descent))


def begin(
    setup: Setup, hyper: Hyper, learner: Learner, rollout: Rollout, behaviour: Policy | None = None
) -> tuple[Lesson, Descent]:
    """All that comes before the first gradient step. `behaviour`: who acted, if not the learner's own policy."""
    key, shuffle_key = jax.random.split(learner.key)
    mean_reward = jnp.mean(rollout.reward)
    learner, rollout = _normalize_reward(setup, hyper, learner, rollout)
    batch = make_batch(setup, hyper, learner, rollout, behaviour)
    seen = vitals.observation_metrics(setup, batch.features, batch.weight)
    descent = _make_descent(learner, _first_bad_input(mean_reward, seen["health/obs_abs_max"], batch))
    learner = eqx.tree_at(lambda s: s.key, _move_obs_stats(setup, learner, rollout), key)
    return Lesson(learner, batch, shuffle_key, seen | {"charts/reward": mean_reward}), descent


def run_epoch(setup: Setup, hyper: Hyper, lesson: Lesson, i: Array, descent: Descent) -> Descent:
    """Epoch number i."""
    order = recurrence.minibatches(setup, lesson.shuffle_key, i)
    _, unravel = ravel_pytree(lesson.learner.params)
    return _run_epoch(setup, hyper, lesson.learner.update, lesson.batch, unravel, order, descent)


def end(setup: Setup, hyper: Hyper, lesson: Lesson, descent: Descent) -> tuple[Learner, Metrics]:
    """The learner after all epochs, and what there is to log."""
    learner = lesson.learner
    metrics = _make_metrics(setup, hyper, learner, lesson.batch, descent) | lesson.seen
    _, unravel = ravel_pytree(learner.params)
    moved = unravel(descent.flat_params), descent.opt_state, learner.update + 1
    return eqx.tree_at(lambda s: (s.params, s.opt_state, s.update), learner, moved), metrics


def make_batch(
    setup: Setup, hyper: Hyper, learner: Learner, rollout: Rollout, behaviour: Policy | None = None
) -> Batch:
    """Values, log-probabilities and advantages of a rollout, flattened to M = T x B x A samples.

    Log-probabilities are those of whoever acted: the learner's own policy, or `behaviour`.
    """
    features = batch_features(setup, learner.policy, rollout.features)
    is_said = rollout.said is not None and behaviour is None
    read = recurrence.listen(rollout) if is_said else recurrence.look_back(setup, learner.params, features, rollout)
    head = read.head if behaviour is None else _head_of(setup, behaviour, rollout)
    log_prob, _ = distributions.log_prob_and_entropy(setup.action, head, rollout.action)
    value, next_value = read.value, _next_values(setup, learner, rollout, read)
    ended = rollout.terminated | rollout.truncated
    advantage = generalized_advantage(
        rollout.reward, value, next_value, rollout.terminated, ended, hyper.gamma, hyper.gae_lambda
    )
    columns = (features, rollout.action, log_prob, value, advantage, advantage + value)
    num_samples = setup.num_steps * setup.num_envs * setup.num_agents
    flat = (x.reshape(num_samples, *x.shape[3:]) for x in columns)
    starts = None if read.first is None else recurrence.starts_of(setup, rollout)
    return Batch(*flat, weight=_flat_weight(rollout), starts=starts, memory=read.first)


def _head_of(setup: Setup, policy: Policy, rollout: Rollout) -> Array:
    """What a policy says to all steps of a rollout."""
    return recurrence.look_back(setup, policy.params, batch_features(setup, policy, rollout.features), rollout).head


def _next_values(setup: Setup, learner: Learner, rollout: Rollout, read: recurrence.Reading) -> Array:
    """V of what each step led to: the next row of `value`, but the true last observation where a clock cut in.

    A rollout may bring that last value with it. Else most have no cut, so that second pass through the critic is taken only
    where there is one.
    """
    # Where an episode ended at the last step, the value behind it is not asked for.
    after = value_of(setup, learner.policy, rollout.last_features, read.last)
    shifted = jnp.concatenate([read.value[1:], after[None]], axis=0)
    if rollout.final_value is not None:
        return jnp.where(rollout.truncated, rollout.final_value, shifted)

    def with_cuts(shifted: Array) -> Array:
        assert rollout.final_features is not None  # where there is no final value, there is this
        final = value_of(setup, learner.policy, rollout.final_features, read.memories)
        return jnp.where(rollout.truncated, final, shifted)

    return jax.lax.cond(jnp.any(rollout.truncated), with_cuts, lambda shifted: shifted, shifted)


def value_of(setup: Setup, policy: Policy, rows: Array, memory: Memory | None) -> Float[Array, "*batch A"]:
    """V of rows as a rollout keeps them: the agents' own, or everybody's where the critic is a central one. [*batch, A, D]"""
    features = batch_features(setup, policy, rows)
    return policy.params.value(actor_and_critic_inputs(setup, features)[-1], memory)


def _run_epoch(
    setup: Setup,
    hyper: Hyper,
    update: Array,
    batch: Batch,
    unravel: Any,
    order: Int[Array, "minibatches samples"],
    descent: Descent,
) -> Descent:
    """One pass over the batch in the given order, which has every sample in exactly one minibatch."""

    def minibatch_step(descent: Descent, indices: Array) -> tuple[Descent, None]:
        minibatch = _take(setup, batch, indices)
        step = lambda descent: _minibatch_step(setup, hyper, update, unravel, minibatch, descent)  # noqa: E731
        if setup.early_stop == "off":
            return step(descent), None
        return jax.lax.cond(descent.stopped, lambda descent: descent, step, descent), None

    descent, _ = jax.lax.scan(minibatch_step, descent, order)
    if setup.early_stop == "epoch":
        descent = eqx.tree_at(lambda s: s.stopped, descent, descent.stopped | (descent.last_kl > hyper.target_kl))
    return descent


def _take(setup: Setup, batch: Batch, indices: Int[Array, "samples"]) -> Batch:
    """One minibatch; where it is made of sequences, also what was remembered before them."""
    samples = jax.tree.map(lambda x: x[indices], dataclasses.replace(batch, memory=None))
    sequences = recurrence.sequences_of(setup, indices)
    return dataclasses.replace(samples, memory=jax.tree.map(lambda x: x[sequences], batch.memory))


def _minibatch_step(
    setup: Setup, hyper: Hyper, update: Array, unravel: Any, minibatch: Batch, descent: Descent
) -> Descent:
    """One gradient step."""
    params = unravel(descent.flat_params)
    (loss, parts), grads = jax.value_and_grad(ppo_loss, has_aux=True)(params, setup, hyper, update, minibatch)
    grads = ravel_pytree(grads)[0]
    grad_norm = jnp.linalg.norm(grads)
    rate = schedule_value(hyper.learning_rate, update)
    numbers = AdamNumbers(rate, hyper.adam_eps, hyper.max_grad_norm, hyper.weight_decay)
    flat_params, opt_state = adam_step(numbers, descent.flat_params, grads, grad_norm, descent.opt_state)
    sums = descent.sums + jnp.stack([*parts, grad_norm])
    bad = vitals.first_bad(vitals.bad_number("loss", loss), vitals.bad_number("gradient", grad_norm))
    kl = parts[LOSS_NAMES.index("approx_kl")]
    moved = Descent(
        flat_params,
        opt_state,
        sums,
        descent.num_minibatches + 1.0,
        kl,
        descent.stopped,
        jnp.where(descent.first_bad > 0, descent.first_bad, bad),
    )
    if setup.early_stop != "minibatch":
        return moved
    too_far = kl > 1.5 * hyper.target_kl
    kept = eqx.tree_at(lambda s: s.stopped, descent, jnp.ones_like(descent.stopped))
    return jax.tree.map(lambda a, b: jnp.where(too_far, a, b), kept, moved)


def ppo_loss(
    params: ActorCritic, setup: Setup, hyper: Hyper, update: Array, batch: Batch
) -> tuple[Float[Array, ""], tuple[Array, ...]]:
    """L = L_policy - c_entropy H + c_value L_value; also returns the parts, in the order of LOSS_NAMES."""
    clip_coef, weight = schedule_value(hyper.clip_coef, update), batch.weight
    head, value = recurrence.policy_and_value(setup, params, batch.features, batch.starts, batch.memory)
    log_prob, entropy = distributions.log_prob_and_entropy(setup.action, head, batch.action)
    log_ratio = log_prob - batch.log_prob
    advantage = losses.normalize_advantage(batch.advantage, weight) if setup.norm_adv else batch.advantage
    policy_loss = losses.clipped_surrogate_loss(log_ratio, advantage, clip_coef, weight)
    if setup.clip_vloss:
        value_loss = losses.clipped_value_loss(value, batch.value, batch.target, clip_coef, weight)
    else:
        value_loss = losses.squared_value_loss(value, batch.target, weight)
    mean_entropy = losses.weighted_mean(entropy, weight)
    loss = policy_loss - schedule_value(hyper.ent_coef, update) * mean_entropy + hyper.vf_coef * value_loss
    kl, clipped = losses.approximate_kl(log_ratio, weight), losses.clip_fraction(log_ratio, clip_coef, weight)
    return loss, (policy_loss, value_loss, mean_entropy, kl, -losses.weighted_mean(log_ratio, weight), clipped)


def _make_descent(learner: Learner, first_bad: Int[Array, ""]) -> Descent:
    flat_params, _ = ravel_pytree(learner.params)
    nothing = jnp.zeros((), jnp.float32)
    sums = jnp.zeros(len(LOSS_NAMES), jnp.float32)
    return Descent(flat_params, learner.opt_state, sums, nothing, nothing, jnp.zeros((), bool), first_bad)


def _first_bad_input(reward: Array, largest_feature: Array, batch: Batch) -> Int[Array, ""]:
    """What was not finite before the first gradient step; a mean or a maximum is finite only where all of it is."""
    found = {"reward": reward, "observation": largest_feature, "value": batch.value, "advantage": batch.advantage}
    return vitals.first_bad(*(vitals.bad_number(name, x) for name, x in found.items()))


def _make_metrics(setup: Setup, hyper: Hyper, learner: Learner, batch: Batch, descent: Descent) -> Metrics:
    means = descent.sums / jnp.maximum(descent.num_minibatches, 1.0)
    metrics = {f"losses/{name}": means[i] for i, name in enumerate(LOSS_NAMES)}
    metrics["losses/explained_variance"] = losses.explained_variance(batch.value, batch.target, batch.weight)
    metrics["charts/learning_rate"] = schedule_value(hyper.learning_rate, learner.update)
    metrics |= vitals.scale_metrics(batch.value, batch.target, batch.weight, descent.flat_params)
    metrics |= vitals.action_at_bound(setup, batch.action, batch.weight)
    bad_params = vitals.bad_number("parameters", metrics["losses/param_norm"])
    bad = jnp.where(descent.first_bad > 0, descent.first_bad, bad_params)
    return metrics | {"health/first_bad": bad.astype(jnp.float32)}


def _normalize_reward(setup: Setup, hyper: Hyper, learner: Learner, rollout: Rollout) -> tuple[Learner, Rollout]:
    """Scale rewards by the deviation of the discounted return seen so far, this rollout included."""
    if not setup.norm_reward:
        return learner, rollout
    ended = rollout.terminated | rollout.truncated
    carried, returns = discounted_running_return(learner.discounted_return, rollout.reward, ended, hyper.gamma)
    stats = merge_batch(learner.return_stats, returns.reshape(-1), _flat_weight(rollout))
    learner = eqx.tree_at(lambda s: (s.discounted_return, s.return_stats), learner, (carried, stats))
    return learner, eqx.tree_at(lambda r: r.reward, rollout, scale(stats, rollout.reward, REWARD_CLIP))


def _move_obs_stats(setup: Setup, learner: Learner, rollout: Rollout) -> Learner:
    if not setup.norm_obs:
        return learner
    agents = setup.agents if setup.is_central else slice(None)
    seen = rollout.features[..., agents, : setup.own_size].reshape(-1, setup.own_size)
    return eqx.tree_at(lambda s: s.obs_stats, learner, merge_batch(learner.obs_stats, seen, _flat_weight(rollout)))


def _flat_weight(rollout: Rollout) -> Float[Array, "M"] | None:
    """0 for steps of agents that had left the episode; None with a single agent."""
    return None if rollout.active is None else rollout.active.astype(jnp.float32).reshape(-1)
