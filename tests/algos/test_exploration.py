"""Exploration: what is added to a greedy action, and how it goes on from rollout to rollout."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from courtside.algos import exploration
from courtside.algos.nets.deterministic import make_actor
from courtside.engines import backend
from rounding import rounding
from tree_equality import assert_bit_equal, assert_close, differs

B, A, U, D = 4, 2, 2, 3
GREEDY = jnp.linspace(-0.9, 0.9, B * A * U).reshape(B, A, U)
NOISE = jnp.asarray(np.random.default_rng(0).normal(size=(B, A, U)), jnp.float32)
NOBODY = jnp.zeros(B, bool)
KEYS = [jax.random.key(i) for i in range(8)]
jit = lambda f: jax.jit(f, compiler_options=backend.compiler_options(0))  # noqa: E731
move_on = jit(exploration.move_on)
end_episodes = jax.jit(exploration.end_episodes, static_argnums=2)


@pytest.fixture(scope="module")
def actors():
    """Five actors stacked, some way from their start."""
    made = jit(jax.vmap(lambda key: make_actor(D, U, (8, 8), "tanh", "fan-in", key)))(jax.random.split(KEYS[0], 5))
    return jax.tree.map(lambda x: 3 * x, made)


@pytest.fixture(scope="module")
def actor(actors):
    return jax.tree.map(lambda x: x[0], actors)


def begin(actor, kind, ensemble=1, **changes):
    """Past the random start, noise of scale 0.3."""
    state = exploration.make_exploration(actor, kind, B, A, U, ensemble)
    return dataclasses.replace(state, **({"scale": jnp.float32(0.3), "at_random": jnp.asarray(False)} | changes))


def go_on(state, params, ended=NOBODY, key=KEYS[1], scale=0.3, at_random=False, distance=0.0):
    numbers = (jnp.float32(scale), jnp.asarray(at_random), jnp.float32(distance), jnp.float32(0.15))
    return move_on(state, params, key, ended[0], *numbers)


@pytest.mark.parametrize("kind", ["gaussian", "ou", "parameter"])
def test_actions_are_uniform_while_the_replay_is_filled(actor, kind):
    state = exploration.make_exploration(actor, kind, 2_000, A, U, 1)
    noise = jnp.asarray(np.random.default_rng(1).normal(size=(2_000, A, U)), jnp.float32)
    action, _ = exploration.explore(state, jnp.full((2_000, A, U), 0.7), noise)
    assert stats.kstest(np.asarray(action).ravel(), stats.uniform(-1, 2).cdf).pvalue > 0.01


def test_gaussian_noise_is_added_and_clipped(actor):
    action, after = exploration.explore(begin(actor, "gaussian"), GREEDY, NOISE)
    np.testing.assert_allclose(action, np.clip(GREEDY + 0.3 * NOISE, -1, 1), rtol=1e-6)
    assert after.drift is None


def test_drifting_noise_remembers_until_the_episode_ends(actor):
    state = begin(actor, "ou", theta=jnp.float32(0.15))
    _, state = exploration.explore(state, GREEDY, NOISE)
    action, state = exploration.explore(state, GREEDY, -NOISE)
    drift = 0.3 * NOISE * 0.85 - 0.3 * NOISE
    np.testing.assert_allclose(state.drift, drift, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(action, np.clip(GREEDY + drift, -1, 1), rtol=1e-5, atol=1e-6)
    after = end_episodes(state, NOBODY.at[2].set(True), 1)
    np.testing.assert_array_equal(after.drift, state.drift.at[2].set(0.0))


def test_parameter_noise_acts_by_a_copy_and_adds_nothing_to_the_action(actor):
    state = go_on(begin(actor, "parameter"), actor)
    assert_bit_equal(exploration.acting_params(actor, state), state.perturbed)
    assert differs(state.perturbed, actor)
    action, _ = exploration.explore(state, GREEDY, NOISE)
    np.testing.assert_array_equal(action, GREEDY)
    plain = begin(actor, "gaussian")
    assert exploration.acting_params(actor, plain) is actor


def test_parameter_noise_finds_the_deviation_that_moves_actions_as_wanted(actor):
    """From far too small and from far too large; until learning begins nothing is measured."""
    features = jnp.asarray(np.random.default_rng(2).normal(size=(64, D)), jnp.float32)
    measure = jit(lambda state: jnp.sqrt(jnp.mean(jnp.square(state.perturbed(features) - actor(features)))))
    for sigma in (0.02, 2.0):
        state, found = go_on(begin(actor, "parameter", sigma=jnp.float32(sigma)), actor), []
        for i in range(500):
            key = jax.random.key(i)
            state = go_on(state, actor, NOBODY.at[0].set(True), key, distance=measure(state))
            found.append(float(measure(state)))
        assert np.mean(found[-100:]) == pytest.approx(0.3, rel=0.25), sigma
    waiting = begin(actor, "parameter", at_random=jnp.asarray(True))
    assert float(go_on(waiting, actor, at_random=True).sigma) == float(waiting.sigma)


def test_parameter_noise_keeps_its_direction_through_an_episode(actor):
    """Steps that follow each other are pushed the same way, or the noise would be that of single actions."""
    first = go_on(begin(actor, "parameter"), actor, NOBODY.at[0].set(True))
    learned = jax.tree.map(lambda x: x + 0.5, actor)
    second = go_on(first, learned, NOBODY.at[1].set(True), KEYS[2])
    push = lambda state, params: jax.tree.map(lambda a, b: (a - b) / state.sigma, state.perturbed, params)  # noqa: E731
    assert_close(push(first, actor), push(second, learned), rtol=1e-3, atol=1e-3)
    third = go_on(second, learned, NOBODY.at[0].set(True), KEYS[3])
    assert np.abs(push(third, learned).head.bias - push(second, learned).head.bias).max() > 0.1


def test_envs_keep_their_sub_policy_until_their_episode_ends(actors):
    state = begin(actors, "gaussian", 5)
    assert state.member.tolist() == [0, 1, 2, 3]
    for expected in ([0, 2, 2, 3], [0, 3, 2, 3], [0, 4, 2, 3], [0, 0, 2, 3]):
        state = end_episodes(state, NOBODY.at[1].set(True), 5)
        assert state.member.tolist() == expected
    assert_bit_equal(end_episodes(state, NOBODY, 5), state)


def test_each_env_is_played_by_its_own_sub_policy(actors):
    features = jnp.asarray(np.random.default_rng(3).normal(size=(B, A, D)), jnp.float32)
    one = lambda k, x: jax.tree.map(lambda w: w[k], actors)(x)  # noqa: E731
    chosen = exploration.ensemble_actions(actors, features, jnp.asarray([3, 0, 3, 1], jnp.int32))
    near = rounding(chosen, times=100)  # an action is a sum over hidden units, and may be small where that is large
    expected = jnp.stack([one(k, features[i]) for i, k in enumerate((3, 0, 3, 1))])
    np.testing.assert_allclose(chosen, expected, rtol=0, atol=near)
    in_turn = exploration.ensemble_actions(actors, features, None)
    np.testing.assert_allclose(in_turn, jnp.stack([one(i, features[i]) for i in range(B)]), rtol=0, atol=near)
    alone = exploration.ensemble_actions(actors, features[0, 0], None)
    np.testing.assert_allclose(alone, one(0, features[0, 0]), rtol=0, atol=near)
