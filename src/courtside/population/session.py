"""A population with everything around it: one run folder, a complete run folder for every member inside, checkpoints,
verdicts, signals. Worlds outside JAX run as processes instead (`population.processes`); the outcome is the same on disk.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside import backend, checkpoint, runlog, snapshots
from courtside.config import Config, override
from courtside.engines import make_engine
from courtside.engines.jax_engine import JaxEngine
from courtside.errors import CheckpointError, ConfigError
from courtside.events import (
    Compiled,
    Evaluated,
    Finished,
    MembersEvaluated,
    MembersEvent,
    MembersProgress,
    Notice,
    Progress,
    Settled,
    Standing,
    Started,
)
from courtside.health.verdict import VerdictTracker, to_json
from courtside.population import loop
from courtside.population.engine import PopulationEngine, Shards, members_that_fit
from courtside.population.members import create_folders, member_dir, require_whole
from courtside.population.results import Results, read_results, write_results
from courtside.recruit import keep
from courtside.runlog import RunLog
from courtside.session import Saver, Signals, View, explain_new_length, may_stop, pipeline_of, tell
from courtside.types import TrainState

MAX_WRITERS = 16
"""Members whose files are written at the same time."""


@dataclass(frozen=True)
class PopulationResult:
    """How a population ended."""

    run_dir: Path
    results: Results
    finished: bool
    stopped_by: str | None
    """`SIGINT` or `SIGTERM` where a signal stopped it."""
    step: int
    """Of one member."""
    update: int
    seconds: float


def train(config: Config, *, view: View | None = None) -> PopulationResult:
    """A new population in a new folder."""
    config.validate()
    _refuse(config)
    backend.start(config, members=config.run.seeds)
    single = make_engine(config)  # whatever is wrong with the world is told before a folder is made
    single.close()
    run_dir = create_folders(config)
    return _drive(config, run_dir, view, is_jax=isinstance(single, JaxEngine))


def resume(run_dir: Path, *, view: View | None = None, total_timesteps: int | None = None) -> PopulationResult:
    """Go on with all members from the newest moment that every one of them has whole."""
    config = runlog.read_config(run_dir)
    if total_timesteps is not None and total_timesteps != config.run.total_timesteps:
        tell(view, Notice(explain_new_length(config, total_timesteps)))
        config = override(config, total_timesteps=total_timesteps)
        config.validate()
        for folder in require_whole(run_dir, config):
            runlog.write_config(folder, override(runlog.read_config(folder), total_timesteps=total_timesteps))
        runlog.write_config(run_dir, config)
    require_whole(run_dir, config)
    backend.start(config, members=config.run.seeds)
    single = make_engine(config, member_dir(run_dir, 0))
    single.close()
    return _drive(config, run_dir, view, is_jax=isinstance(single, JaxEngine))


def _refuse(config: Config) -> None:
    if config.run.wandb:
        raise ConfigError(
            "--wandb sends one run, but --seeds asks for several; leave one of them out (TensorBoard shows all)."
        )
    if config.run.insure:
        raise ConfigError(
            "--insure watches over one run, but --seeds asks for several; train them one by one to insure them."
        )


def _drive(config: Config, run_dir: Path, view: View | None, is_jax: bool) -> PopulationResult:
    begun = time.perf_counter()
    _raise_file_limit(config.run.seeds)
    with Signals() as signals:
        if is_jax:
            update = _train_waves(config, run_dir, view, signals)
        else:
            update = _train_processes(config, run_dir, view, signals)
    finished = update >= config.num_updates
    results = read_results(run_dir)
    write_results(run_dir, results)
    stopped_by = None if finished else signals.caught
    seconds = time.perf_counter() - begun
    return PopulationResult(run_dir, results, finished, stopped_by, update * config.batch_size, update, seconds)


def _raise_file_limit(num_members: int) -> None:
    """Every member has a handful of files open; many systems allow a thousand in all unless asked."""
    try:
        import resource
    except ImportError:  # Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 256 + 8 * num_members
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard < 0 else min(hard, wanted), hard))


# --- JAX worlds ------------------------------------------------------------------------------------------------------


def _train_waves(config: Config, run_dir: Path, view: View | None, signals: Signals) -> int:
    """All members at once, or wave after wave where memory is short; returns the updates that every member has done."""
    waves, note = plan_waves(config)
    done = []
    for i, wave in enumerate(waves):
        notes = [note] if note and i == 0 else [f"Members {wave[0]} to {wave[-1]} are next."] if note else []
        done.append(_train_wave(config, run_dir, wave, view, signals, notes))
        if signals.caught:
            break
    return min(done) if len(done) == len(waves) else 0


def plan_waves(config: Config) -> tuple[list[range], str]:
    """Which members are trained together, and what to say where that is not all of them."""
    single = make_engine(config)
    assert isinstance(single, JaxEngine)
    most, members = members_that_fit(single), config.run.seeds
    num_waves = -(-members // most)
    waves = [range(int(w[0]), int(w[-1]) + 1) for w in np.array_split(np.arange(members), num_waves)]
    if num_waves == 1:
        return waves, ""
    return waves, (
        f"Memory is short: of {members} members at most {most} fit at once, so they are trained in {num_waves} waves, "
        "one after the other. The results are the same."
    )


def _train_wave(
    config: Config, run_dir: Path, wave: range, view: View | None, signals: Signals, notes: Sequence[str]
) -> int:
    dirs = [member_dir(run_dir, i) for i in wave]
    configs = [runlog.read_config(folder) for folder in dirs]
    engine = PopulationEngine(configs, dirs[0])
    update = newest_common(dirs)
    if update >= config.num_updates and all((folder / runlog.VERDICT).exists() for folder in dirs):
        _refuse_finished(config, run_dir, wave)
        engine.close()
        return update
    state = _load(engine, configs, dirs, update)
    if update:
        notes = [*notes, f"Going on from step {update * config.batch_size:,} (update {update:,}) of every member."]
    with contextlib.closing(_Members(config, configs, dirs, engine, update)) as members:
        for event in loop.run(config, configs, engine, state, notes):
            members.on(event)
            for shown in members.translate(event):
                tell(view, shown)
            if isinstance(event, Settled):
                update = event.update
                members.keep_moment(event)
                members.save_if_due(event, signals.caught is not None)
            if signals.caught and may_stop(event, config):
                break
    return update


def _refuse_finished(config: Config, run_dir: Path, wave: range) -> None:
    """Nothing is left to do: said as an error where it is true of the whole population."""
    if len(wave) == config.run.seeds:
        raise CheckpointError(
            f"The population {run_dir.name} is finished: all {config.run.total_timesteps:,} steps of its members are done. "
            "Give a larger --total-timesteps to train on, or evaluate it with `courtside eval`."
        )


def newest_common(dirs: Sequence[Path]) -> int:
    """The newest update of which every member has a whole checkpoint; 0 where they start from the beginning."""
    updates = [_whole_updates(folder) for folder in dirs]
    if common := set.intersection(*updates):
        return max(common)
    if max(map(len, updates)) <= 1 and not all(updates):
        return 0  # killed before every member had its first
    if not all(updates):
        lost = dirs[next(i for i, found in enumerate(updates) if not found)]
        raise CheckpointError(
            f"The member {lost} has no whole checkpoint although others have; resume those one by one: "
            f"courtside resume {dirs[0]}."
        )
    ahead = max(zip(updates, dirs, strict=True), key=lambda pair: max(pair[0]))[1]
    raise CheckpointError(
        f"The members have no checkpoint of the same update: {ahead.name} was trained on alone, to update "
        f"{max(_whole_updates(ahead)):,}. Resume the members one by one: courtside resume {dirs[0]}."
    )


def _whole_updates(folder: Path) -> set[int]:
    found = set()
    for path in checkpoint.find_checkpoints(folder / checkpoint.FOLDER):
        with contextlib.suppress(CheckpointError):
            found.add(int(checkpoint.read_meta(path)["update"]))
    return found


def _load(engine: PopulationEngine, configs: Sequence[Config], dirs: Sequence[Path], update: int) -> Shards | None:
    if not update:
        return None
    states: list[TrainState] = []
    for config, folder in zip(configs, dirs, strict=True):
        path = checkpoint.checkpoint_path(folder, update)
        states.append(checkpoint.load(path, engine.template(), pipeline_of(config, engine.single))[0])
    return engine.stack(states)


class _Members:
    """The run folders of the members that are being trained, and how each stands."""

    def __init__(
        self, config: Config, configs: Sequence[Config], dirs: Sequence[Path], engine: PopulationEngine, update: int
    ) -> None:
        self.config, self.engine = config, engine
        self.writers = ThreadPoolExecutor(MAX_WRITERS)
        self.logs: list[RunLog] = []
        for member, folder in zip(configs, dirs, strict=True):
            self.logs.append(RunLog.resume(folder, update, update * config.batch_size, member))
            keep(engine.opponents, folder)
            (folder / runlog.VERDICT).unlink(missing_ok=True)
        pipeline = pipeline_of(config, engine.single)
        self.savers = [Saver(folder, member, pipeline) for folder, member in zip(dirs, configs, strict=True)]
        self.trackers = [VerdictTracker(config.thresholds) for _ in dirs]
        for tracker, folder in zip(self.trackers, dirs, strict=True):
            tracker.add(runlog.read_history(folder))

    def on(self, event: MembersEvent) -> None:
        """Every member's part of an event into its own folder, as if it had been trained alone."""
        parts = list(self._parts(event))
        for log, tracker, part in zip(self.logs, self.trackers, parts, strict=bool(parts)):
            log.on(part)
            if isinstance(part, Progress):
                tracker.add(part.rows)
            elif isinstance(part, Evaluated):
                tracker.add([{"step": part.step, "update": part.update, **part.metrics}])
        if isinstance(event, MembersEvaluated):
            self._write(Saver.save_if_best, parts)
        if isinstance(event, Finished) and self.config.thresholds:
            for log, tracker in zip(self.logs, self.trackers, strict=True):
                log.write_verdict(to_json(tracker.verdict()))

    def _parts(self, event: MembersEvent) -> Iterator[Any]:
        match event:
            case MembersProgress():
                for rows in event.rows:
                    speed = event.steps_per_second / len(self.logs)
                    yield Progress(event.step, event.update, rows, event.seconds, speed, event.rollout_share)
            case MembersEvaluated():
                states = self.engine.members(event.state)
                for state, metrics, is_best in zip(states, event.metrics, event.is_best, strict=True):
                    yield Evaluated(event.step, event.update, metrics, is_best, state)
            case Started() | Compiled() | Finished():
                yield from (event for _ in self.logs)

    def translate(self, event: MembersEvent) -> Iterator[Any]:
        """What the terminal shows: the median member, and how many pass."""
        match event:
            case MembersProgress():
                rows = median_rows(event.rows)
                yield Progress(
                    event.step, event.update, rows, event.seconds, event.steps_per_second, event.rollout_share
                )
                yield self._standing()
            case MembersEvaluated():
                names = event.metrics[0]
                median = {name: float(np.median([found[name] for found in event.metrics])) for name in names}
                yield Evaluated(event.step, event.update, median, any(event.is_best))
            case _:
                yield event

    def _standing(self) -> Standing:
        verdicts = [tracker.verdict() for tracker in self.trackers]
        once = sum(verdict.steps_to_pass is not None for verdict in verdicts)
        return Standing(sum(verdict.passed for verdict in verdicts), once, len(verdicts))

    def keep_moment(self, event: Settled) -> None:
        """A snapshot of every member, at the updates at which a run alone keeps one."""
        if snapshots.is_due(self.config, event.update):
            self._write(Saver.keep_moment, self._settled(event))

    def _settled(self, event: Settled) -> list[Settled]:
        return [Settled(event.step, event.update, state) for state in self.engine.members(event.state)]

    def _write(self, write: Callable[[Saver, Any], None], parts: Sequence[Any]) -> None:
        """Into all folders at once: most of a save is waiting for the disk."""
        list(self.writers.map(write, self.savers, parts))

    def save_if_due(self, event: Settled, stopping: bool) -> None:
        """All members of a moment, then the old ones go: at any time there is a moment that every member has whole."""
        if not (stopping or self.savers[0].is_due() or event.update == self.config.num_updates):
            return
        for log in self.logs:
            log.sync()
        self._write(Saver.write, self._settled(event))
        for saver in self.savers:
            saver.prune()

    def close(self) -> None:
        self.writers.shutdown()
        for log in self.logs:
            log.close()


def median_rows(rows: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """The median over members of every metric, update by update; members in which no episode ended are left out of it."""
    blanked = [[runlog.blank_episodes(row) for row in member] for member in rows]
    shown = [{"step": row["step"], "update": row["update"]} for row in blanked[0]]
    for name in blanked[0][0]:
        if name in ("step", "update"):
            continue
        values = np.array([[row[name] for row in member] for member in blanked], np.float64)  # None becomes NaN
        known = np.asarray(~np.isnan(values).all(axis=0))
        medians = np.nanmedian(values[:, known], axis=0).tolist()
        column = iter(medians)
        for row, is_known in zip(shown, known, strict=True):
            row[name] = next(column) if is_known else None
    return shown


# --- worlds outside JAX ----------------------------------------------------------------------------------------------


def _train_processes(config: Config, run_dir: Path, view: View | None, signals: Signals) -> int:
    from courtside.population import processes

    dirs = require_whole(run_dir, config)
    tell(view, Started(config, processes.memory_mb(config), backend.describe_device(), (processes.describe(config),)))
    for event in processes.run_processes(run_dir, dirs, signals):
        tell(view, event)
    return min(processes.updates_done(folder) for folder in dirs)
