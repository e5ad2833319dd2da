"""PPO on a real emulator, through the whole product: metrics, pictures, resume, another cartridge, a worker that dies."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from homebrew import quest

from courtside.errors import CheckpointError, ConfigError
from courtside.hosts.env_host import Plan, make_host
from courtside.hosts.gba import options
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Progress
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, override
from courtside.settings.presets import PRESETS
from courtside.settings.worlds import find_env, stand_for
from courtside.training import session, wall
from courtside.training.evaluate import evaluate_run
from waiting import PATIENCE

CONFIG = Config(
    run=RunConfig(total_timesteps=128, eval_every=0, tensorboard=False, snapshots=0),
    env=EnvConfig(
        env_id="gba:games:QUEST",
        env_options=("max_steps=12", "sticky=0.2", "atlas_start=0.5", "atlas_store=0.2"),
        num_envs=2,
        workers="serial",
    ),
    net=NetConfig(torso="mlp", hidden_sizes=(4,)),
    learning=PPOConfig(num_steps=8, num_minibatches=1, update_epochs=1, learning_rate="1e-4", anneal_lr=False),
)


@pytest.fixture(scope="module")
def rom(tmp_path_factory):
    path = tmp_path_factory.mktemp("roms") / "quest.gba"
    path.write_bytes(quest.build())
    return path


def train(rom, folder, view=None, **changes):
    return session.train(override(CONFIG, rom=str(rom), runs_dir=str(folder), **changes), view=view)


@pytest.fixture(scope="module")
def whole(rom, tmp_path_factory):
    return train(rom, tmp_path_factory.mktemp("whole")).run_dir


def outcome(run):
    """What an interrupted run must share with one that was never stopped, byte for byte."""
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    return (run / "metrics.jsonl").read_bytes(), last.name, last.read_bytes()


class StopAt:
    """A view that stops the run with a signal."""

    def on(self, event):
        if isinstance(event, Progress) and event.update < 8:
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_tells_what_was_paid_for_and_leaves_pictures(whole):
    rows = [row for row in runlog.read_rows(whole) if row["charts/episodes"] > 0]
    assert rows
    for row in rows:
        assert row["env/pokedex_rew"] == 10.0
        assert row["env/badge_rew"] % 5.0 == 0.0
        assert row["charts/truncated"] == 1.0
    assert (whole / wall.FILE).is_file()
    assert sorted(path.name for path in (whole / "trajectories").iterdir()) == ["00", "01"]
    assert sorted(path.name for path in (whole / "visits").iterdir()) == ["00.npz", "01.npz"]
    assert list((whole / "atlas").glob("0-9/*.state"))


def test_a_stopped_run_goes_on_bit_for_bit(whole, rom, tmp_path):
    stopped = train(rom, tmp_path, view=StopAt())
    assert not stopped.finished
    moved = shutil.move(rom, tmp_path / "moved.gba")
    try:
        with pytest.raises(ConfigError, match=r"There is no ROM at .*quest.gba"):
            session.resume(stopped.run_dir)
        resumed = session.resume(stopped.run_dir, rom=str(moved))
    finally:
        shutil.move(moved, rom)
    assert outcome(resumed.run_dir) == outcome(whole)


def train_small_preset(rom, folder):
    """What `emerald` is made of, CNN, two LSTMs, pieces of a rollout and worker processes, in a small size."""
    small = {
        "env_id": "gba:games:QUEST", "env_options": ("max_steps=12",), "num_envs": 2, "num_steps": 8, "num_minibatches": 2,
        "update_epochs": 1, "lstm_size": 4, "lstm_steps": 4, "cnn_features": 8, "total_timesteps": 96, "worker_timeout": 60.0,
        "checkpoint_seconds": 1e-3, "tensorboard": False, "snapshots": 0,
    }  # fmt: skip
    stand_for(small["env_id"])  # this runs in processes of its own
    preset = override(PRESETS["emerald"][1], **small, rom=str(rom), runs_dir=str(folder))
    return session.train(dataclasses.replace(preset, thresholds=()))


def train_and_die(rom, folder):
    """`kill -9` by its own hand right after its second checkpoint: no observer is sure to hit a run of a few seconds."""
    save, calls = checkpoint.save, []

    def save_and_die(path, state, meta):
        save(path, state, meta)
        calls.append(path)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGKILL)

    checkpoint.save, session.Saver.is_due = save_and_die, lambda _: True
    train_small_preset(rom, folder)


CHILD = """
import sys
sys.path[:] = {path!r}
import test_gba_training
from courtside.training import session
job, folder = sys.argv[1:3]
if job == "resume":
    session.resume(folder)
else:
    getattr(test_gba_training, job)(sys.argv[3], folder)
"""


def start(*arguments):
    """Train or resume in a process of its own: how many cores share the images is decided when JAX starts there."""
    code = CHILD.format(path=[str(Path(__file__).parent), *sys.path])
    return subprocess.run([sys.executable, "-c", code, *map(str, arguments)], timeout=PATIENCE, check=False).returncode


def test_the_preset_killed_at_once_goes_on_bit_for_bit(rom, tmp_path):
    """Everything that the real game has but the cartridge."""
    assert start("train_small_preset", tmp_path / "whole", rom) == 0
    (whole,) = (tmp_path / "whole").iterdir()
    assert sorted(path.name for path in (whole / wall.FRAMES).iterdir()) == ["00.png", "01.png"]
    assert start("train_and_die", tmp_path / "killed", rom) == -signal.SIGKILL
    (run,) = (tmp_path / "killed").iterdir()
    assert len(checkpoint.find_checkpoints(run / "checkpoints")) == 2
    assert start("resume", run) == 0
    assert outcome(run) == outcome(whole)


def test_a_run_goes_on_with_its_own_cartridge_alone(whole, rom, tmp_path):
    other = tmp_path / "other.gba"
    other.write_bytes(rom.read_bytes()[:-1] + b"\1")
    run = shutil.copytree(whole, tmp_path / "run")
    with pytest.raises(
        CheckpointError, match=r"made_of: 'the ROM with SHA-1 .* in the checkpoint, 'the ROM with SHA-1"
    ):
        session.resume(run, total_timesteps=256, rom=str(other))
    with pytest.raises(CheckpointError, match=r"made_of: 'the ROM with SHA-1"):
        evaluate_run(run, which="last", episodes=1, rom=str(other))
    found = evaluate_run(run, which="last", episodes=2)
    assert found.env["pokedex_rew"] == 10.0
    assert found.mean_length == 12


def test_a_worker_that_dies_goes_on_from_its_last_state(rom):
    env = EnvConfig(on_worker_failure="restart")
    host = make_host(
        options.give(find_env("gba:games:QUEST"), {"rom": rom}), 2, env, Plan("processes", 2, ""), packed=True
    )
    up, nothing = np.full((2, 1), 1), np.zeros((2, 1), int)
    host.reset(0)
    for _ in range(2):
        host.step(up)
    host.save()
    shown = host.step(nothing).features.copy()
    host.notices()
    for expected in ("They go on from where they were last saved.", "A new worker took its place"):
        os.kill(host._crew._workers[1].process.pid, signal.SIGKILL)
        got = host.step(up)
        assert got.truncated[:, 0].tolist() == [False, True]
        assert any(expected in notice for notice in host.notices())
        goes_on = np.array_equal(host.step(nothing).features[1], shown[1])
        assert goes_on == ("saved" in expected), "a second time it begins anew"
    host.close()
