"""Many seeds of one configuration in one compiled program, judged as the verdict judges one run.

For the other scripts of this folder; meant for a GPU, on a CPU keep the number of seeds small. Needs nothing but the
engine: JAX, Equinox, Optax, safetensors, Rich and NumPy.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from courtside.engines import make_engine
from courtside.engines.jax_engine import JaxEngine
from courtside.experiments.population.batch import Columns, member_rows, train_members
from courtside.health.verdict import Verdict, VerdictTracker
from courtside.settings.config import Config, Threshold, override

__all__ = ["Trained", "judge", "make_jax_engine", "train_all"]


@dataclass(frozen=True)
class Trained:
    """What came of all seeds together."""

    columns: list[Columns]
    """One for each seed."""
    seconds: float
    """All of it, compiling included."""

    def stacked(self, metric: str) -> np.ndarray:
        """One metric of all seeds. [seeds, updates]"""
        return np.stack([columns[metric] for columns in self.columns])


def make_jax_engine(config: Config) -> JaxEngine:
    """The engine of a JAX world, whose parts these scripts put together anew."""
    engine = make_engine(config)
    if not isinstance(engine, JaxEngine):
        raise SystemExit(f"{config.env.env_id} is stepped outside JAX; this script takes JAX worlds only.")
    return engine


def train_all(config: Config, seeds: Iterable[int]) -> Trained:
    """Train every seed to the planned end."""
    start = time.perf_counter()
    trained = train_members([override(config, seed=seed) for seed in seeds], config.num_updates)
    return Trained(trained.columns, time.perf_counter() - start)


def judge(config: Config, trained: Trained, thresholds: Iterable[Threshold] | None = None) -> list[Verdict]:
    """One verdict per seed, by the config's own thresholds unless others are given."""
    verdicts = []
    for columns in trained.columns:
        tracker = VerdictTracker(config.thresholds if thresholds is None else thresholds)
        tracker.add(member_rows(config, columns))
        verdicts.append(tracker.verdict())
    return verdicts
