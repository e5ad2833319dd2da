"""Insurance: a run that forgets goes back and ends the same however often it is killed on the way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from courtside import checkpoint, config, presets, runlog, session
from courtside.errors import ConfigError
from courtside.events import Notice, Progress, Rewound, Settled
from courtside.health import insurance

FORGETS = {
    "ent_coef": "exponential(0.001, 10)",  # an entropy bonus that grows until nothing else counts: a sure fall
    "learning_rate": "3e-3", "anneal_lr": False, "insure": True, "total_timesteps": 7_680, "num_envs": 4, "num_steps": 32,
    "num_minibatches": 2, "eval_episodes": 4, "checkpoint_seconds": 0.01, "tensorboard": False,
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


def after_rewound(kind):
    return lambda seen: isinstance(seen[-1], kind) and any(isinstance(event, Rewound) for event in seen)


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


def test_killed_before_during_and_after_the_rewind_is_bit_equal(whole, tmp_path, monkeypatch):
    kills = [says("has fallen"), says("Going on from update"), lambda seen: isinstance(seen[-1], Rewound)]
    with pytest.raises(Killed):
        session.train(forgetful(tmp_path), view=Killer(kills[0]))
    (run,) = tmp_path.iterdir()
    for kill in kills[1:]:
        with pytest.raises(Killed):
            session.resume(run, view=Killer(kill))
    with monkeypatch.context() as patch:
        patch.setattr(insurance, "forget_after", kill_now)
        with pytest.raises(Killed):
            session.resume(run)
    for kill in (after_rewound(Settled), lambda seen: isinstance(seen[-1], Progress)):
        with pytest.raises(Killed):
            session.resume(run, view=Killer(kill))
    session.resume(run)
    assert outcome(run) == outcome(whole)


def test_refused_for_populations_and_worlds_outside_jax(tmp_path):
    with pytest.raises(ConfigError, match="--seeds is 4"):
        insurance.refuse(forgetful(tmp_path, seeds=4))
    pytest.importorskip("gymnasium")
    with pytest.raises(ConfigError, match="stepped outside JAX"):
        insurance.refuse(forgetful(tmp_path, env_id="gym:CartPole-v1"))
    insurance.refuse(forgetful(tmp_path, insure=False, seeds=4))
