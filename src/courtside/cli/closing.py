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

from courtside.experiments.population.results import Member, Passes, Results
from courtside.experiments.population.results import sentence as population_sentence
from courtside.health.verdict import ThresholdResult, Verdict, longest_window, sentence, window_words
from courtside.settings.config import Config
from courtside.settings.numbers import count, duration, figure, percent
from courtside.training import insurance
from courtside.training.desk import PAGE
from courtside.training.session import Result
from courtside.training.stopping import stop_words

SIGNALS = {"SIGINT": "Ctrl-C", "SIGTERM": "SIGTERM", PAGE: "the page"}
STATUSES = {"SIGINT": 130, "SIGTERM": 143, PAGE: 130}
"""Exit status after a signal: 128 and its number; a stop through the page counts as Ctrl-C."""


NO_EDGE = {"box": box.SIMPLE_HEAD, "pad_edge": False, "padding": (0, 1, 0, 0), "title_justify": "left"}


def close_run(console: Console, result: Any, config: Config | None) -> int:
    """Print how a run or a population ended, and return the exit status."""
    if isinstance(result, Result):
        print_closing(console, result, config)
        return exit_status(result, config)
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


def next_commands(result: Result, config: Config | None) -> list[str]:
    """What one may want to do next, and the command line to copy for it."""
    run = shlex.quote(str(result.run_dir))
    commands = {}
    if not result.finished:
        commands["go on"] = f"courtside resume {run}"
    if result.checkpoint is not None:
        commands["evaluate"] = f"courtside eval {run}"
    if result.finished and result.score_stop is None:
        # Twice as many, and enough for a verdict: the window, and one more of it for learning.
        window = longest_window(config.thresholds) if config else 0
        more = max(2 * (config.run.total_timesteps if config else result.step), 2 * window)
        commands["train on"] = f"courtside resume {run} --total-timesteps {more}"
    folder = shlex.quote(str(result.run_dir.parent))
    hint = "" if find_spec("starlette") else '   (first: pip install "courtside[watch]")'
    commands["see curves"] = f"courtside watch {folder}{hint}"
    if config is not None and config.run.tensorboard and find_spec("tensorboard"):
        commands["or"] = f"tensorboard --logdir {folder}"
    return [f"{about + ':':<11} {command}" for about, command in commands.items()]


# --- a population --------------------------------------------------------------------------------------------------


def print_population(console: Console, result: Any) -> None:
    """Print the summary of a population, finished or stopped."""
    say(console, "", *population_ending(result), f"Run folder: {result.run_dir}")
    if result.update:
        print_results(console, result.results)
        say(console, *health_lines(result.run_dir))
    say(console, "", "Next:", *[f"  {line}" for line in population_commands(result)])


def population_ending(result: Any) -> list[str]:
    if result.finished:
        return [f"Done: {count(result.step)} steps of every member in {duration(result.seconds)}."]
    cause = SIGNALS.get(result.stopped_by or "", result.stopped_by or "an error in a member")
    return [f"Stopped by {cause} at step {count(result.step)} of every member; everything up to there is saved."]


def population_commands(result: Any) -> list[str]:
    run = shlex.quote(str(result.run_dir))
    if not result.finished:
        commands = {"go on": f"courtside resume {run}", "evaluate one": f"courtside eval {run} --member 0"}
    else:
        commands = {
            "evaluate": f"courtside eval {run}",
            "film one": f"courtside eval {run} --member 0 --video out.mp4",
        }
        if any(member.stop_step is None for member in result.results.members):
            commands["train on"] = f"courtside resume {run} --total-timesteps {2 * result.step}"
    commands["what is wrong"] = f"courtside doctor {run}"
    return [f"{about + ':':<14} {command}" for about, command in commands.items()]


def population_status(result: Any, config: Config | None) -> int:
    """As for one run; where a pass is required, every member must pass."""
    if not result.finished:
        return STATUSES.get(result.stopped_by or "", 1)
    all_passed = all(member.passed for member in result.results.members)
    return 1 if config is not None and config.run.require_pass and not all_passed else 0


def print_results(console: Console, results: Results) -> None:
    """Tables on a terminal; the same in lines where they are read one by one."""
    if not console.is_terminal:
        say(console, *map(member_line, results.members), *chance_lines(results.passes), population_sentence(results))
        return
    console.print(member_table(results))
    if results.passes is not None and results.passes.chance:
        console.print(chance_table(results.passes))
    console.print(Text(population_sentence(results)))


def member_table(results: Results) -> Table:
    """Who passed, since when, and how they score."""
    table = Table(**NO_EDGE, title=Text(f"{len(results.members)} members", style="bold"))
    for name in ("member", "seed"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for name in ("steps to pass", "final score", "last eval", "best eval"):
        table.add_column(name, justify="right", no_wrap=True)
    for member in results.members:
        table.add_row(*member_row(member))
    return table


def member_row(member: Member) -> tuple[str | Text, ...]:
    scores = (member.final_score, member.last_eval, member.best_eval)
    return member.name, str(member.seed), verdict_word(member), steps_to_pass(member), *map(figure, scores)


def verdict_word(member: Member) -> Text:
    """Pass or fail once it is sure; how far it is before."""
    if not member.finished:
        return Text(f"{percent(member.step / max(member.planned_steps, 1))} done")
    if member.passed is None:
        return Text("done")
    return Text("pass", style="bold green") if member.passed else Text("fail", style="bold red")


def steps_to_pass(member: Member) -> str:
    return "-" if member.steps_to_pass is None else count(member.steps_to_pass)


def member_line(member: Member) -> str:
    """One member in one line."""
    took = [] if member.episodes_to_pass is None else [f"{count(member.episodes_to_pass)} episodes"]
    took += [] if member.seconds_to_pass is None else [duration(member.seconds_to_pass)]
    cost = f" ({', '.join(took)})" if took else ""
    passed = "" if member.steps_to_pass is None else f", first passed at step {count(member.steps_to_pass)}{cost}"
    scores = f"final score {figure(member.final_score)}, best evaluation {figure(member.best_eval)}"
    ended = "" if member.stop_step is None else f", passed --quit-threshold at step {count(member.stop_step)}"
    return f"Member {member.name}, seed {member.seed}: {verdict_word(member)}{passed}{ended}, {scores}."


def chance_table(passes: Passes) -> Table:
    """The share that had passed by round steps."""
    table = Table(**NO_EDGE, title=Text("Chance to have passed", style="bold"))
    table.add_column("by step", justify="right", no_wrap=True)
    table.add_column("chance", justify="right", no_wrap=True)
    table.add_column("")
    for step, share in turning_points(passes):
        table.add_row(count(step), percent(share), "#" * round(20 * share))
    return table


def turning_points(passes: Passes) -> list[tuple[int, float]]:
    """The round steps without those between two that tell the same."""
    steps = passes.chance_at
    neighbours = zip(steps, (*steps[1:], (0, -1.0)), (steps[0], *steps[:-1]), strict=True)
    return [here for here, after, before in neighbours if not here[1] == after[1] == before[1]]


def chance_lines(passes: Passes | None) -> list[str]:
    if passes is None or not passes.chance:
        return []
    shares = ", ".join(f"{count(step)}: {percent(share)}" for step, share in turning_points(passes))
    return [f"Chance to have passed by step {shares}."]
