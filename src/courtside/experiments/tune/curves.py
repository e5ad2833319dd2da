"""Learning curves of the final round: every metric of the verdict, by seed, kept in one small file of the run folder."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from courtside import files
from courtside.errors import CheckpointError
from courtside.experiments.population.histories import carry_on
from courtside.experiments.tune.objective import metrics_needed
from courtside.settings.config import Config
from courtside.settings.metric_names import EPISODES, GAMES, count_of, is_evaluation, is_per_episode

CURVES = "curves.npz"
POINTS = 100
"""Points of a curve, at most: each is the mean of the updates since the one before."""


@dataclass(frozen=True)
class Curve:
    """How one row of the final round learned."""

    name: str
    steps: Int[np.ndarray, "G"]
    metrics: Mapping[str, Float[np.ndarray, "S G"]]
    """By seed; not a number where no episode ended."""


def make_curve(name: str, config: Config, columns: Sequence[Mapping[str, np.ndarray]]) -> Curve:
    """Thin out what was logged; `columns` has one entry per seed, with one number per update and metric."""
    length = len(next(iter(columns[0].values())))
    ends = np.unique(np.ceil(np.linspace(0, length, min(POINTS, length) + 1)[1:]).astype(np.int64))
    names = [metric for metric in metrics_needed(config) if metric not in (EPISODES, GAMES) and metric in columns[0]]
    metrics = {metric: np.stack([_means(seed, metric, ends) for seed in columns]) for metric in names}
    return Curve(name, ends * config.batch_size, metrics)


def _means(columns: Mapping[str, np.ndarray], metric: str, ends: np.ndarray) -> np.ndarray:
    """Mean of each stretch that ends at `ends`, each update weighing as many episodes as ended in it where it tells of those.

    An evaluation stands until the next one.
    """
    values = np.asarray(columns[metric], np.float64)
    weights = np.asarray(columns[count_of(metric)], np.float64) if is_per_episode(metric) else np.ones(len(values))
    weights = np.where(np.isfinite(values), weights, 0.0)
    starts = np.concatenate([[0], ends[:-1]])
    total = np.add.reduceat(np.where(weights > 0, values, 0.0) * weights, starts)
    count = np.add.reduceat(weights, starts)
    means = np.divide(total, count, out=np.full(len(ends), np.nan), where=count > 0)
    return carry_on(means) if is_evaluation(metric) else means


def write_curves(run_dir: str | Path, curves: Sequence[Curve]) -> None:
    """Keep the curves for the plots; whole or not at all."""
    arrays: dict[str, Any] = {"names": np.asarray([curve.name for curve in curves])}
    for i, curve in enumerate(curves):
        arrays[f"{i}:steps"] = curve.steps
        arrays |= {f"{i}:{metric}": values for metric, values in curve.metrics.items()}
    page = io.BytesIO()
    np.savez_compressed(page, **arrays)
    files.write_bytes(Path(run_dir) / CURVES, page.getvalue())


def read_curves(run_dir: str | Path) -> list[Curve]:
    """What `write_curves` wrote; nothing where the final round was not reached."""
    path = Path(run_dir) / CURVES
    if not path.exists():
        return []
    try:
        with np.load(io.BytesIO(path.read_bytes())) as file:
            arrays = {key: file[key] for key in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); it is damaged.") from error
    names = [str(name) for name in arrays.pop("names")]
    curves = []
    for i, name in enumerate(names):
        own = {key.removeprefix(f"{i}:"): values for key, values in arrays.items() if key.startswith(f"{i}:")}
        curves.append(Curve(name, own.pop("steps"), own))
    return curves
