"""Insurance: a run that forgets goes back and ends the same however often it is killed on the way."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

import pytest

from courtside.engines import make_engine
from courtside.errors import ConfigError
from courtside.runs import checkpoint, runlog, snapshots
from courtside.runs.events import Notice, Progress, Racing, Rewound, Settled
from courtside.settings import config, presets
from courtside.training import insurance, session

FORGETS = {
    "ent_coef": "exponential(0.001, 10)",  # an entropy bonus that grows until nothing else counts: a sure fall
    "learning_rate": "3e-3", "anneal_lr": False, "insure": True, "total_timesteps": 7_680, "num_envs": 4, "num_steps": 32,
    "num_minibatches": 2, "eval_episodes": 4, "checkpoint_seconds": 0.01, "tensorboard": False,
    "snapshots": 60,  # also of the moment that it goes back to
}  # fmt: skip


def forgetful(folder: Path, **changes):
    return config.override(presets.find_preset("cartpole"), **(FORGETS | changes), runs_dir=str(folder))


def outcome(run: Path) -> dict[str, bytes]:
    last = checkpoint.find_checkpoints(run / "checkpoints")[0]
    names = ["metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json", insurance.FILE]
    found = [*(run / name for name in names), *run.glob("insurance/fall-*/*"), *run.glob("snapshots/*"), last]
    return {str(path.relative_to(run)): path.read_bytes() for path in found}


class Killed(BaseException):
    """Ends a run without letting it save anything, as kill -9 does."""


def kill_now(*args):
    raise Killed


def at_second_call(function):
    """`function` for the first call, a kill at the second."""
    calls = iter([function])
    return lambda *args: next(calls, kill_now)(*args)


class Killer:
    """A view that ends the run when it is shown a certain event, or has seen one before it."""

    def __init__(self, matches):
        self.matches, self.seen = matches, []

    def on(self, event):
        self.seen.append(event)
        if self.matches(self.seen):
            raise Killed


def says(text: str):
    return lambda seen: isinstance(seen[-1], Notice) and text in seen[-1].text


class Interrupter:
    """A view that presses Ctrl-C when the third runner of a race sets off."""

    def __init__(self):
        self.seen = []

    def on(self, event):
        self.seen.append(event)
        if isinstance(event, Racing) and event.done == 2:
            signal.raise_signal(signal.SIGINT)


@pytest.fixture(scope="module", autouse=True)
def compiled_once(tmp_path_factory):
    """One engine for all runs and resumes of this file: they differ in nothing that it compiles."""
    engine = make_engine(forgetful(tmp_path_factory.mktemp("engine")))
    engine.compile()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "compile", lambda: None)
        patch.setattr(session, "make_engine", lambda *args: engine)
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> Path:
    return session.train(forgetful(tmp_path_factory.mktemp("whole"))).run_dir


def test_fall_is_undone_and_written_down(whole):
    record = json.loads((whole / insurance.FILE).read_text())
    fall = record["falls"][0]
    assert fall["fell_to"] < fall["held"]
    assert fall["back_to_update"] <= fall["well_until_update"] < fall["noticed_at_update"]
    assert {tried["name"] for tried in fall["tried"]} >= {"no change", "learning rate / 10", fall["won"]}
    assert all(len(tried["scores"]) == insurance.SEEDS for tried in fall["tried"])
    assert fall["won"] in insurance.closing_lines(whole)[0]
    verdict = json.loads((whole / "verdict.json").read_text())["insurance"]
    assert verdict["rewinds"] == len(record["falls"]) <= insurance.MAX_REWINDS
    assert verdict["extra_steps"] == sum(f["steps_undone"] + f["steps_raced"] for f in record["falls"])


def test_log_has_every_update_once_and_the_lost_ones_apart(whole):
    assert [row["update"] for row in runlog.read_rows(whole)] == list(range(1, 61))
    fall = json.loads((whole / insurance.FILE).read_text())["falls"][0]
    lost = runlog.read_rows(whole / "insurance" / "fall-01")
    assert [row["update"] for row in lost] == list(range(fall["back_to_update"] + 1, fall["noticed_at_update"] + 1))


def test_best_of_all_times_is_kept(whole):
    """Also where its evaluation was undone."""
    evals = [*runlog.read_rows(whole, "evals.jsonl")]
    evals += [row for folder in whole.glob("insurance/fall-*") for row in runlog.read_rows(folder, "evals.jsonl")]
    best = max(row["eval/episodic_return"] for row in evals)
    updates = [row["update"] for row in evals if row["eval/episodic_return"] == best]
    assert checkpoint.read_meta(checkpoint.best_path(whole))["update"] in updates


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory) -> tuple[Path, session.Result, Interrupter]:
    view = Interrupter()
    result = session.train(forgetful(tmp_path_factory.mktemp("interrupted")), view=view)
    assert isinstance(result, session.Result)
    return result.run_dir, result, view


def test_ctrl_c_is_heard_in_a_race_and_the_last_checkpoint_is_told(interrupted):
    run, result, view = interrupted
    assert (result.finished, result.stopped_by) == (False, "SIGINT")
    assert isinstance(view.seen[-1], Racing)
    assert view.seen[-1].done == 2
    newest = checkpoint.read_meta(checkpoint.find_checkpoints(run / "checkpoints")[0])
    assert (result.step, result.update) == (newest["step"], newest["update"])


@pytest.fixture(scope="module")
def almost_back(interrupted, tmp_path_factory) -> Path:
    """Stopped in the race, then killed three times on the way to the rewind, which is not in force yet."""
    run = tmp_path_factory.mktemp("copy") / "run"
    shutil.copytree(interrupted[0], run)
    for kill in (says("Going on from update"), lambda seen: isinstance(seen[-1], Rewound)):
        with pytest.raises(Killed):
            session.resume(run, view=Killer(kill))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(insurance, "forget_after", kill_now)
        with pytest.raises(Killed):
            session.resume(run)
    return run


AFTER_IT_IS_IN_FORCE = {
    "old moments partly removed": (snapshots, "forget_after", at_second_call(snapshots.forget_after)),
    "rows not dropped": (runlog.RunLog, "rewind", kill_now),
    "not reported": (insurance, "write_report", at_second_call(insurance.write_report)),
}


@pytest.mark.parametrize("point", AFTER_IT_IS_IN_FORCE)
def test_killed_before_during_and_after_the_rewind_is_bit_equal(point, whole, almost_back, tmp_path, monkeypatch):
    run = tmp_path / "run"
    shutil.copytree(almost_back, run)
    with monkeypatch.context() as patch:
        patch.setattr(*AFTER_IT_IS_IN_FORCE[point])
        with pytest.raises(Killed):
            session.resume(run)
    for kind in (Progress, Settled):
        with pytest.raises(Killed):
            session.resume(run, view=Killer(lambda seen, kind=kind: isinstance(seen[-1], kind)))
    session.resume(run)
    assert outcome(run) == outcome(whole)


def test_refused_for_worlds_outside_jax(tmp_path):
    pytest.importorskip("gymnasium")
    with pytest.raises(ConfigError, match="stepped outside JAX"):
        insurance.refuse(forgetful(tmp_path, env_id="gym:CartPole-v1"))
    insurance.refuse(forgetful(tmp_path, env_id="gym:CartPole-v1", insure=False))
