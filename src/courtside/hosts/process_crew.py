"""The third way to step B envs: worker processes over shared memory. What dies or hangs here does not take the run with it.

The memory is an unnamed file, the workers end with their socket: nothing is left behind, however the trainer ends.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from typing import Any

import numpy as np

from courtside.errors import ConfigError, EnvContractError
from courtside.hosts import worker as protocol
from courtside.hosts.arrays import HostArrays, make_arrays, num_bytes
from courtside.hosts.crews import LOOK_SECONDS, shares
from courtside.hosts.env_slice import HINT, count_restart, locate
from courtside.hosts.facts import EnvFacts
from courtside.hosts.measure import Measured
from courtside.hosts.memory import own_share_mb
from courtside.hosts.states import join_states, split_screens, split_states
from courtside.hosts.worker import Orders

START_SECONDS = 60.0
"""How long a worker may take to start Python and load what it needs; a busy machine takes a while."""
CLOSE_SECONDS = 2.0
"""How long workers may take to close their envs before they are ended."""
QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu"}
"""Set in workers unless the user has set it: cores and GPU belong to the trainer."""


def processes_work() -> bool:
    """Whether this system can run workers: it needs sockets and files that a new program inherits."""
    return os.name == "posix"


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
                self._check_alive()
                continue
            except OSError:
                more = b""
            if not more:
                raise WorkerDown(f"the worker process died ({self._exit_status()})")
            got += more
        return bytes(got)

    def _check_alive(self) -> None:
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
    """Start the program, deaf to Ctrl-C and SIGTERM from its first moment (blocked signals are inherited)."""
    orders = Orders(**{**orders.__dict__, "socket": theirs.fileno()})
    files = [f for f in (orders.socket, orders.memory) if f >= 0]
    command = [sys.executable, "-c", protocol.STARTER, orders.to_json(sys.path)]
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


def measure_in_process(env_id: str, with_speed: bool, timeout: float) -> Measured:
    """Measure one env in a process of its own, so that its crash, its hang and its memory stay there."""
    worker = Worker(Orders(env_id, socket=-1, measure="speed" if with_speed else "memory"), timeout)
    try:
        return Measured.from_json(worker.receive()["measured"])
    except WorkerDown as down:
        raise EnvContractError(f"{env_id}, before training: {down}. Mend the env first.") from None
    finally:
        worker.end()


class ProcessCrew:
    """A share of the envs in each of several processes."""

    def __init__(
        self, env_id: str, num_envs: int, num_workers: int, restart: bool, timeout: float, packed: bool = False
    ) -> None:
        self._env_id, self._num_envs, self.num_workers = env_id, num_envs, num_workers
        self._restart, self._timeout, self._packed = restart, timeout, packed
        self._notices: list[str] = []
        self._memory = _make_shared_file()
        self._workers: list[Worker] = []
        self._finalizer = weakref.finalize(self, _end_all, self._workers, self._memory)
        try:
            for first, last in shares(num_envs, num_workers):
                orders = Orders(env_id, -1, self._memory, first, last, num_envs, restart, packed)
                self._workers.append(Worker(orders, timeout))
            self.facts = self._agree([self._hello(worker) for worker in self._workers])
            self.arrays = self._share_memory()
            for worker in self._workers:
                self._attach(worker)
        except WorkerDown as down:
            self.close()
            raise EnvContractError(f"{env_id}, while it was built: {down}. Mend the env first.") from None
        except OSError as error:
            self.close()
            raise EnvContractError(
                f"{num_workers} worker processes could not be started ({error}); ask for fewer with --num-workers."
            ) from error
        except BaseException:
            self.close()
            raise

    def reset(self) -> None:
        self._tell(protocol.RESET)
        self._hear(was_step=False)

    def send(self) -> None:
        self._tell(protocol.STEP)

    def recv(self) -> None:
        self._hear(was_step=True)

    def save(self) -> list[bytes]:
        self._tell(protocol.SAVE)
        return [state for worker in self._workers for state in self._answer(worker)["states"]]

    def load(self, states: list[bytes]) -> None:
        for worker in self._workers:
            own = join_states(states[worker.orders.first : worker.orders.last])
            worker.send_long(protocol.LOAD + protocol.framed(own))
        for worker in self._workers:
            self._answer(worker)

    def screens(self, limit: int) -> np.ndarray:
        """Every answer is read, whatever goes wrong: one that is left in a socket would be taken for that of the next order."""
        asked = [worker for worker in self._workers if worker.orders.first < limit]
        for worker in asked:
            worker.send(protocol.DRAW)
        answers = [_drawn(worker) for worker in asked]
        for answer in answers:
            if "undrawn" in answer:
                raise EnvContractError(answer["undrawn"])
        return np.concatenate([split_screens(answer["states"]) for answer in answers])[:limit]

    def _answer(self, worker: Worker) -> dict[str, Any]:
        """What a worker says to an order beside the steps; one that goes down there ends the run."""
        try:
            return worker.receive()
        except WorkerDown as down:
            raise EnvContractError(f"{self._env_id}, while its state was saved or loaded: {down}.") from None

    def take_notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def memory_mb(self) -> float:
        """All workers together; what they share with each other counted once."""
        return sum(own_share_mb(worker.process.pid) for worker in self._workers)

    def close(self) -> None:
        """End every worker and give the memory back."""
        self._finalizer()

    def _tell(self, order: bytes) -> None:
        for worker in self._workers:
            worker.send(order)

    def _hear(self, was_step: bool) -> None:
        """Wait for each worker; one that is down is replaced or ends the run."""
        for w, worker in enumerate(self._workers):
            try:
                self._notices += worker.receive().get("notices", [])
            except WorkerDown as down:
                self._revive(w, down, was_step)

    def _revive(self, w: int, down: WorkerDown, was_step: bool) -> None:
        """A new worker with new envs in the place of one that is down; the episodes of its envs are cut off."""
        orders = self._workers[w].orders
        part = self.arrays.part(orders.first, orders.last)
        fault: BaseException = down
        while True:
            row = int(np.argmax(part.busy_since))
            sentence = f"{locate(self._env_id, part, row, orders.first)}: {fault}."
            self._workers[w].end()
            if not self._restart:
                raise EnvContractError(f"{sentence} {HINT}")
            count_restart(part, row, self._num_envs, EnvContractError(sentence))
            self._notices.append(f"{sentence} {_replaced(orders)}")
            if was_step:
                _cut_off(part)
                was_step = False
            part.seed[np.arange(len(part.seed)) != row] += self._num_envs
            try:
                return self._start_again(w, orders)
            except WorkerDown as again:
                fault = again

    def _start_again(self, w: int, orders: Orders) -> None:
        worker = self._workers[w] = Worker(orders, self._timeout)
        self._agree([self.facts, self._hello(worker)])
        self._attach(worker)
        worker.send(protocol.RESET)
        self._notices += worker.receive().get("notices", [])

    def _hello(self, worker: Worker) -> EnvFacts:
        return EnvFacts.from_json(worker.receive()["facts"])

    def _agree(self, found: list[EnvFacts]) -> EnvFacts:
        """All envs must be of one kind."""
        for facts in found[1:]:
            if facts != found[0]:
                raise EnvContractError(f"{self._env_id} gives envs with different spaces: {found[0]} and {facts}.")
        return found[0]

    def _share_memory(self) -> HostArrays:
        layout = self.facts.layout(self._num_envs, self._packed)
        os.ftruncate(self._memory, num_bytes(layout))
        return make_arrays(layout, mmap.mmap(self._memory, num_bytes(layout)))

    def _attach(self, worker: Worker) -> None:
        worker.send(protocol.ATTACH)
        worker.receive()
        worker.busy_since = self.arrays.busy_since[worker.orders.first : worker.orders.last]


def _drawn(worker: Worker) -> dict[str, Any]:
    """A worker's answer to `DRAW`; one that is down is ended, so that the next step finds it so and deals with it."""
    try:
        return worker.receive()
    except WorkerDown as down:
        worker.end()
        return {"undrawn": str(down)}


def _make_shared_file() -> int:
    """A file without a name, in memory where the system has that: gone with the last process that has it open."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("courtside")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _end_all(workers: list[Worker], memory: int) -> None:
    for worker in workers:
        worker.send(protocol.QUIT)
    deadline = time.monotonic() + CLOSE_SECONDS
    for worker in workers:
        worker.end(max(0.0, deadline - time.monotonic()))
    workers.clear()
    os.close(memory)


def _cut_off(part: HostArrays) -> None:
    """Report the interrupted step: no reward, truncated, led to where the episode last was sound. Who had left stays so."""
    part.final_features[:] = part.features
    part.reward[:] = 0.0
    part.terminated[:] = part.absent
    part.truncated[:] = ~part.absent
    part.ended[:] = True
    part.game_ended[:] = False
    part.episode_return[:] = part.running_return
    part.episode_length[:] = part.running_length + 1
    part.steps += 1


def _replaced(orders: Orders) -> str:
    count = orders.last - orders.first
    return f"A new worker took its place; the episodes of its {count} env{'s' * (count > 1)} were cut off."
