"""Multi-Agent Distributed Distributional Deep Deterministic Policy Gradients, and its relatives: the Learning Phase.

One file, two switches. The critic is a distribution over atoms or one number, and it sees everybody or its own agent only:

              own view   sees everybody
  one number  DDPG       MADDPG            Lillicrap et al. 2015 (arXiv:1509.02971), Lowe et al. 2017 (arXiv:1706.02275)
  atoms       D4PG       MAD4PG            Barth-Maron et al. 2018 (arXiv:1804.08617)

Each group of agents has an actor, a critic and slow copies of both. Experience is kept as n-step entries in a replay that is
part of the TrainState. A gradient step takes one batch for all groups: targets from the slow copies, one loss that holds
every critic's and every actor's, one gradient, Adam, then the slow copies move.

Where we depart from common code: n-step entries end with their episode and carry the true product of discounts; a time
limit is bootstrapped, a terminal state is not; the projection is exact; the actors' losses send no gradient into the critics
nor into other agents' actors; all groups step from the same parameters; what the observations contribute to a critic is
computed once for the stored and for the policy's actions.

Logs losses/{actor_loss, critic_loss, value_mean, value_std, target_mean, td_error, actor_grad_norm, critic_grad_norm,
param_norm, target_gap}, health/{mass_first, mass_last, clipped_low, clipped_high, target_high, target_low, noise_effect, ...},
charts/{noise_scale, actor_learn_rate, critic_learn_rate, learning_steps, reward} and replay/{size, age}; losses are means over
the gradient steps of the update, not a number where there were none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from courtside.algos import vitals
from courtside.algos.aftermath import (
    AGENT_NAMES,
    LOSS_NAMES,
    METRICS,
    Descent,
    explore_on,
    greedy_actions,
    loss_metrics,
    update_keys,
)
from courtside.algos.nets.deterministic import Actor, Critic
from courtside.algos.off_policy import (
    Groups,
    Hyper,
    Learners,
    Memory,
    act,
    act_greedily,
    init,
    make_hyper,
    make_layout,
    make_optimizer,
    switches,
)
from courtside.algos.ops import categorical
from courtside.algos.ops.losses import weighted_mean
from courtside.algos.ops.noise import add_scores
from courtside.algos.ops.nstep import Entries, Steps, make_entries
from courtside.algos.ops.schedules import schedule_value
from courtside.algos.replay import priorities, ring
from courtside.algos.replay.ring import Layout
from courtside.algos.setup import Setup, actor_and_critic_inputs, batch_features
from courtside.types import Metrics, OffPolicyLearner, Rollout

__all__ = ["METRICS", "Hyper", "act", "act_greedily", "init", "make_hyper", "update"]


class Targets(eqx.Module):
    """What a group's critic should have predicted. [M, A] or [M, A, N]"""

    value: Float[Array, "M A"]
    """The mean, before it is held against the range of the atoms."""
    probs: Float[Array, "M A N"] | None
    """The projected distribution; None for a critic of one number."""
    clipped: tuple[Array, Array]
    """Share of the distribution that fell below the first and beyond the last atom, entry by entry."""


def update(
    groups: Groups, hyper: Hyper, learners: Learners, memory: Memory, rollout: Rollout
) -> tuple[Learners, Memory, list[Metrics], Float[Array, "A names"]]:
    """Store what was seen, take the gradient steps that are due, then decide how to explore next.

    Also returns the metrics of each group, and those of each agent, group by group, in the order of AGENT_NAMES.
    """
    layout = make_layout(groups, rollout.reward.shape[-1])
    memory = _store(layout, groups, hyper, memory, rollout)
    greedy = [greedy_actions(setup, learner, rollout) for setup, learner in zip(groups, learners, strict=True)]
    descent, count = _descend(layout, groups, hyper, learners, memory)
    stored = replace(memory.ring, priorities=descent.priorities)
    memory = replace(memory, ring=stored, learning_steps=memory.learning_steps + count)
    at_random = ring.size(memory.ring) < hyper.pretrain
    moved, metrics = [], []
    for i, (setup, learner) in enumerate(zip(groups, descent.learners, strict=True)):
        learner, seen = explore_on(setup, hyper, learner, memory, rollout, i, at_random, greedy[i])
        moved.append(learner)
        metrics.append(seen | loss_metrics(setup, hyper, learner, memory, descent, count, rollout, i))
    return tuple(moved), memory, metrics, descent.agent_sums / count.astype(jnp.float32)


