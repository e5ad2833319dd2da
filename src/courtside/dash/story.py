"""What happened to a run beside its numbers: starts, checkpoints, notices, rewinds, in order. No JAX here."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from courtside.dash.cards import whole
from courtside.dash.shelf import members_of
from courtside.files import open_plain
from courtside.runs.runlog import EVENTS

MOST_BYTES = 400_000
"""Read from the end of a long diary."""
MOST_EVENTS = 1_000
MOST_TEXT = 1_000
"""Letters of one event."""


def read_story(run: Path) -> list[dict[str, Any]]:
    """The newest events, the oldest of them first; lines that are none are passed over.

    Of a population those of its first member: what concerns all is told by every one.
    """
    run = next(iter(members_of(run)), run)
    try:
        with open_plain(run / EVENTS) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - MOST_BYTES))
            lines = file.read(MOST_BYTES).split(b"\n")[:-1]
    except OSError:
        return []
    found = (_event(line) for line in lines[int(size > MOST_BYTES) :])
    return [event for event in found if event is not None][-MOST_EVENTS:]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    texts = {name: str(record.get(name, ""))[:MOST_TEXT] for name in ("time", "kind", "text")}
    return {"step": whole(record.get("step")), "update": whole(record.get("update")), **texts}
