"""Running statistics against NumPy over everything seen, in one piece."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.algos.ops.running_stats import make_running_stats, merge_batch, normalize, scale
from courtside.types import RunningStats
from tree_equality import assert_close

merge = jax.jit(merge_batch)


@given(st.integers(0, 1000), st.lists(st.sampled_from([1, 2, 5]), min_size=1, max_size=5), st.floats(-50, 50))
def test_merging_batches_is_numpy_over_all_of_them(seed, sizes, shift):
    rng = np.random.default_rng(seed)
    batches = [rng.normal(shift, 3.0, (size, 4)).astype(np.float32) for size in sizes]
    stats = make_running_stats((4,))
    for batch in batches:
        stats = merge(stats, jnp.asarray(batch))
    seen = np.concatenate(batches).astype(np.float64)
    np.testing.assert_allclose(stats.count, len(seen), rtol=1e-3)
    # The tiny count that an empty start stands for (1e-4 samples at 0) shows in both, by that share.
    share = 1e-4 / len(seen)
    np.testing.assert_allclose(stats.mean, seen.mean(0), rtol=1e-4, atol=1e-3 + 60 * share)
    np.testing.assert_allclose(stats.var, seen.var(0), rtol=2e-3, atol=1e-2 + 3600 * share)


def test_merge_by_hand():
    """Seen 4 samples of mean 1 and variance 2; 4 more, all 3: mean 2, variance (4·2 + 4·0 + 2²·4·4/8) / 8 = 2."""
    stats = RunningStats(jnp.array([1.0]), jnp.array([2.0]), jnp.float32(4))
    stats = merge_batch(stats, jnp.full((4, 1), 3.0))
    np.testing.assert_array_equal([stats.mean[0], stats.var[0], stats.count], [2, 2, 8])


def test_merge_keeps_a_small_spread_far_from_zero():
    """Mean 1000, deviation 0.1: sums of squares in float32 would lose the spread altogether."""
    rng = np.random.default_rng(0)
    rows = (1000 + 0.1 * rng.normal(size=(20, 50, 1))).astype(np.float32)
    stats = RunningStats(jnp.asarray(rows[0].mean(0)), jnp.asarray(rows[0].var(0)), jnp.float32(50))
    for row in rows[1:]:
        stats = merge(stats, jnp.asarray(row))
    np.testing.assert_allclose(stats.var, rows.reshape(-1, 1).astype(np.float64).var(0), rtol=0.02)


def test_merge_of_plain_numbers():
    stats = merge_batch(make_running_stats(()), jnp.array([1.0, 2.0, 3.0]))
    np.testing.assert_allclose([stats.mean, stats.var], [2, 2 / 3], rtol=1e-3)
    assert stats.mean.shape == ()


def test_fresh_statistics_change_nothing():
    value = jnp.array([[0.5, -2.0]])
    np.testing.assert_allclose(normalize(make_running_stats((2,)), value, 10.0), value, rtol=1e-6)
    np.testing.assert_allclose(scale(make_running_stats(()), value, 10.0), value, rtol=1e-6)


def test_normalize_by_hand():
    """(x - 1) / 2 and (x - 10) / 0.5, clipped to ±3."""
    stats = RunningStats(jnp.array([1.0, 10.0]), jnp.array([4.0, 0.25]), jnp.float32(1))
    found = normalize(stats, jnp.array([[3.0, 10.5], [1.0, 20.0], [-99.0, 10.0]]), 3.0)
    np.testing.assert_allclose(found, [[1, 1], [0, 3], [-3, 0]], atol=1e-6)


def test_scale_by_hand_keeps_sign_and_zero():
    """Divided by √4; the mean of 100 is not taken off."""
    stats = RunningStats(jnp.float32(100.0), jnp.float32(4.0), jnp.float32(1))
    np.testing.assert_allclose(scale(stats, jnp.array([[0.0, 4.0, -4.0, 99.0]]), 10.0), [[0, 2, -2, 10]], atol=1e-6)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_normalize_takes_any_leading_axes(batch):
    rng = np.random.default_rng(1)
    value = rng.normal(size=(*batch, 4)).astype(np.float32)
    mean, var = rng.normal(size=4).astype(np.float32), rng.random(4).astype(np.float32) + 0.1
    stats = RunningStats(jnp.asarray(mean), jnp.asarray(var), jnp.float32(1))
    expected = np.clip((value - mean) / np.sqrt(var + 1e-8), -1.0, 1.0)
    np.testing.assert_allclose(normalize(stats, jnp.asarray(value), 1.0), expected, rtol=1e-5)


def test_a_feature_that_never_varies_stays_finite():
    stats = merge_batch(make_running_stats((1,)), jnp.full((100, 1), 7.0))
    for _ in range(50):
        stats = merge(stats, jnp.full((100, 1), 7.0))
    found = normalize(stats, jnp.array([[7.0], [8.0]]), 10.0)
    assert np.all(np.isfinite(found))
    assert abs(float(found[0, 0])) < 0.1


def test_vmap_and_jit_give_the_same():
    rng = np.random.default_rng(2)
    batches = jnp.asarray(rng.normal(size=(3, 5, 2)), jnp.float32)
    start = make_running_stats((2,))
    by_vmap = jax.vmap(merge_batch, in_axes=(None, 0))(start, batches)
    for i in range(3):
        alone = merge_batch(start, batches[i])
        assert_close(jax.tree.map(lambda x, i=i: x[i], by_vmap), alone)
        assert_close(merge(start, batches[i]), alone)


@pytest.mark.parametrize("size", [(), (2,)])
def test_samples_without_weight_are_not_seen(size):
    rng = np.random.default_rng(3)
    batch, kept = jnp.asarray(rng.normal(size=(9, *size)), jnp.float32), rng.random(9) < 0.5
    start = merge_batch(make_running_stats(size), 3.0 * batch + 1.0)
    found = merge_batch(start, batch, jnp.asarray(kept, jnp.float32))
    assert_close(found, merge_batch(start, batch[kept]), rtol=1e-4)
    assert_close(merge_batch(start, batch, jnp.zeros(9)), start)
