"""A member's log as far as results need it: a few columns, and how its thresholds stand. Rows may come in pieces, so that a
log that grows is read once. And the members' learning curves, as quantiles on common steps. No JAX here."""

from __future__ import annotations

import copy
import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from courtside.health.statistics import quantiles
from courtside.health.verdict import Verdict, VerdictTracker, value_and_weight
from courtside.runs import runlog
from courtside.runs.runlog import Row
from courtside.settings.config import Config
from courtside.settings.metric_names import EPISODES, is_evaluation, ranking_metric, score_metric
from courtside.training.stopping import ScoreWatch


class Scores(NamedTuple):
    """Of every update: where it ended, its score, and how many episodes that is the mean of."""

    steps: Float[np.ndarray, "N"]
    values: Float[np.ndarray, "N"]
    weights: Float[np.ndarray, "N"]
    """0 where the update tells no score."""


class MemberLog:
    """What a member has logged so far."""

    def __init__(self, config: Config, judges: bool = True) -> None:
        """`judges`: how the thresholds stand is wanted too, and whether a score has ended the run."""
        self.config, self.judges, self.metric = config, judges, score_metric(config)
        self._steps, self._values, self._weights, self._episodes = array("d"), array("d"), array("d"), array("d")
        self._chunk_steps, self._chunk_seconds = array("d"), array("d")
        self.evals: list[float] = []
        """What ranks each evaluation."""
        self.tracker, self.watch = VerdictTracker(config.thresholds), ScoreWatch(config, goes_back=False)
        """The first has seen what is in its place; see `verdict` for the rest."""
        self._sees_evals = any(is_evaluation(threshold.metric) for threshold in config.thresholds)
        self.update = 0
        """Updates made so far."""
        self._waiting: list[Row] = []
        """Evaluations of updates whose metrics have not come yet: both are judged in the order in which they happened."""

    def add(self, rows: Sequence[Row], evals: Sequence[Row] = (), timing: Sequence[Row] = ()) -> None:
        """What is new of each file since the last call. Evaluations may come before the metrics of their update, not after
        those of later ones."""
        for row in rows:
            value, weight = value_and_weight(row, self.metric)
            self._steps.append(row["step"])
            self._values.append(0.0 if value is None else value)
            self._weights.append(0.0 if value is None else weight)
            self._episodes.append(row.get(EPISODES) or 0)
        for row in timing:
            if row.get("seconds") is not None:
                self._chunk_steps.append(row["step"])
                self._chunk_seconds.append(row["seconds"])
        self.evals += [row[name] for row in evals if row.get(name := ranking_metric(self.config, row)) is not None]
        self.update = rows[-1]["update"] if rows else self.update
        if self.judges:
            self._judge(rows, evals)

    def _judge(self, rows: Sequence[Row], evals: Sequence[Row]) -> None:
        self.watch.add(rows)
        evaluations = [*self._waiting, *evals] if self._sees_evals else []
        self._waiting = [row for row in evaluations if row["update"] > self.update]
        due = [row for row in evaluations if row["update"] <= self.update]
        self.tracker.add(runlog.in_order([*rows, *due]) if due else rows)

    def verdict(self) -> Verdict:
        """As it would be now, with evaluations whose metrics are missing: a line may be damaged, or still to come."""
        if not self._waiting:
            return self.tracker.verdict()
        ahead = copy.deepcopy(self.tracker)
        ahead.add(self._waiting)
        return ahead.verdict()

    @property
    def step(self) -> int:
        """Steps made so far."""
        return int(self._steps[-1]) if self._steps else 0

    def scores(self) -> Scores:
        return Scores(*map(np.array, (self._steps, self._values, self._weights)))

    def episodes_until(self, step: int | None) -> int | None:
        """Episodes that had ended by a step; None where there is no such step."""
        if step is None:
            return None
        return round(float(np.sum(np.array(self._episodes)[np.array(self._steps) <= step])))

    def seconds_until(self, step: int | None) -> float | None:
        """Wall time of the chunks up to the one that reaches a step; None where there is no such step, or no time was taken."""
        if step is None or not self._chunk_steps:
            return None
        reached = np.flatnonzero(np.array(self._chunk_steps) >= step)
        last = int(reached[0]) if reached.size else len(self._chunk_steps) - 1
        return math.fsum(self._chunk_seconds[: last + 1])


LoadHistory = Callable[[Path, Config, bool], MemberLog]
"""Reads the log of a member's folder; with the thresholds judged or not."""


def load_history(folder: Path, config: Config, judges: bool = True) -> MemberLog:
    """All that a folder has."""
    history = MemberLog(config, judges)
    history.add(*(runlog.read_rows(folder, name) for name in (runlog.METRICS, runlog.EVALS, runlog.TIMING)))
    return history


# --- curves --------------------------------------------------------------------------------------------------------


CURVE_POINTS = 100
"""Steps at which the learning curves are compared, at most."""
LEVELS = (0.1, 0.5, 0.9)
"""Quantiles of the learning curves."""


@dataclass(frozen=True)
class Curves:
    """Learning curves on common steps; `quantiles` has one row for each of `levels`, NaN before the first episode's end."""

    steps: tuple[int, ...]
    levels: tuple[float, ...]
    quantiles: tuple[tuple[float, ...], ...]


def make_curves(members: Sequence[Scores]) -> Curves:
    """Quantiles over the members of the mean score since the grid's previous step."""
    last = max((scores.steps[-1] for scores in members if scores.steps.size), default=0)
    points = min(CURVE_POINTS, max((scores.steps.size for scores in members), default=0))
    grid = np.unique(np.ceil(np.linspace(0, last, points + 1)[1:]).astype(np.int64))
    if not grid.size:
        return Curves((), LEVELS, tuple(() for _ in LEVELS))
    spread = quantiles(np.stack([curve_on(scores, grid) for scores in members]), LEVELS)
    return Curves(tuple(grid.tolist()), LEVELS, tuple(map(tuple, spread.tolist())))


def curve_on(scores: Scores, grid: np.ndarray) -> np.ndarray:
    """One member's mean score in each stretch of the grid; the last known one goes on where no episode ended.

    NaN before the first episode's end and beyond the member's newest step.   [G]
    """
    scored = scores.weights > 0
    place, weights = np.searchsorted(grid, scores.steps[scored]), scores.weights[scored]
    count = np.bincount(place, weights, minlength=grid.size)
    total = np.bincount(place, weights * scores.values[scored], minlength=grid.size)
    curve = np.divide(total, count, out=np.full(grid.size, np.nan), where=count > 0)
    return np.where(grid <= (scores.steps[-1] if scores.steps.size else 0), carry_on(curve), np.nan)


def carry_on(curve: np.ndarray) -> np.ndarray:
    """The newest number in the place of each gap behind it."""
    newest = np.maximum.accumulate(np.where(np.isnan(curve), 0, np.arange(curve.size)))
    return curve[newest]
