"""Are two pytrees the same: what `envs.check` compares worlds by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from courtside.types import numbers_of

CLOSE = {"rtol": 1e-4, "atol": 1e-5}
"""Compiled and uncompiled programs round differently; more than this is another result."""


def without_keys(tree: Any) -> Any:
    """Random keys as plain numbers, so that NumPy can hold them."""
    return jax.tree.map(numbers_of, tree)


def equal(a: Any, b: Any) -> bool:
    """Same structure, same numbers; NaN equals NaN."""
    return _all_leaves(a, b, lambda x, y: bool(np.array_equal(x, y, equal_nan=x.dtype.kind == "f")))


def close(a: Any, b: Any) -> bool:
    """The same up to the rounding of another program."""
    return _all_leaves(a, b, _leaf_close)


def _leaf_close(x: np.ndarray, y: np.ndarray) -> bool:
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, y))
    return x.shape == y.shape and bool(np.allclose(x, y, equal_nan=True, **CLOSE))


def _all_leaves(a: Any, b: Any, same: Callable[[np.ndarray, np.ndarray], bool]) -> bool:
    a, b = without_keys(a), without_keys(b)
    if jax.tree.structure(a) != jax.tree.structure(b):
        return False
    pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
    return all(same(np.asarray(x), np.asarray(y)) for x, y in pairs)


def where(condition: np.ndarray, if_true: Any, if_false: Any) -> Any:
    """Per leading index, the leaves of one pytree or the other."""
    return jax.tree.map(lambda x, y: np.where(condition.reshape(-1, *(1,) * (x.ndim - 1)), x, y), if_true, if_false)
