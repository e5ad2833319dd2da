"""The arrays that envs and trainer share: one block of memory, laid out the same in every process. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes that each array starts at a multiple of: a cache line, so that workers do not slow each other down."""


@dataclass(frozen=True)
class BlockLayout:
    """How many rows, of how many numbers."""

    num_envs: int
    num_agents: int
    num_features: int
    """Numbers in one row: D features, or R bytes."""
    actions: tuple[tuple[tuple[int, ...], np.dtype], ...]
    """Shape and kind of each action array, without its first axis, the envs: `[A, ...]` for agents that act alike, else
    one for each agent."""
    row_dtype: Any = np.float32
    """uint8 where rows are bytes."""
    num_told: int = 0
    """Numbers that an env tells at the end of an episode."""


@dataclass
class HostArrays:
    """One row per env. A step is committed as a whole: `features`, `absent`, `running_*` change only once it is done."""

    actions: tuple[np.ndarray, ...]
    """As the env takes them, `encoding.decode_action` was there: one [B, A, ...], or one [B, ...] for each agent"""
    features: np.ndarray
    """float32 [B, A, D], or uint8 [B, A, R]"""
    final_features: np.ndarray
    """The same."""
    reward: np.ndarray
    """float32 [B, A]"""
    terminated: np.ndarray
    """bool [B, A]"""
    truncated: np.ndarray
    """bool [B, A]"""
    absent: np.ndarray
    """bool [B, A], who has left the episode under way or not yet joined it"""
    ended: np.ndarray
    """bool [B]"""
    episode_return: np.ndarray
    """float32 [B, A], of the episode that ended"""
    episode_length: np.ndarray
    """int32 [B], of the episode that ended"""
    game_ended: np.ndarray
    """bool [B]"""
    game_score: np.ndarray
    """float32 [B], of the game that ended"""
    game_length: np.ndarray
    """int32 [B], of the game that ended"""
    told: np.ndarray
    """float32 [B, n], what each env says of its episode (`EnvFacts.told_names`): counts where `ended`"""
    running_return: np.ndarray
    """float64 [B, A], of the episode under way"""
    running_length: np.ndarray
    """int32 [B], of the episode under way"""
    steps: np.ndarray
    """int64 [B], steps committed since the host was made"""
    seed: np.ndarray
    """int64 [B], what the env is seeded with at its next seeded reset"""
    restarts: np.ndarray
    """int32 [B], how often the env was replaced since its last whole episode"""
    busy_since: np.ndarray
    """float64 [B], monotonic time at which the env was last called: the newest of a dead worker is the culprit"""

    def part(self, first: int, last: int) -> HostArrays:
        """The rows of some envs; the memory stays the same."""
        rows = {f.name: getattr(self, f.name)[first:last] for f in fields(self) if f.name != "actions"}
        return replace(self, actions=tuple(action[first:last] for action in self.actions), **rows)


def _shapes(layout: BlockLayout) -> dict[str, Any]:
    """Shape and kind of every array but the actions."""
    envs, agents = (layout.num_envs,), (layout.num_envs, layout.num_agents)
    row = (*agents, layout.num_features)
    return {
        "features": (row, layout.row_dtype), "final_features": (row, layout.row_dtype),
        "reward": (agents, np.float32), "terminated": (agents, np.bool_), "truncated": (agents, np.bool_),
        "absent": (agents, np.bool_), "ended": (envs, np.bool_),
        "episode_return": (agents, np.float32), "episode_length": (envs, np.int32),
        "game_ended": (envs, np.bool_), "game_score": (envs, np.float32), "game_length": (envs, np.int32),
        "told": ((*envs, layout.num_told), np.float32),
        "running_return": (agents, np.float64), "running_length": (envs, np.int32),
        "steps": (envs, np.int64), "seed": (envs, np.int64), "restarts": (envs, np.int32),
        "busy_since": (envs, np.float64),
    }  # fmt: skip


def _action_shapes(layout: BlockLayout) -> list[Any]:
    return [((layout.num_envs, *shape), dtype) for shape, dtype in layout.actions]


def num_bytes(layout: BlockLayout) -> int:
    """Size of the block."""
    return sum(_padded(shape, dtype) for shape, dtype in [*_action_shapes(layout), *_shapes(layout).values()])


def make_arrays(layout: BlockLayout, block: Any = None) -> HostArrays:
    """Arrays over `block` (any writable buffer of `num_bytes`), or over memory of their own."""
    block = np.zeros(num_bytes(layout), np.uint8) if block is None else block
    arrays, offset = [], 0
    for shape, dtype in [*_action_shapes(layout), *_shapes(layout).values()]:
        arrays.append(np.ndarray(shape, dtype, buffer=block, offset=offset))
        offset += _padded(shape, dtype)
    count = len(layout.actions)
    return HostArrays(tuple(arrays[:count]), **dict(zip(_shapes(layout), arrays[count:], strict=True)))


def _padded(shape: Any, dtype: Any) -> int:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT
