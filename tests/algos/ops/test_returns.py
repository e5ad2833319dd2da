"""Advantages and returns against a loop in float64 and against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from courtside.algos.ops.returns import discounted_running_return, generalized_advantage
from rounding import rounding

T, B = 7, 3
numbers = hnp.arrays(np.float32, (T, B), elements=st.floats(-10, 10, width=32))
flags = hnp.arrays(np.bool_, (T, B))
shares = st.floats(0, 1, width=32)

advantage_jit = jax.jit(generalized_advantage)
running_jit = jax.jit(discounted_running_return)


def slow_advantage(reward, value, next_value, terminated, ended, gamma, lam):
    """Env by env, from the last step back."""
    advantage = np.zeros(reward.shape)
    for b in range(reward.shape[1]):
        following = 0.0
        for t in reversed(range(reward.shape[0])):
            bootstrap = 0.0 if terminated[t, b] else float(next_value[t, b])
            delta = float(reward[t, b]) + gamma * bootstrap - float(value[t, b])
            following = delta + (0.0 if ended[t, b] else gamma * lam * following)
            advantage[t, b] = following
    return advantage


def slow_running(carried, reward, ended, gamma):
    running, rows = carried.astype(np.float64), []
    for t in range(len(reward)):
        running = gamma * running + reward[t]
        rows.append(running.copy())
        running[ended[t]] = 0.0
    return running, np.stack(rows)


def f32(*values):
    return tuple(jnp.asarray(v, jnp.float32) for v in values)


def column(*values, dtype=jnp.float32):
    """One env. [T, 1]"""
    return jnp.asarray(values, dtype)[:, None]


def flag(*values):
    return column(*values, dtype=bool)


@given(numbers, numbers, numbers, flags, flags, shares, shares)
def test_advantage_agrees_with_the_loop(reward, value, next_value, terminated, truncated, gamma, lam):
    ended = terminated | truncated
    found = advantage_jit(
        *f32(reward, value, next_value), jnp.asarray(terminated), jnp.asarray(ended), *f32(gamma, lam)
    )
    expected = slow_advantage(reward, value, next_value, terminated, ended, gamma, lam)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-4)


def test_advantage_by_hand():
    """γ = ½, λ = ½. δ = 1 + ½·4 - 2 = 1, then 2 + ½·6 - 4 = 1; Â₁ = 1, Â₀ = 1 + ¼·1."""
    no = flag(False, False)
    found = generalized_advantage(column(1, 2), column(2, 4), column(4, 6), no, no, *f32(0.5, 0.5))
    np.testing.assert_array_equal(found[:, 0], [1.25, 1.0])


def test_a_terminated_step_bootstraps_nothing_and_stops_the_flow():
    """Step 1 terminates: δ₁ = 2 - 4 = -2 whatever follows; Â₀ = 1 + ¼·(-2). Step 2 belongs to another episode."""
    terminated = flag(False, True, False)
    found = generalized_advantage(
        column(1, 2, 8), column(2, 4, 3), column(4, 1e6, 2), terminated, terminated, *f32(0.5, 0.5)
    )
    np.testing.assert_array_equal(found[:, 0], [0.5, -2.0, 6.0])


def test_a_truncated_step_bootstraps_but_stops_the_flow():
    """Step 1 is cut: δ₁ = 2 + ½·6 - 4 = 1 counts V of what would have followed; nothing comes from step 2."""
    ended = flag(False, True, False)
    found = generalized_advantage(
        column(1, 2, 8), column(2, 4, 3), column(4, 6, 2), flag(False, False, False), ended, *f32(0.5, 0.5)
    )
    np.testing.assert_array_equal(found[:, 0], [1.25, 1.0, 6.0])


@pytest.mark.parametrize(
    ("terminated", "ended", "expected"),
    [(False, False, 1 + 0.9 * 5 - 2), (False, True, 1 + 0.9 * 5 - 2), (True, True, 1 - 2)],
    ids=["goes on", "cut", "over"],
)
def test_one_step_only(terminated, ended, expected):
    found = generalized_advantage(column(1), column(2), column(5), flag(terminated), flag(ended), *f32(0.9, 0.95))
    np.testing.assert_allclose(found, [[expected]], rtol=0, atol=rounding(5.0, times=6))


@pytest.mark.parametrize("terminated", [False, True])
def test_an_end_at_the_last_step(terminated):
    """Same rule at the edge of the rollout: a cut counts 0.9·5, a true end nothing."""
    last = 1 - 2 + (0 if terminated else 0.9 * 5)
    found = generalized_advantage(
        column(0, 1), column(3, 2), column(2, 5), flag(False, terminated), flag(False, True), *f32(0.9, 0.5)
    )
    expected = [0.9 * 2 - 3 + 0.45 * last, last]  # made of numbers up to 5, which nearly cancel
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=rounding(5.0, times=6))


def test_lambda_one_is_the_discounted_sum_minus_value():
    rng = np.random.default_rng(0)
    reward, value = rng.normal(size=(2, T, B)).astype(np.float32)
    last = np.float32([1.0, 2.0, 3.0])
    following = np.concatenate([value[1:], last[None]])
    no = jnp.zeros((T, B), bool)
    found = advantage_jit(*f32(reward, value, following), no, no, *f32(0.9, 1.0))
    powers = 0.9 ** np.arange(T)
    for t in range(T):
        total = (powers[: T - t, None] * reward[t:]).sum(0) + 0.9 ** (T - t) * last
        np.testing.assert_allclose(found[t], total - value[t], rtol=1e-4, atol=1e-5)


def test_advantage_takes_any_trailing_axes_and_vmap():
    rng = np.random.default_rng(1)
    reward, value, following = rng.normal(size=(3, T, 4, 2)).astype(np.float32)
    ended = rng.random((T, 4, 2)) < 0.3
    arguments = (*f32(reward, value, following), jnp.asarray(ended), jnp.asarray(ended), *f32(0.9, 0.8))
    plain = generalized_advantage(*arguments)
    by_env = jax.vmap(generalized_advantage, in_axes=(1, 1, 1, 1, 1, None, None), out_axes=1)(*arguments)
    np.testing.assert_allclose(plain, by_env, rtol=1e-6)
    np.testing.assert_allclose(plain, advantage_jit(*arguments), rtol=1e-5, atol=1e-6)


@given(hnp.arrays(np.float32, (B,), elements=st.floats(-10, 10, width=32)), numbers, flags, shares)
def test_running_return_agrees_with_the_loop(carried, reward, ended, gamma):
    got_carried, got = running_jit(*f32(carried, reward), jnp.asarray(ended), *f32(gamma))
    expected_carried, expected = slow_running(carried, reward, ended, gamma)
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=2e-4)
    np.testing.assert_allclose(got_carried, expected_carried, rtol=2e-5, atol=2e-4)


def test_running_return_by_hand():
    """Carried 2, rewards 1 2 4, an end after the second: ½·2+1 = 2, ½·2+2 = 3, then 4 anew."""
    carried, running = discounted_running_return(
        *f32([2.0], [[1.0], [2.0], [4.0]]), flag(False, True, False), *f32(0.5)
    )
    np.testing.assert_array_equal(running[:, 0], [2, 3, 4])
    np.testing.assert_array_equal(carried, [4])


def test_running_return_carries_nothing_over_an_end_at_the_last_step():
    carried, running = discounted_running_return(*f32([2.0], [[1.0]]), flag(True), *f32(0.5))
    np.testing.assert_array_equal(running, [[2.0]])
    np.testing.assert_array_equal(carried, [0.0])


def test_running_return_in_two_pieces_is_the_whole():
    rng = np.random.default_rng(2)
    reward, ended = rng.normal(size=(T, B)).astype(np.float32), rng.random((T, B)) < 0.3
    start, gamma = jnp.zeros(B), jnp.float32(0.9)
    _, whole = discounted_running_return(start, jnp.asarray(reward), jnp.asarray(ended), gamma)
    carried, first = discounted_running_return(start, jnp.asarray(reward[:4]), jnp.asarray(ended[:4]), gamma)
    _, second = discounted_running_return(carried, jnp.asarray(reward[4:]), jnp.asarray(ended[4:]), gamma)
    np.testing.assert_array_equal(whole, np.concatenate([first, second]))
