"""A batch of worlds in one step does exactly what as many single envs do, under both ways of starting anew."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from courtside.errors import ConfigError
from courtside.interop.spaces import ActionError
from courtside.interop.vector_env import WorldVectorEnv

NUM_ENVS = 3


def make(name: str = "cartpole", **options):
    return gymnasium.make_vec(f"courtside/{name}-v0", NUM_ENVS, **options)


def make_one_by_one(mode: str):
    options = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    return gymnasium.make_vec("courtside/cartpole-v0", NUM_ENVS, **options)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_batch_plays_as_the_envs_do_one_by_one(mode):
    """Equal bits where both are compiled with all passes; with none, as here, a sum may be rounded in another place."""
    ours, theirs = make(autoreset_mode=mode), make_one_by_one(mode)
    assert isinstance(ours, WorldVectorEnv)
    assert ours.metadata["autoreset_mode"] == AutoresetMode(mode)
    assert data_equivalence(ours.reset(seed=[5, 9, 2]), theirs.reset(seed=[5, 9, 2]), exact=False)
    ours.action_space.seed(0)
    num_ends = 0
    for _ in range(120):
        actions = ours.action_space.sample()
        step = ours.step(actions)
        for mine, other in zip(step, theirs.step(actions), strict=True):
            assert data_equivalence(mine, other, exact=False)
        num_ends += step[2].sum()
    assert num_ends > NUM_ENVS
    assert data_equivalence(ours.reset(), theirs.reset(), exact=False)


def test_pictures_come_for_every_env():
    env = make(render_mode="rgb_array")
    env.reset(seed=0)
    frames = env.render()
    assert len(frames) == NUM_ENVS
    assert not np.array_equal(frames[0], frames[1])


def test_one_seed_counts_up_over_the_envs():
    env = make()
    obs, _ = env.reset(seed=7)
    np.testing.assert_equal(obs, env.reset(seed=[7, 8, 9])[0])
    assert obs in env.observation_space
    assert len(np.unique(obs, axis=0)) == NUM_ENVS


def test_a_shorter_clock_can_be_asked_for():
    env = make(max_episode_steps=3)
    env.reset(seed=0)
    truncated = [env.step([0, 1, 0])[3].tolist() for _ in range(4)]
    assert truncated == [[False] * 3, [False] * 3, [True] * 3, [False] * 3]


def test_wrong_use_is_said():
    env = make()
    with pytest.raises(ResetNeeded, match="before reset"):
        env.step([0, 0, 0])
    with pytest.raises(ConfigError, match="2 seeds were given for 3 envs"):
        env.reset(seed=[1, 2])
    env.reset()
    with pytest.raises(ActionError, match="for env 2 "):
        env.step([0, 0, 2])
    with pytest.raises(ConfigError, match="'NextStep' or 'SameStep'"):
        make(autoreset_mode="Disabled")
