"""Evaluation from the run folder alone gives the very score that training gave, and refuses another pipeline."""

import dataclasses
import json
import math
import sys

import numpy as np
import pytest

import courtside
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import runlog
from courtside.settings.config import Config
from courtside.training.evaluate import EvalResult, evaluate_run
from courtside.training.loop import evaluation_seed

SMALL = {
    "num_envs": 4, "num_steps": 32, "hidden_sizes": (8,), "eval_episodes": 6, "total_timesteps": 128 * 6, "seed": 5,
    "tensorboard": False,
}  # fmt: skip


def train(tmp_path_factory, **settings):
    return courtside.train(Config(), runs_dir=str(tmp_path_factory.mktemp("runs")), **(SMALL | settings)).run_dir


@pytest.fixture(scope="module")
def jax_run(tmp_path_factory):
    return train(tmp_path_factory, env_id="cartpole", norm_obs=True)


@pytest.fixture(scope="module")
def host_run(tmp_path_factory):
    return train(tmp_path_factory, env_id="gym:CartPole-v1", workers="serial", eval_deterministic=True)


def logged(run):
    """The evaluation that made the best policy: the update and the score in the log."""
    return max(runlog.read_rows(run, runlog.EVALS), key=lambda row: (row["eval/episodic_return"], -row["update"]))


@pytest.mark.parametrize("run", ["jax_run", "host_run"])
def test_the_best_policy_scores_exactly_what_training_logged(run, request):
    run = request.getfixturevalue(run)
    row = logged(run)
    score = evaluate_run(run, episodes=SMALL["eval_episodes"], seed=evaluation_seed(SMALL["seed"], row["update"]))
    assert score.step == row["step"]
    assert float(np.float32(score.mean)) == row["eval/episodic_return"]
    assert np.float32(score.mean_length) == np.float32(row["eval/episodic_length"])
    assert score.agents == {"agent_0": pytest.approx(score.mean)}


def test_the_runs_own_way_of_acting_is_the_default(jax_run, host_run):
    assert evaluate_run(jax_run, episodes=2).deterministic is False
    assert evaluate_run(host_run, episodes=2).deterministic is True
    assert evaluate_run(jax_run, episodes=2, deterministic=True).deterministic is True


def test_another_env_under_the_same_name_is_refused_with_the_difference(tmp_path, monkeypatch, tmp_path_factory):
    """The user changed the class after training."""
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "changing_world.py"
    module.write_text("from courtside.envs.classic import CartPole as World\n")
    run = train(tmp_path_factory, env_id="changing_world:World", total_timesteps=128)
    sys.modules.pop("changing_world")
    module.write_text("from courtside.envs.classic import Acrobot as ManyMoves\nWorld = ManyMoves  # another world\n")
    with pytest.raises(CheckpointError) as caught:
        evaluate_run(run, episodes=2)
    sys.modules.pop("changing_world")
    message = str(caught.value)
    assert "The env changing_world:World is not the one that this run was trained on: " in message
    assert "observation" in message
    assert "action" in message
    assert "\n" not in message


@pytest.mark.parametrize("seed", [-1, 10**20])
def test_a_seed_out_of_range_is_refused(jax_run, seed):
    with pytest.raises(ConfigError, match="must lie between 0 and 4294967295"):
        evaluate_run(jax_run, seed=seed)


def test_no_episodes_are_refused(jax_run):
    with pytest.raises(ConfigError, match="episodes is 0"):
        evaluate_run(jax_run, episodes=0)


def test_json_has_null_where_there_is_no_number(jax_run):
    score = evaluate_run(jax_run, episodes=2)
    assert json.loads(json.dumps(score.to_json(), allow_nan=False))["mean"] == score.mean
    broken = dataclasses.replace(
        score, mean=math.nan, iqm_high=math.inf, returns=[1.0, math.nan], env={"doors": math.nan}
    )
    assert isinstance(broken, EvalResult)
    record = json.loads(json.dumps(broken.to_json(), allow_nan=False))
    assert (record["mean"], record["iqm_high"], record["returns"]) == (None, None, [1.0, None])
    assert record["env"] == {"doors": None}
