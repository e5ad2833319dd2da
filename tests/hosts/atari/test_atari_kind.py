"""Names of games, options, what goes into a checkpoint."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest

from courtside import spaces
from courtside.errors import ConfigError
from courtside.hosts.atari.kind import recognises
from courtside.hosts.atari.options import AtariOptions, for_evaluation, give, list_options, read
from courtside.hosts.calls import calling
from courtside.runs import pipeline
from courtside.settings import worlds
from courtside.settings.config import Config, override


@pytest.mark.parametrize(
    ("typed", "runs_as", "says"),
    [
        ("atari:breakout", "atari:breakout", ""),
        ("atari:SpaceInvaders", "atari:space_invaders", ""),
        ("BreakoutNoFrameskip-v4", "atari:breakout", "runs as atari:breakout, unless --env-options say otherwise. "),
        ("Breakout-v4", "atari:breakout", "2 to 4 frames"),
        ("BreakoutDeterministic-v4", "atari:breakout", "the 4 frames"),
        ("ALE/UpNDown-v5", "atari:up_n_down[sticky=0.25]", "the 4 frames"),
        ("PongNoFrameskip-v0", "atari:pong[sticky=0.25]", "runs as"),
        ("atari:pong[ sticky=0.1 , stack=2 ]", "atari:pong[sticky=0.1,stack=2]", ""),
    ],
)
def test_ids_lead_to_games(typed, runs_as, says):
    source = worlds.find_env(typed)
    assert source.id == runs_as
    assert says in source.note
    assert bool(says) == bool(source.note)


@pytest.mark.parametrize("env_id", ["gym:ALE/Breakout-v5", "gym:BreakoutNoFrameskip-v4"])
def test_gymnasium_keeps_its_own(env_id):
    source = worlds.find_env(env_id)
    assert source.kind == "gym"
    env = calling(source).build_env(source)
    assert env.observation_space.shape == (210, 160, 3)
    env.close()


def test_other_ids_are_left_alone():
    assert not any(map(recognises, ("CartPole-v1", "MountainCar-v0", "cartpole", "FrozenLake-v4")))


@pytest.mark.parametrize(
    ("env_id", "says"),
    [
        ("atari:breakot", "named 'breakot'. Did you mean breakout"),
        ("ALE/Breakot-v5", "Did you mean breakout"),
        ("atari:warlords", "two players"),
        ("ALE/Breakout-ram-v5", "memory instead of the picture"),
        ("atari:pong[stack", "cannot be read"),
    ],
)
def test_bad_ids_are_one_sentence(env_id, says):
    with pytest.raises(ConfigError) as caught:
        worlds.find_env(env_id)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"stak": "4"}, "Did you mean stack"),
        ({"sticky": "1.5"}, "between 0.0 and 0.99"),
        ({"screen_size": "20"}, "between 36 and 160"),
        ({"life_loss": "maybe"}, "must be"),
    ],
)
def test_bad_options_are_one_sentence(told, says):
    with pytest.raises(ConfigError) as caught:
        worlds.build_world(worlds.find_env("atari:breakout"), told)
    assert says in str(caught.value)
    with pytest.raises(ConfigError, match=re.escape(str(caught.value))):  # said before anything is built
        override(Config(), env_id="atari:breakout", env_options=[f"{k}={v}" for k, v in told.items()]).validate()


def test_one_task_has_one_name():
    source = worlds.find_env("atari:breakout[sticky=0.25]")
    assert give(source, {"sticky": "0", "life-loss": "no"}).id == "atari:breakout[life_loss=false]"
    evaluated = for_evaluation(worlds.find_env("atari:pong[stack=2]"))
    assert evaluated.id == "atari:pong[stack=2,evaluation=true]"
    assert evaluated.options == {"stack": 2, "evaluation": True}, "data, not text"
    assert read(worlds.find_env(evaluated.id)) == read(evaluated)
    options = read(worlds.find_env("atari:pong[evaluation=true]"))
    assert (options.ends_with_life, options.clips) == (False, False)
    assert {option.name for option in list_options(source)} == {*AtariOptions.__annotations__} - {"evaluation"}


def test_the_pipeline_is_declared_and_differences_are_told_in_words():
    box, action = spaces.Box(0.0, 255.0, (84, 84, 4), "uint8"), spaces.Discrete(4)
    spec = SimpleNamespace(names=("agent",), observation=box, action=action, per_agent=(), made_of="")
    plain = override(Config(), env_id="atari:breakout")
    there = pipeline.describe_pipeline(plain, spec)
    assert there["atari"]["frame_skip"] == 4
    same = pipeline.describe_pipeline(override(plain, env_id="Breakout-v4", env_options=("idle_limit=9",)), spec)
    assert pipeline.difference(there, same) == []
    other = pipeline.describe_pipeline(override(plain, env_options=("frame_skip=2",)), spec)
    assert pipeline.difference(there, other) == ["atari.frame_skip: 4 in the checkpoint, 2 here"]


def test_a_preset_of_a_game_is_found_by_any_of_its_ids():
    assert {worlds.world_name(name) for name in ("atari:breakout", "ALE/Breakout-v5")} == {"atari:breakout"}
