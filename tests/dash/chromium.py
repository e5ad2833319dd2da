"""A real browser for the tests of the page; without one they are skipped, with the reason."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from waiting import PATIENCE, wait_until

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(
    BROWSER is None, reason="no Chromium on this machine; Debian: apt-get install chromium"
)
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync"  # fmt: skip


def launch(started):
    return started.chromium.launch(executable_path=BROWSER, args=QUIET.split(), timeout=1000 * PATIENCE)


def patient(page):
    """The page, which waits for what is asked of it as long as any other test does."""
    page.set_default_timeout(1000 * PATIENCE)
    return page


@contextmanager
def courtside(*words, until):
    """A command of courtside in a process of its own, once `until` finds something: what it found, and the process's
    number. Ended with the block."""
    command = [sys.executable, "-m", "courtside", *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0) as process:
        try:
            wait_until(lambda: until() or process.poll() is not None)
            assert process.poll() is None
            os.setpriority(os.PRIO_PGRP, process.pid, 10)  # other tests run beside these
            yield until(), process.pid
        finally:
            process.terminate()
            process.send_signal(signal.SIGCONT)


@contextmanager
def awake(pid):
    """A process that does nothing outside the block: what trains without an end takes a core from other tests."""
    os.kill(pid, signal.SIGCONT)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGSTOP)


@contextmanager
def page_server(runs, *flags):
    """`courtside watch` on a free port; gives the addresses that it prints."""
    command = [sys.executable, "-m", "courtside", "watch", str(runs), "--port", "0", "--no-open", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            lines = [process.stdout.readline() for _ in range(1 + ("--knobs" in flags))]
            yield [word for line in lines for word in line.split() if word.startswith("http")]
        finally:
            process.terminate()
