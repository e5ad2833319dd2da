"""Gymnasium's spaces in our terms, against `encoding.encode` and Gymnasium's own `contains`."""

import numpy as np
import pytest
from gymnasium import spaces as gym

from courtside import encoding, spaces
from courtside.errors import EnvContractError
from courtside.hosts.gym.spaces import convert_action, convert_observation
from courtside.hosts.rows import (
    EnvFault,
    action_layout,
    make_action_reader,
    make_obs_writer,
    may_hold_nan,
)

NESTED = gym.Dict(
    {
        "z": gym.Tuple((gym.Discrete(3, start=2), gym.MultiDiscrete([[2, 3], [4, 2]]))),
        "a": gym.Box(-1.0, 1.0, (2, 3), np.float64),
        "m": gym.MultiBinary((2, 2)),
    }
)


def written(space, obs):
    row = np.full(spaces.feature_size(convert_observation(space)), -7.0, np.float32)
    make_obs_writer(convert_observation(space))(row, obs)
    return row


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (gym.Discrete(4, start=3), spaces.Discrete(4, 3)),
        (gym.MultiDiscrete([[2, 3], [4, 5]]), spaces.MultiDiscrete((2, 3, 4, 5), 0, (2, 2), "int64")),
        (gym.MultiBinary(3), spaces.Box(0.0, 1.0, (3,), "int8")),
        (gym.Box(0, 255, (8, 8), np.uint8), spaces.Box(0.0, 255.0, (8, 8), "uint8")),
        (gym.Box(np.array([-1, -2.0]), np.array([1, np.inf]), dtype=np.float64),
         spaces.Box((-1.0, -2.0), (1.0, np.inf), (2,), "float64")),
        (gym.Tuple((gym.Discrete(2), gym.Discrete(3))), spaces.Tuple((spaces.Discrete(2), spaces.Discrete(3)))),
    ],
)  # fmt: skip
def test_observations_convert(theirs, ours):
    assert convert_observation(theirs) == ours


def test_a_converted_space_survives_json():
    ours = convert_observation(NESTED)
    assert spaces.from_json(spaces.to_json(ours)) == ours
    assert spaces.feature_size(ours) == 6 + 4 + 3 + 11


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (gym.Discrete(3, start=5), spaces.Discrete(3, 5)),
        (gym.MultiDiscrete([2, 3], np.int32), spaces.MultiDiscrete((2, 3))),
        (gym.MultiDiscrete([2, 3], start=[4, 4]), spaces.MultiDiscrete((2, 3), 4, (2,), "int64")),
        (gym.MultiDiscrete([2, 3], start=[4, 5]), spaces.MultiDiscrete((2, 3), (4, 5), (2,), "int64")),
        (gym.MultiBinary((2, 2)), spaces.MultiDiscrete((2, 2, 2, 2), 0, (2, 2), "int8")),
        (gym.Box(-2.0, 2.0, (1,), np.float32), spaces.Box(-2.0, 2.0, (1,))),
    ],
)
def test_actions_convert(theirs, ours):
    assert convert_action(theirs) == ours


@pytest.mark.parametrize("kind", [gym.Text(4), gym.Sequence(gym.Discrete(2)), gym.Graph(gym.Discrete(2), None)])
def test_an_unsupported_observation_says_which_part_and_what_is_supported(kind):
    with pytest.raises(EnvContractError, match=rf"\['note'\] is of the kind {type(kind).__name__}.*Box, Discrete"):
        convert_observation(gym.Dict({"note": kind}))


def test_an_unsupported_action_says_what_is_supported():
    with pytest.raises(EnvContractError, match=r"kind Dict.*Box, Discrete, MultiDiscrete, MultiBinary"):
        convert_action(gym.Dict({"a": gym.Discrete(2)}))


def test_a_nested_observation_is_written_part_by_part():
    obs = {
        "z": (np.int64(3), np.array([[1, 0], [3, 1]])),
        "a": np.arange(6.0).reshape(2, 3),
        "m": np.array([[1, 0], [0, 1]], np.int8),
    }
    a, m = [0, 1, 2, 3, 4, 5], [1, 0, 0, 1]
    z = [*[0, 1, 0], *[0, 1], *[1, 0, 0], *[0, 0, 0, 1], *[0, 1]]
    assert written(NESTED, obs).tolist() == [*a, *m, *z]


