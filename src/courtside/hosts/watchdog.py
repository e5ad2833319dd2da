"""What the training process can still say when an env in it hangs or crashes: nothing can be saved or replaced then.

A hung call cannot be stopped from inside the process that made it, so the process ends, with one sentence and exit
status 2, as any other error of an env does on the command line. A hang in C code that never gives Python's lock back
stops the watchdog too. No JAX here.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import sys
import threading
import weakref
from typing import Any, Protocol, runtime_checkable

LOOK_SECONDS = 1.0
"""How often it looks, at most."""
EXIT_STATUS = 2
SHOW_CURSOR = "\x1b[?25h"


@runtime_checkable
class Watched(Protocol):
    """Whoever calls envs in this process."""

    def busy_mark(self) -> float | None:
        """A number that is another one for every call of an env; None between calls."""
        ...

    def describe_call(self) -> str:
        """Which env is being called, in which step."""
        ...


def watch(crew: Watched, timeout: float) -> threading.Event:
    """Look after a crew from a thread until it is gone or the event is set."""
    stopped = threading.Event()
    thread = threading.Thread(target=_look, args=(weakref.ref(crew), timeout, stopped), daemon=True)
    thread.start()
    return stopped


def _look(reference: weakref.ref[Any], timeout: float, stopped: threading.Event) -> None:
    """Time is counted in looks, so that a process that was suspended for an hour is not taken for one that hangs."""
    pause = min(LOOK_SECONDS, timeout / 4)
    waited, last = 0.0, None
    while not stopped.wait(pause):
        crew = reference()
        if crew is None:
            return
        mark = crew.busy_mark()
        waited = waited + pause if mark is not None and mark == last else 0.0
        last = mark
        if waited >= timeout:
            _leave(f"{crew.describe_call()}: no answer for {timeout:g} s, so the run ends here")
        del crew  # a crew that nobody else holds must be free to go


def _leave(sentence: str) -> None:
    with contextlib.suppress(Exception):
        if sys.stderr.isatty():
            sys.stderr.write(SHOW_CURSOR)
        sys.stderr.write(
            f"\ncourtside: {sentence}. What was saved stays. Mend the env, give it longer with --worker-timeout, or "
            "survive it with --workers processes --on-worker-failure restart.\n"
        )
        sys.stderr.flush()
    os._exit(EXIT_STATUS)


def show_crashes() -> None:
    """Let Python say where it was when C code of an env brings the process down."""
    if not faulthandler.is_enabled():
        with contextlib.suppress(Exception):  # stderr may be gone, or no real file as in a notebook
            faulthandler.enable()
