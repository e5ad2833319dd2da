from __future__ import annotations

import equinox as eqx
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

from courtside.envs.multigrid.objects import EMPTY, WALL, State, Type, pack
from courtside.envs.multigrid.rules import GridOptions
from courtside.envs.multigrid.state import Action, GridState
from courtside.envs.multigrid.worlds.blocked_unlock_pickup import BlockedUnlockPickup

RULES = BlockedUnlockPickup(num_agents=2)


@pytest.fixture(scope="module")
def state() -> GridState:
    return draw(RULES)


def where(state: GridState, type: int) -> np.ndarray:
    """(x, y) of the one thing of this type. [count, 2]"""
    index, x, y = np.nonzero(type_of(state.cells) == type)
    assert index.tolist() == list(range(MANY)), "one in every layout"
    return np.stack([x, y], axis=-1)


def things(state: GridState, type: int) -> np.ndarray:
    x, y = where(state, type).T
    return state.cells[np.arange(MANY), x, y]


def test_a_locked_door_blocked_by_a_ball(state: GridState) -> None:
    door, ball = where(state, Type.DOOR), where(state, Type.BALL)
    assert is_walled(state.cells)
    assert (door[:, 0] == 5).all()
    assert evenly(np.bincount(door[:, 1])[1:])
    assert (ball == door - [1, 0]).all()
    assert (state_of(things(state, Type.DOOR)) == State.LOCKED).all()


def test_the_key_fits_and_lies_in_the_near_room(state: GridState) -> None:
    assert (colour_of(things(state, Type.KEY)) == colour_of(things(state, Type.DOOR))).all()
    assert (where(state, Type.KEY)[:, 0] < 5).all()


def test_the_box_lies_in_the_far_room_away_from_where_agents_wait(state: GridState) -> None:
    box = where(state, Type.BOX)
    counts = np.bincount(box[:, 0] * 6 + box[:, 1])
    assert ((box - [8, 3]) ** 2).sum(axis=1).min() > 1
    assert (box[:, 0] > 5).all()
    assert (counts > 0).sum() == 16 - 5
    assert evenly(counts[counts > 0])


def test_colours_are_drawn_apart(state: GridState) -> None:
    for type in (Type.DOOR, Type.BALL, Type.BOX):
        assert evenly(np.bincount(colour_of(things(state, type))))
    assert len(np.unique(things(state, Type.DOOR) * 4096 + things(state, Type.BALL))) == 36


def test_agents_stand_in_the_near_room_before_no_thing(state: GridState) -> None:
    assert agents_stand_free(state)
    at = places(state)
    assert (at[..., 0] < 5).all()
    ahead = at + np.array(STEPS)[state.direction]
    front = state.cells[np.arange(MANY)[:, None], ahead[..., 0], ahead[..., 1]]
    assert np.isin(front, [EMPTY, WALL]).all()


def test_every_pose_that_is_allowed_is_as_likely(state: GridState) -> None:
    """Count poses against how often each was allowed; only the first agent, which nobody else stands in the way of."""
    allowed, taken = np.zeros((4, 4, 4)), np.zeros((4, 4, 4))
    for cells, (x, y), direction in zip(state.cells, places(state)[:, 0], state.direction[:, 0], strict=True):
        ahead = np.stack([np.roll(cells, (-dx, -dy), (0, 1)) for dx, dy in STEPS], axis=-1)
        free = (cells == EMPTY)[..., None] & np.isin(ahead, [EMPTY, WALL])
        near = free[1:5, 1:5]
        allowed += near / near.sum()
        taken[x - 1, y - 1, direction] += 1
    assert (np.abs(taken - allowed) < 5 * np.sqrt(allowed) + 1).all()


def test_every_layout_can_be_solved(state: GridState) -> None:
    """Where the ball is lifted and the door unlocked, key and box are within reach; before that, the ball is."""
    for cells, (x, y) in zip(state.cells[:300], places(state)[:300, 0], strict=True):
        near = flood(type_of(cells) != Type.WALL, (x, y))
        assert near[type_of(cells) == Type.BOX].all()
        near = flood((cells == EMPTY) | (type_of(cells) == Type.BALL), (x, y))
        beside_key = [near[tuple(np.argwhere(type_of(cells) == Type.KEY)[0] + step)] for step in STEPS]
        assert any(beside_key)


def test_the_key_decides_the_layout(state: GridState) -> None:
    assert (draw(RULES).cells == state.cells).all()
    assert (draw(RULES, seed=1).cells != state.cells).any()


def test_whoever_holds_the_box_wins_for_everybody() -> None:
    start = first(RULES)
    held = jnp.array([0, pack(Type.BOX, 3)], jnp.int32)
    judged = judge(RULES, RULES.defaults, turn(start, [Action.DONE, Action.PICK_UP], after={"carried": held}))
    assert judged.reward.tolist() == pytest.approx([1 - 0.9 / 576] * 2)
    assert judged.terminated.all()
    assert judged.info["success"]
    alone = judge(RULES, GridOptions(max_steps=576), turn(start, [Action.DONE] * 2, after={"carried": held}))
    assert alone.reward.tolist() == pytest.approx([0, 1 - 0.9 / 576])


def test_other_things_in_hand_win_nothing() -> None:
    start = first(RULES)
    held = jnp.array([pack(Type.KEY, 3), pack(Type.BALL, 3)], jnp.int32)
    judged = judge(RULES, RULES.defaults, turn(start, [Action.PICK_UP] * 2, after={"carried": held}))
    assert not judged.reward.any()
    assert not judged.terminated.any()
    assert not judged.info["door_unlocked"]


def test_an_unlocked_door_is_logged() -> None:
    start = first(RULES)
    cells = jnp.where(type_of(start.cells) == Type.DOOR, pack(Type.DOOR, 0, State.CLOSED), start.cells)
    judged = judge(RULES, RULES.defaults, turn(eqx.tree_at(lambda s: s.cells, start, cells), [Action.DONE] * 2))
    assert judged.info["door_unlocked"]


def test_the_mission_tells_the_box_only_where_it_is_fixed(state: GridState) -> None:
    told = draw(BlockedUnlockPickup(num_agents=2, mission_tells=True))
    box = colour_of(things(told, Type.BOX))
    assert (told.extra == 2 * box).all()
    assert RULES.missions[2 * 3] == "pick up the purple box"
    assert evenly(np.bincount(state.extra, minlength=12))
    start = first(RULES)
    assert RULES.mission(start).tolist() == [int(start.extra)] * 2
