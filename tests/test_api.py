"""The Python API: the same pieces that the command line calls."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import courtside
from courtside.errors import CheckpointError, ConfigError, EnvContractError
from courtside.runs.events import Finished

SMALL = {"total_timesteps": 8192, "num_envs": 4, "num_steps": 32, "eval_episodes": 4, "tensorboard": False}


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return courtside.train("cartpole", seed=3, runs_dir=str(tmp_path_factory.mktemp("runs")), **SMALL)


def test_import_is_light():
    code = "import courtside, sys; assert 'jax' not in sys.modules; assert callable(courtside.train)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_the_package_offers_is_a_function_whatever_was_imported_before():
    code = "import courtside, courtside.training.loop, courtside.training.evaluate as e; print(callable(courtside.train), courtside.evaluate is not e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]
    assert set(courtside.LAZY) <= set(dir(courtside))
    assert courtside.LAZY.keys() == set(courtside.__all__) - {"makes_env"}


def test_events_reach_the_view(tmp_path):
    seen = []

    class View:
        def on(self, event):
            seen.append(event)

    courtside.train("cartpole", runs_dir=str(tmp_path), view=View(), **(SMALL | {"total_timesteps": 256}))
    assert isinstance(seen[-1], Finished)


def test_policy_from_the_run_folder_alone(result):
    run = courtside.load(result.run_dir)
    one, many = run.policy(np.zeros(4)), run.policy(np.zeros((5, 4)))
    assert one.shape == ()
    assert one in (0, 1)
    assert many.shape == (5,)
    drawn = [int(run.policy(np.zeros(4), deterministic=False, seed=seed)) for seed in range(40)]
    assert set(drawn) == {0, 1}, "a policy this young still explores"
    assert drawn == [int(run.policy(np.zeros(4), deterministic=False, seed=seed)) for seed in range(40)]


def test_last_policy_equals_the_checkpoint(result):
    last = courtside.load(result.run_dir, "last")
    assert last.step == 8192
    assert last.checkpoint == result.checkpoint


def test_evaluation_repeats_and_differs_by_seed(result):
    first, again = (courtside.evaluate(result.run_dir, episodes=8) for _ in range(2))
    other = courtside.evaluate(result.run_dir, episodes=8, seed=99)
    assert first == again
    assert first.returns != other.returns
    assert first.mean == pytest.approx(np.mean(first.returns))
    assert first.iqm_low <= first.iqm <= first.iqm_high
    assert first.mean_length == pytest.approx(first.mean), "CartPole pays 1 a step"


def test_thresholds_of_a_preset_are_for_its_own_world(tmp_path):
    seen = []

    class View:
        def on(self, event):
            seen.append(event)

    tiny = SMALL | {"total_timesteps": 128, "runs_dir": str(tmp_path), "eval_every": 0}
    assert courtside.train("cartpole", env_id="acrobot", view=View(), **tiny).verdict is None
    assert "has no verdict" in seen[0].text
    assert courtside.train(env_id="CartPole-v1", **tiny).verdict is not None


def test_unknown_names_are_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="Did you mean num_envs"):
        courtside.train(num_env=3)
    with pytest.raises(ConfigError, match="Did you mean cartpole"):
        courtside.train("cartpol")
    with pytest.raises(CheckpointError):
        courtside.load(tmp_path / "nothing")


def test_observation_of_another_shape_is_one_sentence(result):
    with pytest.raises(EnvContractError, match=r"does not fit the run.*expected 4 numbers"):
        courtside.load(result.run_dir).policy([1.0, 2.0, 3.0])


def test_diagnose_finds_what_the_doctor_finds(tmp_path):
    run = courtside.train("cartpole", total_timesteps=40_960, learning_rate=1e-7, eval_every=0, runs_dir=str(tmp_path))
    kinds = [finding.kind for finding in courtside.diagnose(run.run_dir)]
    assert "kl-stall" in kinds[:2]


def test_train_many_seeds(tmp_path):
    settings = {"total_timesteps": 2_048, "num_envs": 4, "num_steps": 32, "eval_every": 0, "tensorboard": False}
    result = courtside.train("cartpole", seeds=2, seed=4, runs_dir=str(tmp_path), **settings)
    assert [member.seed for member in result.results.members] == [4, 5]
    assert result.results.passes.of == 2


def test_a_run_goes_on_beyond_its_end(tmp_path):
    first = courtside.train("cartpole", runs_dir=str(tmp_path), **(SMALL | {"total_timesteps": 256, "eval_every": 0}))
    further = courtside.resume(first.run_dir, total_timesteps=512)
    assert (first.step, further.step, further.run_dir) == (256, 512, first.run_dir)
