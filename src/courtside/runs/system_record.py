"""`system.json`: where each part of a run was computed, and with what."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from courtside import __version__, files

Row = dict[str, Any]
SYSTEM = "system.json"
_PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "safetensors", "gymnasium", "ale-py", "stable-retro")


def append_session(folder: Path, update: int) -> None:
    """Note where this part of the run is computed; a resume adds a session of its own."""
    sessions = _read_sessions(folder)
    files.write_json(folder / SYSTEM, {"sessions": [*sessions, describe_system(update)]})


def note_device(folder: Path, device: str) -> None:
    sessions = _read_sessions(folder)
    sessions[-1]["device"] = device
    files.write_json(folder / SYSTEM, {"sessions": sessions})


def _read_sessions(folder: Path) -> list[Row]:
    """Sessions so far; a damaged file is no reason to refuse to train."""
    try:
        return list(json.loads((folder / SYSTEM).read_text())["sessions"])
    except (OSError, ValueError, KeyError, TypeError):
        return []


def last_commit(folder: Path) -> str | None:
    """Commit of the checkout that last trained a run; None where it was an installed version, or nothing tells."""
    sessions = _read_sessions(folder)
    return sessions[-1].get("git_commit") if sessions else None


def describe_system(update: int) -> Row:
    """Versions and machine; the device is known only once JAX has started."""
    versions = {"courtside": __version__} | {name: package_version(name) for name in _PACKAGES}
    return {
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "from_update": update,
        "python": platform.python_version(),
        "versions": {name: version for name, version in versions.items() if version},
        "platform": platform.platform(),
        "cpu_count": os.cpu_count(),
        "device": None,
        "git_commit": git_commit(),
    }


def package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def git_commit(checkout: Path = Path(__file__).parents[2]) -> str | None:
    """Commit of the checkout that this courtside runs from, `-dirty` if files were changed; None if installed."""
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
