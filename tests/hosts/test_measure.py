"""What is measured before a run: speed, gain from threads, memory; and how a faulty env shows there."""

import pytest

from courtside.errors import ConfigError, EnvContractError
from courtside.hosts.env_host import estimate_memory_mb, make_host, measure
from courtside.hosts.measure import measure_env
from courtside.settings.config import EnvConfig
from courtside.settings.worlds import find_env

MODES = ["serial", "threads", "processes"]


def test_a_step_takes_as_long_as_its_env_waits():
    assert measure_env(find_env("failing_envs:Slow"), with_speed=True)["step_seconds"] > 0.002


def test_envs_that_step_side_by_side_gain_from_threads():
    """In a row each step waits for nobody, as long as it can; in threads two of them meet at once, however busy the machine is."""
    found = measure_env(find_env("failing_envs:Meets"), with_speed=True)
    assert found["step_seconds"] > 0.05
    assert found["thread_gain"] > 1.5


def test_a_fault_while_measuring_is_one_sentence():
    with pytest.raises(EnvContractError, match=r"Dies, before training: the worker process died \(exit status 7\)"):
        make_host("failing_envs:Dies", 2, EnvConfig(workers="auto"))
    with pytest.raises(EnvContractError, match=r"env 0, step 5, before training: step\(\) raised ValueError"):
        make_host("failing_envs:Raises", 2, EnvConfig(workers="auto"))
    with pytest.raises(ConfigError, match="Did you mean CartPole-v1"):
        make_host("gym:CartPoel-v1", 2, EnvConfig(workers="auto"))


@pytest.mark.parametrize("mode", MODES)
def test_memory_is_foretold_and_measured(mode):
    """An env of 8 MB. Growth of this process depends on what its allocator had left, so 12 envs are held against 4."""
    config = EnvConfig(workers=mode, num_workers=2)
    foretold, held = {}, {}
    for num_envs in (4, 12):
        foretold[num_envs] = estimate_memory_mb("failing_envs:Heavy", num_envs, config)
        host = make_host("failing_envs:Heavy", num_envs, config)
        host.reset(0)
        held[num_envs] = host.memory_mb()
        host.close()
    assert foretold[12] - foretold[4] == pytest.approx(64, abs=12)
    assert 0.6 * 12 * 8 < held[12] < 2 * foretold[12]
    assert 0.5 * held[12] < foretold[12] < 2 * held[12] + 20
    assert measure(find_env("failing_envs:Heavy"), False, config.worker_timeout).next_env_mb == pytest.approx(
        8, abs=1.5
    )
