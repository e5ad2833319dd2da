"""A whole search on a tiny scale: what it leaves behind, and that no kill changes it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.tune import news, objective, search, session, study
from courtside.experiments.tune.curves import read_curves
from courtside.experiments.tune.space import Range, from_json, make_space, settings_of
from courtside.experiments.tune.stages import StagePlan
from courtside.experiments.tune.trials import Trial, read_search
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, Threshold
from waiting import PATIENCE

WORDS = ["learning_rate=log(1e-3,3e-2)", "update_epochs=1..4", "num_minibatches=1,2"]
FIXED = ["gamma", "gae_lambda", "clip_coef", "ent_coef", "vf_coef", "max_grad_norm", "num_envs"]
COMPARE = {"own": {"learning_rate": "1e-3", "num_minibatches": 2}}


def tiny(**changes) -> Config:
    return Config(
        preset="tiny",
        run=RunConfig(total_timesteps=2560, **changes),
        env=EnvConfig(env_id="probe-observed-action", num_envs=8),
        net=NetConfig(hidden_sizes=(8,)),
        learning=PPOConfig(num_steps=8, num_minibatches=1, learning_rate="1e-3"),
        thresholds=(Threshold(objective.RETURN, ">=", 0.6, 320), Threshold("losses/entropy", "<", 0.65, 320)),
    )


def begin(runs: Path) -> Path:
    config = tiny(runs_dir=str(runs))
    return session.create(config, make_space(config, WORDS, FIXED), StagePlan(trials=8), COMPARE)


class Viewer:
    def __init__(self, stop=lambda event: False):
        self.seen, self.stop = [], stop

    def on(self, event):
        self.seen.append(event)
        if self.stop(event):
            os.kill(os.getpid(), signal.SIGINT)


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A search that was created and not yet run: what every test starts from."""
    return begin(tmp_path_factory.mktemp("begun"))


@pytest.fixture(scope="module")
def whole(begun, tmp_path_factory) -> Path:
    run_dir = tmp_path_factory.mktemp("whole") / begun.name
    shutil.copytree(begun, run_dir)
    assert session.resume(run_dir).finished
    return run_dir


def outcome(run_dir: Path):
    """Everything a search found, without what the clock says."""
    found = json.loads((run_dir / "search.json").read_text())
    curves = [(c.name, {k: v.tolist() for k, v in c.metrics.items()}) for c in read_curves(run_dir)]
    return {k: v for k, v in found.items() if k != "seconds"}, study.read_trials(run_dir), str(curves)


def test_stages_narrow_and_fresh_seeds_decide(whole):
    found, trials = read_search(whole), study.read_trials(whole)
    assert [sum(t.stage == s for t in trials) for s in (1, 2, 3)] == [8, 4, 2]
    assert [t.number for t in trials] == list(range(14))
    second = [t for t in trials if t.stage == 2]
    best = search.choose(from_json(found.space), [t for t in trials if t.stage == 1], 4, search.ALIKE)
    start = settings_of(found.base, from_json(found.space))
    assert [t.settings for t in second] == [*(t.settings for t in best[:-1]), start], "and what the search started from"
    assert [t.origin for t in second] == [*(t.number for t in best[:-1]), None]
    assert start in [t.settings for t in trials if t.stage == 3]
    assert {len(t.seeds) for t in trials} == {1, 4, 8}
    assert [row.name for row in found.finals] == ["winner", "preset", "own"]
    assert found.winner == max((t for t in trials if t.stage == 3), key=lambda t: t.score).number
    used = {seed for t in trials for seed in t.seeds}
    assert not used & set(found.final_seeds)
    assert all(row.seeds == found.final_seeds for row in found.finals)


def test_of_a_crowd_only_the_best_goes_on():
    rates = [0.1, 0.11, 0.12, 0.5, 0.9]
    trials = [Trial(i, 1, {"clip_coef": r}, (1,), 2 - i / 10, 0, 0, None, 1, i) for i, r in enumerate(rates)]
    line = (Range("clip_coef", 0.0, 1.0),)
    assert [t.number for t in search.choose(line, trials, 3, 0.2)] == [0, 3, 4]
    assert [t.number for t in search.choose(line, trials, 4, 0.2)] == [0, 1, 3, 4], (
        "filled up with the best of the rest"
    )
    assert [t.number for t in search.choose(line, trials, 3, 0.0)] == [0, 1, 2]


def test_a_search_finds_what_learns(whole):
    trials = [t for t in study.read_trials(whole) if t.stage == 1]
    assert max(t.score for t in trials) > min(t.score for t in trials)
    assert read_search(whole).finals[0].score >= 1, "the winner passes on most seeds"


def test_kills_in_every_stage_and_ctrl_c_change_nothing(begun, whole, tmp_path):
    run_dir = tmp_path / begun.name
    shutil.copytree(begun, run_dir)
    script, devices = Path(__file__).with_name("killed_search.py"), len(jax.local_devices())
    command = [sys.executable, script, run_dir, devices, 1, 2, 3, 0]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    view = Viewer(lambda event: isinstance(event, news.Worked) and event.speed > 0)
    stopped = session.resume(run_dir, view)
    assert (stopped.finished, stopped.stopped_by) == (False, "SIGINT")
    assert isinstance(view.seen[-1], news.Worked)
    assert isinstance([*search.run(run_dir)][-1], news.SearchEnded)
    assert outcome(run_dir) == outcome(whole)
    assert not list(run_dir.glob("stages/**/*.safetensors")), "states are removed when a wave is done"


def test_finished_search_is_refused(whole):
    with pytest.raises(CheckpointError, match="is finished"):
        session.resume(whole)


