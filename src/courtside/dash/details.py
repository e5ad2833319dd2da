"""One run as its page shows it: thresholds and when they held, settings, metrics with their meaning, time, events. No JAX here."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from courtside.dash.cards import as_list, read_config, verdict_of, verdict_words, whole
from courtside.dash.glossary import explain
from courtside.dash.judging import Spans, ThresholdStanding
from courtside.dash.lines import LineFiles, read_newest, sample_steps
from courtside.dash.series import Axis, Clock, listed, make_clock, make_series, names_needed, plain
from courtside.dash.shelf import logged_in
from courtside.files import json_ready, open_plain, read_record
from courtside.health.verdict import ThresholdResult, VerdictTracker, window_words
from courtside.runs.lines import as_number
from courtside.runs.runlog import EVALS, EVENTS, METRICS, TIMING, VERDICT
from courtside.runs.system_record import SYSTEM
from courtside.settings.config import Config, Threshold
from courtside.settings.metric_names import is_evaluation
from courtside.settings.presets import PRESETS
from courtside.settings.values import field_docs

SIZES = ("batch_size", "minibatch_size", "num_updates", "gradient_steps")
"""What follows from the settings."""
GROUPS = ("charts", "eval", "losses", "env", "agents", "health", "replay", "time")
"""Order in which groups of metrics are shown."""
FIRST = (
    "charts/game_score", "charts/score", "charts/episodic_return", "charts/episodic_length",
    "eval/score", "eval/episodic_return",
)  # fmt: skip
"""Metrics that come before the others of their group."""
MOST_POINTS = 5_000
PHASE_POINTS, CLOCK_POINTS = 200, 200
MOST_STORY = 400_000
"""Read from the end of a long diary."""
MOST_EVENTS = 1_000
MOST_TEXT = 1_000
"""Letters of one event."""


def describe_run(files: LineFiles, run: Path, judge: Judge) -> dict[str, Any]:
    """All that the page of a run needs beside its curves."""
    config, record = read_config(run), read_record(run / VERDICT)
    names = metric_names(files, run)
    tables = [files.read(run / name, ()) for name in (METRICS, EVALS, TIMING)]
    compiling = files.read(run / TIMING, ("compile_seconds",)).columns["compile_seconds"]
    compiling = compiling[np.isfinite(compiling)]
    sessions = read_record(run / SYSTEM).get("sessions")
    return {
        "config": describe_settings(config),
        "sizes": describe_sizes(config),
        "thresholds": describe_thresholds(judge, run, config),
        "verdict": verdict_of(record),
        "verdict_words": verdict_words(record),
        "metrics": names,
        "glossary": explain(names),
        "system": [json_ready(session) for session in as_list(sessions) if isinstance(session, dict)],
        "phases": describe_phases(files, run),
        "compile_seconds": float(compiling.sum()) if compiling.size else None,
        "skipped_lines": sum(table.skipped for table in tables),
    }


# --- settings ------------------------------------------------------------------------------------------------------


def describe_settings(config: Config) -> list[dict[str, Any]]:
    """Every setting with its help, and whether it is another one than the preset's."""
    base = PRESETS[config.preset][1] if config.preset in PRESETS else Config()
    return [row for group, own in config.groups.items() for row in _describe_group(group, own, base.groups.get(group))]


def _describe_group(group: str, own: Any, base: Any) -> list[dict[str, Any]]:
    usual = type(own)() if base is None else base
    docs = read_docs(type(own))
    return [
        {
            "group": group, "name": each.name, "value": written(value := getattr(own, each.name)),
            "help": docs.get(each.name, ""), "changed": value != getattr(usual, each.name),
        }
        for each in fields(own)
    ]  # fmt: skip


@cache
def read_docs(kind: type) -> dict[str, str]:
    """The text under each field, on one line."""
    return {name: " ".join(text.split()) for name, text in field_docs(kind).items()}


def describe_sizes(config: Config) -> list[dict[str, str]]:
    docs = read_docs(Config)
    return [{"name": name, "value": written(getattr(config, name)), "help": docs.get(name, "")} for name in SIZES]


