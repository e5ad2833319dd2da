"""Who plays whom: words become opponents, runs that do not fit are refused, and run folders keep what they need."""

import shutil
from pathlib import Path

import equinox as eqx
import jax.numpy as jnp
import pytest

import courtside
from courtside.algos import team
from courtside.engines import make_engine
from courtside.engines.opponents import FOLDER, Frozen, assign, copy_path, recruit
from courtside.envs.multigrid.state import NUM_ACTIONS, Action
from courtside.envs.opponents import Scripted, Still, Uniform
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import checkpoint
from courtside.runs.checkpoint import read_meta
from courtside.runs.pipeline import describe_pipeline
from courtside.runs.runlog import RunLog
from courtside.settings import worlds
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset
from courtside.settings.worlds import make_jax_env
from courtside.spaces import Box, Discrete
from courtside.training.session import resume
from courtside.types import EnvSpec, make_key

FOUR = EnvSpec(
    name="game", observation=Box(0.0, 1.0, (2,)), action=Discrete(3), num_agents=4,
    agent_names=("red_0", "red_1", "blue_0", "blue_1"),
)  # fmt: skip
DUEL = make_jax_env("redblue-1v1")
SMALL = {
    "num_envs": 4, "num_steps": 8, "num_minibatches": 1, "update_epochs": 1, "total_timesteps": 64, "hidden_sizes": (8,),
    "eval_every": 0, "tensorboard": False,
}  # fmt: skip


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["blue=random"], {2: "random", 3: "random"}),
        (["blue_0=noop"], {2: "noop"}),
        (["blue_1=noop", "blue=random"], {2: "random", 3: "noop"}),
        (["blue=random", "blue_0=learn"], {3: "random"}),
        (["red_1=noop", "blue=LEARN"], {1: "noop"}),
        ([], {}),
    ],
)
def test_words_name_agents_or_teams(words, expected):
    assert assign(FOUR, words) == expected


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["green=random"], "--opponent green=...: There is no agent or team of game named 'green'."),
        (["blu=random"], "Did you mean blue"),
        (["green=random"], "Its agents are red_0, red_1, blue_0, blue_1."),
        (["red=random", "blue=noop"], "but one at least must learn"),
    ],
)
def test_words_that_name_nobody_or_everybody_are_refused(words, sentence):
    with pytest.raises(ConfigError) as caught:
        assign(FOUR, words)
    assert sentence in str(caught.value)


def test_a_word_that_came_with_the_preset_is_named():
    config = override(find_preset("redblue-1v1"), opponents=["red=hunter"])
    with pytest.raises(ConfigError) as caught:
        recruit(config, DUEL)
    assert "blue=random came with the preset, so give --opponent blue=learn too if blue is to learn." in str(
        caught.value
    )
    env, _ = recruit(override(config, opponents=["blue=learn"]), DUEL)
    assert env.spec.names == ("blue_0",)


def duel(*words, **changes):
    return override(Config(), env_id="redblue-1v1", opponents=list(words), **changes)


@pytest.mark.parametrize(
    ("word", "kind"), [("random", Uniform), ("NOOP", Still), ("key-runner", Scripted), ("hunter", Scripted)]
)
def test_opponents_without_a_network(word, kind):
    env, copies = recruit(duel(f"blue={word}"), DUEL)
    assert (env.learners, copies) == ((0,), ())
    assert isinstance(env.opponents[1], kind)
    assert env.spec.names == ("red_0",)


def test_without_opponents_the_world_stays_as_it_is():
    assert recruit(duel(), DUEL) == (DUEL, ())
    assert recruit(duel("blue=learn"), DUEL) == (DUEL, ())


def test_an_unknown_policy_lists_near_ones_and_says_that_runs_will_do(tmp_path):
    with pytest.raises(ConfigError) as caught:
        recruit(duel("blue=rndom", runs_dir=str(tmp_path)), DUEL)
    message = str(caught.value)
    assert "--opponent blue_0=rndom: There is no policy named 'rndom'. Did you mean random?" in message
    assert "Otherwise it must be a run: there is no run folder at rndom" in message


@pytest.mark.parametrize("env_id", ["gym:CartPole-v1", "probe-constant"])
def test_worlds_without_opponents_refuse_them(env_id):
    with pytest.raises(ConfigError, match=r"--opponent blue=random was given, but|no agent or team of probe-constant"):
        make_engine(override(Config(), env_id=env_id, opponents=["blue=random"]))


def test_what_a_world_is_told_is_part_of_the_pipeline():
    assert "env_options" not in describe_pipeline(duel(), DUEL.spec)
    told = duel(env_options=["view_size=7", "mode=fixed"])
    assert describe_pipeline(told, DUEL.spec)["env_options"] == {"view_size": "7", "mode": "fixed"}


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def blue(runs):
    """A run of blue's, as if stopped before its first update."""
    config = duel("red=hunter", runs_dir=str(runs), exp_name="blue", **SMALL)
    engine, log = make_engine(config), RunLog.create(config)
    found = checkpoint.policies(team.init(engine.team, make_key(1)).policy)
    meta = {"pipeline": describe_pipeline(config, engine.spec), "step": 0, "update": 0}
    checkpoint.save(checkpoint.best_path(log.folder), found, meta)
    log.close()
    return log.folder