def _store(layout: Layout, groups: Groups, hyper: Hyper, memory: Memory, rollout: Rollout) -> Memory:
    """n-step entries of the steps that are complete now; the last n - 1 wait for the next rollout."""
    off = switches(groups[0])
    assert rollout.final_features is not None  # every rollout that is replayed has them
    active = jnp.ones_like(rollout.terminated) if rollout.active is None else rollout.active
    steps = Steps(
        rollout.features,
        jnp.concatenate(_by_agent(groups, rollout.action), axis=-1),
        rollout.reward,
        rollout.terminated,
        rollout.truncated,
        rollout.final_features,
        active,
    )
    if memory.window is not None:
        steps = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), memory.window, steps)
    entries = make_entries(steps, hyper.gamma, off.rollout)
    window = None if memory.window is None else jax.tree.map(lambda x: x[x.shape[0] - off.rollout + 1 :], steps)
    scores = memory.scores
    if rollout.ends is not None:
        scores = add_scores(scores, rollout.ends.ended, jnp.max(rollout.ends.episode_return, axis=-1))
    stored = ring.insert(memory.ring, ring.pack(entries, layout))
    return Memory(stored, window, scores, memory.learning_steps)


def _descend(
    layout: Layout, groups: Groups, hyper: Hyper, learners: Learners, memory: Memory
) -> tuple[Descent, Int[Array, ""]]:
    """The gradient steps of one update, and how many there were: none until the replay is filled."""
    off = switches(groups[0])
    _, _, key = update_keys(learners[0].key)
    due = hyper.learns & (ring.size(memory.ring) >= jnp.maximum(hyper.pretrain, off.batch_size))
    sums = jnp.zeros((len(groups), len(LOSS_NAMES)), jnp.float32)
    agent_sums = jnp.zeros((layout.num_agents, len(AGENT_NAMES)), jnp.float32)
    nothing, none_bad = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
    descent = Descent(learners, memory.ring.priorities, sums, agent_sums, nothing, none_bad)

    def step(i: Array, descent: Descent) -> Descent:
        return _gradient_step(layout, groups, hyper, memory, i, jax.random.fold_in(key, i), descent)

    descend = lambda descent: jax.lax.fori_loop(0, off.gradient_steps, step, descent)  # noqa: E731
    return jax.lax.cond(due, descend, lambda descent: descent, descent), jnp.where(due, off.gradient_steps, 0)


