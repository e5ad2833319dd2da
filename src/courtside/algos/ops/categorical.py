"""A value as a distribution over N fixed atoms: the support, the projection of a shifted distribution, its loss and moments.

The atoms are zⱼ = vmin + j Δ, Δ = (vmax - vmin) / (N - 1). Bellemare et al. 2017 (arXiv:1707.06887), Barth-Maron et al. 2018
(arXiv:1804.08617). The range may be traced: members of a population can have different ones.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Scalar = Float[Array, ""] | float


def make_support(vmin: Scalar, vmax: Scalar, num_atoms: int) -> Float[Array, "N"]:
    """The atoms, evenly spaced from vmin to vmax, both ends exact."""
    share = jnp.arange(num_atoms, dtype=jnp.float32) / (num_atoms - 1)
    return vmin * (1.0 - share) + vmax * share


def project(
    probs: Float[Array, "*batch N"],
    reward: Float[Array, "*batch"],
    discount: Float[Array, "*batch"],
    vmin: Scalar,
    vmax: Scalar,
) -> Float[Array, "*batch N"]:
    """The distribution of R + d z brought back onto the atoms; what lies beyond an end is put on that end.

    mⱼ = Σᵢ pᵢ max(0, 1 - |clip(R + d zᵢ, vmin, vmax) - zⱼ| / Δ).  Bellemare et al. 2017, eq. 7, without their floor and ceil.

    The formula as it stands takes N² terms a row. Every atom lands between two others, so 2N do, as a scatter: 4 to 6 times
    as fast on a CPU (128 x 101: 29 µs against 119). An accelerator gets the formula: it would scatter in any order, and the
    last bits of a sum would change from run to run.
    """
    place = jnp.clip(_places(probs.shape[-1], reward, discount, vmin, vmax), 0.0, probs.shape[-1] - 1.0)
    return jax.lax.platform_dependent(probs, place, cpu=_spread_to_neighbours, default=_spread_by_distance)


def _places(num_atoms: int, reward: Array, discount: Array, vmin: Scalar, vmax: Scalar) -> Float[Array, "*batch N"]:
    """Where each shifted atom lies, counted in atoms: (R + d zᵢ - vmin) / Δ = (R - (1 - d) vmin) / Δ + d i.

    Counted this way nothing is lost to rounding where nothing is shifted: R = 0, d = 1 gives i itself.
    """
    start = (reward - (1.0 - discount) * vmin) * ((num_atoms - 1) / (vmax - vmin))
    return start[..., None] + discount[..., None] * jax.lax.broadcasted_iota(
        jnp.float32, (*reward.shape, num_atoms), reward.ndim
    )


def _spread_by_distance(probs: Float[Array, "*batch N"], place: Float[Array, "*batch N"]) -> Float[Array, "*batch N"]:
    """Σᵢ pᵢ max(0, 1 - |bᵢ - j|): atom i gives to j by how near it landed. The sum runs over the middle axis: j stays in
    the fast one."""
    shape = (*place.shape, place.shape[-1])
    distance = jnp.abs(place[..., None] - jax.lax.broadcasted_iota(jnp.float32, shape, len(shape) - 1))
    return jnp.sum(probs[..., None] * jnp.maximum(0.0, 1.0 - distance), axis=-2)


def _spread_to_neighbours(probs: Float[Array, "*batch N"], place: Float[Array, "*batch N"]) -> Float[Array, "*batch N"]:
    """The same, atom by atom: pᵢ goes to the two atoms around bᵢ, the nearer gets the more."""
    num_atoms = probs.shape[-1]
    below = jnp.clip(jnp.floor(place).astype(jnp.int32), 0, num_atoms - 2)
    share = place - below
    row = num_atoms * (jax.lax.iota(jnp.int32, probs.size) // num_atoms)
    index, flat = row + below.reshape(-1), jnp.zeros(probs.size, probs.dtype)
    flat = flat.at[index].add((probs * (1.0 - share)).reshape(-1), mode="promise_in_bounds")
    flat = flat.at[index + 1].add((probs * share).reshape(-1), mode="promise_in_bounds")
    return flat.reshape(probs.shape)


def clipped_share(
    probs: Float[Array, "*batch N"],
    reward: Float[Array, "*batch"],
    discount: Float[Array, "*batch"],
    vmin: Scalar,
    vmax: Scalar,
) -> tuple[Float[Array, "*batch"], Float[Array, "*batch"]]:
    """The probability whose shifted atom lies below vmin, and above vmax: what the projection has to fold in.

    A thousandth of an atom is let pass: atoms at the very end would be counted or not by rounding alone.
    """
    last = probs.shape[-1] - 1.0
    place = _places(probs.shape[-1], reward, discount, vmin, vmax)
    low = jnp.sum(jnp.where(place < -1e-3, probs, 0.0), axis=-1)
    return low, jnp.sum(jnp.where(place > last + 1e-3, probs, 0.0), axis=-1)


def mean(probs: Float[Array, "*batch N"], support: Float[Array, "N"]) -> Float[Array, "*batch"]:
    """Σⱼ pⱼ zⱼ."""
    return probs @ support


def std(probs: Float[Array, "*batch N"], support: Float[Array, "N"]) -> Float[Array, "*batch"]:
    """√ Σⱼ pⱼ (zⱼ - mean)²."""
    atoms = support.reshape((1,) * (probs.ndim - 1) + support.shape)
    off = atoms - mean(probs, support)[..., None]
    return jnp.sqrt(jnp.sum(probs * jnp.square(off), axis=-1))
