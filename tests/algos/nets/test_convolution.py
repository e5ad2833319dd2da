"""The Nature CNN: its numbers against plain loops and XLA's convolutions, which spaces it sees, and what it refuses."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.group import make_group
from courtside.algos.inputs import actor_and_critic_inputs, network_input
from courtside.algos.nets import blocks
from courtside.algos.nets.actor_critic import make_actor_critic
from courtside.algos.nets.convolution import KERNELS, Image, NatureTorso, image_of
from courtside.algos.ops.running_stats import make_running_stats
from courtside.errors import ConfigError
from courtside.settings.config import Config, NetConfig, override
from courtside.spaces import Box, Dict, Discrete
from courtside.types import Policy

SHAPES = {"Atari": (84, 84, 4), "channels first": (3, 45, 37)}
ATARI = Box(0.0, 255.0, SHAPES["Atari"], "uint8")

make_jit = jax.jit(make_actor_critic, static_argnums=(0, 1, 2))
look = jax.jit(lambda torso, rows: torso(rows))


def box(*shape, dtype="uint8"):
    return Box(0.0, 255.0, shape, dtype)


@functools.cache
def make_net(shape, seed=0):
    net = NetConfig(cnn_features=16)
    params = make_jit(net, box(*shape), Discrete(3), jax.random.key(seed))
    biases = lambda p: [layer.bias for layer in p.actor_torso.layers]  # noqa: E731
    drawn = [
        jnp.asarray(0.1 * np.random.default_rng(i).normal(size=b.shape), jnp.float32)
        for i, b in enumerate(biases(params))
    ]
    return dataclasses.replace(
        params,
        actor_torso=NatureTorso(
            tuple(dataclasses.replace(x, bias=b) for x, b in zip(params.actor_torso.layers, drawn, strict=True)),
            params.actor_torso.image,
            by_blocks=True,
        ),
    )


def rows(shape, count, seed=0):
    return jnp.asarray(np.random.default_rng(seed).integers(0, 256, (count, int(np.prod(shape)))), jnp.uint8)


@functools.cache
def value_and_grads(shape, count, by_blocks):
    """Features, and the gradients of a loss that weighs every feature differently."""
    torso = dataclasses.replace(make_net(shape).actor_torso, by_blocks=by_blocks)
    mix = jnp.asarray(np.random.default_rng(1).normal(size=(count, 16)), jnp.float32)

    def loss(torso, rows):
        seen = torso(rows)
        return jnp.sum(mix * seen), seen

    grads, seen = jax.jit(jax.grad(loss, has_aux=True))(torso, rows(shape, count))
    return seen, jax.tree.leaves(grads)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5 * float(np.max(np.abs(expected))))


def slow_twin(torso, image):
    """One image, one patch at a time, in NumPy's float64."""
    x = np.asarray(image, np.float64) / 255
    for kernel, layer in zip(KERNELS, torso.layers, strict=False):
        side = (
            range(0, x.shape[0] - kernel.size + 1, kernel.stride),
            range(0, x.shape[1] - kernel.size + 1, kernel.stride),
        )
        patches = [[x[i : i + kernel.size, j : j + kernel.size].ravel() for j in side[1]] for i in side[0]]
        x = np.maximum(np.asarray(patches) @ np.asarray(layer.weight, np.float64) + np.asarray(layer.bias), 0)
    return np.maximum(
        x.ravel() @ np.asarray(torso.layers[-1].weight, np.float64) + np.asarray(torso.layers[-1].bias), 0
    )


@pytest.mark.parametrize("name", SHAPES)
def test_features_are_those_of_plain_loops(name):
    shape, net = SHAPES[name], make_net(SHAPES[name])
    seen, _ = value_and_grads(shape, 3, True)
    images = np.asarray(rows(shape, 3)).reshape(3, *shape)
    images = images.transpose(0, 2, 3, 1) if name == "channels first" else images
    assert seen.shape == (3, 16)
    assert 0 < np.mean(np.asarray(seen) > 0) < 1
    assert_near(seen, np.stack([slow_twin(net.actor_torso, image) for image in images]))


@pytest.mark.parametrize("name", SHAPES)
def test_products_and_convolutions_agree_in_features_and_gradients(name):
    ours, grads = value_and_grads(SHAPES[name], 3, True)
    theirs, expected = value_and_grads(SHAPES[name], 3, False)
    assert_near(ours, theirs)
    for found, wanted in zip(grads, expected, strict=True):
        assert np.any(wanted != 0)
        assert_near(found, wanted)


@pytest.mark.parametrize("name", SHAPES)
def test_more_images_than_go_through_at_a_time_change_nothing(name, monkeypatch):
    """Three images in chunks of two: the second is filled up with zeros, which must not be learned from."""
    monkeypatch.setattr(blocks, "CHUNK", 2)
    shape = SHAPES[name]
    value_and_grads.cache_clear()
    ours, grads = value_and_grads(shape, 3, True)
    value_and_grads.cache_clear()
    monkeypatch.undo()
    theirs, expected = value_and_grads(shape, 3, False)
    assert_near(ours, theirs)
    for found, wanted in zip(grads, expected, strict=True):
        assert_near(found, wanted)


