"""Running statistics: how they scale rewards, and how a rollout moves them. Off, everything stays as it is."""

from __future__ import annotations

from jaxtyping import Array, Float

from courtside.algos.group import Group
from courtside.algos.ops.running_stats import merge_batch
from courtside.types import RunningStats


def move_obs_stats(group: Group, stats: RunningStats, rows: Array, weight: Float[Array, "M"] | None) -> RunningStats:
    """The statistics of observations once the group's own rows [T, B, A, D] of a rollout are in them."""
    if not group.norm_obs:
        return stats
    return merge_batch(stats, rows[..., : group.own_size].reshape(-1, group.own_size), weight)
