"""The stop by score (`--quit-threshold`): a run ends once the mean score of its last episodes is above a threshold.

The mean is looked at only at fixed updates, where every run of the same length pauses, and follows from the logged rows
alone. So a run ends at the same update however its chunks fall, and one that was killed and resumed does too. No JAX here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from courtside.health.verdict import WindowMean, value_and_weight
from courtside.runs import runlog
from courtside.settings.config import Config
from courtside.settings.metric_names import RETURN, SCORE

CHECKS = 200
"""Moments of a run at which the mean is looked at."""


@dataclass(frozen=True)
class ScoreStop:
    """Where the score that ends a run was reached."""

    step: int
    update: int
    mean: float
    threshold: float
    window: int
    """Episodes that the mean is over."""


def period(config: Config) -> int:
    """Updates between two looks at the mean; 0 where no score ends the run."""
    return 0 if config.run.quit_threshold is None else max(1, config.num_updates // CHECKS)


class ScoreWatch:
    """Takes the rows of a run in order; `stop` tells where the score was reached, None as long as it was not."""

    def __init__(
        self, config: Config, rows: Iterable[Mapping[str, Any]] = (), resumed_at: int = 0, goes_back: bool = True
    ) -> None:
        """`rows` are those of a run that goes on from update `resumed_at`: what it passed over then stays passed over,
        though a run of another length looks at other moments. Without `goes_back` an insured run's rows need not be kept."""
        self._resumed_at = resumed_at
        self._run, self._period, self._keeps = config.run, period(config), config.run.insure and goes_back
        self._begin()
        self.add(rows)

    def _begin(self) -> None:
        self._mean, self._episodes = WindowMean(self._run.quit_window), 0
        self._seen: list[Mapping[str, Any]] = []
        """What is needed to go back; only insured runs do."""
        self.stop: ScoreStop | None = None

    def add(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Take rows with `step`, `update` and metrics; what comes after the stop changes nothing."""
        if not self._period:
            return
        for row in rows:
            if self._keeps:
                self._seen.append(row)
            if self.stop is None:
                self._add(row)

    def _add(self, row: Mapping[str, Any]) -> None:
        value, weight = value_and_weight(row, SCORE if SCORE in row else RETURN)
        if value is not None:
            self._episodes += weight
            self._mean.advance(self._episodes)
            self._mean.add(self._episodes, value, weight)
        step, update = int(row["step"]), int(row["update"])
        if update <= self._resumed_at or update % self._period:
            return
        mean, limit, window = self._mean.value(), self._run.quit_threshold, self._run.quit_window
        if limit is not None and mean is not None and mean > limit and self._episodes >= window:
            self.stop = ScoreStop(step, update, mean, limit, window)

    def go_back(self, update: int) -> None:
        """Forget the rows of later updates."""
        if self._seen and self._seen[-1]["update"] > update:
            kept = [row for row in self._seen if row["update"] <= update]
            self._begin()
            self.add(kept)


def read_stop(run_dir: Path, update: int) -> ScoreStop | None:
    """Where the score was reached in a run that is to go on from `update`; None where it was not."""
    config = runlog.read_config(run_dir)
    if not period(config):
        return None
    return ScoreWatch(config, (row for row in runlog.read_rows(run_dir) if row["update"] <= update)).stop


def writes_verdict(config: Config) -> bool:
    """Whether the run ends with a `verdict.json`: it has thresholds, or its length depends on the score."""
    return bool(config.thresholds) or config.run.quit_threshold is not None


def verdict_part(config: Config, stop: ScoreStop | None) -> dict[str, Any]:
    """What `verdict.json` says about the stop and the cap; nothing for a run that has neither."""
    stopped = {"stopped": None if stop is None else asdict(stop)} if config.run.quit_threshold is not None else {}
    capped = {"score_cap": config.env.score_cap} if config.env.score_cap is not None else {}
    return stopped | capped


def stop_words(stop: ScoreStop) -> str:
    """What was reached, as a part of a sentence."""
    return f"the mean score of the last {stop.window:,} episodes, {stop.mean:.4g}, passed --quit-threshold {stop.threshold}"


def stop_sentence(stop: ScoreStop) -> str:
    words = stop_words(stop)
    return f"{words[:1].upper()}{words[1:]}: training ends at step {stop.step:,}."
