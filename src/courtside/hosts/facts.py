"""What one env of a kind says about all of them: spaces, agents, time limit; as data that goes between processes. No JAX here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from courtside import encoding, spaces
from courtside.hosts.arrays import BlockLayout
from courtside.hosts.rows import action_layout


@dataclass(frozen=True)
class EnvFacts:
    """See `envs.base.EnvSpec` for what the names mean; agents that are unlike have their own spaces in `per_agent`."""

    observation: spaces.Space
    """Of unlike agents: a row of numbers, as long as the longest of theirs."""
    action: spaces.Space
    """Of unlike agents: all their actions as a tuple, unless they act alike."""
    time_limit: int | None
    agent_names: tuple[str, ...] = ()
    per_agent: tuple[tuple[spaces.Space, spaces.Space], ...] = ()
    tells_games: bool = False
    """Whether the calls fill `games`: a game can be several episodes."""
    can_save: bool = False
    """Whether envs have `save_state() -> bytes` and `load_state(bytes)`, after which they go on exactly as they would have."""
    told_names: tuple[str, ...] = ()
    """What the calls fill `HostArrays.told` with."""
    made_of: str = ""
    """What the env is made of that its id does not tell, such as a cartridge by its hash."""

    @property
    def num_agents(self) -> int:
        return len(self.agent_names) or 1

    @property
    def agents(self) -> tuple[tuple[spaces.Space, spaces.Space], ...]:
        """Observation and action of every agent, alike or not."""
        return self.per_agent or ((self.observation, self.action),) * self.num_agents

    def layout(self, num_envs: int, packed: bool = False) -> BlockLayout:
        """The shared arrays of B such envs; rows are bytes where that is wanted and can be."""
        if self.per_agent:
            actions = tuple(action_layout(action) for _, action in self.per_agent)
        else:
            shape, dtype = action_layout(self.action)
            actions = (((self.num_agents, *shape), dtype),)
        if packed and can_pack(self):
            size, dtype = encoding.packed_size(self.observation), np.uint8
        else:
            size, dtype = spaces.feature_size(self.observation), np.float32
        return BlockLayout(num_envs, self.num_agents, size, actions, dtype, len(self.told_names))

    def to_json(self) -> dict[str, Any]:
        return {
            "observation": spaces.to_json(self.observation),
            "action": spaces.to_json(self.action),
            "time_limit": self.time_limit,
            "agent_names": list(self.agent_names),
            "per_agent": [[spaces.to_json(space) for space in pair] for pair in self.per_agent],
            "tells_games": self.tells_games,
            "can_save": self.can_save,
            "told_names": list(self.told_names),
            "made_of": self.made_of,
        }

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> EnvFacts:
        observation, action = spaces.from_json(record["observation"]), spaces.from_json(record["action"])
        pairs = tuple((spaces.from_json(seen), spaces.from_json(done)) for seen, done in record["per_agent"])
        abilities = (record["tells_games"], record["can_save"], tuple(record["told_names"]), record["made_of"])
        return cls(observation, action, record["time_limit"], tuple(record["agent_names"]), pairs, *abilities)


def can_pack(env: Any) -> bool:
    """Whether rows of an env, told by its EnvFacts or EnvSpec, can be bytes without a number of what is learned changing.

    Of several agents one may be away, and its row is zeros: those must stay zeros when the bytes become numbers.
    """
    if env.per_agent or not encoding.is_packable(env.observation):
        return False
    nothing = np.zeros(encoding.packed_size(env.observation), np.uint8)
    return env.num_agents == 1 or not encoding.unpack(env.observation, nothing).any()


def join_agents(names: tuple[str, ...], pairs: tuple[tuple[spaces.Space, spaces.Space], ...]) -> EnvFacts:
    """The facts of an env with several agents, each with an (observation, action) of its own."""
    observation, action = pairs[0]
    if all(pair == pairs[0] for pair in pairs):
        return EnvFacts(observation, action, None, names)
    widest = max(spaces.feature_size(seen) for seen, _ in pairs)
    row = spaces.Box(float("-inf"), float("inf"), (widest,))
    actions = tuple(done for _, done in pairs)
    return EnvFacts(row, action if len(set(actions)) == 1 else spaces.Tuple(actions), None, names, pairs)
