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
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside import spaces
from courtside.algos import exploration, vitals
from courtside.algos.algorithm import Algorithm, Learned
from courtside.algos.experience import Experience, cut_episodes, make_experience, make_layout, store
from courtside.algos.exploration import Exploration, actions_of, explore_next, greedy_actions, update_keys
from courtside.algos.group import Group
from courtside.algos.inputs import by_agent, critic_inputs, joint_actions, network_input
from courtside.algos.mad4pg_vitals import AGENT_NAMES, LOSS_NAMES, METRICS, agent_parts, loss_metrics, loss_parts
from courtside.algos.nets.deterministic import Actor, Critic, make_actor, make_critic
from courtside.algos.ops import categorical
from courtside.algos.ops.adam import adam_of_tree
from courtside.algos.ops.losses import weighted_mean
from courtside.algos.ops.nstep import Entries
from courtside.algos.ops.running_stats import make_running_stats
from courtside.algos.ops.schedules import ScheduleNumbers, make_schedule_numbers, schedule_value
from courtside.algos.replay import priorities, ring
from courtside.algos.replay.ring import Priorities, RowLayout
from courtside.encoding import decode_action
from courtside.errors import ConfigError
from courtside.settings.config import Config
from courtside.spaces import Box, Space, describe
from courtside.types import OffPolicyLearner, Policy, Rollout

Learners = tuple[OffPolicyLearner, ...]

# --- What it is given ------------------------------------------------------------------------------------------------


class MAD4PGHyper(eqx.Module):
    """Rates and coefficients: traced, so that many settings can share one compiled program."""

    actor_rate: ScheduleNumbers
    critic_rate: ScheduleNumbers
    noise: ScheduleNumbers
    follows_score: Float[Array, "*P"]
    """1 where the noise is annealed by the score, 0 where the schedule alone decides."""
    noise_min: Float[Array, "*P"]
    anneal_max: Float[Array, "*P"]
    ou_theta: Float[Array, "*P"]
    gamma: Float[Array, "*P"]
    tau: Float[Array, "*P"]
    """How far the slow copies move when they move: 1 for hard updates."""
    period: Int[Array, "*P"]
    """Gradient steps between two moves of the slow copies: 1 for soft updates."""
    vmin: Float[Array, "*P"]
    vmax: Float[Array, "*P"]
    l2: Float[Array, "*P"]
    max_grad_norm: Float[Array, "*P"]
    adam_eps: Float[Array, "*P"]
    per_alpha: Float[Array, "*P"]
    per_beta: Float[Array, "*P"]
    pretrain: Int[Array, "*P"]
    learns: Bool[Array, "*P"]
    """Whether gradient steps are taken at all; off to time the rollouts alone."""


@dataclass(frozen=True)
class MAD4PGSwitches:
    """Shapes and switches: static, so that other ones make another program."""

    rollout: int
    """n of the n-step returns."""
    gradient_steps: int
    """Gradient steps of one update."""
    batch_size: int
    capacity: int
    """Entries that the replay holds."""
    num_atoms: int | None
    """Atoms of the value distribution; None for a critic of one number."""
    noise: Literal["gaussian", "ou", "parameter"]
    anneal_window: int
    """Episodes whose mean score the noise follows."""
    prioritized: bool
    ensemble: int
    """Sub-policies of each group."""
    clips_gradients: bool
    init: Literal["fan-in", "uniform"]
    other_actions: Literal["stored", "current"]


def make_hyper(config: Config) -> MAD4PGHyper:
    own, is_hard = config.mad4pg, config.mad4pg.update_type == "hard"
    number, whole = partial(jnp.asarray, dtype=jnp.float32), partial(jnp.asarray, dtype=jnp.int32)
    rates = (make_schedule_numbers(own.schedule(x), config.num_updates, config.batch_size) for x in own.SCHEDULES)
    as_set = (
        "anneal_max",
        "ou_theta",
        "gamma",
        "vmin",
        "vmax",
        "l2",
        "max_grad_norm",
        "adam_eps",
        "per_alpha",
        "per_beta",
    )
    return MAD4PGHyper(
        *rates,
        **{name: number(getattr(own, name)) for name in as_set},
        follows_score=number(own.anneal == "score"),
        noise_min=number(own.e_min),
        tau=number(1.0 if is_hard else own.tau),
        period=whole(own.C if is_hard else 1),
        pretrain=whole(own.pretrain),
        learns=jnp.ones((), bool),
    )


