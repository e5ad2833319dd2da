"""What is wrong with the runs of a page: asked in a thread of its own, kept as long as a run's files stay as they are.

A list of hundreds of runs is shown at once, and says of each run what was found as soon as somebody has looked. No JAX here.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np

from courtside.dash.cards import UNREADABLE, read_config
from courtside.dash.lines import LineFiles
from courtside.health.diagnose import diagnose
from courtside.health.findings import Finding, to_json
from courtside.health.history import History, make_case
from courtside.runs.runlog import EVALS, METRICS, TIMING, VERDICT
from courtside.settings.config import Config

AGAIN_SECONDS = 5.0
"""A run that is being trained is looked at this often at most."""
MOST_WAITING = 64
"""Runs that wait to be looked at; what was asked for longer ago is forgotten, since nobody looks at it any more."""
PAUSE = 4
"""Between two looks of the thread it rests this many times as long as the last took: answers must not wait for it."""
MOST_ROWS = 4_000
"""Rows that a look is made of: longer runs are thinned evenly, as while they are trained."""
MOST_KEPT = 2_000

PLACES = {
    "entropy-collapse": "losses/entropy", "entropy-stuck": "losses/entropy", "kl-spikes": "losses/approx_kl",
    "kl-stall": "losses/approx_kl", "clip-saturated": "losses/clipfrac", "dead-critic": "losses/explained_variance",
    "value-blowup": "losses/value_mean", "gradients-exploding": "losses/grad_norm",
    "gradients-vanishing": "losses/grad_norm", "observation-unscaled": "health/obs_abs_max",
    "observation-constant": "health/obs_constant", "action-saturated": "health/action_at_bound",
    "actor-saturated": "health/action_at_bound", "time-limit": "charts/truncated", "schedule-ended-early": "charts/learning_rate",
    "eval-mismatch": "eval/episodic_return", "value-range-clipped": "health/mass_last",
    "target-runaway": "losses/target_mean", "target-lag": "losses/target_gap", "replay-stale": "replay/age",
    "replay-too-small": "replay/size", "noise-gone": "charts/noise_scale", "noise-never-anneals": "charts/noise_scale",
    "not-a-number": "health/first_bad",
}  # fmt: skip
"""Kind of finding -> the metric in which it is seen best; of all others the score."""

Stamp = Any


class Opinions:
    """Findings of runs, by folder."""

    def __init__(self, files: LineFiles) -> None:
        self._files = files
        self._kept: dict[Path, tuple[Stamp, float, list[Finding]]] = {}
        self._waiting: OrderedDict[Path, Stamp] = OrderedDict()
        self._wakes = threading.Condition()
        self._worker: threading.Thread | None = None

    def ask(self, run: Path, stamp: Stamp) -> list[Finding] | None:
        """What is known of a run; None before the first look. A look is taken soon where something has changed since."""
        kept = self._kept.get(run)
        is_new = kept is None or kept[0] != stamp
        is_due = kept is None or time.monotonic() - kept[1] >= AGAIN_SECONDS
        if is_new and is_due:
            self._queue(run, stamp)
        return None if kept is None else kept[2]

    def look(self, run: Path, stamp: Stamp) -> list[Finding]:
        """The same, now."""
        kept = self._kept.get(run)
        if kept is not None and (kept[0] == stamp or time.monotonic() - kept[1] < AGAIN_SECONDS):
            return kept[2]
        return self._look(run, stamp)

    def _queue(self, run: Path, stamp: Stamp) -> None:
        with self._wakes:
            self._waiting[run] = stamp
            while len(self._waiting) > MOST_WAITING:
                self._waiting.popitem(last=False)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, name="courtside-opinions", daemon=True)
                self._worker.start()
            self._wakes.notify()

    def _work(self) -> None:
        while True:
            with self._wakes:
                while not self._waiting:
                    self._wakes.wait()
                run, stamp = self._waiting.popitem(last=False)
            begun = time.monotonic()
            self._look(run, stamp)
            time.sleep(PAUSE * (time.monotonic() - begun))

    def _look(self, run: Path, stamp: Stamp) -> list[Finding]:
        """A detector that fails, on a damaged run for instance, has found nothing."""
        try:
            findings = find(self._files, run, read_config(run))
        except Exception:
            findings = []
        if len(self._kept) >= MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[run] = (stamp, time.monotonic(), findings)
        return findings


def find(files: LineFiles, run: Path, config: Config) -> list[Finding]:
    """The findings of a run, most important first."""
    if config is UNREADABLE:
        return []
    with np.errstate(all="ignore"):
        rows, evals, timing = (read_history(files, run / name) for name in (METRICS, EVALS, TIMING))
        if not len(rows):
            return []
        is_finished = True if (run / VERDICT).exists() else None
        return list(diagnose(make_case(config, rows, evals, timing, finished=is_finished)))


def read_history(files: LineFiles, path: Path) -> History:
    """A file as detectors want it, thinned where it is long."""
    names = files.read(path, ()).names
    table = files.read(path, names)
    every = max(1, -(-table.count // MOST_ROWS))
    columns = {name: column[::every] for name, column in table.columns.items()}
    if not {"step", "update"} <= set(columns):
        return History(np.zeros(0, np.int64), np.zeros(0, np.int64), {})
    steps, updates = (np.nan_to_num(columns.pop(name)).astype(np.int64) for name in ("step", "update"))
    return History(steps, updates, columns)


def finding_json(finding: Finding, score: str, names: tuple[str, ...]) -> dict[str, Any]:
    """A finding for the page, with the metric whose chart shows it."""
    metric = PLACES.get(finding.kind, score)
    return to_json(finding) | {"metric": metric if metric in names else None}
