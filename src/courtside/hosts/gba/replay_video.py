"""A recorded episode as a film: the console's screens, many times as fast as they were played, above a plot of what was earned.

The plot has a line for each component of the rewards over the whole episode, dim where it has yet to come. Only what changed is
drawn, and what changed most has colours of its own; the rest is added up. Heights are square roots, so that a component that pays
little is seen beside one that pays much. No JAX here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8

from courtside.envs.drawing import Colour
from courtside.hosts.gba.core import FRAMES_PER_SECOND
from courtside.hosts.gba.trajectories import Trajectory, find_episode, read_trajectory, replay
from courtside.runs.captions import GROUND, INK, LEADING, write_line
from courtside.runs.video import Frame, write_video

__all__ = ["find_episode", "read_trajectory", "render_video"]  # what `courtside replay` needs
SPEED = 16.0
ZOOM = 2
"""Pixels of the film for each of the console's, a side."""
MOST_FPS = 50


def render_video(
    path: str | Path, trajectory: Trajectory, rom: bytes | Path, core: Path | None = None, speed: float = SPEED
) -> int:
    """Play it again into an .mp4 or .gif; returns the number of frames. Raises where it ends otherwise than recorded."""
    every, fps = pace(trajectory.about.frames_per_step, speed)
    return write_video(path, compose(trajectory, rom, core, every, fps), fps)


def pace(frames_per_step: int, speed: float) -> tuple[int, int]:
    """Of how many steps one is shown, and how many of these in a second: no more than screens show."""
    per_second = speed * FRAMES_PER_SECOND / frames_per_step
    every = max(1, math.ceil(per_second / MOST_FPS))
    return every, max(1, round(per_second / every))


def compose(
    trajectory: Trajectory, rom: bytes | Path, core: Path | None = None, every: int = 1, linger: int = 1
) -> Iterator[Frame]:
    """The frames of the film; the last one is shown `linger` times."""
    earned = np.concatenate([[0.0], np.cumsum(trajectory.rewards, dtype=np.float64)])
    chart = None
    for step, screen in replay(trajectory, rom, core, every):
        large = screen.repeat(ZOOM, axis=0).repeat(ZOOM, axis=1)
        chart = chart or Chart(trajectory.about.components, trajectory.totals, large.shape[1])
        told = f"step {step} of {trajectory.num_steps}   {_clock(step, trajectory)}   reward {figure(earned[step])}"
        frame = np.concatenate([large, chart.at(step, told)])
        yield frame
    yield from [frame] * (linger - 1)


def _clock(step: int, trajectory: Trajectory) -> str:
    """How long the console has run by then, in its own time."""
    seconds = int(step * trajectory.about.frames_per_step / FRAMES_PER_SECOND)
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


# --- the plot ----------------------------------------------------------------------------------------------------------

COLOURS: tuple[Colour, ...] = (
    (255, 196, 60), (90, 180, 255), (120, 220, 110), (255, 120, 110), (200, 140, 255), (80, 220, 210), (255, 150, 210),
)  # fmt: skip
REST, REST_COLOUR = "others", (150, 150, 150)
HEIGHT, PAD, LABELS, SCALE, THICKNESS = 120, 6, 58, 2, 2
"""Pixels of the plot, around it, for figures at its left, of a letter's dot, and of a line."""
RULE, LABEL_COLOUR = 58, (140, 140, 140)
DIM = 0.3
"""Of the brightness that is left of what has yet to come."""
COLUMNS = 2
"""Of names below the plot."""


@dataclass(frozen=True)
class Line:
    """One component, or the rest of them."""

    name: str
    values: Float[np.ndarray, "S"]
    """Gained since the start, at the start and after every step."""
    colour: Colour


