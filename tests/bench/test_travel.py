"""A run on its way to another machine: packed in pieces, unpacked, resumed."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from courtside.experiments import start
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Settled
from courtside.settings import config, presets

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import travel

SMALL = {"total_timesteps": 8_192, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "num_minibatches": 4}


class Stopper:
    """A view that presses Ctrl-C after a while."""

    def __init__(self, events: int) -> None:
        self.left = events

    def on(self, event):
        self.left -= isinstance(event, Settled)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)


def train(folder: Path, view: Stopper | None = None, **changes) -> Path:
    settings = config.override(presets.find_preset("cartpole"), **(SMALL | changes), runs_dir=str(folder))
    return start.train(settings, view=view).run_dir


def logs(run: Path) -> list[bytes]:
    return [(run / name).read_bytes() for name in ("metrics.jsonl", "evals.jsonl", "verdict.json")]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory) -> Path:
    return train(tmp_path_factory.mktemp("here"), Stopper(2))


def test_a_part_goes_on_elsewhere_as_it_would_have_here(stopped, tmp_path):
    pieces = travel.pack(stopped, tmp_path / "pieces", mb=0.05)
    assert len(pieces) > 1
    assert max(piece.stat().st_size for piece in pieces) <= 0.05 * 2**20
    there = travel.unpack(tmp_path / "pieces", tmp_path / "there")
    assert there == tmp_path / "there" / stopped.name
    names = {path.name for path in there.iterdir()}
    assert not [name for name in names if name.startswith("events.out") or name == ".lock"]
    assert start.resume(there).finished
    assert logs(there) == logs(train(tmp_path / "whole"))


def test_only_the_newest_whole_checkpoint_goes_along(stopped, tmp_path):
    newest = checkpoint.find_checkpoints(stopped / runlog.CHECKPOINTS)[0]
    broken = checkpoint.checkpoint_path(stopped, 99_999)
    broken.write_bytes(newest.read_bytes()[:1000])
    travel.pack(stopped, tmp_path, mb=15)
    broken.unlink()
    there = travel.unpack(tmp_path, tmp_path / "there")
    assert [path.name for path in (there / runlog.CHECKPOINTS).iterdir()] == [newest.name]


def test_members_of_a_population_go_along(tmp_path):
    run = train(tmp_path / "here", seeds=2, total_timesteps=1_024)
    travel.pack(run, tmp_path / "pieces", mb=15)
    there = travel.unpack(tmp_path / "pieces", tmp_path / "there")
    assert [path.name for path in sorted((there / "members").iterdir())] == ["00", "01"]
    assert logs(there / "members" / "01") == logs(run / "members" / "01")


def test_pieces_that_are_missing_or_damaged_are_named(stopped, tmp_path):
    first, second, *_ = travel.pack(stopped, tmp_path, mb=0.05)
    kept = second.read_bytes()
    second.unlink()
    with pytest.raises(SystemExit, match="are missing: 2"):
        travel.unpack(tmp_path, tmp_path / "there")
    second.write_bytes(kept[:-1] + bytes([kept[-1] ^ 1]))
    with pytest.raises(SystemExit, match="damaged on the way"):
        travel.unpack(tmp_path, tmp_path / "there")
    second.write_bytes(kept)
    (tmp_path / first.name.replace(stopped.name, "another")).write_bytes(b"")
    with pytest.raises(SystemExit, match="pieces of one run, packed once; found 2"):
        travel.unpack(tmp_path, tmp_path / "there")
    assert not (tmp_path / "there").exists()


def test_a_run_that_is_there_is_not_written_over(stopped, tmp_path):
    travel.pack(stopped, tmp_path, mb=15)
    with pytest.raises(SystemExit, match="is there already"):
        travel.unpack(tmp_path, stopped.parent)
