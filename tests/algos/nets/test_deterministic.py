"""Deterministic networks: their weights at the start, and their forward pass against NumPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.nets.deterministic import make_actor, make_critic
from courtside.engines import backend
from tree_equality import assert_bit_equal, differs

KEY = jax.random.key(0)
jit = functools.partial(jax.jit, compiler_options=backend.compiler_options(0))
new_actor, new_critic = jit(make_actor, static_argnums=range(5)), jit(make_critic, static_argnums=range(6))


@functools.cache
def actor(hidden=(6, 5), init="fan-in"):
    return new_actor(3, 2, hidden, "tanh", init, KEY)


@functools.cache
def critic(hidden=(6, 5), init="fan-in"):
    return new_critic(4, 2, hidden, 7, "tanh", init, KEY)


def draw(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape), jnp.float32)


def test_an_actors_answer_is_a_tanh_of_layers():
    net, x = actor(), 3 * draw(2, 4, 3)
    hidden = np.asarray(x)
    for layer in net.torso.layers:
        hidden = np.tanh(hidden @ np.asarray(layer.weight) + np.asarray(layer.bias))
    expected = np.tanh(hidden @ np.asarray(net.head.weight) + np.asarray(net.head.bias))
    np.testing.assert_allclose(net(x), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("hidden", [(5,), (6, 5), (6, 5, 4)], ids=str)
def test_actions_join_the_critic_at_its_second_layer_or_its_only_one(hidden):
    net, x, a = critic(hidden), draw(3, 2, 4), draw(3, 2, 2)
    seen = np.asarray(x)
    seen = seen if len(hidden) == 1 else np.tanh(seen @ np.asarray(net.observe.weight) + np.asarray(net.observe.bias))
    entry = np.concatenate([net.join.weight, net.actions])
    assert entry.shape == ((4 if len(hidden) == 1 else hidden[0]) + 2, hidden[min(1, len(hidden) - 1)])
    out = np.tanh(np.concatenate([seen, a], axis=-1) @ entry + np.asarray(net.join.bias))
    for layer in net.rest:
        out = np.tanh(out @ np.asarray(layer.weight) + np.asarray(layer.bias))
    assert len(net.rest) == max(0, len(hidden) - 2)
    expected = out @ np.asarray(net.head.weight) + np.asarray(net.head.bias)
    np.testing.assert_allclose(net(x, a), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(net.judge(net.see(x), a), net(x, a), rtol=1e-6)


def bounds(*arrays):
    """The largest number, which must be near the end of its range: many are drawn."""
    return max(float(np.abs(np.asarray(x)).max()) for x in arrays)


def test_first_weights_lie_within_the_fan_in_and_those_of_the_last_layer_near_0():
    a, c = actor((200, 100)), critic((200, 100))
    first, second = a.torso.layers
    assert 0.97 / 3**0.5 < bounds(first.weight, first.bias) <= 1 / 3**0.5
    assert 0.97 / 200**0.5 < bounds(second.weight, second.bias) <= 1 / 200**0.5
    assert 0.97 / 202**0.5 < bounds(c.join.weight, c.actions, c.join.bias) <= 1 / 202**0.5, "actions count as inputs"
    for head in (a.head, c.head):
        assert 0.95 * 3e-3 < bounds(head.weight, head.bias) <= 3e-3


def test_the_notebooks_start_is_the_same_range_everywhere():
    for net in (actor((200, 100), "uniform"), critic((200, 100), "uniform")):
        leaves = [leaf for leaf in jax.tree.leaves(net) if leaf.size > 50]
        assert all(0.9 * 0.03 < bounds(leaf) <= 0.03 for leaf in leaves)


def test_sizes_of_the_original_have_its_number_of_parameters():
    count = lambda tree: sum(x.size for x in jax.tree.leaves(tree))  # noqa: E731
    assert count(jax.eval_shape(lambda: make_actor(24, 2, (350, 250), "relu", "uniform", KEY))) == 97_002
    assert count(jax.eval_shape(lambda: make_critic(48, 4, (350, 250), 101, "relu", "uniform", KEY))) == 131_251


def test_the_key_decides_the_weights():
    again, other = (new_actor(3, 2, (6, 5), "tanh", "fan-in", jax.random.key(i)) for i in (0, 1))
    assert_bit_equal(actor(), again)
    assert differs(actor(), other)
