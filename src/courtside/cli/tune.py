"""`courtside tune PRESET`: search for settings in stages, report the winner on fresh seeds."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from courtside.cli.arguments import Parser, add_trust, pull_words, whole_number
from courtside.cli.flags import read_config, split
from courtside.errors import ConfigError
from courtside.settings.algorithms import learning_groups
from courtside.settings.config import Config
from courtside.settings.presets import PRESETS

ABOUT = """Search for settings that pass the preset's verdict, in stages: many short runs, fewer longer
ones, few to the full length. The winner is trained on 16 fresh seeds before it is reported,
beside the preset itself.

`courtside tune PRESET` starts a search, `courtside tune RUN` goes on with one that was stopped.
Any setting of `courtside train` may be given and is then fixed, such as --gamma 0.95."""

SPACE = "--space"
MOST_STAGES = 5


def main(args: list[str]) -> int:
    words, rest = pull_words(args, SPACE, "learning_rate=log(1e-4,3e-3)")
    options, rest = make_parser().parse_known_args(rest)
    line = split(rest)
    if run_dir := find_search(line.preset):
        if words or len(rest) > 1 or len(args) > 1:
            raise ConfigError(f"{line.preset} is a search that goes on as it was begun; give no further flags.")
        admit(run_dir)
        return watch(functools.partial(resume, run_dir), [])
    config, notes = read_config(rest)
    refuse(config)
    return watch(functools.partial(start, config, words, tuple(line.values), options), notes)


def make_parser() -> Parser:
    parser = Parser("tune", ABOUT, usage="courtside tune [PRESET | RUN] [FLAGS]")
    parser.add_argument("--budget", metavar="TIME", help="fit everything into this time, such as 90s, 10m or 1h")
    parser.add_argument(
        "--trials", metavar="N", type=whole_number("--trials", 1), help="settings of the first stage (default: 256)"
    )
    parser.add_argument(
        "--stages", metavar="N", type=whole_number("--stages", 1, MOST_STAGES), default=3, help="default: 3"
    )
    parser.add_argument(
        "--seeds-per-trial", metavar="N", type=whole_number("--seeds-per-trial", 1),
        help="seeds of each setting in the first stage (default: 1 on a CPU, 2 on an accelerator)",
    )  # fmt: skip
    parser.add_argument(
        SPACE, metavar="NAME=VALUES",
        help="log(1e-4,3e-3), 0.9..1.0, 32,64 or fixed; several in a row (default: the algorithm's own)",
    )  # fmt: skip
    add_trust(parser)
    parser.add_argument(
        "--compare", metavar="FILE", action="append", default=[], help="settings as JSON, to stand in the final round too"
    )  # fmt: skip
    return parser


def find_search(name: str | None) -> Path | None:
    """The folder of a search that a word means; None where it is a preset."""
    from courtside.errors import CheckpointError
    from courtside.experiments.tune.trials import is_search
    from courtside.runs import runlog

    if name is None or name in PRESETS:
        return None
    try:
        run_dir = runlog.find_run(name)
    except CheckpointError:
        return None
    return run_dir if is_search(run_dir) else None


def refuse(config: Config) -> None:
    """Settings of a single run that a search has no use for."""
    if config.run.seeds != 1:
        raise ConfigError("--seeds is for `courtside train`; a search has --seeds-per-trial.")
    if config.run.insure:
        raise ConfigError("--insure watches over one run, but a search trains many; leave it out.")
    if config.run.turns:
        raise ConfigError("--turns changes settings on the way, but a search compares fixed ones; leave it out.")


def start(config: Config, words: list[str], fixed: tuple[str, ...], args: Any, view: Any) -> Any:
    from courtside.experiments.tune.space import make_space
    from courtside.experiments.tune.stages import StagePlan, read_budget

    space = make_space(config, words, fixed)
    wish = StagePlan(
        stages=args.stages,
        trials=args.trials,
        seeds_per_trial=args.seeds_per_trial,
        budget_seconds=None if args.budget is None else read_budget(args.budget),
    )
    compare = read_compared(args.compare)
    from courtside.experiments.tune import session

    return session.start(config, space, wish, compare, view)


def admit(run_dir: Path) -> None:
    """Ask what there is to ask before the screen is taken."""
    from courtside.experiments.tune.session import open_search

    open_search(run_dir)


def resume(run_dir: Path, view: Any) -> Any:
    from courtside.experiments.tune import session

    return session.resume(run_dir, view)


def read_compared(paths: list[str]) -> dict[str, dict[str, Any]]:
    """All files of --compare by their names, which are those of their rows."""
    rows: dict[str, dict[str, Any]] = {}
    for path in paths:
        name, settings = read_rows(Path(path))
        if name in rows:
            raise ConfigError(
                f"--compare names two files called {name}, but each row needs a name of its own; rename one."
            )
        rows[name] = settings
    return rows


def read_rows(path: Path) -> tuple[str, dict[str, Any]]:
    """A row of the final round from a file: settings by their flat names, or a preset file."""
    try:
        record = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ConfigError(f"--compare {path} cannot be read: {error}.") from error
    if not isinstance(record, dict):
        raise ConfigError(f'--compare {path} must be a JSON object of settings, such as {{"gamma": 0.98}}.')
    if set(learning_groups()) & set(record):
        from courtside.settings.presets.files import read_preset

        record = flatten(read_preset(path).config)
    return path.stem, {name: tuple(value) if isinstance(value, list) else value for name, value in record.items()}


def flatten(config: Config) -> dict[str, Any]:
    """What a preset file says of network and algorithm; the world and the length are the search's own."""
    from dataclasses import asdict

    return {**asdict(config.net), **asdict(config.learning), "num_envs": config.env.num_envs}


def watch(begin: Callable[..., Any], notes: list[str]) -> int:
    """Call `begin(view)` and print how the search ended; `courtside resume` ends here too."""
    from courtside.cli.tune_view import exit_status, make_view, print_closing
    from courtside.runs.events import Notice

    with make_view() as view:
        for note in notes:
            view.on(Notice(note))
        result = begin(view)
    print_closing(view.console, result)
    return exit_status(result)
