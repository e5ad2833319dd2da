"""Command lines of the small verbs: argparse, with errors that read like all others of ours."""

from __future__ import annotations

import argparse
import difflib
import functools
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from courtside.errors import ConfigError
from courtside.settings.numbers import parse_whole
from courtside.settings.values import word_faults


class Parser(argparse.ArgumentParser):
    """An argument parser that raises ConfigError instead of printing its usage and leaving."""

    def __init__(self, verb: str, about: str, **options: Any):
        formatter = argparse.RawDescriptionHelpFormatter
        super().__init__(
            prog=f"courtside {verb}", description=about, formatter_class=formatter, allow_abbrev=False, **options
        )
        self.add_argument("--debug", action="store_true", help="show the full traceback of an error")

    def error(self, message: str) -> NoReturn:
        raise ConfigError(f"{message[0].upper()}{message[1:]}; `{self.prog} --help` tells more.")

    def read(self, args: list[str]) -> argparse.Namespace:
        """Parse all of `args`; an unknown flag lists the near ones."""
        options, unknown = self.parse_known_args(args)
        if not unknown:
            return options
        flag = unknown[0].partition("=")[0]
        if flag.startswith("-"):
            flags = [option for option in self._option_string_actions if option.startswith("--")]
            raise unknown_flag(flag, flags, f"{self.prog} --help")
        raise ConfigError(f"{self.prog} does not know what to do with {flag!r}; `{self.prog} --help` tells more.")


def add_trust(parser: Parser) -> None:
    """For the help page: the word itself is taken off every command line before its verb reads it."""
    parser.add_argument(
        "--trust", action="store_true",
        help="use the code and files that a run or preset file from elsewhere names; --trust=MODULE:NAME for one plain function",
    )  # fmt: skip


def add_runs(parser: Parser, several: str) -> None:
    """Runs by any of their names; `several` says what becomes of more than one."""
    named = "run folder, its name in runs/, the start of that name, or `last`"
    parser.add_argument("runs", metavar="RUN", nargs="+", help=f"{named}; several are {several}")


def add_output(parser: Parser, usual: str) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", default=usual, help=f"file to write (default: {usual})")


def add_member(parser: Parser) -> None:
    parser.add_argument(
        "--member", metavar="K", type=whole_number("--member", 0),
        help="one member of a population, counted from 0; the same as naming the folder RUN/members/0K",
    )  # fmt: skip


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


def pull_words(args: list[str], flag: str, example: str) -> tuple[list[str], list[str]]:
    """NAME=VALUE words behind each mention of `flag`, and the arguments without them."""
    words: list[str] = []
    rest = deque(args)
    kept: list[str] = []
    while rest:
        arg = rest.popleft()
        if arg.partition("=")[0] not in (flag, flag.replace("-", "_").replace("__", "--", 1)):
            kept.append(arg)
            continue
        if "=" in arg:
            rest.appendleft(arg.partition("=")[2])
        words += take_words(flag, rest, example)
    return words, kept


def take_words(flag: str, rest: deque[str], example: str, form: str = "NAME=VALUE") -> list[str]:
    """NAME=VALUE words up to the next flag or plain word, which have no such sign in them."""
    words = [rest.popleft()] if rest else [""]
    if faults := word_faults(flag, words, example, form):
        raise ConfigError(faults[0])
    while rest and "=" in rest[0] and not rest[0].startswith("-"):
        words.append(rest.popleft())
    return words


def unknown_flag(flag: str, flags: list[str], see: str) -> ConfigError:
    """An error that lists the near flags; dashes do not count, or every flag would be near every other."""
    by_word = {name.lstrip("-"): name for name in flags}
    words = difflib.get_close_matches(flag.lstrip("-").replace("_", "-").lower(), list(by_word), n=3, cutoff=0.6)
    hint = f" Did you mean {' or '.join(by_word[word] for word in words)}?" if words else ""
    return ConfigError(f"There is no flag named {flag!r}.{hint} `{see}` lists them all.")


def whole_number(flag: str, least: int, most: int | None = None) -> Callable[[str], int]:
    """Reader of a count for `add_argument(type=...)`: 100000, 100_000 and 1e5 are the same."""
    return functools.partial(_read_whole, flag, least, most)


def _read_whole(flag: str, least: int, most: int | None, text: str) -> int:
    number = parse_whole(text)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{flag} is {text!r}, but it must be a whole number {bounds}.")
    return number
