"""A population in one program: vmapped over seeds and over settings it agrees with single runs."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import ppo, team
from courtside.engines import rollout
from courtside.engines.jax_engine import init_run
from courtside.settings.config import Config, override
from courtside.settings.worlds import make_jax_env
from tree_equality import as_numpy, assert_close

CONFIG = override(
    Config(), num_envs=4, num_steps=8, num_minibatches=2, update_epochs=2, hidden_sizes=(8,), total_timesteps=3200
)
SEEDS = jnp.arange(4, dtype=jnp.uint32)
ROUNDS = 3


@pytest.fixture(scope="module")
def parts():
    env = make_jax_env("cartpole")
    return env, team.make_team(CONFIG, env.spec), ppo.make_hyper(CONFIG)


def three_rounds(env, learners, hyper, seed):
    """init, then collect and update three times."""
    state = init_run(env, learners, seed)

    def one_round(_, state):
        state, collected, _ = rollout.collect(env, learners, state)
        return team.update(learners, hyper, state, collected)[0]

    return jax.lax.fori_loop(0, ROUNDS, one_round, state)


@pytest.fixture(scope="module")
def single(parts):
    env, learners, _ = parts
    return jax.jit(functools.partial(three_rounds, env, learners))


def member(tree, i):
    return jax.tree.map(lambda x: x[i], tree)


def assert_same_run(a, b):
    """Integers and keys exactly, numbers within what a different order of sums may bring over three updates."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        x, y = as_numpy(x), as_numpy(y)
        if not np.issubdtype(x.dtype, np.floating):
            np.testing.assert_array_equal(x, y)
    assert_close(a, b, rtol=1e-3, atol=1e-4)


def test_four_seeds_at_once_are_four_single_runs(parts, single):
    env, learners, hyper = parts
    together = jax.jit(jax.vmap(lambda seed: three_rounds(env, learners, hyper, seed)))(SEEDS)
    for i in range(4):
        assert_same_run(member(together, i), single(hyper, SEEDS[i]))
    weights = np.asarray(together.learners[0].params.policy_head.weight)
    assert len({w.tobytes() for w in weights}) == 4


def test_two_rates_at_once_are_two_single_runs(parts, single):
    env, learners, hyper = parts
    rates = jnp.array([1e-4, 3e-3])
    many = eqx.tree_at(lambda h: h.learning_rate.start, hyper, rates)
    axes = eqx.tree_at(
        lambda h: h.learning_rate.start, jax.tree.map(lambda _: None, hyper), 0, is_leaf=lambda x: x is None
    )
    together = jax.jit(jax.vmap(lambda h: three_rounds(env, learners, h, jnp.uint32(1)), in_axes=(axes,)))(many)
    singles = [single(eqx.tree_at(lambda h: h.learning_rate.start, hyper, rate), jnp.uint32(1)) for rate in rates]
    for i in range(2):
        assert_same_run(member(together, i), singles[i])
    weight = lambda state: np.asarray(state.learners[0].params.value_head.weight)  # noqa: E731
    start = weight(jax.jit(functools.partial(init_run, env, learners))(np.uint32(1)))
    moved = [np.abs(weight(s) - start).mean() for s in singles]
    assert moved[1] > 10 * moved[0]
