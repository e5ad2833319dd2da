"""What a search found, for people: a ranked table, the final round on fresh seeds, and which settings mattered.

`write_report` puts `report.md`, `trials.csv`, `best.json` (a preset file to train from) and `plots/` into the run folder.
Everything is made from `search.json` and Optuna's file, so it can be made again at any time. No JAX here.
"""

from __future__ import annotations

import csv
import io
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from courtside import files
from courtside.errors import CourtsideError
from courtside.experiments.tune.axes import same, short, word
from courtside.experiments.tune.importance import Importance, find_importance
from courtside.experiments.tune.space import changes
from courtside.experiments.tune.trials import WINNER, FinalRow, Search, Settings, Trial, place_of, read_search
from courtside.health.statistics import wilson_interval
from courtside.runs import trust
from courtside.settings import config as configs
from courtside.settings.presets.files import BEST, write_preset

REPORT, TRIALS, PLOTS = "report.md", "trials.csv", "plots"
SHOWN_IN_TERMINAL, SHOWN_IN_REPORT = 5, 30
LINE, INDENT = 100, " " * 6
Cells = list[str]


@dataclass(frozen=True)
class SearchReport:
    """All that a report is made from."""

    run_dir: Path
    search: Search
    trials: tuple[Trial, ...]
    ranking: tuple[Trial, ...]
    """One trial for each setting, that of the furthest stage it came to; the best first."""
    importance: Importance

    @property
    def winner(self) -> FinalRow | None:
        return next((row for row in self.search.finals if row.name == WINNER), None)


def write_report(run_dir: str | Path) -> SearchReport:
    """Make the report and everything beside it."""
    return write_files(make_report(run_dir))


def write_files(report: SearchReport) -> SearchReport:
    """Write what people read and use; plots are left out where matplotlib is missing."""
    files.write_bytes(report.run_dir / TRIALS, trials_csv(report.search, report.trials).encode())
    write_best(report)
    plots, note = _draw(report)
    files.write_bytes(report.run_dir / REPORT, "\n".join([*markdown(report, plots), *note, ""]).encode())
    return report


def make_report(run_dir: str | Path) -> SearchReport:
    from courtside.experiments.tune.study import read_trials

    return from_trials(Path(run_dir), read_search(run_dir), tuple(read_trials(run_dir)))


def from_trials(run_dir: Path, search: Search, trials: tuple[Trial, ...]) -> SearchReport:
    return SearchReport(run_dir, search, trials, rank(trials, search.winner), find_importance(search.space, trials))


def _draw(report: SearchReport) -> tuple[list[Path], list[str]]:
    """The pictures, and a line where there are none: a search is not lost for want of them."""
    from courtside.experiments.tune import plots

    try:
        return plots.draw_all(report, report.run_dir / PLOTS), []
    except CourtsideError as error:
        return [], ["", f"There are no plots: {error}"]


# --- ranking -------------------------------------------------------------------------------------------------------


def rank(trials: Iterable[Trial], winner: int | None = None) -> tuple[Trial, ...]:
    """Settings by the furthest stage they came to, then by their score there; the search's own winner first."""
    furthest: dict[int, Trial] = {}
    for trial in trials:
        origin = trial.number if trial.origin is None else trial.origin
        if origin not in furthest or trial.stage > furthest[origin].stage:
            furthest[origin] = trial
    return tuple(sorted(furthest.values(), key=lambda t: place_of(t, winner)))


def passes(hits: int, of: int) -> str:
    """3 of 4 -> `3 of 4 (30-95%)`, the 95% interval of the true share."""
    low, high = wilson_interval(hits, of)
    return f"{hits} of {of} ({100 * low:.0f}-{100 * high:.0f}%)"


def differing(search: Search, settings: Settings) -> dict[str, str]:
    """What is set other than in the search's own config, as words, in the order of the space."""
    config = search.base
    base = {name: value for part in config.groups for name, value in search.config[part].items()}
    meant = changes(config, settings)
    order = {one["name"]: i for i, one in enumerate(search.space)}
    names = sorted(settings, key=lambda name: (order.get(name, len(order)), name))
    return {name: word(settings[name]) for name in names if not same(meant[name], base.get(name))}


