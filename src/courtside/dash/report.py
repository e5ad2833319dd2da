"""A page of `courtside watch` as one file that opens from disk: the answers of the server lie in it, beside the page itself.

Of a run its own page, of a population or a search theirs, of several runs the comparison. Names and settings of runs are
data in the file, never markup. No JAX here, and no server.
"""

from __future__ import annotations

import html
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from courtside import __version__
from courtside.dash import details, groups
from courtside.dash.bundle import data_url, fill_page
from courtside.dash.cards import make_card, read_config
from courtside.dash.judging import judge
from courtside.dash.lines import LineFiles
from courtside.dash.liveness import pulse_of
from courtside.dash.member_logs import MemberLogs
from courtside.dash.opinions import Opinions, finding_json
from courtside.dash.playable import list_episodes
from courtside.dash.series import AXES
from courtside.dash.shelf import kind_of, parent_of
from courtside.errors import ConfigError
from courtside.files import json_ready, read_bytes
from courtside.runs.wall_layout import FILE as WALL
from courtside.settings.config import Config
from courtside.settings.kinds import all_kinds

GENERATOR = b'<meta name="generator" content="courtside report">'
"""What a report of ours is known by."""
POINTS, FEWEST_POINTS, ALL_POINTS = 400, 50, 100_000
"""Points of a curve, at most and at least, and of all curves together: so many make about 3 MB."""
X_DIGITS, DIGITS = 10, 6
"""Digits that matter of a place along a run, and of a value."""
COLUMNS = ("x", "mean", "low", "high")
MOST_BYTES = 4_000_000
"""Of a picture; a larger one is left out."""
PNG = b"\x89PNG\r\n\x1a\n"


class Contents(NamedTuple):
    """What one page shows."""

    page: str
    """Name of the page: run, population, search or compare."""
    answers: dict[str, Any]
    """Question of the page -> what the server would answer."""
    curves: dict[str, Any]
    """Axis -> metric -> a curve, or one for each run, as places among the lists."""
    lists: list[list[float | None]]


def make_report(runs: Mapping[str, Path]) -> bytes:
    """The whole file about these runs, by their names."""
    contents = describe(dict(runs))
    place = {"pathname": f"/{contents.page}", "search": "?" + urlencode([("name", name) for name in runs])}
    record = place | {"answers": contents.answers, "curves": contents.curves, "lists": contents.lists}
    date = time.strftime("%Y-%m-%d %H:%M")
    words = {
        "title": html.escape(f"{', '.join(runs)} · courtside report"), "date": date, "report": embed(record),
        "pictures": show_pictures(*runs.values()) if contents.page == "run" else "", "foot": write_foot(list(runs), date),
    }  # fmt: skip
    return fill_page(words, f"pages/{contents.page}.js").encode()


