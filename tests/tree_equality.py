"""Comparing pytrees, random keys included."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np


def as_numpy(leaf: Any) -> np.ndarray:
    is_key = hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return np.asarray(jax.random.key_data(leaf) if is_key else leaf)


def assert_bit_equal(a: Any, b: Any) -> None:
    """Same structure, same types, same bits (NaN equals NaN)."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        x, y = as_numpy(x), as_numpy(y)
        where = jax.tree_util.keystr(path)
        assert (x.dtype, x.shape) == (y.dtype, y.shape), where
        assert x.tobytes() == y.tobytes(), where


def assert_close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    """Same structure, equal within float tolerance."""
    assert jax.tree.structure(a) == jax.tree.structure(b)
    for (path, x), y in zip(jax.tree_util.tree_leaves_with_path(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(as_numpy(x), as_numpy(y), rtol, atol, err_msg=jax.tree_util.keystr(path))


def by_errors(rows: dict[str, Any]) -> dict[str, Any]:
    """Rows to hold against those of another program: Var(R - V) in the place of the explained variance 1 - Var(R - V) / Var(R).

    Early in a run returns hardly vary, and the ratio divides the last bits of R by nearly nothing: with returns of 0.1 that
    vary by 0.004, as of images, one bit of R is 2e-6 of their deviation, and a ratio of 24 moves by some 1e-4. The errors and
    the deviation move by as much as R and V do.
    """
    found, name = dict(rows), "explained_variance"
    for key in [key for key in rows if key.endswith(name)]:
        found[key.replace(name, "error_variance")] = (1 - found.pop(key)) * rows[key.replace(name, "return_std")] ** 2
    return found


def differs(a: Any, b: Any) -> bool:
    return any(not np.array_equal(as_numpy(x), as_numpy(y)) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b)))  # noqa: B905