def choose_lines(names: tuple[str, ...], totals: Float[np.ndarray, "S C"]) -> list[Line]:
    """Those that changed at all, what changed most first."""
    gained = totals.astype(np.float64) - totals[:1]
    size = np.abs(gained).max(axis=0, initial=0.0)
    order = [int(i) for i in np.argsort(-size, kind="stable") if size[i] > 0.0]
    room = len(order) if len(order) <= len(COLOURS) + 1 else len(COLOURS)
    lines = [
        Line(names[i], gained[:, i], colour) for i, colour in zip(order[:room], (*COLOURS, REST_COLOUR), strict=False)
    ]
    return lines + ([Line(REST, gained[:, order[room:]].sum(axis=1), REST_COLOUR)] if order[room:] else [])


class Chart:
    """Drawn once; a copy of it goes below every frame."""

    def __init__(self, names: tuple[str, ...], totals: Float[np.ndarray, "S C"], width: int) -> None:
        self.lines, self._last = choose_lines(names, totals), len(totals) - 1
        self._rows = 1 + -(-len(self.lines) // COLUMNS)
        self.height = HEIGHT + 2 * PAD + (self._rows * LEADING) * SCALE
        self._plot = np.full((HEIGHT + 2 * PAD, width, 3), GROUND, np.uint8)
        low = min((float(line.values.min()) for line in self.lines), default=0.0)
        high = max((float(line.values.max()) for line in self.lines), default=0.0)
        self._draw(low, high if high > low else 1.0)

    def _draw(self, low: float, high: float) -> None:
        """All lines on one scale, the first on top, and rules to read it by."""
        plot, inside = self._plot[PAD:-PAD], self._plot[PAD:-PAD, LABELS:-PAD]
        for value in (0.0, high, low, high / 4, low / 4):
            row = int(_height(np.array([value]), low, high)[0])
            inside[row] = RULE
            top = min(max(0, row - 2 * SCALE), HEIGHT - 5 * SCALE)
            if plot[top : top + 5 * SCALE, :LABELS].max() == GROUND:
                write_line(plot[:, :LABELS], figure(value), top, PAD, SCALE, LABEL_COLOUR)
        columns = np.linspace(0, self._last, inside.shape[1]).astype(int)
        for line in reversed(self.lines):
            _trace(inside, _height(line.values[columns], low, high), line.colour)

    def at(self, step: int, told: str) -> UInt8[np.ndarray, "h w 3"]:
        """The plot as of a step, what each component is worth by then, and a line of text above these."""
        plot = self._plot.copy()
        place = LABELS + round((plot.shape[1] - LABELS - PAD - 1) * step / max(1, self._last))
        plot[:, place + 1 :] = GROUND + (plot[:, place + 1 :].astype(np.float32) - GROUND) * DIM
        plot[PAD:-PAD, place] = INK
        words = np.full((self.height - len(plot), plot.shape[1], 3), GROUND, np.uint8)
        write_line(words, told, 0, PAD, SCALE)
        for number, line in enumerate(self.lines):
            left = PAD + number % COLUMNS * (plot.shape[1] // COLUMNS)
            top = (1 + number // COLUMNS) * LEADING * SCALE
            write_line(words, f"{line.name} {figure(float(line.values[step]))}", top, left, SCALE, line.colour)
        return np.concatenate([plot, words])


def _height(values: Float[np.ndarray, "n"], low: float, high: float) -> np.ndarray:
    """The row of each value, 0 at the top."""
    floor, value, ceiling = (np.sign(x) * np.sqrt(np.abs(x)) for x in (low, values, high))
    share = (value - floor) / (ceiling - floor)
    return np.rint((1.0 - share) * (HEIGHT - THICKNESS)).astype(int)


def _trace(picture: np.ndarray, rows: np.ndarray, colour: Colour) -> None:
    """A line from column to column; where it jumps, the jump is drawn too."""
    before = np.concatenate([rows[:1], rows[:-1]])
    tops, ends = np.minimum(rows, before), np.maximum(rows, before) + THICKNESS
    for column, (top, end) in enumerate(zip(tops.tolist(), ends.tolist(), strict=True)):
        picture[top:end, column] = colour


def figure(value: float) -> str:
    """Two decimals at most, fewer where it is large."""
    decimals = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2
    text = f"{value:.{decimals}f}"
    text = text.rstrip("0").rstrip(".") if decimals else text
    return "0" if text == "-0" else text
