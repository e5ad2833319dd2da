"""The preprocessing pipeline as data: what happens between the world and the network, the same in training and evaluation.

`encode` turns an observation into one row of numbers per agent, `decode_action` turns what the policy drew into what the
env takes. Both are written once and run on NumPy (workers) and on JAX (compiled worlds): the caller hands in the module.
`describe_pipeline` is the record that goes, hashed, into every checkpoint; `difference` says in words how two differ.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from courtside import spaces
from courtside.config import Config
from courtside.spaces import Box, Dict, Discrete, MultiDiscrete, Space, Tuple

FORMAT = 1
OBS_CLIP = 10.0
REWARD_CLIP = 10.0


def encode(space: Space, obs: Any, xp: Any = np) -> Any:
    """One row of float32 per agent: discrete parts one-hot, everything flattened and laid side by side.

    obs: arrays `[*batch, ...]` as nested as the space -> `[*batch, D]`
    """
    match space:
        case Discrete(n):
            obs = xp.asarray(obs)
            return (obs[..., None] == xp.arange(n).reshape(*(1,) * obs.ndim, n)).astype(xp.float32)
        case MultiDiscrete(nvec):
            obs = xp.asarray(obs)
            return xp.concatenate([encode(Discrete(n), obs[..., i], xp) for i, n in enumerate(nvec)], axis=-1)
        case Box():
            obs = xp.asarray(obs)
            batch = obs.shape[: obs.ndim - len(space.shape)]
            return obs.reshape(*batch, spaces.feature_size(space)).astype(xp.float32)
        case Dict(parts):
            return xp.concatenate([encode(part, obs[name], xp) for name, part in parts], axis=-1)
        case Tuple(parts):
            return xp.concatenate([encode(part, o, xp) for part, o in zip(parts, obs, strict=True)], axis=-1)


def decode_action(space: Space, action: Any, xp: Any = np) -> Any:
    """What the env is given: continuous actions clipped to their range (the rollout keeps the unclipped draw)."""
    if not isinstance(space, Box):
        return action
    batch = action.shape[:-1]
    low, high = (
        bound.astype(np.float32).reshape((1,) * len(batch) + space.shape)
        for bound in (space.low_array, space.high_array)
    )
    return xp.clip(action.reshape(*batch, *space.shape), low, high)


def action_size(space: Space) -> int | None:
    """U, the numbers in one action; None for a single discrete choice."""
    match space:
        case Discrete():
            return None
        case MultiDiscrete(nvec):
            return len(nvec)
        case _:
            return spaces.feature_size(space)


def describe_pipeline(config: Config, observation: Space, action: Space) -> dict[str, Any]:
    """The whole pipeline as JSON data: same record, same numbers into the network."""
    return {
        "format": FORMAT,
        "env_id": config.env.env_id,
        "observation": spaces.to_json(observation),
        "encode": "one-hot discrete parts, flatten, join in order of name",
        "normalize_obs": {"clip": OBS_CLIP} if config.ppo.norm_obs else None,
        "normalize_reward": {"clip": REWARD_CLIP} if config.ppo.norm_reward else None,
        "action": spaces.to_json(action),
        "decode_action": "clip to range" if isinstance(action, Box) else "as drawn",
    }


def pipeline_hash(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def difference(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where two JSON records differ, one readable line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted(set(expected) | set(found))
        lines = [difference(expected.get(k), found.get(k), f"{path}.{k}" if path else k) for k in keys]
        return [line for part in lines for line in part]
    return [] if expected == found else [f"{path}: {expected!r} in the checkpoint, {found!r} here"]
