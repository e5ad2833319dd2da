"""`courtside resume RUN`: go on with a run from its newest whole checkpoint."""

from __future__ import annotations

from typing import Any

from courtside.cli.arguments import Parser, whole_number
from courtside.cli.train import watch

ABOUT = """Go on with a run from its newest whole checkpoint.

On our JAX worlds the result equals, bit for bit, that of a run which was never stopped.
On Gymnasium envs the running episodes start anew."""


def main(args: list[str]) -> int:
    parser = Parser("resume", ABOUT)
    parser.add_argument("run", metavar="RUN", help="run folder, such as runs/cartpole-...")
    parser.add_argument(
        "--total-timesteps",
        metavar="N",
        type=whole_number("--total-timesteps", 1),
        help="train up to this many steps in all (default: as planned when the run began)",
    )
    found = parser.read(args)

    def start(view: Any) -> Any:
        from courtside import session

        return session.resume(found.run, view=view, total_timesteps=found.total_timesteps)

    return watch(start, notes=[])
