"""The run folder: written by real events, read back, cut at a checkpoint, and every way it can be unusable."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from courtside.errors import CheckpointError, ConfigError
from courtside.health import verdict
from courtside.runs import runlog
from courtside.runs.events import Compiled, Evaluated, Finished, Notice, Progress, Started
from courtside.runs.holding import hold
from courtside.runs.runlog import RunLog, find_run, read_rows
from courtside.runs.system_record import git_commit
from courtside.settings import config as configs
from courtside.settings.config import Config, NetConfig, RunConfig, Threshold


@pytest.fixture
def config(tmp_path) -> Config:
    return Config(
        run=RunConfig(runs_dir=str(tmp_path / "runs"), tensorboard=False, exp_name="mine"),
        net=NetConfig(hidden_sizes=(32, 16)),
        preset="cartpole",
        thresholds=(Threshold("charts/episodic_return", ">=", 475.0, 1024, "a book"),),
    )


def row(update: int) -> dict:
    value = float(np.float32(update) / np.float32(3))
    return {"step": 512 * update, "update": update, "charts/episodic_return": value if update % 2 else None,
            "charts/episodes": update % 2, "losses/value_loss": value}  # fmt: skip


def progress(*updates: int) -> Progress:
    last = updates[-1]
    return Progress(512 * last, last, [row(u) for u in updates], seconds=0.5, steps_per_second=1e5, rollout_share=0.4)


def evaluated(update: int) -> Evaluated:
    return Evaluated(512 * update, update, {"eval/episodic_return": update / 7}, is_best=False)


def feed(log: RunLog, *events) -> None:
    for event in events:
        log.on(event)


# --- what is written -----------------------------------------------------------------------------------------------


def test_folder_name_and_parts(config, tmp_path):
    log = RunLog.create(config)
    log.close()
    assert log.folder.parent == tmp_path / "runs"
    name, day, clock, short_id = log.folder.name.split("-")
    assert (name, len(day), len(clock), len(short_id)) == ("mine", 8, 6, 6)
    assert {"config.json", "system.json", "metrics.jsonl", "checkpoints", "best"} <= set(os.listdir(log.folder))


@pytest.mark.parametrize(
    ("exp_name", "start"), [("", "cartpole-"), ("a/b c", "a-b-c-"), ("../..", "run-"), ("très", "très-")]
)
def test_folder_names_are_safe(config, exp_name, start):
    log = RunLog.create(configs.override(config, exp_name=exp_name))
    log.close()
    assert log.folder.name.startswith(start)
    assert log.folder.parent == Path(config.run.runs_dir)


def test_config_is_complete_and_reloadable(config):
    log = RunLog.create(config)
    log.close()
    assert runlog.read_config(log.folder) == config
    text = (log.folder / "config.json").read_text()
    record = json.loads(text)
    assert record["format"] == runlog.FORMAT
    assert record["ppo"] == configs.to_json(config)["ppo"]
    assert '\n  "run": {\n    "algo": "ppo",' in text


def test_each_event_goes_where_it_belongs(config):
    log = RunLog.create(config)
    feed(
        log,
        Started(config, {}, "cpu: test"),
        Compiled(6.5),
        progress(1, 2),
        evaluated(2),
        Notice("hm"),
        progress(3),
        Finished(1536, 3, 2.0),
    )
    log.close()
    assert read_rows(log.folder) == [row(1), row(2), row(3)]
    assert read_rows(log.folder, runlog.EVALS) == [{"step": 1024, "update": 2, "eval/episodic_return": 2 / 7}]
    timing = read_rows(log.folder, runlog.TIMING)
    assert timing[0] == {"step": 0, "update": 0, "compile_seconds": 6.5}
    assert timing[1] == {"step": 1024, "update": 2, "seconds": 0.5, "steps_per_second": 1e5, "rollout_share": 0.4}
    assert len(timing) == 3


def test_updates_without_an_episode_have_no_return_in_the_file(config):
    log = RunLog.create(config)
    rows = [{**row(1), "charts/episodic_return": 0.0, "charts/episodic_length": math.nan, "charts/episodes": 0.0}]
    log.on(Progress(512, 1, rows, 0.5, 1e5, None))
    log.close()
    (written,) = read_rows(log.folder)
    assert (written["charts/episodic_return"], written["charts/episodic_length"]) == (None, None)
    assert written["losses/value_loss"] == row(1)["losses/value_loss"]


def test_losses_are_blank_until_the_first_gradient_step_and_never_after(config):
    log = RunLog.create(config)
    broken = {"charts/learning_steps": 0.0, "losses/critic_loss": math.nan, "health/obs_std": math.nan}
    broken |= {"health/racket_0/mass_last": math.nan}
    rows = [row(1) | broken, row(2) | broken | {"charts/learning_steps": 8.0}]
    log.on(Progress(1024, 2, rows, 0.5, 1e5, None))
    log.close()
    filling, learning = read_rows(log.folder)
    assert filling["losses/critic_loss"] is filling["health/racket_0/mass_last"] is None
    assert math.isnan(filling["health/obs_std"]), "an observation that is no number is told at any time"
    assert math.isnan(learning["losses/critic_loss"])


def test_rows_can_be_read_as_soon_as_the_event_is_handled(config):
    log = RunLog.create(config)
    log.on(progress(1))
    assert read_rows(log.folder) == [row(1)]
    log.close()


def test_system_names_versions_and_every_session(config):
    log = RunLog.create(config)
    log.on(Started(config, {}, "cpu: test"))
    log.close()
    RunLog.resume(log.folder, 0, 0).close()
    first, second = json.loads((log.folder / "system.json").read_text())["sessions"]
    assert first["device"] == "cpu: test"
    assert second["device"] is None
    assert {"courtside", "jax", "equinox", "optax"} <= set(first["versions"])
    assert first["python"].startswith(f"3.{sys.version_info.minor}")
    assert first["cpu_count"] == os.cpu_count()


def test_git_commit_of_a_checkout(tmp_path):
    assert git_commit(tmp_path) is None
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    (tmp_path / "file").write_text("one")
    for command in (["init", "-q"], ["add", "file"], ["commit", "-qm", "one"], ["tag", "v1"]):
        subprocess.run([*git, *command], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    assert git_commit(tmp_path) == head
    (tmp_path / "file").write_text("two")
    assert git_commit(tmp_path) == head + "-dirty"


def test_verdict_is_written_as_valid_json(config):
    log = RunLog.create(config)
    tracker = verdict.VerdictTracker(config.thresholds)
    tracker.add([{"step": 1024, "update": 1, "charts/episodic_return": math.nan}])
    log.write_verdict(verdict.to_json(tracker.verdict()))
    log.close()
    record = json.loads((log.folder / "verdict.json").read_text(), parse_constant=pytest.fail)
    assert record["results"][0]["value"] == "NaN"


# --- numbers -------------------------------------------------------------------------------------------------------


def test_floats_round_trip_exactly():
    generator = np.random.default_rng(0)
    for bits in generator.integers(0, 2**32, 300, dtype=np.uint32):
        number = bits.view(np.float32)
        for value in (float(number), number):
            back = runlog.decode_row(runlog.encode_row({"x": value}))["x"]
            assert np.float32(back).tobytes() == number.tobytes() or math.isnan(back)


def test_special_numbers_are_valid_json():
    line = runlog.encode_row(
        {"a": math.nan, "b": np.float32("-inf"), "c": math.inf, "d": None, "e": np.int32(3), "f": True}
    )
    assert json.loads(line, parse_constant=pytest.fail) == {
        "a": "NaN",
        "b": "-Infinity",
        "c": "Infinity",
        "d": None,
        "e": 3,
        "f": True,
    }
    back = runlog.decode_row(line)
    assert math.isnan(back["a"])
    assert (back["b"], back["c"], back["d"]) == (-math.inf, math.inf, None)


# --- resume --------------------------------------------------------------------------------------------------------


def test_a_run_cut_anywhere_ends_with_the_same_bytes(config):
    whole = RunLog.create(config)
    feed(whole, progress(1, 2), evaluated(2), progress(3, 4), evaluated(4), Finished(2048, 4, 1.0))
    whole.close()
    cut = RunLog.create(config)
    feed(cut, progress(1, 2), evaluated(2), progress(3))
    cut.close()
    metrics = cut.folder / "metrics.jsonl"
    metrics.write_bytes(metrics.read_bytes() + b'{"step": 2048, "upda')  # the kill came in the middle of a line
    cut = RunLog.resume(cut.folder, update=2, step=1024)
    assert read_rows(cut.folder) == [row(1), row(2)]
    feed(cut, progress(3), progress(4), evaluated(4), Finished(2048, 4, 1.0))
    cut.close()
    for name in ("metrics.jsonl", "evals.jsonl"):
        assert (cut.folder / name).read_bytes() == (whole.folder / name).read_bytes()
    assert [r["update"] for r in read_rows(cut.folder, runlog.TIMING)] == [2, 3, 4]


def test_verdict_rebuilt_from_the_file_is_the_same(config):
    log = RunLog.create(config)
    live = verdict.VerdictTracker(config.thresholds)
    for update in range(1, 20):
        log.on(progress(update))
        live.add([row(update)])
    log.close()
    rebuilt = verdict.VerdictTracker(config.thresholds)
    rebuilt.add(runlog.read_history(log.folder))
    assert rebuilt.verdict() == live.verdict()


def test_history_puts_evaluations_behind_their_update(config):
    log = RunLog.create(config)
    feed(log, progress(1, 2), evaluated(2), progress(3))
    log.close()
    assert [(r["update"], "eval/episodic_return" in r) for r in runlog.read_history(log.folder)] == [(1, False), (2, False), (2, True), (3, False)]  # fmt: skip


def test_resume_clears_leftovers_of_the_killed_process(config):
    log = RunLog.create(config)
    log.close()
    leftover = log.folder / "checkpoints" / ".update-00000001.safetensors.tmp"
    leftover.write_bytes(b"half")
    RunLog.resume(log.folder, 0, 0).close()
    assert not leftover.exists()


def test_damaged_line_in_the_middle(config):
    log = RunLog.create(config)
    log.close()
    (log.folder / "metrics.jsonl").write_text('{"step": 1}\nnonsense\n')
    with pytest.raises(CheckpointError, match="a line that is not a JSON record"):
        read_rows(log.folder)


RESUME = """
import sys
from courtside.runs.runlog import RunLog
from courtside.errors import CheckpointError
try:
    RunLog.resume(sys.argv[1], 0, 0)
    print("opened")
