"""A policy from its run folder: every kind of space, seeds, best and last, and damaged files."""

import shutil
import subprocess
import sys

import jax
import numpy as np
import pytest

from courtside.algos import team
from courtside.engines import backend
from courtside.engines.loading import load
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import checkpoint, runlog
from courtside.runs.pipeline import describe_pipeline
from courtside.settings.config import Config, override
from courtside.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple
from courtside.training.evaluate import evaluate_run
from courtside.training.session import resume
from courtside.types import EnvSpec
from rounding import rounding

VECTOR = Box(-1.0, 1.0, (3,))
SPACES = {
    "box": (VECTOR, np.full(3, 0.5, np.float32)),
    "discrete": (Discrete(4), np.int64(2)),
    "multi-discrete": (MultiDiscrete((2, 3)), np.array([1, 2])),
    "dict": (Dict((("where", VECTOR), ("what", Discrete(4)))), {"where": np.zeros(3), "what": np.int64(3)}),
    "tuple": (Tuple((VECTOR, Discrete(2))), (np.zeros(3), np.int64(1))),
}
ACTIONS = {"discrete": Discrete(3), "multi-discrete": MultiDiscrete((2, 5)), "box": Box(-2.0, 2.0, (2,))}


def write_run(folder, observation, action, *, updates=(1,), best=True, agent_names=(), **settings):
    """A run folder as training leaves it, with a fresh network in it."""
    config = override(Config(), **({"hidden_sizes": (8,), "num_envs": 2, "num_steps": 8} | settings))
    spec = EnvSpec(
        name=config.env.env_id, observation=observation, action=action, num_agents=len(agent_names) or 1,
        agent_names=agent_names,
    )  # fmt: skip
    players = team.make_team(config, spec)
    pipeline = describe_pipeline(config, spec)
    runlog.write_config(folder, config)
    for update in updates:
        save(checkpoint.checkpoint_path(folder, update), players, pipeline, update)
    if best:
        save(checkpoint.best_path(folder), players, pipeline, 77)
    return folder


def save(path, players, pipeline, update):
    policies = checkpoint.policies(team.init(players, jax.random.key(update)).policy)
    meta = {"pipeline": pipeline, "step": 16 * update, "update": update}
    checkpoint.save(path, policies, meta | {"arithmetic": backend.describe_arithmetic()})


def damage(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


@pytest.fixture(scope="module")
def box_run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("run"), VECTOR, ACTIONS["box"], updates=(3, 5))


def stack(obs, count):
    return jax.tree.map(lambda x: np.stack([x] * count), obs)


@pytest.mark.parametrize("action", ACTIONS.values(), ids=list(ACTIONS))
@pytest.mark.parametrize(("observation", "obs"), SPACES.values(), ids=list(SPACES))
def test_every_space_is_acted_in_alone_and_in_batches(observation, obs, action, tmp_path):
    run = load(write_run(tmp_path, observation, action, updates=()))
    for deterministic in (True, False):
        one = run.policy(obs, deterministic=deterministic, seed=1)
        many = run.policy(stack(obs, 5), deterministic=deterministic, seed=1)
        assert (one.shape, many.shape) == (action.shape, (5, *action.shape))
        assert one.dtype.kind == action.dtype.kind
        if deterministic:
            # Batches round differently, and an action is a sum whose terms, a hundredth each, may cancel.
            np.testing.assert_allclose(many, stack(one, 5), rtol=1e-5, atol=rounding(0.01, times=32))
        if isinstance(action, Box):
            assert np.all(np.abs(many) <= 2.0)
        else:
            assert np.all((many >= 0) & (many < np.array(getattr(action, "nvec", 3))))


def test_draws_without_a_seed_differ_and_those_with_one_repeat(box_run):
    run, other = load(box_run), load(box_run)
    obs = np.zeros(3)
    free = [run.policy(obs, deterministic=False) for _ in range(3)] + [other.policy(obs, deterministic=False)]
    assert len({draw.tobytes() for draw in free}) == 4
    seeded = [run.policy(obs, deterministic=False, seed=seed) for seed in (7, 7, 8, 2**32 - 1)]
    np.testing.assert_array_equal(seeded[0], seeded[1])
    assert len({draw.tobytes() for draw in seeded}) == 3
    np.testing.assert_array_equal(run.policy(obs), run.policy(obs, seed=5))


