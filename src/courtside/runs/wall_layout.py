"""What a wall is kept in and how its screens are laid out: known to whoever draws it and to whoever shows it. No JAX here."""

from __future__ import annotations

import math

FILE, STAGE = "wall.png", "stage.safetensors"
"""A picture of all screens; the states of a JAX world, which the reader draws."""
MAX_SCREENS = 64
"""The first envs are shown where there are more."""
GAP = 2
"""Pixels between two screens, and around them all."""


def grid(count: int) -> tuple[int, int]:
    """Rows and columns: as square as can be, or up to twice as wide as high where that leaves no place empty."""
    side = math.isqrt(count - 1) + 1
    full = (columns for columns in range(side, count + 1) if count % columns == 0 and columns**2 <= 2 * count)
    columns = next(full, side)
    return -(-count // columns), columns
