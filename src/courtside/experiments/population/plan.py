"""Which members of a population are trained together, and from where each goes on. No JAX here.

Members do not know of each other, so they may be trained in any company: all at once, or wave after wave where memory is
short. After a kill some may be further than others, or not begun; each wave starts from one moment that all in it have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from courtside.errors import CheckpointError
from courtside.runs import checkpoint, snapshots


@dataclass(frozen=True)
class Wave:
    """Members that are trained together from the same update."""

    members: tuple[int, ...]
    update: int
    """0 where they start from the beginning."""


def plan_waves(dirs: dict[int, Path], most: int) -> list[Wave]:
    """Waves of at most `most` members each; `dirs` are the folders of those that are not finished, by number."""
    waves = []
    for group in _group(dirs):
        parts = np.array_split(np.asarray(group.members), -(-len(group.members) // most))
        waves += [Wave(tuple(int(i) for i in part), group.update) for part in parts]
    return waves


def _group(dirs: dict[int, Path]) -> list[Wave]:
    """Members by the moment that they can share: the newest that all have, else each its own newest."""
    updates = {i: whole_updates(folder) for i, folder in dirs.items()}
    begun = {i: whole for i, whole in updates.items() if whole}
    fresh = tuple(i for i in dirs if i not in begun)
    groups: dict[int, tuple[int, ...]] = {}
    if begun and (common := set.intersection(*begun.values())):
        groups[max(common)] = tuple(begun)
    else:
        for i, whole in begun.items():
            groups[max(whole)] = (*groups.get(max(whole), ()), i)
    return [Wave(members, update) for update, members in groups.items()] + ([Wave(fresh, 0)] if fresh else [])


def whole_updates(folder: Path) -> set[int]:
    """The updates of which a member has a whole checkpoint."""
    updates = set()
    for path in checkpoint.find_checkpoints(folder / checkpoint.FOLDER):
        with contextlib.suppress(CheckpointError):
            updates.add(int(checkpoint.read_meta(path)["update"]))
    return updates


def forget_after(folders: Sequence[Path], update: int) -> None:
    """Remove what is newer than the moment that a wave goes on from: a kill may have left some members ahead."""
    for folder in folders:
        for part in (checkpoint.FOLDER, snapshots.FOLDER):
            snapshots.forget_after(folder / part, update)
