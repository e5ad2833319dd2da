"""Moments of a run kept whole, at fixed updates, so that later one can go back and try something else from there.

A checkpoint is written by the clock and soon replaced; a snapshot falls on the same updates in every run of the same
length, and stays. `courtside doctor --prove` forks short reruns from one. Worlds outside JAX have none: their state
cannot be saved, so nothing could be forked from it. A state with a replay is large: of such a run fewer moments are kept,
as many as have room in MOST_MB, still spread over it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from courtside.runs import checkpoint
from courtside.settings.config import Config
from courtside.types import TrainState

FOLDER = "snapshots"
MOST_MB = 256.0
"""What the moments of one run may take on disk."""


def period(config: Config) -> int:
    """Updates between two snapshots; 0 where there are none."""
    count = config.run.snapshots
    return max(1, -(-config.num_updates // count)) if count else 0


def is_due(config: Config, update: int) -> bool:
    """Whether the run keeps this moment; the end itself is in its last checkpoint."""
    every = period(config)
    return bool(every) and 0 < update < config.num_updates and update % every == 0


def stride(config: Config, state_mb: float) -> int:
    """Of the moments that are due one in so many is kept; 0 where not one has room."""
    fitting = int(MOST_MB / state_mb) if state_mb > 0 else config.run.snapshots
    return -(-config.run.snapshots // (fitting + 1)) if fitting else 0  # the last would fall on the end, which is none


def is_kept(config: Config, update: int, state_mb: float) -> bool:
    """Whether a moment that is due is kept; it follows from the settings alone, so a resume keeps the same ones."""
    every = stride(config, state_mb)
    return is_due(config, update) and bool(every) and update // period(config) % every == 0


def num_kept(config: Config, state_mb: float) -> int:
    """How many moments the whole run keeps."""
    every = period(config)
    return sum(is_kept(config, update, state_mb) for update in range(0, config.num_updates, every)) if every else 0


def path(folder: str | Path, update: int) -> Path:
    return Path(folder) / f"update-{update:08d}.safetensors"


def save(folder: str | Path, state: TrainState, meta: dict[str, Any]) -> None:
    """Keep the whole state in `folder`, under its number of updates."""
    if state.env_state is not None:
        checkpoint.save(path(folder, int(state.update)), state, meta)


def update_of(file: Path) -> int:
    return int(file.stem.partition("-")[2])


def updates_in(folder: str | Path) -> list[int]:
    """The updates that `folder` holds, newest first."""
    return [update_of(file) for file in checkpoint.find_checkpoints(folder)]


def newest_at(folder: str | Path, update: int) -> Path | None:
    """The newest moment kept at or before `update`."""
    kept = next((u for u in updates_in(folder) if u <= update), None)
    return None if kept is None else path(folder, kept)


def forget_after(folder: str | Path, update: int) -> None:
    """Remove moments that a run which went back to `update` has not come to yet."""
    for later in updates_in(folder):
        if later > update:
            path(folder, later).unlink(missing_ok=True)
