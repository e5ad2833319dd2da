"""Opponents: whose action reaches the world, what the learners get back, and that new parameters need no new program."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import ppo
from courtside.algos.group import make_group
from courtside.engines.opponents import Frozen
from courtside.envs.base import make_timestep
from courtside.envs.check import run_checks
from courtside.envs.opponents import Scripted, Still, Uniform, WithOpponents, still_action
from courtside.envs.wrappers import start_episode, step_episode
from courtside.settings.config import Config
from courtside.spaces import Box, Discrete, MultiDiscrete
from courtside.types import EnvSpec, make_key


@dataclasses.dataclass(frozen=True)
class Echo:
    """Three agents see everybody's last action; each is paid its own action plus ten times its number.

    The agents leave one after the other: agent i is done after i + 2 steps.
    """

    spec: EnvSpec = EnvSpec(
        name="echo", observation=Box(-1.0, 9.0, (3,)), action=Discrete(7), num_agents=3,
        agent_names=("red_0", "red_1", "blue_0"),
    )  # fmt: skip
    noop_action: int = 6

    @property
    def scripts(self):
        return {"count": lambda state, agent, key: (state["step"] + agent).astype(jnp.int32)}

    def reset(self, key):
        return {"step": jnp.zeros((), jnp.int32)}, jnp.full((3, 3), -1.0, jnp.float32)

    def step(self, state, action, key):
        step = state["step"] + 1
        obs = jnp.broadcast_to(action.astype(jnp.float32)[None], (3, 3))
        reward = action.astype(jnp.float32) + 10.0 * jnp.arange(3)
        return {"step": step}, make_timestep(obs, reward, step >= jnp.arange(3) + 2, info={"steps": step})


ECHO, KEY = Echo(), make_key(0)


def played(env, action, key=KEY):
    """Everybody's actions in the first step."""
    state, _ = env.reset(key)
    return np.asarray(env.step(state, jnp.asarray(action, jnp.int32), key)[1].obs[0]).astype(int).tolist()


def test_actions_and_rows_go_to_the_right_agents():
    env = WithOpponents(ECHO, (None, Still(), None))
    assert env.learners == (0, 2)
    assert (env.spec.num_agents, env.spec.names) == (2, ("red_0", "blue_0"))
    state, obs = env.reset(KEY)
    assert obs.shape == (2, 3)
    state, timestep = env.step(state, jnp.array([3, 4]), KEY)
    assert timestep.obs[0].tolist() == [3, 6, 4]
    assert timestep.reward.tolist() == [3, 24]
    assert timestep.terminated.shape == timestep.truncated.shape == (2,)
    assert timestep.info["steps"] == 1
    assert state.obs.shape == (3, 3)


def test_scripts_see_the_state_and_who_they_play():
    env = WithOpponents(ECHO, (None, Scripted("count"), Scripted("count")))
    assert played(env, [5]) == [5, 1, 2]


def test_random_opponents_draw_every_action_alike_and_independently():
    env = WithOpponents(ECHO, (None, Uniform(), Uniform()))
    state, _ = env.reset(KEY)
    keys = jax.random.split(KEY, 7000)
    actions = jax.vmap(lambda key: env.step(state, jnp.array([1]), key)[1].obs[0])(keys).astype(int)
    assert set(actions[:, 0].tolist()) == {1}
    for column in (1, 2):
        counts = np.bincount(actions[:, column], minlength=7)
        assert np.abs(counts - 1000).max() < 150
    assert 0.1 < np.mean(actions[:, 1] == actions[:, 2]) < 0.19


def test_the_episode_ends_with_the_last_learner():
    env = WithOpponents(ECHO, (None, None, Still()))
    fresh = start_episode(env, KEY)
    state, ends = fresh[0], []
    for _ in range(4):
        state, timestep, end = step_episode(env, state, jnp.array([0, 0]), KEY, fresh)
        ends.append((bool(end.ended), timestep.terminated.tolist()))
    assert ends == [(False, [False, False]), (False, [True, False]), (True, [True, True]), (False, [False, False])]


@pytest.fixture(scope="module")
def setup():
    return make_group(Config(), ECHO.spec.observation, ECHO.spec.action, 1)


def frozen(setup, seed, greedy=False):
    return Frozen(ppo.init(setup, make_key(seed)).policy, setup, greedy)


def preferring(setup, action, greedy=False):
    """A network that all but always takes one action."""
    opponent = frozen(setup, 0, greedy)
    bias = 50.0 * jnp.eye(7)[action]
    return eqx.tree_at(lambda o: o.policy.params.policy_head.bias, opponent, bias)


def test_a_frozen_network_plays_its_agent(setup):
    env = WithOpponents(ECHO, (preferring(setup, 2), None, preferring(setup, 5, greedy=True)))
    assert played(env, [1]) == [2, 1, 5]


def test_a_frozen_network_draws_unless_it_is_greedy(setup):
    draws = {played(WithOpponents(ECHO, (None, None, frozen(setup, 0))), [0, 0], make_key(i))[2] for i in range(8)}
    most_likely = {
        played(WithOpponents(ECHO, (None, None, frozen(setup, 0, True))), [0, 0], make_key(i))[2] for i in range(8)
    }
    assert (len(draws) > 2, len(most_likely)) == (True, 1)


def test_another_opponent_of_the_same_shape_needs_no_new_program(setup):
    traced = []

    @eqx.filter_jit
    def first_step(env, key):
        traced.append(env)
        state, _ = env.reset(key)
        return env.step(state, jnp.array([0, 0]), key)[1].obs[0, 2]

    for action in (1, 4, 6):
        assert first_step(WithOpponents(ECHO, (None, None, preferring(setup, action))), KEY) == action
    assert len(traced) == 1


def test_it_is_a_world_that_keeps_the_contract():
    results = run_checks(WithOpponents(ECHO, (None, Uniform(), Still())), steps=20)
    assert [str(fault) for result in results for fault in result.faults] == []


def test_pictures_are_the_worlds_own():
    env = WithOpponents(ECHO, (None, None, Still()))
    assert not hasattr(env, "render")

    class Drawn(Echo):
        def render(self, state):
            return state["step"]

    env = WithOpponents(Drawn(), (None, None, Still()))
    assert env.render(env.reset(KEY)[0]) == 0


@pytest.mark.parametrize(
    ("space", "noop", "expected"),
    [
        (Discrete(3), None, 0),
        (Discrete(3, 5), None, 5),
        (Discrete(7), 6, 6),
        (MultiDiscrete((7, 7)), 6, [6, 6]),
        (MultiDiscrete((2, 3), (4, 5)), None, [4, 5]),
        (Box(-1.0, 1.0, (2,)), None, [0, 0]),
        (Box(2.0, 3.0, (1,)), None, [2]),
    ],
)
def test_doing_nothing(space, noop, expected):
    assert still_action(space, noop).tolist() == expected
