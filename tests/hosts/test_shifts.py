"""Envs in groups that take turns, beside the same envs all at once."""

from __future__ import annotations

import functools
import os
import signal

import numpy as np
import pytest

from courtside.engines.env_sets import count_shifts
from courtside.engines.host_engine import HostEngine
from courtside.errors import ConfigError
from courtside.hosts.env_host import make_host
from courtside.hosts.env_slice import Numbering
from courtside.hosts.shifts import Shifts, make_shifts
from courtside.settings.config import Config, override
from courtside.settings.worlds import find_env

PONG = override(
    Config(), env_id="atari:pong", num_envs=4, workers="serial", num_steps=8, num_minibatches=2, update_epochs=1,
    total_timesteps=320, eval_every=0, torso="mlp", hidden_sizes=(8,), env_options=("screen_size=36", "stack=2"),
)  # fmt: skip


def make(num_envs: int):
    return make_host("gym:CartPole-v1", num_envs, override(Config(), workers="serial").env)


def test_two_halves_are_the_same_envs():
    whole, shifts = make(4), Shifts([make(2), make(2)])
    np.testing.assert_array_equal(whole.reset(7), shifts.reset(7))
    for t in range(60):
        action = np.full((4, 1), t % 2)
        one, two = whole.step(action), shifts.step(action)
        for a, b in zip(one[:-1], two[:-1], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(whole.absent, shifts.absent)
    assert one.games is two.games is None
    whole.close()
    shifts.close()


@pytest.fixture(scope="module")
def trained():
    """Number of shifts -> a run's state and metrics, and the features it stands at."""
    found = {}
    for shifts, keeps_rows in ((1, False), (2, False), (4, True)):
        config = override(PONG, shifts=shifts)
        engine = HostEngine(config, find_env("atari:pong[screen_size=36,stack=2]"), keeps_rows=keeps_rows)
        state, rows = engine.run_chunk(engine.init(), 3)
        found[shifts] = engine, state, rows
    yield found
    for engine, *_ in found.values():
        engine.close()


@pytest.mark.parametrize("shifts", [2, 4])
def test_a_run_in_shifts_sees_what_a_run_in_one_sees(trained, shifts):
    """Those of four also keep what they act on where it was acted on."""
    (_, _, one), (_, _, two) = trained[1], trained[shifts]
    for name in ("charts/episodes", "charts/reward", "charts/games"):
        np.testing.assert_array_equal(one[name], two[name])
    np.testing.assert_allclose(one["losses/value_loss"], two["losses/value_loss"], rtol=1e-4)


def test_where_the_envs_stand_is_saved_alike(trained):
    """So that a run of two shifts can go on where there is one."""
    one, two = trained[1][0], trained[2][0]
    saved = [engine.host.save() for engine in (one, two)]
    assert saved[0].keys() == saved[1].keys()
    np.testing.assert_array_equal(saved[0]["features"], saved[1]["features"])
    np.testing.assert_array_equal(saved[0]["envs"], saved[1]["envs"])
    np.testing.assert_array_equal(two.host.load(saved[0]), saved[0]["features"])


def test_groups_in_processes_are_numbered_as_one_run():
    """A worker of the first group dies: its envs get seeds that no env of the second one has."""
    config = override(Config(), workers="processes", num_workers=2, on_worker_failure="restart").env
    groups = [functools.partial(make_host, "gym:CartPole-v1", 4, config, numbering=Numbering(n, 8)) for n in (0, 4)]
    shifts = make_shifts(groups)
    shifts.reset(1)
    first, second = shifts.parts
    first.send(np.zeros((4, 1), int))
    os.kill(second._crew._workers[1].process.pid, signal.SIGKILL)
    second.send(np.zeros((4, 1), int))
    first.recv()
    second.recv()
    seeds = [part._crew.arrays.seed.tolist() for part in shifts.parts]
    assert seeds == [[1, 2, 3, 4], [5, 6, 15, 16]]
    assert any("env 6, step 1" in notice or "env 7, step 1" in notice for notice in shifts.notices())
    assert not shifts.step(np.zeros((8, 1), int)).ended.any()
    shifts.close()


def test_groups_that_cannot_all_be_built_are_all_closed():
    built = []

    def build():
        built.append(make(2))
        return built[-1]

    def fail():
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        make_shifts([build, build, fail])
    for host in built:
        with pytest.raises(RuntimeError, match="closed"):
            host.reset(0)


def test_shifts_are_for_an_accelerator_unless_told():
    assert count_shifts(PONG) == 1
    assert count_shifts(override(PONG, shifts=2)) == 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shifts": -1}, "--shifts is -1, but it must be 1 or more, or 0"),
        ({"shifts": 3}, "--shifts is 3, but --num-envs is 4, which it does not divide"),
        ({"shifts": 2, "lstm_size": 8}, "only PPO without an LSTM"),
    ],
)
def test_what_cannot_take_turns(changes, words):
    with pytest.raises(ConfigError, match=words):
        override(PONG, **changes).validate()