def in_words(search: Search, settings: Settings) -> str:
    """`learning_rate 7e-4, gamma 0.97`; `as the preset` where nothing differs."""
    words = differing(search, settings)
    return ", ".join(f"{name} {value}" for name, value in words.items()) or "as the preset"


def trial_cells(search: Search, place: int, trial: Trial) -> Cells:
    """One row of the ranked table."""
    seeds = len(trial.seeds)
    passed = passes(round(trial.pass_share * seeds), seeds) if search.config["thresholds"] else "-"
    return [
        str(place), str(trial.number), str(trial.stage), passed, _figure(search, trial.worst_tenth),
        _steps(trial.steps_to_pass), _figure(search, trial.score), in_words(search, trial.settings),
    ]  # fmt: skip


RANK_HEAD = ["rank", "trial", "stage", "seeds that pass", "worst tenth", "steps to pass", "score", "settings"]
FINAL_HEAD = ["", "seeds that pass", "worst tenth", "steps to pass", "median return", "score", "settings"]


def final_cells(search: Search, row: FinalRow) -> Cells:
    """One row of the final round. A seed that never passed counts as infinitely slow."""
    passed = passes(sum(row.passed), len(row.passed)) if search.config["thresholds"] else "-"
    steps = np.median([math.inf if step is None else step for step in row.steps_to_pass] or [math.inf])
    returns = [value for value in row.returns if value is not None]
    middle = short(float(np.median(returns))) if returns else "-"
    worst, score = _figure(search, row.worst_tenth), _figure(search, row.score)
    return [row.name, passed, worst, _steps(float(steps)), middle, score, in_words(search, row.settings)]


def _figure(search: Search, value: float) -> str:
    """Shares in two digits behind the point; returns, where there are no thresholds, in three digits in all."""
    return f"{value:.2f}" if search.config["thresholds"] else short(value)


def _steps(steps: float | None) -> str:
    return "-" if steps is None or not math.isfinite(steps) else f"{steps:,.0f}"


def trials_csv(search: Search, trials: Iterable[Trial]) -> str:
    """Every trial of every stage, a column for each searched setting."""
    names = [one["name"] for one in search.space]
    facts = ["number", "stage", "origin", "score", "pass_share", "worst_tenth", "steps_to_pass", "steps"]
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow([*facts, "seeds", *names])
    for trial in trials:
        values = (trial.settings.get(name) for name in names)
        chosen = [word(value) if isinstance(value, list | tuple) else value for value in values]
        writer.writerow([*(getattr(trial, fact) for fact in facts), " ".join(map(str, trial.seeds)), *chosen])
    return page.getvalue()


# --- the preset file -----------------------------------------------------------------------------------------------


def write_best(report: SearchReport) -> Path | None:
    """The winner with every setting, as a preset file; nothing before the final round."""
    row = report.winner
    if row is None:
        return None
    search = report.search
    tried = sum(trial.stage == 1 for trial in report.trials)
    about = f"found by `courtside tune {search.preset}` among {tried} settings; {_proof(search, row)}"
    config = configs.from_json(row.config)
    path = write_preset(report.run_dir / BEST, f"{search.preset}-tuned", about, config)
    trust.remember_text(path, config.env)
    return path


def _proof(search: Search, row: FinalRow) -> str:
    if not search.config["thresholds"]:
        return f"the worst tenth of {len(row.seeds)} fresh seeds returns {short(row.worst_tenth)}"
    return f"{sum(row.passed)} of {len(row.passed)} fresh seeds pass"


def conclusion(report: SearchReport) -> str:
    """What came of it, in a sentence or two; says so where the preset itself did better."""
    search, row = report.search, report.winner
    if row is None:
        return "The search has no winner yet: the final round on fresh seeds was not reached."
    text = f"The winner is trial {search.winner}: {_proof(search, row)}."
    if not differing(search, row.settings):
        return f"{text} It has the settings that the search started from: nothing that was tried beat them."
    if search.config["thresholds"] and not any(row.passed):
        text += " Give longer runs (--total-timesteps), more --trials or a wider --space."
    better = [other.name for other in search.finals if other.score > row.score]
    if not better:
        return text
    return f"{text} On these seeds {' and '.join(better)} did better than the winner: it is no improvement on that."


