"""A population with everything around it: one run folder, a complete run folder for every member inside, checkpoints,
verdicts, signals. Worlds outside JAX run as processes instead (`population.processes`); the outcome is the same on disk.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np

from courtside.engines import Engine, backend, fit, make_engine
from courtside.engines.jax_engine import JaxEngine
from courtside.engines.opponents import keep
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.population import loop
from courtside.experiments.population.engine import PopulationEngine, Shards, members_that_fit
from courtside.experiments.population.plan import Wave, forget_after, plan_waves, whole_updates
from courtside.experiments.population.results import (
    Results,
    explain_finished,
    is_ended_by_score,
    is_finished,
    read_results,
    standing_of,
    write_results,
)
from courtside.health.verdict import VerdictTracker, to_json
from courtside.runs import checkpoint, runlog, snapshots
from courtside.runs.events import (
    Compiled,
    Evaluated,
    Finished,
    MembersEvaluated,
    MembersEvent,
    MembersProgress,
    Notice,
    Progress,
    Settled,
    Started,
    Turned,
)
from courtside.runs.holding import hold
from courtside.runs.members import create_folders, refuse_loners, require_whole
from courtside.runs.runlog import RunLog
from courtside.runs.trust import consent, take_trouble
from courtside.settings.config import Config, override
from courtside.settings.metric_names import ranking_metric
from courtside.settings.turns import Turn, Turns, add_turn
from courtside.training import stopping
from courtside.training.desk import Desk
from courtside.training.replanning import replan
from courtside.training.saving import Saver, pipeline_of
from courtside.training.session import View, may_stop, note_and_tell, tell
from courtside.training.stop_signals import Signals
from courtside.training.stopping import ScoreWatch
from courtside.types import TrainState

FIRST_BAD = "health/first_bad"
MAX_WRITERS = 16
"""Members whose files are written at the same time."""


@dataclass(frozen=True)
class PopulationResult:
    """How a population ended."""

    run_dir: Path
    results: Results
    finished: bool
    stopped_by: str | None
    """`SIGINT` or `SIGTERM` where a signal stopped it, `page` where the page did."""
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
    if note := take_trouble():
        tell(view, Notice(note))
    for folder in require_whole(run_dir, config):
        keep(single.opponents, folder)
    with contextlib.closing(hold(run_dir)):
        return _drive(config, run_dir, single, view)


def resume(
    run_dir: Path, *, view: View | None = None, total_timesteps: int | None = None, trust: bool | str = False
) -> PopulationResult:
    """Go on with all members, each from the newest moment that it can share with others."""
    with contextlib.closing(hold(run_dir)):
        return _resume(run_dir, view, total_timesteps, trust)


def _resume(run_dir: Path, view: View | None, total_timesteps: int | None, trust: bool | str) -> PopulationResult:
    with consent(trust):
        config = runlog.open_config(run_dir)
    dirs = require_whole(run_dir, config)
    refuse_loners(dirs)
    if all(is_ended_by_score(folder, config) for folder in dirs):
        raise CheckpointError(explain_finished(run_dir, config, dirs))
    config, notes = replan(config, dirs, total_timesteps)
    if notes:
        config.validate()
        tell(view, Notice(notes[0]))
        runlog.write_config(run_dir, config)
    for folder in dirs:
        member = runlog.read_config(folder)
        if member.run.total_timesteps != config.run.total_timesteps:
            runlog.write_config(folder, override(member, total_timesteps=config.run.total_timesteps))
    if all(map(_is_done, dirs)):
        raise CheckpointError(explain_finished(run_dir, config, dirs))
    backend.start(config, members=config.run.seeds)
    single = make_engine(config, dirs[0])
    single.close()
    return _drive(config, run_dir, single, view)


def _refuse(config: Config) -> None:
    if config.run.wandb:
        raise ConfigError(
            "--wandb sends one run, but --seeds asks for several; leave one of them out (TensorBoard shows all)."
        )
    if config.run.insure:
        raise ConfigError(
            "--insure watches over one run, but --seeds asks for several; train them one by one to insure them."
        )


def _drive(config: Config, run_dir: Path, single: Engine, view: View | None) -> PopulationResult:
    begun = time.perf_counter()
    _raise_file_limit(config.run.seeds)
    with Signals() as signals:
        if isinstance(single, JaxEngine):
            _train_waves(config, run_dir, single, view, signals)
        else:
            _train_processes(config, run_dir, view, signals)
    dirs = require_whole(run_dir, config)
    finished = all(map(_is_done, dirs))
    update = min(max(whole_updates(folder), default=0) for folder in dirs)
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


def _train_waves(config: Config, run_dir: Path, single: JaxEngine, view: View | None, signals: Signals) -> None:
    """All members that are not finished: at once, or wave after wave."""
    dirs = {i: folder for i, folder in enumerate(require_whole(run_dir, config)) if not _is_done(folder)}
    for folder in dirs.values():
        _hand_on_turns(config, folder)
    most = members_that_fit(single)
    waves = plan_waves(dirs, most)
    for i, wave in enumerate(waves):
        notes = [_describe_wave(wave, i, len(waves), most)] if len(waves) > 1 else []
        _train_wave(config, run_dir, [dirs[i] for i in wave.members], wave.update, view, signals, notes)
        if signals.caught:
            break


def _hand_on_turns(config: Config, folder: Path) -> None:
    """Members of one program turn alike; a kill may have come before all of them had heard of a turn."""
    member = runlog.read_config(folder)
    if member.run.turns != config.run.turns:
        run = dataclasses.replace(member.run, turns=config.run.turns)
        runlog.write_config(folder, dataclasses.replace(member, run=run))


def _is_done(folder: Path) -> bool:
    return is_finished(folder, runlog.read_config(folder))


def _describe_wave(wave: Wave, index: int, num_waves: int, most: int) -> str:
    """Said before each wave; the first time also why there are several."""
    names = f"members {wave.members[0]} to {wave.members[-1]}"
    if index:
        return f"Wave {index + 1} of {num_waves}: {names}."
    return (
        f"The members are trained in {num_waves} waves, one after the other, because at most {most:,} fit into memory at once or "
        f"some are further than others; the results are the same. The first: {names}."
    )


def _train_wave(
    config: Config,
    run_dir: Path,
    dirs: Sequence[Path],
    update: int,
    view: View | None,
    signals: Signals,
    notes: Sequence[str],
) -> None:
    configs = [runlog.read_config(folder) for folder in dirs]
    engine = PopulationEngine(configs, dirs[0])
    state = _load(engine, configs, dirs, update)
    if update:
        notes = [*notes, f"Going on from step {update * config.batch_size:,} (update {update:,}) of every member."]
    with contextlib.closing(_Members(config, configs, dirs, engine, update)) as members:
        turn = partial(_write_turn, config, run_dir, members)
        desk = Desk(run_dir, signals, turn, partial(note_and_tell, members.logs, view))
        for event in loop.run(config, configs, engine, state, notes, members.watches, members.turns):
            members.on(event)
            for shown in members.translate(event):
                tell(view, shown)
            if isinstance(event, Settled):
                members.keep_moment(event)
                is_stopping = desk.settle(event.update, partial(members.save_if_due, event))
            else:
                is_stopping = bool(signals.caught)
            if is_stopping and may_stop(event):
                break


def _write_turn(config: Config, run_dir: Path, members: _Members, turn: Turn) -> None:
    """For all members alike, and for the population, from whose settings it is repeated and resumed."""
    if len(members.turns) < config.run.seeds:
        raise ConfigError("the members are not all trained at the same time, so they could not be turned alike.")
    turned = add_turn(members.turns[0].config, turn).run.turns
    runlog.write_config(run_dir, dataclasses.replace(config, run=dataclasses.replace(config.run, turns=turned)))
    for log, member in zip(members.logs, members.turns, strict=True):
        member.add(turn)
        runlog.write_config(log.folder, member.config)


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
        self.best_median = -math.inf
        """The best evaluation of the median member that was shown."""
        self.logs: list[RunLog] = []
        for member, folder in zip(configs, dirs, strict=True):
            self.logs.append(RunLog.resume(folder, update, update * config.batch_size, member))
            (folder / runlog.VERDICT).unlink(missing_ok=True)
        forget_after(dirs, update)
        pipeline = pipeline_of(config, engine.single)
        self.state_mb = fit.tree_mb(engine.template())
        self.savers = [
            Saver(folder, member, pipeline, self.state_mb) for folder, member in zip(dirs, configs, strict=True)
        ]
        self.trackers = [VerdictTracker(config.thresholds) for _ in dirs]
        for tracker, folder in zip(self.trackers, dirs, strict=True):
            tracker.add(runlog.read_history(folder))
        self.watches = [ScoreWatch(config, runlog.read_rows(folder)) for folder in dirs]
        self.turns = [Turns(member) for member in configs]

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
        if isinstance(event, Finished) and stopping.writes_verdict(self.config):
            for log, tracker, watch in zip(self.logs, self.trackers, self.watches, strict=True):
                log.write_verdict(to_json(tracker.verdict()) | stopping.verdict_part(self.config, watch.stop))

    def _parts(self, event: MembersEvent) -> Iterator[Any]:
        match event:
            case MembersProgress():
                for rows in event.rows:
                    speed = event.steps_per_second / len(self.logs)
                    yield Progress(event.step, event.update, rows, event.seconds, speed, event.rollout_share)
            case MembersEvaluated():
                # Only policies are kept of an evaluation: replays need not leave the device.
                without = [eqx.tree_at(lambda s: s.memory, s, None, is_leaf=lambda x: x is None) for s in event.state]
                states = self.engine.members(tuple(without))
                each = zip(event.metrics, event.is_best, states, event.seeds, strict=True)
                for metrics, is_best, state, seed in each:
                    yield Evaluated(event.step, event.update, metrics, is_best, state, seed)
            case Started() | Compiled() | Turned() | Finished():
                yield from (event for _ in self.logs)

    def translate(self, event: MembersEvent) -> Iterator[Any]:
        """What the terminal shows: the median member, and how many pass."""
        match event:
            case MembersProgress():
                rows = median_rows(event.rows)
                yield Progress(
                    event.step, event.update, rows, event.seconds, event.steps_per_second, event.rollout_share
                )
                yield standing_of(tracker.verdict() for tracker in self.trackers)
            case MembersEvaluated():
                names = event.metrics[0]
                median = {name: float(np.median([member[name] for member in event.metrics])) for name in names}
                score = median[ranking_metric(self.config, median)]
                is_best, self.best_median = score > self.best_median, max(self.best_median, score)
                yield Evaluated(event.step, event.update, median, is_best)
            case _:
                yield event

    def keep_moment(self, event: Settled) -> None:
        """A snapshot of every member, at the updates at which a run alone keeps one."""
        if snapshots.is_kept(self.config, event.update, self.state_mb):
            self._write(Saver.keep_moment, self._settled(event))

    def _settled(self, event: Settled) -> list[Settled]:
        return [Settled(event.step, event.update, state) for state in self.engine.members(event.state)]

    def _write(self, write: Callable[[Saver, Any], None], parts: Sequence[Any]) -> None:
        """Into all folders at once: most of a save is waiting for the disk."""
        list(self.writers.map(write, self.savers, parts))

    def save_if_due(self, event: Settled, must_save: bool) -> None:
        """All members of a moment, then the old ones go: at any time there is a moment that every member has whole."""
        if not (must_save or self.savers[0].is_due() or event.is_last):
            return
        for log in self.logs:
            log.sync()
        begun = time.monotonic()
        self._write(Saver.write, self._settled(event))
        self.savers[0].save_seconds = time.monotonic() - begun  # of all members: it decides when the next is due
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
        if name not in ("step", "update"):
            values = np.array([[row[name] for row in member] for member in blanked], np.float64)  # None becomes NaN
            for row, column in zip(shown, values.T, strict=True):
                row[name] = _middle(name, column)
    return shown


def _middle(name: str, values: np.ndarray) -> float | None:
    """The median. A code has none: there it is the earliest tensor that is bad in any member."""
    if name == FIRST_BAD:
        bad = values[values > 0]
        return float(bad.min()) if len(bad) else 0.0
    numbers = np.sort(values[~np.isnan(values)])
    return float((numbers[(len(numbers) - 1) // 2] + numbers[len(numbers) // 2]) / 2) if len(numbers) else None


# --- worlds outside JAX ----------------------------------------------------------------------------------------------


def _train_processes(config: Config, run_dir: Path, view: View | None, signals: Signals) -> None:
    from courtside.experiments.population import processes

    dirs = require_whole(run_dir, config)
    tell(view, Started(config, processes.memory_mb(config), backend.describe_device(), (processes.describe(config),)))
    for event in processes.run_processes(run_dir, dirs, signals):
        tell(view, event)
