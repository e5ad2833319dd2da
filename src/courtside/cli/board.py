"""What is known of a run right now, gathered from its events; both views, live and plain, show this."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from courtside.cli.health_watch import HealthWatch
from courtside.health.verdict import ThresholdResult, VerdictTracker, window_span, window_unit
from courtside.runs.events import (
    Compiled,
    Compiling,
    Evaluated,
    Evaluating,
    Event,
    Finished,
    Progress,
    Rewound,
    Standing,
    Started,
)
from courtside.settings.config import Config
from courtside.settings.metric_names import (
    EVAL_RETURN,
    GAME_SCORE,
    LEARNING_STEPS,
    RETURN,
    SCORE,
    count_of,
    has_learned,
    is_per_episode,
    ranking_metric,
)

RUNNING = ("charts/learning_rate", "charts/noise_scale", "replay/size", LEARNING_STEPS)
"""What is shown as it stands now; losses of a replay are too many and too noisy for that."""

SPEED_SECONDS = 2.0
WARM_UP = 1.0
"""A first chunk of fewer seconds tells nothing of the pace: it is a single update, and programs run for the first time."""
SLOW_EVALUATION = 2.0
"""Seconds from which on an evaluation is announced."""


def shown_of(config: Config) -> dict[str, str]:
    """Name on the screen -> key of the metric."""
    return {"return": RETURN, "length": "charts/episodic_length", **config.traits.shown}


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
    shown: dict[str, str] = field(default_factory=lambda: shown_of(Config()))
    """Name on the screen -> key of the metric, for the run's own algorithm."""
    metrics: dict[str, float | None] = field(default_factory=lambda: dict.fromkeys(shown_of(Config())))
    """Name on the screen -> newest value."""
    evaluation: float | None = None
    best: float | None = None
    evaluating: Evaluating | None = None
    """The evaluation that is under way."""
    evaluation_began: float = 0.0
    evaluation_seconds: float | None = None
    """What the last one took; None before the first, which may take long."""
    tracker: VerdictTracker = field(default_factory=lambda: VerdictTracker(()))
    standing: Standing | None = None
    """How many members of a population pass; the other figures are then those of the median member."""
    first_step: int = 0
    """Where this process began: above 0 when a run continues."""
    paced_from: tuple[int, float] = (0, 0.0)
    """Step and second from which on the pace is that of the rest of the run."""
    learned: float = 1.0
    """Share of the updates of the newest chunk in which there were gradient steps."""
    health: HealthWatch = field(default_factory=HealthWatch)

    @property
    def total_steps(self) -> int:
        """Steps in whole updates, so that the bar ends at 100%."""
        return self.config.num_updates * self.config.batch_size if self.config else 0

    @property
    def is_population(self) -> bool:
        """Then steps are those of each member, and steps per second those of all."""
        return self.config is not None and self.config.run.seeds > 1

    @property
    def share_done(self) -> float:
        return min(1.0, self.step / self.total_steps) if self.total_steps else 0.0

    @property
    def steps_per_second(self) -> float | None:
        seconds = sum(seconds for _, seconds in self.recent)
        return sum(steps for steps, _ in self.recent) / seconds if seconds else None

    @property
    def has_replay(self) -> bool:
        return self.config is not None and self.config.traits.has_replay

    @property
    def learning_steps_per_second(self) -> float | None:
        """Gradient steps, all members' together in a population; None where the algorithm does not count them."""
        if self.config is None or not self.has_replay or self.steps_per_second is None:
            return None
        return self.steps_per_second * self.config.gradient_steps / self.config.batch_size * self.learned

    @property
    def filling(self) -> tuple[int, int] | None:
        """Entries in the replay and those that learning waits for; None once it learns."""
        if self.config is None or not self.has_replay or self.metrics["learning_steps"] != 0:
            return None
        return int(self.metrics["replay"] or 0), self.config.mad4pg.pretrain

    @property
    def seconds_left(self) -> float | None:
        """At the pace of all wall time so far, which evaluations and checkpoints are part of; not known as long as the
        replay is filled, which goes much faster than learning, nor after a first chunk of a moment."""
        step, second = self.paced_from
        done, seconds, left = self.step - step, self.seconds - second, self.total_steps - self.step
        return left * seconds / done if done and seconds else None if left else 0.0

    @property
    def slow_evaluation(self) -> Evaluating | None:
        """The evaluation under way, unless it will soon be over."""
        is_quick = self.evaluation_seconds is not None and self.evaluation_seconds < SLOW_EVALUATION
        return None if is_quick else self.evaluating

    @property
    def ends_with_evaluation(self) -> bool:
        """Whether the only evaluation is still to come, at the end: no pace so far tells how long it takes."""
        if self.config is None or self.is_population:  # members that are processes tell nothing of theirs
            return False
        return self.config.eval_updates >= self.config.num_updates and self.evaluation is None

    def thresholds(self) -> list[tuple[ThresholdResult, str]]:
        """How each threshold stands at this moment, and that in two words."""
        results = self.tracker.verdict().results
        return [(result, self._standing(result)) for result in results]

    def _standing(self, result: ThresholdResult) -> str:
        by_steps = window_unit(result) == "steps"
        if self.step - self.first_step < window_span(result) if by_steps else result.value is None:
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
            case Evaluating():
                self.evaluating, self.evaluation_began = event, self.clock()
            case Evaluated():
                self._evaluated(event)
            case Standing():
                self.standing = event
            case Rewound():
                self.step, self.update = event.step, event.update
                # The thresholds are judged by what remains.
                self.tracker = VerdictTracker(self.config.thresholds if self.config else ())
                self.tracker.add(event.rows)
            case Finished():
                self.step, self.update = event.step, event.update

    def _start(self, event: Started) -> None:
        self.config, self.update = event.config, event.update
        self.step = self.first_step = event.update * event.config.batch_size
        self.paced_from = (self.step, 0.0)
        self.tracker = VerdictTracker(event.config.thresholds)
        self.shown = shown_of(event.config)
        self.metrics = dict.fromkeys(self.shown)
        self.best = event.best_score
        self.phase = "starting ..."

    def _progress(self, event: Progress) -> None:
        now, is_warm_up = self.clock(), not self.has_progress and event.seconds < WARM_UP
        self.began = now - event.seconds if self.began is None else self.began
        self.step, self.update, self.seconds = event.step, event.update, now - self.began
        self.rollout_share, self.has_progress = event.rollout_share, True
        self.recent.append((event.steps_per_second * event.seconds, event.seconds))
        while sum(seconds for _, seconds in self.recent) - self.recent[0][1] > SPEED_SECONDS:
            self.recent.popleft()
        self.tracker.add(event.rows)
        self._show(event.rows)
        if self.filling is not None or is_warm_up:
            self.paced_from = (self.step, self.seconds)

    def _show(self, rows: list[dict[str, Any]]) -> None:
        """The newest values; the score comes first, with several agents or where a game is several episodes."""
        for name, key in (("score", SCORE), ("game_score", GAME_SCORE)):
            if rows and key in rows[-1] and name not in self.shown:
                self.shown, self.metrics = {name: key} | self.shown, {name: None} | self.metrics
        for name, key in self.shown.items():
            value = newest(rows, key, is_mean=self.has_replay and key not in RUNNING)
            if value is not None or not is_per_episode(key):
                self.metrics[name] = value
        self.learned = sum(has_learned(row) for row in rows) / max(1, len(rows))

    def _evaluated(self, event: Evaluated) -> None:
        self.tracker.add([{"step": event.step, "update": event.update, **event.metrics}])
        name = EVAL_RETURN if self.config is None else ranking_metric(self.config, event.metrics)
        if self.evaluating is not None:
            self.evaluating, self.evaluation_seconds = None, self.clock() - self.evaluation_began
        self.evaluation = event.metrics.get(name)
        if event.is_best:
            self.best = self.evaluation


def newest(rows: list[dict[str, Any]], key: str, is_mean: bool = False) -> float | None:
    """The value of the last update, or the mean over `rows`; of a per-episode metric over all episodes in them."""
    by_episode = is_per_episode(key)
    if not by_episode and not is_mean:
        return _known(rows[-1].get(key)) if rows else None
    found = [(_known(row.get(key)), row.get(count_of(key), 1) if by_episode else 1) for row in rows]
    weighted = [(value, weight) for value, weight in found if value is not None]
    total = sum(weight for _, weight in weighted)
    return sum(value * weight for value, weight in weighted) / total if total else None


def _known(value: float | int | None) -> float | int | None:
    return None if value is None or math.isnan(value) else value
