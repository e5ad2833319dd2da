"""The terminal as a game console: single keys in, whole screens out, and everything put back on every way out. Unix only."""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator
from typing import Any

from courtside.cli.keyboard import split_keys

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""A second screen without a cursor, and back to the first with one."""
HEAR_SECONDS = 0.5
ESCAPE_SECONDS = 0.05
"""How long the rest of an arrow key may take to arrive."""


def read_keys(descriptor: int) -> Iterator[str]:
    """Keys as they are pressed, until the terminal goes away."""
    while text := _read(descriptor):
        while text.endswith("\x1b") or re.search(r"\x1b[\[O][0-9;]*$", text):
            if not select.select([descriptor], [], [], ESCAPE_SECONDS)[0]:
                break
            text += _read(descriptor)
        yield from split_keys(text)


def _read(descriptor: int) -> str:
    """What was typed. Waits in short turns: a signal that comes right before a wait is heard only after it."""
    try:
        while not select.select([descriptor], [], [], HEAR_SECONDS)[0]:
            pass
        return os.read(descriptor, 1024).decode(errors="replace")
    except OSError:  # the other end is closed
        return ""


class Console:
    """A terminal that hands over keys one by one and shows one screen at a time.

    SIGTERM, a hang-up, an error and Ctrl-Z all give the terminal back as it was before they go on.
    """

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._before = termios.tcgetattr(descriptor)
        self._handlers: dict[int, Any] = {}
        self._text = ""

    def __enter__(self) -> Console:
        wanted = {signal.SIGTERM: _stop, signal.SIGHUP: _stop, signal.SIGTSTP: self._pause}
        self._handlers = {number: signal.signal(number, handler) for number, handler in wanted.items()}
        self._take()
        return self

    def __exit__(self, *error: Any) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def draw(self, text: str) -> None:
        """Replace the whole screen without flicker."""
        self._text = text
        lines = text.replace("\n", "\x1b[K\n")
        _write(f"\x1b[H{lines}\x1b[K\x1b[J")

    def _take(self) -> None:
        tty.setcbreak(self.descriptor)
        _write(ENTER)

    def _give_back(self) -> None:
        with contextlib.suppress(OSError):
            _write(LEAVE)
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self.descriptor, termios.TCSADRAIN, self._before)

    def _pause(self, *_: Any) -> None:
        self._give_back()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._take()
        self.draw(self._text)


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _stop(number: int, frame: Any) -> None:
    raise SystemExit(128 + number)
