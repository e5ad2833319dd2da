"""The two-agent toys: they keep the contract, best play earns what is promised, and nobody gains by playing otherwise."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.check import check_env, traced_faults
from courtside.envs.duo import Chase, Meet
from courtside.envs.wrappers import start_episode, step_episode
from rounding import rounding

EPISODES = 300
MEET, CHASE = Meet(), Chase()


@partial(jax.jit, static_argnums=0)
def play(env, at_random):
    """Optimum and real return of many first episodes; who is `at_random` draws its actions, who is not plays best."""

    def episode(key):
        fresh = start_episode(env, key)

        def step(carry, step_key):
            state, over, total = carry
            best, uniform = env.best_action(state.inner), jax.random.uniform(step_key, sizes, minval=-1.0)
            action = jnp.where(at_random[:, None], uniform, best)
            state, timestep, end = step_episode(env, state, action, key, fresh)
            return (state, over | end.ended, total + jnp.where(over, 0.0, timestep.reward)), None

        sizes, start = (2, *env.spec.action.shape), (fresh[0], jnp.asarray(False), jnp.zeros(2))
        (_, over, total), _ = jax.lax.scan(step, start, jax.random.split(key, env.spec.time_limit))
        return env.optimal_return(fresh[0].inner), total, over

    return jax.vmap(episode)(jax.random.split(jax.random.key(0), EPISODES))


def returns_of(env, at_random):
    best, got, over = map(np.asarray, play(env, jnp.asarray(at_random)))
    assert np.all(over)
    return best, got


def test_worlds_keep_the_contract():
    assert check_env(CHASE, steps=60) == []
    assert traced_faults(MEET) == []


@pytest.mark.parametrize(("env", "mean"), [(MEET, (-1.35, -1.35)), (CHASE, (-0.975, 0.975))], ids=["meet", "chase"])
def test_best_play_earns_the_optimum(env, mean):
    """In every episode, and on average what the documents say."""
    best, got = returns_of(env, [False, False])
    np.testing.assert_allclose(got, best, atol=2e-5)
    np.testing.assert_allclose(got.mean(0), mean, atol=0.12)


@pytest.mark.parametrize("at_random", [[True, False], [True, True]], ids=["one", "both"])
def test_nobody_meets_faster(at_random):
    best, got = returns_of(MEET, at_random)
    assert np.all(got <= best + 2e-5)
    assert got.mean() < best.mean() - 0.3


@pytest.mark.parametrize("deviates", [0, 1], ids=["chaser", "runner"])
def test_chase_has_a_saddle_point(deviates):
    """Whoever leaves the best play loses by it, and the other gains as much."""
    best, got = returns_of(CHASE, [deviates == 0, deviates == 1])
    assert np.all(got[:, deviates] <= best[:, deviates] + 2e-5)
    assert got[:, deviates].mean() < best[:, deviates].mean() - 0.2
    np.testing.assert_array_equal(got[:, 0], -got[:, 1])


def test_steps_by_hand():
    """Both go along the first axis, one asking for more than 0.1, one into the wall: 0.4 and 0 apart, so -0.2 each."""
    place = jnp.float32([[0.5, 0.2], [0.95, 0.2]])
    state, timestep = MEET.step(place, jnp.float32([[2.0, 0.0], [1.0, 0.0]]), jax.random.key(0))
    near = rounding(1.0, times=4)  # a place is the one before and a product
    np.testing.assert_allclose(state, [[0.6, 0.2], [1.0, 0.2]], rtol=0, atol=near)
    np.testing.assert_allclose(timestep.reward, [-0.2, -0.2], rtol=0, atol=2 * near)
    np.testing.assert_allclose(timestep.obs[1], [1.0, 0.2, 0.6, 0.2], rtol=0, atol=near)


@pytest.mark.parametrize(
    ("places", "action", "gap"),
    [((0.0, 0.3), (1, 1), 0.25), ((0.0, -0.3), (-1, 1), 0.05), ((0.0, 0.1), (1, -1), 0), ((0.9, 1.0), (0, 1), 0.1)],
    ids=["away", "towards", "not past", "wall"],
)
def test_chase_by_hand(places, action, gap):
    state, timestep = CHASE.step(jnp.float32(places), jnp.float32(action)[:, None], jax.random.key(0))
    np.testing.assert_allclose(timestep.reward, [-gap, gap], atol=1e-6)
    assert timestep.terminated.tolist() == [gap == 0] * 2
    np.testing.assert_allclose(abs(state[1] - state[0]), gap, atol=1e-6)


@pytest.mark.parametrize("env", [MEET, CHASE], ids=["meet", "chase"])
def test_script_plays_best(env):
    state, _ = env.reset(jax.random.key(3))
    for agent in range(2):
        np.testing.assert_array_equal(
            env.scripts["best"](state, agent, jax.random.key(0)), env.best_action(state)[agent]
        )
