"""Whether a run is being trained at this moment. A reader must not touch the lock that says so, only ask about it. No JAX here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from courtside.runs.holding import is_held
from courtside.runs.knobs import FOLDER, PAUSED, is_paused
from courtside.runs.members import FOLDER as MEMBERS
from courtside.runs.members import member_dirs
from courtside.runs.runlog import TIMING

FRESH_SECONDS = 20.0
"""Where locks cannot be asked about, a run counts as training as long as its newest row is no older."""

Pulse = Literal["training", "paused", ""]
"""Empty where nobody trains it."""


def pulse_of(folder: Path) -> Pulse:
    """Of a run or a population."""
    if not is_live(folder):
        return ""
    population = folder.parent.parent if folder.parent.name == MEMBERS else folder  # its members wait as one
    return "paused" if is_paused(folder) or is_paused(population) else "training"


def is_live(folder: Path) -> bool:
    """Whether a run is being trained, or any member of a population."""
    return is_training(folder) or any(map(is_training, member_dirs(folder)))


def is_training(run: Path) -> bool:
    """Whether a process holds the run's lock; where that cannot be told, whether it wrote something just now."""
    held = is_held(run)
    return any(_is_fresh(run / name) for name in (TIMING, f"{FOLDER}/{PAUSED}")) if held is None else held


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < FRESH_SECONDS
    except OSError:
        return False
