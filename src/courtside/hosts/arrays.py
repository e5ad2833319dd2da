"""The arrays that envs and trainer share: one block of memory, laid out the same in every process. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

ALIGNMENT = 64
"""Bytes that each array starts at a multiple of: a cache line, so that workers do not slow each other down."""


@dataclass
class HostArrays:
    """One row per env. A step is committed as a whole: `features` and `running_*` change only once it is done."""

    action: np.ndarray
    """[B, ...] as the env takes it: `preprocess.decode_action` was there"""
    features: np.ndarray
    """float32 [B, D]"""
    final_features: np.ndarray
    """float32 [B, D]"""
    reward: np.ndarray
    """float32 [B]"""
    terminated: np.ndarray
    """bool [B]"""
    truncated: np.ndarray
    """bool [B]"""
    ended: np.ndarray
    """bool [B]"""
    episode_return: np.ndarray
    """float32 [B], of the episode that ended"""
    episode_length: np.ndarray
    """int32 [B], of the episode that ended"""
    running_return: np.ndarray
    """float64 [B], of the episode under way"""
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
        return replace(self, **{f.name: getattr(self, f.name)[first:last] for f in fields(self)})


def _layout(num_envs: int, num_features: int, action: tuple[tuple[int, ...], np.dtype]) -> dict[str, Any]:
    row, flag, count = (num_envs, num_features), (num_envs, np.bool_), (num_envs, np.int32)
    long, double, single = (num_envs, np.int64), (num_envs, np.float64), (num_envs, np.float32)
    return {
        "action": ((num_envs, *action[0]), action[1]),
        "features": (row, np.float32), "final_features": (row, np.float32),
        "reward": single, "terminated": flag, "truncated": flag, "ended": flag,
        "episode_return": single, "episode_length": count, "running_return": double, "running_length": count,
        "steps": long, "seed": long, "restarts": count, "busy_since": double,
    }  # fmt: skip


def num_bytes(num_envs: int, num_features: int, action: tuple[tuple[int, ...], np.dtype]) -> int:
    """Size of the block."""
    return sum(_padded(shape, dtype) for shape, dtype in _layout(num_envs, num_features, action).values())


def make_arrays(
    num_envs: int, num_features: int, action: tuple[tuple[int, ...], np.dtype], block: Any = None
) -> HostArrays:
    """Arrays over `block` (any writable buffer of `num_bytes`), or over memory of their own."""
    block = np.zeros(num_bytes(num_envs, num_features, action), np.uint8) if block is None else block
    arrays, offset = {}, 0
    for name, (shape, dtype) in _layout(num_envs, num_features, action).items():
        arrays[name] = np.ndarray(shape, dtype, buffer=block, offset=offset)
        offset += _padded(shape, dtype)
    return HostArrays(**arrays)


def _padded(shape: Any, dtype: Any) -> int:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return -(-size // ALIGNMENT) * ALIGNMENT
