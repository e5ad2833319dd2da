"""When thresholds held, exactly: every row of a run's log is gone through once, and what it grows by is all that comes after.

A sample of the rows would not do: a threshold holds over a window of steps, and a gap in the sample ends it. A long log that is
opened for the first time takes seconds, so the rest of it is gone through in a thread of its own; as long as that is at work,
nothing is told. No JAX here.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, NamedTuple

from courtside.files import open_plain
from courtside.health.verdict import ThresholdResult, VerdictTracker
from courtside.runs.lines import Follower, Row
from courtside.runs.runlog import EVALS, METRICS
from courtside.settings.config import Threshold
from courtside.settings.metric_names import is_evaluation

LOOK_SECONDS = 0.1
"""Spent on rows in one question."""
PART_SECONDS, REST = 0.05, 2.0
"""Spent at a time in the thread, and how many times as long it rests then: the server has others to answer."""
FILES = (METRICS, EVALS)
MOST_KEPT = 32
"""Runs whose logs need not be gone through again."""

Spans = list[list[int]]
"""Stretches of steps: first and last."""


class ThresholdStanding(NamedTuple):
    """How one threshold stands, and the stretches of steps in which it held."""

    result: ThresholdResult
    held: Spans


class _Reading:
    """One line file on the way through a tracker of the thresholds that look at it."""

    def __init__(self, path: Path, thresholds: tuple[Threshold, ...]) -> None:
        self.path, self.thresholds = path, thresholds
        self._follower, self.is_done = Follower(path), False
        self._begin()

    def _begin(self) -> None:
        self.tracker, self.held = VerdictTracker(self.thresholds), [[] for _ in self.thresholds]

    def go_on(self, seconds: float) -> None:
        """Take rows until that long has passed, or no whole line is left."""
        until = time.monotonic() + seconds
        try:
            with open_plain(self.path) as file:
                if self._follower.begins_anew(file):
                    self._begin()
                self.is_done = False
                while not self.is_done and time.monotonic() < until:
                    self._take_block(file)
        except OSError:
            self._begin()
            self._follower, self.is_done = Follower(self.path), True

    def _take_block(self, file: BinaryIO) -> None:
        rows = self._follower.next_rows(file)
        self.is_done = rows is None
        for row in rows or []:
            self._take(row)

    def _take(self, row: Row) -> None:
        self.tracker.add([row])
        for spans, since in zip(self.held, self.tracker.since(), strict=True):
            if since is None:
                continue
            if spans and spans[-1][0] == since:
                spans[-1][1] = row["step"]
            else:
                spans.append([since, row["step"]])

    def standings(self) -> list[ThresholdStanding]:
        held = ([list(span) for span in spans] for spans in self.held)
        return list(map(ThresholdStanding, self.tracker.verdict().results, held))


class _Case:
    """One run: thresholds on evaluations look at another file than the others."""

    def __init__(self, run: Path, thresholds: tuple[Threshold, ...]) -> None:
        self.thresholds = thresholds
        parts = {name: tuple(t for t in thresholds if is_evaluation(t.metric) == (name == EVALS)) for name in FILES}
        self._readings = {name: _Reading(run / name, own) for name, own in parts.items() if own}

    def go_on(self, seconds: float) -> bool:
        """Whether all rows have been gone through."""
        for reading in self._readings.values():
            reading.go_on(seconds)
        return all(reading.is_done for reading in self._readings.values())

    def standings(self) -> list[ThresholdStanding]:
        """In the order of the thresholds."""
        each = {name: iter(reading.standings()) for name, reading in self._readings.items()}
        return [next(each[EVALS if is_evaluation(threshold.metric) else METRICS]) for threshold in self.thresholds]


def judge(run: Path, thresholds: Iterable[Threshold]) -> list[ThresholdStanding]:
    """All of it, however long that takes."""
    case = _Case(run, tuple(thresholds))
    while not case.go_on(float("inf")):
        pass
    return case.standings()


class Judges:
    """Remembers how far each run was gone through."""

    def __init__(self) -> None:
        self._cases: OrderedDict[Path, _Case] = OrderedDict()
        self._behind: OrderedDict[Path, _Case] = OrderedDict()
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def look(self, run: Path, thresholds: tuple[Threshold, ...]) -> list[ThresholdStanding] | None:
        """None as long as rows are left; they are gone through meanwhile."""
        with self._lock:
            case = self._find(run, thresholds)
            if case.go_on(LOOK_SECONDS):
                self._behind.pop(run, None)
                return case.standings()
            self._behind[run] = case
            if self._worker is None or not self._worker.is_alive():
                self._worker = threading.Thread(target=self._work, name="courtside-judges", daemon=True)
                self._worker.start()
            return None

    def _find(self, run: Path, thresholds: tuple[Threshold, ...]) -> _Case:
        case = self._cases.pop(run, None)
        if case is None or case.thresholds != thresholds:
            case = _Case(run, thresholds)
        self._cases[run] = case
        while len(self._cases) > MOST_KEPT:
            gone, _ = self._cases.popitem(last=False)
            self._behind.pop(gone, None)
        return case

    def _work(self) -> None:
        """The run that was asked for last comes first."""
        while True:
            with self._lock:
                if not self._behind:
                    self._worker = None
                    return
                run, case = next(reversed(self._behind.items()))
                if case.go_on(PART_SECONDS):
                    self._behind.pop(run, None)
            time.sleep(REST * PART_SECONDS)
