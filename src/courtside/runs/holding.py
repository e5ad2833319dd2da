"""Who trains in a run folder: one process at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from courtside import files
from courtside.errors import CheckpointError

LOCK = ".lock"
"""Held by the process that trains the run, as long as it lives."""


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
