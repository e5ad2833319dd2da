"""The LSTM: its equations by hand, sequences against single steps, and its own gradient against JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.nets.actor_critic import make_actor_critic
from courtside.algos.nets.recurrent import LSTM, LSTMState, blank_memory, forget, make_lstm
from courtside.settings.config import NetConfig
from courtside.spaces import Box, Discrete
from tree_equality import assert_close

T, S, D, H = 5, 3, 5, 4
STARTS = np.zeros((T, S), bool)
STARTS[2, 0] = STARTS[3, 1] = STARTS[4, 1] = True


def noise(key, *shape):
    return jax.random.normal(jax.random.key(key), shape)


@pytest.fixture(scope="module")
def cell():
    made = make_lstm(D, H, jax.random.key(0))
    return LSTM(made.weight, made.recurrent, noise(1, 4 * H))


def test_it_begins_orthogonal_without_bias_and_with_nothing_in_mind():
    made = make_lstm(D, H, jax.random.key(0))
    assert (made.weight.shape, made.recurrent.shape, made.bias.shape) == ((D, 4 * H), (H, 4 * H), (4 * H,))
    for weight in (made.weight, made.recurrent):
        np.testing.assert_allclose(weight @ weight.T, np.eye(len(weight)), atol=1e-5)
    assert not np.any(made.bias)
    assert not any(np.any(x) for x in jax.tree.leaves(blank_memory((2, 3), H)))


def test_one_step_is_the_textbook_equations(cell):
    x, memory = noise(2, S, D), LSTMState(noise(3, S, H), noise(4, S, H))
    seen, before, weight, recurrent, bias = map(np.asarray, (x, memory.hidden, *jax.tree.leaves(cell)))
    i, f, g, o = np.split(seen @ weight + before @ recurrent + bias, 4, axis=-1)
    sigmoid = lambda z: 1 / (1 + np.exp(-z))  # noqa: E731
    c = sigmoid(f) * np.asarray(memory.cell) + sigmoid(i) * np.tanh(g)
    found = cell.step(x, memory)
    np.testing.assert_allclose(found.cell, c, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found.hidden, sigmoid(o) * np.tanh(c), rtol=1e-5, atol=1e-6)


def step_by_step(cell, x, memory):
    """The slow twin: forget, then step."""
    found = []
    for now, starts in zip(x, STARTS, strict=True):
        memory = cell.step(now, forget(memory, jnp.asarray(starts)))
        found.append(memory)
    return jax.tree.map(lambda *parts: jnp.stack(parts), *found)


def test_a_sequence_is_its_steps_and_so_is_its_gradient(cell):
    x, memory, weights = noise(2, T, S, D), LSTMState(noise(3, S, H), noise(4, S, H)), noise(5, 2, T, S, H)
    fast = lambda cell, x, memory: cell.unroll(x, memory, jnp.asarray(STARTS))  # noqa: E731
    loss = lambda run: lambda *inputs: jnp.sum(weights * jnp.stack(jax.tree.leaves(run(*inputs))))  # noqa: E731
    (a, slopes), (b, expected) = (
        jax.jit(lambda *i, run=run: (run(*i), jax.grad(loss(run), (0, 1, 2))(*i)))(cell, x, memory)
        for run in (fast, step_by_step)
    )
    assert_close(a, b)
    assert_close(slopes, expected, rtol=1e-4, atol=1e-5)
    assert all(np.abs(leaf).max() > 0.01 for leaf in jax.tree.leaves(slopes)), "a slope that is 0 would prove nothing"


def test_nothing_from_before_an_episode_reaches_it(cell):
    x, memory = noise(2, T, S, D), blank_memory((S,), H)
    other = x.at[0, 0].set(9.0)  # sequence 0 begins an episode at step 2
    a, b = (cell.unroll(seen, memory, jnp.asarray(STARTS)).hidden[:, 0] for seen in (x, other))
    assert np.all(np.any(np.asarray(a != b)[:2], axis=-1))
    np.testing.assert_array_equal(a[2:], b[2:])


def test_policy_and_value_read_the_memory():
    net = make_actor_critic(NetConfig(hidden_sizes=(8,), lstm_size=H), Box(-1, 1, (D,)), Discrete(3), jax.random.key(0))
    assert net.critic_torso is None
    memory, x = LSTMState(noise(3, S, H), noise(4, S, H)), noise(2, T * S, D)
    head, value, memories = net.unroll(x, memory, jnp.asarray(STARTS.reshape(-1)))
    assert (head.shape, value.shape, memories.cell.shape) == ((T * S, 3), (T * S,), (T, S, H))
    first, after = net.step(x[:S], memory)
    np.testing.assert_allclose(head[:S], first, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(value[:S], net.value(x[:S], memory), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(memories.cell[0], after.cell, rtol=1e-5, atol=1e-6)