# --- pages ---------------------------------------------------------------------------------------------------------


def terminal_lines(report: SearchReport) -> list[str]:
    """The report for a terminal or a pipe."""
    search = report.search
    finals = [final_cells(search, row) for row in search.finals]
    ranked = [trial_cells(search, i, trial) for i, trial in enumerate(report.ranking[:SHOWN_IN_TERMINAL], 1)]
    lines = ["", "Best settings of the search", *aligned([RANK_HEAD, *ranked])]
    if finals:
        lines += ["", "Final round on fresh seeds", *aligned([FINAL_HEAD, *finals])]
    lines += ["", f"What mattered: {report.importance.sentence()}", conclusion(report)]
    if report.winner is not None:
        lines.append(f"Train it with `courtside train {report.run_dir / BEST}`.")
    return [*lines, f"The full report is {report.run_dir / REPORT}."]


def aligned(rows: Sequence[Cells]) -> list[str]:
    """Cells in columns, and the settings, which may be long, in lines of their own below."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:-1]
    lines = []
    for i, row in enumerate(rows):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip())
        lines += _wrapped(row[-1]) if i else []
    return lines


def _wrapped(settings: str) -> list[str]:
    """Broken between settings, never between a name and its value."""
    glued = settings.replace(", ", ",\n").replace(" ", "\xa0").replace(",\n", ", ")
    lines = textwrap.wrap(glued, LINE, initial_indent=INDENT, subsequent_indent=INDENT)
    return [line.replace("\xa0", " ") for line in lines]


def table(rows: Sequence[Cells]) -> list[str]:
    """Cells as a Markdown table."""
    lines = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in rows]
    return [lines[0], "|---" * len(rows[0]) + "|", *lines[1:]]


def markdown(report: SearchReport, plots: Sequence[Path]) -> list[str]:
    """The whole of `report.md`."""
    search = report.search
    parts = [
        [f"# Search for {search.preset}", "", conclusion(report), "", *_made_how(report)],
        ["", "## Final round", "", *_final_lines(search)],
        ["", "## Ranking", "", *_ranking_lines(report)],
        ["", "## What mattered", "", *_importance_lines(report.importance)],
        ["", "## Plots", "", *(f"![{path.stem}]({PLOTS}/{path.name})" for path in plots)] if plots else [],
    ]
    return [line for part in parts for line in part]


def _made_how(report: SearchReport) -> list[str]:
    """The plan, the time it took, and how to go on."""
    search = report.search
    rows = [[str(s.number), str(s.trials), f"{s.steps:,}", str(s.seeds)] for s in search.stages]
    head = ["stage", "settings", "steps each", "seeds each"]
    where = f" on {search.device}" if search.device else ""
    lines = [*table([head, *rows]), "", f"It took {search.seconds:,.0f} s{where}."]
    if report.winner is not None:
        lines.append(f"`courtside train {report.run_dir / BEST}` trains the winner.")
    return lines


def _final_lines(search: Search) -> list[str]:
    if not search.finals:
        return ["It was not reached."]
    lines = table([FINAL_HEAD, *(final_cells(search, row) for row in search.finals)])
    steps = ", ".join(sorted({f"{row.steps:,}" for row in search.finals}))
    return [
        f"Seeds that no stage had seen, {steps} steps each. The interval is that of the true share, at 95%. "
        "A seed that never passed counts as infinitely slow.", "", *lines,
    ]  # fmt: skip


def _ranking_lines(report: SearchReport) -> list[str]:
    shown = report.ranking[:SHOWN_IN_REPORT]
    rows = [trial_cells(report.search, i, trial) for i, trial in enumerate(shown, 1)]
    rest = len(report.ranking) - len(shown)
    more = f" {rest} more are in {TRIALS}." if rest else ""
    about = "Settings that came furthest first, then by score. Only what differs from the preset is named."
    return [about + more, "", *table([RANK_HEAD, *rows])]


def _importance_lines(importance: Importance) -> list[str]:
    if not importance.shares:
        return [importance.sentence()]
    rows = [[name, f"{100 * share:.0f}%"] for name, share in importance.shares.items()]
    return [importance.sentence(), "", *table([["setting", "share"], *rows])]
