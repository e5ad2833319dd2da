"""What the user sees of a search: a line for whatever is settled, and on a terminal a bar at the foot."""

from __future__ import annotations

import os
import shlex
import time
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from courtside.cli.closing import SIGNALS, STATUSES, say
from courtside.experiments.tune import news
from courtside.experiments.tune.space import Choice, Range, shapes
from courtside.experiments.tune.trials import FinalRow, Stage, Trial
from courtside.runs.events import Notice
from courtside.settings.numbers import count, duration, figure, percent

PLAIN_SECONDS = 10.0
"""At most one line on how far it is in this time, where there is no bar."""


def make_view(console: Console | None = None) -> TuneView:
    return TuneView(console or Console())


class TuneView:
    """Takes the news of a search; draws when it is told something and at no other time."""

    def __init__(self, console: Console) -> None:
        self.console = console
        shows_bar = console.is_terminal and not console.is_dumb_terminal and not os.environ.get("NO_COLOR")
        self.live = Live(console=console, auto_refresh=False, transient=True) if shows_bar else None
        self.phase = "loading ..."
        self.due = 0.0

    def __enter__(self) -> TuneView:
        if self.live:
            self.live.start()
            self.console.show_cursor(True)
            self._draw(Text(self.phase, style="bold"))
        return self

    def __exit__(self, *error: Any) -> None:
        if self.live:
            self.live.stop()

    def on(self, event: news.News | Notice) -> None:
        for line in lines(event):
            self._say(line)
        match event:
            case news.Measuring():
                self._phase("compiling, and measuring the speed ...")
            case news.BatchBegun():
                self._phase(batch_title(event))
            case news.Worked():
                self._progress(event)

    def _phase(self, phase: str) -> None:
        self.phase = phase
        if self.live:
            self._draw(Text(phase, style="bold"))
        else:
            self._say(phase)

    def _progress(self, event: news.Worked) -> None:
        if self.live:
            self._draw(progress_bar(self.phase, event))
        elif time.monotonic() >= self.due:
            self.due = time.monotonic() + PLAIN_SECONDS
            self._say(progress_line(event))

    def _draw(self, block: Any) -> None:
        if self.live:
            self.live.update(block, refresh=True)

    def _say(self, line: str) -> None:
        if self.live:
            self.console.print(Text(line), soft_wrap=True)
        else:  # not through rich, which would wrap it
            self.console.file.write(line + "\n")
            self.console.file.flush()


def describe_part(part: Range | Choice) -> str:
    if isinstance(part, Choice):
        return ", ".join(map(str, part.values))
    scale = ", log scale" if part.log else ", log scale of 1 - x" if part.from_one else ""
    return f"{part.low:g} to {part.high:g}{scale}"


def lines(event: news.News | Notice) -> list[str]:
    """What is worth a line of its own."""
    match event:
        case Notice():
            return [f"note: {event.text}"]
        case news.Opened():
            return opened_lines(event)
        case news.Planned():
            return plan_lines(event)
        case news.Replanned():
            return [
                f"note: the budget is running out, so stage {event.stage.number} ends after {event.stage.trials} settings."
            ]
        case news.BatchEnded():
            head = f"stage {event.stage}, batch {event.batch} of {event.num_batches}: {event.num_trials} settings done"
            return [f"{head}; best: {trial_words(event.best)}"]
        case news.RowEnded():
            return [f"final round, {row_words(event.row)}"]
    return []


def opened_lines(event: news.Opened) -> list[str]:
    """Where the search is kept, and what is searched."""
    programs = len(shapes(event.space))
    parts = [f"  {part.name:<16} {describe_part(part)}" for part in event.space]
    compiled = "one program" if programs == 1 else f"{programs} shapes, each a program that is compiled once"
    return [f"Search folder: {event.run_dir}", "Searched:", *parts, f"That is {compiled}."]


def plan_lines(event: news.Planned) -> list[str]:
    """The plan, stage by stage."""
    lines = [stage_words(stage) for stage in event.search.stages]
    rows = ", ".join(["the winner", "the preset", *event.search.compare])
    lines.append(f"final round: {rows} on {len(event.search.final_seeds)} fresh seeds")
    if event.trials_done:
        lines.append(f"{event.trials_done} trials are done already.")
    return lines


def stage_words(stage: Stage) -> str:
    seeds = "1 seed" if stage.seeds == 1 else f"{stage.seeds} seeds"
    batches = -(-stage.trials // stage.batch)
    rest = f", in {batches} batches" if batches > 1 else ""
    return f"stage {stage.number}: {stage.trials} settings x {count(stage.steps)} steps x {seeds}{rest}"


def trial_words(trial: Trial) -> str:
    settings = ", ".join(f"{name} {value}" for name, value in trial.settings.items())
    return f"trial {trial.number}, score {figure(trial.score)}, passes {percent(trial.pass_share)} ({settings})"


def row_words(row: FinalRow) -> str:
    return f"{row.name}: {sum(row.passed)} of {len(row.passed)} seeds pass, worst tenth {figure(row.worst_tenth)}"


def batch_title(event: news.BatchBegun) -> str:
    if event.stage == 0:
        return f"final round: {event.members} runs"
    return f"stage {event.stage}, batch {event.batch} of {event.num_batches}: {event.members} runs"


def progress_line(event: news.Worked) -> str:
    done = min(1.0, event.steps_done / max(event.steps_planned, 1))
    left = (event.steps_planned - event.steps_done) / event.speed if event.speed else None
    return f"{percent(done):>4} | steps/s {count(event.speed)} | ETA {duration(left)}"


def progress_bar(phase: str, event: news.Worked) -> Table:
    grid = Table.grid(padding=(0, 1), expand=True)
    for ratio in (None, 1, None):
        grid.add_column(ratio=ratio, no_wrap=True)
    share = min(1.0, event.steps_done / max(event.steps_planned, 1))
    grid.add_row(Text(phase, style="bold"), ProgressBar(total=1.0, completed=share), progress_line(event))
    return grid


def print_closing(console: Console, result: Any) -> None:
    """The report of a finished search, or how to go on with one that was stopped."""
    if result.finished:
        from courtside.experiments.tune.report import make_report, terminal_lines

        say(console, *terminal_lines(make_report(result.run_dir)))
        return
    cause = SIGNALS.get(result.stopped_by or "", result.stopped_by)
    say(console, f"Stopped by {cause}; everything up to here is saved.", f"Search folder: {result.run_dir}")
    say(console, f"Go on with: courtside tune {shlex.quote(str(result.run_dir))}")


def exit_status(result: Any) -> int:
    return 0 if result.finished else STATUSES[result.stopped_by or "SIGTERM"]
