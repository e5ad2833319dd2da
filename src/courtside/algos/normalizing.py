"""Running statistics: how they scale rewards, and how a rollout moves them."""

from __future__ import annotations

import equinox as eqx
from jaxtyping import Array, Float

from courtside.algos.group import Group
from courtside.algos.inputs import flat_weight
from courtside.algos.ops.returns import discounted_running_return
from courtside.algos.ops.running_stats import merge_batch, scale
from courtside.encoding import REWARD_CLIP
from courtside.types import Learner, Rollout, RunningStats


def normalize_rewards(learner: Learner, rollout: Rollout, gamma: Float[Array, ""]) -> tuple[Learner, Rollout]:
    """Scale rewards by the deviation of the discounted return seen so far, this rollout included."""
    ended = rollout.terminated | rollout.truncated
    carried, returns = discounted_running_return(learner.discounted_return, rollout.reward, ended, gamma)
    stats = merge_batch(learner.return_stats, returns.reshape(-1), flat_weight(rollout.active))
    learner = eqx.tree_at(lambda s: (s.discounted_return, s.return_stats), learner, (carried, stats))
    return learner, eqx.tree_at(lambda r: r.reward, rollout, scale(stats, rollout.reward, REWARD_CLIP))


def move_obs_stats(group: Group, stats: RunningStats, rows: Array, weight: Float[Array, "M"] | None) -> RunningStats:
    """The statistics of observations once the group's own rows [T, B, A, D] of a rollout are in them, where they are used."""
    if not group.norm_obs:
        return stats
    return merge_batch(stats, rows[..., : group.own_size].reshape(-1, group.own_size), weight)
