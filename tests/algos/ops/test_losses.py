"""PPO's losses against loops in float64 and against numbers worked out by hand."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from courtside.algos.ops import losses
from rounding import rounding

M = 6
numbers = hnp.arrays(np.float32, (M,), elements=st.floats(-5, 5, width=32))
log_ratios = hnp.arrays(np.float32, (M,), elements=st.floats(-2, 2, width=32))
clips = st.floats(0.0625, 0.5, width=32)


def f32(*values):
    return tuple(jnp.asarray(v, jnp.float32) for v in values)


def mean(values):
    return math.fsum(values) / len(values)


def slow_normalize(advantage):
    a = [float(x) for x in advantage]
    center = mean(a)
    deviation = math.sqrt(math.fsum((x - center) ** 2 for x in a) / (len(a) - 1))
    return [(x - center) / (deviation + 1e-8) for x in a]


def slow_surrogate(log_ratio, advantage, clip):
    terms = []
    for lr, a in zip(log_ratio.tolist(), advantage.tolist(), strict=True):
        ratio = math.exp(lr)
        terms.append(min(ratio * a, min(max(ratio, 1 - clip), 1 + clip) * a))
    return -mean(terms)


def slow_clipped_value(value, old, target, clip):
    terms = []
    for v, o, r in zip(value.tolist(), old.tolist(), target.tolist(), strict=True):
        near = o + min(max(v - o, -clip), clip)
        terms.append(0.5 * max((v - r) ** 2, (near - r) ** 2))
    return mean(terms)


@given(numbers)
def test_normalize_advantage_agrees_with_the_loop(advantage):
    assume(advantage.std() > 1e-2)
    found, near = losses.normalize_advantage(*f32(advantage)), rounding(advantage, times=2 * M) / advantage.std()
    np.testing.assert_allclose(found, slow_normalize(advantage), atol=near)  # a mean is as wrong as what it is made of


def test_normalize_advantage_by_hand():
    """1, 2, 3: mean 2, unbiased deviation exactly 1 (the biased one would give ±1.22)."""
    np.testing.assert_allclose(losses.normalize_advantage(*f32([1, 2, 3])), [-1, 0, 1], atol=1e-6)


def test_normalize_advantage_of_equal_samples_is_zero_not_nan():
    np.testing.assert_array_equal(losses.normalize_advantage(jnp.full(4, 3.0)), np.zeros(4))


@given(log_ratios, numbers, clips)
def test_surrogate_agrees_with_the_loop(log_ratio, advantage, clip):
    found = losses.clipped_surrogate_loss(*f32(log_ratio, advantage, clip))
    np.testing.assert_allclose(found, slow_surrogate(log_ratio, advantage, clip), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [(1.5, 2.0, -2.4), (0.5, 2.0, -1.0), (1.5, -2.0, 3.0), (0.5, -2.0, 1.6), (1.1, 2.0, -2.2)],
    ids=["up, good: clipped", "down, good", "up, bad", "down, bad: clipped", "inside"],
)
def test_surrogate_by_hand(ratio, advantage, expected):
    found = losses.clipped_surrogate_loss(*f32([math.log(ratio)], [advantage], 0.2))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("ratio", "advantage", "flows"),
    [(1.5, 2.0, False), (0.5, 2.0, True), (1.5, -2.0, True), (0.5, -2.0, False), (1.1, 2.0, True)],
)
def test_surrogate_gradient_stops_only_where_the_clip_binds(ratio, advantage, flows):
    """d/d(log ρ) of -ρ Â is -ρ Â; where the clipped term is the smaller one it is 0."""
    gradient = jax.grad(lambda x: losses.clipped_surrogate_loss(x, *f32([advantage], 0.2)))(*f32([math.log(ratio)]))
    np.testing.assert_allclose(gradient, [-ratio * advantage if flows else 0.0], rtol=1e-6)


@given(numbers, numbers)
def test_squared_value_loss_agrees_with_the_loop(value, target):
    expected = mean([0.5 * (v - t) ** 2 for v, t in zip(value.tolist(), target.tolist(), strict=True)])
    np.testing.assert_allclose(losses.squared_value_loss(*f32(value, target)), expected, rtol=1e-5, atol=1e-6)


def test_squared_value_loss_is_halved_once():
    """Errors 2 and 4: ½ (4 + 16) / 2 = 5."""
    np.testing.assert_array_equal(losses.squared_value_loss(*f32([2, 4], [0, 0])), 5.0)


@given(numbers, numbers, numbers, clips)
def test_clipped_value_loss_agrees_with_the_loop(value, old, target, clip):
    found = losses.clipped_value_loss(*f32(value, old, target, clip))
    np.testing.assert_allclose(found, slow_clipped_value(value, old, target, clip), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("value", "old", "target", "expected"),
    [(1.0, 0.0, 1.0, 0.32), (1.0, 0.0, -1.0, 2.0), (0.1, 0.0, 1.0, 0.405), (2.0, 2.0, 2.0, 0.0)],
    ids=["moved too far towards", "moved away: unclipped counts", "inside", "exact"],
)
def test_clipped_value_loss_by_hand(value, old, target, expected):
    """First case: clipped to 0.2, so ½ (0.2 - 1)² = 0.32 although the value itself is right. Halved once."""
    found = losses.clipped_value_loss(*f32([value], [old], [target], 0.2))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(log_ratios)
def test_approximate_kl_agrees_with_the_loop_and_is_never_negative(log_ratio):
    found = losses.approximate_kl(*f32(log_ratio))
    expected = mean([math.expm1(x) - x for x in log_ratio.tolist()])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert found >= 0


def test_approximate_kl_by_hand():
    """ρ = 2 and ½: ((2 - 1 - ln 2) + (½ - 1 + ln 2)) / 2 = ¼."""
    found, near = losses.approximate_kl(*f32([math.log(2), -math.log(2)])), rounding(1.0, times=8)
    np.testing.assert_allclose(found, 0.25, rtol=0, atol=near)


def test_approximate_kl_keeps_its_digits_near_zero():
    """x = 1e-3: e^x - 1 - x ≈ x²/2 = 5e-7; the plain formula in float32 would be off by a tenth."""
    near = rounding(1e-3, times=8)  # e^x - 1 is as large as x, and approximated to a few units
    np.testing.assert_allclose(losses.approximate_kl(*f32([1e-3])), math.expm1(1e-3) - 1e-3, rtol=0, atol=near)


@given(log_ratios, clips)
def test_clip_fraction_agrees_with_the_loop(log_ratio, clip):
    distance = [abs(math.exp(x) - 1) for x in log_ratio.tolist()]
    assume(all(abs(d - clip) > 1e-5 for d in distance))
    expected = sum(d > clip for d in distance) / M
    np.testing.assert_allclose(losses.clip_fraction(*f32(log_ratio, clip)), expected, rtol=1e-6)


def test_clip_fraction_by_hand():
    ratios = np.log([1.0, 1.1, 1.3, 0.5])
    np.testing.assert_array_equal(losses.clip_fraction(*f32(ratios, 0.2)), 0.5)


@given(numbers, numbers)
def test_explained_variance_agrees_with_numpy(value, target):
    assume(target.std() > 1e-2)
    v, t = value.astype(np.float64), target.astype(np.float64)
    found = losses.explained_variance(*f32(value, target))
    np.testing.assert_allclose(found, 1 - np.var(t - v) / np.var(t), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("value", "expected"), [([1, 2, 3], 1.0), ([7, 7, 7], 0.0), ([11, 12, 13], 1.0), ([3, 2, 1], -3.0)]
)
def test_explained_variance_by_hand(value, expected):
    """Target 1 2 3. A constant error does not count; the reversed critic has error variance 4 x."""
    np.testing.assert_allclose(losses.explained_variance(*f32(value, [1, 2, 3])), expected, atol=1e-6)


def test_explained_variance_of_a_constant_target_is_not_a_number():
    assert np.isnan(losses.explained_variance(*f32([1, 2], [3, 3])))


OPS = {
    "normalize": (losses.normalize_advantage, 1, False),
    "surrogate": (losses.clipped_surrogate_loss, 2, True),
    "squared": (losses.squared_value_loss, 2, False),
    "clipped value": (losses.clipped_value_loss, 3, True),
    "kl": (losses.approximate_kl, 1, False),
    "clip fraction": (losses.clip_fraction, 1, True),
    "explained variance": (losses.explained_variance, 2, False),
}


@pytest.mark.parametrize("name", OPS)
def test_jit_and_vmap_give_the_same(name):
    op, num_arrays, has_clip = OPS[name]
    rng = np.random.default_rng(0)
    rows = [jnp.asarray(rng.normal(size=(3, M)), jnp.float32) for _ in range(num_arrays)]
    clip = f32(0.2) if has_clip else ()
    plain = np.stack([op(*(r[i] for r in rows), *clip) for i in range(3)])
    in_axes = (0,) * num_arrays + (None,) * len(clip)
    np.testing.assert_allclose(jax.vmap(op, in_axes)(*rows, *clip), plain, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jax.jit(op)(*(r[0] for r in rows), *clip), plain[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", OPS)
@given(st.lists(st.booleans(), min_size=M, max_size=M), st.integers(0, 2**16))
def test_samples_without_weight_might_as_well_not_be_there(name, kept, seed):
    assume(sum(kept) >= 2)
    op, num_arrays, has_clip = OPS[name]
    rows, clip = np.random.default_rng(seed).normal(size=(num_arrays, M)), f32(0.2) if has_clip else ()
    kept = np.asarray(kept)
    assume(rows[:, kept].std(axis=1).min() > 0.1)  # what is divided by their deviation is as wrong as they are, divided
    found = np.asarray(op(*f32(*rows), *clip, weight=jnp.asarray(kept, jnp.float32)))
    found = found[kept] if found.ndim else found
    np.testing.assert_allclose(found, op(*f32(*rows[:, kept]), *clip), rtol=1e-4, atol=1e-5)


@given(numbers, hnp.arrays(np.float32, (M,), elements=st.floats(1, 5, width=32)))
def test_the_weighted_mean_is_the_average_of_numpy(x, weight):
    found = losses.weighted_mean(*f32(x, weight))
    np.testing.assert_allclose(found, np.average(x.astype(np.float64), weights=weight), rtol=1e-4, atol=1e-5)


def test_a_minibatch_in_which_nobody_plays_is_zero_not_nan():
    nobody = jnp.zeros(3)
    assert losses.weighted_mean(jnp.arange(3.0), nobody) == 0
    assert np.all(np.isfinite(losses.normalize_advantage(jnp.arange(3.0), nobody)))
