"""The answers that the probes carry, found again by brute force: simulate, and take the mean of the returns."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside import encoding
from courtside.envs import probe
from courtside.envs.check import check_env, sample_action
from courtside.envs.wrappers import start_episode, step_episode
from courtside.settings import worlds

GAMMA = 0.9


def names(kind):
    return kind.__name__


def first_states(env, num=64):
    return jax.vmap(env.reset)(jax.random.split(jax.random.key(0), num))


def discounted_return(env, state, obs, gamma, horizon=150):
    """What the best policy collects from here when only a true end stops it. [A]"""

    def one_step(carry, key):
        state, obs, weight = carry
        best = env.best_action(obs)
        action = sample_action(env.spec, key) if best is None else best
        state, timestep = env.step(state, action, key)
        alive = 1 - jnp.all(timestep.terminated).astype(jnp.float32)
        return (state, timestep.obs, weight * gamma * alive), weight * timestep.reward

    start = (state, obs, jnp.ones((), jnp.float32))
    return jax.lax.scan(one_step, start, jax.random.split(jax.random.key(0), horizon))[1].sum(0)


@pytest.mark.parametrize("kind", probe.PROBES, ids=names)
def test_the_known_value_is_what_the_best_policy_collects(kind):
    env = kind()

    def found_and_known(key):
        state, obs = env.reset(key)
        later, timestep = env.step(state, sample_action(env.spec, key), key)
        found = [discounted_return(env, state, obs, GAMMA), discounted_return(env, later, timestep.obs, GAMMA)]
        known = [env.known_value(obs, GAMMA), env.known_value(timestep.obs, GAMMA)]
        return jnp.stack(found), jnp.stack(known)

    found, known = jax.jit(jax.vmap(found_and_known))(jax.random.split(jax.random.key(0), 16))
    np.testing.assert_allclose(found, known, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", probe.PROBES, ids=names)
def test_no_other_action_pays_more(kind):
    env = kind()
    states, obs = first_states(env)
    keys = jax.random.split(jax.random.key(3), 64)
    other = jax.vmap(lambda k: sample_action(env.spec, k))(keys)
    best = jax.vmap(env.best_action)(obs) if env.best_action(obs[0]) is not None else other
    paid = [jax.vmap(env.step, in_axes=(0, 0, None))(states, a, keys[0])[1].reward for a in (best, other)]
    assert np.all(np.asarray(paid[0]) >= np.asarray(paid[1]))
    if env.best_action(obs[0]) is not None:
        assert np.all(np.asarray(paid[0]).sum(0) > np.asarray(paid[1]).sum(0))


@pytest.mark.parametrize("kind", probe.PROBES, ids=names)
def test_the_observations_to_ask_about_are_ones_the_world_shows(kind):
    env = kind()
    asked = env.probe_obs()
    assert asked.shape[1:] == first_states(env)[1].shape[1:]
    shown = [first_states(env, 256)[1]]
    state, _ = first_states(env, 256)
    _, timestep = jax.vmap(env.step, in_axes=(0, None, None))(
        state, sample_action(env.spec, jax.random.key(0)), jax.random.key(0)
    )
    shown = np.concatenate([*shown, timestep.obs])
    reach = 0.05 if isinstance(env, probe.Continuous) else 0
    for obs in np.asarray(asked):
        assert np.min(np.abs(shown - obs).reshape(len(shown), -1).max(-1)) <= reach


def test_a_cut_and_an_end_have_clearly_different_values():
    env = probe.TimeLimit()
    for obs in env.probe_obs():
        assert np.all(env.known_value(obs, GAMMA) > 1.5 * np.abs(env.value_if_ended(obs, GAMMA)))
    np.testing.assert_allclose(env.known_value(jnp.ones((1, 1)), GAMMA), [10], rtol=1e-5)
    # By hand: one, two or three ones are left, discounted by 0.9: 1, 1.9, 2.71.
    np.testing.assert_allclose(env.value_if_ended(jnp.ones((1, 1)), GAMMA), [(1 + 1.9 + 2.71) / 3], rtol=1e-5)
    np.testing.assert_allclose(env.value_if_ended(-jnp.ones((1, 1)), GAMMA), [-1 + 0.9 * 2.71], rtol=1e-5)


def test_the_time_limit_probe_is_cut_every_fourth_step_and_never_ends():
    env = probe.TimeLimit()
    state, _ = start_episode(env, jax.random.key(0))
    cut = []
    for _ in range(12):
        state, timestep, _ = step_episode(
            env, state, jnp.array([0]), jax.random.key(0), start_episode(env, jax.random.key(0))
        )
        cut.append(bool(timestep.truncated[0]))
        assert not timestep.terminated[0]
    assert cut == [False, False, False, True] * 3


def test_the_two_agents_have_opposite_rules():
    env = probe.TwoAgents()
    obs = jnp.array([[1, -1], [1, 1]], jnp.float32)
    np.testing.assert_array_equal(env.best_action(obs), [1, 0])
    _, timestep = env.step(obs, jnp.array([1, 1]), jax.random.key(0))
    np.testing.assert_array_equal(timestep.reward, [1, -2])


@pytest.mark.parametrize("kind", probe.PROBES, ids=names)
def test_every_probe_is_in_the_registry_and_keeps_the_contract(kind):
    env = kind()
    entry = next(e for e in worlds.ENVS if e.name == env.spec.name)
    assert type(worlds.make_jax_env(entry.name)) is kind
    assert encoding.encode(env.spec.observation, env.probe_obs(), jnp).ndim == 3
    assert check_env(env, steps=40) == []
