"""Prioritised replay against a plain list of priorities, across wrap-arounds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.replay import sum_tree
from courtside.algos.replay.priorities import SMALLEST, sample, set_priorities
from courtside.algos.replay.ring import Priorities, Ring, insert, make_ring, size

SLOTS, ENVS, ALPHA = 37, 3, 0.6

add, draw, weigh = jax.jit(insert), jax.jit(sample, static_argnums=2), jax.jit(set_priorities)


def leaves_of(ring):
    """The priorities of all entries, and a check that each block has the sum of its own."""
    tree = ring.priorities.tree
    np.testing.assert_allclose(tree.sums, np.asarray(tree.leaves).sum(-1), rtol=1e-6)
    return np.asarray(tree.leaves).reshape(-1)[: SLOTS * ENVS], np.asarray(tree.leaves).reshape(-1)[SLOTS * ENVS :]


@pytest.mark.parametrize(("steps", "lag"), [(5, 4), (37, 0)], ids=["wraps", "all at once"])
def test_priorities_agree_with_a_list(steps, lag):
    """New entries get the largest so far, entries learned from (|δ| + ε)^α, and what does not count yet gets 0."""
    rng, listed, largest = np.random.default_rng(0), np.zeros(SLOTS * ENVS), 1.0
    ring = make_ring(SLOTS * ENVS, ENVS, 1, lag, prioritized=True)
    for number in range(20):
        ring = add(ring, jnp.zeros((steps, ENVS, 1)))
        for time in range(number * steps - lag, (number + 1) * steps - lag):
            listed[np.arange(ENVS) + time % SLOTS * ENVS] = largest if time >= 0 else 0.0
        indices, td = rng.integers(0, int(size(ring)), 8), rng.normal(size=8).astype(np.float32) * 3
        ring = weigh(ring, jnp.asarray(indices, jnp.int32), jnp.asarray(td), ALPHA)
        listed[indices] = 0.0
        np.maximum.at(listed, indices, (np.abs(td) + SMALLEST) ** ALPHA)  # of an index that comes twice the larger one
        largest = max(largest, listed[indices].max())
        found, beyond = leaves_of(ring)
        np.testing.assert_allclose(found, listed, rtol=1e-5)
        assert not beyond.any()
        assert ring.priorities.largest == pytest.approx(largest, rel=1e-5)


def ring_of(values):
    """A ring whose entries are numbered and have these priorities; those after them do not count yet."""
    ring = make_ring(SLOTS * ENVS, ENVS, 1, 2, prioritized=True)
    leaves = np.zeros_like(ring.priorities.tree.leaves)
    leaves.reshape(-1)[: len(values)] = values
    tree = sum_tree.SumTree(jnp.asarray(leaves), jnp.asarray(leaves.sum(-1)))
    rows = jnp.arange(1.0 * SLOTS * ENVS).reshape(ring.rows.shape)
    return Ring(rows, jnp.asarray(len(values) // ENVS), Priorities(tree, jnp.ones(())))


PRIORITY = np.random.default_rng(1).permutation(np.geomspace(0.1, 9, 84)).astype(np.float32)


def test_draws_are_in_proportion():
    """Each of 64 batches of 64 has an entry as often as it should, give or take the strata that it shares with others."""
    ring, expected = ring_of(PRIORITY), 64 * PRIORITY / PRIORITY.sum()
    counts = np.stack(
        [np.bincount(draw(ring, jax.random.key(i), 64, 0.4)[0], minlength=SLOTS * ENVS) for i in range(64)]
    )
    assert not counts[:, len(PRIORITY) :].any()
    assert np.abs(counts[:, : len(PRIORITY)] - expected).max() < 2
    np.testing.assert_allclose(counts.mean(0)[: len(PRIORITY)], expected, atol=0.25)


def test_weights_undo_the_proportion():
    """w = (N P)^-β / max w; with β = 1 priority x weight is the same for all."""
    ring = ring_of(PRIORITY)
    for beta in (0.0, 0.4, 1.0):
        indices, rows, weight = draw(ring, jax.random.key(1), 64, beta)
        raw = (len(PRIORITY) * PRIORITY[np.asarray(indices)] / PRIORITY.sum()) ** -beta
        np.testing.assert_allclose(weight, raw / raw.max(), rtol=1e-4)
        np.testing.assert_array_equal(rows[:, 0], indices)


def test_zeros_are_never_drawn():
    """One number > 0 among many zeros, wherever it lies, and numbers too unlike to be summed exactly."""
    for place in (0, 54, 110):
        indices, _, weight = draw(ring_of(1e-8 * (np.arange(111) == place)), jax.random.key(place), 64, 0.4)
        assert set(np.asarray(indices)) == {place}
        np.testing.assert_array_equal(weight, 1.0)
    values = np.where(np.arange(111) % 3 == 0, 10.0 ** np.random.default_rng(0).uniform(-9, 9, 111), 0.0)
    for seed in range(20):
        assert np.all(values[np.asarray(draw(ring_of(values), jax.random.key(seed), 64, 0.4)[0])] > 0)


def test_broken_surprise_stays_harmless():
    """A loss that became NaN or infinite must not poison the sums for good."""
    ring = add(make_ring(SLOTS * ENVS, ENVS, 1, 0, prioritized=True), jnp.zeros((5, ENVS, 1)))
    ring = weigh(ring, jnp.arange(8, dtype=jnp.int32), jnp.asarray([np.nan, np.inf, -np.inf] + [1.0] * 5), ALPHA)
    assert np.all(np.isfinite(leaves_of(ring)[0]))
    assert ring.priorities.largest == pytest.approx(1.0, rel=1e-5)


def test_members_of_a_population_draw_their_own():
    """Under vmap each ring draws as it would alone, with its own α and β."""
    ring = add(make_ring(SLOTS * ENVS, ENVS, 1, 0, prioritized=True), jnp.zeros((5, ENVS, 1)))
    td = jnp.asarray([[1.0, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 0]])
    index, keys = jnp.arange(8, dtype=jnp.int32), jax.random.split(jax.random.key(0))

    def learn_and_draw(key, td, alpha):
        return sample(set_priorities(ring, index, td, alpha), key, 64, alpha)

    together = jax.jit(jax.vmap(learn_and_draw))(keys, td, jnp.asarray([0.5, 1.0]))
    for member, alpha in enumerate((0.5, 1.0)):
        alone = draw(weigh(ring, index, td[member], alpha), keys[member], 64, alpha)
        for one, several in zip(alone, together, strict=True):
            np.testing.assert_allclose(one, several[member], rtol=1e-5)
