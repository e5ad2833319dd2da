"""What a run will take on disk: a checkpoint holds the whole state, and a replay makes that large."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from courtside.engines import Engine, backend, fit
from courtside.runs import checkpoint, snapshots
from courtside.runs.events import Evaluated, Rewound, Settled
from courtside.runs.pipeline import describe_pipeline
from courtside.settings.config import Config
from courtside.training import insurance
from courtside.training.insurance import RING_SIZE
from courtside.types import TrainState


def disk_mb(config: Config, state: TrainState, members: int = 1) -> dict[str, float]:
    """What the kept states of all members take, by part; `state` is a member's, or its shapes."""
    each, kept = fit.tree_mb(state), config.run.keep_checkpoints
    moments = snapshots.num_kept(config, each) if state.env_state is not None else 0
    counts = {"checkpoints": kept, "snapshots": moments, "insurance": RING_SIZE + kept if config.run.insure else 0}
    return {name: count * members * each for name, count in counts.items() if count}


SAVE_PAUSE = 20
"""Between two checkpoints the run trains at least this many times as long as the last took to write: a twentieth at most
is spent on saving."""
SAVED_MB = 200.0
"""What is written in a second, until it is known."""
QUICK_SAVE = 0.1
"""A save of fewer seconds is not worth waiting for."""


def pipeline_of(config: Config, engine: Engine) -> dict[str, Any]:
    return describe_pipeline(config, engine.spec)


class Saver:
    """Writes checkpoints by the clock, and the best policy whenever there is a new one."""

    def __init__(self, run_dir: Path, config: Config, pipeline: dict[str, Any], state_mb: float = 0.0) -> None:
        self.run_dir, self.run, self.config = run_dir, config.run, config
        self.meta = {"pipeline": pipeline, "arithmetic": backend.describe_arithmetic(config)}
        self.carried: dict[str, Any] = {}
        """What else a checkpoint must know for the run to go on as it would have."""
        self.is_back = False
        """The run has just gone back to an earlier moment."""
        self.last_save = time.monotonic()
        self.save_seconds = state_mb / SAVED_MB
        """What the last save took; before the first what it may take."""
        self.newest: Path | None = next(iter(checkpoint.find_checkpoints(run_dir / checkpoint.FOLDER)), None)

    @property
    def newest_update(self) -> int:
        return 0 if self.newest is None else snapshots.update_of(self.newest)

    def is_due(self) -> bool:
        """The first checkpoint is due at once, so that a run killed in its first seconds has something to go on from.

        A state with a replay may take a second to write: then checkpoints come more rarely than the setting says, and the
        first one waits too, since it would hold little.
        """
        if self.newest is None and self.save_seconds < QUICK_SAVE:
            return True
        return time.monotonic() - self.last_save >= max(self.run.checkpoint_seconds, SAVE_PAUSE * self.save_seconds)

    def save(self, event: Settled) -> None:
        self.write(event)
        self.prune()

    def write(self, event: Settled | Rewound) -> None:
        begun = time.monotonic()
        self.newest = checkpoint.checkpoint_path(self.run_dir, event.update)
        self._save(self.newest, event.state, event, self.carried)
        self.last_save = time.monotonic()
        self.save_seconds = self.last_save - begun

    def prune(self) -> None:
        checkpoint.prune(self.run_dir / checkpoint.FOLDER, self.run.keep_checkpoints)
        insurance.prune_ring(self.run_dir, self.config)

    def keep_moment(self, event: Settled) -> None:
        """A snapshot, where one is due: before the checkpoint, so that no resume starts behind a missing one.

        The moment that a run went back to stays as it was at first: a resume starts behind it and could not redo it.
        """
        is_back, self.is_back = self.is_back, False
        if not is_back and snapshots.is_kept(self.config, event.update, fit.tree_mb(event.state)):
            folder = self.run_dir / snapshots.FOLDER
            snapshots.save(folder, event.state, self._meta(event) | self.carried)
            checkpoint.prune(folder, self.run.snapshots)

    def save_if_best(self, event: Evaluated) -> None:
        """Only what acting needs: a run is never resumed from its best."""
        if not event.is_best:
            return
        self._save(checkpoint.best_path(self.run_dir), checkpoint.policies(event.state.policy), event)

    def _save(
        self, path: Path, state: Any, event: Settled | Evaluated | Rewound, carried: dict[str, Any] | None = None
    ) -> None:
        checkpoint.save(path, state, self._meta(event) | (carried or {}))

    def _meta(self, event: Settled | Evaluated | Rewound) -> dict[str, Any]:
        return self.meta | {"step": event.step, "update": event.update}
