"""Pictures of a search as PNG files: parallel coordinates, one slice per setting, learning curves of the final round.

Few colours: grey for all trials, blue for the best tenth, orange for the winner. Drawn without a display.
"""

from __future__ import annotations

import io
import math
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from courtside import files
from courtside.errors import ConfigError
from courtside.experiments.tune.axes import Axis, make_axes, round_numbers, round_powers, short
from courtside.experiments.tune.curves import Curve, read_curves
from courtside.experiments.tune.trials import Trial
from courtside.health.statistics import quantiles
from courtside.settings.config import Threshold
from courtside.settings.metric_names import RETURN

if TYPE_CHECKING:
    from courtside.experiments.tune.report import SearchReport


GREY, BLUE, ORANGE, INK = "#c4c8cc", "#2a6fb0", "#d95f02", "#333333"
ROW_COLOURS = (ORANGE, BLUE, "#3c8d5a", "#8e5ba6", "#7a7a7a")
"""Of the rows of the final round, in their order."""
GOOD = 0.1
"""Share of the trials drawn as the best."""
SETTLED = 0.1
"""Share of a run left out when the height of a picture is chosen: at first a critic may be off by thousands."""
FLOORS = {"losses/explained_variance": -1.0}
"""Below this a metric says nothing more."""
TALL = 8
"""Heights whose ends differ by this factor may be drawn on a logarithmic scale."""


def draw_all(report: SearchReport, folder: Path) -> list[Path]:
    """Every picture that there is something to show on."""
    mpl = import_matplotlib()
    files.make_folder(folder)
    first = [trial for trial in report.trials if trial.stage == 1 and math.isfinite(trial.score)]
    axes = make_axes(report.search.space, first)
    curves = read_curves(report.run_dir)
    drawn = []
    with mpl.rc_context(STYLE):
        if axes:
            winner = winner_index(first, report)
            drawn.append(_save(parallel(mpl, axes, first, winner), folder / "parallel.png"))
            drawn.append(_save(slices(mpl, axes, first, winner), folder / "slices.png"))
        if curves:
            figure = learning_curves(mpl, curves, report.search.base.thresholds)
            drawn.append(_save(figure, folder / "curves.png"))
    return drawn


STYLE = {
    "font.size": 9, "axes.edgecolor": INK, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK,
    "ytick.color": INK, "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "white",
    "savefig.dpi": 120, "axes.titlesize": 10, "legend.frameon": False,
}  # fmt: skip


def import_matplotlib() -> Any:
    """matplotlib, or one sentence on how to get it. Without pyplot, which would choose a display for the whole process."""
    try:
        import matplotlib
        import matplotlib.figure
        import matplotlib.lines
    except ImportError as error:
        raise ConfigError('plots need matplotlib; install it with `pip install "courtside[tune]"`.') from error
    return matplotlib


def _save(figure: Any, path: Path) -> Path:
    page = io.BytesIO()
    figure.savefig(page, format="png")
    files.write_bytes(path, page.getvalue())
    return path


def winner_index(first: Sequence[Trial], report: SearchReport) -> int | None:
    """Where in stage 1 the winner's setting came up; the best trial so far where there is no winner yet."""
    if not report.ranking:
        return None
    best = report.ranking[0]
    origin = best.number if best.origin is None else best.origin
    return next((i for i, trial in enumerate(first) if trial.number == origin), None)


def best_tenth(scores: Float[np.ndarray, "N"]) -> np.ndarray:
    """Indices of the best trials, the best last."""
    count = max(1, math.ceil(GOOD * scores.size))
    return np.argsort(scores, kind="stable")[-count:]


# --- parallel coordinates ------------------------------------------------------------------------------------------


def parallel(mpl: Any, axes: Sequence[Axis], trials: Sequence[Trial], winner: int | None) -> Any:
    """One vertical line per setting, one path per trial from setting to setting and on to its score."""
    scores = np.asarray([trial.score for trial in trials], np.float64)
    columns = [*axes, score_axis(scores)]
    # Words are moved apart a little, so that paths do not hide each other.
    spread = [axis.places + (0.4 * _jitter(axis.places.size) if axis.words else 0.0) for axis in columns]
    heights = np.stack([_scaled(axis, places) for axis, places in zip(columns, spread, strict=True)], axis=1)
    figure = mpl.figure.Figure(figsize=(1.25 * len(columns) + 0.8, 4.8), layout="constrained")
    area = figure.subplots()
    good = best_tenth(scores)
    at = np.arange(len(columns))
    area.plot(at, heights.T, color=GREY, lw=0.6, alpha=0.55, zorder=1)
    area.plot(at, heights[good].T, color=BLUE, lw=1.1, alpha=0.8, zorder=2)
    if winner is not None:
        area.plot(at, heights[winner], color=ORANGE, lw=2.4, zorder=3)
    for i, axis in enumerate(columns):
        _draw_axis(area, i, axis)
    area.set_xlim(-0.6, len(columns) - 0.6)
    area.set_ylim(-0.03, 1.04)
    area.axis("off")
    _legend(
        mpl, figure, f"Stage 1: {len(trials)} settings, each a path from value to value and on to its score", winner
    )
    return figure


