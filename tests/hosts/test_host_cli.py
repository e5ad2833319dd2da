"""Envs outside JAX through the command line and the Python API: failures are one sentence and status 2, signals save."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import odd_envs
import pytest

import courtside
import courtside.settings.config
from courtside.runs import checkpoint
from courtside.settings.config import Config
from courtside.training.stop_signals import STOPPING
from waiting import PATIENCE

HERE = Path(__file__).parent
SMALL = (
    "--num-envs", "2", "--num-steps", "16", "--num-minibatches", "2", "--update-epochs", "1", "--hidden-sizes", "8",
    "--eval-every", "0", "--total-timesteps", "1e9", "--checkpoint-seconds", "0.001",
)  # fmt: skip


def start(env_id, runs, *flags):
    command = [sys.executable, "-m", "courtside", "train", "--env-id", env_id, "--runs-dir", str(runs), *SMALL, *flags]
    paths = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("RaisesInReset", r"env 0, step 1.*reset\(\) raised OSError: no such level\. "),
        ("RaisesInStep1000", r"env 0, step 1000 \(20 of its episode\): step\(\) raised RuntimeError: worn out\. "),
        ("NewShape", r"env 0, step 5 \(5 of its.*the observation has the shape \(3,\), expected \(2,\)\. "),
        ("NanReward", r"env 0, step 5 \(5 of its.*the reward is nan, expected a finite number\. "),
        ("Hangs", r"env 0, step 5 \(5 of its.*no answer for 1 s, so the run ends here\. "),
    ],
)
def test_a_failing_env_is_one_sentence_and_status_2(name, sentence, tmp_path):
    process = start(f"failing_envs:{name}", tmp_path, "--workers", "serial", "--worker-timeout", "1")
    page, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2, page + errors
    assert "Traceback" not in page + errors
    assert re.fullmatch(rf"courtside: failing_envs:{name}, {sentence}.*", errors.strip()), errors
    if name == "RaisesInStep1000":
        (run,) = tmp_path.iterdir()
        path, skipped = checkpoint.newest_whole(run / checkpoint.FOLDER)
        assert skipped == []
        assert 0 < checkpoint.read_meta(path)["step"] < 2000
        assert courtside.load(run).policy(np.zeros(2, np.float32)) in (0, 1)


def test_sigterm_to_the_whole_group_saves(tmp_path):
    """As Slurm and systemd end a job: every process of it is signalled at once."""
    process = start("gym:CartPole-v1", tmp_path, "--workers", "processes", "--num-workers", "2")
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step "):
            break
    os.killpg(process.pid, signal.SIGTERM)
    page, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (143, STOPPING)
    stopped = re.search(r"Stopped by SIGTERM at step ([\d,]+)", page)
    assert stopped
    (run,) = tmp_path.iterdir()
    path, _ = checkpoint.newest_whole(run / checkpoint.FOLDER)
    assert checkpoint.read_meta(path)["step"] == int(stopped[1].replace(",", ""))


@pytest.mark.parametrize("name", ["StartsAtFive", "Buttons", "Levers", "Knobs"])
def test_a_loaded_policy_speaks_the_language_of_the_env(name, tmp_path):
    """Choices that start elsewhere, arrays of choices, other kinds of numbers: out of `policy` as into `step`."""
    config = courtside.settings.config.override(
        Config(), env_id=f"odd_envs:{name}", num_envs=2, num_steps=8, num_minibatches=2, update_epochs=1,
        hidden_sizes=(8,), total_timesteps=16, eval_every=0, workers="serial", runs_dir=str(tmp_path),
    )  # fmt: skip
    run = courtside.load(courtside.train(config).run_dir)
    env = getattr(odd_envs, name)()
    obs, _ = env.reset(seed=3)
    for seed in range(4):
        assert env.action_space.contains(run.policy(obs, deterministic=False, seed=seed))
    many = run.policy(np.stack([np.asarray(obs)] * 3))
    assert many.shape == (3, *env.action_space.shape)
    assert all(env.action_space.contains(action) for action in many)
