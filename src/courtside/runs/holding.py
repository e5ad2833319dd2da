"""Who trains in a run folder: one process at a time."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

from courtside import files
from courtside.errors import CheckpointError

LOCK = ".lock"
"""Held by the process that trains the run, as long as it lives."""
_FLOCK = "hhqqi4x"
"""Linux's `struct flock`: kind, whence, start, length, process."""


class Hold:
    """A folder that this process alone may train in, until it is closed; see `hold`."""

    def __init__(self, folder: Path, file: Any) -> None:
        self.folder, self._file = folder, file

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def hold(folder: Path) -> Hold:
    """Hold the folder as long as this process lives, so that two resumes cannot write over each other.

    A process must not hold a folder twice: to close any of both gives it free.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return Hold(folder, None)
    try:
        file = open(folder / LOCK, "a+")  # noqa: SIM115 (held until close())
    except OSError as error:
        raise files.write_error(folder, error) from error
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # unlike flock, not inherited by forked env workers
    except (BlockingIOError, PermissionError) as error:
        file.close()
        raise CheckpointError(
            f"Run {folder} is being trained by another process; stop that one first, or wait for it."
        ) from error
    except OSError:  # a network disk without locks
        pass
    return Hold(folder, file)


def is_held(folder: Path) -> bool | None:
    """Whether another process holds the folder, without touching the lock that says so; None where that cannot be asked."""
    lock = folder / LOCK
    try:
        import fcntl

        with files.open_plain(lock) as file:
            question = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
            answer = fcntl.fcntl(file.fileno(), fcntl.F_GETLK, question)
        return struct.unpack(_FLOCK, answer)[0] != fcntl.F_UNLCK
    except (ImportError, OSError, struct.error):
        return None if lock.exists() else False
