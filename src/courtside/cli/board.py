"""What is known of a run right now, gathered from its events; both views, live and plain, show this."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from courtside.cli.health_watch import HealthWatch
from courtside.config import Config
from courtside.events import Compiled, Compiling, Evaluated, Event, Finished, Progress, Rewound, Standing, Started
from courtside.health.verdict import ThresholdResult, VerdictTracker

SHOWN = {
    "return": "charts/episodic_return",
    "length": "charts/episodic_length",
    "entropy": "losses/entropy",
    "approx_kl": "losses/approx_kl",
    "clipfrac": "losses/clipfrac",
    "explained_variance": "losses/explained_variance",
    "value_loss": "losses/value_loss",
    "policy_loss": "losses/policy_loss",
    "learning_rate": "charts/learning_rate",
}
"""Name on the screen -> key of the metric."""
PER_EPISODE = ("charts/episodic_return", "charts/episodic_length")
"""Metrics that only exist in updates in which an episode ended."""

SPEED_SECONDS = 2.0


@dataclass
class Board:
    """Takes every event of a run and keeps what there is to show."""

    config: Config | None = None
    phase: str = "loading ..."
    """What happens while there is no progress yet."""
    step: int = 0
    update: int = 0
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    """When the first chunk began, after all compiling."""
    seconds: float = 0.0
    """Wall time since then."""
    recent: deque[tuple[float, float]] = field(default_factory=deque)
    """Steps and seconds of the newest chunks, about two seconds in all: single chunks vary too much to be read."""
    rollout_share: float | None = None
    has_progress: bool = False
    metrics: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(SHOWN))
    """Name on the screen -> newest value."""
    evaluation: float | None = None
    best: float | None = None
    tracker: VerdictTracker = field(default_factory=lambda: VerdictTracker(()))
    standing: Standing | None = None
    """How many members of a population pass; the other figures are then those of the median member."""
    first_step: int = 0
    """Where this process began: above 0 when a run continues."""
    health: HealthWatch = field(default_factory=HealthWatch)

    @property
    def total_steps(self) -> int:
        """Steps in whole updates, so that the bar ends at 100%."""
        return self.config.num_updates * self.config.batch_size if self.config else 0

    @property
    def share_done(self) -> float:
        return min(1.0, self.step / self.total_steps) if self.total_steps else 0.0

    @property
    def steps_per_second(self) -> float | None:
        seconds = sum(seconds for _, seconds in self.recent)
        return sum(steps for steps, _ in self.recent) / seconds if seconds else None

    @property
    def seconds_left(self) -> float | None:
        """At the pace of all wall time so far, which evaluations and checkpoints are part of."""
        done = self.step - self.first_step
        return (self.total_steps - self.step) * self.seconds / done if done and self.seconds else None

    def thresholds(self) -> list[tuple[ThresholdResult, str]]:
        """How each threshold stands at this moment, and that in two words."""
        results = self.tracker.verdict().results
        return [(result, self._standing(result)) for result in results]

    def _standing(self, result: ThresholdResult) -> str:
        if self.step - self.first_step < result.window_steps:
            return "too early"
        return "holding" if result.passed else "not yet"

    def on(self, event: Event) -> None:
        self.health.on(event)
        match event:
            case Started():
                self._start(event)
            case Compiling():
                self.phase = f"compiling ... {event.seconds:.0f} s"
            case Compiled():
                self.phase = f"compiled in {event.seconds:.1f} s"
            case Progress():
                self._progress(event)
            case Evaluated():
                self._evaluated(event)
            case Standing():
                self.standing = event
            case Rewound():
                self._go_back(event)
            case Finished():
                self.step, self.update = event.step, event.update

    def _start(self, event: Started) -> None:
        self.config, self.update = event.config, event.update
        self.step = self.first_step = event.update * event.config.batch_size
        self.tracker = VerdictTracker(event.config.thresholds)
        self.best = event.best_score
        self.phase = "starting ..."

    def _go_back(self, event: Rewound) -> None:
        """The thresholds are judged by what remains."""
        self.step, self.update = event.step, event.update
        self.tracker = VerdictTracker(self.config.thresholds if self.config else ())
        self.tracker.add(event.rows)

    def _progress(self, event: Progress) -> None:
        now = self.clock()
        self.began = now - event.seconds if self.began is None else self.began
        self.step, self.update, self.seconds = event.step, event.update, now - self.began
        self.rollout_share, self.has_progress = event.rollout_share, True
        self._measure_speed(event)
        self.tracker.add(event.rows)
        for name, key in SHOWN.items():
            value = newest(event.rows, key)
            if value is not None or key not in PER_EPISODE:
                self.metrics[name] = value

    def _measure_speed(self, event: Progress) -> None:
        self.recent.append((event.steps_per_second * event.seconds, event.seconds))
        while sum(seconds for _, seconds in self.recent) - self.recent[0][1] > SPEED_SECONDS:
            self.recent.popleft()

    def _evaluated(self, event: Evaluated) -> None:
        self.evaluation = event.metrics.get("eval/episodic_return")
        if event.is_best:
            self.best = self.evaluation


def newest(rows: list[dict[str, Any]], key: str) -> float | None:
    """The value of the last update; of a per-episode metric the mean over all episodes in `rows`."""
    if key not in PER_EPISODE:
        return _known(rows[-1].get(key)) if rows else None
    found = [(_known(row.get(key)), row.get("charts/episodes", 1)) for row in rows]
    weighted = [(value, weight) for value, weight in found if value is not None]
    episodes = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / episodes if episodes else None


def _known(value: float | int | None) -> float | int | None:
    return None if value is None or math.isnan(value) else value