except CheckpointError as error:
    print(error)
"""


def test_two_processes_cannot_write_one_run(config):
    def resume_elsewhere() -> str:
        return subprocess.run([sys.executable, "-c", RESUME, log.folder], capture_output=True, text=True).stdout

    log = RunLog.create(config)
    assert "is being trained by another process" in resume_elsewhere()
    log.close()
    assert resume_elsewhere() == "opened\n"


# --- unusable folders ----------------------------------------------------------------------------------------------


def test_runs_dir_that_is_a_file(config, tmp_path):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(ConfigError, match=r"Could not create a run folder in .*: a .* is a file, .*--runs-dir"):
        RunLog.create(config)


NO_PERMISSION = """
import os, sys
from courtside.settings.config import Config, RunConfig
from courtside.errors import ConfigError
from courtside.runs.runlog import RunLog
import courtside.runs.sinks, tensorboardX
if os.getuid() == 0:
    os.setuid(65534)
try:
    RunLog.create(Config(run=RunConfig(runs_dir=sys.argv[1])))
except ConfigError as error:
    print(error)
"""


def test_runs_dir_without_write_permission(tmp_path):
    """Root may write anywhere, so the other process gives root up first."""
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    done = subprocess.run([sys.executable, "-c", NO_PERMISSION, str(closed / "runs")], capture_output=True, text=True)
    assert "there is no permission to write there. Choose another place with --runs-dir." in done.stdout, done.stderr


READ_ONLY = """
import subprocess, sys
from courtside.runs.runlog import RunLog
from courtside.errors import CheckpointError
folder = sys.argv[1]
for command in (["mount", "--bind", folder, folder], ["mount", "-o", "remount,ro,bind", folder]):
    if subprocess.run(command, capture_output=True).returncode:
        print("no mount"); sys.exit()
