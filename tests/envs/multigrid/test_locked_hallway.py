from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from grids import (
    MANY,
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

from courtside.envs.multigrid.objects import EMPTY, State, Type, pack
from courtside.envs.multigrid.rules import GridOptions
from courtside.envs.multigrid.state import Action, GridState
from courtside.envs.multigrid.worlds.locked_hallway import LockedHallway
from courtside.errors import ConfigError

TOGGLE, WAIT = Action.TOGGLE, Action.DONE


@pytest.fixture(scope="module", params=[2, 4, 6])
def rules(request: pytest.FixtureRequest) -> LockedHallway:
    return LockedHallway(num_rooms=request.param, num_agents=2)


@pytest.fixture(scope="module")
def state(rules: LockedHallway) -> GridState:
    return draw(rules)


def test_every_room_has_a_locked_door_in_a_colour_of_its_own(rules: LockedHallway, state: GridState) -> None:
    things = state.cells.reshape(MANY, -1)[:, rules.doors]
    assert is_walled(state.cells)
    assert (type_of(state.cells) == Type.DOOR).sum() == MANY * rules.num_rooms
    assert (type_of(things) == Type.DOOR).all()
    assert (state_of(things) == State.LOCKED).all()
    assert all(len(set(row)) == rules.num_rooms for row in colour_of(things).tolist())
    for door in range(rules.num_rooms):
        assert evenly(np.bincount(colour_of(things[:, door])))


def test_there_is_one_key_for_every_door(rules: LockedHallway, state: GridState) -> None:
    cells = state.cells.reshape(MANY, -1)
    for row in cells:
        keys = row[type_of(row) == Type.KEY]
        assert sorted(colour_of(keys)) == sorted(colour_of(row[rules.doors]))


def test_agents_and_one_key_are_in_the_hallway(rules: LockedHallway, state: GridState) -> None:
    assert agents_stand_free(state)
    hallway = state.cells[:, 5:8, 1:-1]
    assert ((type_of(hallway) == Type.KEY).sum(axis=(1, 2)) == 1).all()
    at = places(state)
    assert ((at[..., 0] >= 5) & (at[..., 0] < 8)).all()
    counts = (type_of(hallway) == Type.KEY).sum(axis=0).reshape(-1)
    assert (counts == 0).sum() == 1, "nothing is put in the middle, where agents wait"
    assert evenly(counts[counts > 0], 0.45)
    middle = state.position == rules.waiting
    assert not middle[:, 0].any()
    assert middle[:, 1].any()


def test_every_layout_can_be_solved(rules: LockedHallway, state: GridState) -> None:
    """Keys within reach open their doors, which brings more keys within reach, until nothing is locked."""
    for cells, start in zip(state.cells[:200], places(state)[:200, 0], strict=True):
        owned: set[int] = set()
        for _ in range(rules.num_rooms):
            locked = (type_of(cells) == Type.DOOR) & ~np.isin(colour_of(cells), list(owned))
            near = flood((type_of(cells) != Type.WALL) & ~locked, tuple(start))
            new = set(colour_of(cells[near & (type_of(cells) == Type.KEY)]).tolist()) - owned
            assert new, "stuck"
            owned |= new
            if len(owned) == rules.num_rooms:
                break
        assert len(owned) == rules.num_rooms


def test_rooms_hold_up_to_two_keys_and_both_numbers_come_up() -> None:
    rules = LockedHallway(num_rooms=6)
    state = draw(rules)
    key = type_of(state.cells) == Type.KEY
    held = np.stack([key[:, r.x : r.x + r.width, r.y : r.y + r.height].sum(axis=(1, 2)) for r in rules.rooms], axis=1)
    assert set(np.unique(held)) == {0, 1, 2}
    assert (held.sum(axis=1) == 5).all()
    # Five keys in runs of 1 or 2: five singles have probability 1/16, because the last run is cut to what is left.
    assert np.mean((held == 1).sum(axis=1) == 5) == pytest.approx(1 / 16, abs=0.02)


def test_more_keys_in_the_hallway_if_told() -> None:
    state = draw(LockedHallway(num_rooms=4, max_hallway_keys=3))
    in_hallway = (type_of(state.cells[:, 5:8]) == Type.KEY).sum(axis=(1, 2))
    assert evenly(np.bincount(in_hallway)[1:])
    assert (type_of(state.cells) == Type.KEY).sum() == 4 * MANY


def test_the_key_decides_the_layout(rules: LockedHallway, state: GridState) -> None:
    assert (draw(rules).cells == state.cells).all()
    assert (draw(rules, seed=1).cells != state.cells).any()


def facing(rules: LockedHallway, doors: list[int], unlocked: list[int]) -> GridState:
    """Agent i stands in the hallway before `doors[i]`; some doors have just been unlocked."""
    state = first(LockedHallway(num_rooms=rules.num_rooms, num_agents=2))
    at = rules.doors[np.array(doors)]
    left = np.array(doors) % 2 == 0
    cells = state.cells
    for door in unlocked:
        cells = cells.at[rules.doors[door]].set(pack(Type.DOOR, int(colour_of(cells[rules.doors[door]])), State.OPEN))
    return eqx.tree_at(
        lambda s: (s.cells, s.position, s.direction),
        state,
        (cells, jnp.asarray(np.where(left, at + rules.height, at - rules.height)), jnp.asarray(np.where(left, 2, 0))),
    )


def test_each_door_pays_once_and_the_last_ends_it() -> None:
    rules = LockedHallway(num_rooms=2, num_agents=2)
    one = judge(rules, rules.defaults, turn(facing(rules, [0, 1], unlocked=[0]), [TOGGLE, TOGGLE]))
    pay = 1 - 0.9 / 400
    assert one.reward.tolist() == pytest.approx([pay, pay])
    assert one.state.extra.tolist() == [True, False]
    assert not one.terminated.any()
    again = judge(rules, rules.defaults, turn(one.state, [TOGGLE, WAIT]))
    assert not again.reward.any()
    cells = facing(rules, [0, 1], unlocked=[0, 1]).cells
    last = judge(rules, rules.defaults, turn(one.state, [WAIT, TOGGLE], after={"cells": cells}))
    assert (last.reward > 0).all()
    assert last.terminated.all()
    assert last.info["success"]
    assert not last.state.done.any(), "the reference tells it in the flags alone"


def test_two_doors_in_one_step_add_up() -> None:
    rules = LockedHallway(num_rooms=4, num_agents=2)
    judged = judge(rules, rules.defaults, turn(facing(rules, [0, 3], unlocked=[0, 3]), [TOGGLE, TOGGLE]))
    assert judged.reward.tolist() == pytest.approx([2 * (1 - 0.9 / 800)] * 2)
    assert judged.info["doors_unlocked"] == 2


@pytest.mark.parametrize("pays_unlocker", [False, True])
def test_who_is_paid_where_rewards_are_not_shared(pays_unlocker: bool) -> None:
    """Both toggle one door (and it stays unlocked); only the second holds the key."""
    rules = LockedHallway(num_rooms=2, num_agents=2, pays_unlocker=pays_unlocker)
    state = facing(rules, [1, 1], unlocked=[1])
    fits = pack(Type.KEY, int(colour_of(state.cells[rules.doors[1]])))
    state = eqx.tree_at(lambda s: s.carried, state, jnp.array([0, fits], jnp.int32))
    judged = judge(rules, GridOptions(max_steps=400), turn(state, [TOGGLE, TOGGLE], order=[0, 1]))
    assert (judged.reward > 0).tolist() == ([False, True] if pays_unlocker else [True, False])
    assert judged.state.extra.tolist() == [False, True]


def test_of_two_who_hold_keys_the_first_to_act_is_paid() -> None:
    rules = LockedHallway(num_rooms=2, num_agents=2, pays_unlocker=True)
    state = facing(rules, [1, 1], unlocked=[1])
    fits = pack(Type.KEY, int(colour_of(state.cells[rules.doors[1]])))
    state = eqx.tree_at(lambda s: s.carried, state, jnp.array([fits, fits], jnp.int32))
    judged = judge(rules, GridOptions(max_steps=400), turn(state, [TOGGLE, TOGGLE], order=[1, 0]))
    assert (judged.reward > 0).tolist() == [False, True]


def test_a_locked_door_pays_nothing() -> None:
    rules = LockedHallway(num_rooms=2, num_agents=2)
    judged = judge(rules, rules.defaults, turn(facing(rules, [0, 0], unlocked=[]), [TOGGLE, TOGGLE]))
    assert not judged.reward.any()
    assert not judged.state.extra.any()


def test_the_end_is_in_the_state_where_that_is_fixed() -> None:
    rules = LockedHallway(num_rooms=2, num_agents=2, end_in_state=True)
    judged = judge(rules, rules.defaults, turn(facing(rules, [0, 1], unlocked=[0, 1]), [TOGGLE, TOGGLE]))
    assert judged.state.done.all()


def test_impossible_hallways_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"num_rooms is 3; .* 2, 4 or 6"):
        LockedHallway(num_rooms=3)
    with pytest.raises(ConfigError, match=r"max_keys_per_room is 10; .* 1 to 9"):
        LockedHallway(max_keys_per_room=10)
    with pytest.raises(ConfigError, match=r"max_hallway_keys is 0; .* 1 to 4"):
        LockedHallway(num_rooms=4, max_hallway_keys=0)


def test_capacity_counts_the_hallway_without_keys() -> None:
    assert LockedHallway(num_rooms=2).capacity == 8
    crowded = draw(LockedHallway(num_rooms=2, num_agents=8))
    assert agents_stand_free(crowded)
    assert (crowded.cells[:, 5:8, 1:-1] == EMPTY).sum() == MANY * 8
