"""Comparing pytrees: structure, numbers, NaN, keys."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs import compare

TREE = {"a": jnp.array([1.0, jnp.nan]), "b": jnp.array([1, 2]), "key": jax.random.key(3)}


def changed(**leaves):
    return TREE | leaves


def test_a_tree_equals_itself():
    assert compare.equal(TREE, changed())
    assert compare.close(TREE, changed())


@pytest.mark.parametrize(
    "other",
    [
        {"a": TREE["a"]},
        changed(a=jnp.array([2.0, jnp.nan])),
        changed(a=jnp.array([1.0, 1.0])),
        changed(b=jnp.array([1, 3])),
        changed(b=jnp.array([1])),
        changed(key=jax.random.key(4)),
    ],
)
def test_another_tree_is_neither_equal_nor_close(other):
    assert not compare.equal(TREE, other)
    assert not compare.close(TREE, other)


def test_rounding_is_close_but_not_equal():
    other = changed(a=jnp.array([1.0 + 1e-6, jnp.nan]))
    assert compare.close(TREE, other)
    assert not compare.equal(TREE, other)


def test_where_chooses_along_the_first_axis():
    ones, twos = np.ones((2, 3)), np.full((2, 3), 2.0)
    chosen = compare.where(np.array([True, False]), (ones, ones[:, 0]), (twos, twos[:, 0]))
    np.testing.assert_array_equal(chosen[0], [[1, 1, 1], [2, 2, 2]])
    np.testing.assert_array_equal(chosen[1], [1, 2])
