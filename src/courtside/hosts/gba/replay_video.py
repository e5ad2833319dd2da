"""A recorded episode as a film: the console's screens, many times as fast as they were played, above a plot of what was
earned. No JAX here."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from courtside.hosts.gba.core import FRAMES_PER_SECOND
from courtside.hosts.gba.reward_chart import Chart, figure
from courtside.hosts.gba.trajectories import Trajectory, find_episode, read_trajectory, replay
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
