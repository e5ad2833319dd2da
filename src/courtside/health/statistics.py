"""Mean, spread and interquartile mean of a set of scores, with an interval that says how sure the number is.

The interquartile mean (IQM) is the mean of the middle half: steadier than the mean, less blind than the median
(Agarwal et al. 2021, arXiv 2108.13264). The interval is a percentile bootstrap with a fixed seed: same scores, same
interval. For populations: the worst tenth, quantiles, how sure a share is, and the chance of having passed by a step.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from statistics import NormalDist
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
        count=scores.size, mean=float(scores.mean()), std=float(scores.std()), iqm=float(interquartile_mean(scores)),
        iqm_low=low, iqm_high=high, minimum=float(scores.min()), maximum=float(scores.max()),
    )  # fmt: skip


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
    return stratified_interval([scores], resamples, seed, level)


def stratified_interval(
    strata: Sequence[np.ndarray], resamples: int = 2_000, seed: int = 0, level: float = 0.95
) -> tuple[float, float]:
    """The same where scores come from several settings and each setting's are redrawn from its own only.

    A plain bootstrap would also redraw how many runs each setting has, which was no chance but a choice (Agarwal et al.
    2021, section 4, where the strata are tasks). The IQM is that of all scores together.
    """
    first = np.random.default_rng(seed)
    generators = [first, *first.spawn(len(strata) - 1)]  # one each: the numbers do not depend on the block size
    block = max(1, _BLOCK // sum(scores.size for scores in strata))
    sizes = [min(block, resamples - done) for done in range(0, resamples, block)]
    redrawn = [interquartile_mean(_redraw(strata, generators, n)) for n in sizes]
    low, high = np.quantile(np.concatenate(redrawn), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _redraw(strata: Sequence[np.ndarray], generators: Sequence[np.random.Generator], times: int) -> np.ndarray:
    """As many sets of scores as `times`, each with as many of every stratum as there are.   [times, n]"""
    pairs = zip(strata, generators, strict=True)
    return np.concatenate([s[g.integers(s.size, size=(times, s.size))] for s, g in pairs], axis=-1)


def worst_tenth(scores: np.ndarray) -> float:
    """Mean of the lowest tenth, rounded up to whole scores: what to expect on a bad day.

    W = 1/k · Σᵢ x₍ᵢ₎ for i = 1 .. k, k = ⌈n/10⌉: the conditional value at risk at 10% (Rockafellar and Uryasev 2000).   [n]
    """
    count = -(-scores.size // 10)
    return float(np.nan if np.isnan(scores).any() else np.sort(scores)[:count].mean())


def quantiles(rows: np.ndarray, levels: Sequence[float]) -> np.ndarray:
    """Quantiles down each column, of those rows that have a number there; not a number where none has.

    Between two scores on a straight line: x₍ₖ₎ + (h-k)(x₍ₖ₊₁₎ - x₍ₖ₎), h = (n-1)p + 1, k = ⌊h⌋ (Hyndman and Fan 1996, type 7).
    [n, G] -> [levels, G]
    """
    columns = [column[~np.isnan(column)] for column in rows.T]
    blank = np.full(len(levels), np.nan)
    return np.stack([np.quantile(column, levels) if column.size else blank for column in columns], axis=1)


def wilson_interval(hits: int, count: int, level: float = 0.95) -> tuple[float, float]:
    """Where the true share lies when `hits` of `count` were seen; sane for 0 and for all, unlike p ± z·√(p(1-p)/n).

    (p + z²/2n ± z·√(p(1-p)/n + z²/4n²)) / (1 + z²/n), p = hits/n (Wilson 1927, doi 10.1080/01621459.1927.10502953).
    """
    if not 0 <= hits <= count:
        raise ValueError(f"wilson_interval needs a part of the whole, but got {hits} of {count}")
    if count == 0:
        return 0.0, 1.0
    z, share = NormalDist().inv_cdf((1 + level) / 2), hits / count
    middle = share + z * z / (2 * count)
    spread = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    scale = 1 + z * z / count
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)


def chance_by_step(passed_at: Sequence[int | None], steps: Sequence[int]) -> list[tuple[int, float]]:
    """How likely a member is to have passed by each step at which one did: a step function, as (step, chance) pairs.

    F(t) = 1 - Π (1 - dᵢ/nᵢ) over the steps tᵢ <= t, dᵢ members passing there and nᵢ not having passed before, among those
    that got that far (Kaplan and Meier 1958). Where all got to the end it is the plain share; one that was stopped early
    counts as long as it ran. Member i passed at `passed_at[i]` (None: not) and made `steps[i]` steps.
    """
    missing, curve = Fraction(1), []
    ends = [made if at is None else at for at, made in zip(passed_at, steps, strict=True)]
    for step in sorted({at for at in passed_at if at is not None}):
        here, open_still = passed_at.count(step), sum(end >= step for end in ends)
        missing *= 1 - Fraction(here, open_still)
        curve.append((step, float(1 - missing)))
    return curve
