"""Several runs at once as a page shows them: a population as a distribution, a search with its trials, runs side by side. No JAX here."""

from __future__ import annotations

import importlib.util
import math
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from courtside.dash.cards import make_spark, read_config
from courtside.dash.details import differences, metric_names, read_series
from courtside.dash.lines import LineFiles
from courtside.dash.member_logs import MemberLogs
from courtside.dash.series import Axis, listed, plain
from courtside.dash.shelf import kind_of, logged_in, members_of
from courtside.errors import ConfigError
from courtside.experiments.population.histories import CURVE_POINTS, LEVELS
from courtside.experiments.population.results import Member, read_results, sentence
from courtside.experiments.tune.trials import SEARCH, STUDY, FinalRow, Search, Trial, place_of, read_search
from courtside.files import json_ready, read_bytes
from courtside.health.statistics import quantiles, wilson_interval
from courtside.settings.metric_names import score_metric
from courtside.settings.presets.files import BEST

MOST_COMPARED = 12
MOST_TRIALS = 2_000
MOST_STUDY = 200_000_000
"""Bytes of Optuna's file."""


# --- populations ---------------------------------------------------------------------------------------------------


def describe_population(logs: MemberLogs, run: Path) -> dict[str, Any]:
    """Members, their curves as quantiles and one by one, and the chance to pass by a step."""
    config = read_config(run)
    metric = score_metric(config)
    results = read_results(run, logs.load)
    curves = results.curves
    return {
        "score_name": metric,
        "levels": [{"op": each.op, "target": each.value} for each in config.thresholds if each.metric == metric],
        "members": [finite(asdict(member)) for member in results.members],
        "curves": {
            "steps": list(curves.steps), "levels": list(curves.levels),
            "quantiles": [listed(np.asarray(row, np.float64)) for row in curves.quantiles],
        },
        "each": {folder.name: make_spark(folder, metric, CURVE_POINTS) for folder in members_of(run)},
        "chance": [] if results.passes is None else as_steps(results.passes.chance, max(curves.steps, default=0)),
        "sentences": sentence(results).splitlines(),
        "worst": worst_member(results.members),
        "skipped_lines": sum(map(logs.skipped, members_of(run))),
    }  # fmt: skip


def finite(record: dict[str, Any]) -> dict[str, Any]:
    """Blanks in the place of numbers that are none."""
    return {name: plain(value) if isinstance(value, float) else value for name, value in record.items()}


def as_steps(chance: Sequence[tuple[int, float]], last: int) -> list[list[float]]:
    """A chance that rises at some steps and holds between them, as corners of a line from the first step to the newest."""
    corners, height = [[0.0, 0.0]], 0.0
    for step, share in chance:
        corners += [[float(step), height], [float(step), share]]
        height = share
    return [*corners, [float(max(last, corners[-1][0])), height]]


def worst_member(members: Sequence[Member]) -> str | None:
    """Who failed with the lowest score, else who scored lowest."""
    scored = [member for member in members if member.final_score is not None]
    ranked = sorted(scored, key=lambda member: (member.passed is not False, member.final_score or 0.0))
    return ranked[0].name if ranked else None


# --- searches ------------------------------------------------------------------------------------------------------


def describe_search(run: Path) -> dict[str, Any]:
    """The plan, every trial, what mattered, and the final round."""
    search = read_search(run)
    trials, trouble = read_trials_of(run)
    first = [trial for trial in trials if trial.stage == 1]
    return {
        "stages": [asdict(stage) | {"done": sum(t.stage == stage.number for t in trials)} for stage in search.stages],
        "axes": describe_axes(search),
        "trials": [
            describe_trial(trial) | {"rank": place} for place, trial in enumerate(by_rank(trials, search.winner))
        ],
        "importance": find_shares(search, first),
        "leaderboard": [describe_final(row) for row in search.finals],
        "plan": describe_plan(search),
        "best": f"courtside train {run.parent.name}/{run.name}/{BEST}" if search.finished else None,
        "trouble": trouble,
    }


def by_rank(trials: Sequence[Trial], winner: int | None) -> list[Trial]:
    """As the report ranks settings, the winner first; of very many those that came furthest."""
    return sorted(trials, key=lambda trial: place_of(trial, winner))[:MOST_TRIALS]


def read_trials_of(run: Path) -> tuple[list[Trial], str]:
    """The trials so far, and why there are none where they cannot be read."""
    if not (run / STUDY).is_file():
        return [], "No trial is finished yet."
    if importlib.util.find_spec("optuna") is None:
        return [], 'The trials are in Optuna\'s file; to see them: pip install "courtside[tune]".'
    from courtside.experiments.tune.study import read_trials

    try:
        with tempfile.TemporaryDirectory() as copy:  # Optuna writes to a study that it opens
            copy_search(run, Path(copy))
            return read_trials(copy), ""
    except Exception as error:  # a damaged study raises whatever Optuna stumbles over
        return [], f"The trials cannot be read now ({type(error).__name__}: {error})."


def copy_search(run: Path, folder: Path) -> None:
    """What its trials are read from, as it stands at one moment; the search may be writing."""
    for name in (SEARCH, STUDY):
        (folder / name).write_bytes(read_bytes(run / name, MOST_STUDY))


