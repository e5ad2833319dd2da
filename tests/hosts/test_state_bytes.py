"""Saved envs: states as one piece of bytes, and a host that goes on where another was."""

import numpy as np
import pytest

from courtside.hosts.env_host import make_host
from courtside.hosts.state_bytes import join_states, split_states
from courtside.settings.config import EnvConfig


@pytest.mark.parametrize("states", [[], [b""], [b"one", b"", b"three" * 1000]])
def test_what_was_joined_comes_apart_again(states):
    assert split_states(join_states(states)) == states


def steps(host, count, seed):
    """Everything that some random steps told; of ends only where there was one."""
    rng, told = np.random.default_rng(seed), []
    for _ in range(count):
        step = host.step(rng.integers(0, 4, (3, 1)))
        told += [part.copy() for part in step[:6]]
        told += [step.episode_return[step.ended], step.episode_length[step.ended]]
        told += [step.games.ended.copy(), step.games.score[step.games.ended], step.games.length[step.games.ended]]
    return told


def test_a_host_goes_on_exactly_where_another_was_saved():
    """Worker processes save; threads load, in the middle of an episode, with games of another seed under way."""
    env_id = "atari:breakout[screen_size=36,max_frames=160,sticky=0.25]"
    hosts = [
        make_host(env_id, 3, EnvConfig(workers=mode, num_workers=2), packed=True) for mode in ("processes", "threads")
    ]
    hosts[0].reset(1)
    hosts[1].reset(5)
    steps(hosts[0], 25, seed=0)
    assert hosts[0].can_save
    saved = hosts[0].save()
    expected = steps(hosts[0], 60, seed=2)
    hosts[1].load(saved)
    for found, wanted in zip(steps(hosts[1], 60, seed=2), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    assert sum(array.sum() for array in expected[8::11]) >= 3, "games ended on the way"
    for host in hosts:
        host.close()
