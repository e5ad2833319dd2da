"""TensorBoard files read back with TensorBoard itself, W&B offline for real, and what logging costs."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from courtside.errors import CheckpointError
from courtside.runs import sinks
from courtside.runs.events import Evaluated, Finished, Progress
from courtside.runs.runlog import RunLog
from courtside.settings.config import Config, RunConfig
from waiting import PATIENCE

TAGS = (
    "charts/episodic_return", "charts/episodic_length", "charts/episodes", "charts/learning_rate", "losses/value_loss",
    "losses/policy_loss", "losses/entropy", "losses/old_approx_kl", "losses/approx_kl", "losses/clipfrac",
    "losses/explained_variance",
)  # fmt: skip


def row(update: int, **changes: object) -> dict:
    return {"step": 512 * update, "update": update, **{tag: float(update) for tag in TAGS}, **changes}


def progress(updates: range, rollout_share: float | None = None) -> Progress:
    rows = [row(u) for u in updates]
    return Progress(rows[-1]["step"], rows[-1]["update"], rows, 0.5, 1000.0, rollout_share)


def read_tensorboard(folder: Path) -> tuple[dict[str, list[tuple[int, float]]], str]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    reader = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    reader.Reload()
    tags = reader.Tags()
    scalars = {tag: [(e.step, e.value) for e in reader.Scalars(tag)] for tag in tags["scalars"]}
    texts = [reader.Tensors(tag)[0].tensor_proto.string_val[0].decode() for tag in tags["tensors"]]
    return scalars, "".join(texts)


# --- points --------------------------------------------------------------------------------------------------------


def test_short_chunks_are_plotted_update_by_update():
    plotted = sinks.points(progress(range(1, 4), 0.25))
    assert [step for step, _ in plotted] == [512, 1024, 1536]
    assert plotted[0][1] == dict.fromkeys(TAGS, 1.0)
    assert plotted[2][1] == dict.fromkeys(TAGS, 3.0) | {"charts/SPS": 1000.0, "time/rollout_share": 0.25}


def test_long_chunks_become_means():
    plotted = sinks.points(progress(range(1, 101)), limit=10)
    assert [step for step, _ in plotted] == [5120 * i for i in range(1, 11)]
    assert plotted[0][1]["losses/entropy"] == 5.5
    # returns are weighted by the episodes that ended: sum of u*u over sum of u for u = 1..10
    assert plotted[0][1]["charts/episodic_return"] == 385 / 55


@pytest.mark.parametrize("count", [1, 9, 10, 11, 19, 20, 21, 100, 101])
def test_never_more_points_than_the_limit_and_never_an_update_lost(count):
    plotted = sinks.points(progress(range(1, count + 1)), limit=10)
    assert len(plotted) <= 10
    assert plotted[-1][0] == 512 * count


def test_updates_without_an_episode_have_no_return():
    rows = [row(1, **{"charts/episodic_return": None, "charts/episodes": 0})]
    plotted = sinks.points(Progress(512, 1, rows, 0.5, 1000.0, None))
    assert "charts/episodic_return" not in plotted[0][1]
    assert plotted[0][1]["losses/entropy"] == 1.0


def test_losses_are_not_plotted_until_the_first_gradient_step():
    rows = [
        row(u) | {"charts/learning_steps": 8.0 * (u > 1), "losses/entropy": 2.0 if u > 1 else math.nan} for u in (1, 2)
    ]
    (_, first), (_, second) = sinks.points(Progress(1024, 2, rows, 0.5, 1000.0, None))
    assert "losses/entropy" not in first
    assert second["losses/entropy"] == 2.0


def test_other_events_have_nothing_to_plot():
    assert sinks.points(Finished(1, 1, 1.0)) == []
    assert sinks.points(Progress(0, 0, [], 0.5, 0.0, None)) == []


# --- TensorBoard ---------------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path) -> Config:
    return Config(run=RunConfig(runs_dir=str(tmp_path / "runs")))


def test_tensorboard_reads_what_was_written(config):
    log = RunLog.create(config)
    log.on(progress(range(1, 4)))
    log.on(Evaluated(1536, 3, {"eval/episodic_return": 42.0}, True))
    log.close()
    scalars, text = read_tensorboard(log.folder)
    assert set(scalars) == {*TAGS, "charts/SPS", "eval/episodic_return"}
    assert scalars["losses/approx_kl"] == [(512, 1.0), (1024, 2.0), (1536, 3.0)]
    assert scalars["eval/episodic_return"] == [(1536, 42.0)]
    assert "| learning_rate | 2.5e-4 |" in text
    assert "| env_id | cartpole |" in text


def test_points_can_be_seen_while_the_run_lives(config):
    log = RunLog.create(config)
    log.on(progress(range(1, 3)))
    assert read_tensorboard(log.folder)[0]["losses/entropy"] == [(512, 1.0), (1024, 2.0)]
    log.close()


def test_a_resume_drops_points_past_the_checkpoint(config):
    log = RunLog.create(config)
    log.on(progress(range(1, 5)))
    log.close()
    log = RunLog.resume(log.folder, update=2, step=1024)  # in the same second: must not write over the first file
    log.on(progress(range(3, 4)))
    log.close()
    assert len(list(log.folder.glob("events.out.*"))) == 2
    assert read_tensorboard(log.folder)[0]["losses/entropy"] == [(512, 1.0), (1024, 2.0), (1536, 3.0)]


def test_tensorboard_can_be_turned_off(tmp_path):
    log = RunLog.create(Config(run=RunConfig(runs_dir=str(tmp_path), tensorboard=False)))
    log.close()
    assert not list(log.folder.glob("events.out.*"))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_full_disk_is_an_error_and_not_a_hang(config, tmp_path):
    sink = sinks.TensorBoardSink(tmp_path, config)
    (events,) = tmp_path.glob("events.out.*")
    with open("/dev/full", "wb") as full:
        os.dup2(full.fileno(), sink._file._file.fileno())
    with pytest.raises(CheckpointError, match=f"{events.name}: the disk is full"):
        sink.on(progress(range(1, 10)))
    sink.close()


# --- W&B -----------------------------------------------------------------------------------------------------------

OFFLINE = """
import sys
from courtside.settings.config import Config, RunConfig
from courtside.runs.events import Finished, Progress
from courtside.runs.runlog import RunLog
log = RunLog.create(Config(run=RunConfig(runs_dir=sys.argv[1], wandb=True)))
for update in (1, 2):
    rows = [{"step": 512 * update, "update": update, "charts/episodic_return": 20.5, "charts/episodes": 1}]
    log.on(Progress(512 * update, update, rows, 0.5, 1000.0, None))
