"""Two of the three ways to step B envs: in the caller's own thread, or spread over threads. No JAX here.

A crew owns the envs and their arrays. `send` lets every env begin a step, where there is somebody else to take it; `recv`
and `reset` return once every env is done, or raise one clear error.
"""

from __future__ import annotations

import functools
import itertools
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np

from courtside.errors import EnvContractError
from courtside.hosts.arrays import HostArrays, make_arrays
from courtside.hosts.calls import calling
from courtside.hosts.env_slice import EnvSlice, Numbering, locate
from courtside.hosts.facts import EnvFacts
from courtside.hosts.watchdog import show_crashes, watch
from courtside.machine import resident_mb
from courtside.settings.kinds import EnvSource

LOOK_SECONDS = 0.2
"""How often a waiting crew looks whether a worker still moves."""


@runtime_checkable
class Crew(Protocol):
    """B envs and whoever steps them."""

    facts: EnvFacts
    arrays: HostArrays
    num_workers: int

    def reset(self) -> None: ...

    def send(self) -> None: ...

    def recv(self) -> None: ...

    def is_ready(self) -> bool:
        """Whether `recv` would return at once, as far as is known."""
        ...

    def save(self) -> list[bytes]:
        """The inner state of every env."""
        ...

    def load(self, states: list[bytes], features: np.ndarray) -> None:
        """Go on from states that `save` gave, when the envs showed `features`."""
        ...

    def screens(self, limit: int) -> np.ndarray:
        """Pictures of the first envs, uint8 [n, H, W, 3]; whatever it raises, the envs can be stepped on."""
        ...

    def take_notices(self) -> list[str]: ...

    def memory_mb(self) -> float: ...

    def close(self) -> None: ...