def describe_axes(search: Search) -> list[dict[str, Any]]:
    """The searched settings as axes of a chart."""
    return [
        {
            "name": part.get("name"), "log": bool(part.get("log")), "low": plain(part.get("low")),
            "high": plain(part.get("high")), "from_one": bool(part.get("from_one")), "values": in_order(part.get("values")),
        }
        for part in search.space
    ]  # fmt: skip


def in_order(values: Any) -> Any:
    """Choices as an axis shows them: numbers from the lowest to the highest."""
    is_numbers = isinstance(values, list) and all(type(value) in (int, float) for value in values)
    return sorted(values) if is_numbers else values


def describe_trial(trial: Trial) -> dict[str, Any]:
    passed = round(trial.pass_share * len(trial.seeds))
    return {
        "number": trial.number, "stage": trial.stage, "score": plain(trial.score), "passed": passed,
        "of": len(trial.seeds), "steps": trial.steps, "steps_to_pass": plain(trial.steps_to_pass),
        "worst_tenth": plain(trial.worst_tenth), "values": json_ready(trial.settings), "origin": trial.origin,
    }  # fmt: skip


def find_shares(search: Search, first: Sequence[Trial]) -> list[dict[str, Any]] | None:
    """How much each setting mattered; None where it cannot be told yet."""
    if importlib.util.find_spec("optuna") is None:
        return None
    from courtside.experiments.tune.importance import find_importance

    shares = find_importance(search.space, list(first)).shares
    return [{"name": name, "share": share} for name, share in shares.items()] or None


def describe_final(row: FinalRow) -> dict[str, Any]:
    passed, steps = sum(row.passed), [math.inf if step is None else step for step in row.steps_to_pass]
    low, high = wilson_interval(passed, len(row.passed))
    return {
        "name": row.name, "passed": passed, "of": len(row.passed), "low": low, "high": high, "score": plain(row.score),
        "median_steps": plain(np.median(steps or [math.inf])), "worst_tenth": plain(row.worst_tenth),
        "settings": json_ready(row.settings),
    }  # fmt: skip


def describe_plan(search: Search) -> str:
    if not search.stages:
        return "The plan is being made: the speed of this machine is measured first."
    parts = [
        f"{stage.trials} settings for {stage.steps:,} steps with {stage.seeds} {'seed' if stage.seeds == 1 else 'seeds'}"
        for stage in search.stages
    ]
    taken = f"{search.seconds:.0f} s" if search.seconds < 120 else f"{search.seconds / 60:.0f} minutes"
    spent = f" {'It took' if search.finished else 'So far it took'} {taken}." if search.seconds else ""
    return f"{'; then '.join(parts)}; then a final round on {len(search.final_seeds) or 16} fresh seeds.{spent}"


# --- side by side --------------------------------------------------------------------------------------------------


def compare(files: LineFiles, runs: dict[str, Path], metric: str | None, axis: Axis, points: int) -> dict[str, Any]:
    """Curves of one metric of several runs or populations, and the settings in which they differ."""
    if not 1 <= len(runs) <= MOST_COMPARED:
        raise ConfigError(f"{len(runs)} runs were named; name 1 to {MOST_COMPARED} to compare.")
    configs = {name: read_config(run) for name, run in runs.items()}
    shared = [metric_names(files, logged_in(run)) for run in runs.values()]
    metrics = [name for name in shared[0] if all(name in names for names in shared)]
    wanted = metric or score_metric(next(iter(configs.values())))
    curves = [read_curves(files, run, [wanted], axis, points)[wanted] for run in runs.values()]
    titles = [{"name": name, "title": config.preset, "kind": kind_of(runs[name])} for name, config in configs.items()]
    return {
        "runs": [title | curve for title, curve in zip(titles, curves, strict=True)],
        "metric": wanted, "metrics": metrics, "differences": differences(configs),
    }  # fmt: skip


def read_curves(
    files: LineFiles, run: Path, metrics: list[str], axis: Axis, points: int
) -> dict[str, dict[str, list[float | None]]]:
    """Each metric of a run along it; of a population the members' median and the range of most of them."""
    folders = members_of(run)
    each = [read_series(files, folder, metrics, axis, points, None)["series"] for folder in folders or [run]]
    return {name: spread([one[name] for one in each], points) for name in metrics} if folders else each[0]


def spread(curves: Sequence[dict[str, list[Any]]], points: int) -> dict[str, list[float | None]]:
    """Several curves as their median and the range of most of them, on common places."""
    begun = [curve for curve in curves if curve["x"]]
    if not begun:
        return {"x": [], "mean": [], "low": [], "high": []}
    last = max(curve["x"][-1] for curve in begun)
    grid = np.linspace(0.0, last, min(points, 400) + 1)[1:]
    means = [(curve["x"], np.array(curve["mean"], np.float64)) for curve in begun]
    rows = [np.interp(grid, x, mean, left=np.nan, right=np.nan) for x, mean in means]
    low, middle, high = quantiles(np.stack(rows), LEVELS)
    return {"x": grid.tolist(), "mean": listed(middle), "low": listed(low), "high": listed(high)}
