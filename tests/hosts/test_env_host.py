"""The Gymnasium host against Gymnasium itself, in all three ways of stepping; failures; the choice of workers; memory."""

import re

import gymnasium
import numpy as np
import pytest
from dict_env import Signpost
from odd_envs import Odd

from courtside import encoding, spaces
from courtside.errors import ConfigError
from courtside.hosts.env_host import choose, make_host, num_cores, plan_workers
from courtside.hosts.facts import EnvFacts
from courtside.hosts.measure import Measured
from courtside.settings.config import EnvConfig
from courtside.settings.worlds import find_env
from waiting import wait_until

MODES = ["serial", "threads", "processes"]


def open_host(env_id, num_envs=3, mode="serial", **changes):
    return make_host(env_id, num_envs, EnvConfig(workers=mode, num_workers=2, **changes))


def run_by_hand(env_id, actions, seed):
    """What a plain loop over Gymnasium envs sees: per step and env (obs, reward, terminated, truncated, final, stats)."""
    num_envs = actions.shape[1]
    envs = [gymnasium.make(env_id) for _ in range(num_envs)]
    first = [env.reset(seed=seed + i)[0] for i, env in enumerate(envs)]
    sums, counts, rows = [0.0] * num_envs, [0] * num_envs, []
    for action in actions:
        for i, env in enumerate(envs):
            final, reward, terminated, truncated, _ = env.step(action[i])
            sums[i], counts[i] = sums[i] + reward, counts[i] + 1
            row = [final, reward, terminated, truncated, final, sums[i], counts[i]]
            if terminated or truncated:
                row[0], sums[i], counts[i] = env.reset()[0], 0.0, 0
            rows.append(row)
    return np.stack(first), rows


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("env_id", ["CartPole-v1", "Pendulum-v1"])
def test_steps_are_gymnasiums_own_step_by_step(env_id, mode):
    host = open_host(f"gym:{env_id}", 3, mode)
    is_discrete = isinstance(host.spec.action, spaces.Discrete)
    rng = np.random.default_rng(0)
    actions = rng.integers(0, 2, (210, 3)) if is_discrete else rng.uniform(-2, 2, (210, 3, 1)).astype(np.float32)
    first, rows = run_by_hand(env_id, actions, seed=5)
    assert np.array_equal(host.reset(seed=5)[:, 0], first)
    num_ends = 0
    for t, action in enumerate(actions):
        got = host.step(action[:, None])
        for i in range(3):
            obs, reward, terminated, truncated, final, total, count = rows[3 * t + i]
            assert np.array_equal(got.features[i, 0], obs)
            assert np.array_equal(got.final_features[i, 0], final)
            assert got.reward[i, 0] == np.float32(reward)
            assert (got.terminated[i, 0], got.truncated[i, 0]) == (terminated, truncated)
            assert got.ended[i] == (terminated or truncated)
            if got.ended[i]:
                num_ends += 1
                np.testing.assert_allclose(got.episode_return[i, 0], total, rtol=1e-5)
                assert got.episode_length[i] == count
    host.close()
    assert num_ends >= 3


def test_the_step_has_the_shapes_and_kinds_of_the_contract():
    host = open_host("gym:CartPole-v1", 3)
    assert host.reset(0).shape == (3, 1, 4)
    got = host.step(np.zeros((3, 1), np.int32))
    assert got.games is None
    shapes = {name: (x.shape, x.dtype.name) for name, x in got._asdict().items() if x is not None}
    assert shapes == {
        "features": ((3, 1, 4), "float32"), "reward": ((3, 1), "float32"), "terminated": ((3, 1), "bool"),
        "truncated": ((3, 1), "bool"), "final_features": ((3, 1, 4), "float32"), "ended": ((3,), "bool"),
        "episode_return": ((3, 1), "float32"), "episode_length": ((3,), "int32"), "told": ((3, 0), "float32"),
    }  # fmt: skip
    assert (host.spec.time_limit, host.spec.num_agents, host.spec.name) == (500, 1, "gym:CartPole-v1")


@pytest.mark.parametrize("mode", MODES)
def test_a_time_limit_truncates_and_a_later_reset_is_unseeded(mode):
    host = open_host("failing_envs:Sound", 3, mode)
    host.reset(seed=10)
    for _ in range(19):
        assert not host.step(np.zeros((3, 1), int)).ended.any()
    got = host.step(np.zeros((3, 1), int))
    assert got.truncated.all()
    assert not got.terminated.any()
    assert got.final_features[:, 0].tolist() == [[20, 10], [20, 11], [20, 12]]
    assert got.features[:, 0].tolist() == [[0, 10], [0, 11], [0, 12]]
    assert got.episode_return[:, 0].tolist() == [20, 20, 20]
    assert got.episode_length.tolist() == [20, 20, 20]
    assert host.step(np.zeros((3, 1), int)).features[:, 0, 0].tolist() == [1, 1, 1]
    assert host.reset(seed=30)[:, 0].tolist() == [[0, 30], [0, 31], [0, 32]]
    host.close()


