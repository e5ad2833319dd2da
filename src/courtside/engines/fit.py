"""Will it fit: what a run will hold in memory, by part, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from courtside import encoding
from courtside.algos.group import Group
from courtside.algos.nets.convolution import held_bytes
from courtside.algos.nets.cores import count
from courtside.algos.nets.recurrent import memory_size
from courtside.algos.reading import sequence_steps
from courtside.algos.team import Team
from courtside.errors import ConfigError
from courtside.machine import MB, available_mb
from courtside.types import OffPolicyLearner, TrainState


def can_share(groups: Sequence[Group]) -> bool:
    """Do all cores learn together? Only from images, and where a minibatch can be dealt out evenly."""
    sizes = [group.num_samples // _num_minibatches(group) for group in groups]
    return any(group.sees_bytes for group in groups) and count() > 1 and all(size % count() == 0 for size in sizes)


HOST_ENVS, EVAL_ENVS = "host envs", "evaluation envs"
"""The parts that lie in the machine's own memory even where there is an accelerator: envs outside JAX."""
REMEDIES = {
    HOST_ENVS: "fewer --num-envs or --num-workers",
    EVAL_ENVS: "fewer --eval-episodes or --num-workers",
    "network": "smaller --hidden-sizes",
    "replay": "a smaller --buffer-size",
    "CNN's layers": "more --num-minibatches or fewer --num-steps",
    "LSTM's steps": "--lstm-steps 128 or less, more --num-minibatches, or a smaller --lstm-size",
}


def tree_mb(tree: Any) -> float:
    """Size of a pytree of arrays or of their shapes."""
    return sum(_leaf_bytes(leaf) for leaf in jax.tree.leaves(tree)) / MB


def _leaf_bytes(leaf: Any) -> float:
    itemsize = 8 if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.dtype(leaf.dtype).itemsize
    return float(np.prod(leaf.shape, dtype=np.float64)) * itemsize


def device_mb() -> float | None:
    """Memory of the accelerator that is still free; None on a CPU."""
    stats = jax.devices()[0].memory_stats() if jax.default_backend() != "cpu" else None
    return None if not stats else (stats["bytes_limit"] - stats["bytes_in_use"]) / MB


def check_fits(parts: dict[str, float]) -> None:
    """Refuse a run that cannot fit, naming the largest part."""
    if reason := why_too_large(parts, available_mb(), device_mb()):
        raise ConfigError(reason)


def why_too_large(parts: dict[str, float], machine_mb: float | None, accelerator_mb: float | None) -> str | None:
    """What is too much for the machine or its accelerator and what to do; None where it fits or nothing is known.

    Envs outside JAX are held against the machine's memory, the rest against the accelerator's where there is one.
    """
    if accelerator_mb is None:
        return _excess(parts, machine_mb, "memory")
    outside = {name: mb for name, mb in parts.items() if name in (HOST_ENVS, EVAL_ENVS)}
    inside = {name: mb for name, mb in parts.items() if name not in outside}
    return _excess(outside, machine_mb, "memory") or _excess(inside, accelerator_mb, "memory of the accelerator")


def _excess(parts: dict[str, float], free: float | None, kind: str) -> str | None:
    needed = sum(parts.values())
    if free is None or needed <= free:
        return None
    part = max(parts, key=lambda name: parts[name])
    return (
        f"This run needs about {needed:,.0f} MB of {kind} but only {free:,.0f} MB are free; most of it is the {part} "
        f"({parts[part]:,.0f} MB). Use {REMEDIES.get(part, 'fewer --num-envs or --num-steps')}."
    )


def learner_mb(team: Team, state: TrainState, row_copies: int = 3) -> dict[str, float]:
    """Rollout and network (with gradients).

    `row_copies` is how often a rollout's observations are held: acted on, led to, and in the batch made of them.
    """
    rollout = sum(_rollout_bytes(group, row_copies) for group in team.groups) / MB
    network = sum(_network_mb(learner) for learner in state.learners)
    replay = {} if state.memory is None else {"replay": tree_mb(state.memory)}
    sight, steps = (sum(map(part, team.groups)) / MB for part in (_sight_bytes, _recall_bytes))
    between = {name: mb for name, mb in (("CNN's layers", sight), ("LSTM's steps", steps)) if mb}
    return {"rollout": rollout, "network": network} | replay | between


def _network_mb(learner: Any) -> float:
    if isinstance(learner, OffPolicyLearner):
        networks = tree_mb((learner.params, learner.critic))
        return networks + tree_mb(learner)  # the gradients, and everything that is kept
    return 2 * tree_mb(learner.params) + tree_mb(learner.opt_state)


def _sight_bytes(group: Group) -> float:
    """What lies between a CNN's layers: in the pass that values the rollout, all of it or piece by piece, or in a
    minibatch, whichever is more."""
    if (image := group.image) is None:
        return 0.0
    samples, (looking, learning) = group.num_samples, held_bytes(image)
    return max(samples / _num_pieces(group) * looking, samples / _num_minibatches(group) * learning)


def _recall_bytes(group: Group) -> float:
    """The same of an LSTM's steps. For each unit four gates, h and c; to learn from them also their slopes. Where cuts are
    valued after the rollout, h and c of all of it stay."""
    samples, units = group.num_samples, memory_size(group.net)
    kept = 0 if group.packed else 2 * samples
    return 4 * units * (kept + max(6 * samples / _num_pieces(group), 14 * samples / _num_minibatches(group)))


def _num_minibatches(group: Group) -> int:
    return getattr(group.switches, "num_minibatches", 1)


def _num_pieces(group: Group) -> int:
    return group.num_steps // sequence_steps(group) if group.net.lstm_size else 1


def _rollout_bytes(group: Group, row_copies: int) -> float:
    """Bytes become numbers only for the pass that values the whole rollout and for one minibatch after another; a CNN needs
    none of that."""
    samples = group.num_samples
    size = max(group.own_size, group.row_size) * (group.num_everyone if group.is_central else 1)
    unpacked = 4 * group.critic_size if group.packed and not group.sees_bytes else 0
    numbers = (encoding.action_size(group.action) or 1) + 8
    return samples * (row_copies * size * (1 if group.packed else 4) + unpacked + 4 * numbers)
