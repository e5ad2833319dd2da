"""Random keys: one kind everywhere, so that a run does not depend on how JAX happens to be configured."""

from __future__ import annotations

from typing import Any

import jax
from jaxtyping import PRNGKeyArray

KEY_KIND = "threefry2x32"
"""Two words a key; the same numbers alone and under vmap, which faster kinds do not promise."""


def make_key(seed: Any) -> PRNGKeyArray:
    """A key from a whole number, traced or not."""
    return jax.random.key(seed, impl=KEY_KIND)
