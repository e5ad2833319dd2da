"""Pass or fail: does each threshold hold over the end of the run, since when, and how long did it take?

A threshold holds at a step when the metric's mean over the trailing window satisfies the bound, and the run is as long as
the window. What is counted off depends on the threshold: environment steps (`window_steps`), ended episodes
(`window_episodes`), or evaluations, of which only the last is looked at (`eval/...`). The window is the smallest number of
newest rows that holds that many. Metrics of episodes (`charts/episodic_...`, `charts/score`) are weighted by the episodes
that ended in each update; all others count each update once.

Sums are kept as exact integers, so nothing drifts: a loss of 1e30 leaves no trace once it has left the window, and a
tracker rebuilt from `metrics.jsonl` gives the very same verdict.
"""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from courtside.settings.config import Threshold
from courtside.settings.metric_names import GAMES, count_of, is_evaluation, is_per_episode

_SCALE_BITS = 1074
"""Every finite float64 is a whole multiple of 2⁻¹⁰⁷⁴."""
_STRETCHES = 10
"""The worst value is looked for over stretches of a tenth of the window."""

Unit = Literal["steps", "episodes", "evaluations"]
"""What a threshold's window is counted in."""

_OPS: dict[str, tuple[Callable[[float, float], bool], str]] = {
    ">=": (operator.ge, "at or above"),
    ">": (operator.gt, "above"),
    "<=": (operator.le, "at or below"),
    "<": (operator.lt, "below"),
}

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ThresholdResult:
    """How one threshold fared."""

    metric: str
    op: str
    target: float
    window_steps: int | None
    """None where the window is counted in episodes or evaluations."""
    passed: bool
    value: float | None
    """Mean over the last window; None when the metric has no value there."""
    worst: float | None
    """Worst mean over a tenth of the window, inside the last window."""
    since_step: int | None
    """First step from which it has held without a break until the end."""
    since_update: int | None
    reason: str
    """Why it failed, in words; empty when it passed."""
    source: str = ""
    window_episodes: int | None = None
    """None where the window is counted in steps or evaluations."""


@dataclass(frozen=True)
class Verdict:
    """What the run came to."""

    passed: bool
    """All thresholds hold at the end; False when there are none, since nothing was shown."""
    results: tuple[ThresholdResult, ...]
    steps_to_pass: int | None
    """First step at which all thresholds held together, even if they did not stay so; None if they never did."""
    updates_to_pass: int | None
    total_steps: int
    total_updates: int


