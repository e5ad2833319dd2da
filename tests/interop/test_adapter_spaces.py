"""Our spaces as Gymnasium's: the same values lie in both, and wrong actions never reach a world."""

from __future__ import annotations

import gymnasium
import numpy as np
import pytest

from courtside import spaces
from courtside.hosts.gym.spaces import convert_observation
from courtside.interop.spaces import ActionError, convert, idle_action, make_reader, read_action, read_actions

SPACES = [
    spaces.Discrete(3, 2),
    spaces.MultiDiscrete((2, 5, 3, 4), (0, 1, 2, 3), (2, 2), "int64"),
    spaces.Box((-1.0, -np.inf), (1.0, np.inf), (2,)),
    spaces.Box(0, 10, (3, 3, 2), "uint8"),
    spaces.Tuple((spaces.Discrete(4), spaces.Box(-1.0, 1.0, ()))),
    spaces.Dict.of({"direction": spaces.Discrete(4), "image": spaces.Box(0, 255, (2, 2), "uint8")}),
]


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_a_space_comes_back_the_same_from_gymnasium(space):
    assert convert_observation(convert(space)) == space


def test_cells_become_bytes():
    assert convert(spaces.Cells(5, (3, 2))) == gymnasium.spaces.Box(0, 4, (3, 2), np.uint8)


def test_an_unbounded_whole_number_gets_the_limits_of_its_type():
    space = convert(spaces.Box(-np.inf, np.inf, (1,), "int8"))
    assert (space.low, space.high) == (-128, 127)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: type(space).__name__)
def test_what_is_read_lies_in_the_space_and_is_a_copy(space):
    converted = convert(space)
    converted.seed(0)
    value = converted.sample()
    shown = _lead(value)
    seen = make_reader(space)(shown, 0)
    assert converted.contains(seen)
    assert gymnasium.utils.env_checker.data_equivalence(seen, value)
    for kept, given in zip(_leaves(seen), _leaves(shown), strict=True):
        assert not np.shares_memory(kept, given)


def _lead(value):
    """The same with an agent axis in front."""
    if isinstance(value, dict):
        return {name: _lead(part) for name, part in value.items()}
    return tuple(map(_lead, value)) if isinstance(value, tuple) else np.asarray(value)[None]


def _leaves(value):
    if isinstance(value, dict | tuple):
        return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize("action", [2, np.int64(4), np.array(3)])
def test_a_choice_that_is_there_is_taken(action):
    taken = read_action(spaces.Discrete(3, 2), action)
    assert (taken, taken.dtype) == (action, np.int32)


@pytest.mark.parametrize("action", [1, 5, 2.0, "2", None, [2], True])
def test_a_choice_that_is_not_there_is_refused(action):
    with pytest.raises(ActionError, match="a whole number from 2 to 4"):
        read_action(spaces.Discrete(3, 2), action)


def test_several_choices_are_looked_at_one_by_one():
    space = spaces.MultiDiscrete((2, 3))
    assert read_action(space, [1, 2]).tolist() == [1, 2]
    with pytest.raises(ActionError, match="within 0 to 1, 0 to 2"):
        read_action(space, [1, 3])


def test_numbers_beyond_a_box_are_moved_to_its_edge_and_nan_is_refused():
    space = spaces.Box(-2.0, 2.0, (2,))
    assert read_action(space, [-9, 0.5]).tolist() == [-2.0, 0.5]
    for wrong in ([np.nan, 0.0], [0.0], [[0.0, 0.0]], [0.0, [1.0]]):
        with pytest.raises(ActionError, match=r"numbers of the shape \(2,\)"):
            read_action(space, wrong)


def test_a_wrong_action_in_a_batch_names_its_env():
    assert read_actions(spaces.Discrete(7), np.array([0, 6]), 2).tolist() == [0, 6]
    with pytest.raises(ActionError, match=r"The action .*7.* for env 1 "):
        read_actions(spaces.Discrete(7), np.array([0, 7]), 2)
    with pytest.raises(ActionError, match="one for each of the 3 envs"):
        read_actions(spaces.Discrete(7), np.array([0, 6]), 3)


@pytest.mark.parametrize("space", [spaces.Discrete(3, 2), spaces.MultiDiscrete((2, 3), 1), spaces.Box(1.0, 2.0, (2,))])
def test_the_idle_action_is_one_of_the_space(space):
    assert spaces.contains(space, idle_action(space))
