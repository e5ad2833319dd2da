"""The wall of screens as a page shows it: which env is where in the picture, and how old it is. No JAX here."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from courtside.wall_layout import GAP, MAX_SCREENS, grid


def describe_wall(picture: Path, num_envs: int) -> dict[str, Any]:
    """Envs row by row; no envs where there is no picture."""
    try:
        written = picture.stat().st_mtime
    except OSError:
        return {"envs": [], "columns": 1, "gap": GAP, "stamp": 0, "words": NONE}
    count = min(num_envs, MAX_SCREENS)
    blank = {"return": None, "length": None, "value": None, "actions": None}
    rest = f" The first {count} of {num_envs:,} envs are shown." if num_envs > count else ""
    return {
        "envs": [{"env": i, **blank} for i in range(count)], "columns": grid(count)[1], "gap": GAP,
        "stamp": int(1000 * written), "words": f"{_age(time.time() - written)}{rest}",
    }  # fmt: skip


NONE = "This run draws no screens: worlds that are stepped outside JAX and have pictures do, such as Atari games."


def _age(seconds: float) -> str:
    return "Drawn just now." if seconds < 10 else f"Drawn {seconds:,.0f} s ago."
