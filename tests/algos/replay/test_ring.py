"""The ring against a plain list of entries, across wrap-arounds; rows against the entries they hold."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos.ops.nstep import Entries
from courtside.algos.replay.ring import RowLayout, age, insert, make_ring, pack, sample_uniform, size, unpack

LAYOUT = RowLayout(num_agents=2, row_size=3, action_sizes=(2, 1))

add, draw, ages = jax.jit(insert), jax.jit(sample_uniform, static_argnums=2), jax.jit(age)


def numbered(start, steps, num_envs):
    """Rows that carry their own time and env: [time, env]."""
    time, env = np.meshgrid(np.arange(start, start + steps), np.arange(num_envs), indexing="ij")
    return jnp.asarray(np.stack([time, env], axis=-1), jnp.float32)


@pytest.mark.parametrize(("steps", "lag"), [(1, 0), (3, 4), (7, 2)], ids=["one by one", "odd", "full and late"])
def test_ring_holds_the_last_entries(steps, lag):
    """7 slots of 2 envs, filled in steps that do not divide them; what is older than the run never counts."""
    ring = make_ring(capacity=15, num_envs=2, width=2, lag=lag)
    for round_number in range(12):
        now = round_number * steps - lag
        ring = add(ring, numbered(now, steps, 2))
        count = int(size(ring))
        held = np.asarray(ring.rows).reshape(-1, 2)[:count]
        newest = now + steps
        expected = [(t, e) for t in range(max(0, newest - 7), newest) for e in range(2)]
        assert sorted(map(tuple, held)) == expected
        if count:
            indices = jnp.arange(count, dtype=jnp.int32)
            np.testing.assert_array_equal(ages(ring, indices), (newest - 1 - held[:, 0]) * 2)


def test_uniform_draws_reach_every_entry_alike():
    """After a wrap-around all 14 entries, before it only the 8 that count: never a slot that nothing was written to."""
    half = add(make_ring(14, 2, 2, lag=1), numbered(-1, 5, 2))
    full = add(half, numbered(4, 5, 2))
    for ring, times in ((half, range(4)), (full, range(2, 9))):
        indices, rows = draw(ring, jax.random.key(0), 4000)
        counts = np.bincount(indices, minlength=14)
        expected = 4000 / int(size(ring))
        assert set(np.asarray(rows)[:, 0]) == set(times)
        assert np.all(np.abs(counts[: int(size(ring))] - expected) < 5 * expected**0.5)
        np.testing.assert_array_equal(rows, np.asarray(ring.rows).reshape(-1, 2)[indices])


def test_what_is_packed_comes_back():
    rng = np.random.default_rng(0)
    shapes = ((4, 5, 2, 3), (4, 5, 3), (4, 5, 2), (4, 5, 2), (4, 5, 2, 3), (4, 5, 2))
    entries = Entries(*(jnp.asarray(rng.normal(size=shape), jnp.float32) for shape in shapes))
    rows = pack(entries, LAYOUT)
    assert rows.shape == (4, 5, LAYOUT.width) == (4, 5, 21)
    jax.tree.map(np.testing.assert_array_equal, unpack(rows, LAYOUT), entries)


def test_more_steps_than_slots_are_refused():
    with pytest.raises(ValueError, match="8 steps do not fit into a ring of 7"):
        insert(make_ring(7, 1, 2), numbered(0, 8, 1))


def test_writing_in_a_loop_copies_nothing():
    """The compiled loop needs next to no memory beside the ring itself."""
    ring = make_ring(20_000, 1, 8)

    def step(i, ring):
        _, rows = sample_uniform(ring, jax.random.fold_in(jax.random.key(0), i), 4)
        return insert(ring, rows[:3, None])

    program = jax.jit(lambda ring: jax.lax.fori_loop(0, 100, step, ring), donate_argnums=0).lower(ring).compile()
    memory = program.memory_analysis()
    assert memory is not None
    assert memory.temp_size_in_bytes < ring.rows.nbytes / 2
