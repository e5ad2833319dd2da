"""`courtside train [PRESET] [--flags]`: read the settings, train, say how it went."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from courtside.cli.flags import read_config

if TYPE_CHECKING:
    from courtside.cli.view import View
    from courtside.session import Result


def main(args: list[str]) -> int:
    config, notes = read_config(args)

    def start(view: View) -> Result:
        from courtside import session

        return session.train(config, view=view)

    return watch(start, notes)


def watch(start: Callable[[View], Result], notes: list[str]) -> int:
    """Run `start` under a view, print the closing summary and return the exit status; `resume` ends here too."""
    from courtside.cli.closing import print_closing
    from courtside.cli.view import make_view
    from courtside.events import Notice

    with make_view() as view:
        for note in notes:
            view.on(Notice(note))
        result = start(view)
    print_closing(view.console, result, view.board.config)
    require_pass = view.board.config is not None and view.board.config.run.require_pass
    return exit_status(result, require_pass)


def exit_status(result: Result, require_pass: bool) -> int:
    """128 + the signal's number when one stopped the run; else 1 if a pass was required and missed."""
    if result.stopped_by:
        return {"SIGINT": 130, "SIGTERM": 143}[result.stopped_by]
    passed = result.verdict is not None and result.verdict.passed
    return 1 if require_pass and not passed else 0
