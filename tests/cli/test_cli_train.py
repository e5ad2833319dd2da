import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from courtside.cli import main

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
    assert any(re.match(r"sizes num_envs +4 ", line) for line in lines)
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
        page, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (status, "")
    stopped = re.search(rf"Stopped by {name} at step ([\d,]+), update [\d,]+; everything up to there is saved\.", page)
    assert stopped
    run = next(Path(tmp_path).iterdir())
    assert f"  go on:      courtside resume {run}" in page.splitlines()

    target = int(stopped[1].replace(",", "")) + 128
    assert main(["resume", str(run), "--total-timesteps", str(target)]) == 0
    assert f"step {target:,}/{target:,} 100%" in capsys.readouterr().out