def _gradient_step(
    layout: Layout, groups: Groups, hyper: Hyper, memory: Memory, i: Array, key: PRNGKeyArray, descent: Descent
) -> Descent:
    """The i-th step of an update: every actor and critic on one batch."""
    off, number = switches(groups[0]), memory.learning_steps + i
    replay = replace(memory.ring, priorities=descent.priorities)
    batch_key, member_key = jax.random.split(key)
    importance = None
    if off.prioritized:
        indices, rows, importance = priorities.sample(replay, batch_key, off.batch_size, hyper.per_beta)
    else:
        indices, rows = ring.sample_uniform(replay, batch_key, off.batch_size)
    batch = ring.unpack(rows, layout)
    members = [_draw_member(setup, member_key, i) for i, setup in enumerate(groups)]
    targets = make_targets(groups, hyper, descent.learners, batch, members)
    networks = [(_pick(x.params, m), x.critic) for x, m in zip(descent.learners, members, strict=True)]
    grads, (parts, of_agents, td) = jax.grad(family_loss, has_aux=True)(
        networks, groups, hyper, descent.learners, batch, targets, importance
    )
    moved = [
        _step_group(setup, hyper, number, learner, network, grad, member)
        for setup, learner, network, grad, member in zip(
            groups, descent.learners, networks, grads, members, strict=True
        )
    ]
    norms = jnp.stack([jnp.stack([optax.tree.norm(actor), optax.tree.norm(critic)]) for actor, critic in grads])
    parts = jnp.concatenate([parts, norms], axis=-1)
    bad = vitals.first_bad(vitals.bad_number("loss", parts[:, :2]), vitals.bad_number("gradient", norms))
    if off.prioritized:
        replay = priorities.set_priorities(replay, indices, td, hyper.per_alpha)
    return Descent(
        tuple(moved),
        replay.priorities,
        descent.sums + parts,
        descent.agent_sums + of_agents,
        descent.age + jnp.mean(ring.age(replay, indices).astype(jnp.float32)),
        jnp.where(descent.first_bad > 0, descent.first_bad, bad),
    )


def make_targets(
    groups: Groups, hyper: Hyper, learners: Learners, batch: Entries, members: list[Array | None]
) -> list[Targets]:
    """What the slow copies say the critics should predict, group by group."""
    inputs = [_inputs(setup, learner, batch.next_features) for setup, learner in zip(groups, learners, strict=True)]
    actors = [_pick(learner.target_params, member) for learner, member in zip(learners, members, strict=True)]
    actions = _by_agent(groups, [actor(own) for actor, (own, _) in zip(actors, inputs, strict=True)])
    targets = []
    for setup, learner, (_, seen) in zip(groups, learners, inputs, strict=True):
        output = learner.target_critic(seen, _joint_actions(setup, actions))
        mine = np.asarray(setup.agents)
        targets.append(_target(setup, hyper, output, batch.reward[:, mine], batch.discount[:, mine]))
    return targets


def _target(setup: Setup, hyper: Hyper, output: Array, reward: Array, discount: Array) -> Targets:
    """R + d Q', or the distribution of R + d Z' projected on the atoms."""
    num_atoms = switches(setup).num_atoms
    nothing = jnp.zeros_like(reward)
    if num_atoms is None:
        return Targets(reward + discount * output[..., 0], None, (nothing, nothing))
    support = categorical.make_support(hyper.vmin, hyper.vmax, num_atoms)
    probs = jax.nn.softmax(output)
    projected = categorical.project(probs, reward, discount, hyper.vmin, hyper.vmax)
    clipped = categorical.clipped_share(probs, reward, discount, hyper.vmin, hyper.vmax)
    return Targets(reward + discount * categorical.mean(probs, support), projected, clipped)


