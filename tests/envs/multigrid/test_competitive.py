"""The course's worlds: what pays how often, who is paid for a win, and what each switch of the fixed mode changes."""

from __future__ import annotations

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid import catalogue
from courtside.envs.multigrid.objects import EMPTY, LOOKS, Colour, State, Type, pack, state_of, type_of
from courtside.envs.multigrid.state import Action
from courtside.envs.multigrid.worlds.competitive import Competitive
from courtside.types import make_key

FORWARD, PICK_UP, DROP, TOGGLE, DONE = Action.FORWARD, Action.PICK_UP, Action.DROP, Action.TOGGLE, Action.DONE
RED_KEY = pack(Type.KEY, Colour.RED, State.AVAILABLE)
BLUE_BALL = pack(Type.BALL, Colour.BLUE)


@functools.cache
def table(name, **options):
    """A world, its first state and its compiled step."""
    world = catalogue.make(name, **options)
    return world, jax.jit(world.reset)(make_key(0))[0], jax.jit(world.play)


def at(x, y):
    return x * 8 + y


def placed(state, poses, carried=None, cells=None):
    """The state with agents put at (x, y, direction), things in their hands and on the grid."""
    position = jnp.asarray([at(x, y) for x, y, _ in poses], jnp.int32)
    direction = jnp.asarray([d for *_, d in poses], jnp.int32)
    held = state.carried if carried is None else jnp.asarray(carried, jnp.int32)
    grid = state.cells
    for (x, y), thing in (cells or {}).items():
        grid = grid.at[at(x, y)].set(thing)
    return eqx.tree_at(
        lambda s: (s.position, s.direction, s.carried, s.cells), state, (position, direction, held, grid)
    )


def play(name, state, actions, order=None, **options):
    _, _, step = table(name, **options)
    turns = range(len(actions)) if order is None else order
    return step(state, jnp.asarray(actions, jnp.int32), jnp.asarray(list(turns), jnp.int32))


def rewards_of(name, state, actions, **options):
    """What a lone agent is paid, step by step."""
    paid = []
    for action in actions:
        result = play(name, state, [action], **options)
        state = result.state
        paid.append(float(result.reward[0]))
    return paid, state


def test_a_ball_in_hand_pays_again_and_again_before_its_home():
    _, first, _ = table("redblue")
    paid, state = rewards_of("redblue", placed(first, [(6, 6, 2)]), [PICK_UP] * 7)
    np.testing.assert_allclose(paid, [0.45, 0.405, 0.32805, 0.2152336, 0.0926510, 0.0171684, 0.0005895], atol=1e-6)
    assert play("redblue", state, [DROP]).info["ball_paid"] == 7


def test_with_the_exploit_off_a_ball_pays_once():
    _, first, _ = table("redblue", ball_pays="once")
    paid, state = rewards_of("redblue", placed(first, [(6, 6, 2)]), [PICK_UP, PICK_UP, DROP, PICK_UP], ball_pays="once")
    np.testing.assert_allclose(paid, [0.45, -0.001, 0, -0.001], atol=1e-6)
    assert state.extra.balls.tolist() == [1]


def test_a_key_pays_once_and_in_hand_looks_fresh_until_it_is_put_down():
    _, first, _ = table("redblue")
    paid, state = rewards_of("redblue", placed(first, [(8, 4, 2)]), [PICK_UP])
    assert int(state.carried[0]) == pack(Type.KEY, Colour.RED, State.PICKED_UP) | LOOKS
    paid, state = rewards_of("redblue", state, [DROP, PICK_UP, PICK_UP])
    np.testing.assert_allclose(paid, [0, -0.001, -0.001], atol=1e-6)
    assert int(state.carried[0]) == pack(Type.KEY, Colour.RED, State.PICKED_UP)


