"""The pipeline between world and network: the same numbers on NumPy and JAX, and a record of it as data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.config import Config, override
from courtside.preprocess import action_size, decode_action, describe_pipeline, difference, encode, pipeline_hash
from courtside.spaces import Box, Dict, Discrete, MultiDiscrete, Tuple, feature_size

NESTED = Dict.of({
    "sight": Box(0.0, 255.0, (2, 2), "uint8"),
    "hand": Tuple((Discrete(3), MultiDiscrete((2, 3)))),
    "deep": Dict.of({"scalar": Box(-1.0, 1.0, ()), "row": Box(-1.0, 1.0, (2,))}),
})  # fmt: skip
SPACES = {
    "discrete": Discrete(4),
    "multi": MultiDiscrete((2, 3)),
    "box": Box(-1.0, 1.0, (3,)),
    "image": Box(0.0, 255.0, (2, 3), "uint8"),
    "nested": NESTED,
}


def draw(space, batch, rng):
    match space:
        case Discrete(n):
            return rng.integers(0, n, batch).astype(np.int32)
        case MultiDiscrete(nvec):
            return np.stack([rng.integers(0, n, batch) for n in nvec], -1).astype(np.int32)
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


def record(**changes):
    return describe_pipeline(override(Config(), **changes), Box(-1.0, 1.0, (4,)), Discrete(2))


def test_the_hash_sees_what_changes_the_numbers_and_nothing_else():
    base = pipeline_hash(record())
    assert pipeline_hash(record(seed=5, learning_rate="1", hidden_sizes=(1,))) == base
    others = [record(norm_obs=True), record(norm_reward=True), record(env_id="acrobot")]
    others.append(describe_pipeline(Config(), Box(-1.0, 1.0, (5,)), Discrete(2)))
    others.append(describe_pipeline(Config(), Box(-1.0, 1.0, (4,)), Discrete(3)))
    assert len({base, *map(pipeline_hash, others)}) == 6


def test_the_difference_is_readable():
    assert difference(record(), record()) == []
    assert difference(record(), record(norm_obs=True)) == ["normalize_obs: None in the checkpoint, {'clip': 10.0} here"]
    other = describe_pipeline(Config(), Box(-1.0, 1.0, (5,)), Discrete(3))
    assert difference(record(), other) == [
        "action.n: 2 in the checkpoint, 3 here",
        "observation.shape: [4] in the checkpoint, [5] here",
    ]