@pytest.mark.parametrize("learners", ["shared", "independent"])
def test_agents_that_learned_apart_act_apart(tmp_path, learners):
    names = ("red", "blue")
    run = load(write_run(tmp_path, VECTOR, ACTIONS["box"], updates=(), agent_names=names, learners=learners))
    assert run.agents == names
    red, blue = (run.policy(np.ones(3), agent=name) for name in names)
    if learners == "shared":
        np.testing.assert_array_equal(red, blue)
        np.testing.assert_array_equal(red, run.policy(np.ones(3)))
        with pytest.raises(
            ConfigError, match="share one policy, so `agent` must be one of red, blue or left out; found 'x'"
        ):
            run.policy(np.ones(3), agent="x")
        return
    assert not np.array_equal(red, blue)
    for wrong, words in ((None, "none was named"), ("green", "found 'green'")):
        with pytest.raises(ConfigError, match=f"must be one of red, blue; {words}"):
            run.policy(np.ones(3), agent=wrong)


@pytest.mark.parametrize("seed", [-1, 2**32, 10**20])
def test_a_seed_out_of_range_is_refused(box_run, seed):
    with pytest.raises(ConfigError, match="must lie between 0 and 4294967295"):
        load(box_run).policy(np.zeros(3), deterministic=False, seed=seed)


def test_best_and_last_are_different_files(box_run):
    assert (load(box_run).step, load(box_run, "last").step) == (16 * 77, 16 * 5)
    assert load(box_run).checkpoint == checkpoint.best_path(box_run)
    assert load(box_run).notes == ()


def test_a_run_is_printed_in_one_line(box_run):
    assert repr(load(box_run)) == f"LoadedRun({str(box_run)!r}, preset='custom', algo='ppo', step=1232)"


def test_a_run_without_a_best_gives_its_last(tmp_path):
    run = write_run(tmp_path, VECTOR, ACTIONS["box"], updates=(2,), best=False)
    assert load(run).step == 32


def test_another_word_than_best_or_last_is_refused(box_run):
    code = f"import courtside; courtside.load({str(box_run)!r}, 'Best')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "ConfigError: which is 'Best', but it must be 'best' or 'last'." in done.stderr


def test_a_damaged_best_offers_the_newest_where_there_is_one(box_run, tmp_path):
    run = shutil.copytree(box_run, tmp_path / "run")
    damage(checkpoint.best_path(run))
    with pytest.raises(CheckpointError, match=r"update-00000005.safetensors, is whole: use --last"):
        load(run)
    assert load(run, "last").step == 80
    shutil.rmtree(run / checkpoint.FOLDER)
    with pytest.raises(CheckpointError) as caught:
        load(run)
    assert "--last" not in str(caught.value)


def test_broken_newer_checkpoints_are_passed_over_and_noted(box_run, tmp_path):
    run = shutil.copytree(box_run, tmp_path / "run")
    damage(checkpoint.checkpoint_path(run, 5))
    last = load(run, "last")
    assert last.step == 48
    assert len(last.notes) == 1
    assert "update-00000005" in last.notes[0]
    assert load(run).notes == ()
    damage(checkpoint.checkpoint_path(run, 3))
    with pytest.raises(CheckpointError, match="use --best"):
        load(run, "last")


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize("use", [load, lambda run: load(run, "last"), evaluate_run, resume])
def test_a_run_of_an_earlier_version_is_refused_with_the_version(use, best, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 1)
    run = write_run(tmp_path, Box(-1.0, 1.0, (4,)), Discrete(2), updates=(1, 2), best=best, env_id="cartpole")
    monkeypatch.undo()
    with pytest.raises(CheckpointError) as caught:
        use(run)
    assert "has format 1, but this courtside reads format 2" in str(caught.value)
    assert "use --" not in str(caught.value)
    assert str(caught.value).count("has format") == 1
