"""Bounds that are counted instead of guessed: what rounding to float32 may cost on any processor."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def rounding(*terms: ArrayLike, times: int) -> float:
    """How far off float32 may be that was rounded so many times while it was as large as the largest of the terms.

    Each time by half the distance to the next number, 6e-8 of it. A sum whose terms cancel is as wrong as its terms are, however
    small it is itself; which of them are rounded, and in which order, depends on the processor.
    """
    largest = max(float(np.max(np.abs(np.asarray(each, np.float64)))) for each in terms)
    return times * float(np.finfo(np.float32).eps) / 2 * largest
