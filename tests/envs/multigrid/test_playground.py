from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grids import (
    MANY,
    STEPS,
    agents_stand_free,
    colour_of,
    draw,
    evenly,
    first,
    flood,
    is_walled,
    judge,
    places,
    state_of,
    turn,
    type_of,
)

from courtside.envs.multigrid.objects import EMPTY, WALL, State, Type
from courtside.envs.multigrid.state import Action, GridState
from courtside.envs.multigrid.worlds.playground import BORDERS, NUM_ROOMS, THINGS, Playground, added_doors
from courtside.types import make_key

RULES = Playground(num_agents=2)


@pytest.fixture(scope="module")
def state() -> GridState:
    return draw(RULES)


def test_all_rooms_are_connected_by_closed_doors(state: GridState) -> None:
    assert is_walled(state.cells)
    door = type_of(state.cells) == Type.DOOR
    assert (state_of(state.cells[door]) == State.CLOSED).all()
    assert evenly(np.bincount(colour_of(state.cells[door])))
    for cells in state.cells[:100]:
        reached = flood(type_of(cells) != Type.WALL, (1, 1))
        assert reached[1::6, 1::6].all()


def test_at_most_one_door_in_every_wall_at_any_place_along_it(state: GridState) -> None:
    door = type_of(state.cells) == Type.DOOR
    for x in (6, 12):
        walls = door[:, x, :-1].reshape(MANY, 3, 6)
        assert walls.sum(axis=2).max() == 1
        assert evenly(walls.sum(axis=(0, 1))[1:])
    assert set(door.sum(axis=(1, 2)).tolist()) <= set(range(NUM_ROOMS - 1, len(BORDERS) + 1))


def test_doors_are_added_in_order_until_all_is_connected() -> None:
    orders = jax.random.uniform(make_key(0), (200, len(BORDERS)))
    for order, doors in zip(np.asarray(orders), np.asarray(jax.vmap(added_doors)(orders)), strict=True):
        room_of = list(range(NUM_ROOMS))
        expected = np.zeros(len(BORDERS), bool)
        for border in np.argsort(order):
            if len(set(room_of)) == 1:
                break
            expected[border] = True
            here, there = (room_of[room] for room in BORDERS[border])
            room_of = [here if room == there else room for room in room_of]
        assert (doors == expected).all()


def test_twelve_things_of_every_kind_away_from_the_middle(state: GridState) -> None:
    thing = np.isin(type_of(state.cells), THINGS)
    assert (thing.sum(axis=(1, 2)) == 12).all()
    assert evenly(np.bincount(type_of(state.cells[thing]))[list(THINGS)])
    assert evenly(np.bincount(colour_of(state.cells[thing])))
    assert not thing[:, 9, 8:11].any()
    assert not thing[:, 8:11, 9].any()
    rooms = [thing[:, x : x + 7, y : y + 7].sum() for x in (0, 6, 12) for y in (0, 6, 12)]
    assert evenly(np.array(rooms), 0.05)


def test_agents_stand_free_before_no_thing_and_no_door(state: GridState) -> None:
    assert agents_stand_free(state)
    at = places(state)
    ahead = at + np.array(STEPS)[state.direction]
    front = state.cells[np.arange(MANY)[:, None], ahead[..., 0], ahead[..., 1]]
    assert np.isin(front, [EMPTY, WALL]).all()
    assert (at[:, 0] != 9).any(axis=1).all(), "the second one still waits in the middle"
    assert evenly(np.bincount(at[:, 0, 0] // 6 * 3 + at[:, 0, 1] // 6))


def test_everything_that_lies_about_is_in_the_alphabet(state: GridState) -> None:
    assert set(np.unique(state.cells)) <= set(RULES.alphabet)


def test_the_key_decides_the_layout(state: GridState) -> None:
    assert (draw(RULES).cells == state.cells).all()
    assert (draw(RULES, seed=1).cells != state.cells).any()


def test_nothing_is_won() -> None:
    start = first(RULES)
    judged = judge(RULES, RULES.defaults, turn(start, [Action.TOGGLE] * 2))
    assert not jnp.any(judged.reward)
    assert not judged.terminated.any()
    assert judged.info == {}
