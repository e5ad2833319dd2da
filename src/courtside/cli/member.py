"""`--member K`: one member of a population, wherever a command takes a run."""

from __future__ import annotations

from pathlib import Path

from courtside.cli.arguments import Parser, whole_number
from courtside.errors import ConfigError


def add_member(parser: Parser) -> None:
    parser.add_argument(
        "--member",
        metavar="K",
        type=whole_number("--member", 0),
        help="one member of a population, counted from 0; the same as naming the folder RUN/members/0K",
    )


def choose_member(run: str, member: int | None) -> str | Path:
    """The run as it was named, or the folder of one of its members."""
    if member is None:
        return run
    from courtside.runs import runlog
    from courtside.runs.members import find_member

    return find_member(runlog.find_run(run), member)


def find_trained(run: str, member: int | None) -> Path:
    """The folder of a run, a population or one of its members; a search is none of these."""
    from courtside.experiments.tune.trials import is_search
    from courtside.runs import runlog

    folder = runlog.find_run(choose_member(run, member))
    if is_search(folder):
        raise ConfigError(
            f"{folder} is a search, not a run: its result is in {folder / 'report.md'}, and "
            f"`courtside train {folder / 'best.json'}` trains the winner."
        )
    return folder
