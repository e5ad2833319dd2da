"""What is shown after a population: how its members spread, and the next commands to type."""

from __future__ import annotations

import shlex
from typing import Any

from rich.console import Console

from courtside.cli.closing import SIGNALS, STATUSES, health_lines, say
from courtside.cli.population_table import print_results
from courtside.settings.config import Config
from courtside.settings.numbers import count, duration


def print_population(console: Console, result: Any) -> None:
    """Print the summary of a population, finished or stopped."""
    say(console, "", *_ending(result), f"Run folder: {result.run_dir}")
    if result.update:
        print_results(console, result.results)
        say(console, *health_lines(result.run_dir))
    say(console, "", "Next:", *[f"  {line}" for line in _next_commands(result)])


def _ending(result: Any) -> list[str]:
    if result.finished:
        return [f"Done: {count(result.step)} steps of every member in {duration(result.seconds)}."]
    cause = SIGNALS.get(result.stopped_by or "", result.stopped_by or "an error in a member")
    return [f"Stopped by {cause} at step {count(result.step)} of every member; everything up to there is saved."]


def _next_commands(result: Any) -> list[str]:
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