log.close()
log = RunLog.resume(log.folder, 1, 512)
log.on(Progress(1024, 2, rows, 0.5, 1000.0, None))
log.on(Finished(1024, 2, 1.0))
log.close()
"""


def test_wandb_offline_for_real(tmp_path):
    pytest.importorskip("wandb")
    environment = {
        **os.environ,
        "WANDB_MODE": "offline",
        "WANDB_CACHE_DIR": str(tmp_path / "cache"),
        "WANDB_CONFIG_DIR": str(tmp_path / "config"),
    }
    done = subprocess.run([sys.executable, "-c", OFFLINE, str(tmp_path / "runs")], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=PATIENCE)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr == ""
    (folder,) = (tmp_path / "runs").iterdir()
    records = b"".join(path.read_bytes() for path in sorted(folder.glob("wandb/offline-run-*/*.wandb")))
    for word in (b"charts/episodic_return", b"charts/SPS", b"global_step", b"num_envs", b"20.5", folder.name.encode()):
        assert word in records


NO_WANDB = """
import sys
sys.modules["wandb"] = None  # what Python does where a package is not installed
from courtside.settings.config import Config, RunConfig
from courtside.errors import ConfigError
from courtside.runs.runlog import RunLog
try:
    RunLog.create(Config(run=RunConfig(runs_dir=sys.argv[1], wandb=True)))
except ConfigError as error:
    print(error)
"""


def test_wandb_missing_names_the_extra(tmp_path):
    done = subprocess.run([sys.executable, "-c", NO_WANDB, str(tmp_path / "runs")], capture_output=True, text=True)
    assert 'pip install "courtside[wandb]"' in done.stdout, done.stderr
    assert list((tmp_path / "runs").iterdir()) == [], "nothing should be left of a run that never began"
