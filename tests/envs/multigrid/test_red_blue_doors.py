from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from grids import agents_stand_free, draw, evenly, first, flood, is_walled, judge, places, turn

from courtside.envs.multigrid.objects import LOOKS, shown
from courtside.envs.multigrid.rules import GridOptions
from courtside.envs.multigrid.state import Action, GridState
from courtside.envs.multigrid.worlds.red_blue_doors import BLUE_OPEN, BLUE_SHUT, RED_OPEN, RED_SHUT, RedBlueDoors

TOGGLE, WAIT = Action.TOGGLE, Action.DONE


@pytest.mark.parametrize("size", [6, 8])
def test_two_doors_in_the_walls_of_a_closed_room(size: int) -> None:
    rules = RedBlueDoors(size=size, num_agents=2)
    state = draw(rules)
    assert is_walled(state.cells)
    assert agents_stand_free(state)
    assert ((state.cells == RED_SHUT).sum(axis=(1, 2)) == 1).all()
    assert ((state.cells == BLUE_SHUT).sum(axis=(1, 2)) == 1).all()
    left, right = size // 2, size // 2 + size - 1
    assert evenly((state.cells[:, left] == RED_SHUT).sum(axis=0)[1:-1])
    assert evenly((state.cells[:, right] == BLUE_SHUT).sum(axis=0)[1:-1])
    assert evenly(np.bincount(state.direction[:, 1]))
    counts = np.bincount(state.position[:, 0])
    assert (counts > 0).sum() == (size - 2) ** 2
    assert flood(state.cells[0] == 1, tuple(places(state)[0, 0])).sum() == (size - 2) ** 2


def test_the_key_decides_the_layout() -> None:
    rules = RedBlueDoors()
    assert (draw(rules, seed=1).cells == draw(rules, seed=1).cells).all()
    assert (draw(rules, seed=1).cells != draw(rules, seed=2).cells).any()


def at_the_blue_door(rules: RedBlueDoors, red: int, blue: int = BLUE_OPEN) -> GridState:
    """All agents stand before the blue door and face it."""
    state = first(RedBlueDoors(num_agents=rules.num_agents))
    cells = jnp.where(state.cells == RED_SHUT, red, state.cells)
    door = int(jnp.argmax(state.cells == BLUE_SHUT))
    cells = cells.at[door].set(blue)
    position = jnp.full_like(state.position, door - rules.height)
    return eqx.tree_at(lambda s: (s.cells, s.position, s.direction), state, (cells, position, jnp.zeros_like(position)))


def test_blue_after_red_wins_for_everybody() -> None:
    rules = RedBlueDoors(num_agents=2)
    judged = judge(rules, rules.defaults, turn(at_the_blue_door(rules, RED_OPEN), [WAIT, TOGGLE]))
    assert judged.reward.tolist() == pytest.approx([1 - 0.9 / 1280] * 2)
    assert judged.terminated.all()
    assert judged.info["success"]


def test_a_reward_of_ones_own_and_an_end_of_ones_own() -> None:
    rules = RedBlueDoors(num_agents=2)
    options = GridOptions(max_steps=10, joint_reward=False, success_termination_mode="all")
    judged = judge(rules, options, turn(at_the_blue_door(rules, RED_OPEN), [WAIT, TOGGLE]))
    assert judged.reward.tolist() == pytest.approx([0, 1 - 0.09])
    assert judged.terminated.tolist() == [False, True]


@pytest.mark.parametrize("looks_open", [True, False])
def test_blue_before_red_fails_and_shuts_the_door(looks_open: bool) -> None:
    rules = RedBlueDoors(num_agents=2, door_looks_open=looks_open)
    judged = judge(rules, rules.defaults, turn(at_the_blue_door(rules, RED_SHUT), [TOGGLE, WAIT]))
    assert not judged.reward.any()
    assert judged.terminated.all()
    assert not judged.info["success"]
    assert (BLUE_SHUT | (LOOKS if looks_open else 0)) in judged.state.cells.tolist()
    assert (BLUE_OPEN in shown(judged.state.cells).tolist()) == looks_open


def test_only_the_first_of_two_fails_because_the_door_is_shut_then() -> None:
    rules = RedBlueDoors(num_agents=3)
    options = GridOptions(failure_termination_mode="all")
    judged = judge(rules, options, turn(at_the_blue_door(rules, RED_SHUT), [WAIT, TOGGLE, TOGGLE], order=[2, 1, 0]))
    assert judged.terminated.tolist() == [False, True, False]


@pytest.mark.parametrize(("blue", "action"), [(BLUE_SHUT, TOGGLE), (BLUE_OPEN, WAIT), (BLUE_SHUT | LOOKS, TOGGLE)])
def test_nothing_is_judged_without_a_toggle_that_opened_it(blue: int, action: int) -> None:
    rules = RedBlueDoors()
    state = at_the_blue_door(rules, RED_OPEN, blue)
    judged = judge(rules, rules.defaults, turn(state, [action]))
    assert not judged.terminated.any()
    assert not judged.reward.any()
    assert judged.state.cells.tolist() == state.cells.tolist()


def test_looking_elsewhere_is_not_judged() -> None:
    rules = RedBlueDoors()
    state = at_the_blue_door(rules, RED_OPEN)
    judged = judge(rules, rules.defaults, turn(state, [TOGGLE], after={"direction": state.direction + 1}))
    assert not judged.terminated.any()


@pytest.mark.parametrize("again", [True, False])
def test_a_finished_agent_is_paid_again_only_by_mistake(again: bool) -> None:
    rules = RedBlueDoors(judges_finished=again)
    state = at_the_blue_door(rules, RED_OPEN)
    state = eqx.tree_at(lambda s: s.done, state, ~state.done)
    assert bool(judge(rules, rules.defaults, turn(state, [TOGGLE])).reward[0] > 0) == again
