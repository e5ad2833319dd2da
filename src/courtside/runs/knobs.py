"""What people ask of a run while it trains, through its folder: `knobs/`, one small file for each wish.

The page (`courtside watch --knobs`) puts wishes there, and whoever trains the run takes them away between two chunks of
updates (`desk`). Nothing else passes between the two. No JAX here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from courtside import files
from courtside.errors import CheckpointError
from courtside.files import is_plain_folder, read_bytes

FOLDER = "knobs"
PAUSED = "paused"
"""Stands in the folder as long as the run is paused."""
MOST_WISHES = 100
"""That wait in a folder; more are refused."""
MOST_BYTES = 2_000
"""Of one wish."""
MOST_LETTERS = 200
"""Of what to turn, and of its value."""
_NAME = re.compile(r"\d{20}-[0-9a-f]{6}\.json")
"""What the file of a wish is called; no other is touched."""

Kind = Literal["turn", "pause", "go_on", "checkpoint", "stop"]
KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Wish:
    """One thing asked of a run."""

    kind: Kind
    setting: str = ""
    """What to turn."""
    value: str = ""
    """To which number or schedule."""


def put(run_dir: Path, wish: Wish) -> None:
    """Leave a wish for whoever trains the run."""
    folder = run_dir / FOLDER
    if not is_plain_folder(folder):
        raise CheckpointError(f"{folder} is no folder of the run's own, so nobody listens there.")
    files.write_json(folder / f"{time.time_ns():020d}-{secrets.token_hex(3)}.json", asdict(wish))


def take(run_dir: Path) -> list[Wish]:
    """All wishes, the oldest first; they are gone then. What is none is thrown away."""
    return [wish for path in waiting(run_dir) if (wish := _take_one(path)) is not None]


def waiting(run_dir: Path) -> list[Path]:
    """The files of wishes that nobody has taken yet, the oldest first."""
    if not is_plain_folder(run_dir / FOLDER):  # a link would lead to somebody else's files
        return []
    try:
        with os.scandir(run_dir / FOLDER) as entries:
            return sorted(Path(entry.path) for entry in entries if _NAME.fullmatch(entry.name))
    except OSError:
        return []


def _take_one(path: Path) -> Wish | None:
    """One that cannot be taken away is not granted either: it would be granted again and again."""
    try:
        content = read_bytes(path, MOST_BYTES)
    except OSError:  # a pipe, a link, or far too long
        content = b""
    try:
        path.unlink()
        return read_wish(json.loads(content))
    except (OSError, ValueError, RecursionError):
        return None


def read_wish(record: object) -> Wish | None:
    """A wish from JSON data; None where it is none."""
    if not isinstance(record, dict) or record.get("kind") not in KINDS:
        return None
    setting, value = record.get("setting", ""), record.get("value", "")
    if not all(isinstance(text, str) and len(text) <= MOST_LETTERS for text in (setting, value)):
        return None
    return Wish(record["kind"], setting.strip(), value.strip())


def open_box(run_dir: Path) -> None:
    """Show that somebody listens; a run whose folder cannot be written goes on all the same."""
    with contextlib.suppress(OSError):
        (run_dir / FOLDER).mkdir(exist_ok=True)
    mark_paused(run_dir, False)


def is_paused(run_dir: Path) -> bool:
    return (run_dir / FOLDER / PAUSED).is_file()


def mark_paused(run_dir: Path, paused: bool) -> None:
    """Tell readers of the folder; said again now and then, it also tells that somebody still waits."""
    path = run_dir / FOLDER / PAUSED
    if not is_plain_folder(path.parent):
        return
    with contextlib.suppress(OSError):
        if paused:
            path.touch()
        else:
            path.unlink(missing_ok=True)