def make_switches(config: Config) -> MAD4PGSwitches:
    own = config.mad4pg
    as_set = ("rollout", "batch_size", "noise", "anneal_window", "prioritized", "ensemble", "init", "other_actions")
    return MAD4PGSwitches(
        **{name: getattr(own, name) for name in as_set},
        gradient_steps=config.gradient_steps,
        capacity=own.buffer_size,
        num_atoms=own.num_atoms if config.traits.predicts_distribution else None,
        clips_gradients=own.max_grad_norm > 0,
    )


def init(group: Group, key: PRNGKeyArray) -> OffPolicyLearner:
    """A fresh learner; the slow copies begin as equals."""
    switches, net = group.switches, group.net
    actor_key, critic_key, run_key = jax.random.split(key, 3)
    size, action_size = spaces.feature_size(group.observation), spaces.feature_size(group.action)
    make = lambda k: make_actor(size, action_size, net.hidden_sizes, net.activation, switches.init, k)  # noqa: E731
    actor: Any = (
        make(actor_key) if switches.ensemble == 1 else jax.vmap(make)(jax.random.split(actor_key, switches.ensemble))
    )
    judged = group.joint_action_size if group.is_central else action_size
    outputs = switches.num_atoms or 1
    critic: Any = make_critic(
        group.critic_size, judged, net.hidden_sizes, outputs, net.activation, switches.init, critic_key
    )
    optimizer = adam_of_tree(switches.clips_gradients, 0.0, 0.0, 0.0, 0.0)
    start = optimizer.init if switches.ensemble == 1 else jax.vmap(optimizer.init)
    return OffPolicyLearner(
        params=actor,
        critic=critic,
        target_params=jax.tree.map(jnp.copy, actor),
        target_critic=jax.tree.map(jnp.copy, critic),
        opt_state=start(actor),
        critic_opt_state=optimizer.init(critic),
        key=run_key,
        update=jnp.zeros((), jnp.int32),
        policy_state=exploration.make_exploration(
            jax.tree.map(jnp.copy, actor),
            switches.noise,
            group.num_envs,
            group.num_agents,
            action_size,
            switches.ensemble,
        ),
        obs_stats=make_running_stats((size,)),
    )


# --- Acting ----------------------------------------------------------------------------------------------------------


def act(group: Group, policy: Policy, features: Array, policy_state: Any, noise: Array) -> tuple[Array, Any]:
    """The action in -1 .. 1 with noise on it, or without where nothing is known of how to explore (evaluation)."""
    if not isinstance(policy_state, Exploration):
        return act_greedily(group, policy, features, policy_state)
    params = exploration.acting_params(policy.params, policy_state)
    greedy = actions_of(group, params, network_input(group, policy, features), policy_state.member)
    return exploration.explore(policy_state, greedy, noise)


def act_greedily(group: Group, policy: Policy, features: Array, policy_state: Any) -> tuple[Array, Any]:
    """The actor's own action; in an ensemble the envs of a batch take turns in playing its sub-policies."""
    return actions_of(group, policy.params, network_input(group, policy, features), None), policy_state


def note_ends(group: Group, policy_state: Any, ended: Bool[Array, "B"]) -> Any:
    """What exploration makes of episodes that ended in a step."""
    return exploration.end_episodes(policy_state, ended, group.switches.ensemble)


def decode(group: Group, action: Any, xp: Any = np) -> Any:
    """What the env is given for an action; deterministic policies act in -1 .. 1 of its range."""
    assert isinstance(group.action, Box)
    bounds = (np.asarray(x, np.float32).reshape(-1) for x in (group.action.low_array, group.action.high_array))
    low, high = (xp.broadcast_to(x, action.shape) for x in bounds)
    return decode_action(group.action, (low + high) / 2 + (high - low) / 2 * action, xp)


def check_action(config: Config, env_id: str, action: Space) -> None:
    """Refuse an action space that a deterministic policy cannot act in."""
    name, wanted = config.run.algo, "a Box of numbers with a lowest and a highest value"
    if not isinstance(action, Box):
        raise ConfigError(
            f"{env_id} takes actions of {describe(action)}, but --algo {name} needs {wanted}; use --algo ppo for choices."
        )
    if not (np.isfinite(action.low_array).all() and np.isfinite(action.high_array).all()):
        raise ConfigError(
            f"{env_id} takes actions without bounds ({describe(action)}), but --algo {name} needs {wanted}; "
            "use --algo ppo, or give the env's action space bounds."
        )


