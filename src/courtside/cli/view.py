"""What the user sees while training: a live view on a terminal, plain lines anywhere else.

A view is handed every event through `on`; it draws then and at no other time, so there is no thread to stop.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from courtside.cli.board import Board
from courtside.cli.health_watch import HealthWatch
from courtside.cli.settings import disk_lines, memory_line, settings_lines, settings_table
from courtside.health.verdict import ThresholdResult, window_unit, window_words
from courtside.runs.events import (
    Compiled,
    Compiling,
    Evaluated,
    Evaluating,
    Event,
    Finished,
    Notice,
    Progress,
    Settled,
    Standing,
    Started,
    Turned,
)
from courtside.settings.numbers import count, duration, figure, percent

PLAIN_SECONDS = 2.0
"""At most one plain line in this time."""


def make_view(console: Console | None = None) -> LiveView | PlainView:
    """The live view on a terminal that can show it, plain lines in a pipe, on a dumb terminal or with NO_COLOR."""
    console = console or Console()
    if console.is_terminal and not console.is_dumb_terminal and not os.environ.get("NO_COLOR"):
        return LiveView(console)
    return PlainView(console)


class LiveView:
    """A block at the foot of the terminal that is redrawn in place; the table and notices scroll above it."""

    def __init__(self, console: Console):
        self.console = console
        self.board = Board()
        self.live = Live(console=console, auto_refresh=False, transient=False)

    def __enter__(self) -> LiveView:
        self.live.start()
        # A second Ctrl-C or a kill -9 leaves no time to give a hidden cursor back.
        self.console.show_cursor(True)
        self._draw()
        return self

    def __exit__(self, *error: Any) -> None:
        # "loading ..." is untrue once it is over; figures stay on the screen.
        self.live.transient = not self.board.has_progress
        self.live.stop()

    def on(self, event: Event) -> None:
        self.board.on(event)
        if isinstance(event, Started):
            self._announce(event)
        notes = [event.text] if isinstance(event, Notice | Turned) else []
        for note in [*notes, *self.board.health.gone_lines()]:
            self.console.print(Text(f"note: {note}", style="yellow"))
        if not isinstance(event, Settled):
            self._draw()

    def _announce(self, event: Started) -> None:
        self.console.print(settings_table(event.config))
        self.console.print(Text(f"device: {event.device}"))
        for line in (memory_line(event), *disk_lines(event)):
            self.console.print(Text(line))
        for note in event.notes:
            self.console.print(Text(f"note: {note}", style="yellow"))
        self.console.print()

    def _draw(self) -> None:
        self.live.update(live_block(self.board, self.console.width), refresh=True)


def live_block(board: Board, width: int) -> RenderableType:
    """The whole live view."""
    if not board.has_progress:
        return Text(board.phase, style="bold")
    parts: list[RenderableType] = [progress_bar(board), figures(board, columns=3 if width >= 90 else 2)]
    if board.slow_evaluation is not None:
        parts.append(Text(evaluating_line(board.slow_evaluation), style="bold"))
    if board.filling is not None:
        parts.append(Text(filling_line(board.filling), style="bold"))
    parts += [threshold_line(result, standing) for result, standing in board.thresholds()]
    if board.standing is not None:
        parts.append(Text(standing_line(board.standing), style="bold"))
    parts += [Text(line, style="bold yellow") for line in board.health.lines()]
    return Group(*parts)


def progress_bar(board: Board) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    for ratio in (None, 1, None, None, None):
        grid.add_column(ratio=ratio, no_wrap=True)
    steps = f"{count(board.step)} of {count(board.total_steps)} steps{' each' * board.is_population}"
    name = board.config.env.env_id if board.config else ""
    bar = ProgressBar(total=1.0, completed=board.share_done)
    grid.add_row(Text(name, style="bold"), bar, percent(board.share_done), steps, eta(board))
    return grid


def figures(board: Board, columns: int) -> Table:
    """Names and values side by side, filled column by column."""
    cells = live_figures(board)
    height = -(-len(cells) // columns)
    grid = Table.grid(padding=(0, 2))
    for _ in range(columns):
        grid.add_column(style="dim", no_wrap=True)
        grid.add_column(justify="right", min_width=10, no_wrap=True)
    for line in range(height):
        grid.add_row(*[text for cell in cells[line::height] for text in cell])
    return grid


def live_figures(board: Board) -> list[tuple[str, str]]:
    """Everything the live view shows, column by column: how well, how it learns, how fast."""
    first = [name for name in ("score", "return", "length") if name in board.metrics]
    learning = None if board.rollout_share is None else 1 - board.rollout_share
    updates = f"{count(board.update)} of {count(board.config.num_updates)}" if board.config else count(board.update)
    return [
        *[(name, figure(board.metrics[name])) for name in first],
        ("evaluation", figure(board.evaluation)),
        ("best evaluation", figure(board.best)),
        ("update", updates),
        ("time", duration(board.seconds)),
        *learning_figures(board, [name for name in board.metrics if name not in first]),
        (speed_name(board), whole(board.steps_per_second)),
        ("rollout", percent(board.rollout_share)),
        ("learning", percent(learning)),
    ]


def learning_figures(board: Board, names: list[str]) -> list[tuple[str, str]]:
    """How it learns; a predicted value in one figure with its spread, a replay by how full it is."""
    shown = {name: figure(board.metrics[name]) for name in names}
    if board.config is None or not board.has_replay:
        return list(shown.items())
    value = "-" if board.metrics["value_mean"] is None else f"{shown['value_mean']} ± {shown['value_std']}"
    written = {
        "value_mean": ("value", value),
        "replay": ("replay", f"{whole(board.metrics['replay'])} of {count(board.config.mad4pg.buffer_size)}"),
        "learning_steps": ("learning steps", whole(board.metrics["learning_steps"])),
    }
    cells = [written.get(name, (name, value)) for name, value in shown.items() if name != "value_std"]
    return [*cells, ("learning steps/s", whole(board.learning_steps_per_second))]


def filling_line(filling: tuple[int, int]) -> str:
    """What the run waits for as long as nothing is learned."""
    return f"filling the replay with random actions: {count(filling[0])} of {count(filling[1])} entries"


def evaluating_line(evaluating: Evaluating) -> str:
    return f"evaluating: {count(evaluating.episodes)} whole episodes ..."


def eta(board: Board) -> str:
    rest = " + evaluation" if board.ends_with_evaluation else ""
    return f"ETA {duration(board.seconds_left)}{rest}"


def speed_name(board: Board) -> str:
    return "steps/s of all" if board.is_population else "steps/s"


def whole(number: float | None) -> str:
    return "-" if number is None else count(number)


def threshold_line(result: ThresholdResult, standing: str) -> Text:
    """Whether one threshold holds at this moment."""
    over, now = ("in", "now") if window_unit(result) == "evaluations" else ("over", "mean now")
    goal = f"{result.metric} {result.op} {result.target:g} {over} {window_words(result)}"
    style = "bold green" if standing == "holding" else "yellow"
    return Text.assemble((standing, style), f"  {goal}, {now} {figure(result.value)}")


def standing_line(standing: Standing) -> str:
    """How many members of a population pass."""
    return f"{standing.passing} of {standing.members} members pass now; the figures are those of the median member"


class PlainView:
    """One line now and then, each complete in itself, for pipes, files and dumb terminals."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic):
        self.console = console
        self.board = Board(clock=clock, health=HealthWatch(clock))
        self.clock = clock
        self.due = 0.0
        self.is_compiling = False
        self.line_step = -1
        """Step of the last progress line, so that the end is neither missed nor said twice."""

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def on(self, event: Event) -> None:
        self.board.on(event)
        match event:
            case Started():
                self._announce(event)
            case Compiling() if not self.is_compiling:
                self.is_compiling = True
                self._say("compiling ...")
            case Compiled():
                self._say(self.board.phase)
            case Progress() if self.clock() >= self.due:
                self._progress()
            case Finished() if self.line_step != event.step and self.board.has_progress:
                self._progress()
            case Evaluating() if self.board.slow_evaluation is not None:
                self._say(f"step {count(event.step)} | {evaluating_line(event)}")
            case Evaluated():
                best = " | best so far" if event.is_best else ""
                self._say(f"step {count(event.step)} | evaluation {figure(self.board.evaluation)}{best}")
            case Notice() | Turned():
                self._say(f"note: {event.text}")
        for line in [*self.board.health.fresh_lines(), *self.board.health.gone_lines()]:
            self._say(f"note: {line}")

    def _announce(self, event: Started) -> None:
        sizes = [memory_line(event), *disk_lines(event)]
        lines = [*settings_lines(event.config), f"device: {event.device}", *sizes]
        for line in [*lines, *[f"note: {note}" for note in event.notes]]:
            self._say(line)

    def _progress(self) -> None:
        self.due = self.clock() + PLAIN_SECONDS
        self.line_step = self.board.step
        self._say(progress_line(self.board))

    def _say(self, line: str) -> None:
        # Not through rich: its console wraps lines at 80 columns, and a line of a log should stay one line.
        self.console.file.write(line + "\n")
        self.console.file.flush()


def progress_line(board: Board) -> str:
    """Every figure of the run on one line, padded so that lines align."""
    total = count(board.total_steps)
    head = (
        f"step {count(board.step):>{len(total)}}/{total}{' each' * board.is_population} {percent(board.share_done):>4}"
    )
    counts = ("replay", "learning_steps")
    metrics = [f"{name} {(whole if name in counts else figure)(value):>8}" for name, value in board.metrics.items()]
    fills = [] if board.filling is None else ["filling the replay before learning begins"]
    learns = board.learning_steps_per_second
    if learns is not None:
        metrics.append(f"learning_steps/s {whole(learns):>7}")
    speed = whole(board.steps_per_second)
    tail = [f"{speed_name(board)} {speed:>9}", f"rollout {percent(board.rollout_share):>4}", eta(board)]
    passing = [] if board.standing is None else [f"passing {board.standing.passing}/{board.standing.members}"]
    return " | ".join([head, *passing, *metrics, *tail, *fills])
