"""Footprints memory: exact and fast nearest points, cool-downs, visits, and a copy that goes on alike."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.errors import ConfigError
from courtside.hosts.gba.emerald.exploration import Exploring, Footprints

HOME = (0, 9)
MAPS = (HOME, (0, 0), (24, 7))
STEPS = st.lists(st.tuples(st.sampled_from(MAPS), st.integers(-12, 12), st.integers(-12, 12)), max_size=120)


def walk(memory, tiles, place=HOME):
    for x, y in tiles:
        memory.see(place, x, y)
    return memory


def search_all(settings, steps):
    """The slow twin: every point of a map is looked at. Numbers of points and revisits."""
    points, revisits = {}, 0
    for now, (place, x, y) in enumerate(steps):
        here = points.setdefault(place, [])
        near = [p for p in here if np.hypot(p[0] - x, p[1] - y) < np.sqrt(settings.limit) - 1e-9]
        if not near:
            here.append([x, y, now + settings.revisit_cooldown])
            continue
        nearest = min(near, key=lambda p: (p[0] - x) ** 2 + (p[1] - y) ** 2)
        if nearest[2] <= now:
            nearest[2] = now + settings.revisit_cooldown
            revisits += 1
        else:
            nearest[2] = max(nearest[2], now + settings.refresh_cooldown)
    return sum(map(len, points.values())), revisits


@given(STEPS, st.sampled_from([1.0, 2.5, 4.0, 6.0]), st.booleans())
def test_points_and_revisits_are_those_of_a_search_through_all(steps, radius, is_squared):
    settings = Exploring(radius=radius, squared_radius=is_squared, revisit_cooldown=9, refresh_cooldown=4)
    memory = Footprints(settings)
    for place, x, y in steps:
        memory.see(place, x, y)
    assert (memory.num_points, memory.num_revisits) == search_all(settings, steps)


def test_the_radius_is_a_distance_and_was_the_square_of_one():
    line = [(x, 0) for x in range(13)]
    assert walk(Footprints(), line).num_points == 3, "at 0, 6 and 12"
    assert walk(Footprints(Exploring(squared_radius=True)), line).num_points == 5, "at 0, 3, 6, 9 and 12"


def test_one_step_beyond_the_edge_is_near_and_was_far_away():
    edge = [(0, 5), (-1, 5)]
    assert walk(Footprints(), edge).num_points == 1
    assert walk(Footprints(Exploring(unsigned_coordinates=True)), edge).num_points == 2


def test_coming_back_counts_after_the_cool_down_and_standing_still_does_not():
    settings = Exploring(revisit_cooldown=10, refresh_cooldown=4)
    standing = walk(Footprints(settings), [(0, 0)] * 100)
    assert (standing.num_points, standing.num_revisits) == (1, 0)
    leaving = walk(Footprints(settings), [(0, 0)] + [(50, 0)] * 9)
    assert walk(leaving, [(1, 0)]).num_revisits == 1, "the 10th step after it was stored"
    early = walk(Footprints(settings), [(0, 0)] + [(50, 0)] * 8 + [(1, 0)] + [(50, 0)] * 3)
    assert early.num_revisits == 0
    assert walk(early, [(1, 0)]).num_revisits == 1, "4 steps after it was near"


def test_a_map_holds_no_more_than_its_capacity():
    memory = walk(Footprints(Exploring(capacity=2)), [(x, 0) for x in range(0, 100, 10)])
    assert memory.num_points == 2
    assert walk(memory, [(0, 0)], place=(0, 10)).num_points == 3, "each map has its own"


def test_visits_outlive_an_episode_and_points_do_not():
    memory = Footprints()
    for x, y in [(-1, 4), (2, 4), (-1, 4)]:
        memory.count_visit(HOME, x, y)
    walk(memory, [(0, 0)]).reset()
    assert memory.num_points == 0
    tiles, steps = memory.visit_arrays()[HOME]
    assert (tiles.dtype, steps.dtype) == (np.int16, np.int32)
    assert tiles.tolist() == [[-1, 4], [2, 4]]
    assert steps.tolist() == [2, 1]


@given(STEPS, STEPS, st.booleans())
def test_a_copy_goes_on_exactly(before, after, is_unsigned):
    settings = Exploring(radius=3.0, unsigned_coordinates=is_unsigned, revisit_cooldown=9, refresh_cooldown=4)
    memory, copy = Footprints(settings), Footprints(settings)
    for place, x, y in before:
        memory.count_visit(place, x, y)
        memory.see(place, x, y)
    saved = memory.save()
    json.dumps({key: value for key, value in saved.items() if not isinstance(value, np.ndarray)})
    assert saved["points"].dtype == np.int16
    copy.load(saved)
    assert copy.visits == memory.visits
    for place, x, y in after:
        memory.see(place, x, y)
        copy.see(place, x, y)
        assert (copy.num_points, copy.num_revisits) == (memory.num_points, memory.num_revisits)
    for key, value in memory.save().items():
        np.testing.assert_array_equal(copy.save()[key], value)


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"radius": float("nan")}, {"capacity": -1}])
def test_what_cannot_work_is_refused(wrong):
    with pytest.raises(ConfigError):
        Footprints(Exploring(**wrong))