@pytest.mark.parametrize("shape", [(3,), (2, 3), ()])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_the_fast_path_equals_encode(shape, dtype):
    space = gym.Box(0, 9, shape, dtype)
    space.seed(0)
    obs = space.sample()
    assert np.array_equal(written(space, obs), encoding.encode(convert_observation(space), obs))


def test_lists_are_taken_as_arrays():
    assert written(gym.Box(-9.0, 9.0, (2,)), [1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("space", "obs", "sentence"),
    [
        (gym.Box(0.0, 1.0, (2,)), np.zeros(1), r"shape \(1,\), expected \(2,\)"),
        (gym.Box(0.0, 1.0, (2,)), np.zeros((1, 2)), r"shape \(1, 2\), expected \(2,\)"),
        (gym.Discrete(3, start=2), 5, "is 5, expected a choice from 2 to 4"),
        (gym.Discrete(3), np.zeros(1), r"shape \(1,\), expected one number"),
        (gym.Discrete(3), 1.5, "is 1.5, expected a choice from 0 to 2"),
        (gym.MultiDiscrete([2, 3]), [1, 3], r"is \[1, 3\], expected choices of \[2, 3\] from 0"),
        (gym.Dict({"a": gym.Discrete(2)}), {"b": 1}, r"is \['b'\], expected a dict with the keys \['a'\]"),
        (gym.Dict({"a": gym.Box(0.0, 1.0, (2,))}), {"a": np.zeros(3)}, r"\['a'\] has the shape \(3,\)"),
        (gym.Dict({"a": gym.Discrete(2)}), 3, "is int, expected a dict"),
        (gym.Tuple((gym.Discrete(2),)), (1, 1), "is 2 parts, expected a tuple of 1"),
    ],
)
def test_a_wrong_observation_says_what_was_found_and_expected(space, obs, sentence):
    with pytest.raises(EnvFault, match=sentence):
        written(space, obs)


@pytest.mark.parametrize(
    "space",
    [
        gym.Discrete(4),
        gym.Discrete(3, start=-2),
        gym.MultiDiscrete([2, 3]),
        gym.MultiDiscrete([[2, 3], [4, 2]], start=[[1, 1], [5, 0]]),
        gym.MultiBinary(3),
        gym.MultiBinary((2, 2)),
        gym.Box(-1.0, 1.0, (2,), np.float32),
        gym.Box(-0.1, 0.1, (2, 2), np.float64),
        gym.Box(0, 9, (3,), np.int32),
    ],
)
def test_actions_arrive_inside_the_envs_own_space(space):
    """The lowest and the highest that a policy can draw."""
    ours = spaces.from_json(spaces.to_json(convert_action(space)))
    shape, dtype = action_layout(ours)
    for extreme in ("lowest", "highest"):
        if isinstance(ours, spaces.Box):
            row = np.full(spaces.feature_size(ours), -1e9 if extreme == "lowest" else 1e9, np.float32)
        else:
            most = np.asarray(getattr(ours, "nvec", getattr(ours, "n", None)), np.int32) - 1
            row = np.zeros_like(most) if extreme == "lowest" else most
        decoded = encoding.decode_action(ours, np.stack([row] * 3))
        assert (decoded.shape, decoded.dtype) == ((3, *shape), dtype)
        actions = make_action_reader(ours)(decoded)
        assert len(actions) == 3
        assert all(space.contains(action) for action in actions)


def test_whole_numbers_are_rounded_not_cut():
    ours = convert_action(gym.Box(0, 9, (2,), np.int32))
    assert encoding.decode_action(ours, np.float32([[1.6, 1.4]])).tolist() == [[2, 1]]


def test_only_floats_are_searched_for_nan():
    assert may_hold_nan(convert_observation(NESTED))
    assert not may_hold_nan(convert_observation(gym.Tuple((gym.Discrete(2), gym.Box(0, 255, (2,), np.uint8)))))
