"""Classic control against Gymnasium itself: Gymnasium's state is copied into ours before each step."""

from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.classic import Acrobot, CartPole, MountainCar, Pendulum
from courtside.envs.wrappers import start_episode, step_episode
from courtside.spaces import Box, Discrete
from courtside.types import EpisodeState
from rounding import rounding

NUM_EPISODES = 16


class Case(NamedTuple):
    env: object
    gym_id: str
    good_action: object
    """A policy that finishes the task, so that both kinds of ending are seen. state -> action"""
    to_ours: object
    """Gymnasium's state as ours."""
    tolerance: float
    """Largest difference of any observed number or reward in one step: float32 against float64. Of MountainCar it is one bit of a
    place beyond 1; a reward of Pendulum is a sum of squares, of an angle that is brought into its range before."""
    margin: object
    """How far each state is from the line at which an episode ends, where rounding may decide."""


def _same(state):
    return state


def _angle_in_range(state):
    return np.stack([(state[..., 0] + np.pi) % (2 * np.pi) - np.pi, state[..., 1]], -1)


def _cartpole_margin(s):
    return np.minimum(np.abs(np.abs(s[:, 0]) - 2.4), np.abs(np.abs(s[:, 2]) - np.radians(12)))


def _acrobot_margin(s):
    return np.abs(-np.cos(s[:, 0]) - np.cos(s[:, 0] + s[:, 1]) - 1)


CASES = {
    "cartpole": Case(CartPole(), "CartPole-v1", lambda s: int(s[2] + 0.5 * s[3] > 0), _same, 1e-6, _cartpole_margin),
    "acrobot": Case(Acrobot(), "Acrobot-v1", lambda s: 2 if s[3] > 0 else 0, _same, 5e-6, _acrobot_margin),
    "mountain-car": Case(
        MountainCar(), "MountainCar-v0", lambda s: 2 if s[1] >= 0 else 0, _same, 2e-7, lambda s: np.abs(s[:, 0] - 0.5)
    ),
    "pendulum": Case(
        Pendulum(),
        "Pendulum-v1",
        lambda s: [np.sign(s[1]) * 2],
        _angle_in_range,
        rounding(np.pi**2 + 6.4, times=8),
        lambda s: np.full(len(s), 1.0),
    ),
}


class Steps(NamedTuple):
    """What Gymnasium did; one row a step."""

    state: np.ndarray
    index: np.ndarray
    action: np.ndarray
    obs: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    next_state: np.ndarray


def play(case: Case) -> Steps:
    """Episodes of Gymnasium's own world, random and good ones by turns."""
    env = gymnasium.make(case.gym_id)
    env.action_space.seed(0)
    rows = []
    for episode in range(NUM_EPISODES):
        env.reset(seed=episode)
        ended, index = False, 0
        while not ended:
            state = np.array(env.unwrapped.state, np.float64)
            action = np.asarray(case.good_action(state) if episode % 2 else env.action_space.sample())
            obs, reward, terminated, truncated, _ = env.step(action.astype(env.action_space.dtype))
            rows.append((state, index, action, obs, reward, terminated, truncated, np.array(env.unwrapped.state)))
            index, ended = index + 1, terminated or truncated
    env.close()
    return Steps(*(np.stack([np.asarray(row[i]) for row in rows]) for i in range(len(Steps._fields))))


@pytest.fixture(scope="module", params=list(CASES))
def played(request):
    case = CASES[request.param]
    return case, play(case)


def our_action(case: Case, action: np.ndarray) -> jax.Array:
    """With the agent axis."""
    discrete = isinstance(case.env.spec.action, Discrete)
    return jnp.asarray(action[:, None], jnp.int32 if discrete else jnp.float32)