def written(value: Any) -> str:
    """A setting as a person reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)


# --- thresholds ----------------------------------------------------------------------------------------------------

Judge = Callable[[Path, tuple[Threshold, ...]], list[ThresholdStanding] | None]
"""How thresholds stand; None where that is not known yet."""


def describe_thresholds(judge: Judge, run: Path, config: Config) -> list[dict[str, Any]]:
    """How each threshold stands now, and between which steps it held."""
    if not config.thresholds:
        return []
    judged = judge(run, config.thresholds)
    if judged is None:  # as long as its rows are being gone through
        blanks = VerdictTracker(config.thresholds).verdict().results
        reading = {"holds": None, "reason": "its log is being read"}
        rows = [_describe_threshold(blank, []) | reading for blank in blanks]
    else:
        rows = [_describe_threshold(*each) for each in judged]
    results = read_record(run / VERDICT).get("results")
    if isinstance(results, list) and len(results) == len(rows):
        return [row | _by_verdict(result) for row, result in zip(rows, results, strict=True)]
    return rows


def _describe_threshold(result: ThresholdResult, held: Spans) -> dict[str, Any]:
    return {
        "metric": result.metric, "op": result.op, "target": result.target, "window": window_words(result),
        "value": plain(result.value), "worst": plain(result.worst), "holds": result.passed,
        "since_step": result.since_step, "reason": result.reason, "source": result.source, "held": held,
    }  # fmt: skip


def _by_verdict(result: Any) -> dict[str, Any]:
    """How it stands by the verdict of a finished run."""
    result = result if isinstance(result, dict) else {}
    since = plain(result.get("since_step"))
    return {
        "value": plain(result.get("value")), "worst": plain(result.get("worst")), "holds": result.get("passed") is True,
        "since_step": None if since is None else int(since), "reason": str(result.get("reason", "")),
    }  # fmt: skip


# --- metrics -------------------------------------------------------------------------------------------------------


def metric_names(files: LineFiles, run: Path) -> list[str]:
    """All metrics of a run in the order in which to show them."""
    names = dict.fromkeys(name for file in (METRICS, EVALS) for name in files.read(run / file, ()).names)
    return sorted((name for name in names if name not in ("step", "update", "seed")), key=_place)


def _place(name: str) -> tuple[int, int, int]:
    group = name.partition("/")[0]
    rank = GROUPS.index(group) if group in GROUPS else len(GROUPS)
    return (rank, FIRST.index(name) if name in FIRST else len(FIRST), name.count("/"))


def read_series(
    files: LineFiles, run: Path, metrics: list[str], axis: Axis, points: int, span: tuple[float, float] | None
) -> dict[str, Any]:
    """Curves of some metrics; a stretch of a huge file is sampled again, more finely."""
    points = max(2, min(points, MOST_POINTS))
    clock = read_clock(files, run) if axis == "time" else None
    answer: dict[str, Any] = {"series": {}, "whole": True, "rows": 0, "skipped_lines": 0}
    for name in (METRICS, EVALS):
        wanted = [metric for metric in metrics if is_evaluation(metric) == (name == EVALS)]
        if not wanted:
            continue
        table = files.read(run / name, names_needed(wanted))
        if not table.is_whole and span is not None and axis == "step":
            table = sample_steps(run / name, *span, names_needed(wanted))
        places = clock.at(table.columns["step"]) if clock is not None else table.columns[axis]
        answer["series"] |= {metric: make_series(table, metric, places, points, span) for metric in wanted}
        answer["whole"] &= table.is_whole
        answer["rows"] = max(answer["rows"], table.count)
        answer["skipped_lines"] += table.skipped
    newest = read_newest(run / METRICS) or {}
    return answer | {"newest": int(as_number(newest.get("update")) or 0), "clock": describe_clock(files, run)}


def describe_clock(files: LineFiles, run: Path) -> dict[str, list[float | None]]:
    """Which step, update and second of training belong together, at some moments of the run."""
    table = files.read(run / METRICS, ("step", "update"))
    chosen = np.unique(np.linspace(0, max(table.count - 1, 0), min(table.count, CLOCK_POINTS)).astype(int))
    steps, updates = (table.columns[name][chosen] for name in ("step", "update"))
    return {"step": listed(steps), "update": listed(updates), "time": listed(read_clock(files, run).at(steps))}


def read_clock(files: LineFiles, run: Path) -> Clock:
    return make_clock(files.read(run / TIMING, ("step", "seconds", "steps_per_second")))


# --- time ----------------------------------------------------------------------------------------------------------


def describe_phases(files: LineFiles, run: Path) -> list[dict[str, float]]:
    """How the time was split between playing and learning, along the run."""
    table = files.read(run / TIMING, ("step", "rollout_share"))
    steps, shares = table.columns["step"], table.columns["rollout_share"]
    rows = np.flatnonzero(np.isfinite(steps) & np.isfinite(shares))
    chosen = rows[:: max(1, -(-rows.size // PHASE_POINTS))].tolist()
    return [{"x": float(steps[i]), "rollout_share": float(shares[i])} for i in chosen]


def differences(named: Mapping[str, Config]) -> list[dict[str, Any]]:
    """Settings in which runs differ; where a run's algorithm does not have one, a blank."""
    tables = [{row["name"]: row["value"] for row in describe_settings(config)} for config in named.values()]
    names = dict.fromkeys(name for table in tables for name in table)
    rows = [{"name": name, "values": [table.get(name) for table in tables]} for name in names]
    return [row for row in rows if len(set(row["values"])) > 1]


# --- events --------------------------------------------------------------------------------------------------------


def read_story(run: Path) -> list[dict[str, Any]]:
    """The newest events, the oldest of them first; lines that are none are passed over.

    Of a population those of its first member: what concerns all is told by every one.
    """
    try:
        with open_plain(logged_in(run) / EVENTS) as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - MOST_STORY))
            lines = file.read(MOST_STORY).split(b"\n")[:-1]
    except OSError:
        return []
    events = (_event(line) for line in lines[int(size > MOST_STORY) :])
    return [event for event in events if event is not None][-MOST_EVENTS:]


def _event(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    texts = {name: str(record.get(name, ""))[:MOST_TEXT] for name in ("time", "kind", "text")}
    return {"step": whole(record.get("step")), "update": whole(record.get("update")), **texts}
