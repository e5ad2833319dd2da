"""A picture made smaller by averaging over areas, byte for byte as OpenCV's INTER_AREA does it on x86 machines.

Every pixel of the result covers a rectangle of the source; its value is the mean of what lies there, pixels that are
covered in part counted in part, rounded to a byte. Where a mean ends in a half, the rounding errors on the way decide: so
everything is computed in float32 and in OpenCV's order, first along the rows from left to right, then from top to bottom.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AxisPlan:
    """How the pixels of one axis are gathered. The pattern repeats: `period` source pixels become `count` smaller ones."""

    period: int
    count: int
    repeats: int
    taps: np.ndarray
    """Source pixels that each smaller one covers, from the first on. int [K, count]"""
    shares: np.ndarray
    """How much each of them counts; 0 fills up. float32 [K, count, 1]"""

    def gather(self, pixels: np.ndarray) -> np.ndarray:
        """Means along this axis, the first. float32 [period, m] -> [count, m]"""
        parts = pixels.take(self.taps, axis=0)
        parts *= self.shares
        total = parts[0]
        for part in parts[1:]:
            total += part
        return total


def make_axis(source: int, size: int, multiple: int = 1) -> AxisPlan:
    """The plan for one axis, `source` pixels to `size`, which must be fewer or as many. `multiple` divides the period."""
    repeats = source // math.lcm(source // math.gcd(source, size), multiple)
    period, count = source // repeats, size // repeats
    first, pixel = np.arange(count)[:, None] * period, np.arange(period)[None, :] * count
    covered = np.clip(np.minimum(first + period, pixel + count) - np.maximum(first, pixel), 0, None)
    most = int((covered > 0).sum(axis=1).max())
    taps = (covered > 0).argmax(axis=1)[:, None] + np.arange(most)
    inside = np.minimum(taps, period - 1)
    shares = np.where(taps < period, np.take_along_axis(covered, inside, axis=1), 0) / period
    return AxisPlan(period, count, repeats, inside.T.copy(), shares.T[:, :, None].astype(np.float32))


class AreaResize:
    """Makes tiles of a picture smaller, any of them: a tile is one period of the rows by one of the columns."""

    def __init__(self, height: int, width: int, size: int, multiple: int = 1) -> None:
        """The width of a tile is a multiple of `multiple`, which divides that of the picture."""
        self.rows, self.columns = make_axis(height, size), make_axis(width, size, multiple)

    def __call__(self, tiles: np.ndarray) -> np.ndarray:
        """n tiles, 0..255: float32 [columns, rows x n] -> uint8 [fewer rows, fewer columns, n]"""
        rows, columns = self.rows, self.columns
        along = columns.gather(tiles).reshape(columns.count, rows.period, -1)
        means = rows.gather(along.swapaxes(0, 1).reshape(rows.period, -1))
        return np.rint(means, out=means).astype(np.uint8).reshape(rows.count, columns.count, -1)