def score_axis(scores: Float[np.ndarray, "N"]) -> Axis:
    low, high = float(scores.min()), float(scores.max())
    return Axis("score", scores, low, high if high > low else low + 1.0)


def _scaled(axis: Axis, places: Any) -> Any:
    """Places from 0 at the bottom to 1 at the top: each word has a band of its own, numbers have the whole height."""
    if axis.words:
        return (places + 0.5) / len(axis.words)
    return (places - axis.low) / (axis.high - axis.low)


def _jitter(count: int) -> Float[np.ndarray, "N"]:
    """Evenly scattered in ±0.5, the same every time (multiples of the golden ratio)."""
    return (np.arange(count) * 0.618034) % 1.0 - 0.5


def _draw_axis(area: Any, i: int, axis: Axis) -> None:
    """The line, its labels to the left, the setting's name above."""
    area.plot([i, i], [0, 1], color=INK, lw=0.8, zorder=4)
    for place, text in axis.ticks(6):
        height = _scaled(axis, place)
        area.plot([i - 0.04, i], [height, height], color=INK, lw=0.8, zorder=4)
        backing = {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6}
        area.text(i - 0.07, height, text, ha="right", va="center", fontsize=7.5, bbox=backing, zorder=5)
    area.text(i, 1.05, axis.name.replace("_", "\n"), ha="center", va="bottom", fontsize=9, fontweight="bold")


def _legend(mpl: Any, figure: Any, title: str, winner: int | None) -> None:
    lines = [mpl.lines.Line2D([], [], color=GREY, lw=2), mpl.lines.Line2D([], [], color=BLUE, lw=2)]
    words = ["all", "best tenth"]
    if winner is not None:
        lines.append(mpl.lines.Line2D([], [], color=ORANGE, lw=2.5))
        words.append("winner")
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    figure.legend(lines, words, loc="outside lower left", ncols=len(words))


# --- slices --------------------------------------------------------------------------------------------------------


