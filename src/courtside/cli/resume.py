"""`courtside resume RUN`: go on with a run from its newest whole checkpoint."""

from __future__ import annotations

import functools
from typing import Any

from courtside.cli.arguments import Parser, whole_number
from courtside.cli.train import watch

ABOUT = """Go on with a run from its newest whole checkpoint.

On our JAX worlds the result equals, bit for bit, that of a run which was never stopped.
On Gymnasium envs the running episodes start anew."""


def main(args: list[str]) -> int:
    parser = Parser("resume", ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, its name in runs/, the start of that name, or `last`")
    parser.add_argument(
        "--total-timesteps",
        metavar="N",
        type=whole_number("--total-timesteps", 1),
        help="train up to this many steps in all (default: as planned when the run began)",
    )
    found = parser.read(args)
    return watch(functools.partial(start, found.run, found.total_timesteps), notes=[])


def start(run: str, total_timesteps: int | None, view: Any) -> Any:
    from courtside import session

    return session.resume(run, view=view, total_timesteps=total_timesteps)
