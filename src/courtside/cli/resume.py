"""`courtside resume RUN`: go on with a run from its newest whole checkpoint."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import Any

from courtside.cli import tune
from courtside.cli.arguments import Parser, add_member, add_trust, choose_member, whole_number
from courtside.cli.flags import refuse_settings
from courtside.cli.train import watch
from courtside.errors import ConfigError, CourtsideError
from courtside.runs import runlog

ABOUT = """Go on with a run from its newest whole checkpoint.

On our JAX worlds the result equals, bit for bit, that of a run which was never stopped.
On Gymnasium and PettingZoo envs the running episodes start anew; games of an emulator go on where they stood
(all Atari games but two, docs/atari.md)."""


def main(words: list[str]) -> int:
    parser = Parser("resume", ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, its name in runs/, the start of that name, or `last`")
    parser.add_argument(
        "--total-timesteps", metavar="N", type=whole_number("--total-timesteps", 1),
        help="train up to this many steps in all (default: as planned when the run began); says what that does to schedules",
    )  # fmt: skip
    parser.add_argument(
        "--rom", metavar="PATH", default="", help="where the same cartridge's dump lies now, if it moved"
    )
    add_member(parser)
    add_trust(parser)
    refuse_settings(words, parser, "a run goes on with those that it was begun with")
    args = parser.read(words)
    if search_dir := tune.find_search(args.run):
        refuse_flags(args)
        tune.admit(search_dir)
        return tune.watch(functools.partial(tune.resume, search_dir), notes=[])
    run = choose_member(args.run, args.member)
    runlog.open_config(runlog.find_run(run), rom=args.rom)  # what there is to ask is asked before the screen is taken
    return watch(functools.partial(start, run, args.total_timesteps, rom=args.rom), notes=[])


def refuse_flags(args: Any) -> None:
    """What is for a run alone."""
    for flag, value in (("--member", args.member), ("--total-timesteps", args.total_timesteps)):
        if value is not None:
            raise ConfigError(f"{args.run} is a search that goes on as it was begun; leave {flag} out.")


def start(run: str | Path, total_timesteps: int | None, view: Any, rom: str = "") -> Any:
    from courtside.experiments import start as one_or_many

    recall(run, view)
    return one_or_many.resume(run, view=view, total_timesteps=total_timesteps, rom=rom)


def recall(run: str | Path, view: Any) -> None:
    """Show the health watch what was logged before; what cannot be read is for `start.resume` to complain about."""
    from courtside.runs import runlog

    with contextlib.suppress(CourtsideError):
        folder = runlog.find_run(run)
        files = (runlog.METRICS, runlog.EVALS, runlog.TIMING)
        view.board.health.remember(*(runlog.read_rows(folder, name) for name in files))
