"""A population of a world outside JAX: every member is a process of its own, as many at a time as cores and memory allow.

A member that fails is reported and the others go on. Stopping and going on is each member's own: a signal is handed on so
that it saves, and calling this again goes on with whoever is not finished. What comes out on disk is the same as for a
population that shares one program.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from courtside.errors import CheckpointError, ConfigError, EnvContractError
from courtside.experiments.population import results
from courtside.experiments.population.histories import History
from courtside.experiments.population.results import explain_finished, is_finished, standing_of
from courtside.hosts.env_host import Forecast, can_be_imported, foresee
from courtside.machine import available_mb, num_cores
from courtside.runs import runlog, trust
from courtside.runs.events import Event, Finished, Notice, Progress, Standing
from courtside.settings.config import Config
from courtside.settings.kinds import EnvSource
from courtside.settings.worlds import find_env, give_options, outside_jax

LOG = "process.log"
"""What a member's process printed, in the member's folder."""
LOOK_SECONDS = 0.25
PROCESS_MB = 500.0
"""What Python and JAX hold in a process that trains, beside its envs."""
STOPPED = {130: "SIGINT", 143: "SIGTERM", -signal.SIGINT: "SIGINT", -signal.SIGTERM: "SIGTERM"}
"""Exit statuses of a process that a signal asked to stop -> that signal."""
SHARED_GPU = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
"""Set unless the user has set it: a process alone takes most of a GPU's memory, whether it needs it or not."""


@runtime_checkable
class Stop(Protocol):
    """Who knows whether the user wants to stop."""

    caught: str | None
    """Name of the signal that was caught, if any."""


# --- how many at a time --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Places:
    """How many members run at a time, and why."""

    count: int
    cores: int
    """Cores that one member keeps busy."""
    memory_mb: float
    """Memory that one member takes."""


def plan_places(config: Config) -> Places:
    """As many as have cores and memory of their own, and one at least."""
    source = outside_jax(give_options(find_env(config.env.env_id), config.env.options))
    if not can_be_imported(source):
        raise ConfigError(
            f"{source.id} is defined in the script that was started, where the processes of --seeds cannot find it; "
            "put it in a module of its own."
        )
    forecast = _foresee(config, source)
    cores = forecast.plan.num_workers if forecast else config.env.num_workers or 1
    memory_mb = PROCESS_MB + (forecast.memory_mb if forecast else 0.0)
    return Places(count_places(config.run.seeds, cores, memory_mb, num_cores(), available_mb()), cores, memory_mb)


