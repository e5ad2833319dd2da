"""A run with everything around it: run folder, checkpoints, verdict, terminal, signals. The command line and
`courtside.train` both come through here; the training itself is `loop.run`.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from courtside.engines import Engine, backend, fit, make_engine
from courtside.engines.host_engine import HostEngine
from courtside.engines.jax_engine import JaxEngine
from courtside.engines.opponents import keep
from courtside.errors import CheckpointError, ConfigError
from courtside.health.verdict import Verdict, VerdictTracker, to_json
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Compiling, Evaluated, Event, Finished, Notice, Progress, Racing, Rewound, Settled
from courtside.runs.holding import Hold, hold
from courtside.runs.members import is_population, note_alone
from courtside.runs.runlog import RunLog
from courtside.runs.trust import consent, take_trouble
from courtside.settings.config import Config
from courtside.settings.turns import Turn, Turns
from courtside.training import insurance, stopping
from courtside.training.desk import Desk
from courtside.training.insurance import Account, Insurance
from courtside.training.loop import run as run_training
from courtside.training.replanning import replan
from courtside.training.saving import Saver, pipeline_of
from courtside.training.stop_signals import Signals
from courtside.training.stopping import ScoreStop, ScoreWatch
from courtside.training.videos import Filmer
from courtside.training.wall import Wall
from courtside.types import TrainState


@runtime_checkable
class View(Protocol):
    """Whoever shows the run to a person."""

    def on(self, event: Event) -> None: ...


@dataclass(frozen=True)
class Result:
    """How a run ended."""

    run_dir: Path
    verdict: Verdict | None
    """None where the run has no thresholds, or was stopped before its end."""
    finished: bool
    stopped_by: str | None
    """`SIGINT` or `SIGTERM` where a signal stopped it, `page` where the page did."""
    step: int
    update: int
    seconds: float
    checkpoint: Path | None
    """The newest checkpoint; None where the run was stopped before its first update."""
    score_stop: ScoreStop | None = None
    """Where the score of --quit-threshold was reached, which ends the run."""
    first_step: int = 0
    """Steps that were done before this part of a resumed run; `seconds` is of what came after."""


def train(config: Config, *, view: View | None = None) -> Result:
    """A new run in a new folder; `experiments.start` has one or many."""
    config.validate()
    if config.run.seeds > 1:
        raise ConfigError(
            f"--seeds is {config.run.seeds}, but this trains one run; `experiments.start.train` trains several."
        )
    config = runlog.with_rom(config, config.env.rom)
    insurance.refuse(config)
    backend.start(config)
    with contextlib.closing(make_engine(config)) as engine:
        return _drive(config, engine, None, _create_log(config, engine, view), view)


def _create_log(config: Config, engine: Engine, view: View | None) -> RunLog:
    """A new run folder, with copies of the opponents' networks in it."""
    log = RunLog.create(config)
    if note := take_trouble():
        tell(view, Notice(note))
    keep(engine.opponents, log.folder)
    return log


def resume(
    run: str | Path,
    *,
    view: View | None = None,
    total_timesteps: int | None = None,
    rom: str = "",
    trust: bool | str = False,
) -> Result:
    """Go on with a run from its newest whole checkpoint, or from its beginning where it has none yet; `rom` is where its
    cartridge's dump lies now, `trust` consents to the code that a stranger's run names."""
    run_dir = runlog.find_run(run)
    if is_population(run_dir):
        raise CheckpointError(
            f"{run_dir} is a population, but this resumes one run; `experiments.start.resume` resumes both."
        )
    with contextlib.closing(hold(run_dir)) as held:  # before anything is read: whoever trains it may change it
        with consent(trust):
            config = runlog.open_config(run_dir, rom=rom)
        config, notes = replan(config, [run_dir], total_timesteps)
        config.validate()
        backend.start(config)
        with contextlib.closing(make_engine(config, run_dir)) as engine:
            return _continue(config, engine, held, view, notes)


