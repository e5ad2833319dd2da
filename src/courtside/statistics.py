"""Mean, spread and interquartile mean of a set of scores, with an interval that says how sure the number is.

The interquartile mean (IQM) is the mean of the middle half: steadier than the mean, less blind than the median
(Agarwal et al. 2021, arXiv 2108.13264). The interval is a percentile bootstrap with a fixed seed: same scores, same
interval.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_BLOCK = 1_000_000
"""Numbers drawn at a time, so that ten thousand episodes do not need gigabytes."""


@dataclass(frozen=True)
class Summary:
    """What a set of scores comes to."""

    count: int
    mean: float
    std: float
    """Deviation of the scores themselves (divided by n), as SB3 and Gymnasium report it."""
    iqm: float
    """Mean of the middle half."""
    iqm_low: float
    """Lower end of the 95% interval of the IQM."""
    iqm_high: float
    """Upper end of the 95% interval of the IQM."""
    minimum: float
    maximum: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def summarize(values: Iterable[float | int], resamples: int = 2_000, seed: int = 0) -> Summary:
    """Describe at least one score; a score that is not a number makes every figure one."""
    scores = np.asarray(list(values), np.float64)
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError(f"summarize needs one or more scores in a row, but got shape {scores.shape}")
    low, high = bootstrap_interval(scores, resamples, seed)
    return Summary(
        count=scores.size,
        mean=float(scores.mean()),
        std=float(scores.std()),
        iqm=float(interquartile_mean(scores)),
        iqm_low=low,
        iqm_high=high,
        minimum=float(scores.min()),
        maximum=float(scores.max()),
    )


def interquartile_mean(scores: np.ndarray) -> np.ndarray:
    """Mean over the last axis without the ⌊n/4⌋ smallest and the ⌊n/4⌋ largest.

    IQM = 1/(n-2k) · Σᵢ x₍ᵢ₎ for i = k+1 .. n-k, k = ⌊n/4⌋.   [..., n] -> [...]
    """
    count = scores.shape[-1]
    cut = count // 4
    middle = np.sort(scores, axis=-1)[..., cut : count - cut].mean(axis=-1)
    return np.where(np.isnan(scores).any(axis=-1), np.nan, middle)


def bootstrap_interval(
    scores: np.ndarray, resamples: int = 2_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """Where the IQM of `level` of all redrawn sets of scores lies (percentile bootstrap)."""
    generator = np.random.default_rng(seed)
    block = max(1, _BLOCK // scores.size)
    sizes = [min(block, resamples - done) for done in range(0, resamples, block)]
    redrawn = [interquartile_mean(scores[generator.integers(scores.size, size=(n, scores.size))]) for n in sizes]
    low, high = np.quantile(np.concatenate(redrawn), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
