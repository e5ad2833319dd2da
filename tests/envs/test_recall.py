"""The memory task: what it shows, what it pays, and that it keeps the contract."""

import jax
import jax.numpy as jnp
import pytest

from courtside.envs.check import check_env
from courtside.envs.recall import Recall
from courtside.errors import ConfigError
from courtside.settings.worlds import make_jax_env


def play(env, answers):
    """Observations and rewards of one episode in which the agents answer like this in every step."""
    state, obs = env.reset(jax.random.key(0))
    seen, paid = [obs.tolist()], []
    for _ in range(env.delay + 2):
        state, timestep = env.step(state, jnp.asarray(answers(state)), jax.random.key(0))
        seen.append(timestep.obs.tolist())
        paid.append(timestep.reward.tolist())
    assert timestep.terminated.all()
    return state.cue.tolist(), seen[:-1], paid


def test_the_cue_is_shown_once_and_asked_for_after_the_delay():
    env = Recall(delay=2, choices=3, agents=2)
    cue, seen, paid = play(env, lambda state: state.cue)
    assert seen == [cue, [3, 3], [3, 3], [4, 4]]
    assert paid == [[0, 0], [0, 0], [0, 0], [1, 1]]
    assert play(env, lambda state: (state.cue + jnp.array([0, 1])) % 3)[2][-1] == [1, 0]


def test_every_cue_comes_up_and_without_a_delay_the_question_follows_at_once():
    env = Recall(delay=0)
    cues = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 64))[1]
    assert set(cues[:, 0].tolist()) == {0, 1}
    assert play(env, lambda state: state.cue)[1][-1] == [3]


def test_it_keeps_the_contract_and_takes_options():
    env = make_jax_env("probe-memory", {"delay": "3", "agents": "2"})
    assert env == Recall(delay=3, agents=2)
    assert check_env(env, steps=40) == []


@pytest.mark.parametrize("option", ["delay", "choices", "agents"])
def test_options_out_of_range_are_refused(option):
    with pytest.raises(ConfigError, match=rf"{option} of probe-memory is -1, but it must be \d or more"):
        Recall(**{option: -1})
