"""Episodes played for a page: the same that an evaluation plays, with what the policy thought of it."""

import numpy as np
import pytest

from courtside.dash.playable import list_episodes
from courtside.dash.replays import Replays
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import runlog
from courtside.settings.config import override
from courtside.settings.presets import PRESETS
from courtside.training import session
from courtside.training.evaluate import evaluate_run
from courtside.training.loop import evaluation_seed

SMALL = {"eval_every": 0, "tensorboard": False, "snapshots": 0}


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    config = override(
        PRESETS["cartpole"][1], total_timesteps=4_096, runs_dir=str(tmp_path_factory.mktemp("r")), **SMALL
    )
    return session.train(config).run_dir


def test_it_is_the_episode_of_an_evaluation(cartpole):
    told = Replays().find(cartpole, "last-2").told
    played = evaluate_run(cartpole, which="last", episodes=1, seed=evaluation_seed(1, 2))
    assert sum(reward for (reward,) in told["reward"]) == played.mean == told["length"]
    assert told["ending"] == "terminated"


def test_every_step_tells_what_was_expected_and_how_likely_each_choice_was(cartpole):
    told = Replays().find(cartpole, "last-1").told
    chances = np.array(told["actions"]["probability"])[:, 0]
    assert told["actions"]["names"] == ["left", "right"]
    assert chances.shape == (told["length"], 2)
    np.testing.assert_allclose(chances.sum(axis=-1), 1.0, atol=1e-6)
    taken = np.array(told["actions"]["taken"])[:, 0]
    assert np.take_along_axis(chances, taken[:, None], 1).mean() > 0.45, "they are drawn by these chances"
    assert np.isfinite(np.array(told["value"], float)).all()


def test_pictures_come_one_by_one(cartpole):
    replays = Replays()
    length = replays.find(cartpole, "last-1").told["length"]
    first, last = (replays.picture(cartpole, "last-1", frame) for frame in (0, length))
    assert first.startswith(b"\x89PNG")
    assert first != last
    with pytest.raises(ConfigError, match=f"must be from 0 to {length}"):
        replays.picture(cartpole, "last-1", length + 1)
    with pytest.raises(ConfigError, match="no episode"):
        replays.find(cartpole, "../1")


def test_a_distributional_critic_shows_its_distribution(tmp_path):
    small = {"total_timesteps": 600, "buffer_size": 500, "pretrain": 200, "hidden_sizes": (8,), "num_atoms": 11}
    run = session.train(override(PRESETS["pendulum-d4pg"][1], runs_dir=str(tmp_path), **small, **SMALL)).run_dir
    told = Replays().find(run, "last-1").told
    odds = np.array(told["atoms"]["probability"])
    assert odds.shape == (told["length"], 1, 11)
    np.testing.assert_allclose(odds.sum(axis=-1), 1.0, atol=1e-3)
    means = odds @ np.array(told["atoms"]["support"])
    np.testing.assert_allclose(np.array(told["value"]), means, atol=1e-2)
    assert told["actions"] is None


def test_what_can_be_asked_for_follows_from_the_files(cartpole, tmp_path):
    config = PRESETS["cartpole"][1]
    assert [each["id"] for each in list_episodes(cartpole, config)] == ["last-1", "last-2", "last-3"]
    assert list_episodes(cartpole, override(config, env_id="atari:pong")) == []
    assert list_episodes(tmp_path, config) == []
    runlog.write_config(tmp_path, config)
    with pytest.raises(CheckpointError, match="saved no policy yet"):
        Replays().find(tmp_path, "best-1")
