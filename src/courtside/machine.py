"""What the machine has and what processes take of it, measured without any further package. No JAX here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path


def num_cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_mb(folder: str | Path) -> float | None:
    """Room on the disk that holds `folder`, or will hold it; None where the system does not tell."""
    path = Path(folder).absolute()
    while not path.exists() and path != path.parent:
        path = path.parent
    try:
        return shutil.disk_usage(path).free / MB
    except OSError:
        return None


MB = 1024.0 * 1024.0


def resident_mb(pid: int | None = None) -> float:
    """Memory that a process (this one by default) holds in RAM, in MB; 0 where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{pid or 'self'}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / MB
    except (OSError, ValueError, IndexError):
        return _resident_from_ps(pid or os.getpid())


def own_share_mb(pid: int) -> float:
    """The same with pages that several processes share counted in parts, so that workers add up."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024.0
    except (OSError, ValueError):
        pass
    return resident_mb(pid)


def available_mb() -> float | None:
    """Memory that can still be had before the system swaps; None where it does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) / 1024.0
    except (OSError, ValueError):
        pass
    return None


def _resident_from_ps(pid: int) -> float:
    if sys.platform == "win32":
        return 0.0
    try:
        answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return int(answer.stdout) / 1024.0
    except (OSError, ValueError):
        return 0.0


def end_with_parent(end: Callable[[], object]) -> None:
    """Call `end` as soon as whoever started this process is gone: nothing is ever written to stdin, and its end says so."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        end()

    threading.Thread(target=wait, daemon=True).start()