class VerdictTracker:
    """Takes the rows of a run, metrics and evaluations, in order and can give the verdict at any moment; constant work
    per row."""

    def __init__(self, thresholds: Iterable[Threshold]) -> None:
        self._tracks = [_Track(threshold) for threshold in thresholds]
        self._first_pass: tuple[int, int] | None = None
        self._now = (0, 0)

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows with `step`, `update` and metrics; one that lacks a metric leaves that metric as it was."""
        for row in rows:
            self._now = (int(row["step"]), int(row["update"]))
            for track in self._tracks:
                track.add(row, self._now)
            if self._first_pass is None and self._tracks and all(track.since for track in self._tracks):
                self._first_pass = self._now

    def since(self) -> list[int | None]:
        """Of each threshold the step since which it holds; None where it does not hold now."""
        return [track.since[0] if track.since else None for track in self._tracks]

    def verdict(self) -> Verdict:
        results = tuple(track.result() for track in self._tracks)
        steps, updates = self._first_pass or (None, None)
        passed = bool(results) and all(result.passed for result in results)
        return Verdict(passed, results, steps, updates, *self._now)


class WindowMean:
    """Exact weighted mean over the rows of the last `span` units, be they steps, episodes or evaluations."""

    def __init__(self, span: int) -> None:
        self._span = span
        self._rows: deque[tuple[int, int | None, int]] = deque()
        self._total = 0
        self._weight = 0
        self._broken = 0
        """Rows in the window whose value is infinite or not a number."""

    def advance(self, place: int) -> None:
        """Let go of rows that ended `span` units ago."""
        while self._rows and self._rows[0][0] <= place - self._span:
            self._count(*self._rows.popleft()[1:], -1)

    def add(self, place: int, value: float, weight: int) -> None:
        """A row that ends at `place`."""
        row = (place, _exact(value), weight)
        self._rows.append(row)
        self._count(*row[1:], 1)

    def _count(self, exact: int | None, weight: int, sign: int) -> None:
        self._broken += sign * (exact is None)
        self._total += sign * weight * (exact or 0)
        self._weight += sign * weight

    def value(self) -> float | None:
        if self._broken:
            return math.nan
        return self._total / (self._weight << _SCALE_BITS) if self._weight else None


class _Track:
    """One threshold along the run."""

    def __init__(self, threshold: Threshold) -> None:
        self._threshold = threshold
        self._unit, self._span = window_unit(threshold), window_span(threshold)
        self._holds, _ = _OPS[threshold.op]
        self._sign = 1 if threshold.op in (">=", ">") else -1
        self._window = WindowMean(self._span)
        self._stretch_span = max(1, self._span // _STRETCHES)
        self._stretch = WindowMean(self._stretch_span)
        self._worst: deque[tuple[int, float]] = deque()
        """Place and score (low is bad) of stretches that no later one is worse than; the first is the worst of all."""
        self._place = 0
        """How many steps, episodes or evaluations there have been."""
        self.since: tuple[int, int] | None = None

    def add(self, row: Row, now: tuple[int, int]) -> None:
        value, weight = value_and_weight(row, self._threshold.metric)
        self._place = self._next_place(row, now[0], value is not None)
        for mean in (self._window, self._stretch):
            mean.advance(self._place)
            if value is not None:
                mean.add(self._place, value, weight)
        self._note_worst()
        mean = self._window.value()
        holds = self._place >= self._span and mean is not None and self._holds(mean, self._threshold.value)
        self.since = (self.since or now) if holds else None

    def _next_place(self, row: Row, step: int, is_told: bool) -> int:
        if self._unit == "steps":
            return step
        is_evaluated = self._unit == "evaluations"
        return self._place + (int(is_told) if is_evaluated else ends_in(row, self._threshold.metric, is_told))

    def _note_worst(self) -> None:
        """Keep the candidates for the worst stretch; only stretches that lie wholly inside the window count."""
        mean = self._stretch.value()
        if mean is not None and self._place >= self._stretch_span:
            score = -math.inf if math.isnan(mean) else self._sign * mean
            while self._worst and self._worst[-1][1] >= score:
                self._worst.pop()
            self._worst.append((self._place, score))
        oldest = self._place - self._span + self._stretch_span
        while self._worst and self._worst[0][0] < oldest:
            self._worst.popleft()

    def result(self) -> ThresholdResult:
        threshold = self._threshold
        since_step, since_update = self.since or (None, None)
        return ThresholdResult(
            metric=threshold.metric, op=threshold.op, target=threshold.value,
            window_steps=self._span if self._unit == "steps" else None,
            passed=self.since is not None, value=self._window.value(), worst=self._worst_value(),
            since_step=since_step, since_update=since_update,
            reason="" if self.since else self._reason(), source=threshold.source,
            window_episodes=self._span if self._unit == "episodes" else None,
        )  # fmt: skip

    def _worst_value(self) -> float | None:
        if not self._worst or self._unit == "evaluations":  # a single evaluation has no stretches
            return None
        score = self._worst[0][1]
        return math.nan if score == -math.inf else self._sign * score

    def _reason(self) -> str:
        place, span, value = self._place, self._span, self._window.value()
        window, ends = window_words(self._threshold), _ends_word(self._threshold.metric)
        if place < span:
            return {
                "steps": f"the run made {place:,} steps, fewer than the {span:,} it is judged over",
                "episodes": f"{place:,} {ends} have ended, fewer than the {span:,} it is judged over",
                "evaluations": "there was no evaluation that tells it",
            }[self._unit]
        if value is None:
            return f"it had no value in {window}"
        if math.isnan(value):
            return f"it was not a finite number in {window}"
        if self._unit == "evaluations":
            return f"it was {_number(value)} in {window}"
        return f"its mean over {window} was {_number(value)}"


# --- windows and values --------------------------------------------------------------------------------------------


def window_unit(judged: Threshold | ThresholdResult) -> Unit:
    """What the window is counted in: an evaluation stands for itself, whatever window is given."""
    if is_evaluation(judged.metric):
        return "evaluations"
    return "steps" if judged.window_episodes is None else "episodes"


def window_span(judged: Threshold | ThresholdResult) -> int:
    """How many of its units the window has."""
    unit = window_unit(judged)
    return (judged.window_steps if unit == "steps" else judged.window_episodes if unit == "episodes" else 1) or 1


def window_words(judged: Threshold | ThresholdResult) -> str:
    """The window in words: the last 100,000 steps, the last 100 episodes or games, the last evaluation."""
    unit = window_unit(judged)
    if unit == "evaluations":
        return "the last evaluation"
    return f"the last {window_span(judged):,} {_ends_word(judged.metric) if unit == 'episodes' else unit}"


def _ends_word(metric: str) -> str:
    return "games" if count_of(metric) == GAMES else "episodes"


def longest_window(thresholds: Iterable[Threshold]) -> int:
    """Environment steps that a run must make at least to be judged; those of episodes and evaluations cannot be foreseen."""
    return max((t.window_steps for t in thresholds if window_unit(t) == "steps"), default=0)


def ends_in(row: Row, metric: str, is_told: bool) -> int:
    """Episodes, or games, that ended in a row; a row without a count stands for one where it tells the metric."""
    count = row.get(count_of(metric))
    return int(is_told) if count is None else int(count)


def value_and_weight(row: Row, metric: str) -> tuple[float | None, int]:
    """The row's value and how much it counts; None where the row says nothing about the metric."""
    value = None if row.get(metric) is None else float(row[metric])
    if value is None or not is_per_episode(metric):
        return value, 1
    count = row.get(count_of(metric))
    weight = 1 if count is None else int(count)
    return (value, weight) if weight > 0 else (None, 0)