# --- The update ------------------------------------------------------------------------------------------------------


class Moving(eqx.Module):
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


def update(
    groups: Sequence[Group], hyper: MAD4PGHyper, learners: Learners, experience: Experience, rollout: Rollout
) -> Learned:
    """Store what was seen, take the gradient steps that are due, then decide how to explore next."""
    layout = make_layout(groups, rollout.reward.shape[-1])
    experience = store(layout, groups, hyper.gamma, experience, rollout)
    greedy = [greedy_actions(group, learner, rollout) for group, learner in zip(groups, learners, strict=True)]
    moving, count = take_gradient_steps(layout, groups, hyper, learners, experience)
    filled = replace(experience.ring, priorities=moving.priorities)
    experience = replace(experience, ring=filled, learning_steps=experience.learning_steps + count)
    at_random = ring.size(experience.ring) < hyper.pretrain
    moved, metrics = [], []
    for i, (group, learner) in enumerate(zip(groups, moving.learners, strict=True)):
        taken = rollout.action[i]
        learner, explored = explore_next(group, hyper, learner, experience, rollout, taken, greedy[i], at_random)
        moved.append(learner)
        metrics.append(explored | loss_metrics(hyper, learner, experience, moving, count, rollout, i))
    return Learned(tuple(moved), experience, metrics, moving.agent_sums / count.astype(jnp.float32))


def take_gradient_steps(
    layout: RowLayout, groups: Sequence[Group], hyper: MAD4PGHyper, learners: Learners, experience: Experience
) -> tuple[Moving, Int[Array, ""]]:
    """The gradient steps of one update, and how many there were: none until the replay is filled."""
    switches = groups[0].switches
    _, _, key = update_keys(learners[0].key)
    due = hyper.learns & (ring.size(experience.ring) >= jnp.maximum(hyper.pretrain, switches.batch_size))
    sums = jnp.zeros((len(groups), len(LOSS_NAMES)), jnp.float32)
    agent_sums = jnp.zeros((layout.num_agents, len(AGENT_NAMES)), jnp.float32)
    nothing, none_bad = jnp.zeros((), jnp.float32), jnp.zeros((), jnp.int32)
    moving = Moving(learners, experience.ring.priorities, sums, agent_sums, nothing, none_bad)

    def step(i: Array, moving: Moving) -> Moving:
        return gradient_step(layout, groups, hyper, experience, i, jax.random.fold_in(key, i), moving)

    descend = lambda moving: jax.lax.fori_loop(0, switches.gradient_steps, step, moving)  # noqa: E731
    return jax.lax.cond(due, descend, lambda moving: moving, moving), jnp.where(due, switches.gradient_steps, 0)


def gradient_step(
    layout: RowLayout,
    groups: Sequence[Group],
    hyper: MAD4PGHyper,
    experience: Experience,
    i: Array,
    key: PRNGKeyArray,
    moving: Moving,
) -> Moving:
    """The i-th step of an update: every actor and critic on one batch."""
    switches, number = groups[0].switches, experience.learning_steps + i
    replay = replace(experience.ring, priorities=moving.priorities)
    batch_key, member_key = jax.random.split(key)
    importance = None
    if switches.prioritized:
        indices, rows, importance = priorities.sample(replay, batch_key, switches.batch_size, hyper.per_beta)
    else:
        indices, rows = ring.sample_uniform(replay, batch_key, switches.batch_size)
    batch = ring.unpack(rows, layout)
    members = [_draw_member(group, member_key, i) for i, group in enumerate(groups)]
    targets = make_targets(groups, hyper, moving.learners, batch, members)
    networks = [(_pick(x.params, m), x.critic) for x, m in zip(moving.learners, members, strict=True)]
    grads, (parts, of_agents, td) = jax.grad(family_loss, has_aux=True)(
        networks, groups, hyper, moving.learners, batch, targets, importance
    )
    moved = [
        step_group(group, hyper, number, learner, network, grad, member)
        for group, learner, network, grad, member in zip(groups, moving.learners, networks, grads, members, strict=True)
    ]
    norms = jnp.stack([jnp.stack([optax.tree.norm(actor), optax.tree.norm(critic)]) for actor, critic in grads])
    parts = jnp.concatenate([parts, norms], axis=-1)
    bad = vitals.first_bad(vitals.bad_number("loss", parts[:, :2]), vitals.bad_number("gradient", norms))
    if switches.prioritized:
        replay = priorities.set_priorities(replay, indices, td, hyper.per_alpha)
    return Moving(
        tuple(moved),
        replay.priorities,
        moving.sums + parts,
        moving.agent_sums + of_agents,
        moving.age + jnp.mean(ring.age(replay, indices).astype(jnp.float32)),
        jnp.where(moving.first_bad > 0, moving.first_bad, bad),
    )


