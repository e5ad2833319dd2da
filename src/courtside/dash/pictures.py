"""Learning curves as a picture: a panel for each metric, a line and its band for each run, thresholds as dashed lines.

The band of a run holds the middle 80% of its updates around a point, that of a population the middle 80% of its members. Drawn
without a display. No JAX here.
"""

from __future__ import annotations

import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from courtside.dash import groups
from courtside.dash.cards import read_config
from courtside.dash.details import metric_names
from courtside.dash.lines import LineFiles
from courtside.dash.series import Axis
from courtside.dash.shelf import kind_of, logged_in, members_of
from courtside.errors import ConfigError
from courtside.experiments.tune.axes import short
from courtside.experiments.tune.plots import INK, STYLE, import_matplotlib
from courtside.settings.metric_names import score_metric
from courtside.settings.values import unknown_name

ENDINGS = (".png", ".svg", ".pdf")
POINTS = 400
MOST_PANELS = 12
COLOURS = ("#1d5ca6", "#b4471f", "#14713f", "#7a3fa8", "#8a5f00", "#0b7480", "#a8296f", "#55615a")
DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
"""The same as on the page: colours repeat after eight curves, dashes differ from curve to curve."""
ALONG = {"step": "steps", "update": "updates", "time": "seconds of training"}
SIGNS = {">=": "≥", "<=": "≤"}
BACKING = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
Curve = Mapping[str, Sequence[float | None]]


def check_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise ConfigError(
            f"{path} ends in {path.suffix or 'nothing'!r}, but a plot is written as {', '.join(ENDINGS)}."
        )


def draw(runs: Mapping[str, Path], names: Sequence[str], axis: Axis, ending: str) -> bytes:
    """The picture's file."""
    mpl, files = import_matplotlib(), LineFiles()
    metrics = find_metrics(files, runs, names)
    curves = {name: groups.read_curves(files, run, metrics, axis, POINTS) for name, run in runs.items()}
    with mpl.rc_context(STYLE | {"text.parse_math": False, "savefig.dpi": 150}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # letters of a name that the font does not have
        figure = make_figure(mpl, metrics, curves, list(runs.values()), axis)
        page = io.BytesIO()
        figure.savefig(page, format=ending.lstrip(".").lower())
    return page.getvalue()


def find_metrics(files: LineFiles, runs: Mapping[str, Path], names: Sequence[str]) -> list[str]:
    """Full names of what is asked for, which may be told without their group; the score where nothing is."""
    for name, run in runs.items():
        if kind_of(run) == "search":
            raise ConfigError(f"{name} is a search; its pictures are in {run / 'plots'}, and plots are drawn of runs.")
    metrics = [*dict.fromkeys(each for run in runs.values() for each in metric_names(files, logged_in(run)))]
    if not metrics:
        raise ConfigError(f"{' and '.join(runs)} logged no metrics yet, so there is nothing to draw.")
    if not names:
        names = [score_metric(read_config(next(iter(runs.values()))))]
    wanted = [*dict.fromkeys(_full_name(name, metrics) for name in names)]
    if len(wanted) > MOST_PANELS:
        raise ConfigError(f"{len(wanted)} metrics were named; one picture has room for {MOST_PANELS}.")
    return wanted


def _full_name(name: str, metrics: Sequence[str]) -> str:
    if name in metrics:
        return name
    ends = [each for each in metrics if each.rpartition("/")[2] == name]
    if not ends:
        raise ConfigError(unknown_name("metric", name, list(metrics)))
    return ends[0]


# --- the picture ---------------------------------------------------------------------------------------------------


def make_figure(
    mpl: Any, metrics: Sequence[str], curves: Mapping[str, Mapping[str, Curve]], folders: Sequence[Path], axis: Axis
) -> Any:
    num_columns = 1 if len(metrics) == 1 else 2
    num_rows = -(-len(metrics) // num_columns)
    size = (7.2 if num_columns == 1 else 10.4, (3.6 if num_columns == 1 else 2.9) * num_rows + 0.25 * len(curves) + 0.3)
    figure = mpl.figure.Figure(figsize=size, layout="constrained")
    grid = figure.subplots(num_rows, num_columns, squeeze=False)
    for area, metric in zip(grid.flat, metrics, strict=False):
        draw_panel(area, metric, [each[metric] for each in curves.values()], axis)
        draw_thresholds(area, metric, folders)
    for area in grid.flat[len(metrics) :]:
        area.axis("off")
    add_legend(mpl, figure, list(curves), folders)
    return figure


def draw_panel(area: Any, metric: str, curves: Sequence[Curve], axis: Axis) -> None:
    for i, curve in enumerate(curves):
        x, mean, low, high = (np.array(curve[name], np.float64) for name in ("x", "mean", "low", "high"))
        colour, marker = COLOURS[i % len(COLOURS)], "o" if x.size == 1 else None
        area.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
        area.plot(x, mean, color=colour, lw=1.5, ls=DASHES[i % len(DASHES)], marker=marker, ms=4)
    area.set_title(textwrap.shorten(metric, 70), fontweight="bold", loc="left")
    area.set_xlabel(ALONG[axis])
    area.set_xlim(left=0)
    area.xaxis.set_major_formatter(lambda value, _: short_count(value))
    area.grid(color="#e8ece9", lw=0.8)
    area.set_axisbelow(True)


def draw_thresholds(area: Any, metric: str, folders: Sequence[Path]) -> None:
    """What the runs are asked for, each bound once."""
    bounds = dict.fromkeys(
        (each.op, each.value) for run in folders for each in read_config(run).thresholds if each.metric == metric
    )
    for op, value in bounds:
        area.axhline(value, color=INK, lw=1, ls=(0, (4, 3)))
        words = f"asked: {SIGNS.get(op, op)} {short(float(value))}"
        place = {"xycoords": ("axes fraction", "data"), "xytext": (-2, 3), "textcoords": "offset points", "ha": "right"}
        area.annotate(words, (1, value), fontsize=8, bbox=BACKING, **place)


def add_legend(mpl: Any, figure: Any, names: Sequence[str], folders: Sequence[Path]) -> None:
    lines = [
        mpl.lines.Line2D([], [], color=COLOURS[i % len(COLOURS)], lw=2, ls=DASHES[i % len(DASHES)])
        for i in range(len(names))
    ]
    counts = [len(members_of(run)) for run in folders]
    bands = [f" (median and middle 80% of {count} members)" if count else "" for count in counts]
    words = [f" {textwrap.shorten(name, 80)}{band}" for name, band in zip(names, bands, strict=True)]
    figure.legend(lines, words, loc="outside lower left", ncols=1)


def short_count(value: float) -> str:
    """1500000 -> 1.5M, 50000 -> 50k."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