def shares(num_envs: int, num_workers: int) -> list[tuple[int, int]]:
    """Which envs each worker has, as (first, last + 1); sizes differ by one at most."""
    edges = [num_envs * w // num_workers for w in range(num_workers + 1)]
    return list(itertools.pairwise(edges))


class SerialCrew:
    """All envs one after the other in the calling thread: no hand-over, so the fastest for cheap envs."""

    num_workers = 1

    def __init__(
        self,
        source: EnvSource,
        num_envs: int,
        restart: bool,
        timeout: float,
        packed: bool = False,
        numbering: Numbering | None = None,
    ) -> None:
        show_crashes()
        before = resident_mb()
        envs = build_envs(source, num_envs)
        self.facts = calling(source).describe_env(source.id, envs[0])
        self.arrays = make_arrays(self.facts.layout(num_envs, packed))
        self._slice = EnvSlice(source, self.facts, envs, self.arrays, *(numbering or Numbering(0, num_envs)), restart)
        self._memory_mb = max(0.0, resident_mb() - before)
        self._is_busy = False
        self._unwatched = watch(self, timeout)

    def reset(self) -> None:
        self._is_busy = True
        try:
            self._slice.reset()
        finally:
            self._is_busy = False

    def send(self) -> None:
        """There is nobody else to take the step: `recv` does."""

    def is_ready(self) -> bool:
        return True

    def recv(self) -> None:
        self._is_busy = True
        try:
            self._slice.step()
        finally:
            self._is_busy = False

    def save(self) -> list[bytes]:
        return self._slice.save()

    def load(self, states: list[bytes], features: np.ndarray) -> None:
        self._slice.load(states)

    def screens(self, limit: int) -> np.ndarray:
        return self._slice.screens()[:limit]

    def close(self) -> None:
        self._unwatched.set()
        self._slice.close()

    def busy_mark(self) -> float | None:
        """When the env that is being called was called."""
        return float(self.arrays.busy_since.max()) if self._is_busy else None

    def describe_call(self) -> str:
        return locate(self._slice.env_id, self.arrays, int(np.argmax(self.arrays.busy_since)), self._slice.first)

    def take_notices(self) -> list[str]:
        notices, self._slice.notices = self._slice.notices, []
        return notices

    def memory_mb(self) -> float:
        """Growth of this process while the envs were built."""
        return self._memory_mb


class ThreadCrew:
    """A share of the envs in each of several threads: pays off where `step` releases Python's lock (C code, waiting)."""

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
        self._offset, total = numbering or Numbering(0, num_envs)
        self._env_id, self._timeout, self.num_workers = source.id, timeout, num_workers
        self._shares = shares(num_envs, num_workers)
        self._jobs: list[queue.SimpleQueue] = [queue.SimpleQueue() for _ in self._shares]
        self._done: queue.SimpleQueue = queue.SimpleQueue()
        self._slices: list[EnvSlice] = []
        show_crashes()
        before = resident_mb()
        for w in range(num_workers):
            threading.Thread(target=_work, args=(w, self._jobs[w], self._done), daemon=True).start()
        # An env may be bound to the thread that made it (windows, databases), so each thread makes its own.
        self.arrays: HostArrays | Any = None
        try:
            built = self._run([functools.partial(build_envs, source, last - first) for first, last in self._shares])
            self.facts = calling(source).describe_env(source.id, built[0][0])
            self.arrays = make_arrays(self.facts.layout(num_envs, packed))
            for (first, last), envs in zip(self._shares, built, strict=True):
                part = self.arrays.part(first, last)
                self._slices.append(EnvSlice(source, self.facts, envs, part, self._offset + first, total, restart))
        except BaseException:
            self.close()
            raise
        self._memory_mb = max(0.0, resident_mb() - before)

    def reset(self) -> None:
        self._run([part.reset for part in self._slices])

    def send(self) -> None:
        self._give([part.step for part in self._slices])

    def recv(self) -> None:
        self._wait()

    def is_ready(self) -> bool:
        return self._done.qsize() >= len(self._slices)

    def save(self) -> list[bytes]:
        return [state for states in self._run([part.save for part in self._slices]) for state in states]

    def load(self, states: list[bytes], features: np.ndarray) -> None:
        shared = zip(self._slices, self._shares, strict=True)
        self._run([functools.partial(part.load, states[first:last]) for part, (first, last) in shared])

    def screens(self, limit: int) -> np.ndarray:
        return np.concatenate(self._run([part.screens for part in self._slices]))[:limit]

    def take_notices(self) -> list[str]:
        notices = [text for part in self._slices for text in part.notices]
        for part in self._slices:
            part.notices = []
        return notices

    def memory_mb(self) -> float:
        """Growth of this process while the envs were built."""
        return self._memory_mb

    def close(self) -> None:
        """Let every thread close its envs and end; one that hangs is left behind, since no thread can be ended."""
        for w, jobs in enumerate(self._jobs):
            if w < len(self._slices):
                jobs.put(self._slices[w].close)
            jobs.put(None)
        self._jobs, self._slices = [], []

    def _run(self, jobs: list[Callable[[], Any]]) -> list[Any]:
        """What each thread's job returns."""
        self._give(jobs)
        return self._wait()

    def _give(self, jobs: list[Callable[[], Any]]) -> None:
        """Hand each thread its job."""
        self._started = time.monotonic()
        for inbox, job in zip(self._jobs, jobs, strict=True):
            inbox.put(job)

    def _wait(self) -> list[Any]:
        """Until all threads are done; the first error of the lowest worker is raised."""
        waiting, results = set(range(self.num_workers)), [None] * self.num_workers
        errors: dict[int, BaseException] = {}
        while waiting:
            try:
                worker, results[worker], error = self._done.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                self._check_alive(waiting)
                continue
            waiting.discard(worker)
            if error is not None:
                errors[worker] = error
        if errors:
            raise errors[min(errors)]
        return results

    def _check_alive(self, waiting: set[int]) -> None:
        """Raise where a worker has been in one and the same call for too long."""
        now, started = time.monotonic(), self._started
        if self.arrays is None:
            if now - started > self._timeout:
                raise EnvContractError(
                    f"{self._env_id} took more than {self._timeout:g} s to build; see --worker-timeout."
                )
            return
        for w in sorted(waiting):
            first, last = self._shares[w]
            part = self.arrays.part(first, last)
            if now - max(started, part.busy_since.max()) > self._timeout:
                row = int(np.argmax(part.busy_since))
                raise EnvContractError(
                    f"{locate(self._env_id, part, row, self._offset + first)}: no answer for {self._timeout:g} s. A thread cannot be "
                    "ended or replaced; --workers processes with --on-worker-failure restart can."
                )


def build_envs(source: EnvSource, count: int) -> list[Any]:
    return [calling(source).build_env(source) for _ in range(count)]


def _work(worker: int, jobs: queue.SimpleQueue, done: queue.SimpleQueue) -> None:
    """What each thread does: jobs until None."""
    while (job := jobs.get()) is not None:
        result = error = None
        try:
            result = job()
        except BaseException as raised:
            error = raised
        done.put((worker, result, error))