def step_group(
    group: Group,
    hyper: MAD4PGHyper,
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
        optimizer = adam_of_tree(group.switches.clips_gradients, hyper.max_grad_norm, hyper.l2, hyper.adam_eps, rate)
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
            follow(learner.target_params, actor, hyper, number),  # all sub-policies: a copy is due for each
            follow(learner.target_critic, moved[1], hyper, number),
        ),
    )


def follow(slow: Any, params: Any, hyper: MAD4PGHyper, number: Array) -> Any:
    """θ' ← θ' + τ (θ - θ') every `period` gradient steps; with τ = 1 an exact copy."""
    due = (number + 1) % hyper.period == 0
    share = jnp.where(due, hyper.tau, 0.0)
    move = lambda old, new: jnp.where(share >= 1.0, new, old + share * (new - old))  # noqa: E731
    return jax.tree.map(move, slow, params)


# --- The loss --------------------------------------------------------------------------------------------------------


class Targets(eqx.Module):
    """What a group's critic should have predicted. [M, A] or [M, A, N]"""

    value: Float[Array, "M A"]
    """The mean, before it is held against the range of the atoms."""
    probs: Float[Array, "M A N"] | None
    """The projected distribution; None for a critic of one number."""
    clipped: tuple[Array, Array]
    """Share of the distribution that fell below the first and beyond the last atom, entry by entry."""


def make_targets(
    groups: Sequence[Group], hyper: MAD4PGHyper, learners: Learners, batch: Entries, members: list[Array | None]
) -> list[Targets]:
    """What the slow copies say the critics should predict, group by group."""
    inputs = [
        critic_inputs(group, learner.policy, batch.next_features)
        for group, learner in zip(groups, learners, strict=True)
    ]
    actors = [_pick(learner.target_params, member) for learner, member in zip(learners, members, strict=True)]
    actions = by_agent(groups, [actor(own) for actor, (own, _) in zip(actors, inputs, strict=True)])
    targets = []
    for group, learner, (_, seen) in zip(groups, learners, inputs, strict=True):
        output = learner.target_critic(seen, joint_actions(group, actions))
        mine = np.asarray(group.agents)
        targets.append(_target(group, hyper, output, batch.reward[:, mine], batch.discount[:, mine]))
    return targets


def _target(group: Group, hyper: MAD4PGHyper, output: Array, reward: Array, discount: Array) -> Targets:
    """R + d Q', or the distribution of R + d Z' projected on the atoms."""
    num_atoms = group.switches.num_atoms
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
    groups: Sequence[Group],
    hyper: MAD4PGHyper,
    learners: Learners,
    batch: Entries,
    targets: Sequence[Targets],
    importance: Float[Array, "M"] | None = None,
) -> tuple[Float[Array, ""], tuple[Float[Array, "groups losses"], Float[Array, "A names"], Float[Array, "M"]]]:
    """Σ over groups of the critic's and the actor's loss; also what is logged of groups and agents, and |TD error|.

    critic:  cross-entropy of the projected target, or (y - Q)²;   actor:  - E[Z(s, π(s), actions of the others)]
    """
    inputs = [
        critic_inputs(group, learner.policy, batch.features) for group, learner in zip(groups, learners, strict=True)
    ]
    own_actions = [actor(own) for (actor, _), (own, _) in zip(networks, inputs, strict=True)]
    sizes = [action.shape[-1] for action in by_agent(groups, own_actions)]
    others = stored = jnp.split(batch.action, np.cumsum(sizes)[:-1].tolist(), axis=-1)
    if groups[0].switches.other_actions == "current":
        others = jax.lax.stop_gradient(by_agent(groups, own_actions))
    loss, parts, of_agents, errors = jnp.zeros(()), [], [], []
    for i, (group, (_, critic), (_, seen)) in enumerate(zip(groups, networks, inputs, strict=True)):
        weight = batch.weight[:, np.asarray(group.agents)]
        view = critic.see(seen)
        predicted = _prediction(group, hyper, critic.judge(view, joint_actions(group, stored)))
        frozen = jax.lax.stop_gradient(critic)
        tried = joint_actions(group, others, own_actions[i])
        reached = _prediction(group, hyper, frozen.judge(jax.lax.stop_gradient(view), tried))
        critic_losses = _critic_losses(predicted, targets[i])
        scaled = critic_losses if importance is None else critic_losses * importance[:, None]
        critic_loss, actor_loss = weighted_mean(scaled, weight), -weighted_mean(reached.mean, weight)
        error = jnp.abs(predicted.mean - targets[i].value)
        errors.append(weight * error)
        parts.append(jnp.stack([actor_loss, critic_loss, *loss_parts(predicted, targets[i], error, weight)]))
        of_agents.append(agent_parts(predicted, reached, critic_losses, targets[i], weight))
        loss = loss + critic_loss + actor_loss
    there = jnp.maximum(jnp.sum(batch.weight, axis=1), 1.0)
    td = jnp.sum(jnp.concatenate(errors, axis=1), axis=1) / there
    return loss, (jnp.stack(parts), jnp.concatenate(of_agents), td)


