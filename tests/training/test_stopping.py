"""The stop by score: on hand-made rows, in real runs, killed and resumed, and in a population."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import asdict
from pathlib import Path

import pytest

from courtside.cli.closing import finished_lines, next_commands
from courtside.errors import CheckpointError
from courtside.experiments import start
from courtside.runs import checkpoint, runlog
from courtside.runs.events import Evaluated, Notice, Progress
from courtside.runs.members import member_dirs
from courtside.settings import config, presets
from courtside.training import stopping
from courtside.training.stopping import ScoreStop, ScoreWatch

WINDOW, GOAL = 30, 40.0
SMALL = {
    "total_timesteps": 128 * 600, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "tensorboard": False,
    "quit_threshold": GOAL, "quit_window": WINDOW, "learning_rate": "2.5e-3",
}  # fmt: skip
"""The sizes of the other tests of sessions, so that all share their compiled programs."""


def small(folder: Path, **changes):
    """600 updates, of which every third is looked at."""
    return config.override(presets.find_preset("cartpole"), **(SMALL | changes), runs_dir=str(folder))


def rows_of(scores, episodes, metric="charts/episodic_return"):
    pairs = enumerate(zip(scores, episodes, strict=True), 1)
    return [{"step": 128 * i, "update": i, metric: s, "charts/episodes": n} for i, (s, n) in pairs]


class Viewer:
    def __init__(self, interrupt_at=None):
        self.seen, self.interrupt_at = [], interrupt_at

    def on(self, event):
        self.seen.append(event)
        if isinstance(event, Progress) and self.interrupt_at and event.update >= self.interrupt_at:
            self.interrupt_at = None
            os.kill(os.getpid(), signal.SIGINT)


def outcome(run: Path) -> dict[str, bytes]:
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    names = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json")
    return {name: (run / name).read_bytes() for name in names} | {last.name: last.read_bytes()}


@pytest.mark.parametrize(
    ("scores", "episodes", "expected"),
    [
        ([45.0] * 12, [5] * 12, (6, 45.0)),  # the thirtieth episode ends in update 6, which is looked at
        ([45.0] * 12, [4] * 12, (9, 45.0)),  # in update 8, but that is not
        ([40.0] * 12, [30] * 12, None),  # must be above
        ([0.0] * 5 + [45.0] * 7, [10] * 12, (9, 45.0)),  # updates 7 to 9 hold the last thirty
        ([0.0, 0.0, 90.0, 0.0, 0.0, 20.0], [15, 0, 15, 0, 0, 1], (3, 45.0)),
        ([float("nan")] + [45.0] * 11, [0] + [10] * 11, (6, 45.0)),  # no episode ended in the first update
    ],
)
def test_where_the_mean_passes(tmp_path, scores, episodes, expected):
    stop = ScoreWatch(small(tmp_path), rows_of(scores, episodes)).stop
    assert stop == (expected and ScoreStop(128 * expected[0], expected[0], expected[1], GOAL, WINDOW))


def test_the_best_agent_counts_where_there_are_several(tmp_path):
    rows = [row | {"charts/score": 50.0} for row in rows_of([0.0] * 3, [10] * 3)]
    assert ScoreWatch(small(tmp_path), rows).stop == ScoreStop(384, 3, 50.0, GOAL, WINDOW)


def test_a_run_that_goes_back_forgets_what_came_after(tmp_path):
    settings = small(tmp_path, insure=True)
    watch = ScoreWatch(settings, rows_of([30.0, 30.0, 0.0, 0.0], [10] * 4))
    watch.go_back(2)
    watch.add([row for row in rows_of([90.0] * 3, [10] * 3) if row["update"] > 2])
    assert watch.stop == ScoreStop(384, 3, 50.0, GOAL, WINDOW)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    view = Viewer()
    return start.train(small(tmp_path_factory.mktemp("whole")), view=view), view.seen


def test_the_run_ends_where_the_logged_scores_say(whole):
    result, _ = whole
    rows = runlog.read_rows(result.run_dir)
    for row in rows:
        newest, count = 0.0, 0
        for past in reversed(rows[: row["update"]]):
            newest += (past["charts/episodic_return"] or 0.0) * past["charts/episodes"]
            count += past["charts/episodes"]
            if count >= WINDOW:
                break
        is_met = row["update"] % 3 == 0 and count >= WINDOW and newest / count > GOAL
        assert is_met == (row["update"] == result.update)
    assert 3 < result.update < 600
    assert result.finished
    assert result.score_stop.mean == pytest.approx(newest / count)


def test_it_is_evaluated_saved_and_told(whole):
    result, seen = whole
    stop = result.score_stop
    notice = f"passed --quit-threshold 40.0: training ends at step {result.step:,}."
    assert any(isinstance(event, Notice) and event.text.endswith(notice) for event in seen)
    assert [event.update for event in seen if isinstance(event, Evaluated)][-1] == result.update
    assert checkpoint.find_checkpoints(result.run_dir / "checkpoints")[0].stem == f"update-{result.update:08d}"
    record = json.loads((result.run_dir / "verdict.json").read_text())
    assert record["stopped"] == asdict(stop)
    assert record["total_updates"] == result.update
    assert "score_cap" not in record
    assert any(f"at step {result.step:,}" in line for line in finished_lines(result))
    assert not any("train on" in line for line in next_commands(result, None))


@pytest.mark.parametrize("length", [None, 128_000])
def test_a_run_that_was_ended_by_its_score_does_not_go_on(whole, length):
    with pytest.raises(CheckpointError, match="is finished: the mean score of the last 30 episodes"):
        start.resume(whole[0].run_dir, total_timesteps=length)


def test_stopped_and_resumed_it_ends_at_the_same_update(whole, tmp_path):
    result, _ = whole
    view = Viewer(interrupt_at=result.update // 2)
    stopped = start.train(small(tmp_path), view=view)
    assert not stopped.finished
    assert start.resume(stopped.run_dir).score_stop == result.score_stop
    assert outcome(stopped.run_dir) == outcome(result.run_dir)
    (stopped.run_dir / "verdict.json").unlink()  # a kill just before the verdict
    assert start.resume(stopped.run_dir).score_stop == result.score_stop
    assert outcome(stopped.run_dir) == outcome(result.run_dir)


def test_a_population_goes_on_until_all_have_passed(whole, tmp_path):
    result, _ = whole
    view = Viewer()
    run = start.train(small(tmp_path, seeds=3), view=view)
    records = [json.loads((folder / "verdict.json").read_text()) for folder in member_dirs(run.run_dir)]
    stops = [record["stopped"] for record in records]
    assert stops[0] == asdict(result.score_stop), "the first member is that run"
    assert len({stop["update"] for stop in stops}) > 1
    assert run.finished
    assert {run.update, *(record["total_updates"] for record in records)} == {max(stop["update"] for stop in stops)}
    assert [member.stop_step for member in run.results.members] == [stop["step"] for stop in stops]
    assert sum(isinstance(e, Notice) and "passed --quit-threshold" in e.text for e in view.seen) == 4
    before = [outcome(folder) for folder in member_dirs(run.run_dir)]
    for folder in member_dirs(run.run_dir):
        (folder / "verdict.json").unlink()  # a kill just before the verdicts
    assert start.resume(run.run_dir).finished
    assert [outcome(folder) for folder in member_dirs(run.run_dir)] == before
    with pytest.raises(CheckpointError, match="all its members have passed --quit-threshold 40"):
        start.resume(run.run_dir, total_timesteps=128_000)


def test_what_the_verdict_says_of_runs_with_and_without(tmp_path):
    plain = config.override(small(tmp_path), quit_threshold=None)
    assert stopping.verdict_part(plain, None) == {}
    assert stopping.verdict_part(config.override(plain, score_cap=2.0), None) == {"score_cap": 2.0}
    assert stopping.verdict_part(small(tmp_path), None) == {"stopped": None}
