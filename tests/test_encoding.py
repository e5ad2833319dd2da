"""The pipeline between world and network: the same numbers on NumPy and JAX, and a record of it as data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.encoding import action_size, decode_action, encode, is_packable, pack, packed_size, unpack
from courtside.runs.pipeline import describe_pipeline, difference, pipeline_hash
from courtside.settings.config import Config, override
from courtside.spaces import Box, Cells, Dict, Discrete, MultiDiscrete, Tuple, feature_size, from_json
from courtside.types import EnvSpec

NESTED = Dict.of({
    "sight": Box(0.0, 255.0, (2, 2), "uint8"),
    "hand": Tuple((Discrete(3), MultiDiscrete((2, 3)))),
    "deep": Dict.of({"scalar": Box(-1.0, 1.0, ()), "row": Box(-1.0, 1.0, (2,))}),
})  # fmt: skip
SPACES = {
    "discrete": Discrete(4),
    "from five": Discrete(3, 5),
    "multi": MultiDiscrete((2, 3)),
    "square": MultiDiscrete((2, 3, 4, 2), (1, 0, -2, 0), (2, 2)),
    "box": Box(-1.0, 1.0, (3,)),
    "image": Box(0.0, 255.0, (2, 3), "uint8"),
    "nested": NESTED,
}


def draw(space, batch, rng):
    match space:
        case Discrete(n, start):
            return rng.integers(start, start + n, batch).astype(np.int32)
        case MultiDiscrete():
            return np.stack([draw(one, batch, rng) for one in space.choices], -1).reshape(*batch, *space.shape)
        case Box():
            return (rng.random((*batch, *space.shape)) * 200).astype(space.dtype)
        case Dict(parts):
            return {name: draw(part, batch, rng) for name, part in parts}
        case Tuple(parts):
            return tuple(draw(part, batch, rng) for part in parts)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_numpy_and_jax_agree(space, batch):
    obs = draw(space, batch, np.random.default_rng(0))
    by_numpy = encode(space, obs, np)
    by_jax = encode(space, jax.tree.map(jnp.asarray, obs), jnp)
    assert by_numpy.shape == (*batch, feature_size(space))
    assert by_numpy.dtype == by_jax.dtype == np.float32
    np.testing.assert_array_equal(by_numpy, by_jax)


def test_encode_by_hand():
    """Parts in order of name: deep (row, scalar), hand (one of 3; one of 2, one of 3), sight."""
    obs = {
        "sight": np.array([[1, 2], [3, 255]], np.uint8),
        "hand": (np.int32(2), np.array([0, 1], np.int32)),
        "deep": {"scalar": np.float32(0.5), "row": np.float32([7, 8])},
    }
    expected = [7, 8, 0.5, 0, 0, 1, 1, 0, 0, 1, 0, 1, 2, 3, 255]
    np.testing.assert_array_equal(encode(NESTED, obs), expected)


def test_choices_are_counted_from_their_start():
    assert encode(Discrete(3, 5), np.int32([5, 7])).tolist() == [[1, 0, 0], [0, 0, 1]]
    square = encode(SPACES["square"], np.array([[2, 0], [-1, 1]]))
    assert square.tolist() == [*[0, 1], *[1, 0, 0], *[0, 1, 0, 0], *[0, 1]]


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_choices_go_out_as_the_env_counts_and_lays_them(xp):
    assert decode_action(Discrete(3, 5), xp.asarray([[0], [2]], xp.int32), xp).tolist() == [[5], [7]]
    found = decode_action(SPACES["square"], xp.asarray([[[0, 0, 0, 0]], [[1, 2, 3, 1]]], xp.int32), xp)
    assert found.tolist() == [[[[1, 0], [-2, 0]]], [[[2, 2], [1, 1]]]]
    assert found.dtype == np.int32


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_actions_take_the_envs_own_kind_of_number(xp):
    """Whole numbers rounded; where JAX has no 64-bit numbers, the nearest kind, without a warning."""
    drawn = xp.asarray([[-3.0, 1.6, 99.0]], xp.float32)
    whole = decode_action(Box(0.0, 9.0, (3,), "int16"), drawn, xp)
    assert (whole.tolist(), whole.dtype) == ([[0, 2, 9]], np.int16)
    double = decode_action(Box(-0.1, 0.1, (3,), "float64"), drawn, xp)
    assert double.dtype == (np.float64 if xp is np else np.float32)
    if xp is np:
        assert double.tolist() == [[-0.1, 0.1, 0.1]]


def test_one_action_alone_is_still_an_array():
    for space, action in ((Discrete(3, 5), np.asarray(np.int32(1))), (Box(0.0, 1.0, ()), np.float32([0.5]))):
        assert isinstance(decode_action(space, action), np.ndarray)
        assert decode_action(space, action).shape == ()


def test_encode_does_not_alias_its_input():
    obs = np.array([1.0, 2.0, 3.0], np.float32)
    features = encode(SPACES["box"], obs)
    obs[:] = 0
    np.testing.assert_array_equal(features, [1, 2, 3])


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
def test_continuous_actions_are_clipped_to_their_range_and_shaped(xp):
    space = Box((-1.0, 0.0, -2.0, -9.0), (1.0, 0.5, 2.0, 9.0), (2, 2))
    drawn = xp.asarray([[5.0, 5.0, 5.0, 5.0], [-5.0, -5.0, -5.0, -5.0]], xp.float32)
    found = decode_action(space, drawn, xp)
    np.testing.assert_array_equal(found, [[[1, 0.5], [2, 5]], [[-1, 0], [-2, -5]]])
    np.testing.assert_array_equal(drawn[0], [5, 5, 5, 5])
    assert found.dtype == np.float32


def test_an_open_range_is_not_clipped():
    drawn = np.float32([[1e9, -1e9]])
    np.testing.assert_array_equal(decode_action(Box(-np.inf, np.inf, (2,)), drawn), drawn)


def test_discrete_actions_pass_as_drawn():
    action = np.int32([[1], [0]])
    assert decode_action(Discrete(2), action) is action
    assert decode_action(MultiDiscrete((2,)), action) is action


def test_action_size():
    assert [action_size(s) for s in (Discrete(5), MultiDiscrete((2, 3)), Box(0.0, 1.0, (2, 3)))] == [None, 2, 6]


def described(config, observation, action):
    return describe_pipeline(config, EnvSpec(name="any", observation=observation, action=action))


def record(**changes):
    return described(override(Config(), **changes), Box(-1.0, 1.0, (4,)), Discrete(2))


def test_the_hash_sees_what_changes_the_numbers_and_nothing_else():
    base = pipeline_hash(record())
    assert pipeline_hash(record(seed=5, learning_rate="1", hidden_sizes=(1,))) == base
    others = [record(norm_obs=True), record(norm_reward=True), record(env_id="acrobot")]
    others.append(described(Config(), Box(-1.0, 1.0, (5,)), Discrete(2)))
    others.append(described(Config(), Box(-1.0, 1.0, (4,)), Discrete(3)))
    assert len({base, *map(pipeline_hash, others)}) == 6


def test_the_difference_is_readable():
    assert difference(record(), record()) == []
    assert difference(record(), record(norm_obs=True)) == ["normalize_obs: None in the checkpoint, {'clip': 10.0} here"]
    other = described(Config(), Box(-1.0, 1.0, (5,)), Discrete(3))
    assert difference(record(), other) == [
        "action.n: 2 in the checkpoint, 3 here",
        "observation.shape: [4] in the checkpoint, [5] here",
    ]


CHOICES = st.integers(1, 5)
STARTED = {"kind": "multi_discrete", "nvec": [2, 3, 4, 5], "start": [1, -1, 0, 7], "shape": [2, 2], "dtype": "int64"}
PACKABLE = st.recursive(
    st.one_of(
        st.fixed_dictionaries({"kind": st.just("discrete"), "n": CHOICES, "start": st.integers(-3, 3)}),
        st.fixed_dictionaries({"kind": st.just("multi_discrete"), "nvec": st.lists(CHOICES, min_size=1, max_size=3)}),
        st.just(STARTED),
        st.just({"kind": "box", "low": 0, "high": 255, "shape": [2, 2], "dtype": "uint8"}),
        st.fixed_dictionaries(
            {"kind": st.just("cells"), "n": st.integers(2, 256), "shape": st.sampled_from([[3], [2, 2]])}
        ),
    ),
    lambda part: st.one_of(
        st.fixed_dictionaries({"kind": st.just("tuple"), "parts": st.lists(part, min_size=1, max_size=3)}),
        st.fixed_dictionaries(
            {"kind": st.just("dict"), "parts": st.dictionaries(st.sampled_from("cab"), part, min_size=1)}
        ),
    ),
    max_leaves=4,
)
"""Spaces as JSON data: made of plain parts only, as a strategy has to be."""


def draw_obs(space, rng, batch):
    match space:
        case Dict(parts):
            return {name: draw_obs(part, rng, batch) for name, part in parts}
        case Tuple(parts):
            return tuple(draw_obs(part, rng, batch) for part in parts)
        case Discrete(n, start):
            return rng.integers(start, start + n, batch)
        case MultiDiscrete():
            each = [draw_obs(one, rng, batch) for one in space.choices]
            return np.stack(each, -1).reshape(*batch, *space.shape).astype(space.dtype)
        case Box():
            return rng.integers(0, 256, (*batch, *space.shape)).astype(np.uint8)
        case Cells(n, shape):
            return rng.integers(0, n, (*batch, *shape)).astype(np.uint8)


@given(PACKABLE, st.sampled_from([(), (3,), (2, 2)]), st.integers(0, 999))
def test_bytes_become_what_encode_gives(record, batch, seed):
    space = from_json(record)
    obs = draw_obs(space, np.random.default_rng(seed), batch)
    row = pack(space, obs)
    assert is_packable(space)
    assert (row.dtype, row.shape) == (np.uint8, (*batch, packed_size(space)))
    expected = encode(space, obs)
    np.testing.assert_array_equal(unpack(space, row), expected)
    assert expected.shape == (*batch, feature_size(space))
    np.testing.assert_array_equal(unpack(space, pack(space, jax.tree.map(jnp.asarray, obs), jnp), jnp), expected)


@pytest.mark.parametrize(
    "space", [Discrete(257), Box(0.0, 1.0, (2,)), Tuple((Discrete(2), Box(0.0, 9.0, (1,), "int32")))]
)
def test_what_does_not_fit_a_byte_is_not_packed(space):
    assert not is_packable(space)


def test_cells_by_hand():
    """Kind 0 lights nothing, kinds 1 and 2 their own input."""
    cells = np.uint8([[0, 1], [2, 2]])
    np.testing.assert_array_equal(encode(Cells(3, (2, 2)), cells), [0, 0, 1, 0, 0, 1, 0, 1])
