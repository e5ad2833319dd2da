"""Looks for trouble while a run goes on: keeps what was logged so far and now and then asks `diagnose` about it.

It may cost a hundredth of the time at most, and whatever goes wrong in here, the run goes on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from courtside.cli.findings_view import gone_line, short_line
from courtside.health.findings import Finding, is_news
from courtside.runs.events import Evaluated, Event, Finished, Progress, Started
from courtside.settings.config import Config

LOOK_SECONDS = 5.0
"""At least this long between two looks."""
COST = 100
"""And at least so many times what the last look took."""
MAX_LINES = 2
"""Findings shown at a time."""
MISSED_LOOKS = 3
"""Looks in a row that find nothing more before a finding is said to be gone: it may only waver."""
MAX_ROWS = 4000
"""Once there are more, every second row is let go."""

Row = dict[str, Any]


@dataclass
class Track:
    """Rows in the order of their updates, thinned evenly as they grow many."""

    rows: list[Row] = field(default_factory=list)
    every: int = 1
    """One row in so many is kept."""
    count: int = 0
    """Of all rows that came."""

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.count += 1
            if self.count % self.every == 0:
                self.rows.append(row)
            if len(self.rows) > MAX_ROWS:
                self.rows, self.every = self.rows[1::2], 2 * self.every

    def forget_after(self, update: int) -> None:
        """Drop rows of later updates: the run went back to an earlier state."""
        while self.rows and self.rows[-1]["update"] > update:
            self.rows.pop()


@dataclass
class HealthWatch:
    """Takes every event of a run and keeps the findings of the moment."""

    clock: Callable[[], float] = time.monotonic
    config: Config | None = None
    metrics: Track = field(default_factory=Track)
    evals: Track = field(default_factory=Track)
    timing: Track = field(default_factory=Track)
    findings: list[Finding] = field(default_factory=list)
    """What there is to show, most important first."""
    failure: str | None = None
    """What broke the watch itself; from then on it only looks away."""
    due: float = 0.0
    said: set[str] = field(default_factory=set)
    shown: dict[str, Finding] = field(default_factory=dict)
    """Findings that were to be seen at some look and are not gone, by their kind."""
    missed: Counter[str] = field(default_factory=Counter)
    """Looks in a row that did not find them."""
    gone: list[Finding] = field(default_factory=list)
    """Those that nobody was told of yet that they are gone."""

    def lines(self) -> list[str]:
        """The most important findings of the moment, a line each."""
        failed = [] if self.failure is None else [f"the health check itself failed ({self.failure}); the run goes on"]
        return [*failed, *(self._of_whom(short_line(finding)) for finding in self.findings[:MAX_LINES])]

    def fresh_lines(self) -> list[str]:
        """Of those the ones whose kind was not asked for before."""
        fresh = [finding for finding in self.findings[:MAX_LINES] if finding.kind not in self.said]
        failed = self.lines()[:1] if self.failure is not None and self.failure not in self.said else []
        self.said |= {finding.kind for finding in fresh} | ({self.failure} if self.failure is not None else set())
        return [*failed, *(self._of_whom(short_line(finding)) for finding in fresh)]

    def gone_lines(self) -> list[str]:
        """The findings that are gone since this was asked the last time."""
        gone, self.gone = self.gone, []
        return [self._of_whom(gone_line(finding)) for finding in gone]

    def _of_whom(self, line: str) -> str:
        """Of a population the rows are those of its median member."""
        is_population = self.config is not None and self.config.run.seeds > 1
        return f"median member, {line}" if is_population else line

    def remember(self, metrics: Iterable[Row], evals: Iterable[Row] = (), timing: Iterable[Row] = ()) -> None:
        """What a run that continues has logged before."""
        for track, rows in zip(self._tracks, (metrics, evals, timing), strict=True):
            track.add(rows)

    @property
    def _tracks(self) -> tuple[Track, Track, Track]:
        return self.metrics, self.evals, self.timing

    def on(self, event: Event) -> None:
        match event:
            case Started():
                self.config = event.config
                self._go_back(event.update)
                self.due = self.clock() + LOOK_SECONDS
            case Progress():
                self._progress(event)
            case Finished() if self.shown:  # what was said must not stand beside a clean bill of health
                self._look(MISSED_LOOKS)
            case Evaluated():
                self.evals.add([{"step": event.step, "update": event.update, **event.metrics}])

    def _progress(self, event: Progress) -> None:
        from courtside.runs.runlog import blank_episodes

        if event.rows:
            self._go_back(event.rows[0]["update"] - 1)
        self.metrics.add(map(blank_episodes, event.rows))
        pace = {"steps_per_second": event.steps_per_second, "rollout_share": event.rollout_share}
        self.timing.add([{"step": event.step, "update": event.update, "seconds": event.seconds, **pace}])
        if self.clock() >= self.due:
            self._look()

    def _go_back(self, update: int) -> None:
        for track in self._tracks:
            track.forget_after(update)

    def _look(self, looks: int = 1) -> None:
        """Ask again what there is to see, which counts as so many looks; a detector that fails is no reason to lose a run."""
        if self.config is None or self.failure is not None:
            return
        begun = self.clock()
        try:
            self.findings = find(self.config, *(track.rows for track in self._tracks))
            self._compare(looks)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
        now = self.clock()
        self.due = now + max(LOOK_SECONDS, COST * (now - begun))

    def _compare(self, looks: int) -> None:
        """Which of the findings that were shown are gone? One that comes back later is said again."""
        self.shown |= {finding.kind: finding for finding in self.findings[:MAX_LINES]}
        kinds = {finding.kind for finding in self.findings}
        self.missed = Counter({kind: self.missed[kind] + looks for kind in self.shown if kind not in kinds})
        for kind in [kind for kind, missed in self.missed.items() if missed >= MISSED_LOOKS]:
            self.gone.append(self.shown.pop(kind))
            self.said.discard(kind)


def find(config: Config, metrics: list[Row], evals: list[Row], timing: list[Row]) -> list[Finding]:
    """The findings that are worth a line while the run goes on."""
    import numpy as np

    from courtside.health.diagnose import diagnose
    from courtside.health.history import make_case

    with np.errstate(all="ignore"):  # a sick run's numbers overflow, and warnings would tear the live view
        return [finding for finding in diagnose(make_case(config, metrics, evals, timing)) if is_news(finding)]