def family_loss(
    networks: Sequence[tuple[Actor, Critic]],
    groups: Groups,
    hyper: Hyper,
    learners: Learners,
    batch: Entries,
    targets: Sequence[Targets],
    importance: Float[Array, "M"] | None = None,
) -> tuple[Float[Array, ""], tuple[Float[Array, "groups losses"], Float[Array, "A names"], Float[Array, "M"]]]:
    """Σ over groups of the critic's and the actor's loss; also what is logged of groups and agents, and |TD error|.

    critic:  cross-entropy of the projected target, or (y - Q)²;   actor:  - E[Z(s, π(s), actions of the others)]
    """
    inputs = [_inputs(setup, learner, batch.features) for setup, learner in zip(groups, learners, strict=True)]
    own_actions = [actor(own) for (actor, _), (own, _) in zip(networks, inputs, strict=True)]
    sizes = [action.shape[-1] for action in _by_agent(groups, own_actions)]
    others = stored = jnp.split(batch.action, np.cumsum(sizes)[:-1].tolist(), axis=-1)
    if switches(groups[0]).other_actions == "current":
        others = jax.lax.stop_gradient(_by_agent(groups, own_actions))
    loss, parts, of_agents, errors = jnp.zeros(()), [], [], []
    for i, (setup, (_, critic), (_, seen)) in enumerate(zip(groups, networks, inputs, strict=True)):
        weight = batch.weight[:, np.asarray(setup.agents)]
        view = critic.see(seen)
        predicted = _prediction(setup, hyper, critic.judge(view, _joint_actions(setup, stored)))
        frozen = jax.lax.stop_gradient(critic)
        tried = _joint_actions(setup, others, own_actions[i])
        reached = _prediction(setup, hyper, frozen.judge(jax.lax.stop_gradient(view), tried))
        critic_losses = _critic_losses(predicted, targets[i])
        scaled = critic_losses if importance is None else critic_losses * importance[:, None]
        critic_loss, actor_loss = weighted_mean(scaled, weight), -weighted_mean(reached.mean, weight)
        error = jnp.abs(predicted.mean - targets[i].value)
        errors.append(weight * error)
        parts.append(jnp.stack([actor_loss, critic_loss, *_loss_parts(predicted, targets[i], error, weight)]))
        of_agents.append(_agent_parts(predicted, reached, critic_losses, targets[i], weight))
        loss = loss + critic_loss + actor_loss
    there = jnp.maximum(jnp.sum(batch.weight, axis=1), 1.0)
    td = jnp.sum(jnp.concatenate(errors, axis=1), axis=1) / there
    return loss, (jnp.stack(parts), jnp.concatenate(of_agents), td)


class Prediction(eqx.Module):
    """What a critic says of actions. [M, A]"""

    mean: Float[Array, "M A"]
    std: Float[Array, "M A"]
    log_probs: Float[Array, "M A N"] | None


def _prediction(setup: Setup, hyper: Hyper, output: Array) -> Prediction:
    num_atoms = switches(setup).num_atoms
    if num_atoms is None:
        value = output[..., 0]
        return Prediction(value, jnp.abs(value - jnp.mean(value)), None)
    log_probs = jax.nn.log_softmax(output)
    support, probs = categorical.make_support(hyper.vmin, hyper.vmax, num_atoms), jnp.exp(log_probs)
    return Prediction(categorical.mean(probs, support), categorical.std(probs, support), log_probs)


def predictions(
    groups: Groups,
    hyper: Hyper,
    learners: Sequence[OffPolicyLearner],
    rows: Float[Array, "M E D"],
    actions: Sequence[Array],
) -> list[Prediction]:
    """What each group's critic says of actions [M, A, U], one array per group, in what everybody sees."""
    by_agent = _by_agent(groups, actions)
    seen = [_inputs(setup, learner, rows)[1] for setup, learner in zip(groups, learners, strict=True)]
    judged = zip(groups, learners, seen, strict=True)
    return [_prediction(s, hyper, learner.critic(x, _joint_actions(s, by_agent))) for s, learner, x in judged]


def _critic_losses(predicted: Prediction, target: Targets) -> Float[Array, "M A"]:
    if target.probs is None or predicted.log_probs is None:
        return jnp.square(predicted.mean - target.value)
    return -jnp.sum(target.probs * predicted.log_probs, axis=-1)


def _loss_parts(predicted: Prediction, target: Targets, error: Array, weight: Array) -> list[Array]:
    """What is told of a batch beside its losses."""
    means = [predicted.mean, predicted.std, target.value, error, *_edge_mass(target), *target.clipped]
    there = weight > 0
    lowest = jnp.min(jnp.where(there, target.value, jnp.inf))
    highest = jnp.max(jnp.where(there, target.value, -jnp.inf))
    return [*(weighted_mean(jax.lax.stop_gradient(x), weight) for x in means), lowest, highest]


