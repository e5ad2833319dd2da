"""Worlds whose next episode begins from how the last one ended: everyone who plays several in a row goes on from there."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.cli.keyboard import run, set_up
from courtside.envs.base import make_timestep
from courtside.envs.check import run_checks
from courtside.envs.wrappers import goes_on
from courtside.interop.gymnasium_env import WorldEnv
from courtside.interop.parallel import parallel_env
from courtside.interop.vector_env import WorldVectorEnv
from courtside.spaces import Box, Discrete
from courtside.types import EnvSpec

RELAY = f"{__name__}:Relay"


@dataclass(frozen=True)
class Relay:
    """Two agents see a counter that goes up by one each step; the task is over when it can be divided by four.

    A match begins at 1; the next episode begins ten above where the last one ended.
    """

    spec: EnvSpec = EnvSpec(
        name="relay",
        observation=Box(0.0, 1e6, (1,)),
        action=Discrete(2),
        num_agents=2,
        time_limit=6,
        agent_names=("one", "two"),
    )

    def reset(self, key):
        return self._begin(jnp.ones((), jnp.int32))

    def next_episode(self, state, key):
        return self._begin(state + 10)

    def step(self, state, action, key):
        state = state + 1
        _, obs = self._begin(state)
        return state, make_timestep(obs, jnp.zeros(2, jnp.float32), jnp.broadcast_to(state % 4 == 0, (2,)))

    def _begin(self, state):
        return state, jnp.broadcast_to(state.astype(jnp.float32), (2, 1))


def test_it_keeps_the_contract_and_a_next_episode_of_another_shape_does_not():
    assert [fault for result in run_checks(Relay(), steps=40) for fault in result.faults] == []

    class Drifts(Relay):
        def next_episode(self, state, key):
            return (state + 10).astype(jnp.float32), self._begin(state)[1]

    faults = [str(fault) for result in run_checks(Drifts(), steps=4) for fault in result.faults]
    assert len(faults) == 1
    assert "float32[] after next_episode" in faults[0]


def test_gymnasium_goes_on_unless_a_seed_is_given():
    env = WorldEnv(RELAY)
    seen = [float(env.reset(seed=3)[0][0])]
    seen += [float(env.step(0)[0][0]) for _ in range(3)]
    seen += [float(env.reset()[0][0]), float(env.reset()[0][0]), float(env.reset(seed=3)[0][0])]
    assert seen == [1, 2, 3, 4, 14, 24, 1]


def test_pettingzoo_goes_on_unless_a_seed_is_given():
    env = parallel_env(RELAY)
    seen = [float(env.reset(seed=3)[0]["two"][0])]
    seen += [float(env.step({"one": 0, "two": 1})[0]["two"][0]) for _ in range(3)]
    seen += [float(env.reset()[0]["two"][0]), float(env.reset(seed=1)[0]["two"][0])]
    assert seen == [1, 2, 3, 4, 14, 1]


@pytest.mark.parametrize(
    ("mode", "expected"), [("NextStep", [2, 3, 4, 14, 15, 16, 26]), ("SameStep", [2, 3, 14, 15, 26, 27, 38])]
)
def test_a_batch_goes_on_by_itself_and_when_reset(mode, expected):
    env = WorldVectorEnv(RELAY, num_envs=2, autoreset_mode=mode)
    env.reset(seed=0)
    seen = [env.step(np.zeros(2, int))[0][:, 0].tolist() for _ in range(7)]
    assert seen == [[value, value] for value in expected]
    assert env.reset()[0][:, 0].tolist() == [expected[-1] + 10] * 2
    assert env.reset(seed=[None, 5])[0][:, 0].tolist() == [expected[-1] + 20, 1]


def test_playing_goes_on_after_a_restart():
    table = set_up(Relay(), 0)
    game = run(table, ["1", "1", "r", "1"], lambda game: None)
    assert float(game.obs[0, 0]) == 1 + 2 + 10 + 1


def test_opponents_do_not_hide_it():
    env = WorldEnv(RELAY, learner="two")
    assert goes_on(env.world)
    assert jax.tree.structure(env.world.reset(jax.random.key(0))) == jax.tree.structure(
        env.world.next_episode(env.world.reset(jax.random.key(0))[0], jax.random.key(1))
    )