def slices(mpl: Any, axes: Sequence[Axis], trials: Sequence[Trial], winner: int | None) -> Any:
    """The score of every trial against each setting, with the median along it."""
    scores = np.asarray([trial.score for trial in trials], np.float64)
    num_columns = min(4, len(axes))
    num_rows = -(-len(axes) // num_columns)
    size = (2.7 * num_columns + 0.6, 2.3 * num_rows + 0.8)
    figure = mpl.figure.Figure(figsize=size, layout="constrained")
    grid = figure.subplots(num_rows, num_columns, sharey=True, squeeze=False)
    for area, axis in zip(grid.flat, axes, strict=False):
        _slice(area, axis, scores, winner)
    for area in grid.flat[len(axes) :]:
        area.axis("off")
    for row in grid:
        row[0].set_ylabel("score")
    _legend(
        mpl, figure, f"Stage 1: score of {len(trials)} settings against each setting; the line is the median", winner
    )
    return figure


def _slice(area: Any, axis: Axis, scores: Float[np.ndarray, "N"], winner: int | None) -> None:
    good = best_tenth(scores)
    across = axis.places + (0.5 * _jitter(axis.places.size) if axis.words else 0.0)
    size = min(40.0, max(9.0, 1500 / scores.size))
    area.scatter(across, scores, s=size, color=GREY, linewidths=0, zorder=1)
    area.scatter(across[good], scores[good], s=1.3 * size, color=BLUE, linewidths=0, zorder=2)
    middle = running_median(axis, scores)
    area.plot(
        *middle, color=INK, lw=1.2, marker="_" if axis.words else None, ms=14, ls="" if axis.words else "-", zorder=3
    )
    if winner is not None:
        area.scatter(
            across[winner], scores[winner], s=size + 50, color=ORANGE, edgecolors="white", linewidths=1, zorder=4
        )
    ticks = axis.ticks(4)
    area.set_xticks([place for place, _ in ticks], [text for _, text in ticks], fontsize=8)
    margin = 0.5 if axis.words else 0.05 * (axis.high - axis.low)
    area.set_xlim(axis.low - margin, axis.high + margin)
    area.set_title(axis.name, fontweight="bold", loc="left")


def running_median(axis: Axis, scores: Float[np.ndarray, "N"], most: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """Median score of equally many trials side by side along the axis, or of each word."""
    if axis.words:
        places = np.unique(axis.places)
        return places, np.asarray([np.median(scores[axis.places == place]) for place in places])
    order = np.argsort(axis.places, kind="stable")
    parts = np.array_split(order, max(1, min(most, scores.size // 8)))
    across, along = (np.asarray([np.median(column[part]) for part in parts]) for column in (axis.places, scores))
    return across, along


# --- learning curves -----------------------------------------------------------------------------------------------


def learning_curves(mpl: Any, curves: Sequence[Curve], thresholds: Sequence[Threshold]) -> Any:
    """A panel for each metric of the verdict: median and the middle 80% over the seeds of each row of the final round."""
    goals = {goal.metric: goal for goal in thresholds} or {RETURN: None}
    shown = {metric: goal for metric, goal in goals.items() if all(metric in curve.metrics for curve in curves)}
    num_columns = min(2, len(shown))
    num_rows = -(-len(shown) // max(1, num_columns))
    size = (4.6 * num_columns + 0.4, 2.9 * num_rows + 0.9)
    figure = mpl.figure.Figure(figsize=size, layout="constrained")
    grid = figure.subplots(num_rows, num_columns, squeeze=False)
    for area, (metric, goal) in zip(grid.flat, shown.items(), strict=False):
        _panel(area, curves, metric, goal)
    for area in grid.flat[len(shown) :]:
        area.axis("off")
    figure.suptitle("Final round: median and middle 80% of fresh seeds", x=0.01, ha="left", fontsize=11)
    handles = [mpl.lines.Line2D([], [], color=_row_colour(i), lw=2.5) for i in range(len(curves))]
    counts = [len(next(iter(curve.metrics.values()))) for curve in curves]
    labels = [f"{textwrap.shorten(c.name, 24)} ({count} seeds)" for c, count in zip(curves, counts, strict=True)]
    figure.legend(handles, labels, loc="outside lower left", ncols=2 * num_columns)
    return figure


def _row_colour(i: int) -> str:
    return ROW_COLOURS[min(i, len(ROW_COLOURS) - 1)]


def _panel(area: Any, curves: Sequence[Curve], metric: str, goal: Threshold | None) -> None:
    bands = [quantiles(curve.metrics[metric], (0.1, 0.5, 0.9)) for curve in curves]
    for i, (curve, band) in enumerate(zip(curves, bands, strict=True)):
        area.fill_between(curve.steps, band[0], band[2], color=_row_colour(i), alpha=0.15, linewidth=0)
        area.plot(curve.steps, band[1], color=_row_colour(i), lw=1.6)
    if goal is not None:
        area.axhline(goal.value, color=INK, lw=1, ls=(0, (4, 3)))
    low, high = _limits(bands, metric, goal)
    if is_tall(low, high, goal):
        area.set_yscale("log")
        ticks = [10**place for place in round_powers(math.log10(low), math.log10(high), 6)]
        area.set_yticks(ticks, [short(tick) for tick in ticks])
        area.minorticks_off()
    area.set_ylim(low, high)
    last = max(float(curve.steps[-1]) for curve in curves)
    ticks = round_numbers(0, last, 6)
    area.set_xticks(ticks, [_step_word(tick) for tick in ticks])
    area.set_xlim(0, last)
    bound = "" if goal is None else f", must be {goal.op} {short(float(goal.value))}"
    area.set_title(f"{metric.rpartition('/')[2]}{bound}", fontweight="bold", loc="left")
    area.set_xlabel("steps")


def _limits(bands: Sequence[np.ndarray], metric: str, goal: Threshold | None) -> tuple[float, float]:
    """Heights that show the settled part of every curve and the bound."""
    settled = [band[:, int(SETTLED * band.shape[1]) :] for band in bands]
    values = np.concatenate([part.ravel() for part in settled])
    marks = [*values[np.isfinite(values)], *([] if goal is None else [goal.value])] or [0.0, 1.0]
    low, high = max(float(min(marks)), FLOORS.get(metric, -math.inf)), float(max(marks))
    if is_tall(low, high, goal):
        return low / 1.2, high * 1.2
    pad = 0.06 * (high - low) or 0.5
    return low - pad, high + pad


def is_tall(low: float, high: float, goal: Threshold | None) -> bool:
    """Whether a bound from above, such as that of a length, would lie flat on the ground of a linear scale."""
    return goal is not None and goal.op in ("<", "<=") and low > 0 and high > TALL * low


def _step_word(steps: float) -> str:
    """1500000 -> 1.5M, 50000 -> 50k."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if steps >= size:
            return f"{steps / size:.4g}{letter}"
    return f"{steps:.0f}"
