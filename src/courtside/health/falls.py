"""Has a score that held been lost? A pure rule that may be asked at any moment of a run, with what is known by then.

A level counts as held when the mean over a window stayed at or above it for one and a half windows more: a lucky moment is
not a hold. The score has fallen when those means have stayed below the held level, by more than a share of all that was
learned and by more than noise explains, for a whole patience. No JAX here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

DROP = 0.10
"""Share of what was learned, from the worst level to the held one, whose loss counts as a fall."""
END_DROP = 0.05
"""The same at the planned end, where there is no time left to recover."""
NOISE = 4.0
"""Deviations of a window's mean that a drop must exceed while the run goes on."""


@dataclass(frozen=True)
class Fall:
    """A held score that is lost."""

    held: float
    """Level that held."""
    now: float
    """Mean over the last window."""
    since_update: int
    """Number of updates after which all was still well."""


def find_fall(
    returns: Float[np.ndarray, "U"],
    episodes: Float[np.ndarray, "U"],
    window: int,
    patience: int,
    at_end: bool = False,
    share: float = DROP,
) -> Fall | None:
    """The fall that the first U updates of a run end in; None where the score holds, or never held.

    `returns` is each update's mean return, `episodes` the number of episodes that it is a mean of. At the planned end a
    smaller drop counts, and at once; until then a drop by `share` of all that was learned.
    """
    means = window_means(returns, episodes, window)
    if len(means) < 2 * window:
        return None
    held, noise = _held_level(means, window), _noise(returns, means, window)
    learned = held - float(np.nanmin(means, initial=np.inf))
    if not learned > NOISE * noise:
        return None
    drop = END_DROP * learned if at_end else max(share * learned, NOISE * noise)
    recent = means[-1:] if at_end else means[-max(1, patience) :]
    if not np.nanmax(recent) < held - drop:
        return None
    well = np.flatnonzero(means >= held - drop)
    return Fall(held, float(means[-1]), int(well[-1]) + 1)


def window_means(
    returns: Float[np.ndarray, "U"], episodes: Float[np.ndarray, "U"], window: int
) -> Float[np.ndarray, "V"]:
    """Mean return of the episodes that ended in the `window` updates from each one on; V = U - window + 1.

    A window in which no episode ended has the mean of the one before it.
    """
    if len(returns) < window:
        return np.zeros(0)
    paid = np.where(episodes > 0, np.nan_to_num(returns), 0.0) * episodes
    weight = _sums(episodes, window)
    means = _sums(paid, window) / np.maximum(weight, 1)
    newest = np.maximum.accumulate(np.where(weight > 0, np.arange(len(means)), -1))
    return np.where(newest >= 0, means[np.maximum(newest, 0)], np.nan)


def _held_level(means: Float[np.ndarray, "V"], window: int) -> float:
    """The highest level that the means stayed at or above for so long that no moment shorter than half a window, which
    every window that holds it shows, can have made it."""
    return float(np.nanmax(_minima(means, window + window // 2), initial=-np.inf))


def _sums(values: Float[np.ndarray, "U"], length: int) -> Float[np.ndarray, "V"]:
    """Sum of the `length` entries from each one on."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[length:] - total[:-length]


def _minima(values: Float[np.ndarray, "V"], length: int) -> Float[np.ndarray, "W"]:
    """Smallest of the `length` entries from each one on, by doubling: long runs have long windows."""
    span = 1
    while 2 * span <= length:
        values = np.minimum(values[:-span], values[span:])
        span *= 2
    rest = length - span
    return np.minimum(values[: len(values) - rest], values[rest:])


def _noise(returns: Float[np.ndarray, "U"], means: Float[np.ndarray, "V"], window: int) -> float:
    """Typical deviation of a window's mean: of single updates around their window, over the root of the window."""
    around = np.abs(returns[window // 2 : window // 2 + len(means)] - means)
    finite = around[np.isfinite(around)]
    return 1.5 * float(np.median(finite)) / np.sqrt(window) if len(finite) else 0.0