def test_each_step_equals_gymnasiums(played):
    case, steps = played
    key = jax.random.key(0)
    inner = jnp.asarray(case.to_ours(steps.state), jnp.float32)
    state = EpisodeState(
        inner,
        jnp.zeros((len(inner), 1), jnp.float32),
        jnp.asarray(steps.index, jnp.int32),
        jnp.zeros((len(inner), 1), bool),
    )

    def one(state, action):
        return step_episode(case.env, state, action, key, start_episode(case.env, key))

    _, ours, end = jax.jit(jax.vmap(one))(state, our_action(case, steps.action))
    np.testing.assert_allclose(ours.final_obs[:, 0], steps.obs, rtol=0, atol=case.tolerance)
    np.testing.assert_allclose(ours.reward[:, 0], steps.reward, rtol=0, atol=case.tolerance)
    clear = case.margin(steps.next_state) > 1e-5
    assert clear.mean() > 0.999
    np.testing.assert_array_equal(ours.terminated[clear, 0], steps.terminated[clear])
    # Gymnasium sets both flags when the task ends on the very last step; ours are never both set.
    np.testing.assert_array_equal(ours.truncated[clear, 0], (steps.truncated & ~steps.terminated)[clear])
    np.testing.assert_array_equal(end.ended[clear], (steps.terminated | steps.truncated)[clear])


def test_the_episodes_compared_end_in_every_way_the_world_knows(played):
    case, steps = played
    assert steps.truncated.any()
    assert steps.terminated.any() or isinstance(case.env, Pendulum)


def test_fifty_steps_on_end_stay_equal(played):
    case, _ = played
    env = gymnasium.make(case.gym_id)
    env.reset(seed=7)
    state = jnp.asarray(case.to_ours(np.array(env.unwrapped.state)), jnp.float32)
    step = jax.jit(case.env.step)
    for _ in range(50):
        action = np.asarray(case.good_action(np.array(env.unwrapped.state)))
        obs, reward, terminated, _, _ = env.step(action.astype(env.action_space.dtype))
        state, ours = step(state, our_action(case, action[None])[0], jax.random.key(0))
        np.testing.assert_allclose(ours.obs[0], obs, rtol=0, atol=2e-4)
        np.testing.assert_allclose(ours.reward[0], reward, rtol=0, atol=2e-4)
        assert bool(ours.terminated[0]) == terminated
        if terminated:
            break
    env.close()


def test_resets_fill_the_same_range_as_gymnasiums(played):
    case, _ = played
    env = gymnasium.make(case.gym_id)
    theirs = []
    for seed in range(1000):
        env.reset(seed=seed)
        theirs.append(np.array(env.unwrapped.state))
    env.close()
    state, obs = jax.vmap(case.env.reset)(jax.random.split(jax.random.key(0), 1000))
    theirs = np.stack(theirs)
    span = np.ptp(theirs, axis=0) + 1e-9
    for bound in (np.min, np.max, np.mean):
        assert np.all(np.abs(bound(state, axis=0) - bound(theirs, axis=0)) < 0.06 * span), bound
    assert obs.shape == (1000, 1, *case.env.spec.observation.shape)


def test_the_spec_is_gymnasiums(played):
    case, _ = played
    env, spec = gymnasium.make(case.gym_id), case.env.spec
    assert spec.time_limit == env.spec.max_episode_steps
    np.testing.assert_array_equal(spec.observation.low_array.astype(np.float32), env.observation_space.low)
    np.testing.assert_array_equal(spec.observation.high_array.astype(np.float32), env.observation_space.high)
    if isinstance(spec.action, Discrete):
        assert spec.action.n == env.action_space.n
    else:
        assert spec.action == Box(-2.0, 2.0, env.action_space.shape)
    env.close()


def test_the_mountain_stops_the_car_at_its_left_end():
    state = jnp.array([-1.19, -0.07], jnp.float32)
    state, _ = MountainCar().step(state, jnp.array([0]), jax.random.key(0))
    np.testing.assert_array_equal(state, np.array([-1.2, 0], np.float32))


def test_the_pendulum_clips_its_torque():
    state = jnp.array([0.3, 0.1], jnp.float32)
    strong, _ = Pendulum().step(state, jnp.array([[9.0]]), jax.random.key(0))
    most, _ = Pendulum().step(state, jnp.array([[2.0]]), jax.random.key(0))
    np.testing.assert_array_equal(strong, most)
