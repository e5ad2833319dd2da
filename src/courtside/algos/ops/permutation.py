"""A random order of n things without sorting: a keyed scramble that visits every index exactly once.

`jax.random.permutation` sorts, which on a CPU costs more than the minibatch it prepares. Here each index goes through a
few rounds of reversible mixing on the next power of two, and walks on while it lands outside n (cycle walking: Black and
Rogaway 2002), so the map stays one-to-one for any n. The constants of the rounds are hashed from the key's own words: one
more call of the random generator inside every epoch would cost more to compile and to run than all the rest.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray, UInt32

ROUNDS = 4


def random_order(key: PRNGKeyArray, n: int, turn: Int[Array, ""] | int = 0) -> Int[Array, "n"]:
    """A pseudo-random permutation of 0 .. n-1; one key gives another one for every `turn`."""
    num_bits = max(1, (n - 1).bit_length())
    constants = _hash(key, turn)
    index = _scramble(jnp.arange(n, dtype=jnp.uint32), constants, num_bits)
    if n != 1 << num_bits:
        index = jax.lax.while_loop(
            lambda i: jnp.any(i >= n),
            lambda i: jnp.where(i >= n, _scramble(i, constants, num_bits), i),
            index,
        )
    return index.astype(jnp.int32)


def _hash(key: PRNGKeyArray, turn: Int[Array, ""] | int) -> UInt32[Array, "2 rounds"]:
    """Well-mixed constants from the words of a key and a number (multiply-and-fold finaliser, as in MurmurHash3)."""
    index = jnp.arange(2 * ROUNDS, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
    mixed = index + jnp.asarray(turn, jnp.uint32) * jnp.uint32(0xC2B2AE3D)
    for word in jax.random.key_data(key):
        mixed = mixed ^ word
        mixed = (mixed ^ (mixed >> 16)) * jnp.uint32(0x85EBCA6B)
        mixed = (mixed ^ (mixed >> 13)) * jnp.uint32(0xC2B2AE35)
        mixed = mixed ^ (mixed >> 16)
    return mixed.reshape(2, ROUNDS)


def _scramble(index: UInt32[Array, "n"], constants: UInt32[Array, "2 rounds"], num_bits: int) -> UInt32[Array, "n"]:
    """Rounds of: add, multiply by an odd number, fold the high half into the low; each reversible modulo 2^num_bits."""
    mask = jnp.uint32((1 << num_bits) - 1)
    shift = jnp.uint32((num_bits + 1) // 2)
    for offset, factor in zip(constants[0], constants[1], strict=True):
        index = ((index + offset) * (factor | jnp.uint32(1))) & mask
        index = index ^ (index >> shift)
    return index
