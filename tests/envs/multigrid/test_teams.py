"""Joint control: a team is paid the sum of its members, and has ended when all of them have."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.multigrid import catalogue
from courtside.envs.multigrid.state import Action
from courtside.envs.multigrid.worlds.competitive_judge import BALL_PAID, EVENTS
from courtside.spaces import contains
from courtside.types import make_key

LIMIT = 1280
HIT = [[Action.TOGGLE, Action.DONE], [Action.DONE, Action.DONE]]
REST = [[Action.DONE, Action.DONE], [Action.DONE, Action.DONE]]


@pytest.fixture(scope="module")
def joint():
    """Two against two with one mind a team: the world and its compiled step."""
    world = catalogue.make("redblue-2v2-joint")
    return world, jax.jit(world.step)


def facing(world, out=(), step=0):
    """The first red agent before the first blue one, some agents out of the game, so many steps played."""
    state, _ = world.reset(make_key(0))
    position = jnp.asarray([7 * 8 + 3, 9 * 8 + 1, 8 * 8 + 3, 6 * 8 + 6], jnp.int32)
    direction = jnp.asarray([0, 2, 2, 0], jnp.int32)
    done = jnp.asarray([agent in out for agent in range(4)])
    return eqx.tree_at(
        lambda s: (s.position, s.direction, s.done, s.step), state, (position, direction, done, jnp.int32(step))
    )


@pytest.mark.parametrize(
    ("out", "played", "action", "reward", "terminated", "truncated"),
    [
        ((), 0, HIT, [0.5, -1], [False, False], [False, False]),
        ((3,), 0, HIT, [1 - 0.9 / LIMIT, -1], [True, True], [False, False]),
        ((1, 3), 0, HIT, [1 - 0.9 / LIMIT, -1], [True, True], [False, False]),
        ((), LIMIT - 2, REST, [0, 0], [False, False], [False, False]),
        ((), LIMIT - 1, REST, [0, 0], [False, False], [True, True]),
        ((1, 2), LIMIT - 1, REST, [0, 0], [False, False], [True, True]),
        ((2, 3), LIMIT - 1, REST, [0, 0], [False, True], [True, False]),
        ((3,), LIMIT - 1, HIT, [0.1, -1], [True, True], [False, False]),
    ],
)
def test_a_team_has_ended_when_all_its_members_have(joint, out, played, action, reward, terminated, truncated):
    world, step = joint
    _, result = step(facing(world, out, played), jnp.asarray(action, jnp.int32), make_key(1))
    np.testing.assert_allclose(result.reward, reward, atol=1e-6)
    assert (result.terminated.tolist(), result.truncated.tolist()) == (terminated, truncated)


def test_joint_control_sums_the_team_and_sees_with_all_eyes(joint):
    (world, step), plain = joint, catalogue.make("redblue-2v2", mask_partial_ends=False)
    assert world.spec.names == ("red", "blue")
    state, obs = jax.jit(world.reset)(make_key(0))
    action = jnp.asarray([[3, 3], [2, 3]], jnp.int32)
    _, result = step(state, action, make_key(1))
    _, each = jax.jit(plain.step)(state, action.reshape(-1), make_key(1))
    np.testing.assert_allclose(result.reward, [each.reward[:2].sum(), each.reward[2:].sum()], atol=1e-6)
    np.testing.assert_array_equal(result.obs[1]["cells"], each.obs["cells"][jnp.asarray([1, 3])])
    assert [part["agent_id"].tolist() for part in obs] == [[0, 0], [1, 1]]
    assert contains(world.spec.observation, jax.tree.map(lambda x: np.asarray(x[0]), result.obs))
    assert sorted(result.info) == sorted(
        f"{team}/{event}" for team in ("red", "blue") for event in (*EVENTS, BALL_PAID)
    )