def test_only_ones_own_key_and_the_others_ball_can_be_taken():
    _, first, _ = table("redblue")
    for thing, taken in [
        (RED_KEY, True),
        (RED_KEY ^ Colour.BLUE << 4, False),
        (BLUE_BALL, True),
        (BLUE_BALL ^ 2 << 4, False),
    ]:
        state = play("redblue", placed(first, [(8, 2, 2)], cells={(7, 2): thing}), [PICK_UP]).state
        assert bool(type_of(state.carried[0]) == type_of(thing)) == taken


def test_a_win_pays_the_first_living_member_whoever_opened_the_door():
    _, first, _ = table("redblue-pair")
    key = pack(Type.KEY, Colour.RED, State.PICKED_UP)
    state = placed(first, [(9, 1, 2), (5, 6, 2)], carried=[0, key])
    won = play("redblue-pair", state, [DONE, TOGGLE])
    np.testing.assert_allclose(won.reward, [1 - 0.9 / 1280, 0], atol=1e-6)
    assert won.terminated.all()
    assert won.events["door_open_done"].tolist() == [1, 0]
    team = play("redblue-pair", state, [DONE, TOGGLE], mode="fixed")
    np.testing.assert_allclose(team.reward, [1 - 0.9 / 1280] * 2, atol=1e-6)
    assert {name: int(value) for name, value in team.info.items() if "door" in name} == {
        "red_0/door_open_done": 1,
        "red_1/door_open_done": 1,
    }


def test_an_elimination_moves_the_victim_and_the_win_replaces_the_bounty():
    _, first, _ = table("redblue-1v1")
    state = placed(first, [(7, 3, 0), (8, 3, 2)])
    hit = play("redblue-1v1", state, [TOGGLE, DONE])
    np.testing.assert_allclose(hit.reward, [1 - 0.9 / 300, -1], atol=1e-6)
    assert hit.state.position.tolist() == [at(7, 3), at(13, 2)]
    assert hit.seen.position.tolist() == [at(7, 3), at(8, 3)]
    assert hit.terminated.all()
    told = {name: values.tolist() for name, values in hit.events.items()}
    assert told == {
        "door_open_done": [0, 0],
        "eliminated_opponents_done": [1, 0],
        "got_eliminated_done": [0, 1],
        "eliminated_opponent_num": [1, 0],
    }
    kept = play("redblue-1v1", state, [TOGGLE, DONE], mode="fixed")
    np.testing.assert_allclose(kept.reward, [1.5 - 0.9 / 300, -1], atol=1e-6)


def test_the_order_decides_who_of_two_hits_first():
    _, first, _ = table("redblue-1v1")
    state = placed(first, [(7, 3, 0), (8, 3, 2)])
    for order, winner in [((0, 1), 0), ((1, 0), 1)]:
        hit = play("redblue-1v1", state, [TOGGLE, TOGGLE], order)
        assert hit.events["eliminated_opponents_done"].tolist() == [int(i == winner) for i in range(2)]


def test_the_first_of_two_to_fall_is_not_told_before_the_game_is_over():
    _, first, _ = table("redblue-2v2")
    state = placed(first, [(7, 3, 0), (9, 1, 2), (8, 3, 2), (6, 6, 0)])
    hit = play("redblue-2v2", state, [TOGGLE, DONE, DONE, DONE])
    np.testing.assert_allclose(hit.reward, [0.5, 0, -1, 0], atol=1e-6)
    assert hit.state.done.tolist() == [False, False, True, False]
    assert not hit.terminated.any()
    later = play("redblue-2v2", hit.state, [DONE, DONE, PICK_UP, DONE])
    np.testing.assert_allclose(later.reward, [0, 0, -0.001, 0], atol=1e-6)
    fixed = play("redblue-2v2", state, [TOGGLE, DONE, DONE, DONE], mode="fixed")
    assert fixed.terminated.tolist() == [False, False, True, False]
    later = play("redblue-2v2", fixed.state, [DONE, DONE, PICK_UP, DONE], mode="fixed")
    assert not later.reward.any()


