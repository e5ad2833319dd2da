"""The categorical value against a loop in float64 and against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from courtside.algos.ops import categorical
from rounding import rounding

N = 11
VMIN, VMAX = -0.5, 2.0

project = jax.jit(categorical.project)
clipped_share = jax.jit(categorical.clipped_share)
to_neighbours, by_distance = jax.jit(categorical._spread_to_neighbours), jax.jit(categorical._spread_by_distance)
spacing = (VMAX - VMIN) / (N - 1)
PLACED = rounding(N - 1, times=4)
"""Where mass lands is a number of up to N - 1 atoms, R + γz shifted and divided; what it is off by moves as much of the mass."""


def f32(*values):
    return tuple(jnp.asarray(v, jnp.float32) for v in values)


def slow_project(probs, reward, discount, vmin, vmax):
    """Atom by atom in float64: each gives to all by their distance."""
    num_atoms = len(probs)
    support = np.linspace(vmin, vmax, num_atoms)
    width, out = support[1] - support[0], np.zeros(num_atoms)
    for p, z in zip(probs, support, strict=True):
        landed = min(max(reward + discount * z, vmin), vmax)
        for j in range(num_atoms):
            out[j] += p * max(0.0, 1.0 - abs(landed - support[j]) / width)
    return out


def random_probs(seed, *batch):
    return np.random.default_rng(seed).dirichlet(np.full(N, 0.5), batch).astype(np.float32)


@given(st.integers(0, 1000), st.floats(-5, 5, width=32), st.sampled_from([0.0, 1e-3, 0.5, 0.95099, 1.0]))
@example(0, 0.0, 1.0)
@example(0, 0.0, 0.0)
@example(0, 100.0, 1.0)
@example(0, -100.0, 0.99)
@example(0, 2.0, 0.0)
@example(0, -0.5, 0.0)
def test_projection_agrees_with_the_loop(seed, reward, discount):
    """Rewards far beyond the range and at its ends, no discount at all, a true end (0) and one so strong that all crowd."""
    probs = random_probs(seed)
    found = np.asarray(project(*f32(probs, reward, discount, VMIN, VMAX)))
    np.testing.assert_allclose(found, slow_project(probs, reward, discount, VMIN, VMAX), rtol=0, atol=PLACED)
    assert abs(found.sum(dtype=np.float64) - 1) < 1e-6
    assert found.min() >= 0


def test_both_ways_to_spread_agree():
    """A CPU and an accelerator get different programs; here the accelerator's runs on the CPU."""
    place = np.random.default_rng(0).uniform(0, N - 1, (40, N)).astype(np.float32)
    place[0], place[1], place[2] = np.arange(N), 0.0, N - 1
    probs = random_probs(0, 40)
    near = to_neighbours(*f32(probs, place))
    np.testing.assert_allclose(by_distance(*f32(probs, place)), near, atol=3e-7)
    np.testing.assert_array_equal(near[0], probs[0])


def test_projection_by_hand():
    """Five atoms 0 .. 4. All mass on 2, R = 0.25, d = ½: it lands on 1.25, three quarters on 1 and one on 2."""
    probs = np.float32([0, 0, 1, 0, 0])
    np.testing.assert_allclose(project(*f32(probs, 0.25, 0.5, 0, 4)), [0, 0.75, 0.25, 0, 0])
    np.testing.assert_allclose(project(*f32(probs, 9.0, 0.5, 0, 4)), [0, 0, 0, 0, 1])
    np.testing.assert_allclose(project(*f32(probs, -9.0, 0.5, 0, 4)), [1, 0, 0, 0, 0])


def test_what_is_not_shifted_stays_as_it_is():
    """To the last bit, also with a range that has no exact spacing."""
    probs = random_probs(1)
    np.testing.assert_array_equal(project(*f32(probs, 0.0, 1.0, -0.1, 2.03)), probs)


def test_projection_keeps_the_mean_inside_the_range():
    probs, reward, discount = random_probs(2, 6), np.linspace(0, 0.3, 6), np.linspace(0.2, 0.8, 6)
    support = np.linspace(VMIN, VMAX, N)
    found = np.asarray(project(*f32(probs, reward, discount, VMIN, VMAX))) @ support
    np.testing.assert_allclose(found, reward + discount * (probs @ support), atol=1e-6)


def test_projection_takes_leading_axes_and_vmap_over_ranges():
    """Members of a population have their own range."""
    probs, reward = random_probs(3, 2, 3, 4), np.random.default_rng(3).normal(size=(2, 3, 4))
    discount, vmin, vmax = np.full((2, 3, 4), 0.9), np.float32([-1, 0]), np.float32([1, 3])
    found = jax.jit(jax.vmap(categorical.project))(*f32(probs, reward, discount, vmin, vmax))
    found = np.asarray(found)
    for place in np.ndindex(2, 3, 4):
        expected = slow_project(probs[place], reward[place], 0.9, vmin[place[0]], vmax[place[0]])
        np.testing.assert_allclose(found[place], expected, rtol=0, atol=PLACED)


@given(st.integers(0, 1000), st.floats(-4, 4, width=32), st.sampled_from([0.0, 0.95, 1.0]))
@example(0, VMAX, 0.0)
@example(0, VMIN, 0.0)
@example(0, 0.0, 1.0)
def test_clipped_share_agrees_with_the_loop(seed, reward, discount):
    probs = random_probs(seed)
    landed = reward + discount * np.linspace(VMIN, VMAX, N)
    low, high = clipped_share(*f32(probs, reward, discount, VMIN, VMAX))
    allowed = 2e-3 * spacing  # atoms that near to an end count either way
    for found, beyond in ((low, VMIN - landed), (high, landed - VMAX)):
        assert probs[beyond > allowed].sum() - 1e-5 <= found <= probs[beyond > 1e-5].sum() + 1e-5


@pytest.mark.parametrize(("vmin", "vmax"), [(-0.1, 2.0), (0.0, 1.3), (-0.01, 0.55)])
def test_support_has_both_ends(vmin, vmax):
    support = np.asarray(categorical.make_support(vmin, vmax, 101))
    np.testing.assert_array_equal(support[[0, -1]], np.float32([vmin, vmax]))
    np.testing.assert_allclose(support, np.linspace(vmin, vmax, 101), atol=1e-6)


def test_mean_and_std_by_hand():
    """Atoms 0 1 2: half on 0 and half on 2 has mean 1 and spread 1; all on 2 has mean 2 and none."""
    probs, support = f32([[0.5, 0, 0.5], [0, 0, 1]], [0, 1, 2])
    np.testing.assert_allclose(jax.jit(categorical.mean)(probs, support), [1, 2])
    np.testing.assert_allclose(jax.jit(categorical.std)(probs, support), [1, 0])
