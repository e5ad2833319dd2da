"""What shows only between seeds: the same settings, ends far apart."""

from __future__ import annotations

import numpy as np

from courtside.health.findings import Finding, make_finding, number
from courtside.health.history import Case
from courtside.health.outcome import levels, progress, yardstick
from courtside.health.stretches import cut

MIN_SEEDS = 4
SPLIT = 0.4
"""Share of all that the best seed won, between the upper and the lower tenth of the seeds."""


def seed_sensitivity(case: Case) -> Finding | None:
    """Members of a population that end far apart, measured by what the best of them won."""
    metric = yardstick(case)
    ends = [cut(history, metric).late(0.1) for history in (case.history, *case.others) if len(history)]
    ends = np.asarray([end for end in ends if np.isfinite(end)])
    start, _ = levels(case, metric)
    if ends.size < MIN_SEEDS or progress(case) < 0.5 or not np.isfinite(start):
        return None
    low, high = np.quantile(ends, [0.1, 0.9])
    won = float(np.max(ends)) - min(start, float(np.min(ends)))
    if won <= 0 or (high - low) / won < SPLIT:
        return None
    evidence = (
        f"Of {ends.size} seeds the lowest tenth ends at {number(float(low))}, the highest at {number(float(high))}.",
    )
    return make_finding(
        "seed-sensitivity", case.history, None, evidence,
        cause="Luck decides: the settings work only where exploration finds the way early.",
        remedy=f"{case.config.traits.explores_more}, more --num-envs, or a search for settings that hold: courtside tune",
        confidence=0.8, severity=0.4, sick=False,
    )  # fmt: skip
