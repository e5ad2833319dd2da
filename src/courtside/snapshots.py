"""Moments of a run kept whole, at fixed updates, so that later one can go back and try something else from there.

A checkpoint is written by the clock and soon replaced; a snapshot falls on the same updates in every run of the same
length, and stays. `courtside doctor --prove` forks short reruns from one. Worlds outside JAX have none: their state
cannot be saved, so nothing could be forked from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from courtside import checkpoint
from courtside.config import Config
from courtside.types import TrainState

FOLDER = "snapshots"


def period(config: Config) -> int:
    """Updates between two snapshots; 0 where there are none."""
    count = config.run.snapshots
    return max(1, -(-config.num_updates // count)) if count else 0


def is_due(config: Config, update: int) -> bool:
    """Whether the run keeps this moment; the end itself is in its last checkpoint."""
    every = period(config)
    return bool(every) and 0 < update < config.num_updates and update % every == 0


def path(folder: str | Path, update: int) -> Path:
    return Path(folder) / f"update-{update:08d}.safetensors"


def save(folder: str | Path, state: TrainState, meta: dict[str, Any]) -> None:
    """Keep the whole state in `folder`, under its number of updates."""
    if state.env_state is not None:
        checkpoint.save(path(folder, int(state.update)), state, meta)


def update_of(found: Path) -> int:
    return int(found.stem.partition("-")[2])


def updates_in(folder: str | Path) -> list[int]:
    """The updates that `folder` holds, newest first."""
    return [update_of(found) for found in checkpoint.find_checkpoints(folder)]


def newest_at(folder: str | Path, update: int) -> Path | None:
    """The newest moment kept at or before `update`."""
    found = next((u for u in updates_in(folder) if u <= update), None)
    return None if found is None else path(folder, found)


def forget_after(folder: str | Path, update: int) -> None:
    """Remove moments that a run which went back to `update` has not come to yet."""
    for later in updates_in(folder):
        if later > update:
            path(folder, later).unlink(missing_ok=True)
