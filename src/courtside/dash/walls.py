"""The wall of screens as a page shows it: which env is where in the picture, and how old it is. No JAX here."""

from __future__ import annotations

import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from courtside.errors import CheckpointError, ConfigError
from courtside.runs.png import decode_png, encode_png
from courtside.runs.wall_layout import GAP, MAX_SCREENS, grid


def describe_wall(picture: Path, num_envs: int) -> dict[str, Any]:
    """Envs row by row; no envs where there is no picture."""
    try:
        written = picture.stat().st_mtime
    except OSError:
        return {"envs": [], "columns": 1, "gap": GAP, "stamp": 0, "words": NONE}
    count, seconds = min(num_envs, MAX_SCREENS), time.time() - written
    age = "Drawn just now." if seconds < 10 else f"Drawn {seconds:,.0f} s ago."
    blank = {"return": None, "length": None, "value": None, "actions": None}
    rest = f" The first {count} of {num_envs:,} envs are shown." if num_envs > count else ""
    return {
        "envs": [{"env": i, **blank} for i in range(count)], "columns": grid(count)[1], "gap": GAP,
        "stamp": int(1000 * written), "words": f"{age}{rest}",
    }  # fmt: skip


NONE = "This run shows no screens: its world cannot be drawn, or it has not begun yet."


def crop(picture: bytes, env: int, count: int) -> bytes:
    """One screen out of the picture of all."""
    if not 0 <= env < count:
        raise ConfigError(f"env is {env}, but it must be from 0 to {count - 1}.")
    try:
        wall = decode_png(picture)
    except (ValueError, zlib.error) as error:
        raise CheckpointError(f"The wall cannot be read: {error}.") from error
    rows, columns = grid(count)
    tall, wide = (wall.shape[0] - GAP) // rows, (wall.shape[1] - GAP) // columns
    top, left = GAP + env // columns * tall, GAP + env % columns * wide
    return encode_png(np.ascontiguousarray(wall[top : top + tall - GAP, left : left + wide - GAP]))
