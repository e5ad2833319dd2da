"""A run with everything around it: stop it, kill it, resume it, break its folder."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from courtside.engines import backend
from courtside.errors import CheckpointError, ConfigError
from courtside.health.verdict import VerdictTracker
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Compiling, Notice, Progress, Started
from courtside.settings import config, presets
from courtside.settings.config import override
from courtside.training import session

SMALL = {"total_timesteps": 16_384, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "tensorboard": False}


def small(tmp_path: Path, **changes):
    return config.override(presets.find_preset("cartpole"), **(SMALL | changes), runs_dir=str(tmp_path))


def outcome(run: Path) -> dict[str, bytes]:
    """What an interrupted run must share with one that was never stopped, byte for byte."""
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    names = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json")
    return {name: (run / name).read_bytes() for name in names} | {last.name: last.read_bytes()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return session.train(small(tmp_path_factory.mktemp("whole"))).run_dir


class Meddler:
    """A view that does something at the n-th event of a kind, and remembers what it saw."""

    def __init__(self, kind, n, action):
        self.kind, self.n, self.action, self.seen = kind, n, action, []

    def on(self, event):
        self.seen.append(event)
        if isinstance(event, self.kind):
            self.n -= 1
            if self.n == 0:
                self.action()


def test_folder_of_a_whole_run(whole):
    names = {path.name for path in whole.iterdir()}
    assert {
        "config.json",
        "metrics.jsonl",
        "evals.jsonl",
        "system.json",
        "verdict.json",
        "checkpoints",
        "best",
    } <= names
    rows = runlog.read_rows(whole)
    assert [row["update"] for row in rows] == list(range(1, 129))
    assert rows[-1]["step"] == 16_384
    assert not json.loads((whole / "verdict.json").read_text())["passed"], "16k steps cannot hold for 100k"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_saves_and_resume_is_bit_equal(whole, tmp_path, number):
    view = Meddler(Progress, 2, lambda: os.kill(os.getpid(), number))
    stopped = session.train(small(tmp_path), view=view)
    assert stopped.stopped_by == number.name
    assert not stopped.finished
    assert 0 < stopped.update < 128
    assert stopped.checkpoint is not None
    assert stopped.checkpoint.exists()
    resumed = session.resume(stopped.run_dir)
    assert resumed.finished
    assert outcome(resumed.run_dir) == outcome(whole)


def test_signal_before_the_first_update_leaves_a_run_that_resumes(whole, tmp_path):
    view = Meddler(Compiling, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
    stopped = session.train(small(tmp_path), view=view)
    assert stopped.checkpoint is None
    assert outcome(session.resume(stopped.run_dir).run_dir) == outcome(whole)


def test_signal_in_the_last_chunk_lets_the_run_finish(tmp_path):
    class AtTheEnd:
        def on(self, event):
            if isinstance(event, Progress) and event.update == 128:
                os.kill(os.getpid(), signal.SIGINT)

    assert session.train(small(tmp_path), view=AtTheEnd()).finished


KILLED = """
import os, signal, sys
from courtside import cli
from courtside.runs.events import Evaluated, Progress
from courtside.runs.runlog import RunLog
from courtside.training.saving import Saver
log, left = RunLog.on, {Evaluated: int(sys.argv[1]), Progress: int(sys.argv[2])}

def log_and_die(self, event):
    log(self, event)
    if type(event) in left:
        left[type(event)] -= 1
    if isinstance(event, Progress) and max(left.values()) <= 0:
        os.kill(os.getpid(), signal.SIGKILL)

RunLog.on, Saver.is_due = log_and_die, lambda _: True
cli.main(sys.argv[3:])
"""
"""Dies by its own hand when so many evaluations and chunks are logged: no observer is sure to hit a run of a second. It
saves after every chunk, whatever a slow disk makes of the clock."""


def test_kill_minus_nine_again_and_again_is_bit_equal(tmp_path):
    """Two kills in one run, through the command line: soon after its beginning, and between later evaluations."""
    whole = session.train(small(tmp_path / "whole", eval_every=2_048)).run_dir
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "tensorboard"]
    flags += ["--eval-every=2048", "--no-tensorboard", f"--runs-dir={tmp_path / 'killed'}"]
    words = ["train", "cartpole", *flags]
    for num_evaluations, num_chunks in ((0, 2), (3, 1)):
        command = [sys.executable, "-c", KILLED, str(num_evaluations), str(num_chunks), *words]
        assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
        (run,) = (tmp_path / "killed").iterdir()
        words = ["resume", str(run)]
    assert len(runlog.read_rows(run, runlog.EVALS)) >= 3
    assert checkpoint.newest_update(run) >= 48, "the third evaluation of a resumed run comes after update 48 or later"
    subprocess.run([sys.executable, "-m", "courtside", *words], check=True, capture_output=True)
    assert outcome(run) == outcome(whole)


CUT_SAVE = """
import os, signal, sys
from courtside import cli, files
from courtside.training.saving import Saver
replace, saves = os.replace, []

