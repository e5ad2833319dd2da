"""The third way to step B envs: worker processes over shared memory. What dies or hangs here does not take the run with it.

The memory is an unnamed file, the workers end with their socket: nothing is left behind, however the trainer ends.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from courtside.errors import EnvContractError
from courtside.hosts import worker as protocol
from courtside.hosts.arrays import HostArrays, make_arrays, num_bytes
from courtside.hosts.crews import LOOK_SECONDS, shares
from courtside.hosts.env_slice import HINT, Numbering, count_restart, locate
from courtside.hosts.facts import EnvFacts
from courtside.hosts.measure import Measured
from courtside.hosts.rounds import Rounds, poll_of
from courtside.hosts.state_bytes import join_states, split_screens
from courtside.hosts.worker import Orders
from courtside.hosts.worker_process import Worker, WorkerDown
from courtside.machine import own_share_mb
from courtside.settings.kinds import EnvSource

CLOSE_SECONDS = 2.0
"""How long workers may take to close their envs before they are ended."""


def processes_work() -> bool:
    """Whether this system can run workers: it needs sockets and files that a new program inherits."""
    return os.name == "posix"


def measure_in_process(source: EnvSource, with_speed: bool, timeout: float) -> Measured:
    """Measure one env in a process of its own, so that its crash, its hang and its memory stay there."""
    worker = Worker(Orders(source, socket=-1, measure="speed" if with_speed else "memory"), timeout)
    try:
        return Measured.from_json(worker.receive()["measured"])
    except WorkerDown as down:
        raise EnvContractError(f"{source.id}, before training: {down}. Mend the env first.") from None
    finally:
        worker.end()


class ProcessCrew:
    """A share of the envs in each of several processes."""

    def __init__(
        self,
        source: EnvSource,
        num_envs: int,
        num_workers: int,
        restart: bool,
        timeout: float,
        packed: bool = False,
        numbering: Numbering | None = None,
    ) -> None:
        self._env_id, self._num_envs, self.num_workers = source.id, num_envs, num_workers
        self._numbering = numbering or Numbering(0, num_envs)
        self._restart, self._timeout, self._packed = restart, timeout, packed
        self._notices: list[str] = []
        self._last: tuple[list[bytes], np.ndarray] | None = None
        """States of all envs when they were last saved, and what they showed then."""
        self._memory, self._rounds = _make_shared_file(), Rounds(num_workers)
        self._workers: list[Worker] = []
        self._finalizer = weakref.finalize(self, _end_all, self._workers, self._memory, self._rounds)
        try:
            for first, last in shares(num_envs, num_workers):
                orders = Orders(source, -1, self._memory, first, last, num_envs, restart, packed, self._rounds.ends)
                orders = replace(orders, numbering=self._numbering)
                self._workers.append(Worker(orders, timeout))
            self.facts = self._agree([self._hello(worker) for worker in self._workers])
            self.arrays = self._share_memory()
            for worker in self._workers:
                self._attach(worker)
            self._poll = self._watch()
        except WorkerDown as down:
            self.close()
            raise EnvContractError(f"{source.id}, while it was built: {down}. Mend the env first.") from None
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
        for w, worker in enumerate(self._workers):
            try:
                self._notices += worker.receive().get("notices", [])
            except WorkerDown as down:
                self._revive(w, down, was_step=False)

    def send(self) -> None:
        now = time.monotonic()
        for worker in self._workers:
            worker.sent = now
        self._steps_before = self.arrays.steps.copy()
        self._rounds.begin()

    def is_ready(self) -> bool:
        return bool(self._poll.poll(0))

    def recv(self) -> None:
        """Wait for the last worker; those that are down are replaced or end the run."""
        while True:
            ready = [descriptor for descriptor, _ in self._poll.poll(1000 * LOOK_SECONDS)]
            down = self._listen(ready)
            if self._rounds.is_over in ready:  # one that went down after its step is found by the next round
                return self._rounds.finish()
            if down:
                return self._replace(down)

    def save(self) -> list[bytes]:
        self._tell(protocol.SAVE)
        states = [state for worker in self._workers for state in self._saved(worker)]
        self._last = states, self.arrays.features.copy()
        return states

    def _saved(self, worker: Worker) -> list[bytes]:
        """The states of a worker's envs. Where one that is down may be replaced, the next step does so; until then its envs
        stand where they were last saved."""
        rows = slice(worker.orders.first, worker.orders.last)
        try:
            return worker.receive()["states"]
        except WorkerDown as down:
            if not self._restart or self._last is None:
                raise self._fatal(down) from None
        worker.end()
        self._poll = self._watch()
        self.arrays.features[rows] = self._last[1][rows]
        return self._last[0][rows]

    def load(self, states: list[bytes], features: np.ndarray) -> None:
        for worker in self._workers:
            own = join_states(states[worker.orders.first : worker.orders.last])
            worker.send_long(protocol.LOAD + protocol.framed(own))
        for worker in self._workers:
            try:
                worker.receive()
            except WorkerDown as down:
                raise self._fatal(down) from None
        self._last = states, features.copy()

    def screens(self, limit: int) -> np.ndarray:
        """Every answer is read, whatever goes wrong: one that is left in a socket would be taken for that of the next order."""
        asked = [worker for worker in self._workers if worker.orders.first < limit]
        for worker in asked:
            worker.send(protocol.DRAW)
        answers = [_drawn(worker) for worker in asked]
        self._poll = self._watch()  # without those that are down
        for answer in answers:
            if "undrawn" in answer:
                raise EnvContractError(answer["undrawn"])
        return np.concatenate([split_screens(answer["states"]) for answer in answers])[:limit]

    def _fatal(self, down: WorkerDown) -> EnvContractError:
        return EnvContractError(f"{self._env_id}, while its state was saved or loaded: {down}.")

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

    def _watch(self) -> Any:
        """What may happen in a round: it is over, or a worker has something to say or is gone."""
        links = [worker.link.fileno() for worker in self._workers if not worker.is_ended]
        return poll_of(self._rounds.is_over, *links)

    def _listen(self, ready: Sequence[int]) -> dict[int, WorkerDown]:
        """Hear the workers whose sockets can be read, and look whether the others still move. Who is down?"""
        down = {}
        for w, worker in enumerate(self._workers):
            try:
                if worker.is_ended or worker.link.fileno() in ready:
                    self._notices += worker.receive().get("notices", [])
                elif not ready and self._is_in_round(worker):
                    worker.check_alive()
            except WorkerDown as found:
                down[w] = found
        return down

    def _replace(self, down: dict[int, WorkerDown]) -> None:
        """End the round without the workers that are down, then put new ones in their place."""
        if self._restart:
            for w, worker in enumerate(self._workers):
                if w not in down and (found := self._leave_round(worker)):
                    down[w] = found
            for w in down:
                self._workers[w].end()
            self._rounds.clear()
        for w, found in down.items():
            self._revive(w, found, was_step=True)

    def _leave_round(self, worker: Worker) -> WorkerDown | None:
        """Wait until a worker is done with the round: it answers only when it waits for the next. Else, why it is down."""
        worker.send(protocol.NOTHING)
        try:
            while answer := worker.receive():
                self._notices += answer.get("notices", [])
        except WorkerDown as down:
            return down

    def _is_in_round(self, worker: Worker) -> bool:
        first = worker.orders.first
        return bool(self.arrays.steps[first] == self._steps_before[first])

    def _revive(self, w: int, down: WorkerDown, was_step: bool) -> None:
        """A new worker with new envs in the place of one that is down; the episodes of its envs are cut off."""
        orders, (offset, total) = self._workers[w].orders, self._numbering
        part = self.arrays.part(orders.first, orders.last)
        fault: BaseException = down
        while True:
            row = int(np.argmax(part.busy_since))
            sentence = f"{locate(self._env_id, part, row, offset + orders.first)}: {fault}."
            self._workers[w].end()
            if not self._restart:
                raise EnvContractError(f"{sentence} {HINT}")
            count_restart(part, row, total, EnvContractError(sentence))
            self._notices.append(f"{sentence} {_replaced(orders)}")
            if was_step:
                _cut_off(part)
                was_step = False
            part.seed[np.arange(len(part.seed)) != row] += total
            try:
                return self._start_again(w, orders)
            except WorkerDown as again:
                fault = again

    def _start_again(self, w: int, orders: Orders) -> None:
        orders = replace(orders, round=self._rounds.number)
        worker = self._workers[w] = Worker(orders, self._timeout)
        self._poll = self._watch()
        self._agree([self.facts, self._hello(worker)])
        self._attach(worker)
        worker.send(protocol.RESET)
        self._notices += worker.receive().get("notices", [])
        if self._last is not None and self.arrays.restarts[orders.first : orders.last].max() <= 1:
            self._take_up(worker, *self._last)

    def _take_up(self, worker: Worker, states: list[bytes], features: np.ndarray) -> None:
        """Let new envs go on from where the old ones were last saved; where that failed before, they begin anew instead."""
        rows = slice(worker.orders.first, worker.orders.last)
        worker.send_long(protocol.LOAD + protocol.framed(join_states(states[rows])))
        self._notices += worker.receive().get("notices", [])
        self.arrays.features[rows] = features[rows]
        self._notices.append("They go on from where they were last saved.")

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


def _end_all(workers: list[Worker], memory: int, rounds: Rounds) -> None:
    for worker in workers:
        worker.send(protocol.QUIT)
    deadline = time.monotonic() + CLOSE_SECONDS
    for worker in workers:
        worker.end(max(0.0, deadline - time.monotonic()))
    workers.clear()
    os.close(memory)
    rounds.close()


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