def test_a_search_killed_before_its_report_still_gets_one(whole, tmp_path):
    run_dir = shutil.copytree(whole, tmp_path / "killed")
    for name in ("report.md", "best.json", "trials.csv"):
        (run_dir / name).unlink()
    assert session.resume(run_dir).finished
    assert {"report.md", "best.json", "trials.csv"} <= {path.name for path in run_dir.iterdir()}
    assert (run_dir / "trials.csv").read_bytes() == (whole / "trials.csv").read_bytes()


def test_a_study_that_was_deleted_is_made_anew(whole, tmp_path):
    run_dir = shutil.copytree(whole, tmp_path / "spoiled")
    (run_dir / "study.sqlite3").unlink()
    assert session.resume(run_dir).finished
    assert outcome(run_dir) == outcome(whole)


def test_rows_with_fewer_seeds_weigh_speed_as_the_winner_does(whole):
    found = read_search(whole)
    columns = [{name: np.full(40, 1.0) for name in (objective.RETURN, objective.EPISODES)}] * 16
    columns = [column | {"losses/entropy": np.full(40, 0.1)} for column in columns]
    rows = [search.make_row("row", {}, [found.base] * count, columns[:count]) for count in (16, 4)]
    assert rows[0].score == rows[1].score > 2


def test_study_of_another_preset_is_refused(begun, whole, tmp_path):
    run_dir = tmp_path / begun.name
    shutil.copytree(begun, run_dir)
    record = json.loads((run_dir / "search.json").read_text())
    record["config"]["preset"] = "another"
    (run_dir / "search.json").write_text(json.dumps(record))
    shutil.copy(whole / "study.sqlite3", run_dir)
    with pytest.raises(ConfigError, match="for the preset 'tiny', but this search is for 'another'"):
        session.resume(run_dir)
    (run_dir / "study.sqlite3").write_bytes(b"no database" * 1000)
    with pytest.raises(CheckpointError, match=r"damaged, or not a study.*Delete it"):
        session.resume(run_dir)


def test_damaged_search_is_one_sentence(begun, tmp_path):
    (tmp_path / "search.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"search.json cannot be read"):
        session.resume(tmp_path)
    with pytest.raises(CheckpointError, match=r"has no search.json"):
        read_search(tmp_path / "nothing")


def test_too_small_a_budget_leaves_no_folder(tmp_path):
    config = tiny(runs_dir=str(tmp_path))
    with pytest.raises(ConfigError, match=r"--budget 1s is too small"):
        session.start(config, make_space(config, WORDS, FIXED), StagePlan(budget_seconds=0.5), {})
    assert not list(tmp_path.iterdir())


def test_budget_decides_the_plan(tmp_path):
    config = tiny(runs_dir=str(tmp_path))
    view = Viewer(lambda event: isinstance(event, news.Planned))
    stopped = session.start(config, make_space(config, WORDS, FIXED), StagePlan(budget_seconds=40.0), {}, view)
    assert not stopped.finished
    assert [type(event) for event in view.seen] == [news.Opened, news.Measuring, news.Planned]
    assert stopped.search.stages[0].trials >= 8
    assert np.diff([s.trials for s in stopped.search.stages]).max() <= 0


def test_world_outside_jax_is_refused(tmp_path):
    config = Config(run=RunConfig(runs_dir=str(tmp_path)), env=EnvConfig(env_id="gym:CartPole-v1"))
    with pytest.raises(ConfigError, match="stepped outside JAX"):
        session.create(config, make_space(config), StagePlan(), {})


@pytest.mark.parametrize(
    ("name", "settings", "told"),
    [
        ("mine", {"num_minibatches": 7}, r"\(mine\) cannot be trained.*num-minibatches"),
        ("mine", {"seed": 3}, "seed cannot be set here"),
        ("mine", {"env_id": "cartpole"}, "env_id cannot be set here"),
        ("mine", {"learning_rate": (1,)}, r"learning_rate is \(1,\), but it must be a number"),
        ("mine", {"ent_coef": None}, "ent_coef is None"),
        ("mine", {"hidden_sizes": "wide"}, "layers are written"),
        ("winner", {"gamma": 0.9}, "called winner"),
        ("preset", {"gamma": 0.9}, "called preset"),
    ],
)
def test_row_to_compare_must_be_trainable(name, settings, told, tmp_path):
    config = tiny(runs_dir=str(tmp_path))
    with pytest.raises(ConfigError, match=told):
        session.create(config, make_space(config, WORDS, FIXED), StagePlan(), {name: settings})
    assert not list(tmp_path.iterdir())


def test_a_lucky_setting_among_bad_neighbours_does_not_go_on():
    space = (Range("gamma", 0.0, 1.0),)
    scores = {0.10: 0.1, 0.12: 2.0, 0.14: 0.1, 0.16: 0.1, 0.18: 0.1, 0.80: 1.5, 0.82: 1.4, 0.84: 1.6, 0.86: 1.4}
    trials = [
        Trial(i, 1, {"gamma": gamma}, (1,), score, 0.0, 0.0, None, 100)
        for i, (gamma, score) in enumerate([*scores.items(), *((0.3 + i / 100, 0.0) for i in range(24))])
    ]
    steady = search.steady_scores(space, trials)
    assert steady[7] == pytest.approx(np.mean([1.6, 1.4, 1.4, 1.5, 0.0])), "the fifth nearest lies outside the cluster"
    assert search.choose(space, trials, 1, 0.0)[0].settings["gamma"] in (0.82, 0.84)
    assert max(trials, key=lambda trial: trial.score).settings["gamma"] == 0.12
