"""A picture made smaller by averaging over areas, byte for byte as OpenCV's INTER_AREA does it on x86 machines.

Every pixel of the result covers a rectangle of the source; its value is the mean of what lies there, pixels that are
covered in part counted in part, rounded to a byte. Along an axis the covered parts are whole multiples of a small unit,
so the sums are whole numbers, exact in whatever order they are added: the fast way is chosen. Only where a mean ends in
a half does OpenCV's own order of rounding float32 numbers decide; those few pixels are computed again in that order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

NEAR_HALF = 1e-3
"""How near to a half a mean is looked at more closely; rounding errors are a tenth of it."""


@dataclass(frozen=True)
class Axis:
    """How the pixels of one axis are gathered. The pattern repeats: `period` source pixels become `count` smaller ones."""

    size: int
    period: int
    count: int
    weights: np.ndarray
    """How much of each source pixel a smaller one covers, in units; every row adds up to `period`. int [count, period]"""
    taps: np.ndarray
    """Source pixels that each smaller one covers, from the first on. int [size, K]"""
    shares: np.ndarray
    """How much each of them counts, as OpenCV has it; 0 fills up. float32 [size, K]"""


def make_axis(source: int, size: int) -> Axis:
    """The plan for one axis, `source` pixels to `size`, which must be fewer or as many."""
    common = math.gcd(source, size)
    period, count = source // common, size // common
    first = np.arange(count)[:, None] * period
    pixel = np.arange(period)[None, :] * count
    weights = np.clip(np.minimum(first + period, pixel + count) - np.maximum(first, pixel), 0, None)
    most = int((weights > 0).sum(axis=1).max())
    starts = (weights > 0).argmax(axis=1)
    taps = np.minimum(starts[:, None] + np.arange(most), period - 1)
    is_new = starts[:, None] + np.arange(most) < period
    shares = np.where(is_new, np.take_along_axis(weights, taps, axis=1), 0) / period
    offsets = np.repeat(np.arange(common) * period, count)[:, None]
    return Axis(
        size,
        period,
        count,
        weights,
        np.tile(taps, (common, 1)) + offsets,
        np.tile(shares, (common, 1)).astype(np.float32),
    )


class AreaResize:
    """Makes pictures of one size smaller, or parts of them: the pattern of rows repeats, and `period` of them make a band.

    Working memory is reused: what is returned holds until the next call.
    """

    def __init__(self, height: int, width: int, size: int) -> None:
        self.rows, self._columns = make_axis(height, size), make_axis(width, size)
        self.num_bands = height // self.rows.period
        self._down = self.rows.weights.astype(np.float32)
        self._across = np.ascontiguousarray(self._columns.weights.T.astype(np.float32))
        self._unit = np.float32(1.0 / (self.rows.period * self._columns.period))
        self._sums = np.empty((self.num_bands, self.rows.count, width), np.float32)
        self._means, self._whole = (np.empty((size, size), np.float32) for _ in range(2))
        self._result = np.empty((size, size), np.uint8)

    def __call__(self, bands: np.ndarray) -> np.ndarray:
        """float32 [n, period, width], any bands of a picture, 0..255 -> uint8 [n, count, size]"""
        n, last = len(bands), len(bands) * self.rows.count
        sums, means, whole, result = self._sums[:n], self._means[:last], self._whole[:last], self._result[:last]
        np.matmul(self._down, bands, out=sums)
        np.matmul(sums.reshape(-1, self._columns.period), self._across, out=means.reshape(-1, self._columns.count))
        np.multiply(means, self._unit, out=means)
        np.rint(means, out=whole)
        np.copyto(result, whole, casting="unsafe")
        off = np.abs(np.subtract(means, whole, out=whole), out=whole)
        near = np.flatnonzero(off > 0.5 - NEAR_HALF)
        if near.size:
            result.reshape(-1)[near] = self._as_opencv(bands.reshape(-1, bands.shape[-1]), near)
        return result.reshape(n, self.rows.count, -1)

    def _as_opencv(self, picture: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Some pixels in float32: along the rows from left to right, then from top to bottom, rounded after each step."""
        i, j = np.divmod(where, self._columns.size)
        rows, columns = self.rows, self._columns
        covered = picture[rows.taps[i][:, :, None], columns.taps[j][:, None, :]]
        along = _add_in_order(covered * columns.shares[j][:, None, :])
        return np.rint(_add_in_order(along * rows.shares[i])).astype(np.uint8)


def _add_in_order(parts: np.ndarray) -> np.ndarray:
    """Sum over the last axis, from the first to the last: NumPy's own sum may take pairs."""
    total = parts[..., 0].copy()
    for k in range(1, parts.shape[-1]):
        total += parts[..., k]
    return total