def die_in_the_second(temporary, path):
    saves.extend([path] * ("checkpoints" in str(path)))
    if len(saves) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    replace(temporary, path)

files.os.replace, Saver.is_due = die_in_the_second, lambda _: True
cli.main(sys.argv[1:])
"""
"""Dies while its second checkpoint is written: all of it is there, but not under its name."""


def test_a_kill_inside_a_save_goes_on_from_the_checkpoint_before(whole, tmp_path):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "tensorboard"]
    flags += ["--no-tensorboard", f"--runs-dir={tmp_path}"]
    command = [sys.executable, "-c", CUT_SAVE, "train", "cartpole", *flags]
    assert subprocess.run(command, capture_output=True).returncode == -signal.SIGKILL
    (run,) = tmp_path.iterdir()
    assert list((run / "checkpoints").glob(".*.tmp"))
    assert session.resume(run).finished
    assert outcome(run) == outcome(whole)
    assert not list((run / "checkpoints").glob(".*.tmp"))


def test_a_run_whose_disk_is_full_goes_on_once_there_is_space(whole, tmp_path, monkeypatch):
    replace, saves = os.replace, []

    def refuse_the_second(temporary, path):
        saves.extend([path] * ("checkpoints" in str(path)))
        if len(saves) == 2:
            raise OSError(errno.ENOSPC, "no space")
        replace(temporary, path)

    with monkeypatch.context() as patched:
        patched.setattr("courtside.files.os.replace", refuse_the_second)
        patched.setattr("courtside.training.saving.Saver.is_due", lambda _: True)
        with pytest.raises(
            CheckpointError, match=r"the disk is full\. Free some space and go on with `courtside resume`"
        ):
            session.train(small(tmp_path))
    (run,) = tmp_path.iterdir()
    assert session.resume(run).finished
    assert outcome(run) == outcome(whole)


def test_resume_on_another_device_says_that_bits_differ(tmp_path, monkeypatch):
    there = {**backend.describe_arithmetic(), "device": "NVIDIA H200"}
    with monkeypatch.context() as patched:
        patched.setattr(backend, "describe_arithmetic", lambda config=None: there)
        view = Meddler(Progress, 2, lambda: os.kill(os.getpid(), signal.SIGINT))
        run = session.train(small(tmp_path), view=view).run_dir
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.resume(run, view=watcher)
    notes = [event.text for event in watcher.seen if isinstance(event, Notice)]
    assert any("but not bit for bit: device was NVIDIA H200, is CPU" in note for note in notes)


def test_resume_passes_over_a_broken_checkpoint_and_says_so(whole, tmp_path):
    view = Meddler(Progress, 3, lambda: os.kill(os.getpid(), signal.SIGINT))
    run = session.train(small(tmp_path, checkpoint_seconds=0.001), view=view).run_dir
    newest, *older = checkpoint.find_checkpoints(run / "checkpoints")
    assert older
    newest.write_bytes(newest.read_bytes()[:-100])
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.resume(run, view=watcher)
    notes = [event.text for event in watcher.seen if isinstance(event, Notice)]
    assert any(newest.name in note and older[0].name in note for note in notes)
    assert outcome(run) == outcome(whole)


def test_finished_run_is_not_resumed_but_can_be_extended(tmp_path):
    run = session.train(small(tmp_path, total_timesteps=2048)).run_dir
    with pytest.raises(CheckpointError, match="is finished"):
        session.resume(run)
    watcher = Meddler(Notice, 10**9, lambda: None)
    longer = session.resume(run, view=watcher, total_timesteps=4096)
    assert longer.step == 4096
    told = "--learning-rate jumps from 0 to "
    assert any(told in event.text for event in watcher.seen if isinstance(event, Notice))
    assert runlog.read_config(run).run.total_timesteps == 4096


def test_kill_before_the_verdict_loses_nothing(whole, tmp_path):
    run = session.train(small(tmp_path)).run_dir
    (run / "verdict.json").unlink()
    result = session.resume(run)
    assert result.finished
    assert outcome(run) == outcome(whole)


def test_extending_a_run_takes_its_old_verdict_away(tmp_path):
    run = session.train(small(tmp_path, total_timesteps=2048)).run_dir
    stop = Meddler(Progress, 1, lambda: os.kill(os.getpid(), signal.SIGINT))
    session.resume(run, view=stop, total_timesteps=2048 * 64)
    assert not (run / "verdict.json").exists()


def test_verdict_on_an_evaluation_metric_is_the_same_live_and_rebuilt(tmp_path):
    wanted = config.Threshold("eval/episodic_return", ">=", 1.0, 1024, "any episode pays 1")
    settings = dataclasses.replace(small(tmp_path, total_timesteps=4096), thresholds=(wanted,))
    result = session.train(settings)
    assert result.verdict.passed
    tracker = VerdictTracker(settings.thresholds)
    tracker.add(runlog.read_history(result.run_dir))
    assert tracker.verdict() == result.verdict


def test_stop_while_compiling_a_resumed_run_tells_where_it_stands(tmp_path):
    stopped = session.train(small(tmp_path), view=Meddler(Progress, 2, lambda: os.kill(os.getpid(), signal.SIGINT)))
    again = session.resume(stopped.run_dir, view=Meddler(Compiling, 1, lambda: os.kill(os.getpid(), signal.SIGINT)))
    assert (again.step, again.update) == (stopped.step, stopped.update)


def test_bad_settings_leave_no_folder(tmp_path):
    with pytest.raises(ConfigError, match="num-minibatches"):
        session.train(small(tmp_path, num_minibatches=7))
    with pytest.raises(ConfigError, match="no env named"):
        session.train(small(tmp_path, env_id="cartpol"))
    assert list(tmp_path.iterdir()) == []


def test_other_network_is_refused_with_its_sizes(whole, tmp_path):
    engine_config = small(tmp_path, hidden_sizes=(32, 32))
    record = json.loads((whole / "config.json").read_text()) | {"net": {"hidden_sizes": [32, 32]}}
    run = tmp_path / "other"
    run.mkdir()
    (run / "config.json").write_text(json.dumps(record))
    (run / "checkpoints").mkdir()
    last = checkpoint.find_checkpoints(whole / "checkpoints")[0]
    (run / "checkpoints" / last.name).write_bytes(last.read_bytes())
    assert engine_config.net.hidden_sizes == (32, 32)
    with pytest.raises(CheckpointError, match=r"hidden layers of 64, 64 units, the one here of 32, 32\."):
        session.resume(run, total_timesteps=32_768)


def test_best_holds_the_policy_that_scored(whole):
    """The best file is the policy of the update whose evaluation was the highest, not of one before or after."""
    evals = runlog.read_rows(whole, "evals.jsonl")
    best = max(evals, key=lambda row: (row["eval/episodic_return"], -row["update"]))
    assert checkpoint.read_meta(checkpoint.best_path(whole))["update"] == best["update"]


def test_host_run_resumes_and_says_that_episodes_restart(tmp_path):
    pytest.importorskip("gymnasium")
    settings = small(tmp_path, env_id="gym:CartPole-v1", workers="serial", total_timesteps=8192, eval_every=0)
    view = Meddler(Progress, 2, lambda: os.kill(os.getpid(), signal.SIGINT))
    stopped = session.train(settings, view=view)
    watcher = Meddler(Notice, 10**9, lambda: None)
    resumed = session.resume(stopped.run_dir, view=watcher)
    assert resumed.finished
    assert any("restart" in event.text for event in watcher.seen if isinstance(event, Notice))
    assert [row["update"] for row in runlog.read_rows(resumed.run_dir)] == list(range(1, 65))


def test_same_seed_same_run_other_seed_another(whole, tmp_path):
    again = session.train(small(tmp_path / "again")).run_dir
    other = session.train(small(tmp_path / "other", seed=2)).run_dir
    assert outcome(again) == outcome(whole)
    assert outcome(other)["metrics.jsonl"] != outcome(whole)["metrics.jsonl"]


def test_resume_says_what_a_kill_costs(tmp_path):
    stopped = session.train(small(tmp_path), view=Meddler(Progress, 4, lambda: os.kill(os.getpid(), signal.SIGINT)))
    last = runlog.read_rows(stopped.run_dir)[-1]
    with open(stopped.run_dir / runlog.METRICS, "a") as file:  # as a kill leaves it: logged, and no checkpoint after it
        file.writelines(
            runlog.encode_row(last | {"step": last["step"] + 128 * i, "update": last["update"] + i}) + "\n"
            for i in (1, 2)
        )
        file.write('{"step": 99, "upd')
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.resume(stopped.run_dir, view=watcher)
    (note,) = [event.text for event in watcher.seen if isinstance(event, Notice) and "Going on from" in event.text]
    assert note == (
        f"Going on from step {stopped.step:,} (update {stopped.update:,}). The 256 steps after it that were logged are "
        "trained again: checkpoints come every 10 s (--checkpoint-seconds)."
    )
    assert runlog.newest_logged(stopped.run_dir) == 128
    assert runlog.newest_logged(tmp_path) == 0


def test_resume_says_where_it_goes_on_and_what_the_best_was(tmp_path):
    stopped = session.train(small(tmp_path), view=Meddler(Progress, 4, lambda: os.kill(os.getpid(), signal.SIGINT)))
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.resume(stopped.run_dir, view=watcher)
    notes = [event.text for event in watcher.seen if isinstance(event, Notice)]
    assert f"Going on from step {stopped.step:,} (update {stopped.update:,})." in notes
    evals = [
        r["eval/episodic_return"]
        for r in runlog.read_rows(stopped.run_dir, "evals.jsonl")
        if r["update"] <= stopped.update
    ]
    started = next(event for event in watcher.seen if isinstance(event, Started))
    assert started.best_score == (max(evals) if evals else None)


def test_resume_without_checkpoints_says_that_it_starts_again(whole, tmp_path):
    run = session.train(small(tmp_path)).run_dir
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.resume(run, view=watcher)
    assert any("from its beginning" in event.text for event in watcher.seen if isinstance(event, Notice))
    assert outcome(run) == outcome(whole)


def test_too_short_a_run_is_told_before_it_starts(tmp_path):
    watcher = Meddler(Notice, 10**9, lambda: None)
    session.train(small(tmp_path, total_timesteps=2048), view=watcher)
    started = next(event for event in watcher.seen if isinstance(event, Started))
    assert any("cannot pass" in note for note in started.notes)


def test_run_without_preset_is_named_after_its_world(tmp_path):
    settings = dataclasses.replace(small(tmp_path, total_timesteps=1024), preset="custom", thresholds=())
    assert session.train(settings).run_dir.name.startswith("cartpole-2")


def test_saving_takes_a_twentieth_of_the_time_at_most(tmp_path):
    saver = session.Saver(tmp_path, small(tmp_path, checkpoint_seconds=10.0), {})
    assert saver.is_due(), "a run killed in its first seconds must have something to go on from"
    saver.newest, saver.last_save = tmp_path / "update-00000001.safetensors", time.monotonic() - 15.0
    assert saver.is_due()
    saver.save_seconds = 1.0
    assert not saver.is_due()
    saver.last_save -= 6.0
    assert saver.is_due()
    large = session.Saver(tmp_path, small(tmp_path, checkpoint_seconds=10.0), {}, state_mb=128.0)
    assert not large.is_due(), "at the start a replay holds nothing"


def test_several_seeds_are_not_taken_for_one_run(whole, tmp_path):
    several = override(runlog.read_config(whole), seeds=2, runs_dir=str(tmp_path))
    with pytest.raises(ConfigError, match="trains several"):
        session.train(several)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "population" / "members" / "00").mkdir(parents=True)
    (tmp_path / "population" / "config.json").write_bytes((whole / "config.json").read_bytes())
    with pytest.raises(CheckpointError, match="resumes both"):
        session.resume(tmp_path / "population")
    assert not (tmp_path / "population" / "metrics.jsonl").exists()