def count_places(members: int, cores: int, memory_mb: float, all_cores: int, free_mb: float | None) -> int:
    by_cores = all_cores // max(cores, 1)
    by_memory = members if free_mb is None else int(free_mb // memory_mb)
    return max(1, min(members, by_cores, by_memory))


def _foresee(config: Config, source: EnvSource) -> Forecast | None:
    """None where the env that was tried failed; each member will say so, or survive it."""
    try:
        return foresee(source, config.env.num_envs, config.env)
    except EnvContractError:
        return None


def memory_mb(config: Config) -> dict[str, float]:
    """What the processes that run at a time will hold."""
    places = plan_places(config)
    return {"members": places.count * places.memory_mb}


def describe(config: Config) -> str:
    """How the members will run, in one sentence."""
    places = plan_places(config)
    cores = "1 core" if places.cores == 1 else f"{places.cores} cores"
    return (
        f"{config.env.env_id} is stepped outside JAX, so the {config.run.seeds} members run as processes of their own, "
        f"{places.count} at a time: each takes {cores} and about {places.memory_mb:,.0f} MB."
    )


# --- running -------------------------------------------------------------------------------------------------------


def run_processes(run_dir: str | Path, member_dirs: Sequence[Path], signals: Stop) -> Iterator[Event]:
    """Train every member that is not finished; yields how far all of them are, and a notice for each that ends."""
    config = runlog.read_config(run_dir)
    waiting = deque(folder for folder in member_dirs if not is_finished(folder, runlog.read_config(folder)))
    if not waiting:
        raise CheckpointError(explain_finished(Path(run_dir), config, member_dirs))
    places, watch, begun = plan_places(config), _Watch(member_dirs), time.perf_counter()
    running: list[_Child] = []
    try:
        while waiting or running:
            if signals.caught:
                waiting.clear()
                _ask_to_stop(running, signals.caught)
            while waiting and len(running) < places.count:
                running.append(_Child(waiting.popleft()))
            time.sleep(LOOK_SECONDS)
            ended = [child for child in running if child.process.poll() is not None]
            running = [child for child in running if child not in ended]
            yield from watch.look()
            yield from _report(ended, signals.caught)
    finally:
        _end(running)
    if all(is_finished(folder, runlog.read_config(folder)) for folder in member_dirs):
        yield Finished(watch.step, watch.update, time.perf_counter() - begun)


class _Child:
    """One member's process."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.is_asked = folder, False
        with open(folder / LOG, "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "courtside.cli.member_process", str(folder)],
                stdin=subprocess.PIPE,  # its end tells the process that the population is gone
                stdout=log,
                stderr=log,
                env=SHARED_GPU
                | os.environ
                | trust.child_variables()
                | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # else Ctrl-C would reach it twice: from the terminal and from here
            )

    def stop(self, signal_name: str) -> None:
        """Ask once: a second signal would make it leave without saving."""
        if not self.is_asked and self.process.poll() is None:
            self.is_asked = True
            self.process.send_signal(signal.Signals[signal_name])

    def last_line(self) -> str:
        """The last thing it said, without the command's name."""
        with open(self.folder / LOG, "rb") as log:
            log.seek(self.log_start)
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip().removeprefix("courtside: ") if lines else ""


def _ask_to_stop(children: Sequence[_Child], signal_name: str) -> None:
    for child in children:
        child.stop(signal_name)


def _end(children: Sequence[_Child]) -> None:
    """Whoever still runs saves and ends, and is waited for."""
    _ask_to_stop(children, "SIGTERM")
    for child in children:
        child.process.wait()


def _report(ended: Sequence[_Child], caught: str | None) -> Iterator[Notice]:
    for child in ended:
        if child.process.stdin is not None:
            child.process.stdin.close()
        if text := _explain(child, caught):
            yield Notice(text)


def _explain(child: _Child, caught: str | None) -> str:
    """That a member is finished, or why it is not; empty where the user stopped all of them."""
    name, status = child.folder.name, child.process.returncode
    if status == 0:
        score = final_score(child.folder)
        return f"Member {name} is finished" + ("." if score is None else f" with a final score of {score:,.4g}.")
    if caught and status in STOPPED:
        return ""
    if status in STOPPED:
        return f"Member {name} was stopped by {STOPPED[status]}; `courtside resume` goes on with it."
    if status < 0:
        cause = f"its process was ended by {signal.Signals(-status).name}, perhaps for lack of memory"
    else:
        cause = child.last_line() or f"its process ended with status {status}"
    return f"Member {name} failed: {cause.rstrip('.')}. More is in {child.folder / LOG}; the other members go on."


def final_score(folder: Path) -> float | None:
    """What the last episodes of a member came to, by what it is judged by."""
    history = History(runlog.read_config(folder), judges=False)
    history.add(runlog.read_rows(folder))
    return results.final_score(history.scores())


# --- how far they are ----------------------------------------------------------------------------------------------


class _Watch:
    """What the members have logged so far, told as one run whose length is that of a member."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._tails = [_Tail(folder) for folder in folders]
        self._looked = time.perf_counter()
        self._read()

    @property
    def step(self) -> int:
        """Mean over the members, so that the share done is that of all of them."""
        return sum(tail.history.step for tail in self._tails) // len(self._tails)

    @property
    def update(self) -> int:
        return sum(tail.history.update for tail in self._tails) // len(self._tails)

    def look(self) -> Iterator[Event]:
        """What there is to show, where anything has changed."""
        steps = self._read()
        now = time.perf_counter()
        if steps > 0:
            seconds, self._looked = now - self._looked, now
            # No rows: members that run one after the other do not add up to one curve.
            yield Progress(self.step, self.update, [], seconds, steps / seconds, None)
            yield self._standing()

    def _read(self) -> int:
        """Read on in all files; returns how many steps were made since."""
        before = sum(tail.history.step for tail in self._tails)
        for tail in self._tails:
            tail.read_on()
        return sum(tail.history.step for tail in self._tails) - before

    def _standing(self) -> Standing:
        return standing_of(tail.history.tracker.verdict() for tail in self._tails)


class _Tail:
    """A member's metrics and evaluations, read on from where the last look ended."""

    def __init__(self, folder: Path) -> None:
        self._metrics, self._evals = _Lines(folder / runlog.METRICS), _Lines(folder / runlog.EVALS)
        self._config = runlog.read_config(folder)
        self.history = History(self._config)

    def read_on(self) -> None:
        """Metrics first: whatever was evaluated before the newest of them is then in the other file already."""
        rows, is_new = self._metrics.read_on()
        if is_new:
            self._evals.forget()
            self.history = History(self._config)
        self.history.add(rows, self._evals.read_on()[0])


class _Lines:
    """The whole lines of a file that grows; a member that is resumed puts a new file in the place of the old one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.forget()

    def forget(self) -> None:
        self._inode, self._offset = -1, 0

    def read_on(self) -> tuple[list[runlog.Row], bool]:
        """The rows since the last look, and whether they are the first of a new file."""
        try:
            with open(self._path, "rb") as file:
                if is_new := (inode := os.fstat(file.fileno()).st_ino) != self._inode:
                    self._inode, self._offset = inode, 0
                file.seek(self._offset)
                piece, end, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return [], False
        self._offset += len(piece) + len(end)
        return [runlog.decode_row(line) for line in piece.splitlines()], is_new


def updates_done(folder: Path) -> int:
    """Updates that a member has logged; the last one counts only once its verdict or last checkpoint is written too."""
    config, tail = runlog.read_config(folder), _Tail(folder)
    tail.read_on()
    done = tail.history.update
    return done if is_finished(folder, config) else min(done, config.num_updates - 1)
