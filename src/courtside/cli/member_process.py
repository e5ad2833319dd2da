"""`python -m courtside.cli.member_process FOLDER`: one member of a population that runs as processes.

It is `courtside resume FOLDER` with two differences: it saves and ends when the population's own process is gone, and it
waits a while for a process that still has the folder, such as one that is just saving after its population was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from courtside.runs.holding import LOCK

WAIT_SECONDS = 60.0


def main() -> int:
    from courtside import cli

    folder = sys.argv[1]
    threading.Thread(target=end_with_parent, daemon=True).start()
    wait_until_free(Path(folder))
    sys.argv[1:] = ["resume", folder]  # told as the process's own command, for it alone may leave while compiling
    return cli.main()


def end_with_parent() -> None:
    """Nothing is ever written to stdin: its end means that whoever held the other side is gone."""
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def wait_until_free(folder: Path, seconds: float = WAIT_SECONDS) -> None:
    """Wait until no other process holds the run folder; one that keeps it is for `courtside resume` to complain about."""
    deadline = time.monotonic() + seconds
    while is_held(folder) and time.monotonic() < deadline:
        time.sleep(0.1)


def is_held(folder: Path) -> bool:
    """Whether another process trains in this folder, by the lock that `runlog` takes."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    try:
        with open(folder / LOCK, "a+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:  # a disk without locks
        return False
    return False


if __name__ == "__main__":
    sys.exit(main())
