from __future__ import annotations

import numpy as np
from grids import agents_stand_free, draw, evenly, first, is_walled, judge, places, turn

from courtside.envs.multigrid.objects import EMPTY, WALL
from courtside.envs.multigrid.state import Action
from courtside.envs.multigrid.worlds.empty import GOAL, Empty


def test_one_room_with_the_goal_in_the_corner() -> None:
    state = draw(Empty(size=5))
    assert is_walled(state.cells)
    assert (state.cells[:, 3, 3] == GOAL).all()
    assert (state.cells[0, 1:-1, 1:-1] == EMPTY).sum() == 8


def test_agents_start_on_one_cell_facing_right() -> None:
    state = draw(Empty(size=8, num_agents=3))
    assert (places(state) == 1).all()
    assert (state.direction == 0).all()


def test_random_starts_are_free_cells_of_all_directions_each_as_likely() -> None:
    state = draw(Empty(size=6, random_start=True, num_agents=2))
    assert agents_stand_free(state)
    for agent in range(2):
        counts = np.bincount(state.position[:, agent], minlength=36)
        assert evenly(counts[counts > 0])
        assert (counts > 0).sum() == 15
        assert evenly(np.bincount(state.direction[:, agent]))


def test_the_key_decides_the_start() -> None:
    rules = Empty(random_start=True)
    assert (draw(rules, seed=1).position == draw(rules, seed=1).position).all()
    assert (draw(rules, seed=1).position != draw(rules, seed=2).position).any()


def test_the_goal_was_judged_inside_the_move() -> None:
    rules = Empty(num_agents=2)
    state = first(rules)
    judged = judge(rules, rules.defaults, turn(state, [Action.FORWARD] * 2, after={"done": ~state.done}))
    assert judged.terminated.all()
    assert judged.info["success"]


def test_the_alphabet_has_agents_only_where_they_can_be_seen() -> None:
    assert Empty().alphabet == (EMPTY, WALL, GOAL)
    assert len(Empty(num_agents=2).alphabet) == 3 + 2 * 4