try:
    RunLog.resume(folder, 0, 0)
except CheckpointError as error:
    print(error)
"""


def test_resume_on_a_read_only_disk(config):
    log = RunLog.create(config)
    log.close()
    try:
        done = subprocess.run(
            ["unshare", "-rm", sys.executable, "-c", READ_ONLY, log.folder], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode or "no mount" in done.stdout:
        pytest.skip("no private mount allowed here")
    assert "the disk is mounted read-only" in done.stdout


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_disk_full_while_metrics_are_written(config):
    log = RunLog.create(config)
    log.close()
    (log.folder / "metrics.jsonl").unlink()
    (log.folder / "metrics.jsonl").symlink_to("/dev/full")
    log = RunLog(hold(log.folder), config, 0, 0, resumed=False)
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl: the disk is full"):
        log.on(progress(1))
    log.close()


def test_missing_folder(tmp_path):
    with pytest.raises(CheckpointError, match="There is no run folder at"):
        runlog.read_config(tmp_path / "none")


def test_folder_without_config(tmp_path):
    with pytest.raises(CheckpointError, match=r"not a run folder: it has no config\.json"):
        runlog.read_config(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: {**r, "format": 2, "courtside": "9.9"}, r"has format 2, .* up to 1; it was written by courtside 9\.9\. Update"),
        (lambda r: {**r, "ppo": {**r["ppo"], "novel": 1}}, "'novel', which this version of courtside does not know"),
        (lambda r: {**r, "thresholds": [{"metric": "m", "op": ">", "value": 1.0, "kind": "odd"}]}, "'kind', which this version of courtside does not know"),
        (lambda r: {**r, "env": {**r["env"], "num_envs": 0}}, "--num-envs is 0"),
        (lambda r: {**r, "env": {**r["env"], "num_envs": "many"}}, "cannot be used"),
        (lambda r: [r], "cannot be read"),
        (lambda r: {**r, "format": None}, "cannot be read"),
    ],
)  # fmt: skip
def test_config_of_another_version(config, change, words):
    log = RunLog.create(config)
    log.close()
    path = log.folder / "config.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(CheckpointError, match=words):
        runlog.read_config(log.folder)


def test_half_written_config(config):
    log = RunLog.create(config)
    log.close()
    path = log.folder / "config.json"
    path.write_text(path.read_text()[:50])
    with pytest.raises(CheckpointError, match="cannot be read"):
        runlog.read_config(log.folder)


# --- finding runs --------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path) -> Path:
    for name in (
        "cartpole-20250102-000000-aaaaaa",
        "cartpole-20250101-000000-bbbbbb",
        "pendulum-20240101-000000-cccccc",
    ):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
    (tmp_path / "runs" / "notes").mkdir()
    return tmp_path / "runs"


@pytest.mark.parametrize("name", ["last", "latest"])
def test_last_is_the_newest(runs, name):
    assert find_run(name, runs).name == "cartpole-20250102-000000-aaaaaa"


def test_run_by_path_name_and_prefix(runs, monkeypatch):
    wanted = runs / "pendulum-20240101-000000-cccccc"
    assert find_run(wanted, "elsewhere") == wanted
    assert find_run(wanted.name, runs) == wanted
    assert find_run("pend", runs) == wanted
    monkeypatch.chdir(runs.parent)
    assert find_run("pend").resolve() == wanted


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cartpole", "is the start of 2 runs: cartpole-20250102-000000-aaaaaa, cartpole-20250101-000000-bbbbbb"),
        ("cartpole-20250102-000000-aaaaab", "Did you mean cartpole-20250102-000000-aaaaaa"),
        ("zzz", "There is no run in .* named 'zzz'. Known: cartpole"),
        ("notes", "is not a run folder: it is empty"),
        ("", "holds runs and is not one itself"),
    ],
)
def test_runs_that_cannot_be_found(runs, name, words):
    with pytest.raises(CheckpointError, match=words):
        find_run(runs / name if name == "" else name, runs)


def test_no_runs_yet(tmp_path):
    with pytest.raises(CheckpointError, match="start one with `courtside train`"):
        find_run("last", tmp_path / "runs")
    with pytest.raises(CheckpointError, match="no run folder at some, and no run in"):
        find_run("some", tmp_path / "runs")


def test_renamed_run_is_dated_by_its_config(runs):
    (runs / "cartpole-20250102-000000-aaaaaa").rename(runs / "favourite")
    assert find_run("last", runs).name == "favourite"


def test_settings_are_read_where_their_env_is_not_known(tmp_path):
    """A run is looked at on machines that could not train it."""
    runlog.write_config(tmp_path, configs.override(Config(), env_id="NotInstalledHere-v9"))
    assert runlog.read_config(tmp_path).env.env_id == "NotInstalledHere-v9"
