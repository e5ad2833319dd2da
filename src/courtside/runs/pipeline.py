"""The preprocessing pipeline as data: what happens between the world and the network, the same in training and evaluation.

`describe_pipeline` is the record that goes, hashed, into every checkpoint; `difference` says in words how two differ.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from courtside import spaces
from courtside.encoding import OBS_CLIP, REWARD_CLIP
from courtside.settings.config import Config
from courtside.settings.values import split_words
from courtside.settings.worlds import describe_game
from courtside.spaces import Box, Space

FORMAT = 1


def describe_pipeline(config: Config, spec: Any) -> dict[str, Any]:
    """The whole pipeline of a world's EnvSpec as JSON data: same record, same numbers into the network."""
    record = {
        "format": FORMAT,
        "env_id": config.env.env_id,
        "agents": list(spec.names),
        "observation": spaces.to_json(spec.observation),
        "encode": "one-hot discrete parts, flatten, join in order of name",
        "normalize_obs": {"clip": OBS_CLIP} if config.learning.norm_obs else None,
        "normalize_reward": {"clip": REWARD_CLIP} if getattr(config.learning, "norm_reward", False) else None,
        "action": spaces.to_json(spec.action),
        "decode_action": _describe_decoding(spec.action),
        **({"env_options": split_words(config.env.env_options)} if config.env.env_options else {}),
    }
    if described := describe_game(config.env.env_id, split_words(config.env.env_options)):
        source, game = described
        record.pop("env_options", None)  # they are in there, with those that nobody changed
        record |= {"env_id": source.bare_id, source.kind: game}
    if spec.made_of:
        record["made_of"] = spec.made_of
    if not spec.per_agent:
        return record
    unlike = [{"observation": spaces.to_json(sees), "action": spaces.to_json(does)} for sees, does in spec.per_agent]
    return record | {"per_agent": unlike}


def _describe_decoding(action: Space) -> str:
    if isinstance(action, Box):
        return "round, clip to range" if np.issubdtype(action.dtype, np.integer) else "clip to range"
    return "count from the start" if getattr(action, "start", 0) else "as drawn"


def pipeline_hash(record: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()


def difference(expected: Any, found: Any, path: str = "") -> list[str]:
    """Where two JSON records differ, one readable line each."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted(set(expected) | set(found))
        lines = [difference(expected.get(k), found.get(k), f"{path}.{k}" if path else k) for k in keys]
        return [line for part in lines for line in part]
    return [] if expected == found else [f"{path}: {expected!r} in the checkpoint, {found!r} here"]
