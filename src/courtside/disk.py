"""What a run will take on disk: a checkpoint holds the whole state, and a replay makes that large."""

from __future__ import annotations

import shutil
from pathlib import Path

from courtside import memory, snapshots
from courtside.config import Config
from courtside.health.insurance import RING_SIZE
from courtside.hosts.memory import MB
from courtside.types import TrainState


def disk_mb(config: Config, state: TrainState, members: int = 1) -> dict[str, float]:
    """What the kept states of all members take, by part; `state` is a member's, or its shapes."""
    each, kept = memory.tree_mb(state), config.run.keep_checkpoints
    moments = snapshots.num_kept(config, each) if state.env_state is not None else 0
    counts = {"checkpoints": kept, "snapshots": moments, "insurance": RING_SIZE + kept if config.run.insure else 0}
    return {name: count * members * each for name, count in counts.items() if count}


def free_mb(folder: str | Path) -> float | None:
    """Room on the disk that holds `folder`, or will hold it; None where the system does not tell."""
    path = Path(folder).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free / MB
    except OSError:
        return None