@pytest.mark.parametrize("mode", MODES)
def test_send_and_recv_are_the_halves_of_a_step(mode):
    host, none = open_host("failing_envs:Sound", 3, mode), np.zeros((3, 1), int)
    host.reset(seed=10)
    host.send(none)
    for ask in (lambda: host.send(none), lambda: host.reset(0)):
        with pytest.raises(RuntimeError, match="a step to recv first"):
            ask()
    if mode != "serial":  # others step without being waited for
        wait_until(lambda: (host._crew.arrays.steps == 1).all())
    assert host.recv().features[:, 0].tolist() == [[1, 10], [1, 11], [1, 12]]
    with pytest.raises(RuntimeError, match="no step was sent"):
        host.recv()
    host.close()


@pytest.mark.parametrize("name", ["StartsAtFive", "Buttons", "Dials", "Levers", "Nested", "Knobs"])
def test_odd_spaces_arrive_whole_in_both_directions(name):
    host = open_host(f"odd_envs:{name}", 2)
    space, action_space = host.spec.observation, host.spec.action
    features = host.reset(0).copy()
    assert features.shape == (2, 1, spaces.feature_size(space))
    rng = np.random.default_rng(0)
    for _ in range(6):
        if isinstance(action_space, spaces.Box):
            drawn = rng.normal(size=(2, 1, spaces.feature_size(action_space))).astype(np.float32)
        else:
            size = np.asarray(getattr(action_space, "nvec", getattr(action_space, "n", 0)))
            drawn = rng.integers(0, size, (2, 1, *size.shape), np.int32)
        action = encoding.decode_action(action_space, drawn)
        got = host.step(action)
        np.testing.assert_allclose(got.reward[:, 0], action.reshape(2, -1).sum(axis=1), rtol=1e-5)
        if name == "StartsAtFive":
            assert np.array_equal(action, drawn + 5)
    host.close()


def test_dict_observations_match_encode():
    host = open_host("dict_env:Signpost", 2)
    row = host.reset(3)[1, 0]
    obs, _ = Signpost().reset(seed=4)
    assert np.array_equal(row, encoding.encode(host.spec.observation, obs))


def test_an_action_given_earlier_is_not_changed_under_the_env():
    assert "kept" in Odd.step.__code__.co_names  # the env of this test asserts it
    host = open_host("odd_envs:Levers", 2)
    host.reset(0)
    for k in range(3):
        host.step(np.full((2, 1, 4), 0.01 * k, np.float32))


def test_a_closed_host_says_so():
    host = open_host("failing_envs:Sound", 1)
    host.close()
    host.close()
    with pytest.raises(RuntimeError, match="closed"):
        host.reset(0)


FACTS = EnvFacts(spaces.Box(-1.0, 1.0, (2,)), spaces.Discrete(2), None)


def measured(step_seconds, thread_gain=1.0):
    return Measured(FACTS, step_seconds, thread_gain, 20.0, 5.0, 1.0)


@pytest.mark.parametrize(
    ("found", "num_envs", "num_workers", "mode"),
    [
        (measured(7e-6), 4, 2, "serial"),
        (measured(7e-6), 256, 2, "processes"),
        (measured(7e-6), 256, 1, "serial"),
        (measured(5e-3), 1, 1, "serial"),
        (measured(5e-3), 8, 4, "processes"),
        (measured(5e-3, thread_gain=1.95), 8, 4, "threads"),
        (measured(5e-3, thread_gain=1.2), 8, 4, "processes"),
    ],
)
def test_the_fastest_way_is_chosen(found, num_envs, num_workers, mode):
    plan = choose(found, num_envs, num_workers)
    assert plan.mode == mode
    assert f"Taken: {mode}" in plan.reason
    assert choose(found, num_envs, num_workers, can_process=False).mode != "processes"


@pytest.mark.parametrize("env_id", ["gym:CartPole-v1", "failing_envs:Slow"])
def test_auto_measures_and_says_why(env_id):
    """Which way is fastest depends on what else the machine does; that it was measured and taken does not."""
    host = make_host(env_id, 4, EnvConfig(workers="auto", num_workers=2))
    (notice,) = host.notices()
    number = r"\d+(\.\d)? [µm]s"
    assert re.fullmatch(rf"One env step takes {number}; for 4 envs: serial about {number}.*Taken: (\w+)\.", notice)
    assert host.plan.is_measured
    assert f"Taken: {host.plan.mode}." in notice
    assert host.reset(0).shape[0] == 4
    host.close()


def test_auto_takes_processes_where_a_crash_must_be_survived():
    assert plan_workers(find_env("failing_envs:Dies"), 4, EnvConfig(on_worker_failure="restart")).mode == "processes"


def test_a_class_of_the_main_script_cannot_go_to_processes():
    with pytest.raises(ConfigError, match="imported from a module"):
        plan_workers(find_env("__main__:Mine"), 4, EnvConfig(workers="processes"))


def test_workers_are_never_more_than_envs_and_cores_count():
    assert plan_workers(find_env("gym:X"), 1, EnvConfig(workers="processes")).num_workers == 1
    assert plan_workers(find_env("gym:X"), 1000, EnvConfig(workers="processes")).num_workers == num_cores()
