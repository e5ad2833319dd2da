"""Ctrl-C and SIGTERM: a run is asked to stop, and saves first."""

from __future__ import annotations

import contextlib
import os
import signal
from types import FrameType
from typing import Any

STOPPING = "\nStopping: what is under way is finished and saved first. Once more leaves at once.\n"
"""Said as soon as a signal is heard: an update of a large world may take a while."""


class Signals:
    """The first Ctrl-C or SIGTERM asks the loop to stop after this chunk; a second one leaves at once."""

    def __init__(self) -> None:
        self.caught: str | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Signals:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                self._before[number] = signal.signal(number, self._catch)
            except ValueError:  # not in the main thread: whoever owns it handles signals
                break
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if self.caught is not None:
            os._exit(128 + number)
        self.caught = signal.Signals(number).name
        # The terminal may be gone, and a view half-way through a line of its own.
        with contextlib.suppress(OSError):
            os.write(2, STOPPING.encode())
