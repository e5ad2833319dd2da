from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from grids import evenly

from courtside.envs.multigrid.objects import EMPTY, WALL
from courtside.envs.multigrid.worlds import layout
from courtside.types import make_key

UNIFORM = jax.random.uniform(make_key(0), (6000, 3))


def test_rooms_share_the_wall_between_them() -> None:
    grid = layout.walled(7, 4, layout.Room(3, 0, 4, 4)).reshape(7, 4)
    assert "\n".join("".join("#" if cell == WALL else "." for cell in row) for row in grid.T) == (
        "#######\n"
        "#..#..#\n"
        "#..#..#\n"
        "#######"
    )  # fmt: skip
    assert layout.Room(3, 0, 4, 4).inside(grid_height=4).tolist() == [17, 18, 21, 22]
    assert (grid.reshape(-1)[layout.Room(3, 0, 4, 4).inside(4)] == EMPTY).all()


def test_whole_numbers_stay_below_the_count() -> None:
    edge = jnp.array([0.0, 1 - 2**-23], jnp.float32)
    for count in (1, 3, 6, 36, 361):
        assert layout.below(edge, count).tolist() == [0, count - 1]


def test_free_candidates_are_chosen_evenly() -> None:
    candidates = jnp.array([3, 5, 7, 9, 11], jnp.int32)
    free = jnp.array([False, True, False, True, True])
    chosen = jax.vmap(lambda u: layout.choose(u, candidates, free))(UNIFORM[:, 0])
    counts = np.bincount(chosen, minlength=12)
    assert counts.nonzero()[0].tolist() == [5, 9, 11]
    assert evenly(counts[[5, 9, 11]], 0.1)


def test_all_orders_are_as_likely() -> None:
    orders = np.asarray(jax.vmap(layout.shuffled)(UNIFORM))
    assert (np.sort(orders, axis=1) == np.arange(3)).all()
    counts = np.bincount(orders @ [9, 3, 1])
    assert evenly(counts[counts > 0], 0.1)
    assert (counts > 0).sum() == 6
    assert layout.shuffled(jnp.array([0.5, 0.5, 0.1])).tolist() == [1, 2, 0]


def test_agents_spread_evenly_over_what_is_left() -> None:
    candidates, taken = jnp.arange(5), jnp.array([2])
    cells = np.asarray(jax.vmap(lambda u: layout.spread(u, candidates, taken))(UNIFORM[:, :2]))
    counts = np.bincount(cells @ [5, 1], minlength=25).reshape(5, 5)
    assert (counts > 0).sum() == 4 * 3
    assert evenly(counts[counts > 0])


def test_only_the_last_agent_takes_the_place_where_all_wait() -> None:
    cells = np.asarray(jax.vmap(lambda u: layout.spread(u, jnp.arange(4), jnp.array([0]), waiting=3))(UNIFORM))
    assert set(cells[:, 0]) == {1, 2}
    assert (cells[:, 2] == 3).all()


def test_things_that_are_nowhere_are_not_put_down() -> None:
    cells = layout.put(jnp.full(4, EMPTY), jnp.array([2, layout.NOWHERE]), jnp.array([7, 9]))
    assert cells.tolist() == [EMPTY, EMPTY, 7, EMPTY]
