"""The trainer's end of one worker process: it is started, told, heard and ended here. See `hosts.worker` for the other end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np

from courtside.errors import ConfigError, EnvContractError
from courtside.hosts import worker as protocol
from courtside.hosts.crews import LOOK_SECONDS
from courtside.hosts.state_bytes import split_states
from courtside.hosts.worker import Orders
from courtside.settings import gate
from courtside.settings.worlds import targets_of

START_SECONDS = 60.0
"""How long a worker may take to start Python and load what it needs; a busy machine takes a while."""
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
"""Set in workers unless the user has set it: cores and GPU belong to the trainer."""


class WorkerDown(Exception):
    """A worker process that died or hangs; the text is the end of a sentence."""


class Worker:
    """The trainer's end of one worker process."""

    def __init__(self, orders: Orders, timeout: float) -> None:
        ours, theirs = socket.socketpair()
        ours.settimeout(LOOK_SECONDS)
        self.orders, self.timeout, self.link = orders, timeout, ours
        self.busy_since: np.ndarray | None = None
        self.sent, self.is_up = time.monotonic(), False
        try:
            self.process = _start(orders, theirs)
        finally:
            theirs.close()

    def send(self, order: bytes) -> None:
        self.sent = time.monotonic()
        with contextlib.suppress(OSError):  # a dead worker is noticed when its answer is read
            self.link.sendall(order)

    def send_long(self, order: bytes) -> None:
        """An order with so much behind it that the worker needs a while to take it in."""
        with contextlib.suppress(OSError):
            self.link.settimeout(self.timeout)
            self.send(order)
            self.link.settimeout(LOOK_SECONDS)

    def receive(self) -> dict[str, Any]:
        """The answer to the last order: empty, a record, or states. Raises what the worker raised, or `WorkerDown`."""
        while (code := self._read(1)) == protocol.ALIVE:
            self.sent, self.is_up = time.monotonic(), True
        if code == protocol.DONE:
            return {}
        text = self._read(int.from_bytes(self._read(protocol.LENGTH_BYTES), "little"))
        if code == protocol.STATES:
            return {"states": split_states(text)}
        record = json.loads(text)
        if "error" in record:
            raise _to_error(record["error"])
        return record

    @property
    def is_ended(self) -> bool:
        """`end` was called."""
        return self.link.fileno() < 0

    def end(self, wait_seconds: float = 0.0) -> None:
        """Wait a little for the process to end by itself, then end it."""
        try:
            self.process.wait(wait_seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.link.close()

    def _read(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            try:
                more = self.link.recv(size - len(got))
            except TimeoutError:
                self.check_alive()
                continue
            except OSError:
                more = b""
            if not more:
                raise WorkerDown(f"the worker process died ({self._exit_status()})")
            got += more
        return bytes(got)

    def check_alive(self) -> None:
        """A worker hangs when one and the same call has lasted too long; many slow envs in a row are no hang."""
        last = self.sent if self.busy_since is None else max(self.sent, self.busy_since.max())
        limit = self.timeout if self.is_up else max(START_SECONDS, self.timeout)
        if time.monotonic() - last > limit:
            raise WorkerDown(f"no answer for {limit:g} s (--worker-timeout)")

    def _exit_status(self) -> str:
        try:
            status = self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            return "its socket was closed"
        if status >= 0:
            return f"exit status {status}"
        name = signal.Signals(-status).name
        return f"{name}, perhaps out of memory" if name == "SIGKILL" else name


def _start(orders: Orders, theirs: socket.socket) -> subprocess.Popen:
    """Start the program, deaf to Ctrl-C and SIGTERM from its first moment (blocked signals are inherited).

    `-P`: a run folder that the trainer was started in is no place to import from, not even the standard library.
    """
    orders = replace(orders, socket=theirs.fileno(), grants=gate.grants(targets_of(orders.source)))
    files = [f for f in (orders.socket, orders.memory, *orders.rounds) if f >= 0]
    command = [sys.executable, "-P", "-c", protocol.STARTER, orders.to_json(sys.path)]
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        # What an env prints goes to stderr, so that the trainer's own output stays readable for scripts.
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=2, pass_fds=files, env={**QUIET, **os.environ}
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _to_error(record: dict[str, Any]) -> ConfigError | EnvContractError:
    error = ConfigError(record["text"]) if record["kind"] == "ConfigError" else EnvContractError(record["text"])
    for note in record["notes"]:
        error.add_note(note)
    return error
