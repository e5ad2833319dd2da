"""The network: its weights at the start, and its forward pass against NumPy."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from courtside.algos.nets.actor_critic import make_actor_critic
from courtside.settings.config import NetConfig
from courtside.spaces import Box, Dict, Discrete, MultiDiscrete

OBSERVATION = Box(-1.0, 1.0, (5,))


make_jit = jax.jit(make_actor_critic, static_argnums=(0, 1, 2))


@functools.cache
def make(action=Discrete(3), observation=OBSERVATION, seed=0, **net):  # noqa: B008
    return make_jit(NetConfig(**net), observation, action, jax.random.key(seed))


def features(*batch, size=5, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(*batch, size)), jnp.float32)


def assert_orthogonal(weight, gain):
    """Along the shorter side the rows or columns are orthogonal and of length `gain`."""
    weight = np.asarray(weight, np.float64)
    product = weight.T @ weight if weight.shape[0] >= weight.shape[1] else weight @ weight.T
    np.testing.assert_allclose(product, gain**2 * np.eye(len(product)), atol=1e-5)


@pytest.mark.parametrize("shared", [False, True])
def test_weights_are_orthogonal_with_their_gains_and_biases_zero(shared):
    net = make(hidden_sizes=(16, 7), shared_torso=shared)
    torsos = [net.actor_torso] if shared else [net.actor_torso, net.critic_torso]
    for torso in torsos:
        assert [layer.weight.shape for layer in torso.layers] == [(5, 16), (16, 7)]
        for layer in torso.layers:
            assert_orthogonal(layer.weight, np.sqrt(2))
    assert_orthogonal(net.policy_head.weight, 0.01)
    assert_orthogonal(net.value_head.weight, 1.0)
    linears = [layer for torso in torsos for layer in torso.layers] + [net.policy_head, net.value_head]
    for linear in linears:
        np.testing.assert_array_equal(linear.bias, 0)


def test_the_two_torsos_start_apart_and_seeds_differ():
    net = make()
    assert not np.array_equal(net.actor_torso.layers[0].weight, net.critic_torso.layers[0].weight)
    assert not np.array_equal(net.actor_torso.layers[0].weight, make(seed=1).actor_torso.layers[0].weight)
    np.testing.assert_array_equal(net.policy_head.weight, make().policy_head.weight)


@pytest.mark.parametrize(
    ("action", "size"), [(Discrete(3), 3), (MultiDiscrete((2, 3)), 5), (Box(-1.0, 1.0, (2, 2)), 8)]
)
def test_head_shapes(action, size):
    net = make(action)
    head, value = net.policy_and_value(features(4, 2))
    assert head.shape == (4, 2, size)
    assert value.shape == (4, 2)
    assert (net.log_std is None) == (not isinstance(action, Box))


def test_the_first_policy_is_nearly_uniform():
    head = make(hidden_sizes=(64, 64)).policy(features(100))
    assert np.abs(head).max() < 0.1


def test_observation_parts_are_counted():
    observation = Dict.of({"a": Discrete(3), "b": Box(0.0, 1.0, (2, 2)), "c": MultiDiscrete((2, 2))})
    assert make(observation=observation).actor_torso.layers[0].weight.shape[0] == 3 + 4 + 4


ACTIVATIONS = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
}


def forward(torso, x, activation):
    for layer in torso.layers:
        x = ACTIVATIONS[activation](x @ np.asarray(layer.weight, np.float64) + np.asarray(layer.bias, np.float64))
    return x


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shared", [False, True])
def test_forward_agrees_with_numpy(activation, shared):
    net = make(activation=activation, shared_torso=shared, hidden_sizes=(6, 4))
    net = jax.tree.map(lambda x: x + 0.1, net)  # biases that are not 0 any more
    x = features(7)
    wide = np.asarray(x, np.float64)
    policy = forward(net.actor_torso, wide, activation) @ np.asarray(net.policy_head.weight, np.float64) + 0.1
    critic = net.actor_torso if shared else net.critic_torso
    value = forward(critic, wide, activation) @ np.asarray(net.value_head.weight, np.float64) + 0.1
    head, found = net.policy_and_value(x)
    np.testing.assert_allclose(head, policy, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(found, value[:, 0], rtol=1e-5, atol=1e-5)


def test_gelu_is_close_to_the_exact_one():
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(ACTIVATIONS["gelu"](x), x * special.ndtr(x), atol=2e-3)


@pytest.mark.parametrize("shared", [False, True])
def test_both_at_once_is_each_alone(shared):
    net, x = make(shared_torso=shared), features(3, 2)
    head, value = net.policy_and_value(x)
    np.testing.assert_array_equal(head, net.policy(x))
    np.testing.assert_array_equal(value, net.value(x))


def test_shared_torso_has_fewer_parameters_and_one_gradient_path():
    count = lambda net: sum(leaf.size for leaf in jax.tree.leaves(net))  # noqa: E731
    assert count(make(shared_torso=True)) < count(make())
    x = features(3)
    of_value = jax.jit(jax.grad(lambda net: jnp.sum(net.value(x))))
    assert np.any(of_value(make(shared_torso=True)).actor_torso.layers[0].weight != 0)
    np.testing.assert_array_equal(of_value(make()).actor_torso.layers[0].weight, 0)


def test_log_deviation_does_not_depend_on_the_state():
    net = make(Box(-1.0, 1.0, (2,)))
    head = net.policy(features(6))
    np.testing.assert_array_equal(head[:, 2:], np.zeros((6, 2)))
    assert not np.array_equal(head[0, :2], head[1, :2])


def test_a_population_of_networks_runs_under_vmap():
    keys = jax.random.split(jax.random.key(0), 3)
    nets = jax.jit(jax.vmap(lambda k: make_actor_critic(NetConfig(), OBSERVATION, Discrete(3), k)))(keys)
    x = features(4)
    together = jax.vmap(lambda net: net.policy_and_value(x)[1])(nets)
    alone = np.stack([make_jit(NetConfig(), OBSERVATION, Discrete(3), k).value(x) for k in keys])
    np.testing.assert_allclose(together, alone, rtol=1e-5, atol=1e-6)