class Prediction(eqx.Module):
    """What a critic says of actions. [M, A]"""

    mean: Float[Array, "M A"]
    std: Float[Array, "M A"]
    log_probs: Float[Array, "M A N"] | None


def _prediction(group: Group, hyper: MAD4PGHyper, output: Array) -> Prediction:
    num_atoms = group.switches.num_atoms
    if num_atoms is None:
        value = output[..., 0]
        return Prediction(value, jnp.abs(value - jnp.mean(value)), None)
    log_probs = jax.nn.log_softmax(output)
    support, probs = categorical.make_support(hyper.vmin, hyper.vmax, num_atoms), jnp.exp(log_probs)
    return Prediction(categorical.mean(probs, support), categorical.std(probs, support), log_probs)


def predictions(
    groups: Sequence[Group],
    hyper: MAD4PGHyper,
    learners: Sequence[OffPolicyLearner],
    rows: Float[Array, "M E D"],
    actions: Sequence[Array],
) -> list[Prediction]:
    """What each group's critic says of actions [M, A, U], one array per group, in what everybody sees."""
    in_order = by_agent(groups, actions)
    seen = [critic_inputs(group, learner.policy, rows)[1] for group, learner in zip(groups, learners, strict=True)]
    judged = zip(groups, learners, seen, strict=True)
    return [_prediction(s, hyper, learner.critic(x, joint_actions(s, in_order))) for s, learner, x in judged]


def _critic_losses(predicted: Prediction, target: Targets) -> Float[Array, "M A"]:
    if target.probs is None or predicted.log_probs is None:
        return jnp.square(predicted.mean - target.value)
    return -jnp.sum(target.probs * predicted.log_probs, axis=-1)


# --- Ensembles -------------------------------------------------------------------------------------------------------


def _draw_member(group: Group, key: PRNGKeyArray, index: int) -> Array | None:
    """Which sub-policy a gradient step trains; None without an ensemble."""
    count = group.switches.ensemble
    return None if count == 1 else jax.random.randint(jax.random.fold_in(key, index), (), 0, count)


def _pick(tree: Any, member: Array | None) -> Any:
    return tree if member is None else jax.tree.map(lambda x: x[member], tree)


def _put(tree: Any, part: Any, member: Array | None) -> Any:
    return part if member is None else jax.tree.map(lambda x, y: x.at[member].set(y), tree, part)


# --- As the engines see it -------------------------------------------------------------------------------------------


def without_learning(hyper: MAD4PGHyper) -> MAD4PGHyper:
    return eqx.tree_at(lambda h: h.learns, hyper, jnp.zeros_like(hyper.learns))


MAD4PG = Algorithm(
    make_hyper=make_hyper,
    make_switches=make_switches,
    without_learning=without_learning,
    init=init,
    act=act,
    act_greedily=act_greedily,
    note_ends=note_ends,
    decode=decode,
    check_action=check_action,
    make_experience=make_experience,
    cut_episodes=lambda learners, experience: (learners, cut_episodes(experience)),
    update=update,
    predictions=predictions,
    metrics=METRICS,
    agent_metrics=AGENT_NAMES,
)