def _agent_parts(
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


def _step_group(
    setup: Setup,
    hyper: Hyper,
    number: Array,
    learner: OffPolicyLearner,
    network: tuple[Any, Any],
    grads: tuple[Any, Any],
    member: Array | None,
) -> OffPolicyLearner:
    """Adam for actor and critic, then the slow copies."""
    rates = tuple(schedule_value(rate, learner.update) for rate in (hyper.actor_rate, hyper.critic_rate))
    opt_states = (_pick(learner.opt_state, member), learner.critic_opt_state)
    moved, states = [], []
    for params, grad, opt_state, rate in zip(network, grads, opt_states, rates, strict=True):
        optimizer = make_optimizer(setup, hyper.max_grad_norm, hyper.l2, hyper.adam_eps, rate)
        change, opt_state = optimizer.update(grad, opt_state, params)
        moved.append(optax.apply_updates(params, change))
        states.append(opt_state)
    actor = _put(learner.params, moved[0], member)
    return eqx.tree_at(
        lambda s: (s.params, s.critic, s.opt_state, s.critic_opt_state, s.target_params, s.target_critic),
        learner,
        (
            actor,
            moved[1],
            _put(learner.opt_state, states[0], member),
            states[1],
            _follow(learner.target_params, actor, hyper, number),  # all sub-policies: a copy is due for each
            _follow(learner.target_critic, moved[1], hyper, number),
        ),
    )


def _follow(slow: Any, params: Any, hyper: Hyper, number: Array) -> Any:
    """θ' ← θ' + τ (θ - θ') every `period` gradient steps; with τ = 1 an exact copy."""
    due = (number + 1) % hyper.period == 0
    share = jnp.where(due, hyper.tau, 0.0)
    move = lambda old, new: jnp.where(share >= 1.0, new, old + share * (new - old))  # noqa: E731
    return jax.tree.map(move, slow, params)


# --- Ensembles, and rows of agents ----------------------------------------------------------------------------------


def _draw_member(setup: Setup, key: PRNGKeyArray, index: int) -> Array | None:
    """Which sub-policy a gradient step trains; None without an ensemble."""
    count = switches(setup).ensemble
    return None if count == 1 else jax.random.randint(jax.random.fold_in(key, index), (), 0, count)


def _pick(tree: Any, member: Array | None) -> Any:
    return tree if member is None else jax.tree.map(lambda x: x[member], tree)


def _put(tree: Any, part: Any, member: Array | None) -> Any:
    return part if member is None else jax.tree.map(lambda x, y: x.at[member].set(y), tree, part)


def _inputs(setup: Setup, learner: OffPolicyLearner, rows: Float[Array, "M E D"]) -> tuple[Array, Array]:
    """What actor and critic of a group are fed. [M, A, ...]"""
    rows = rows if setup.is_central else rows[:, np.asarray(setup.agents)]
    inputs = actor_and_critic_inputs(setup, batch_features(setup, learner.policy, rows))
    return inputs[0], inputs[-1]


def _by_agent(groups: Groups, parts: Sequence[Array]) -> list[Array]:
    """Arrays [*batch, A, U] of the groups as a list of arrays [*batch, U], in the order of the agents."""
    found = {a: x[..., i, :] for group, x in zip(groups, parts, strict=True) for i, a in enumerate(group.agents)}
    return [found[agent] for agent in sorted(found)]


def _joint_actions(setup: Setup, actions: Sequence[Array], own: Array | None = None) -> Float[Array, "M A V"]:
    """What a group's critic is given of everybody's actions: each agent's own first, as with the observations.

    `own` [M, A, U] takes the place of the group's own actions, one agent at a time: the others' stay as they are.
    """
    rows = []
    for i, agent in enumerate(setup.agents):
        mine = actions[agent] if own is None else own[:, i]
        count = setup.num_everyone if setup.is_central else 1
        rows.append(jnp.concatenate([mine, *(actions[(agent + k) % count] for k in range(1, count))], axis=-1))
    return jnp.stack(rows, axis=1)
