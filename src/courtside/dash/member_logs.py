"""Logs of the members of populations, each line of which is read once: a page that follows many members asks again and again.
No JAX here."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from pathlib import Path

from courtside.experiments.population.histories import MemberLog
from courtside.files import open_plain
from courtside.runs.lines import Follower, parse_numbers
from courtside.runs.runlog import EVALS, METRICS, TIMING
from courtside.settings.config import Config
from courtside.settings.metric_names import EPISODES, GAMES, RETURN, SCORE, count_of, is_evaluation, score_metric

MOST_KEPT = 4_000
"""Members."""
MOST_BYTES = 1_000_000_000
"""Of a member's log."""


class _Log:
    """One member's files on the way into its history."""

    def __init__(self, folder: Path, config: Config, judges: bool) -> None:
        self.history = MemberLog(config, judges)
        self._metrics = Follower(folder / METRICS, partial(parse_numbers, names=names_needed(config)))
        self._evals, self._timing = Follower(folder / EVALS), Follower(folder / TIMING)

    @property
    def skipped(self) -> int:
        """Lines that were no records."""
        return sum(follower.skipped for follower in (self._metrics, self._evals, self._timing))

    def go_on(self) -> bool:
        """Take what is new; False where that cannot be, since a file is not the one it was.

        How far the metrics go is looked at first: evaluations up to there are then in their file, since each is written before
        the metrics of later updates. They are taken first all the same, so that metrics can go by block after block.
        """
        try:
            with open_plain(self._metrics.path) as file:
                if self._metrics.begins_anew(file):
                    return False
                end = self._metrics.measure(file, MOST_BYTES)
                if not self._take_rest():
                    return False
                while (rows := self._metrics.next_rows(file, end)) is not None:
                    self.history.add(rows)
        except FileNotFoundError:
            return not self._metrics.has_begun and self._take_rest()
        return True

    def _take_rest(self) -> bool:
        """Evaluations and timing; False where a file is not the one it was."""
        (evals, other_evals), (timing, other_timing) = self._evals.read_on(MOST_BYTES), self._timing.read_on(MOST_BYTES)
        if other_evals or other_timing:
            return False
        self.history.add((), evals, timing)
        return True


class MemberLogs:
    """Loads histories as `population.histories.load_history` does, but for lines that are no records: those are passed over
    and counted. Not for several threads at a time."""

    def __init__(self) -> None:
        self._logs: OrderedDict[Path, _Log] = OrderedDict()

    def load(self, folder: Path, config: Config, judges: bool) -> MemberLog:
        log = self._logs.pop(folder, None)
        can_serve = log is not None and log.history.config == config and log.history.judges >= judges
        if log is None or not can_serve or not log.go_on():
            log = _Log(folder, config, judges)
            log.go_on()
        self._logs[folder] = log
        while len(self._logs) > MOST_KEPT:
            self._logs.popitem(last=False)
        return log.history

    def skipped(self, folder: Path) -> int:
        """Lines of a member that were no records, as far as it is kept."""
        return self._logs[folder].skipped if folder in self._logs else 0


def names_needed(config: Config) -> frozenset[str]:
    """What a history takes from a row of metrics."""
    metrics = {threshold.metric for threshold in config.thresholds if not is_evaluation(threshold.metric)}
    metrics |= {score_metric(config), SCORE, RETURN}
    return frozenset(metrics | {count_of(name) for name in metrics} | {EPISODES, GAMES})
