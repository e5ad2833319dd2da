"""Waiting for what another process, a thread or a browser does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 600.0
"""Seconds until what is waited for counts as never coming. A wait ends with what it waits for, so a large number costs only a
test that fails anyway; a small one is a guess about how busy a machine may be."""


def wait_until(condition: Callable[[], Any], what: str = "it never came") -> Any:
    """What the condition finds, once it finds something."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found
