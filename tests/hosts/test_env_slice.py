"""Envs that go wrong: one sentence with env, step and value, or a new env in their place; the same in every mode."""

import numpy as np
import pytest

from courtside.errors import EnvContractError
from courtside.hosts.env_host import make_host
from courtside.hosts.env_slice import RESTART_LIMIT
from courtside.settings.config import EnvConfig

MODES = ["serial", "threads", "processes"]


def open_host(env_id, num_envs=3, mode="serial", **changes):
    return make_host(env_id, num_envs, EnvConfig(workers=mode, num_workers=2, **changes))


def steps(host, count):
    for _ in range(count):
        host.step(np.zeros((host.num_envs, 1), int))


SOFT_FAULTS = {
    "Raises": r"step\(\) raised ValueError: the gear is stuck",
    "Exits": r"step\(\) raised SystemExit: 3",
    "NanObservation": r"the observation holds nan \(number 1 of 2\), expected finite numbers",
    "NanReward": "the reward is nan, expected a finite number",
    "NewShape": r"the observation has the shape \(3,\), expected \(2,\)",
    "OneNumber": r"the observation has the shape \(1,\), expected \(2,\)",
}


@pytest.mark.parametrize("name", SOFT_FAULTS)
def test_a_fault_stops_with_env_step_and_value(name):
    host = open_host(f"failing_envs:{name}", 2)
    host.reset(0)
    steps(host, 4)
    place = rf"failing_envs:{name}, env 0, step 5 \(5 of its episode\): "
    with pytest.raises(EnvContractError, match=place + SOFT_FAULTS[name] + r"\. .*--on-worker-failure restart"):
        host.step(np.zeros((2, 1), int))


@pytest.mark.parametrize("mode", ["threads", "processes"])
def test_a_fault_is_the_same_sentence_in_every_mode(mode):
    host = open_host("failing_envs:RaisesOnce", 3, mode)
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"Once, env 1, step 5 \(5 of its.*the gear is stuck") as caught:
        steps(host, 5)
    assert "go_wrong" in caught.value.__notes__[0]  # where in the env, for --debug


def test_step_1000_is_named():
    host = open_host("failing_envs:RaisesInStep1000", 1)
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"env 0, step 1000 \(20 of its episode\): .*worn out"):
        steps(host, 1000)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("RaisesInReset", r"reset\(\) raised OSError: no such level"),
        ("NanInReset", "holds nan"),
        ("OldReset", r"reset\(\) returned a ndarray, expected the pair \(observation, info\)"),
    ],
)
def test_a_fault_in_the_first_reset_stops(name, sentence):
    with pytest.raises(EnvContractError, match=sentence):
        open_host(f"failing_envs:{name}", 2).reset(0)


def test_a_fault_in_a_later_reset_stops():
    host = open_host("failing_envs:RaisesInLaterReset", 1)
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"env 0, step 20 .*reset\(\) raised OSError"):
        steps(host, 20)


def test_the_old_step_of_four_is_refused():
    host = open_host("failing_envs:OldStep", 1)
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"env 0, step 1 .*expected 5, got 4"):
        host.step(np.zeros((1, 1), int))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["RaisesOnce", "NanObservationOnce", "NanRewardOnce", "NewShapeOnce"])
def test_restart_replaces_only_the_faulty_env_and_cuts_its_episode(name, mode):
    host = open_host(f"failing_envs:{name}", 3, mode, on_worker_failure="restart")
    host.reset(0)
    host.notices()
    steps(host, 4)
    got = host.step(np.zeros((3, 1), int))
    assert got.ended.tolist() == [False, True, False]
    assert got.truncated[:, 0].tolist() == [False, True, False]
    assert not got.terminated.any()
    assert got.reward[:, 0].tolist() == [1, 0, 1]
    assert got.final_features[:, 0].tolist() == [[5, 0], [4, 1], [5, 2]]
    assert got.features[:, 0].tolist() == [[5, 0], [0, 1 + 3], [5, 2]]
    assert (got.episode_return[1, 0], got.episode_length[1]) == (4, 5)
    (notice,) = host.notices()
    assert f"failing_envs:{name}, env 1, step 5" in notice
    assert "new env took its place" in notice
    steps(host, 40)
    assert host.notices() == []
    host.close()


def test_endless_restarts_end_in_an_error():
    host = open_host("failing_envs:Raises", 2, on_worker_failure="restart")
    host.reset(0)
    with pytest.raises(EnvContractError, match=f"replaced {RESTART_LIMIT} times without one whole episode"):
        steps(host, 5 * (RESTART_LIMIT + 1))
    with pytest.raises(EnvContractError, match=f"no such level.*replaced {RESTART_LIMIT} times"):
        open_host("failing_envs:RaisesInReset", 1, on_worker_failure="restart").reset(0)


def test_whole_episodes_between_restarts_are_no_endless_loop():
    host = open_host("failing_envs:RaisesOnce", 3, on_worker_failure="restart")
    for _ in range(RESTART_LIMIT + 2):
        host.reset(0)
        steps(host, 25)


def test_a_hung_thread_is_noticed():
    host = open_host("failing_envs:HangsOnce", 3, "threads", worker_timeout=0.4)
    host.reset(0)
    with pytest.raises(EnvContractError, match=r"env 1, step 5 .*no answer for 0.4 s.*--workers processes"):
        steps(host, 5)
