"""The contract of a world that is stepped outside JAX: batches of NumPy arrays in, batches out.

A host resets an env by itself when its episode ends, and keeps the true last observation apart, as `envs.wrappers` does
for JAX worlds. Observations leave it already encoded (`encoding.encode`), of unlike agents filled up with zeros to
the longest row; actions enter it already decoded.

Where a host is made to pack and the observation is nothing but small whole numbers, rows are the bytes of
`encoding.pack` instead of numbers: uint8 [B, A, R] in the place of float32 [B, A, D].
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from courtside.types import EnvSpec


class GameEnds(NamedTuple):
    """Which games ended in a step; the numbers count only where `ended`. A game may be several episodes, one for each life."""

    ended: np.ndarray
    """bool [B]"""
    score: np.ndarray
    """float32 [B]: of the whole game, as the game itself counts"""
    length: np.ndarray
    """int32 [B]: steps"""


class HostStep(NamedTuple):
    """One step of B envs; arrays belong to the receiver until the next `send`."""

    features: np.ndarray
    """What to act on next; after an end the first of the new episode. float32 [B, A, D]"""
    reward: np.ndarray
    """0 for an agent that has left. float32 [B, A]"""
    terminated: np.ndarray
    """Like `truncated`, it stays set for an agent that left until the episode ends for all. bool [B, A]"""
    truncated: np.ndarray
    """bool [B, A]"""
    final_features: np.ndarray
    """What the step led to, never replaced by a reset. float32 [B, A, D]"""
    ended: np.ndarray
    """bool [B]: the episode ended in this step"""
    episode_return: np.ndarray
    """float32 [B, A]: counts where `ended`"""
    episode_length: np.ndarray
    """int32 [B]: counts where `ended`"""
    told: np.ndarray = np.zeros((0, 0), np.float32)
    """float32 [B, n]: what each env says of its episode (`EnvSpec.told_names`), counts where `ended`; none where n is 0"""
    games: GameEnds | None = None
    """None where a game and an episode are the same."""


@runtime_checkable
class ShowsScreens(Protocol):
    """What has the current pictures of its envs at hand; hosts and engines need not."""

    def screens(self, limit: int) -> np.ndarray | None:
        """Of the first `limit` envs at most, uint8 [B, H, W, 3]; None where there are none to be had."""
        ...


@runtime_checkable
class Host(Protocol):
    """B envs behind one handle."""

    spec: EnvSpec
    num_envs: int

    @property
    def absent(self) -> np.ndarray:
        """Who has left the episode under way or not yet joined it: what they choose in the next step is ignored. bool [B, A]"""
        ...

    def reset(self, seed: int) -> np.ndarray:
        """Start fresh episodes, env i seeded with `seed + i`; returns features [B, A, D]."""
        ...

    def step(self, action: np.ndarray | tuple[np.ndarray, ...]) -> HostStep:
        """`action` is what `encoding.decode_action` gives: [B, A] (one discrete choice) or [B, A, *shape].

        Where `spec.per_agent` says that agents are unlike: a tuple with one array [B] or [B, *shape] for each agent.
        """
        ...

    def send(self, action: np.ndarray | tuple[np.ndarray, ...]) -> None:
        """The first half of `step`: let the envs begin, so that the caller can do other things meanwhile."""
        ...

    def is_ready(self) -> bool:
        """Whether what was sent can be received without waiting, as far as is known."""
        ...

    def recv(self) -> HostStep:
        """The second half: wait for what was sent."""
        ...

    @property
    def can_save(self) -> bool:
        """Whether the envs can be saved in the middle of an episode, and go on exactly from there."""
        ...

    def save(self) -> dict[str, np.ndarray]:
        """Where all envs stand."""
        ...

    def load(self, saved: dict[str, np.ndarray]) -> np.ndarray:
        """Go on where `save` was called; returns features [B, A, D]."""
        ...

    def notices(self) -> list[str]:
        """Sentences for the user since the last call: which way of stepping was chosen, which env was restarted."""
        ...

    def memory_mb(self) -> float:
        """Measured memory of all envs together, in MB."""
        ...

    def close(self) -> None: ...
