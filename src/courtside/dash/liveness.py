"""Whether a run is being trained at this moment. A reader must not touch the lock that says so, only ask about it. No JAX here."""

from __future__ import annotations

import os
import struct
import time
from pathlib import Path
from typing import Literal

from courtside.files import open_plain
from courtside.runs.holding import LOCK
from courtside.runs.knobs import FOLDER, PAUSED, is_paused
from courtside.runs.members import FOLDER as MEMBERS
from courtside.runs.members import member_dirs
from courtside.runs.runlog import TIMING

FRESH_SECONDS = 20.0
"""Where locks cannot be asked about, a run counts as training as long as its newest row is no older."""
_FLOCK = "hhqqi4x"
"""Linux's `struct flock`: kind, whence, start, length, process."""


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
    held = _is_held(run / LOCK)
    return any(_is_fresh(run / name) for name in (TIMING, f"{FOLDER}/{PAUSED}")) if held is None else held


def _is_held(lock: Path) -> bool | None:
    try:
        import fcntl

        with open_plain(lock) as file:
            asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            told = fcntl.fcntl(file.fileno(), fcntl.F_GETLK, asked)
        return struct.unpack(_FLOCK, told)[0] != fcntl.F_UNLCK
    except (ImportError, OSError, struct.error):
        return None if lock.exists() else False


def _is_fresh(path: Path) -> bool:
    try:
        return time.time() - path.stat().st_mtime < FRESH_SECONDS
    except OSError:
        return False
