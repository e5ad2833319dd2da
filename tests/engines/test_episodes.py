"""Whole episodes under a fixed policy: first ones only, cut by the guard, same seed same score."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import team
from courtside.engines import episodes
from courtside.envs.base import make_timestep
from courtside.hosts.base import HostStep
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec, Policy
from host_double import StepHost

CONFIG = override(Config(), hidden_sizes=(4,))


class Lengths:
    """Episodes of 1 to 5 steps, drawn at the reset; each step pays the episode's length and the action."""

    spec = EnvSpec(name="lengths", observation=Box(0.0, 5.0, (1,)), action=Discrete(2), num_agents=2)

    def reset(self, key):
        length = jax.random.randint(key, (), 1, 6)
        return (length, jnp.zeros((), jnp.int32)), jnp.full((2, 1), length, jnp.float32)

    def step(self, state, action, key):
        length, step = state[0], state[1] + 1
        obs = jnp.full((2, 1), length, jnp.float32)
        reward = jnp.full(2, length, jnp.float32) + 100.0 * action.astype(jnp.float32)
        return (length, step), make_timestep(obs, reward, jnp.full(2, step >= length))


class Endless(Lengths):
    """Pays 1 and never ends."""

    def step(self, state, action, key):
        return state, make_timestep(jnp.zeros((2, 1)), jnp.ones(2), jnp.zeros(2, bool))


def make_policy(env, favourite=0):
    """A policy that takes one action (nearly) always."""
    players = team.make_team(CONFIG, env.spec)
    (learner,) = team.init(players, jax.random.key(0)).learners
    params = learner.params
    bias = jnp.zeros(2).at[favourite].set(50.0)
    head = type(params.policy_head)(params.policy_head.weight, bias)
    params = type(params)(params.actor_torso, params.critic_torso, head, params.value_head, None)
    return players, (Policy(params, learner.obs_stats),)


def play(env, key=0, num=64, deterministic=False, favourite=0):
    players, policies = make_policy(env, favourite)
    found = jitted(type(env), players, num, deterministic)(policies, jax.random.key(key))
    return np.asarray(found.returns), np.asarray(found.lengths)


@functools.cache
def jitted(kind, players, num, deterministic):
    return jax.jit(lambda policies, key: episodes.play_episodes(kind(), players, policies, key, num, deterministic))


@pytest.mark.parametrize("deterministic", [False, True])
def test_each_episode_is_the_first_of_its_env(deterministic):
    """Length L pays L each step: L² in all. Counting by steps would favour the short ones; all lengths occur."""
    returns, lengths = play(Lengths(), deterministic=deterministic)
    np.testing.assert_array_equal(returns, lengths.astype(float) ** 2)
    assert set(lengths) == {1, 2, 3, 4, 5}
    counts = np.bincount(play(Lengths(), key=3)[1], minlength=6)[1:]
    assert counts.min() > 4


def test_the_policys_actions_reach_the_world():
    returns, lengths = play(Lengths(), favourite=1)
    np.testing.assert_allclose(returns, lengths * (lengths + 100.0))


def test_same_seed_same_episodes_other_seed_others():
    a, b, c = (play(Lengths(), key)[0] for key in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_the_guard_cuts_an_endless_episode_and_counts_what_it_had(monkeypatch):
    monkeypatch.setattr(episodes, "MAX_EPISODE_STEPS", 17)
    players, policies = make_policy(Endless())
    found = episodes.play_episodes(Endless(), players, policies, jax.random.key(0), 3, True)
    np.testing.assert_array_equal(found.returns, [17, 17, 17])
    np.testing.assert_array_equal(found.lengths, [17, 17, 17])


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_trace_shows_the_very_episodes_that_are_played(deterministic):
    """Drawn actions pay 100 each, so other draws would be other returns."""
    env, key = Lengths(), jax.random.key(4)
    players = team.make_team(CONFIG, env.spec)
    policies = team.init(players, jax.random.key(0)).policy
    played = jitted(Lengths, players, 12, deterministic)(policies, key)
    traces = episodes.trace_episodes(env, players, policies, key, 12, deterministic)
    assert [len(trace.rewards) for trace in traces] == np.asarray(played.lengths).tolist()
    found = np.stack([trace.rewards.sum(axis=0) for trace in traces])
    np.testing.assert_allclose(found, played.agent_returns, rtol=1e-6)
    for trace in traces:
        lengths, steps = trace.states
        np.testing.assert_array_equal(steps, np.arange(lengths[0] + 1), "every state, the last one not replaced")
        assert np.all(lengths == lengths[0])
        assert trace.ending == "terminated"


def test_a_trace_that_the_guard_cuts_has_no_ending(monkeypatch):
    monkeypatch.setattr(episodes, "TRACE_BLOCK", 8)
    monkeypatch.setattr(episodes, "MAX_EPISODE_STEPS", 16)
    players, policies = make_policy(Endless())
    (trace,) = episodes.trace_episodes(Endless(), players, policies, jax.random.key(0), 1, True)
    assert (trace.ending, len(trace.rewards), len(trace.states[0])) == ("", 16, 17)


class CountdownHost(StepHost):
    """Env i of a reset with seed s has episodes of s + i + 1 steps; each step pays 1 to one agent, 3 to the other."""

    num_envs, absent = 2, np.zeros((2, 2), bool)
    spec = EnvSpec(name="countdown", observation=Box(0.0, 99.0, (1,)), action=Discrete(2), num_agents=2)

    def __init__(self, endless=False):
        self.endless, self.seeds = endless, []

    def reset(self, seed):
        self.seeds.append(seed)
        self.limit, self.length = np.array([seed + 1, seed + 2]), np.zeros(2, np.int32)
        return np.zeros((2, 2, 1), np.float32)

    def step(self, action):
        self.length = self.length + 1
        ended = (self.length >= self.limit) & (not self.endless)
        lengths = self.length.copy()
        self.length = np.where(ended, 0, self.length).astype(np.int32)
        flags = np.repeat(ended[:, None], 2, 1)
        reward = np.tile(np.float32([1, 3]), (2, 1))
        features = np.zeros((2, 2, 1), np.float32)
        return HostStep(features, reward, flags, flags & False, features, ended, reward * lengths[:, None], lengths)


def no_action(features, t):
    return [np.zeros((2, 2), np.int32)]


PLAYERS = team.make_team(CONFIG, CountdownHost.spec)


def test_host_episodes_are_first_ones_and_as_many_as_asked():
    host = CountdownHost()
    found = episodes.play_host_episodes(host, PLAYERS, no_action, 0, 5)
    assert host.seeds == [0, 2, 4]
    np.testing.assert_array_equal(found.lengths, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(found.returns, [2, 4, 6, 8, 10])
    np.testing.assert_array_equal(found.agent_returns, [[n, 3 * n] for n in range(1, 6)])


def test_the_guard_of_host_episodes_counts_what_they_had(monkeypatch):
    monkeypatch.setattr(episodes, "MAX_EPISODE_STEPS", 9)
    found = episodes.play_host_episodes(CountdownHost(endless=True), PLAYERS, no_action, 0, 2)
    np.testing.assert_array_equal(found.returns, [18, 18])
    np.testing.assert_array_equal(found.lengths, [9, 9])
