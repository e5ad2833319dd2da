"""Members as processes: started, stopped, resumed, failed; on real CartPole of Gymnasium."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from courtside.cli import member_process
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.population import processes
from courtside.experiments.population.results import is_finished, read_results
from courtside.health.verdict import VerdictTracker
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Finished, Notice, Progress, Standing
from courtside.runs.members import create_folders, member_dirs
from courtside.settings.config import Config, Threshold, override
from waiting import PATIENCE

UPDATES = 600
SMALL = {
    "env_id": "gym:CartPole-v1", "workers": "serial", "num_envs": 2, "num_steps": 16, "num_minibatches": 2, "update_epochs": 1,
    "hidden_sizes": (8,), "eval_every": 0, "tensorboard": False, "checkpoint_seconds": 60.0,
}  # fmt: skip
PASSING = Threshold("charts/episodic_return", ">=", 5.0, window_steps=1_000)


@pytest.fixture
def population(tmp_path) -> Path:
    settings = override(Config(), **SMALL, runs_dir=str(tmp_path), seeds=2, total_timesteps=UPDATES * 32)
    return create_folders(dataclasses.replace(settings, thresholds=(PASSING,)))


def test_stop_resume_and_a_member_that_fails(population, monkeypatch):
    monkeypatch.setattr(processes, "num_cores", lambda: 2)
    first, second = dirs = member_dirs(population)
    stop, notices = SimpleNamespace(caught=None), []
    for event in processes.run_processes(population, dirs, stop):
        notices += [event] if isinstance(event, Notice) else []
        if isinstance(event, Progress):
            stop.caught = "SIGTERM"
    stopped = [folder for folder in dirs if runlog.read_rows(folder)]
    assert stopped, "progress was told, so somebody has logged"
    for folder in stopped:
        assert not is_finished(folder, runlog.read_config(folder))
        saved = checkpoint.find_checkpoints(folder / checkpoint.FOLDER)[0]
        assert checkpoint.read_meta(saved)["update"] == processes.updates_done(folder), "it saved before it left"
    assert not notices, "who is stopped on request has not failed"

    runlog.write_config(second, override(runlog.read_config(second), env_id="gym:NoSuchEnv-v0"))
    before = processes.updates_done(second)
    events = list(processes.run_processes(population, dirs, SimpleNamespace(caught=None)))
    finished, failed = sorted(event.text for event in events if isinstance(event, Notice))
    assert finished.startswith("Member 00 is finished with a final score of ")
    assert failed.startswith("Member 01 failed: There is no Gymnasium env named 'NoSuchEnv-v0'.")
    assert not any(isinstance(event, Finished) for event in events), "the population as a whole is not finished"
    steps = [event.step for event in events if isinstance(event, Progress)]
    assert steps == sorted(steps)
    assert steps[-1] == (UPDATES + before) * 32 // 2, "the mean of one that is done and one that failed"
    assert [event for event in events if isinstance(event, Standing)][-1].members == 2

    assert [processes.updates_done(folder) for folder in dirs] == [UPDATES, before]
    assert [row["update"] for row in runlog.read_rows(first)] == list(range(1, UPDATES + 1))
    assert [(m.finished, m.seed) for m in read_results(population).members] == [(True, 1), (False, 2)]
    with pytest.raises(CheckpointError, match="is finished: all 19,200 steps of its members are done"):
        list(processes.run_processes(population, [first], SimpleNamespace(caught=None)))


def test_the_sentence_before_the_run(population, monkeypatch):
    monkeypatch.setattr(processes, "num_cores", lambda: 2)
    text = processes.describe(runlog.read_config(population))
    assert "the 2 members run as processes of their own, " in text
    assert "each takes 1 core and about " in text
    assert 500 < processes.memory_mb(runlog.read_config(population))["members"] < 2_000


def test_an_env_of_the_script_itself_is_refused():
    with pytest.raises(ConfigError, match="put it in a module of its own"):
        processes.plan_places(override(Config(), env_id="__main__:Maze", seeds=2))


@pytest.mark.parametrize(
    ("members", "cores", "free_mb", "expected"),
    [(16, 1, 1e6, 8), (16, 3, 1e6, 2), (16, 12, 1e6, 1), (4, 1, None, 4), (16, 1, 1_700.0, 3), (16, 1, 10.0, 1)],
)
def test_places(members, cores, free_mb, expected):
    assert processes.count_places(members, cores, 500.0, 8, free_mb) == expected


def test_the_log_is_read_on_and_anew(population):
    folder = member_dirs(population)[0]
    path, tail = folder / runlog.METRICS, processes._Tail(folder)
    tail.read_on()
    assert (tail.history.step, tail.history.update) == (0, 0)
    row = '{"step": %d, "update": %d, "charts/episodic_return": 9.0}\n'
    path.write_text(row % (1024, 1) + row % (2048, 2) + '{"step": 30')
    tail.read_on()
    assert (tail.history.step, tail.history.update, tail.history.tracker.verdict().steps_to_pass) == (2048, 2, 1024)
    with open(path, "a") as file:
        file.write('72, "update": 3}\n')
    tail.read_on()
    assert (tail.history.step, tail.history.update) == (3072, 3)
    runlog.truncate_rows(path, 1)  # as a resume does
    tail.read_on()
    assert (tail.history.step, tail.history.update) == (1024, 1)


def test_evaluations_are_taken_in_their_place(population):
    """However the two files are caught while they grow, what was evaluated at an update is judged behind its metrics."""
    folder = member_dirs(population)[0]
    wanted = (PASSING, Threshold("eval/episodic_return", ">=", 5.0))
    runlog.write_config(folder, dataclasses.replace(runlog.read_config(folder), thresholds=wanted))
    tail = processes._Tail(folder)
    metrics = '{"step": %d, "update": %d, "charts/episodic_return": 9.0}\n'
    score = '{"step": %d, "update": %d, "eval/episodic_return": %f}\n'
    (folder / runlog.METRICS).write_text(metrics % (1024, 1))
    (folder / runlog.EVALS).write_text(score % (2048, 2, 9.0))
    tail.read_on()
    assert not tail.history.tracker.verdict().passed, "not evaluated yet by then"
    with open(folder / runlog.METRICS, "a") as file:
        file.write(metrics % (2048, 2) + metrics % (3072, 3))
    tail.read_on()
    rebuilt = VerdictTracker(wanted)
    rebuilt.add(runlog.read_history(folder))
    assert tail.history.tracker.verdict() == rebuilt.verdict()
    assert (tail.history.tracker.verdict().passed, tail.history.tracker.verdict().steps_to_pass) == (True, 2048)


def test_a_member_that_is_finished_is_told_by_what_judges_it(population):
    folder = member_dirs(population)[0]
    row = {"step": 32, "update": 1, "charts/episodes": 1, "charts/episodic_return": 1.0, "charts/score": 6.0}
    (folder / runlog.METRICS).write_text(runlog.encode_row(row) + "\n")
    assert processes.final_score(folder) == 1.0
    judged = dataclasses.replace(runlog.read_config(folder), thresholds=(Threshold("charts/score", ">=", 5.0),))
    runlog.write_config(folder, judged)
    assert processes.final_score(folder) == 6.0


def test_a_member_ends_with_its_population():
    code = "import time; from courtside.cli import member_process as m; m.threading.Thread(target=m.end_with_parent, daemon=True).start(); time.sleep(60)"  # fmt: skip
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    assert child.stdin is not None
    child.stdin.close()
    assert child.wait(PATIENCE) == -signal.SIGTERM


def test_a_folder_in_use_is_waited_for(tmp_path):
    code = f"import fcntl, time; file = open({str(tmp_path / '.lock')!r}, 'a+'); fcntl.lockf(file, fcntl.LOCK_EX); print('held', flush=True); time.sleep(60)"  # fmt: skip
    assert not member_process.is_held(tmp_path)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert member_process.is_held(tmp_path)
        holder.kill()
    member_process.wait_until_free(tmp_path, seconds=PATIENCE)
    assert not member_process.is_held(tmp_path)
