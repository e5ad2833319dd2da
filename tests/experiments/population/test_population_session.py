"""A population on disk: members as run alone, stopped, killed, resumed, continued alone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from courtside.cli import main
from courtside.errors import CheckpointError, ConfigError
from courtside.experiments import start
from courtside.experiments.population import session as population
from courtside.experiments.population.plan import plan_waves
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Evaluated, Progress, Standing
from courtside.runs.members import find_member, member_dirs
from courtside.settings import config, presets
from waiting import wait_until

SMALL = {"total_timesteps": 4_096, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "tensorboard": False, "seed": 5}


def small(folder: Path, **changes):
    return config.override(presets.find_preset("cartpole"), **(SMALL | changes), runs_dir=str(folder))


def outcome(run: Path) -> dict[str, bytes]:
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    names = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json")
    return {name: (run / name).read_bytes() for name in names} | {last.name: last.read_bytes()}


def outcomes(run: Path) -> dict[str, dict[str, bytes]]:
    return {folder.name: outcome(folder) for folder in member_dirs(run)}


class Watcher:
    def __init__(self, action=None, at=2):
        self.seen, self.action, self.at = [], action, at

    def on(self, event):
        self.seen.append(event)
        if self.action and sum(isinstance(e, Progress) for e in self.seen) == self.at:
            self.action()
            self.action = None


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    view = Watcher()
    result = start.train(small(tmp_path_factory.mktemp("whole"), seeds=3), view=view)
    return result, view.seen


def test_members_equal_the_same_seeds_alone_byte_for_byte(whole, tmp_path):
    for index in (0, 2):
        alone = start.train(small(tmp_path, seed=5 + index))
        assert outcome(member_dirs(whole[0].run_dir)[index]) == outcome(alone.run_dir)


def test_the_folder_and_the_result(whole):
    result, _ = whole
    assert result.finished
    assert result.update == 32
    assert [folder.name for folder in member_dirs(result.run_dir)] == ["00", "01", "02"]
    assert [runlog.read_config(folder).run.seed for folder in member_dirs(result.run_dir)] == [5, 6, 7]
    assert json.loads((result.run_dir / "results.json").read_text())["members"][1]["seed"] == 6
    assert [member.seed for member in result.results.members] == [5, 6, 7]


def test_the_view_sees_the_median_member(whole):
    _, seen = whole
    folders = member_dirs(whole[0].run_dir)
    rows = [runlog.read_rows(folder)[-1] for folder in folders]
    shown = [event for event in seen if isinstance(event, Progress)][-1].rows[-1]
    assert shown["losses/entropy"] == pytest.approx(np.median([row["losses/entropy"] for row in rows]))
    evals = [runlog.read_rows(folder, "evals.jsonl")[-1]["eval/episodic_return"] for folder in folders]
    last = [event for event in seen if isinstance(event, Evaluated)][-1]
    assert last.metrics["eval/episodic_return"] == pytest.approx(np.median(evals))
    assert [event for event in seen if isinstance(event, Standing)][-1] == Standing(0, 0, 3)


def test_median_leaves_out_members_without_an_episode():
    rows = [
        [{"step": 8, "update": 1, "charts/episodes": 1.0, "charts/episodic_return": 4.0}],
        [{"step": 8, "update": 1, "charts/episodes": 0.0, "charts/episodic_return": 0.0}],
        [{"step": 8, "update": 1, "charts/episodes": 2.0, "charts/episodic_return": 8.0}],
    ]
    assert population.median_rows(rows)[0]["charts/episodic_return"] == 6.0
    assert population.median_rows(rows[1:2])[0]["charts/episodic_return"] is None


def test_the_first_bad_tensor_is_a_code_and_has_no_median():
    rows = [
        [{"step": 8, "update": 1, "health/first_bad": code, "losses/entropy": 1.0}] for code in (0.0, 5.0, 0.0, 6.0)
    ]
    assert population.median_rows(rows)[0]["health/first_bad"] == 5.0
    assert population.median_rows(rows[:1])[0]["health/first_bad"] == 0.0


def test_ctrl_c_saves_all_and_resume_ends_equal(whole, tmp_path):
    view = Watcher(lambda: os.kill(os.getpid(), signal.SIGINT))
    stopped = start.train(small(tmp_path, seeds=3), view=view)
    assert stopped.stopped_by == "SIGINT"
    assert 0 < stopped.update < 32
    again = Watcher()
    resumed = start.resume(stopped.run_dir, view=again)
    assert resumed.finished
    assert "Going on from step" in str(again.seen[0])
    assert outcomes(stopped.run_dir) == outcomes(whole[0].run_dir)


def test_kill_while_members_are_being_saved(whole, tmp_path):
    """Some members have the newest moment already, others not: all go on from the one before, and nothing newer stays."""
    run = tmp_path / "run"
    shutil.copytree(whole[0].run_dir, run)
    folders = member_dirs(run)
    for folder in folders:
        (folder / "verdict.json").unlink()
    checkpoint.find_checkpoints(folders[2] / "checkpoints")[0].unlink()
    (wave,) = plan_waves(dict(enumerate(folders)), 16)
    assert wave.members == (0, 1, 2)
    assert 0 < wave.update < 32
    start.resume(run)
    assert outcomes(run) == outcomes(whole[0].run_dir)


def test_members_that_share_no_moment_go_on_apart(whole, tmp_path):
    """One is finished but for its verdict, one stands in the middle, one has lost all: each ends as it would have."""
    run = tmp_path / "run"
    shutil.copytree(whole[0].run_dir, run)
    folders = member_dirs(run)
    for folder in folders:
        (folder / "verdict.json").unlink()
    checkpoint.find_checkpoints(folders[1] / "checkpoints")[0].unlink()
    for path in checkpoint.find_checkpoints(folders[0] / "checkpoints")[1:]:
        path.unlink()
    shutil.rmtree(folders[2] / "checkpoints")
    waves = plan_waves(dict(enumerate(folders)), 16)
    assert [wave.members for wave in waves] == [(0,), (1,), (2,)]
    assert (waves[0].update, waves[2].update) == (32, 0)
    assert start.resume(run).finished
    assert outcomes(run) == outcomes(whole[0].run_dir)


def test_opponents_that_are_runs_are_copied_into_every_member(tmp_path):
    duel = {"num_envs": 4, "num_steps": 8, "total_timesteps": 64, "eval_every": 0, "tensorboard": False, "snapshots": 0}
    base = config.override(presets.find_preset("redblue-1v1"), **duel, num_minibatches=1, runs_dir=str(tmp_path))
    rival = start.train(base).run_dir
    result = start.train(config.override(base, opponents=(f"blue={rival}",), seeds=2))
    shutil.rmtree(rival)
    assert all((folder / "opponents/blue_0.safetensors").exists() for folder in member_dirs(result.run_dir))
    assert start.resume(result.run_dir, total_timesteps=128).update == 4


def test_kill_9_and_resume(whole, tmp_path):
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in SMALL.items() if name != "tensorboard"]
    flags += ["--no-tensorboard", "--seeds", "3", "--checkpoint-seconds", "0.01", "--runs-dir", str(tmp_path)]
    command = [sys.executable, "-m", "courtside", "train", "cartpole", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: process.poll() is not None or list(tmp_path.glob("*/members/01/checkpoints/update-0*")))
    process.kill()
    process.wait()
    run = next(tmp_path.glob("*/config.json")).parent
    try:
        start.resume(run)
    except CheckpointError as error:
        assert "is finished" in str(error), "it was faster than the kill"  # noqa: PT017
    found, wanted = outcomes(run), outcomes(whole[0].run_dir)
    for member in wanted:
        for name in ("metrics.jsonl", "evals.jsonl", "verdict.json"):
            assert found[member][name] == wanted[member][name]


def test_a_member_goes_on_alone(whole, tmp_path, capsys):
    run = tmp_path / "run"
    shutil.copytree(whole[0].run_dir, run)
    assert main(["resume", str(run), "--member", "1", "--total-timesteps", "4352"]) == 0
    assert runlog.read_rows(run / "members/01")[-1]["update"] == 34
    assert main(["eval", str(run), "--member", "1", "--episodes", "2", "--json"]) == 0
    capsys.readouterr()
    with pytest.raises(CheckpointError, match="member 01 was trained on alone, and going on with all would undo that"):
        start.resume(run, total_timesteps=4_352)
    assert runlog.read_rows(run / "members/01")[-1]["update"] == 34


def test_a_kill_while_the_new_length_is_written_leaves_one_plan(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole[0].run_dir, run)
    longer = config.override(runlog.read_config(run), total_timesteps=4_352)
    runlog.write_config(run, longer)
    result = start.resume(run)
    assert result.finished
    assert {runlog.read_config(folder).run.total_timesteps for folder in member_dirs(run)} == {4_352}
    assert {runlog.read_rows(folder)[-1]["update"] for folder in member_dirs(run)} == {34}


def test_eval_of_all_members(whole, capsys):
    assert main(["eval", str(whole[0].run_dir), "--episodes", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["members"]) == 3
    assert found["spread"]["mean"] == pytest.approx(np.mean([member["mean"] for member in found["members"]]))


def test_waves_give_the_same(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(population, "members_that_fit", lambda single: 2)
    view = Watcher()
    result = start.train(small(tmp_path, seeds=3), view=view)
    assert outcomes(result.run_dir) == outcomes(whole[0].run_dir)
    assert "trained in 2 waves, one after the other, because at most 2 fit" in str(view.seen)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["eval", "RUN", "--member", "3"], "There is no member 3 in"),
        (["resume", "RUN", "--member", "7"], "it has members 0 to 2"),
        (["eval", "RUN", "--video", "a.gif"], "say which member"),
        (["eval", "RUN/members/00", "--member", "0"], "is a single run"),
        (["resume", "RUN"], "is finished"),
        (["train", "cartpole", "--seeds", "0"], "--seeds is 0"),
        (["train", "cartpole", "--seeds", "2", "--seed", "4294967295"], "past the largest seed"),
        (["train", "cartpole", "--seeds", "2", "--wandb"], "--wandb sends one run"),
        (["train", "cartpole", "--seeds", "2", "--insure"], "--insure watches over one run"),
    ],
)
def test_bad_input_is_one_sentence(whole, args, words, capsys):
    run = str(whole[0].run_dir)
    assert main([arg.replace("RUN", run) for arg in args]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["eval", "doctor"])
def test_a_search_is_no_run(verb, whole, tmp_path, capsys):
    shutil.copy(whole[0].run_dir / "config.json", tmp_path)
    (tmp_path / "search.json").write_text("{}")
    assert main([verb, str(tmp_path)]) == 2
    assert "is a search, not a run" in capsys.readouterr().err


def test_a_lost_member_stops_the_population_but_nothing_is_lost(whole, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole[0].run_dir, run)
    shutil.rmtree(run / "members/01")
    before = outcomes(run)
    with pytest.raises(CheckpointError, match="lacks the member 01"):
        start.resume(run)
    assert {name: outcome(run / "members" / name) for name in before} == before


def test_find_member_of_a_single_run(tmp_path):
    with pytest.raises(ConfigError, match="single run"):
        find_member(tmp_path, 0)
