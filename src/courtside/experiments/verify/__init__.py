"""Did my edit break it? The first part of a preset on a few fresh seeds, held against the measured band of that preset."""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from courtside import files
from courtside.errors import ConfigError
from courtside.experiments.bands import Band, find_band, fresh_seeds, measure, settings_changes
from courtside.experiments.verify.comparison import FALSE_ALARMS, MetricResult, Seeds, compare
from courtside.settings.config import Config
from courtside.settings.presets import find_preset

LEAST_SEEDS = 2
QUICK = ("cartpole", "pendulum", "redblue-pair")
"""Presets that together run through everything: a time limit, normalisers, continuous actions, several agents."""

OnProgress = Callable[[int, int], None]
"""Told the updates that are done and those there are."""


@dataclass(frozen=True)
class Report:
    """What came of one preset."""

    preset: str
    passed: bool
    seeds: tuple[int, ...]
    num_band_seeds: int
    num_updates: int
    batch_size: int
    ends: tuple[int, ...]
    """The update that each point ends with."""
    results: tuple[MetricResult, ...]
    seconds: float

    def step(self, point: int) -> int:
        """The environment step of a point."""
        return self.ends[point] * self.batch_size


def verify(
    preset: str,
    num_seeds: int = 8,
    first_seed: int = 1,
    false_alarms: float = FALSE_ALARMS,
    on_progress: OnProgress | None = None,
) -> Report:
    """Train the first part of a preset with the code as it is, and say whether it is inside the preset's band."""
    return hold_against(find_preset(preset), find_band(preset), num_seeds, first_seed, false_alarms, on_progress)


def hold_against(
    config: Config,
    band: Band,
    num_seeds: int,
    first_seed: int = 1,
    false_alarms: float = FALSE_ALARMS,
    on_progress: OnProgress | None = None,
) -> Report:
    """The same for any settings and the band that was measured with them."""
    _refuse(config, band, num_seeds, false_alarms)
    seeds = fresh_seeds(band, num_seeds, first_seed)
    start = time.perf_counter()
    fresh = train_first_part(config, seeds, band.ends, on_progress)
    results = compare(band.first, fresh, false_alarms)
    return Report(
        preset=band.preset, passed=all(result.passed for result in results), seeds=tuple(seeds),
        num_band_seeds=len(band.seeds), num_updates=band.ends[-1], batch_size=config.batch_size, ends=band.ends,
        results=tuple(results), seconds=time.perf_counter() - start,
    )  # fmt: skip


def _refuse(config: Config, band: Band, num_seeds: int, false_alarms: float) -> None:
    least = least_seeds(len(band.seeds), false_alarms)
    if num_seeds < least:
        raise ConfigError(
            f"{num_seeds} seeds cannot be told from luck beside the {len(band.seeds)} of the band of {band.preset!r}; "
            f"take --seeds {least} or more, 8 find most defects."
        )
    if changes := settings_changes(band, config):
        raise ConfigError(
            f"The preset {config.preset!r} is not the one that its band was measured with: {'; '.join(changes)}. "
            f"Put the settings back, or make a new band with `python bench/bands.py {config.preset}`."
        )


def least_seeds(num_band_seeds: int, false_alarms: float) -> int:
    """Fewer fresh seeds than these are so often the strangest by chance that no test can fail."""
    return next(n for n in itertools.count(LEAST_SEEDS) if math.comb(num_band_seeds + n, n) * false_alarms >= 1)


def train_first_part(
    config: Config, seeds: list[int], ends: tuple[int, ...], on_progress: OnProgress | None = None
) -> Seeds:
    """Every metric of every seed at the given points, with the schedules of the full plan."""
    from courtside.experiments.population.batch import train_members

    members = [with_seed(config, seed) for seed in seeds]
    done = 0

    def count(num_members: int, num_updates: int) -> None:
        nonlocal done
        done += num_members * num_updates
        if on_progress is not None:
            on_progress(done, len(members) * ends[-1])

    trained = train_members(members, ends[-1], on_chunk=count)
    measured = [measure(columns, ends) for columns in trained.columns]
    return {name: np.stack([one[name] for one in measured]) for name in measured[0]}


def with_seed(config: Config, seed: int) -> Config:
    return dataclasses.replace(config, run=dataclasses.replace(config.run, seed=seed))


def to_json(report: Report) -> dict[str, Any]:
    """The report as JSON data, each metric with the step at which it is furthest from the band."""
    results = [asdict(result) | {"step": report.step(result.point)} for result in report.results]
    return files.json_ready(asdict(report) | {"results": results})
