"""The random order: one-to-one for every size, and random enough for shuffling minibatches."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.ops.permutation import ROUNDS, random_order

KEYS = 4000


@functools.cache
def orders(n, num_keys=KEYS, by_turn=False):
    """Many orders of n things, from as many keys or from as many turns of one key. [num_keys, n]"""
    if by_turn:
        draw = lambda turn: random_order(jax.random.key(17), n, turn)  # noqa: E731
        return np.asarray(jax.jit(jax.vmap(draw))(jnp.arange(num_keys)))
    return np.asarray(jax.jit(jax.vmap(lambda k: random_order(k, n)))(jax.random.split(jax.random.key(17), num_keys)))


def slow_order(constants, n):
    """Index by index, in Python's whole numbers: the same rounds, walking on while outside n."""
    num_bits = max(1, (n - 1).bit_length())
    size, shift = 1 << num_bits, (num_bits + 1) // 2

    def scramble(i):
        for offset, factor in constants:
            i = ((i + offset) * (factor | 1)) % size
            i ^= i >> shift
        return i

    order = []
    for i in range(n):
        i = scramble(i)
        while i >= n:
            i = scramble(i)
        order.append(i)
    return order


def slow_constants(key, turn=0):
    """The hash of key and turn, word by word in Python's whole numbers: (offset, factor) of every round."""
    wrap, found = 2**32, []
    for i in range(2 * ROUNDS):
        mixed = (i * 0x9E3779B9 + turn * 0xC2B2AE3D) % wrap
        for word in np.asarray(jax.random.key_data(key)).tolist():
            mixed ^= word
            mixed = (mixed ^ (mixed >> 16)) * 0x85EBCA6B % wrap
            mixed = (mixed ^ (mixed >> 13)) * 0xC2B2AE35 % wrap
            mixed ^= mixed >> 16
        found.append(mixed)
    return list(zip(found[:ROUNDS], found[ROUNDS:], strict=True))


def test_the_slow_twin_is_one_to_one_for_every_size_to_300():
    for seed in range(3):
        constants = slow_constants(jax.random.key(seed))
        for n in range(1, 301):
            assert sorted(slow_order(constants, n)) == list(range(n))


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 31, 32, 33, 100, 127, 128, 129, 255, 257, 299, 300]
)
def test_small_sizes_are_permutations_and_agree_with_the_slow_twin(n):
    key = jax.random.key(n)
    order = jax.jit(random_order, static_argnums=1)(key, n)
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    np.testing.assert_array_equal(order, slow_order(slow_constants(key), n))


@pytest.mark.parametrize("n", [512, 1000, 4095, 4096, 4097, 65_536, 100_003, 300_000])
def test_large_sizes_are_permutations(n):
    order = jax.jit(lambda key: random_order(key, n))(jax.random.key(n))
    assert order.dtype == np.int32
    np.testing.assert_array_equal(np.sort(order), np.arange(n))


def test_plain_jit_and_vmap_agree_and_keys_differ():
    keys = jax.random.split(jax.random.key(3), 8)
    together = np.asarray(jax.jit(jax.vmap(lambda k: random_order(k, 200)))(keys))
    for i in (0, 5):
        np.testing.assert_array_equal(random_order(keys[i], 200), together[i])
    assert len({row.tobytes() for row in together}) == 8


def test_every_turn_of_one_key_is_another_order():
    turns = jnp.arange(50)
    found = np.asarray(jax.jit(jax.vmap(lambda t: random_order(jax.random.key(1), 200, t)))(turns))
    np.testing.assert_array_equal(np.sort(found, axis=-1), np.tile(np.arange(200), (50, 1)))
    assert len({row.tobytes() for row in found}) == 50
    for turn in (0, 7):
        assert slow_order(slow_constants(jax.random.key(1), turn), 200) == found[turn].tolist()


def test_same_key_same_order():
    np.testing.assert_array_equal(random_order(jax.random.key(5), 100), random_order(jax.random.key(5), 100))


@pytest.mark.parametrize("by_turn", [False, True], ids=["keys", "turns"])
@pytest.mark.parametrize("n", [100, 128, 512])
def test_each_index_lands_in_each_quarter_equally_often(n, by_turn):
    """Chi-square over 3 free counts per index; the mean over indices must be near 3, the worst not absurd."""
    quarter = np.argsort(orders(n, by_turn=by_turn), axis=-1) * 4 // n
    counts = np.stack([(quarter == q).sum(0) for q in range(4)])
    chi_square = ((counts - KEYS / 4) ** 2 / (KEYS / 4)).sum(0)
    assert chi_square.mean() < 5
    assert chi_square.max() < 30


@pytest.mark.parametrize("n", [128, 100, 512])
@pytest.mark.parametrize("by_turn", [False, True], ids=["keys", "turns"])
def test_near_and_regular_neighbours_are_separated(n, by_turn):
    """Samples of one env lie at a fixed stride: two of them share a quarter about as often as chance has it."""
    quarter = np.argsort(orders(n, by_turn=by_turn), axis=-1) * 4 // n
    chance = (n / 4 - 1) / (n - 1)
    for stride in (1, 2, 3, 4, 16, 32, 64):
        together = (quarter[:, :-stride] == quarter[:, stride:]).mean()
        assert abs(together - chance) < 0.05, stride


@pytest.mark.parametrize("n", [128, 512])
def test_following_indices_do_not_stay_in_step(n):
    """The gap between the places of i and i+1 is no favourite number: the commonest one stays rare."""
    order = orders(n, 500)
    gap = np.diff(order, axis=-1) % n
    commonest = max(np.bincount(row, minlength=n).max() for row in gap)
    assert commonest < n / 4
