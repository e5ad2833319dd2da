"""What a replay keeps of rollouts, and how a rollout gets into it: n-step entries in a ring, and the steps that still wait."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from courtside import spaces
from courtside.algos.group import Group
from courtside.algos.inputs import by_agent
from courtside.algos.ops.noise import ScoreWindow, add_scores, make_score_window
from courtside.algos.ops.nstep import Steps, make_entries
from courtside.algos.replay import ring
from courtside.algos.replay.ring import Ring, RowLayout
from courtside.types import Rollout


class Experience(eqx.Module):
    """What the family keeps beside its learners."""

    ring: Ring
    window: Steps | None
    """The last n - 1 steps of every env, which have not started an entry yet; None for n = 1."""
    scores: ScoreWindow
    """Scores of the last episodes."""
    learning_steps: Int[Array, ""]
    """Gradient steps so far."""


def make_experience(groups: Sequence[Group], num_agents: int) -> Experience:
    """An empty replay for all agents of a run."""
    switches, layout, num_envs = groups[0].switches, make_layout(groups, num_agents), groups[0].num_envs
    lag = switches.rollout - 1
    number = jnp.zeros((lag, num_envs, num_agents), jnp.float32)
    rows = jnp.zeros((*number.shape, layout.row_size), jnp.float32)
    action = jnp.zeros((lag, num_envs, sum(layout.action_sizes)), jnp.float32)
    window = Steps(rows, action, number, number > 0, number > 0, rows, number > 0) if lag else None
    return Experience(
        ring=ring.make_ring(switches.capacity, num_envs, layout.width, lag, switches.prioritized),
        window=window,
        scores=make_score_window(switches.anneal_window),
        learning_steps=jnp.zeros((), jnp.int32),
    )


def make_layout(groups: Sequence[Group], num_agents: int) -> RowLayout:
    """What a row of the replay holds."""
    sizes = {agent: spaces.feature_size(group.action) for group in groups for agent in group.agents}
    row_size = max(max(spaces.feature_size(group.observation), group.row_size) for group in groups)
    return RowLayout(num_agents, row_size, tuple(sizes[agent] for agent in range(num_agents)))


def store(
    layout: RowLayout, groups: Sequence[Group], gamma: Float[Array, ""], experience: Experience, rollout: Rollout
) -> Experience:
    """n-step entries of the steps that are complete now; the last n - 1 wait for the next rollout."""
    assert rollout.final_features is not None  # every rollout that is replayed has them
    active = jnp.ones_like(rollout.terminated) if rollout.active is None else rollout.active
    steps = Steps(
        rollout.features,
        jnp.concatenate(by_agent(groups, rollout.action), axis=-1),
        rollout.reward,
        rollout.terminated,
        rollout.truncated,
        rollout.final_features,
        active,
    )
    n, window, scores = groups[0].switches.rollout, experience.window, experience.scores
    if window is not None:
        steps = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), window, steps)
        window = jax.tree.map(lambda x: x[x.shape[0] - n + 1 :], steps)
    if rollout.ends is not None:
        scores = add_scores(scores, rollout.ends.ended, jnp.max(rollout.ends.episode_return, axis=-1))
    stored = ring.insert(experience.ring, ring.pack(make_entries(steps, gamma, n), layout))
    return replace(experience, ring=stored, window=window, scores=scores)


def cut_episodes(experience: Experience) -> Experience:
    """Episodes that were given up end here by a clock: what waits in the window must not run into the next ones."""
    if experience.window is None:
        return experience
    cut = experience.window.truncated.at[-1].set(~experience.window.terminated[-1])
    return eqx.tree_at(lambda s: s.window.truncated, experience, cut)