def test_a_run_plays_the_agent_that_it_learned(blue, runs):
    env, copies = recruit(duel(f"blue={blue.name}:greedy", runs_dir=str(runs)), DUEL)
    opponent = env.opponents[1]
    assert isinstance(opponent, Frozen)
    assert opponent.greedy
    assert (copies[0].agent, copies[0].meta["learned_as"], copies[0].meta["run"]) == ("blue_0", "blue_0", blue.name)
    learned = courtside.load(blue).policies[0].params
    assert (opponent.policy.params.policy_head.weight == learned.policy_head.weight).all()
    assert opponent.policy.params.critic_torso is None


@pytest.mark.parametrize(
    ("env_id", "options", "difference"),
    [
        ("redblue-1v1", ["view_size=7"], "view_size: 5 in the checkpoint, 7 here"),
        ("redblue-1v1", ["encoding=raw"], "encoding: 'kinds' in the checkpoint, 'raw' here"),
        ("redblue-1v1-eval", [], "env_id: 'redblue-1v1' in the checkpoint, 'redblue-1v1-eval' here"),
        ("redblue-2v2", [], "env_id: 'redblue-1v1' in the checkpoint, 'redblue-2v2' here"),
    ],
)
def test_a_run_that_was_shown_another_world_is_refused_with_the_difference(blue, env_id, options, difference):
    config = override(Config(), env_id=env_id, env_options=options, opponents=[f"blue={blue}"])
    with pytest.raises(ConfigError) as caught:
        make_engine(config)
    assert f"The run {blue.name} cannot play blue_0 here: {difference}" in str(caught.value)


def test_options_that_nobody_sees_may_differ_and_the_original_id_is_the_same_world(blue):
    original = "MultiGrid-CompetativeRedBlueDoor-v3-DTDE-1v1"
    config = override(Config(), env_id=original, env_options=["max_steps=50"], opponents=[f"blue={blue}"])
    env = worlds.build_world(worlds.find_env(original), {"max_steps": 50})
    assert recruit(config, env)[0].spec.names == ("red_0",)


@pytest.fixture(scope="module")
def red(runs):
    """A run against a run, both really trained; the opponent's folder is gone."""
    settings = SMALL | {"env_id": "probe-two-agents", "runs_dir": str(runs)}
    second = courtside.train(opponents={"agent_0": "random"}, exp_name="second", **settings).run_dir
    first = courtside.train(opponents={"agent_1": second}, exp_name="first", **settings).run_dir
    assert read_meta(copy_path(first, "agent_1"))["run"] == second.name
    assert not (second / FOLDER).exists()
    shutil.rmtree(second)
    return first


def test_evaluation_and_resume_use_the_copy_in_the_run_folder(red, tmp_path):
    moved = shutil.copytree(red, tmp_path / "elsewhere")
    assert courtside.evaluate(moved, episodes=2).agents.keys() == {"agent_0"}
    assert resume(moved, total_timesteps=128).step == 128
    copy_path(moved, "agent_1").unlink()
    with pytest.raises(CheckpointError, match=r"no checkpoint at .*opponents/agent_1.safetensors"):
        courtside.evaluate(moved, episodes=2)


HEARD = """
from test_team_engines import Whisper

def World():
    return Whisper(heard=True)
"""


@pytest.mark.parametrize("played_by", ["random", "a run"])
def test_a_resumed_run_against_an_opponent_is_the_same_run(played_by, tmp_path, monkeypatch):
    """Red is paid what blue does, so every row of the log shows who played blue."""
    (tmp_path / "heard_world.py").write_text(HEARD)
    monkeypatch.syspath_prepend(tmp_path)
    often = {"total_timesteps": 32 * 24, "eval_every": 32 * 8, "eval_episodes": 2, "checkpoint_seconds": 1e-6}
    settings = SMALL | often | {"env_id": "heard_world:World", "runs_dir": str(tmp_path / "runs")}
    if played_by == "a run":
        played_by = courtside.train(opponents={"red": "noop"}, exp_name="blue", seed=3, **settings).run_dir
    whole = courtside.train(opponents={"blue": played_by}, exp_name="whole", **settings).run_dir
    if isinstance(played_by, Path):
        shutil.rmtree(played_by)
    killed = shutil.copytree(whole, tmp_path / "killed")
    last, *before = checkpoint.find_checkpoints(killed / checkpoint.FOLDER)
    assert before
    last.unlink()
    assert resume(killed).finished
    for name in (f"{checkpoint.FOLDER}/{last.name}", "metrics.jsonl", "evals.jsonl"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes(), name


def test_another_opponent_runs_in_the_same_program(blue):
    engine = make_engine(duel(f"blue={blue}", **SMALL))
    positions = []
    for action in (Action.FORWARD, Action.DONE):
        bias = 50.0 * jnp.eye(NUM_ACTIONS)[action]
        engine.env = eqx.tree_at(lambda env: env.opponents[1].policy.params.policy_head.bias, engine.env, bias)
        state, _ = engine.run_chunk(engine.init(), 1)
        positions.append(state.env_state.inner.inner.position[:, 1])
    assert engine._chunk._cache_size() == engine._init._cache_size() == 1
    assert (positions[0] != positions[1]).all()
