"""Zeros of the right shapes, to compile programs with before anything was played."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from courtside.algos import team
from courtside.algos.algorithm import no_action
from courtside.algos.nets import distributions
from courtside.algos.setup import Setup
from courtside.algos.team import Team
from courtside.types import EnvSpec, EpisodeEnd, Rollout, Said


def blank_rollout(learners: Team, spec: EnvSpec, features: np.ndarray, is_said: bool) -> Rollout:
    """A whole rollout of a host. features: of one step, bytes where rows are kept as bytes [B, A, D]"""
    number = jnp.zeros((learners.num_steps, *features.shape[:2]), jnp.float32)
    flag, length = number > 0, number[..., 0].astype(jnp.int32)
    many = jnp.broadcast_to(jnp.asarray(features), (learners.num_steps, *features.shape))
    shapes = ((group.num_steps, group.num_envs, group.num_agents) for group in learners.groups)
    final, final_value = (None, number) if learners.groups[0].packed else (many, None)
    return Rollout(
        features=many,
        action=tuple(map(no_action, learners.groups, shapes)),
        reward=number,
        terminated=flag,
        truncated=flag,
        final_features=final,
        last_features=many[0],
        active=flag if learners.num_agents > 1 else None,
        ends=EpisodeEnd(flag[..., 0], number, length, dict.fromkeys(spec.told_names, number[..., 0])),
        memory=team.rollout_memory(learners, team.memories_at_rest(learners, learners.num_envs)),
        final_value=final_value,
        said=tuple(map(_nothing_said, learners.groups)) if is_said else None,
        games=EpisodeEnd(flag[..., 0], number[..., :1], length) if spec.tells_games else None,
    )


def _nothing_said(setup: Setup) -> Said:
    steps = (setup.num_steps, setup.num_envs, setup.num_agents)
    return Said(jnp.zeros((*steps, distributions.head_size(setup.action))), jnp.zeros(steps))