def test_a_win_can_be_stolen_at_ones_own_shut_door_unless_that_is_fixed():
    _, first, _ = table("redblue-1v1")
    key = pack(Type.KEY, Colour.BLUE, State.PICKED_UP)
    state = placed(first, [(5, 6, 2), (10, 1, 0)], carried=[0, key])
    stolen = play("redblue-1v1", state, [TOGGLE, TOGGLE])
    assert stolen.events["door_open_done"].tolist() == [1, 0]
    honest = play("redblue-1v1", state, [TOGGLE, TOGGLE], mode="fixed")
    assert honest.events["door_open_done"].tolist() == [0, 1]


def test_messages_lag_a_step_and_their_number_says_nothing_unless_that_is_fixed():
    _, first, _ = table("redblue-pair")
    state = placed(first, [(8, 4, 2), (6, 6, 2)])
    for mode, shown in [("faithful", [0, 0]), ("fixed", [3, 2])]:
        world, _, _ = table("redblue-pair", mode=mode)
        result = play("redblue-pair", state, [PICK_UP, DONE], mode=mode)
        assert result.state.extra.mission.tolist() == [3, 2]
        assert world.rules.mission(result.state).tolist() == shown
        lags = mode == "faithful"
        assert (result.seen.extra.mission.tolist() == first.extra.mission.tolist()) == lags


ONE, TWO = "redblue-1v1", "redblue-pair"
FACE_TO_FACE = [(7, 3, 0), (8, 3, 2)]
PAID_RED, PAID_BLUE = (pack(Type.KEY, colour, State.PICKED_UP) for colour in (Colour.RED, Colour.BLUE))
BLUE_OPEN, BLUE_SHUT = (pack(Type.DOOR, Colour.BLUE, state) for state in (State.OPEN, State.CLOSED))
PRIZE, PAIR_PRIZE = 1 - 0.9 / 300, 1 - 0.9 / 1280


def rewards(world, results):
    return results[-1].reward.tolist()


def ends(world, results):
    return results[-1].terminated.tolist()


def in_hand(world, results):
    return results[-1].state.carried.tolist()


def numbers(world, results):
    return world.rules.mission(results[-1].state).tolist()


def openers(world, results):
    return results[-1].events["door_open_done"].tolist()


def blue_doorway(world, results):
    return results[-1].state.cells[at(11, 1)].tolist()


SWITCHES = {
    "ball_pays": ("redblue", [(6, 6, 2)], {}, [[PICK_UP], [PICK_UP]], rewards, [0.405], [-0.001]),
    "win_pays": (
        TWO,
        [(9, 1, 2), (5, 6, 2)],
        {"carried": [0, PAID_RED]},
        [[DONE, TOGGLE]],
        rewards,
        [PAIR_PRIZE, 0],
        [PAIR_PRIZE] * 2,
    ),
    "win_overwrites": (ONE, FACE_TO_FACE, {}, [[TOGGLE, DONE]], rewards, [PRIZE, -1], [0.5 + PRIZE, -1]),
    "stolen_win": (
        ONE,
        [(5, 6, 2), (10, 1, 0)],
        {"carried": [0, PAID_BLUE]},
        [[TOGGLE, TOGGLE]],
        openers,
        [1, 0],
        [0, 1],
    ),
    "judge_the_dead": (ONE, FACE_TO_FACE, {}, [[TOGGLE, PICK_UP]], rewards, [PRIZE, -1.001], [PRIZE, -1]),
    "hit_clears_cell": (
        ONE,
        [(10, 1, 0), (11, 1, 2)],
        {"cells": {(11, 1): BLUE_OPEN}},
        [[TOGGLE, DONE]],
        blue_doorway,
        EMPTY,
        BLUE_SHUT,
    ),
    "mask_partial_ends": (
        "redblue-2v2",
        [(7, 3, 0), (9, 1, 2), (8, 3, 2), (6, 6, 0)],
        {},
        [[TOGGLE, DONE, DONE, DONE]],
        ends,
        [False] * 4,
        [False, False, True, False],
    ),
    "paid_key_looks_fresh": ("redblue", [(8, 4, 2)], {}, [[PICK_UP]], in_hand, [PAID_RED | LOOKS], [PAID_RED]),
    "mission_number": (TWO, [(8, 4, 2), (6, 6, 2)], {}, [[PICK_UP, DONE]], numbers, [0, 0], [3, 2]),
}
"""Switch -> world, poses, what else is placed, actions, what to look at, and that as in the original and mended."""