def embed(record: Any) -> str:
    """JSON that can stand inside a script element: nothing in it can end that, or open a comment."""
    return json.dumps(json_ready(record), allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def write_foot(names: list[str], date: str) -> str:
    folders = ", ".join(f'<span class="mono">{html.escape(name)}</span>' for name in names)
    what = "run folder" if len(names) == 1 else "run folders"
    return f"Written on {date} by courtside {html.escape(__version__)} from the {what} {folders}."


def check_overwrite(path: Path) -> None:
    """Refuse to replace a file that is something else than an older report."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        if GENERATOR not in file.read(2_000):
            raise ConfigError(f"{path} is there already and is no report of ours; name another file, or add --force.")


# --- what the pages show -------------------------------------------------------------------------------------------


def describe(runs: dict[str, Path]) -> Contents:
    if len(runs) > 1:
        return describe_comparison(runs)
    ((name, run),) = runs.items()
    kind = kind_of(run) or "run"
    if kind == "run":
        return describe_run(name, run)
    card = make_card(name, run, pulse_of(run)).to_json()
    answer = groups.describe_population(MemberLogs(), run) if kind == "population" else groups.describe_search(run)
    return Contents(kind, {kind: {"card": card} | answer, "events": {"events": details.read_story(run)}}, {}, [])


def describe_run(name: str, run: Path) -> Contents:
    files, lists = LineFiles(), Lists()
    config, metrics = read_config(run), details.metric_names(files, run)
    points = points_for(len(metrics))
    curves, clock = {}, {}
    for axis in AXES:
        answer = details.read_series(files, run, metrics, axis, points, None)
        curves[axis] = {metric: lists.curve(series) for metric, series in answer["series"].items()}
        clock = answer["clock"]
    answers = answer_run(files, name, run, config, tuple(metrics)) | {"series": {"whole": True, "clock": clock}}
    return Contents("run", answers, curves, lists.all)


def answer_run(files: LineFiles, name: str, run: Path, config: Config, metrics: tuple[str, ...]) -> dict[str, Any]:
    """The same as `dash.server` answers to the page of a run."""
    card = make_card(name, run, pulse_of(run))
    parts = {"wall": (run / WALL).is_file(), "replays": len(list_episodes(run, config))}
    findings = [finding_json(each, card.score_name, metrics) for each in Opinions(files).look(run, None)]
    about = {"card": card.to_json(), "parent": parent_of(name), "parts": parts}
    return {
        "run": about | details.describe_run(files, run, judge),
        "findings": {"findings": findings, "looked_at": card.step},
        "events": {"events": details.read_story(run)},
    }


def describe_comparison(runs: dict[str, Path]) -> Contents:
    files, lists = LineFiles(), Lists()
    answer = groups.compare(files, runs, None, "step", POINTS)
    metrics = [*dict.fromkeys([answer["metric"], *answer["metrics"]])]
    points = points_for(len(metrics) * len(runs))
    curves = {}
    for axis in AXES:
        each = [groups.read_curves(files, run, metrics, axis, points) for run in runs.values()]
        curves[axis] = {metric: [lists.curve(one[metric]) for one in each] for metric in metrics}
    answer["runs"] = [{key: row[key] for key in ("name", "title", "kind")} for row in answer["runs"]]
    return Contents("compare", {"compare": answer}, curves, lists.all)


def points_for(num_curves: int) -> int:
    return min(POINTS, max(FEWEST_POINTS, ALL_POINTS // max(1, num_curves)))


class Lists:
    """Columns of curves, each kept once: all metrics of a run lie at the same places, and a thin curve is its own band."""

    def __init__(self) -> None:
        self.all: list[list[float | None]] = []
        self._places: dict[tuple[float | None, ...], int] = {}

    def curve(self, series: Mapping[str, list[float | None]]) -> list[int]:
        """Where the columns of a curve are among all lists."""
        return [self._add(series[name], X_DIGITS if name == "x" else DIGITS) for name in COLUMNS]

    def _add(self, numbers: list[float | None], digits: int) -> int:
        column = tuple(shorten(number, digits) for number in numbers)
        if column not in self._places:
            self._places[column] = len(self.all)
            self.all.append(list(column))
        return self._places[column]


def shorten(number: float | None, digits: int) -> float | None:
    """A number with so many digits; whole ones without a point."""
    if number is None:
        return None
    rounded = float(f"{number:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


# --- pictures ------------------------------------------------------------------------------------------------------


def show_pictures(run: Path) -> str:
    """The pictures that lie in a run's folder, as markup."""
    pictures = {WALL: "The newest screens of the envs"}
    for kind in all_kinds():
        pictures |= kind.pictures
    figures = [
        f'<figure class="panel"><h2>{words}</h2><img alt="{words}" src="{data_url("image/png", picture)}"></figure>'
        for name, words in pictures.items() if (picture := read_picture(run / name)) is not None
    ]  # fmt: skip
    return f'<div class="pictures">{"".join(figures)}</div>' if figures else ""


def read_picture(path: Path) -> bytes | None:
    """A PNG of ours; what a link leads to elsewhere must not get into a file that is sent around."""
    try:
        content = read_bytes(path, MOST_BYTES)
    except OSError:
        return None
    return content if content.startswith(PNG) else None
