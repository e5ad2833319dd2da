"""The current screens of all training envs as one picture in the run folder, `wall.png`, drawn anew every few seconds.

If asked for, each screen is also a picture of its own, `frames/07.png`; what a kind of envs has to show beside them is drawn
too (`Kind.draws`). Of JAX worlds the states are kept instead, for whoever looks to draw them (`stage`). Only what has its screens at hand is drawn (`hosts.base.ShowsScreens`); other runs have no such
files. Drawing never stops a run: where it fails, a notice says so and no more is drawn.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
from collections.abc import Generator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from courtside import files
from courtside.engines import Engine
from courtside.engines.host_engine import HostEngine
from courtside.engines.jax_engine import JaxEngine
from courtside.errors import describe_error
from courtside.hosts.base import ShowsScreens
from courtside.runs.events import Event, Notice, Settled
from courtside.runs.png import encode_png
from courtside.runs.stage import Stage
from courtside.runs.wall_layout import FILE, GAP, MAX_SCREENS, grid
from courtside.settings.kinds import all_kinds

FRAMES = "frames"
EVERY_SECONDS = 5.0
PAUSE = 100
"""Between two walls the run trains at least this many times as long as the last took: a hundredth at most is spent on them."""
GROUND = 28
"""How grey it is between screens."""
WIDEST = 2_000
"""Pixels; a wider wall is halved until it fits."""


class Wall:
    """Draws whenever it is time to."""

    def __init__(self, engine: Engine | ShowsScreens, folder: Path, singly: bool = False) -> None:
        self._engine = engine if isinstance(engine, ShowsScreens) else None
        self._folder, self._singly, self._due = folder, singly, -math.inf
        self._trouble: str | None = None

    def take_trouble(self) -> str | None:
        """What went wrong and was not told yet; after it nothing more is drawn."""
        trouble, self._trouble = self._trouble, None
        return trouble

    def draw(self) -> None:
        """Replace the files if that is due."""
        begun = time.monotonic()
        if self._engine is None or begun < self._due:
            return
        try:
            screens = self._engine.screens(MAX_SCREENS)
            if screens is None:
                self._engine = None
                return
            files.write_bytes(self._folder / FILE, encode_png(hang(screens)))
            if self._singly:
                write_singly(self._folder / FRAMES, screens)
            for kind in all_kinds():
                if kind.draws:
                    importlib.import_module(kind.draws).draw_run(self._folder)
        except Exception as error:
            self._engine = None
            self._trouble = f"The envs' screens cannot be drawn ({describe_error(error)}), so {FILE} stays as it is; the run goes on."
        done = time.monotonic()
        self._due = done + max(EVERY_SECONDS, PAUSE * (done - begun))


def with_wall(
    events: Generator[Event, None, None], engine: Engine | ShowsScreens, folder: Path, singly: bool = False
) -> Generator[Event, None, None]:
    """The same events, and at quiet moments a wall: between steps where the envs are stepped outside JAX, since an update of
    them may take minutes, and between chunks. Closing it closes them."""
    wall, stage = Wall(engine, folder, singly), find_stage(engine, folder)
    if isinstance(engine, HostEngine):
        engine.on_pause = wall.draw
    with contextlib.closing(events):
        for event in events:
            if isinstance(event, Settled):
                wall.draw()
            told = stage.show(event.state, event.step, event.is_last) if stage and isinstance(event, Settled) else None
            yield from map(Notice, filter(None, (wall.take_trouble(), told)))
            yield event


def find_stage(engine: Engine | ShowsScreens, folder: Path) -> Stage | None:
    """Who keeps the states of a JAX world that can be drawn, for others to draw."""
    can_be_drawn = isinstance(engine, JaxEngine) and hasattr(engine.env, "render")
    return Stage(folder) if can_be_drawn else None


def hang(screens: UInt8[np.ndarray, "B h w 3"]) -> UInt8[np.ndarray, "H W 3"]:
    """All screens as one picture, row by row, with a thin gap around each."""
    rows, columns = grid(len(screens))
    while columns * (screens.shape[2] + GAP) + GAP > WIDEST:
        screens = screens[:, ::2, ::2]
    height, width = screens.shape[1:3]
    tall, wide = height + GAP, width + GAP
    wall = np.full((rows * tall + GAP, columns * wide + GAP, 3), GROUND, np.uint8)
    for number, screen in enumerate(screens):
        top, left = number // columns * tall + GAP, number % columns * wide + GAP
        wall[top : top + height, left : left + width] = screen
    return wall


def write_singly(folder: Path, screens: UInt8[np.ndarray, "B h w 3"]) -> None:
    """Each screen under the number of its env."""
    files.make_folder(folder)
    for number, screen in enumerate(screens):
        files.write_bytes(folder / f"{number:02d}.png", encode_png(screen))
