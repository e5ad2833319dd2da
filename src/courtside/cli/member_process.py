"""`python -m courtside.cli.member_process FOLDER`: one member of a population that runs as processes.

It is `courtside resume FOLDER` with two differences: it saves and ends when the population's own process is gone, and it
waits a while for a process that still has the folder, such as one that is just saving after its population was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from courtside.errors import CheckpointError
from courtside.machine import end_with_parent
from courtside.runs.holding import hold, is_held

WAIT_SECONDS = 60.0


def main() -> int:
    from courtside import cli

    folder = sys.argv[1]
    end_with_parent(lambda: os.kill(os.getpid(), signal.SIGTERM))
    wait_until_free(Path(folder))
    sys.argv[1:] = ["resume", folder]  # told as the process's own command, for it alone may leave while compiling
    return cli.main()


def wait_until_free(folder: Path, seconds: float = WAIT_SECONDS) -> None:
    """Wait until no other process holds the run folder; one that keeps it is for `courtside resume` to complain about."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            return hold(folder).close()
        except CheckpointError:
            if is_held(folder) is False:
                return None  # it cannot be held for another reason
            time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
