"""Spaces as data: sizes, what lies inside, and the round trip through JSON."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.spaces import (
    Box,
    Dict,
    Discrete,
    MultiDiscrete,
    Tuple,
    contains,
    describe,
    feature_size,
    from_json,
    to_json,
)

NESTED = Dict.of({
    "b": Tuple((Discrete(3), Box(0.0, 1.0, (2, 2)))),
    "a": MultiDiscrete((2, 3)),
    "c": Dict.of({"x": Box((-1.0, -math.inf), (1.0, math.inf), (2,))}),
})  # fmt: skip
bounds = st.one_of(st.floats(-1e6, 1e6), st.sampled_from(["inf", "-inf"]))


def records(**fields):
    return st.fixed_dictionaries({name: f if isinstance(f, st.SearchStrategy) else st.just(f) for name, f in fields.items()})  # fmt: skip


def box_records(n):
    bound = st.one_of(bounds, st.lists(bounds, min_size=n, max_size=n))
    return records(kind="box", low=bound, high=bound, shape=[n], dtype=st.sampled_from(["float32", "uint8"]))


leaves = st.one_of(
    records(kind="discrete", n=st.integers(1, 9)),
    records(kind="discrete", n=st.integers(1, 9), start=st.integers(-9, -1)),
    records(kind="multi_discrete", nvec=st.lists(st.integers(1, 5), min_size=1, max_size=3)),
    records(
        kind="multi_discrete", nvec=[2, 3, 4, 5], start=st.sampled_from([7, [1, 2, 3, 4]]), shape=[2, 2], dtype="int8"
    ),
    st.integers(1, 3).flatmap(box_records),
)
json_spaces = st.recursive(
    leaves,
    lambda inner: st.one_of(
        records(kind="dict", parts=st.dictionaries(st.text(min_size=1, max_size=4), inner, min_size=1, max_size=3)),
        records(kind="tuple", parts=st.lists(inner, min_size=1, max_size=3)),
    ),
    max_leaves=5,
)


@given(json_spaces)
def test_json_round_trip(record):
    """Both ways, through strict JSON: infinities must be text."""
    space = from_json(record)
    assert to_json(space) == record
    assert from_json(json.loads(json.dumps(to_json(space), allow_nan=False))) == space


def test_unknown_kind():
    with pytest.raises(ValueError, match="unknown space kind 'sphere'"):
        from_json({"kind": "sphere"})


def test_feature_size_counts_every_number():
    assert feature_size(NESTED) == (2 + 3) + (3 + 4) + 2
    assert feature_size(Box(0.0, 1.0, ())) == 1


def test_dict_parts_are_in_order_of_name():
    assert [name for name, _ in NESTED.parts] == ["a", "b", "c"]
    assert Dict.of({"b": Discrete(2), "a": Discrete(3)}) == Dict.of({"a": Discrete(3), "b": Discrete(2)})


@pytest.mark.parametrize(
    ("space", "value", "inside"),
    [
        (Discrete(3), 0, True),
        (Discrete(3), np.int64(2), True),
        (Discrete(3), 3, False),
        (Discrete(3), -1, False),
        (Discrete(3), np.array([1]), False),
        (Discrete(3), 0.5, False),
        (MultiDiscrete((2, 3)), np.array([1, 2]), True),
        (MultiDiscrete((2, 3)), np.array([2, 0]), False),
        (MultiDiscrete((2, 3)), np.array([0, -1]), False),
        (MultiDiscrete((2, 3)), np.array([0.5, 1.0]), False),
        (MultiDiscrete((2, 3)), np.array([1]), False),
        (Discrete(3, 5), 7, True),
        (Discrete(3, 5), 8, False),
        (Discrete(3, 5), 0, False),
        (MultiDiscrete((2, 3), (1, -1)), np.array([2, 1]), True),
        (MultiDiscrete((2, 3), (1, -1)), np.array([0, 1]), False),
        (MultiDiscrete((2, 3, 2, 2), 0, (2, 2)), np.array([[1, 2], [0, 1]]), True),
        (MultiDiscrete((2, 3, 2, 2), 0, (2, 2)), np.array([1, 2, 0, 1]), False),
        (Box(-1.0, 1.0, (2,)), np.array([-1.0, 1.0]), True),
        (Box(-1.0, 1.0, (2,)), np.array([0.0, 1.1]), False),
        (Box(-1.0, 1.0, (2,)), np.array([0.0, np.nan]), False),
        (Box(-1.0, 1.0, (2,)), np.array([0.0]), False),
        (Box((0.0, -5.0), (1.0, 5.0), (2,)), np.array([0.5, -4.0]), True),
        (Box((0.0, -5.0), (1.0, 5.0), (2,)), np.array([-4.0, 0.5]), False),
        (Dict.of({"a": Discrete(2)}), {"a": 1}, True),
        (Dict.of({"a": Discrete(2)}), {"a": 2}, False),
        (Dict.of({"a": Discrete(2)}), {"b": 1}, False),
        (Dict.of({"a": Discrete(2)}), {"a": 1, "b": 1}, False),
        (Tuple((Discrete(2), Discrete(3))), (1, 2), True),
        (Tuple((Discrete(2), Discrete(3))), (2, 1), False),
        (Tuple((Discrete(2), Discrete(3))), (1,), False),
    ],
)
def test_contains(space, value, inside):
    assert contains(space, value) is inside


def test_box_bounds_fill_the_shape():
    box = Box((0.0, 1.0, 2.0, 3.0), 9.0, (2, 2))
    np.testing.assert_array_equal(box.low_array, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(box.high_array, np.full((2, 2), 9.0))


def test_shapes_and_types():
    assert (Discrete(2).shape, Discrete(2).dtype) == ((), np.int32)
    assert (MultiDiscrete((2, 3)).shape, MultiDiscrete((2, 3)).dtype) == ((2,), np.int32)
    assert Box(0.0, 255.0, (4, 4), "uint8").dtype == np.uint8
    square = MultiDiscrete((2, 3, 4, 5), 0, (2, 2), "int8")
    assert (square.shape, square.dtype, feature_size(square)) == ((2, 2), np.int8, 14)


def test_describe_is_short_and_plain():
    assert describe(Discrete(2)) == "one of 2"
    assert describe(Discrete(2, 5)) == "one of 2 from 5"
    assert describe(MultiDiscrete((2, 3), (0, 1))) == "one each of 2, 3 from 1"
    assert describe(Box(0.0, 1.0, (4,))) == "4 numbers (float32)"
    assert describe(NESTED).startswith("{a: one each of 2, 3, b: (one of 3, 2 x 2 numbers (float32))")
