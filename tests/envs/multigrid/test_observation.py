"""What agents see: sight against a slow twin, views against a table made by hand, encodings against each other."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid import catalogue, replay
from courtside.envs.multigrid.encodings import DOUBLED, ENCODINGS
from courtside.envs.multigrid.observation import view_offsets, visible
from courtside.spaces import contains
from courtside.types import make_key

SCRIPT = sorted((Path(__file__).parent / "traces").glob("hw2__v2*max60*.npz"))


def slow_visible(blocked: np.ndarray) -> np.ndarray:
    """Sight cell by cell: row by row away from the agent, first to the right, then to the left."""
    size = len(blocked)
    seen = np.zeros((size, size), bool)
    seen[size // 2, size - 1] = True
    for j in reversed(range(size)):
        for columns, side in ((range(size - 1), 1), (range(size - 1, 0, -1), -1)):
            for i in columns:
                if seen[i, j] and not blocked[i, j]:
                    seen[i + side, j] = True
                    if j > 0:
                        seen[i + side, j - 1] = seen[i, j - 1] = True
    return seen


@pytest.mark.parametrize("size", [3, 5, 7, 9, 23, 25, 31])
def test_sight_is_that_of_the_slow_twin(size):
    rng = np.random.default_rng(size)
    blocked = rng.random((200, size, size)) < rng.random((200, 1, 1)) ** 2
    quickly = {"xla_backend_optimization_level": 0}
    ours = jax.jit(visible, static_argnums=0, compiler_options=quickly)(size, jnp.asarray(blocked.reshape(200, -1)))
    theirs = np.stack([slow_visible(one) for one in blocked])
    np.testing.assert_array_equal(np.asarray(ours).reshape(theirs.shape), theirs)


def test_a_view_looks_ahead_with_the_agent_in_the_middle_of_the_last_row():
    for direction, (dx, dy) in enumerate([(1, 0), (0, 1), (-1, 0), (0, -1)]):
        offsets = view_offsets(5)[direction].reshape(5, 5, 2)
        np.testing.assert_array_equal(offsets[2, 4], [0, 0])
        np.testing.assert_array_equal(offsets[2, 0], [4 * dx, 4 * dy])
        np.testing.assert_array_equal(offsets[3, 4], [-dy, dx])


def test_the_first_view_of_the_single_red_agent_is_as_drawn_by_hand():
    """It stands at (9, 1) and looks left along the upper wall: the key at (7, 4) is two ahead, three to the left."""
    world = catalogue.make("redblue", encoding="raw")
    _, obs = jax.jit(world.reset)(make_key(0))
    seen = np.asarray(obs["image"][0])
    types = seen[..., 0]
    assert seen[0, 4].tolist() == [5, 0, 4]
    assert types[3].tolist() == [0, 2, 1, 1, 1, 1, 1]
    assert types[4].tolist() == [0, 2, 2, 2, 2, 2, 2]
    assert types[5:].tolist() == [[0] * 7] * 2


@pytest.fixture(scope="module")
def seen_states():
    """States of the recorded script's world after some random play, and what each encoding makes of them."""
    world = catalogue.make("redblue-1v1", view_size=7)

    @jax.jit
    def play(key):
        def step(state, key):
            act, move = jax.random.split(key)
            state, _ = world.step(state, jax.random.randint(act, (2,), 0, 7), move)
            return state, state

        return jax.lax.scan(step, world.reset(key)[0], jax.random.split(key, 200))[1]

    states = play(make_key(3))
    written = {
        name: jax.jit(
            jax.vmap(dataclasses.replace(world, options=dataclasses.replace(world.options, encoding=name)).observe)
        )(states)
        for name in ENCODINGS
    }
    return world, jax.tree.map(np.asarray, written)


def test_every_encoding_lies_in_its_space(seen_states):
    world, written = seen_states
    for name, obs in written.items():
        space = ENCODINGS[name].space(world.rules, dataclasses.replace(world.options, encoding=name))
        for step in (0, 50, 199):
            assert contains(space, jax.tree.map(lambda x, step=step: x[step, 0], obs)), name


def test_kinds_are_a_renaming_of_the_triples(seen_states):
    _, written = seen_states
    triples = written["raw"]["image"].reshape(-1, 3)
    kinds = written["kinds"]["cells"].reshape(-1)
    pairs = {(int(kind), tuple(t)) for kind, t in zip(kinds, triples.tolist(), strict=True)}
    assert len(pairs) == len({kind for kind, _ in pairs}) == len({t for _, t in pairs}) > 8
    assert (0, (0, 0, 0)) in pairs


def test_the_one_hot_is_that_of_the_triples(seen_states):
    _, written = seen_states
    flags, triples = written["one-hot"]["image"], written["raw"]["image"]
    for part, (low, high) in enumerate([(0, 11), (11, 17), (17, 24)]):
        np.testing.assert_array_equal(flags[..., low:high].argmax(-1), triples[..., part])
        assert (flags[..., low:high].sum(-1) == 1).all()


def test_encoding_twice_leaves_what_the_blurred_view_has(seen_states):
    _, written = seen_states
    twice, blurred = written["double-one-hot"], written["blurred"]["cells"]
    for kind, no in DOUBLED:
        np.testing.assert_array_equal(twice[..., no + 1] == 1, blurred == kind)
        np.testing.assert_array_equal(twice[..., no] == 1, blurred != kind)
    rest = [c for c in range(1, 25) if c not in {no + yes for _, no in DOUBLED for yes in (0, 1)}]
    assert not twice[..., rest].any()
    np.testing.assert_array_equal(
        twice[..., 0], np.broadcast_to(written["raw"]["direction"][..., None, None], blurred.shape)
    )


def test_the_script_saw_exactly_our_double_one_hot():
    trace = replay.load(SCRIPT[0])
    assert replay.replay(trace) is None
    broken = trace.arrays["cleanrl_obs"].copy()
    broken[7, 3, 3, 12] ^= 1
    difference = replay.replay(replay.Recording(trace.path, trace.meta, trace.arrays | {"cleanrl_obs": broken}))
    assert (difference.step, difference.field) == (7, "cleanrl_obs")
