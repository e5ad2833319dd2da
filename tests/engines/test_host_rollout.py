"""The Rollout Phase of a host: what it hands on of worlds that are stepped outside JAX."""

import itertools
from dataclasses import replace

import numpy as np

from courtside.algos import team
from courtside.engines.host_rollout import Shift, collect_host, make_columns
from courtside.engines.rollout import summarize_episodes
from courtside.hosts.base import GameEnds, HostStep
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec
from host_double import StepHost

CONFIG = override(Config(), num_envs=3, num_steps=12, hidden_sizes=(4,), num_minibatches=2)


class CountingHost(StepHost):
    """One env that counts; it reuses its arrays from step to step, as hosts may."""

    num_envs, absent = 1, np.zeros((1, 1), bool)
    spec = EnvSpec(name="count", observation=Box(0.0, 99.0, (1,)), action=Box(-1.0, 1.0, (1,)))

    def __init__(self):
        self.count, self.given = 0, []
        self.buffers = [np.zeros((1, 1, 1), np.float32) for _ in range(2)]

    def reset(self, seed):
        self.count = seed
        return np.full((1, 1, 1), seed, np.float32)

    def step(self, action):
        self.given.append(float(action[0, 0, 0]))
        self.count += 1
        self.buffers[1][:] = self.count
        ended = self.count == 5
        self.count = 0 if ended else self.count
        self.buffers[0][:] = self.count
        flag = np.full((1, 1), ended)
        return HostStep(
            self.buffers[0], np.full((1, 1), self.given[-1], np.float32), flag, ~flag & False, self.buffers[1],
            flag[:, 0], np.full((1, 1), 7.0, np.float32), np.full(1, 5, np.int32),
        )  # fmt: skip


def collect_from(host, choose, features, num_steps):
    return collect(Shift(host, choose), team.make_team(CONFIG, host.spec), features, num_steps)


def collect(shift, learners, features, num_steps):
    columns = make_columns(learners, shift.host.spec, features, num_steps, keeps_values=shift.value is not None)
    return columns.rows[-1], collect_host([shift], learners, features, columns)


def test_collect_host_copies_what_the_host_reuses_and_keeps_the_unclipped_draw():
    host = CountingHost()
    draws = np.linspace(-3, 3, 8).astype(np.float32).reshape(8, 1, 1, 1)
    last, r = collect_from(host, lambda features, t: [draws[t]], host.reset(0), 8)
    np.testing.assert_array_equal(r.features.ravel(), [0, 1, 2, 3, 4, 0, 1, 2])
    np.testing.assert_array_equal(r.final_features.ravel(), [1, 2, 3, 4, 5, 1, 2, 3])
    np.testing.assert_array_equal(r.terminated.ravel(), [0, 0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(last, [[[3]]])
    np.testing.assert_array_equal(r.last_features, last)
    np.testing.assert_array_equal(r.action, [draws])
    assert r.active is None
    np.testing.assert_allclose(host.given, np.clip(draws.ravel(), -1, 1))
    np.testing.assert_array_equal(r.ends.ended.ravel(), r.terminated.ravel())


def test_collect_host_asks_for_actions_on_what_is_seen_now():
    host, asked = CountingHost(), []

    def choose(features, t):
        asked.append((t, float(features[0, 0, 0])))
        return [np.zeros((1, 1, 1), np.float32)]

    collect_from(host, choose, host.reset(2), 4)
    assert asked == [(0, 2.0), (1, 3.0), (2, 4.0), (3, 0.0)]


class CuttingHost(CountingHost):
    """A clock cuts every episode after 5 steps; two episodes are a game, which scores 10 for each of its steps."""

    played = 0
    spec = replace(CountingHost.spec, tells_games=True)

    def step(self, action):
        step = super().step(action)
        self.played += 1
        is_over = self.played == 10
        self.played %= 10
        games = GameEnds(np.array([is_over]), np.full(1, 100.0, np.float32), np.full(1, 10, np.int32))
        return step._replace(terminated=step.truncated, truncated=step.terminated, games=games)


def nothing(features, t):
    return [np.zeros((1, 1, 1), np.float32)]


def test_with_values_a_rollout_keeps_those_instead_of_last_observations():
    host = CuttingHost()
    alone = team.make_team(CONFIG, host.spec)
    _, r = collect(Shift(host, nothing, lambda rows: 2 * rows[..., 0]), alone, host.reset(0), 12)
    assert r.final_features is None
    np.testing.assert_array_equal(r.final_value.ravel(), [0, 0, 0, 0, 10, 0, 0, 0, 0, 10, 0, 0])


def test_whole_games_are_told_apart_from_episodes():
    host = CuttingHost()
    alone = team.make_team(CONFIG, host.spec)
    told = []
    for _ in range(2):
        _, r = collect(Shift(host, nothing), alone, host.reset(0), 8)
        told.append(summarize_episodes(r.ends, alone.names, r.truncated, r.games))
    names = ("charts/episodes", "charts/games", "charts/game_score", "charts/game_length")
    assert [float(told[1][name]) for name in names] == [1, 1, 100, 10]
    assert float(told[0]["charts/games"]) == 0
    assert np.isnan(told[0]["charts/game_score"])


def test_columns_are_used_again_by_the_next_rollout_but_one():
    host = CountingHost()
    alone = team.make_team(CONFIG, host.spec)
    sets = itertools.cycle([make_columns(alone, host.spec, host.reset(0), 2) for _ in range(2)])
    lasts = []
    for k in (0, 10, 20):
        collect_host([Shift(host, nothing)], alone, host.reset(k), columns := next(sets))
        lasts.append(columns.rows[-1])
    assert [last.item() for last in lasts] == [22, 12, 22]
    assert np.shares_memory(lasts[0], lasts[2])


class LeavingHost(CountingHost):
    """Two agents, outside JAX: the first is done after two steps, the second after four."""

    spec = EnvSpec(name="leaving", observation=Box(0.0, 9.0, (1,)), action=Discrete(2), num_agents=2)
    absent = np.zeros((1, 2), bool)

    def step(self, action):
        self.count += 1
        terminated = np.array([[self.count >= 2, self.count >= 4]])
        ended = terminated.all(axis=1)
        rows = np.full((1, 2, 1), self.count, np.float32)
        self.count = 0 if ended[0] else self.count
        self.absent = terminated & ~ended[:, None]
        sums = np.ones((1, 2), np.float32)
        return HostStep(rows, sums, terminated, terminated & False, rows, ended, sums, np.full(1, 4, np.int32))


def test_steps_of_agents_that_left_are_marked():
    host, pair = LeavingHost(), team.make_team(CONFIG, LeavingHost.spec)
    choose = lambda features, t: [np.zeros((1, 2), np.int32)]  # noqa: E731
    last, first = collect(Shift(host, choose), pair, np.zeros((1, 2, 1), np.float32), 3)
    _, second = collect(Shift(host, choose), pair, last, 3)
    active = np.concatenate([first.active, second.active])[:, 0].astype(int).T.tolist()
    assert active == [[1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1]]