def _exact(value: float) -> int | None:
    """The float as a whole number of 2⁻¹⁰⁷⁴; None for infinity and not-a-number."""
    if not math.isfinite(value):
        return None
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_SCALE_BITS - (denominator.bit_length() - 1))


def holds(threshold: Threshold, value: float) -> bool:
    """Whether a value satisfies a threshold; one that is not a number satisfies none."""
    return _OPS[threshold.op][0](value, threshold.value)


def to_json(verdict: Verdict) -> dict[str, Any]:
    """The verdict as data, for verdict.json and `--json`."""
    return asdict(verdict)


def sentence(verdict: Verdict) -> str:
    """The verdict in plain words, one line per threshold and one for the whole."""
    if not verdict.results:
        return "NO VERDICT: this run has no thresholds to be judged by."
    lines = [result_sentence(result) for result in verdict.results]
    return "\n".join([*lines, _summary(verdict)])


def result_sentence(result: ThresholdResult) -> str:
    """One threshold in one sentence."""
    bound = f"{_OPS[result.op][1]} {_number(result.target)}"
    if not result.passed:
        return f"FAIL: {result.metric} should hold {bound}, but {result.reason}."
    over, mean = ("in", "") if window_unit(result) == "evaluations" else ("over", "mean ")
    worst = "" if result.worst is None else f", worst stretch {_number(result.worst)}"
    return (
        f"PASS: {result.metric} held {bound} {over} {window_words(result)} ({mean}{_number(result.value or 0.0)}{worst}), "
        f"since step {result.since_step:,} (update {result.since_update:,})."
    )


def _summary(verdict: Verdict) -> str:
    total = f"{verdict.total_steps:,} steps ({verdict.total_updates:,} updates)"
    if verdict.steps_to_pass is None:
        return f"Not passed in {total}."
    reached = f"{verdict.steps_to_pass:,} steps ({verdict.updates_to_pass:,} updates)"
    if not verdict.passed:
        return f"Passed after {reached}, but lost it by {total}."
    since = max(result.since_step or 0 for result in verdict.results)
    again = f"; lost it later, and holds it again since step {since:,}" if since > verdict.steps_to_pass else ""
    return f"Passed {'first ' * bool(again)}after {reached} of {total}{again}."


def _number(value: float) -> str:
    return f"{value:,.6g}"
