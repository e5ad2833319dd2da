"""`courtside train [PRESET] [--flags]`: read the settings, train, say how it went."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from courtside.cli.flags import read_config
from courtside.cli.page_beside import page_beside
from courtside.settings.config import Config


def main(args: list[str]) -> int:
    config, notes = read_config(args)
    with page_beside(config) as shown:
        return watch(functools.partial(start, config), [*notes, *shown])


def start(config: Config, view: Any) -> Any:
    from courtside.experiments import start as one_or_many

    return one_or_many.train(config, view=view)


def watch(start: Callable[..., Any], notes: list[str]) -> int:
    """Call `start(view)`, print how the run ended and return the exit status; `courtside resume` ends here too.

    The view comes up first and JAX is imported under it, so that something is on the screen at once.
    """
    from courtside.cli.view import make_view
    from courtside.runs.events import Notice

    with make_view() as view:
        for note in notes:
            view.on(Notice(note))
        result = start(view)
    from courtside.cli.closing import close_run

    return close_run(view.console, result, view.board.config)
