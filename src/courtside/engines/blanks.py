"""Zeros of the right shapes, to compile programs with before anything was played."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from courtside.algos import acting
from courtside.algos.group import Group
from courtside.algos.nets import distributions
from courtside.algos.team import Team
from courtside.types import EnvSpec, EpisodeEnd, Rollout, Said


def blank_rollout(team: Team, spec: EnvSpec, features: np.ndarray, is_said: bool) -> Rollout:
    """A whole rollout of a host. features: of one step, bytes where rows are kept as bytes [B, A, D]"""
    number = jnp.zeros((team.num_steps, *features.shape[:2]), jnp.float32)
    flag, length = number > 0, number[..., 0].astype(jnp.int32)
    many = jnp.broadcast_to(jnp.asarray(features), (team.num_steps, *features.shape))
    shapes = ((group.num_steps, group.num_envs, group.num_agents) for group in team.groups)
    final, final_value = (None, number) if team.groups[0].packed else (many, None)
    return Rollout(
        features=many,
        action=tuple(map(acting.no_action, team.groups, shapes)),
        reward=number,
        terminated=flag,
        truncated=flag,
        final_features=final,
        last_features=many[0],
        active=flag if team.num_agents > 1 else None,
        ends=EpisodeEnd(flag[..., 0], number, length, dict.fromkeys(spec.told_names, number[..., 0])),
        memory=acting.rollout_memory(team, acting.memories_at_rest(team, team.num_envs)),
        final_value=final_value,
        said=tuple(map(_nothing_said, team.groups)) if is_said else None,
        games=EpisodeEnd(flag[..., 0], number[..., :1], length) if spec.tells_games else None,
    )


def _nothing_said(group: Group) -> Said:
    steps = (group.num_steps, group.num_envs, group.num_agents)
    return Said(jnp.zeros((*steps, distributions.head_size(group.action))), jnp.zeros(steps))
