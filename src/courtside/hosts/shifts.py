"""Groups of envs that take turns: while some are being stepped, actions are chosen for another.

That hides the time an accelerator takes to choose, and with several groups also that a whole group waits for its slowest
env. Nothing else changes: every action still comes of the newest parameters and of what its env shows. Each group has
workers of its own, so that no core waits for the group that is thinking.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from courtside.hosts.base import GameEnds, Host, HostStep, ShowsScreens
from courtside.hosts.state_bytes import join_states, split_states


class Shifts:
    """Hosts of equal envs as one; see `hosts.base.Host`. `parts` are the groups, `rows` which envs are theirs."""

    def __init__(self, parts: Sequence[Host]) -> None:
        self.parts = tuple(parts)
        self.spec, self.num_envs = parts[0].spec, sum(part.num_envs for part in parts)
        edges = np.cumsum([0, *(part.num_envs for part in parts)]).tolist()
        self.rows = tuple(slice(first, last) for first, last in itertools.pairwise(edges))

    @property
    def absent(self) -> np.ndarray:
        return np.concatenate([part.absent for part in self.parts])

    def reset(self, seed: int) -> np.ndarray:
        pairs = zip(self.parts, self.rows, strict=True)
        return np.concatenate([part.reset(seed + rows.start) for part, rows in pairs])

    def step(self, action: np.ndarray | tuple[np.ndarray, ...]) -> HostStep:
        self.send(action)
        return self.recv()

    def send(self, action: np.ndarray | tuple[np.ndarray, ...]) -> None:
        for part, rows in zip(self.parts, self.rows, strict=True):
            part.send(tuple(a[rows] for a in action) if isinstance(action, tuple) else action[rows])

    def is_ready(self) -> bool:
        return all(part.is_ready() for part in self.parts)

    def recv(self) -> HostStep:
        steps = [part.recv() for part in self.parts]
        games = [step.games for step in steps if step.games is not None]
        whole = (np.concatenate(column) for column in zip(*(step[:-1] for step in steps), strict=True))
        ends = GameEnds(*map(np.concatenate, zip(*games, strict=True))) if games else None
        return HostStep(*whole, games=ends)

    @property
    def can_save(self) -> bool:
        return self.parts[0].can_save

    def save(self) -> dict[str, np.ndarray]:
        """As one host of all envs would, so that another number of shifts can go on from it."""
        saved = [part.save() for part in self.parts]
        joined = {name: np.concatenate([one[name] for one in saved]) for name in saved[0] if name != "envs"}
        envs = join_states([state for one in saved for state in split_states(one["envs"].tobytes())])
        return {"envs": np.frombuffer(envs, np.uint8), **joined}

    def load(self, saved: dict[str, np.ndarray]) -> np.ndarray:
        states, features = split_states(saved["envs"].tobytes()), []
        for part, rows in zip(self.parts, self.rows, strict=True):
            arrays = {name: array[rows] for name, array in saved.items() if name != "envs"}
            features.append(part.load({"envs": np.frombuffer(join_states(states[rows]), np.uint8), **arrays}))
        return np.concatenate(features)

    def screens(self, limit: int) -> np.ndarray | None:
        """See `hosts.base.ShowsScreens`."""
        asked = [
            (part, limit - rows.start) for part, rows in zip(self.parts, self.rows, strict=True) if rows.start < limit
        ]
        shown = [part.screens(left) if isinstance(part, ShowsScreens) else None for part, left in asked]
        known = [screens for screens in shown if screens is not None]
        return np.concatenate(known) if len(known) == len(shown) else None

    def notices(self) -> list[str]:
        return list(dict.fromkeys(notice for part in self.parts for notice in part.notices()))

    def memory_mb(self) -> float:
        return sum(part.memory_mb() for part in self.parts)

    def close(self) -> None:
        for part in self.parts:
            part.close()


def make_shifts(makers: Sequence[Callable[[], Host]]) -> Shifts:
    """Build the groups one after the other; where one cannot be built, those before it are closed."""
    parts: list[Host] = []
    try:
        for make in makers:
            parts.append(make())
    except BaseException:
        for part in parts:
            part.close()
        raise
    return Shifts(parts)
