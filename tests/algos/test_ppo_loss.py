"""PPO's loss and gradient against the float64 twin of `numpy_ppo`, whose own gradient is checked by differences."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import numpy_ppo
import pytest

from courtside.algos import ppo
from courtside.algos.group import make_group
from courtside.algos.nets import distributions
from courtside.settings.config import Config, override
from courtside.spaces import Box, Discrete, MultiDiscrete

OBSERVATION, M = Box(-1.0, 1.0, (5,)), 24
SPACES = {"discrete": Discrete(4), "multi-discrete": MultiDiscrete((2, 3)), "continuous": Box(-1.0, 1.0, (2,))}
SWITCHES = list(itertools.product(SPACES, (False, True), (False, True), (False, True)))


def make_case(name, shared, clip_vloss, norm_adv):
    """Setup, hyper, a network in the middle of training and a batch with clipped and unclipped samples."""
    config = override(
        Config(), hidden_sizes=(8, 6), shared_torso=shared, clip_vloss=clip_vloss, norm_adv=norm_adv, ent_coef=0.03
    )
    setup = make_group(config, OBSERVATION, SPACES[name], 1)
    params = ppo.init(setup, jax.random.key(0)).params
    rng = np.random.default_rng(1)
    params = jax.tree.map(lambda x: np.asarray(x, np.float64) + 0.3 * rng.normal(size=x.shape), params)
    twin = numpy_ppo.Settings(SPACES[name], ent_coef=0.03, norm_adv=norm_adv, clip_vloss=clip_vloss)
    return setup, ppo.make_hyper(config), params, make_samples(rng, twin, params), twin


def make_samples(rng, twin, params):
    """Old log-probabilities and values lie near the present ones, on both sides of the clip range."""
    x = rng.normal(size=(M, 5))
    if isinstance(twin.action, Box):
        action = rng.normal(size=(M, 2))
    else:
        sizes = getattr(twin.action, "nvec", (getattr(twin.action, "n", 0),))
        action = np.stack([rng.integers(0, n, M) for n in sizes], -1).astype(np.int32)
        action = action[:, 0] if isinstance(twin.action, Discrete) else action
    flat = numpy_ppo.to_dict(params)
    log_prob = numpy_ppo.distribution(twin.action, flat, numpy_ppo.logits(flat, x), action)[0]
    value = numpy_ppo.values(flat, x)
    noise = rng.normal(size=(4, M))
    return {
        "features": x, "action": action, "log_prob": log_prob + 0.2 * noise[0], "value": value + 0.3 * noise[1],
        "advantage": 2 * noise[2] + 0.5, "target": value + noise[3],
    }  # fmt: skip


def as_float64(tree):
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x), jnp.float64), tree)


@pytest.mark.parametrize(("name", "shared", "clip_vloss", "norm_adv"), SWITCHES)
def test_loss_and_gradient_agree_with_float64(name, shared, clip_vloss, norm_adv):
    setup, hyper, params, samples, twin = make_case(name, shared, clip_vloss, norm_adv)
    twin = dataclasses.replace(twin, clip_coef=float(np.float32(0.2)), ent_coef=float(np.float32(0.03)))
    loss, parts, grads = numpy_ppo.loss_and_gradient(twin, numpy_ppo.to_dict(params), samples)
    with jax.enable_x64(True):
        batch = ppo.Batch(**{k: jnp.asarray(v) for k, v in samples.items()})
        graded = jax.jit(lambda p: jax.value_and_grad(ppo.ppo_loss, has_aux=True)(
            p, setup, as_float64(hyper), jnp.float64(0.0), batch))  # fmt: skip
        (found, found_parts), found_grads = graded(as_float64(params))
        assert found.dtype == jnp.float64
        np.testing.assert_allclose(found, loss, rtol=1e-10)
        np.testing.assert_allclose(found_parts, [parts[n] for n in ppo.LOSS_NAMES[:-1]], rtol=1e-6, atol=1e-12)
        found_grads = numpy_ppo.to_dict(found_grads)
    assert found_grads.keys() == grads.keys()
    for key, gradient in grads.items():
        np.testing.assert_allclose(found_grads[key], gradient, rtol=1e-6, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", SPACES)
def test_float32_agrees_with_float64(name):
    """What training really runs, against the same twin."""
    setup, hyper, params, samples, twin = make_case(name, False, True, True)
    loss, _, grads = numpy_ppo.loss_and_gradient(twin, numpy_ppo.to_dict(params), samples)
    narrow = lambda x: jnp.asarray(x, jnp.int32 if x.dtype == np.int32 else jnp.float32)  # noqa: E731
    batch = ppo.Batch(**{k: narrow(v) for k, v in samples.items()})
    graded = jax.jit(lambda p: jax.value_and_grad(ppo.ppo_loss, has_aux=True)(p, setup, hyper, jnp.float32(0), batch))
    (found, _), found_grads = graded(jax.tree.map(narrow, params))
    np.testing.assert_allclose(found, loss, rtol=1e-5)
    for key, gradient in grads.items():
        scale = np.abs(gradient).max()
        np.testing.assert_allclose(numpy_ppo.to_dict(found_grads)[key], gradient, atol=1e-5 * scale, err_msg=key)


@pytest.mark.parametrize(("name", "shared", "clip_vloss", "norm_adv"), SWITCHES[::3])
def test_the_twins_gradient_is_its_difference_quotient(name, shared, clip_vloss, norm_adv):
    _, _, params, samples, twin = make_case(name, shared, clip_vloss, norm_adv)
    flat = numpy_ppo.to_dict(params)
    _, _, grads = numpy_ppo.loss_and_gradient(twin, flat, samples)
    rng, step = np.random.default_rng(2), 1e-6
    for _ in range(5):
        direction = {k: rng.normal(size=v.shape) for k, v in flat.items()}
        ends = [
            numpy_ppo.loss_and_gradient(twin, {k: v + sign * step * direction[k] for k, v in flat.items()}, samples)[0]
            for sign in (1, -1)
        ]
        slope = sum((grads[k] * direction[k]).sum() for k in flat)
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * step), slope, rtol=1e-6)


def test_the_batch_exercises_both_sides_of_each_clip():
    """Otherwise the comparison above would say nothing about clipping."""
    _, _, params, samples, twin = make_case("discrete", False, True, True)
    flat = numpy_ppo.to_dict(params)
    _, parts, _ = numpy_ppo.loss_and_gradient(twin, flat, samples)
    moved = np.abs(numpy_ppo.values(flat, samples["features"]) - samples["value"]) > 0.2
    assert 0.2 < parts["clipfrac"] < 0.8
    assert 0.2 < moved.mean() < 0.8


def test_log_prob_of_the_twin_is_ours():
    """Both sides agree on what a sample's old log-probability means."""
    for name, action in SPACES.items():
        _, _, params, samples, _ = make_case(name, False, True, True)
        head = jnp.asarray(np.asarray(params.policy(jnp.asarray(samples["features"], jnp.float32))), jnp.float32)
        taken = jnp.asarray(samples["action"], jnp.int32 if name != "continuous" else jnp.float32)
        ours, _ = distributions.log_prob_and_entropy(action, head, taken)
        flat = numpy_ppo.to_dict(params)
        theirs = numpy_ppo.distribution(action, flat, numpy_ppo.logits(flat, samples["features"]), samples["action"])[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
