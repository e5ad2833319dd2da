"""A tiny run of real games: what it leaves to look at, its evaluation, and the film of one game."""

from __future__ import annotations

from dataclasses import replace

import av
import numpy as np
import pytest

from courtside.cli.evaluate import describe
from courtside.runs import runlog
from courtside.runs.events import Notice
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig, override
from courtside.settings.presets import PRESETS
from courtside.training import session, wall
from courtside.training.evaluate import evaluate_run
from courtside.training.loop import evaluation_seed

CONFIG = Config(
    run=RunConfig(total_timesteps=16, eval_episodes=3, tensorboard=False),
    env=EnvConfig(
        env_id="atari:breakout",
        num_envs=2,
        env_options=("screen_size=36", "stack=1", "max_frames=240"),
        workers="serial",
    ),
    net=NetConfig(torso="mlp", hidden_sizes=(4,)),
    learning=PPOConfig(num_steps=8, num_minibatches=1, update_epochs=1),
)


def frames_of(path) -> tuple[list[np.ndarray], float | None]:
    """The pictures, and the seconds until the second one."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
    seconds = frames[1].time if len(frames) > 1 else 0.0
    return [frame.to_ndarray(format="rgb24") for frame in frames], seconds


class Listener:
    """A view that keeps what it is told."""

    def __init__(self):
        self.told = []

    def on(self, event):
        self.told += [event.text] if isinstance(event, Notice) else []


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The run folder, and the notices on the way."""
    config, listener = replace(CONFIG.run, runs_dir=str(tmp_path_factory.mktemp("runs"))), Listener()
    return session.train(replace(CONFIG, run=config), view=listener).run_dir, listener.told


def test_evaluation_plays_the_very_games_of_training_and_says_what_was_cut(trained):
    run, told = trained
    (row,) = runlog.read_rows(run, runlog.EVALS)
    found = evaluate_run(run, episodes=3, seed=evaluation_seed(CONFIG.run.seed, row["update"]))
    assert (np.float32(found.mean), np.float32(found.mean_length)) == (
        np.float32(row["eval/episodic_return"]), np.float32(row["eval/episodic_length"]),
    )  # fmt: skip
    cut = "A game of breakout was cut after 240 raw frames (the option max_frames); its score counts as it stood. (3 times)"
    assert found.notes == (cut,)
    assert sum(found.returns) > 0
    assert f"Evaluation: {cut}" in told
    assert "episodes    3 whole games, sampled actions" in describe(found)
    assert f"score       mean {sum(found.returns) / 3:.4g}" in "\n".join(describe(found))


def test_a_run_has_a_wall_in_its_folder_and_films_show_whole_games_at_their_own_speed(trained, tmp_path):
    run, _ = trained
    (shown,), _ = frames_of(run / wall.FILE)
    assert shown.shape == (210 + 2 * wall.GAP, 2 * 160 + 3 * wall.GAP, 3)
    assert len(np.unique(shown.reshape(-1, 3), axis=0)) > 5  # colours of a real screen

    found = evaluate_run(run, which="last", episodes=1, video=tmp_path / "out.mp4", video_episodes=1)
    frames, seconds = frames_of(tmp_path / "out.mp4")
    assert not any("other episodes" in note for note in found.notes)
    assert seconds == pytest.approx(4 / 60)
    assert len(frames) == found.mean_length + 1 + 14  # the first state, and the last one stays for a second
    assert frames[0].shape[:2] == (3 * 210 + 30, 3 * 160)


@pytest.mark.parametrize("preset", ["pong", "qbert", "space-invaders", "beam-rider", "breakout-fast", "breakout-quick"])
def test_every_preset_plays_its_game_and_learns_something(preset, tmp_path):
    """One update in a small size: the game, its actions, the network and the judge fit together."""
    small = {
        "num_envs": 2,
        "num_steps": 4,
        "num_minibatches": 1,
        "update_epochs": 1,
        "cnn_features": 8,
        "eval_every": 0,
    }
    config = override(PRESETS[preset][1], **small, total_timesteps=8, workers="serial", runs_dir=str(tmp_path))
    result = session.train(override(config, tensorboard=False, snapshots=0))
    (row,) = runlog.read_rows(result.run_dir)
    assert np.isfinite([row["losses/policy_loss"], row["losses/value_loss"], row["losses/entropy"]]).all()
    assert row["losses/grad_norm"] > 0
