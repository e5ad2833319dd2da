"""A host is one folder and one line: a kind that nobody knew trains, is evaluated and filmed, checked and listed."""

from __future__ import annotations

import json

import pytest

from courtside.cli import main
from courtside.engines.loading import load
from courtside.hosts import env_host
from courtside.settings import kinds
from courtside.settings.config import Config, EnvConfig, NetConfig, PPOConfig, RunConfig
from courtside.settings.worlds import find_env, world_name
from courtside.training import session, wall
from courtside.training.evaluate import evaluate_run


@pytest.fixture(autouse=True)
def one_line(monkeypatch):
    monkeypatch.setitem(kinds.KINDS, "toy", "toy_host:KIND")
    monkeypatch.setattr(env_host, "processes_work", lambda: False)  # others do not know this process's line


@pytest.fixture
def run(tmp_path):
    config = Config(
        run=RunConfig(total_timesteps=32, eval_episodes=3, tensorboard=False, runs_dir=str(tmp_path)),
        env=EnvConfig(env_id="toy:walk", env_options=("length=3",), num_envs=2, workers="threads", num_workers=2),
        net=NetConfig(hidden_sizes=(4,)),
        learning=PPOConfig(num_steps=8, num_minibatches=1, update_epochs=1),
    )
    return session.train(config).run_dir


def test_it_trains_and_is_evaluated_and_filmed(run, tmp_path):
    found = evaluate_run(run, which="last", episodes=2, video=tmp_path / "walk.gif", video_episodes=1)
    assert (found.mean_length, found.notes, found.whole_games) == (3.0, (), False)
    assert (tmp_path / "walk.gif").stat().st_size > 0
    assert (run / wall.FILE).is_file()
    record = load(run, "last").pipeline
    assert (record["env_id"], record["toy"]) == ("toy:walk", {"game": "walk", "length": 3})
    assert "env_options" not in record


def test_its_options_are_data_and_its_ids_lead_back(run):
    source = kinds.find_kind("toy").games.give(find_env("toy:walk"), {"length": "5"})
    assert (source.options, source.id) == ({"length": 5}, "toy:walk[length=5]")
    assert world_name(source.id) == "toy:walk"
    assert main(["check", "toy:walk", "--env-options", "length=wide"]) == 2


def test_it_is_checked_and_listed(capsys):
    assert main(["check", "toy:walk", "--steps", "20", "--env-options", "length=6"]) == 0
    assert "toy:walk keeps the contract" in capsys.readouterr().out
    assert main(["envs", "toy"]) == 0
    assert capsys.readouterr().out == "toy:walk\n"
    assert main(["envs", "toy:walk"]) == 0
    assert "does             left or right" in (page := capsys.readouterr().out)
    assert "Steps of an episode." in page
    assert main(["envs", "toy:walk", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["group"] == "toy"
