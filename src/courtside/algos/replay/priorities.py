"""Prioritised replay: entries that surprised more are drawn more often, and count less each time in return.

P(i) = pᵢ^α / Σ p^α, pᵢ = |δᵢ| + ε;  wᵢ = (N P(i))^-β / max w.  Schaul et al. 2016 (arXiv:1511.05952), eq. 1 and section 3.4.
The largest weight is that of the batch, not of the whole replay, so N falls out: w = (P(i) / min P)^-β.
"""

from __future__ import annotations

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from courtside.algos.replay import sum_tree
from courtside.algos.replay.ring import Priorities, Ring, rows_at

SMALLEST = 1e-6
"""ε: an entry without any surprise is still drawn now and then."""

Scalar = Float[Array, ""] | float


def sample(
    ring: Ring, key: PRNGKeyArray, batch: int, beta: Scalar
) -> tuple[Int[Array, "M"], Float[Array, "M W"], Float[Array, "M"]]:
    """M entries in proportion to their priorities, one from each of M equal strata: indices, rows and importance weights."""
    indices, share = sum_tree.draw(_priorities(ring).tree, key, batch)
    rarest = jnp.maximum(jnp.min(share), jnp.finfo(jnp.float32).tiny)  # 0 only where the ring is empty
    return indices, rows_at(ring, indices), jnp.power(jnp.maximum(share / rarest, 1.0), -beta)


def set_priorities(ring: Ring, indices: Int[Array, "M"], td: Float[Array, "M"], alpha: Scalar) -> Ring:
    """(|δ| + ε)^α for the entries that were learned from; what is not a number becomes ε, and stays harmless."""
    priorities = _priorities(ring)
    surprise = jnp.nan_to_num(jnp.abs(td), nan=0.0, posinf=0.0)
    value = jnp.power(surprise + SMALLEST, alpha)
    tree = sum_tree.write(priorities.tree, indices, value)
    largest = jnp.maximum(priorities.largest, jnp.max(value))
    return replace(ring, priorities=Priorities(tree, largest))


def _priorities(ring: Ring) -> Priorities:
    if ring.priorities is None:
        raise ValueError("This ring keeps no priorities; build it with make_ring(..., prioritized=True).")
    return ring.priorities
