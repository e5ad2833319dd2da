"""The preprocessing pipeline as data: what happens between the world and the network, the same in training and evaluation.

`encode` turns an observation into one row of numbers per agent, `decode_action` turns what the policy drew into what the
env takes. Both are written once and run on NumPy (workers) and on JAX (compiled worlds): the caller hands in the module.
`describe_pipeline` is the record that goes, hashed, into every checkpoint; `difference` says in words how two differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from courtside import spaces
from courtside.spaces import Box, Cells, Dict, Discrete, MultiDiscrete, Space, Tuple

OBS_CLIP = 10.0
REWARD_CLIP = 10.0


def encode(space: Space, obs: Any, xp: Any = np) -> Any:
    """One row of float32 per agent: discrete parts one-hot, everything flattened and laid side by side.

    obs: arrays `[*batch, ...]` as nested as the space -> `[*batch, D]`
    """
    match space:
        case Discrete(n, start):
            obs = xp.asarray(obs)
            values = xp.arange(start, start + n).reshape(*(1,) * obs.ndim, n)
            return (obs[..., None] == values).astype(xp.float32)
        case MultiDiscrete():
            obs = xp.asarray(obs)
            obs = obs.reshape(*obs.shape[: obs.ndim - len(space.shape)], len(space.nvec))
            return xp.concatenate([encode(one, obs[..., i], xp) for i, one in enumerate(space.choices)], axis=-1)
        case Box():
            obs = xp.asarray(obs)
            batch = obs.shape[: obs.ndim - len(space.shape)]
            return obs.reshape(*batch, spaces.feature_size(space)).astype(xp.float32)
        case Cells():
            return unpack(space, pack(space, obs, xp), xp)
        case Dict(parts):
            return xp.concatenate([encode(part, obs[name], xp) for name, part in parts], axis=-1)
        case Tuple(parts):
            return xp.concatenate([encode(part, o, xp) for part, o in zip(parts, obs, strict=True)], axis=-1)


def is_packable(space: Space) -> bool:
    """Whether the space shows nothing but small whole numbers, which a rollout can keep as one byte each."""
    match space:
        case Discrete(n):
            return n <= 256
        case MultiDiscrete(nvec):
            return max(nvec) <= 256
        case Box():
            return space.dtype_name == "uint8"
        case Cells():
            return True
        case Dict(parts):
            return all(is_packable(part) for _, part in parts)
        case Tuple(parts):
            return all(is_packable(part) for part in parts)


def pack(space: Space, obs: Any, xp: Any = np) -> Any:
    """One byte per number shown, for a space that `is_packable`; `unpack` makes of it what `encode` gives.

    obs: arrays `[*batch, ...]` as nested as the space -> uint8 `[*batch, R]`
    """
    match space:
        case Discrete(_, start):
            return (xp.asarray(obs)[..., None] - start).astype(xp.uint8)
        case MultiDiscrete() | Box() | Cells():
            obs = xp.asarray(obs)
            obs = obs.reshape(*obs.shape[: obs.ndim - len(space.shape)], packed_size(space))
            start = np.asarray([c.start for c in space.choices]) if isinstance(space, MultiDiscrete) else np.zeros(1)
            return (obs - start.astype(obs.dtype).reshape((1,) * (obs.ndim - 1) + (-1,))).astype(xp.uint8)
        case Dict(parts):
            return xp.concatenate([pack(part, obs[name], xp) for name, part in parts], axis=-1)
        case Tuple(parts):
            return xp.concatenate([pack(part, o, xp) for part, o in zip(parts, obs, strict=True)], axis=-1)


def unpack(space: Space, row: Any, xp: Any = np) -> Any:
    """What the network is fed, from what `pack` kept: uint8 `[*batch, R]` -> float32 `[*batch, D]`."""
    match space:
        case Discrete(n):
            return _one_hot(row, 0, n, xp)
        case MultiDiscrete(nvec):
            return xp.concatenate([_one_hot(row[..., i : i + 1], 0, n, xp) for i, n in enumerate(nvec)], axis=-1)
        case Box():
            return row.astype(xp.float32)
        case Cells(n):
            return _one_hot(row, 1, n, xp)
        case Dict(parts):
            return _unpack_parts([part for _, part in parts], row, xp)
        case Tuple(parts):
            return _unpack_parts(list(parts), row, xp)


def packed_size(space: Space) -> int:
    """R, the bytes of one packed row."""
    match space:
        case Discrete():
            return 1
        case MultiDiscrete(nvec):
            return len(nvec)
        case Box() | Cells():
            return int(np.prod(space.shape, dtype=np.int64))
        case Dict(parts):
            return sum(packed_size(part) for _, part in parts)
        case Tuple(parts):
            return sum(packed_size(part) for part in parts)


def _unpack_parts(parts: list[Space], row: Any, xp: Any) -> Any:
    ends = np.cumsum([packed_size(part) for part in parts]).tolist()
    pieces = zip(parts, [0, *ends], ends, strict=False)
    return xp.concatenate([unpack(part, row[..., first:last], xp) for part, first, last in pieces], axis=-1)


def _one_hot(codes: Any, first: int, last: int, xp: Any) -> Any:
    """[*batch, R] -> [*batch, R x (last - first)]: each code against every kind from `first` on."""
    kinds = xp.arange(first, last, dtype=xp.uint8).reshape(*(1,) * codes.ndim, last - first)
    return (codes[..., None] == kinds).astype(xp.float32).reshape(*codes.shape[:-1], codes.shape[-1] * (last - first))


def decode_action(space: Space, action: Any, xp: Any = np) -> Any:
    """What the env is given, in its own shape and kind of number; the rollout keeps the action as drawn.

    Choices are counted from where the space starts; continuous actions are clipped to their range.
    """
    match space:
        case Discrete(_, start):
            return xp.asarray(action + start) if start else action  # one number alone would be no array any more
        case MultiDiscrete():
            return _decode_choices(space, action, xp)
        case Box():
            return _decode_box(space, action, xp)
        case _:
            return action


def _decode_choices(space: MultiDiscrete, action: Any, xp: Any) -> Any:
    if space == MultiDiscrete(space.nvec):
        return action
    batch = action.shape[:-1]
    start = np.asarray([choice.start for choice in space.choices]).reshape((1,) * len(batch) + space.shape)
    return (action.reshape(*batch, *space.shape) + start).astype(_kind(space.dtype, xp))


def _decode_box(space: Box, action: Any, xp: Any) -> Any:
    """Other kinds than float32 are clipped as float64: rounding to float32 can step over their bounds."""
    batch, is_plain = action.shape[:-1], space.dtype_name == "float32"
    working = np.float32 if is_plain else _kind(np.dtype(np.float64), xp)
    low, high = (
        bound.astype(working).reshape((1,) * len(batch) + space.shape) for bound in (space.low_array, space.high_array)
    )
    action = action.reshape((*batch, *space.shape))
    if is_plain:
        return xp.asarray(xp.clip(action, low, high))
    whole = xp.rint(action) if np.issubdtype(space.dtype, np.integer) else action
    return xp.asarray(xp.clip(whole.astype(working), low, high).astype(_kind(space.dtype, xp)))


def _kind(dtype: np.dtype, xp: Any) -> Any:
    """The kind of number, or the nearest one where JAX is without 64-bit numbers."""
    return xp.asarray(np.empty((), dtype)).dtype


def action_size(space: Space) -> int | None:
    """U, the numbers in one action; None for a single discrete choice."""
    match space:
        case Discrete():
            return None
        case MultiDiscrete(nvec):
            return len(nvec)
        case _:
            return spaces.feature_size(space)
