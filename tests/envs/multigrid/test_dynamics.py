"""The physical pass on a bare grid: moves, things, doors, boxes, and the order of acting."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid.dynamics import draw_order
from courtside.envs.multigrid.objects import EMPTY, LOOKS, Colour, State, Type, pack, shown
from courtside.envs.multigrid.rules import GridOptions
from courtside.envs.multigrid.state import Action
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.bare import Bare
from courtside.types import make_key

BALL = pack(Type.BALL, Colour.RED)
KEY = pack(Type.KEY, Colour.GREEN)
FULL_BOX = pack(Type.BOX, Colour.YELLOW, 0, pack(Type.BOX, Colour.BLUE, 0, BALL))
RULES = Bare(width=7, height=5, num_agents=2)


@pytest.fixture(scope="module")
def act():
    """One step of agent 0 at (1, 1) looking right, with a thing in front and one in hand; agent 1 stands aside."""
    steps = {
        overlap: jax.jit(GridWorld(RULES, GridOptions(allow_agent_overlap=overlap)).play) for overlap in (True, False)
    }
    first = RULES.start(make_key(0))

    def act(action, front=EMPTY, hand=0, other=(5, 3), overlap=True):
        cells = first.cells.at[2 * 5 + 1].set(front)
        position = jnp.asarray([6, other[0] * 5 + other[1]], jnp.int32)
        carried = jnp.asarray([hand, 0], jnp.int32)
        state = eqx.tree_at(lambda s: (s.cells, s.position, s.carried), first, (cells, position, carried))
        actions = jnp.asarray([action, Action.DONE], jnp.int32)
        play = steps[overlap](state, actions, jnp.asarray([0, 1], jnp.int32))
        return play, int(play.state.cells[11]), int(play.state.carried[0]), int(play.state.position[0])

    return act


def door(state):
    return pack(Type.DOOR, Colour.GREEN, state)


@pytest.mark.parametrize(
    ("front", "moves"),
    [
        (EMPTY, True),
        (pack(Type.FLOOR, Colour.BLUE), True),
        (pack(Type.WALL, Colour.GREY), False),
        (BALL, False),
        (FULL_BOX, False),
        (door(State.OPEN), True),
        (door(State.CLOSED), False),
        (door(State.LOCKED), False),
        (door(State.CLOSED) | LOOKS, False),
    ],
)
def test_an_agent_walks_onto_what_lets_it(act, front, moves):
    assert (act(Action.FORWARD, front)[3] == 11) == moves


def test_another_agent_is_in_the_way_only_without_overlap(act):
    assert act(Action.FORWARD, other=(2, 1))[3] == 11
    assert act(Action.FORWARD, other=(2, 1), overlap=False)[3] == 6


def test_things_are_taken_with_empty_hands_and_put_down_on_empty_cells(act):
    assert act(Action.PICK_UP, BALL)[1:3] == (EMPTY, BALL)
    assert act(Action.PICK_UP, BALL, hand=KEY)[1:3] == (BALL, KEY)
    assert act(Action.PICK_UP, FULL_BOX)[1:3] == (EMPTY, FULL_BOX)
    assert act(Action.DROP, hand=FULL_BOX)[1:3] == (FULL_BOX, 0)
    assert act(Action.DROP, pack(Type.FLOOR, 2), hand=KEY)[2] == KEY
    assert act(Action.DROP, hand=KEY, other=(2, 1))[2] == KEY
    assert act(Action.DROP, hand=KEY | LOOKS)[1] == KEY


def test_a_locked_door_needs_its_key_and_others_swing(act):
    assert act(Action.TOGGLE, door(State.LOCKED))[1] == door(State.LOCKED)
    assert act(Action.TOGGLE, door(State.LOCKED), hand=KEY ^ 1 << 4)[1] == door(State.LOCKED)
    assert act(Action.TOGGLE, door(State.LOCKED), hand=KEY)[1:3] == (door(State.OPEN), KEY)
    assert act(Action.TOGGLE, door(State.OPEN))[1] == door(State.CLOSED)
    assert act(Action.TOGGLE, door(State.CLOSED) | LOOKS)[1] == door(State.OPEN)


def test_a_box_gives_way_to_what_is_in_it(act):
    inner = pack(Type.BOX, Colour.BLUE, 0, BALL)
    assert act(Action.TOGGLE, FULL_BOX)[1] == inner
    assert act(Action.TOGGLE, inner)[1] == BALL
    assert act(Action.TOGGLE, pack(Type.BOX, Colour.BLUE))[1] == EMPTY


def test_goal_pays_and_ends_for_all_and_lava_for_one(act):
    won = act(Action.FORWARD, pack(Type.GOAL, Colour.GREEN))[0]
    np.testing.assert_allclose(won.reward, [1 - 0.9 / 100, 0], atol=1e-6)
    assert won.terminated.tolist() == [True, True]
    lost = act(Action.FORWARD, pack(Type.LAVA, Colour.RED))[0]
    assert lost.terminated.tolist() == [True, False]
    assert not lost.reward.any()


def test_a_marked_thing_shows_another_state_than_it_has():
    things = jnp.asarray([door(State.CLOSED) | LOOKS, pack(Type.KEY, 0, State.PICKED_UP) | LOOKS, BALL, FULL_BOX])
    expected = [door(State.OPEN), pack(Type.KEY, 0, State.AVAILABLE), BALL, pack(Type.BOX, Colour.YELLOW)]
    assert shown(things).tolist() == expected


def test_every_order_of_acting_is_as_likely_and_a_fixed_one_is_by_index():
    drawn = jax.jit(jax.vmap(lambda key: draw_order(GridOptions(), 3, key)))(jax.random.split(make_key(0), 6000))
    orders, counts = np.unique(np.asarray(drawn), axis=0, return_counts=True)
    assert len(orders) == 6
    assert (abs(counts - 1000) < 150).all()
    assert draw_order(GridOptions(order="fixed"), 3, make_key(0)).tolist() == [0, 1, 2]
