"""What a run of the MAD4PG family is made of: rates, networks and how they act, the replay and what is kept beside it.

The Learning Phase itself is in `mad4pg`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside import spaces
from courtside.algos import exploration
from courtside.algos.exploration import Exploration
from courtside.algos.nets.deterministic import make_actor, make_critic
from courtside.algos.ops.noise import ScoreWindow, make_score_window
from courtside.algos.ops.nstep import Steps
from courtside.algos.ops.running_stats import make_running_stats
from courtside.algos.ops.schedules import ScheduleNumbers, make_schedule_numbers
from courtside.algos.replay import ring
from courtside.algos.replay.ring import Layout, Ring
from courtside.algos.setup import OffPolicy, Setup, network_input
from courtside.settings.config import Config
from courtside.settings.schedules import parse_schedule
from courtside.types import OffPolicyLearner, Policy

Learners = tuple[OffPolicyLearner, ...]
Groups = Sequence[Setup]


class Hyper(eqx.Module):
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


class Memory(eqx.Module):
    """What the family keeps beside its learners."""

    ring: Ring
    window: Steps | None
    """The last n - 1 steps of every env, which have not started an entry yet; None for n = 1."""
    scores: ScoreWindow
    """Scores of the last episodes."""
    learning_steps: Int[Array, ""]
    """Gradient steps so far."""


def make_hyper(config: Config) -> Hyper:
    learning = config.mad4pg
    number, whole = (lambda x: jnp.asarray(x, jnp.float32)), (lambda x: jnp.asarray(x, jnp.int32))
    schedule = lambda text: make_schedule_numbers(parse_schedule(text), config.num_updates, config.batch_size)  # noqa: E731
    is_hard = learning.update_type == "hard"
    return Hyper(
        actor_rate=schedule(learning.actor_learn_rate),
        critic_rate=schedule(learning.critic_learn_rate),
        noise=schedule(learning.e),
        follows_score=number(learning.anneal == "score"),
        noise_min=number(learning.e_min),
        anneal_max=number(learning.anneal_max),
        ou_theta=number(learning.ou_theta),
        gamma=number(learning.gamma),
        tau=number(1.0 if is_hard else learning.tau),
        period=whole(learning.C if is_hard else 1),
        vmin=number(learning.vmin),
        vmax=number(learning.vmax),
        l2=number(learning.l2),
        max_grad_norm=number(learning.max_grad_norm),
        adam_eps=number(learning.adam_eps),
        per_alpha=number(learning.per_alpha),
        per_beta=number(learning.per_beta),
        pretrain=whole(learning.pretrain),
        learns=jnp.ones((), bool),
    )


def init(setup: Setup, key: PRNGKeyArray) -> OffPolicyLearner:
    """A fresh learner; the slow copies begin as equals."""
    off, net = switches(setup), setup.net
    actor_key, critic_key, run_key = jax.random.split(key, 3)
    size, action_size = spaces.feature_size(setup.observation), spaces.feature_size(setup.action)
    make = lambda k: make_actor(size, action_size, net.hidden_sizes, net.activation, off.init, k)  # noqa: E731
    actor: Any = make(actor_key) if off.ensemble == 1 else jax.vmap(make)(jax.random.split(actor_key, off.ensemble))
    judged = setup.joint_action_size if setup.is_central else action_size
    outputs = off.num_atoms or 1
    critic: Any = make_critic(
        setup.critic_size, judged, net.hidden_sizes, outputs, net.activation, off.init, critic_key
    )
    optimizer = make_optimizer(setup, 0.0, 0.0, 0.0, 0.0)
    start = optimizer.init if off.ensemble == 1 else jax.vmap(optimizer.init)
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
            jax.tree.map(jnp.copy, actor), off.noise, setup.num_envs, setup.num_agents, action_size, off.ensemble
        ),
        obs_stats=make_running_stats((size,)),
    )


def act(setup: Setup, policy: Policy, features: Array, policy_state: Any, noise: Array) -> tuple[Array, Any]:
    """The action in -1 .. 1 with noise on it, or without where nothing is known of how to explore (evaluation)."""
    if not isinstance(policy_state, Exploration):
        return act_greedily(setup, policy, features, policy_state)
    params = exploration.acting_params(policy.params, policy_state)
    greedy = actions_of(setup, params, network_input(setup, policy, features), policy_state.member)
    return exploration.explore(policy_state, greedy, noise)


def act_greedily(setup: Setup, policy: Policy, features: Array, policy_state: Any) -> tuple[Array, Any]:
    """The actor's own action; in an ensemble the envs of a batch take turns in playing its sub-policies."""
    return actions_of(setup, policy.params, network_input(setup, policy, features), None), policy_state


def note_ends(setup: Setup, policy_state: Any, ended: Bool[Array, "B"]) -> Any:
    """What exploration makes of episodes that ended in a step."""
    return exploration.end_episodes(policy_state, ended, switches(setup).ensemble)


def actions_of(setup: Setup, actor: Any, inputs: Array, member: Array | None) -> Array:
    if switches(setup).ensemble == 1:
        return actor(inputs)
    return exploration.ensemble_actions(actor, inputs, member)


def switches(setup: Setup) -> OffPolicy:
    """Shapes and switches of a group that learns from a replay."""
    assert setup.off_policy is not None
    return setup.off_policy


def make_memory(groups: Groups, num_agents: int) -> Memory:
    """An empty replay for all agents of a run."""
    off, layout, num_envs = switches(groups[0]), make_layout(groups, num_agents), groups[0].num_envs
    lag = off.rollout - 1
    number = jnp.zeros((lag, num_envs, num_agents), jnp.float32)
    rows = jnp.zeros((*number.shape, layout.row_size), jnp.float32)
    action = jnp.zeros((lag, num_envs, sum(layout.action_sizes)), jnp.float32)
    window = Steps(rows, action, number, number > 0, number > 0, rows, number > 0) if lag else None
    return Memory(
        ring=ring.make_ring(off.capacity, num_envs, layout.width, lag, off.prioritized),
        window=window,
        scores=make_score_window(off.anneal_window),
        learning_steps=jnp.zeros((), jnp.int32),
    )


def make_layout(groups: Groups, num_agents: int) -> Layout:
    """What a row of the replay holds."""
    sizes = {agent: spaces.feature_size(group.action) for group in groups for agent in group.agents}
    row_size = max(max(spaces.feature_size(group.observation), group.row_size) for group in groups)
    return Layout(num_agents, row_size, tuple(sizes[agent] for agent in range(num_agents)))


def make_optimizer(setup: Setup, max_grad_norm: Any, l2: Any, eps: Any, rate: Any) -> optax.GradientTransformation:
    """Clip, add the L2 gradient, Adam; made inside the program because the numbers are traced."""
    clip = [optax.clip_by_global_norm(max_grad_norm)] if switches(setup).clips_gradients else []
    decay = optax.add_decayed_weights(l2)
    return optax.chain(*clip, decay, optax.scale_by_adam(eps=eps), optax.scale(-1.0 * rate))


def cut_episodes(memory: Memory) -> Memory:
    """Episodes that were given up end here by a clock: what waits in the window must not run into the next ones."""
    if memory.window is None:
        return memory
    cut = memory.window.truncated.at[-1].set(~memory.window.terminated[-1])
    return eqx.tree_at(lambda s: s.window.truncated, memory, cut)
