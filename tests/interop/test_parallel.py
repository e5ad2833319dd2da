"""Our worlds as PettingZoo envs: PettingZoo's own tests, agents that leave, and sentences for wrong use."""

from __future__ import annotations

import functools
import warnings

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

import courtside
from courtside.errors import ConfigError
from courtside.interop.spaces import ActionError

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # its tests import games of its own by their old names
    from pettingzoo.test import parallel_api_test, parallel_seed_test


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("probe-two-agents", {}),
        ("pendulum", {}),
        ("redblue", {"max_steps": 20}),
        ("redblue-1v1", {"max_steps": 20}),
        ("redblue-pair-joint", {"max_steps": 20}),
        ("empty-5x5", {"num_agents": 3, "success_termination_mode": "all", "max_steps": 20}),
    ],
)
def test_pettingzoo_tests_our_worlds(name, options):
    make = functools.partial(courtside.parallel_env, name, **options)
    parallel_api_test(make(), num_cycles=300)
    parallel_seed_test(make, num_cycles=50)


def test_each_agent_is_given_its_own():
    env = courtside.parallel_env("probe-two-agents")
    obs, infos = env.reset(seed=0)
    assert list(obs) == list(infos) == env.agents == ["agent_0", "agent_1"]
    _, first, terminated, _, _ = env.step({"agent_0": 0, "agent_1": 0})
    assert set(terminated.values()) == {True}
    assert env.agents == []
    env.reset(seed=0)
    _, second, _, _, _ = env.step({"agent_0": 1, "agent_1": 0})
    assert first["agent_0"] != second["agent_0"]
    assert first["agent_1"] == second["agent_1"]


def test_agents_leave_one_by_one():
    """In an empty room with `all`, who reaches the goal is done and the other goes on until the clock stops it."""
    env = courtside.parallel_env("empty-5x5", num_agents=2, success_termination_mode="all", max_steps=9)
    env.reset(seed=0)
    idle, route = 6, [2, 2, 1, 2, 2]
    for action in route:
        assert env.agents == ["agent_0", "agent_1"]
        obs, reward, terminated, _, _ = env.step({"agent_0": idle, "agent_1": action})
    assert terminated == {"agent_0": False, "agent_1": True}
    assert (reward["agent_0"], reward["agent_1"] > 0.4) == (0.0, True)
    assert env.agents == ["agent_0"]
    for _ in range(4):
        obs, _, _, truncated, infos = env.step({"agent_0": idle})
        assert list(obs) == list(truncated) == list(infos) == ["agent_0"]
    assert truncated["agent_0"]
    assert env.agents == []


def test_an_opponent_takes_its_agent_away():
    env = courtside.parallel_env("probe-two-agents", opponents={"agent_0": "random"})
    env.reset(seed=0)
    assert env.possible_agents == ["agent_1"]
    assert set(env.step({"agent_1": 1})[1]) == {"agent_1"}


def test_wrong_use_is_said():
    env = courtside.parallel_env("probe-two-agents")
    with pytest.raises(ResetNeeded, match="before reset"):
        env.step({})
    env.reset()
    with pytest.raises(ActionError, match=r"The action 2 for agent_1 .* from 0 to 1"):
        env.step({"agent_0": 0, "agent_1": 2})
    with pytest.raises(ActionError, match="'agent_1' was given no action"):
        env.step({"agent_0": 0})
    with pytest.raises(ActionError, match="no agent 'blue'"):
        env.step({"agent_0": 0, "agent_1": 0, "blue": 0})
    env.step({"agent_0": 0, "agent_1": np.int64(1)})
    with pytest.raises(ResetNeeded, match="after the end"):
        env.step({"agent_0": 0, "agent_1": 0})
    with pytest.raises(ConfigError, match="probe-two-agents"):
        courtside.parallel_env("probe-two-agent")