@pytest.mark.parametrize("switch", Competitive.fixed)
def test_each_switch_mends_its_own_defect(switch):
    name, poses, things, actions, look, original, mended = SWITCHES[switch]
    for options, expected in [({}, original), ({switch: Competitive.fixed[switch]}, mended)]:
        world, state, _ = table(name, **options)
        results = []
        for action in actions:
            before = results[-1].state if results else placed(state, poses, **things)
            results.append(play(name, before, action, **options))
        np.testing.assert_allclose(look(world, results), expected, atol=1e-6, err_msg=f"{switch} {options}")


def test_the_first_mission_number_is_random_unless_it_is_to_mean_something():
    keys = jax.random.split(make_key(0), 50)
    drawn = jax.vmap(catalogue.make(TWO).rules.start)(keys).extra.number
    assert set(np.asarray(drawn).reshape(-1).tolist()) == {0, 1, 2, 3}
    assert (drawn[:, 0] == drawn[:, 1]).all()
    assert not jax.vmap(catalogue.make(TWO, mission_number="meaningful").rules.start)(keys).extra.number.any()


def test_unreachable_keys_lie_in_the_side_rooms():
    world = catalogue.make("redblue-1v1-death-match")
    cells = world.rules.start(make_key(0)).cells
    found = {int(cell): int(place) for place, cell in enumerate(cells) if cell & 15 == Type.KEY}
    assert found == {RED_KEY: at(1, 3), RED_KEY | Colour.BLUE << 4: at(14, 3)}


def test_keys_lie_anywhere_in_the_room_and_the_seed_decides_where():
    world = catalogue.make("redblue-1v1")
    start = jax.jit(jax.vmap(world.rules.start))
    cells = np.asarray(start(jax.random.split(make_key(1), 2000)).cells)
    again = np.asarray(start(jax.random.split(make_key(1), 2000)).cells)
    np.testing.assert_array_equal(cells, again)
    key_cells = [np.argmax((cells & 15 == Type.KEY) & (cells >> 4 & 7 == c), axis=1) for c in (Colour.RED, Colour.BLUE)]
    assert (state_of(cells[cells & 15 == Type.KEY]) == State.AVAILABLE).all()
    for where in key_cells:
        places, counts = np.unique(where, return_counts=True)
        assert len(places) == 34
        assert ((places // 8 >= 5) & (places // 8 <= 10) & (places % 8 >= 1) & (places % 8 <= 6)).all()
        assert counts.max() < 100
        assert counts.min() > 25
    assert (key_cells[0] != key_cells[1]).all()


@pytest.mark.parametrize(
    ("name", "poses"),
    [
        ("redblue-pair", [(9, 1, 2), (8, 1, 2)]),
        ("redblue-1v1", [(9, 1, 2), (6, 6, 0)]),
        ("redblue-1v1-death-match", [(6, 6, 0), (9, 1, 2)]),
        ("redblue-2v2", [(9, 1, 2), (8, 1, 2), (6, 6, 0), (7, 6, 0)]),
    ],
)
def test_agents_start_where_the_course_puts_them(name, poses):
    world = catalogue.make(name)
    state = jax.jit(world.rules.start)(make_key(0))
    assert state.position.tolist() == [at(x, y) for x, y, _ in poses]
    assert state.direction.tolist() == [d for *_, d in poses]