def _continue(config: Config, engine: Engine, held: Hold, view: View | None, notes: list[str]) -> Result:
    run_dir, state, path, account = held.folder, None, None, Account()
    if not checkpoint.find_checkpoints(run_dir / checkpoint.FOLDER):
        notes.append("The run has no checkpoint, so it starts again from its beginning.")
    else:
        path, skipped = checkpoint.newest_whole(run_dir / checkpoint.FOLDER)
        state, meta = checkpoint.load(path, engine.template(), pipeline_of(config, engine))
        account = insurance.read_account(meta)
        notes += [checkpoint.describe_skipped(path, skipped), backend.arithmetic_change(meta.get("arithmetic"), config)]
    done = 0 if state is None else int(state.update)
    verdict_path, stop = run_dir / runlog.VERDICT, stopping.read_stop(run_dir, done)
    is_over = done >= config.num_updates or stop is not None
    if is_over and stopping.writes_verdict(config) and not verdict_path.exists():
        return _judge_finished(config, held, done, path, account, stop)
    if is_over:
        raise CheckpointError(_explain_finished(run_dir, config, stop))
    if state is not None:
        notes.append(
            f"Going on from step {done * config.batch_size:,} (update {done:,}).{_again(run_dir, config, done)}"
        )
    if state is not None and state.env_state is None:
        notes.append(
            "Episodes of this env restart: its inner state cannot be saved. Everything else continues exactly."
        )
    if isinstance(engine, JaxEngine):
        note_alone(run_dir)
    log = RunLog.resume(held, done, done * config.batch_size, config)
    verdict_path.unlink(missing_ok=True)
    runlog.write_config(run_dir, config)
    for note in filter(None, notes):
        tell(view, Notice(note))
    return _drive(config, engine, state, log, view, account)


def _again(run_dir: Path, config: Config, done: int) -> str:
    """What was logged after the checkpoint and is trained once more."""
    newest = runlog.newest_logged(run_dir)
    if newest <= done:
        return ""
    steps = (newest - done) * config.batch_size
    every = f"{config.run.checkpoint_seconds:g} s (--checkpoint-seconds)"
    return f" The {steps:,} steps after it that were logged are trained again: checkpoints come every {every}."


def _explain_finished(run_dir: Path, config: Config, stop: ScoreStop | None) -> str:
    if stop is not None:
        return (
            f"The run {run_dir.name} is finished: {stopping.stop_words(stop)} at step {stop.step:,}. Evaluate it with "
            "`courtside eval`; to train longer, start a new run with a higher --quit-threshold or none."
        )
    return (
        f"The run {run_dir.name} is finished: all {config.num_updates * config.batch_size:,} steps of its whole updates are done. "
        f"Give a larger --total-timesteps to train on, {config.batch_size:,} more for each update, or evaluate it with "
        "`courtside eval`."
    )


def _judge_finished(
    config: Config, held: Hold, update: int, newest: Path | None, account: Account, stop: ScoreStop | None
) -> Result:
    """A run that was killed between its last checkpoint and its verdict: the verdict follows from what was logged."""
    run_dir, log = held.folder, RunLog.resume(held, update, update * config.batch_size, config)
    with contextlib.closing(log):
        tracker = VerdictTracker(config.thresholds)
        tracker.add(runlog.read_history(run_dir))
        log.write_verdict(_verdict_record(tracker.verdict(), config, account, stop))
    verdict = tracker.verdict() if config.thresholds else None
    return Result(run_dir, verdict, True, None, update * config.batch_size, update, 0.0, newest, stop)


def _verdict_record(verdict: Verdict, config: Config, account: Account, stop: ScoreStop | None) -> dict[str, Any]:
    """The verdict as data, with the score that ended the run; an insured run says what the insurance did."""
    insured = {"insurance": insurance.summary(account)} if config.run.insure else {}
    return to_json(verdict) | stopping.verdict_part(config, stop) | insured