def test_more_images_than_are_looked_at_at_a_time_are_seen_alike(monkeypatch):
    """Three images in chunks of two; what fills the second one up is cut off again."""
    torso, seen = make_net(SHAPES["channels first"]).actor_torso, rows(SHAPES["channels first"], 3)
    expected = look(torso, seen)
    monkeypatch.setattr(blocks, "LOOK_CHUNK", 2)
    by_two = lambda rows: torso(rows)  # noqa: E731
    assert "length=2" in str(jax.make_jaxpr(by_two)(seen))
    assert_near(jax.jit(by_two)(seen), expected)


def test_bytes_and_numbers_are_seen_alike_and_any_batch_shape_is_kept():
    torso, seen = make_net(SHAPES["channels first"]).actor_torso, rows(SHAPES["channels first"], 4)
    flat = look(torso, seen)
    np.testing.assert_array_equal(look(torso, seen.astype(jnp.float32)), flat)
    np.testing.assert_allclose(look(torso, seen.reshape(2, 1, 2, -1)).reshape(4, 16), flat, rtol=1e-5, atol=1e-6)


def test_every_member_of_a_population_sees_with_its_own_weights():
    shape = SHAPES["channels first"]
    members = [make_net(shape, seed).actor_torso for seed in (0, 1)]
    stacked = jax.tree.map(lambda *x: jnp.stack(x), *members)
    together = jax.jit(jax.vmap(lambda torso, rows: torso(rows), (0, None)))(stacked, rows(shape, 3))
    for member, seen in zip(members, together, strict=True):
        assert_near(seen, look(member, rows(shape, 3)))


def test_weights_are_orthogonal_and_both_heads_read_the_same_features():
    net = make_jit(NetConfig(cnn_features=16), ATARI, Discrete(3), jax.random.key(0))
    torso = net.actor_torso
    assert [layer.weight.shape for layer in torso.layers] == [(256, 32), (512, 64), (576, 64), (3136, 16)]
    for layer in torso.layers:
        weight = np.asarray(layer.weight, np.float64)
        np.testing.assert_allclose(weight.T @ weight, 2 * np.eye(weight.shape[1]), atol=1e-4)
        np.testing.assert_array_equal(layer.bias, 0)
    assert net.critic_torso is None
    assert (net.policy_head.weight.shape, net.value_head.weight.shape) == ((16, 3), (16, 1))


@pytest.mark.parametrize(
    ("space", "image"),
    [
        (ATARI, Image(84, 84, 4)),
        (box(3, 96, 80), Image(96, 80, 3, channels_first=True)),
        (box(210, 160, 3), Image(210, 160, 3)),
        (box(36, 36, 1), Image(36, 36, 1)),
        (box(35, 84, 4), None),
        (box(84, 84), None),
        (box(84, 84, 4, dtype="float32"), None),
        (box(84, 3, 84), None),
        (Dict.of({"image": ATARI}), None),
    ],
)
def test_which_spaces_are_images(space, image):
    assert image_of(NetConfig(), space) == image
    assert image_of(NetConfig(torso="mlp"), space) is None


def test_the_network_is_handed_the_bytes_of_a_rollout():
    """Numbers would take four times the memory, and the first layer moves bytes faster."""
    setup = make_group(Config(), ATARI, Discrete(4), 1, packed=True)
    seen = rows(ATARI.shape, 2)[:, None]
    assert network_input(setup, Policy(None, make_running_stats((1,))), seen).dtype == jnp.uint8
    assert actor_and_critic_inputs(setup, seen)[0].dtype == jnp.uint8
    by_hidden_layers = make_group(override(Config(), torso="mlp"), ATARI, Discrete(4), 1, packed=True)
    assert actor_and_critic_inputs(by_hidden_layers, seen)[0].dtype == jnp.float32


@pytest.mark.parametrize(
    ("space", "num_agents", "changes", "message"),
    [
        (
            box(5, dtype="float32"),
            1,
            {"torso": "cnn"},
            r"--torso is cnn, but an agent here sees 5 numbers.*--torso auto",
        ),
        (ATARI, 1, {"norm_obs": True}, r"--norm-obs was given, but a CNN reads pixels.*--no-norm-obs or --torso mlp"),
        (ATARI, 2, {"critic": "central"}, r"--critic is central.*one image and there are 2 agents; use --critic own"),
    ],
)
def test_what_cannot_be_had_with_a_cnn(space, num_agents, changes, message):
    with pytest.raises(ConfigError, match=message):
        make_group(override(Config(), **changes), space, Discrete(4), num_agents)
    make_group(override(Config(), **(changes | {"torso": "mlp"})), space, Discrete(4), num_agents)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algo": "mad4pg", "torso": "cnn"}, "networks of mad4pg have no CNN"),
        ({"cnn_features": 0}, "--cnn-features is 0, but it must be above 0"),
    ],
)
def test_settings_that_are_refused_before_any_world_is_made(changes, message):
    with pytest.raises(ConfigError, match=message):
        override(Config(), **changes).validate()
