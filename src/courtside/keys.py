"""Random keys: one kind everywhere, so that a run does not depend on how JAX happens to be configured."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

KEY_KIND = "threefry2x32"
"""Two words a key; the same numbers alone and under vmap, which faster kinds do not promise."""


def make_key(seed: Any) -> PRNGKeyArray:
    """A key from a whole number, traced or not."""
    return jax.random.key(seed, impl=KEY_KIND)


def is_key(leaf: Any) -> bool:
    """Whether a leaf of a state holds random keys."""
    return hasattr(leaf, "dtype") and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def numbers_of(leaf: Any) -> Any:
    """The numbers behind a leaf: random keys as words."""
    return jax.random.key_data(leaf) if is_key(leaf) else leaf