def _drive(
    config: Config,
    engine: Engine,
    state: TrainState | None,
    log: RunLog,
    view: View | None,
    account: Account = Account(),  # noqa: B008 (frozen)
) -> Result:
    """Hand every event to its consumers until the run ends or a signal asks it to stop."""
    done = 0 if state is None else int(state.update)
    if isinstance(engine, HostEngine):
        engine.use_folder(log.folder)
    watch = ScoreWatch(config, runlog.read_rows(log.folder), done)
    saver = Saver(log.folder, config, pipeline_of(config, engine), fit.tree_mb(engine.template()))
    insurer = _insure(config, engine, saver, account)
    course, turns = _Course(config, log, saver, done), Turns(config)
    updates = run_training(config, engine=engine, state=state, guard=insurer, watch=watch, turns=turns)
    wall = Wall(engine, log.folder, config.run.screens)
    begun = time.perf_counter()
    with (
        Signals() as signals,
        contextlib.closing(log),
        contextlib.closing(updates),
        contextlib.closing(Filmer(log.folder, config)) as filmer,
    ):
        note, hand_on = partial(note_and_tell, [log], view), partial(_hand_on, log, view)
        desk = Desk(log.folder, signals, partial(_write_turn, log.folder, turns), note)
        for event in updates:
            for each in (*map(Notice, wall.on(event)), event):
                hand_on(each)
            if isinstance(event, Settled):
                is_stopping = desk.settle(event.update, partial(course.settle, event))
            else:
                is_stopping = bool(signals.caught)
                course.on(event, is_stopping)
            if is_stopping and may_stop(event):
                break
            for trouble in filmer.on(event):  # behind the settling, which may have saved what is filmed
                hand_on(Notice(trouble))
        updates.close()
        finished, verdict = course.finished, course.tracker.verdict()
        if finished and stopping.writes_verdict(config):
            account = insurer.account if insurer else account
            log.write_verdict(_verdict_record(verdict, config, account, watch.stop))
    return Result(
        run_dir=log.folder, verdict=verdict if finished and config.thresholds else None, finished=finished,
        stopped_by=signals.caught, step=course.update * config.batch_size, update=course.update,
        seconds=time.perf_counter() - begun, checkpoint=saver.newest, score_stop=watch.stop,
        first_step=done * config.batch_size,
    )  # fmt: skip


def _hand_on(log: RunLog, view: View | None, event: Event) -> None:
    tell(view, event)
    log.on(event)


def _write_turn(folder: Path, turns: Turns, turn: Turn) -> None:
    turns.add(turn)
    runlog.write_config(folder, turns.config)


def note_and_tell(logs: Sequence[RunLog], view: View | None, kind: str, text: str) -> None:
    """A line in the diaries, and in the terminal."""
    for log in logs:
        log.note(kind, text)
    tell(view, Notice(text))


class _Course:
    """How far a run has come, what is judged of it, and what is saved on the way."""

    def __init__(self, config: Config, log: RunLog, saver: Saver, update: int) -> None:
        self.config, self.log, self.saver, self.update = config, log, saver, update
        self.finished = False
        self.tracker = VerdictTracker(config.thresholds)
        self.tracker.add(runlog.read_history(log.folder))

    def on(self, event: Event, is_stopping: bool) -> None:
        match event:
            case Progress():
                self.tracker.add(event.rows)
            case Evaluated():
                self.tracker.add([{"step": event.step, "update": event.update, **event.metrics}])
                self.saver.save_if_best(event)
            case Rewound():
                self.tracker = _go_back(event, self.config, self.saver, self.log)
            case Racing() if is_stopping:
                self.update = self.saver.newest_update  # what came after it is made again, and so is the race
            case Finished():
                self.finished = True

    def settle(self, event: Settled, must_save: bool) -> None:
        self.update = event.update
        self.saver.keep_moment(event)
        if self.saver.is_due() or must_save or event.is_last:
            self.log.sync()
            self.saver.save(event)
            self.log.note("checkpoint", "saved")


def _insure(config: Config, engine: Engine, saver: Saver, account: Account) -> Insurance | None:
    """Whoever watches an insured run; its report stands from the beginning."""
    if not config.run.insure or not isinstance(engine, JaxEngine):
        return None
    saver.carried = {"insurance": asdict(account)}
    insurance.write_report(saver.run_dir, account)
    return Insurance(saver.run_dir, config, engine, saver.meta, account)


def _go_back(event: Rewound, config: Config, saver: Saver, log: RunLog) -> VerdictTracker:
    """Undo what came after the moment that the run went back to. A kill between any two steps ends in the same place:
    the checkpoint decides, and whoever goes on from an older one comes by here again."""
    log.sync()
    insurance.keep_lost_rows(log.folder, event.number, event.update)
    saver.carried, saver.is_back = {"insurance": event.account}, True
    saver.write(event)
    insurance.forget_after(log.folder, event.update)
    log.rewind(event.update, event.step)
    insurance.write_report(log.folder, insurance.read_account(saver.carried))
    tracker = VerdictTracker(config.thresholds)
    tracker.add(event.rows)
    return tracker


def may_stop(event: object) -> bool:
    """Whether nothing is lost by leaving now; after the last update the run may as well finish."""
    return isinstance(event, Compiling | Racing) or (isinstance(event, Settled) and not event.is_last)


def tell(view: View | None, event: Event) -> None:
    if view is not None:
        view.on(event)
