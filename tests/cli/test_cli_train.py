import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from courtside.cli import main
from courtside.training.stop_signals import STOPPING
from waiting import PATIENCE

ENDLESS = (
    "--num-envs",
    "4",
    "--num-steps",
    "32",
    "--hidden-sizes",
    "8",
    "--eval-every",
    "0",
    "--total-timesteps",
    "1e9",
)


def test_run_is_told_from_settings_to_next_commands(small_run):
    lines = small_run.page.splitlines()
    assert small_run.status == 0
    assert lines[0] == "note: Accepted from CleanRL, but without effect here: --cuda."
    assert any(re.match(r"sizes +num_envs +4 ", line) for line in lines)
    assert any(line.startswith("memory: ") for line in lines)
    assert any(re.match(r"step 1,280/1,280 100% \| return +[\d.]+ \|", line) for line in lines)
    assert f"Run folder: {small_run.path}" in lines
    assert "Not passed in 1,280 steps (10 updates)." in lines
    assert f"  evaluate:   courtside eval {small_run.path}" in lines


def test_require_pass_turns_the_verdict_into_the_exit_status(tmp_path, capsys):
    small = ["--num-envs", "4", "--num-steps", "32", "--hidden-sizes", "8", "--eval-every", "0"]
    assert main(["train", "--require-pass", "--runs-dir", str(tmp_path), "--total-timesteps", "256", *small]) == 1
    assert "FAIL: charts/episodic_return" in capsys.readouterr().out


@pytest.mark.parametrize(
    "args", [["--num-minibatches", "3"], ["--total-timesteps", "0"], ["--env-id", "nowhere"], ["--gamma", "2"]]
)
def test_bad_settings_end_before_anything_is_made(args, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", *args]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("courtside: ")
    assert streams.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("number", "name", "status"), [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)]
)
def test_signal_saves_and_says_how_to_go_on(number, name, status, tmp_path, capsys):
    command = [sys.executable, "-m", "courtside", "train", "--runs-dir", str(tmp_path), *ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("step "):
                break
        process.send_signal(number)
        page, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (status, STOPPING)
    stopped = re.search(rf"Stopped by {name} at step ([\d,]+), update [\d,]+; everything up to there is saved\.", page)
    assert stopped
    run = next(Path(tmp_path).iterdir())
    assert f"  go on:      courtside resume {run}" in page.splitlines()

    target = int(stopped[1].replace(",", "")) + 128
    assert main(["resume", str(run), "--total-timesteps", str(target)]) == 0
    assert f"step {target:,}/{target:,} 100%" in capsys.readouterr().out


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_compiling_ends_the_process_at_once(number, status, tmp_path):
    """Threads inside XLA cannot be interrupted; the process must neither wait for them nor abort."""
    command = [sys.executable, "-m", "courtside", "train", "--runs-dir", str(tmp_path)]
    environment = {**os.environ, "COURTSIDE_CACHE_DIR": "", "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:  # fmt: skip
        assert process.stdout is not None
        assert any(line.startswith("compiling") for line in process.stdout)
        time.sleep(0.3)  # a fast machine compiles for little more than a second
        process.send_signal(number)
        page, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (status, STOPPING)
    assert "compiled in" not in page
    assert "before the first update, so there was nothing to save but the settings." in page


TINY = ("--num-envs", "2", "--num-steps", "16", "--num-minibatches", "2", "--hidden-sizes", "8", "--eval-episodes", "2")

OWN_WORLDS = """
from courtside.envs.classic import CartPole

class Ours(CartPole): ...

class Raises(CartPole):
    def step(self, state, action, key):
        raise ValueError("oh no")

class Branches(CartPole):
    def step(self, state, action, key):
        return super().step(state, action if action[0] > 0 else 1 - action, key)

class Needy(CartPole):
    def __init__(self, level): ...

class Fails(CartPole):
    def __init__(self):
        raise RuntimeError("no license")

def make():
    return CartPole()

ready = CartPole()
"""


@pytest.fixture
def own_worlds(tmp_path, monkeypatch):
    """Modules of the user's, in the folder where courtside is started."""
    (tmp_path / "own_train_worlds.py").write_text(OWN_WORLDS)
    (tmp_path / "not_python.py").write_text("def broken(:\n")
    (tmp_path / "breaks_down.py").write_text("raise OSError('no disk')\n")
    (tmp_path / "leaves.py").write_text("import sys; sys.exit(0)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("own_train_worlds", None)


def train_and_evaluate(env_id: str, tmp_path: Path, capsys, *args: str) -> dict:
    runs = tmp_path / "runs"
    assert main(["train", "--env-id", env_id, "--runs-dir", str(runs), "--total-timesteps", "64", *TINY, *args]) == 0
    capsys.readouterr()
    assert main(["eval", str(next(runs.iterdir())), "--episodes", "2", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_gymnasium_class_of_ones_own_is_trained_and_evaluated(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "hosts"))
    score = train_and_evaluate("dict_env:Signpost", tmp_path, capsys, "--workers", "serial")
    assert score["mean_length"] == 8


@pytest.mark.usefixtures("own_worlds")
@pytest.mark.parametrize("name", ["Ours", "make", "ready"])
def test_a_jax_world_of_ones_own_is_trained_and_evaluated(name, tmp_path, capsys):
    score = train_and_evaluate(f"own_train_worlds:{name}", tmp_path, capsys)
    assert score["mean"] == score["mean_length"]


@pytest.mark.usefixtures("own_worlds")
@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [
        (":X", "':X' names no module"),
        ("not_python:X", "'not_python' could not be imported: SyntaxError"),
        ("breaks_down:X", "'breaks_down' could not be imported: OSError: no disk"),
        ("leaves:X", "'leaves' could not be imported: SystemExit"),
        ("own_train_worlds:Needy", "own_train_worlds:Needy could not be built: TypeError"),
        ("own_train_worlds:Fails", "own_train_worlds:Fails could not be built: RuntimeError: no license"),
        ("own_train_worlds:Raises", "own_train_worlds:Raises breaks the contract: It raised ValueError: oh no"),
        ("own_train_worlds:Branches", "own_train_worlds:Branches breaks the contract: It raised TracerBool"),
    ],
)
def test_faults_of_ones_own_world_are_one_sentence(env_id, sentence, tmp_path, capsys):
    assert main(["train", "--env-id", env_id, "--runs-dir", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1
    assert env_id == ":X" or "`courtside check" in error
    assert not (tmp_path / "runs").exists()
