"""What is shown after training: where the run is, the verdict, and the next commands to type."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from courtside.health.verdict import ThresholdResult, Verdict, longest_window, sentence, window_words
from courtside.settings.config import Config
from courtside.settings.numbers import count, duration, figure
from courtside.training import insurance
from courtside.training.desk import PAGE
from courtside.training.session import Result
from courtside.training.stopping import stop_words

SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", PAGE: "the page"}
STATUSES = {"SIGINT": 130, "SIGTERM": 143, PAGE: 130}
"""Exit status after a signal: 128 and its number; a stop through the page counts as Ctrl-C."""


def close_run(console: Console, result: Any, config: Config | None) -> int:
    """Print how a run or a population ended, and return the exit status."""
    if isinstance(result, Result):
        print_closing(console, result, config)
        return exit_status(result, config)
    from courtside.cli.population_closing import population_status, print_population

    print_population(console, result)
    return population_status(result, config)


def print_closing(console: Console, result: Result, config: Config | None) -> None:
    """Print the summary of a run, finished or stopped."""
    say(console, "", *(finished_lines(result, config) if result.finished else stopped_lines(result)))
    if result.verdict is not None:
        print_verdict(console, result.verdict)
    elif result.finished:
        say(
            console,
            "No verdict: no thresholds are set for this world. `courtside presets` lists settings that have some.",
        )
    if result.checkpoint is not None:
        say(console, *health_lines(result.run_dir), *insurance.closing_lines(result.run_dir))
    say(console, "", "Next:", *[f"  {line}" for line in next_commands(result, config)])


def health_lines(run_dir: Path) -> list[str]:
    """What the log of the run shows; the run is safe on disk, so trouble in here must not end in an error."""
    from courtside.cli.doctor import closing_lines

    try:
        return closing_lines(run_dir)
    except Exception as error:
        return [f"Health: could not be checked ({error})"]


def exit_status(result: Result, config: Config | None) -> int:
    """128 + the signal's number where one stopped the run; else 1 if a pass was required and missed."""
    if not result.finished:
        return STATUSES[result.stopped_by or "SIGTERM"]
    passed = result.verdict is not None and result.verdict.passed
    return 1 if config is not None and config.run.require_pass and not passed else 0


def say(console: Console, *lines: str) -> None:
    """Lines as they are: never wrapped, so that a command can be copied whole."""
    for line in lines:
        console.print(Text(line), soft_wrap=True)


def finished_lines(result: Result, config: Config | None = None) -> list[str]:
    part = (
        f"; the last {count(result.step - result.first_step)} steps, since it was resumed," if result.first_step else ""
    )
    took = f"{count(result.step)} steps, {count(result.update)} updates{part} in {duration(result.seconds)}"
    return [f"Done: {took}.", *score_lines(result, config), f"Run folder: {result.run_dir}"]


def score_lines(result: Result, config: Config | None) -> list[str]:
    """That a score ended the run, and that one ended episodes."""
    stop, cap = result.score_stop, None if config is None else config.env.score_cap
    early = [] if stop is None else [f"Ended by its score: {stop_words(stop)} at step {count(stop.step)}."]
    cut = [] if cap is None else [f"Training episodes were cut at a score of {cap:g} (--score-cap), evaluations not."]
    return early + cut


def stopped_lines(result: Result) -> list[str]:
    cause = SIGNALS.get(result.stopped_by or "", result.stopped_by)
    if result.checkpoint is None:
        saved = "before the first update, so there was nothing to save but the settings"
    else:
        saved = f"at step {count(result.step)}, update {count(result.update)}; everything up to there is saved"
    return [f"Stopped by {cause} {saved}.", f"Run folder: {result.run_dir}"]


def print_verdict(console: Console, verdict: Verdict) -> None:
    """A table on a terminal; the same in sentences where lines are read one by one."""
    *lines, summary = sentence(verdict).splitlines()
    if not console.is_terminal:
        say(console, *lines, *goal_lines(verdict), summary)
        return
    console.print(verdict_table(verdict))
    for line in (*goal_lines(verdict), summary):
        console.print(Text(line))


def goal_lines(verdict: Verdict) -> list[str]:
    """Where the goals come from, those of one source together: what a figure is worth shows beside it."""
    goals: dict[str, list[str]] = {}
    for result in verdict.results:
        if result.source:
            goals.setdefault(result.source, []).append(_goal(result))
    return [f"Goal{'s' * (len(named) > 1)} {', '.join(named)}: {source}." for source, named in goals.items()]


def verdict_table(verdict: Verdict) -> Table:
    """Pass or fail per threshold, since when, and how close it came."""
    title = Text("Verdict: pass", style="bold green") if verdict.passed else Text("Verdict: fail", style="bold red")
    windows = " / ".join(dict.fromkeys(window_words(result) for result in verdict.results))
    title.append(f", over {windows}", style="not bold default")
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), title=title, title_justify="left")
    table.add_column("threshold", overflow="fold")
    table.add_column("result", no_wrap=True)
    for name in ("mean", "worst stretch", "since step", "update"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in verdict.results:
        table.add_row(*verdict_row(result))
    return table


def verdict_row(result: ThresholdResult) -> tuple[str | Text, ...]:
    mark = Text("pass", style="bold green") if result.passed else Text("fail", style="bold red")
    since = ["-" if number is None else count(number) for number in (result.since_step, result.since_update)]
    return _goal(result), mark, figure(result.value), figure(result.worst), *since


def _goal(result: ThresholdResult) -> str:
    """Without the kind that its metric's name starts with, so that the rest fits on a narrow terminal."""
    return f"{result.metric.partition('/')[2] or result.metric} {result.op} {result.target:g}"


def _more_steps(result: Result, config: Config | None) -> int:
    """Twice as many, and enough for a verdict: the window, and one more of it for learning."""
    window = longest_window(config.thresholds) if config else 0
    return max(2 * (config.run.total_timesteps if config else result.step), 2 * window)


def next_commands(result: Result, config: Config | None) -> list[str]:
    """What one may want to do next, and the command line to copy for it."""
    run = shlex.quote(str(result.run_dir))
    commands = {}
    if not result.finished:
        commands["go on"] = f"courtside resume {run}"
    if result.checkpoint is not None:
        commands["evaluate"] = f"courtside eval {run}"
    if result.finished and result.score_stop is None:
        more = _more_steps(result, config)
        commands["train on"] = f"courtside resume {run} --total-timesteps {more}"
    folder = shlex.quote(str(result.run_dir.parent))
    hint = "" if find_spec("starlette") else '   (first: pip install "courtside[watch]")'
    commands["see curves"] = f"courtside watch {folder}{hint}"
    if config is not None and config.run.tensorboard and find_spec("tensorboard"):
        commands["or"] = f"tensorboard --logdir {folder}"
    return [f"{about + ':':<11} {command}" for about, command in commands.items()]
