"""What an update says of its own health, against numbers worked out by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.algos import ppo, vitals
from courtside.algos.group import make_group
from courtside.settings.config import Config, override
from courtside.spaces import Box, Cells, Dict, Discrete
from courtside.types import Rollout

CONFIG = override(Config(), num_envs=2, num_steps=2, num_minibatches=2, update_epochs=1, hidden_sizes=(4,))
FEATURES = jnp.array([[1.0, -300.0, 7.0, 0.0], [3.0, 100.0, 7.0, 0.0], [1.0, -300.0, 7.0, 0.0], [3.0, 100.0, 7.0, 0.0]])


CHOICE = Discrete(2)


def setup_of(observation, action=CHOICE, **settings):
    return make_group(override(CONFIG, **settings), observation, action, 1, packed=True)


def test_observations_are_measured_as_the_network_sees_them():
    found = vitals.observation_metrics(setup_of(Box(-1e3, 1e3, (4,))), FEATURES)
    assert float(found["health/obs_abs_max"]) == 300.0
    np.testing.assert_allclose(found["health/obs_std"], 200.0, rtol=1e-6)
    np.testing.assert_allclose(found["health/obs_constant"], 1 / 3, rtol=1e-6)  # the last is padding


def test_nothing_but_zeros_is_a_dead_sensor_and_a_large_offset_hides_no_deviation():
    setup = setup_of(Box(-1e6, 1e6, (2,)))
    assert vitals.observation_metrics(setup, jnp.zeros((4, 2)))["health/obs_constant"] == 1.0
    offset = jnp.array([[1e6, 0.0], [1e6 + 1, 0.0]])
    np.testing.assert_allclose(vitals.observation_metrics(setup, offset)["health/obs_std"], 0.5, rtol=1e-6)


def test_flags_are_no_measurements():
    grid = Dict.of({"cells": Cells(3, (2,)), "direction": Discrete(4)})
    rows = jnp.ones((4, 3), jnp.uint8)
    found = vitals.observation_metrics(setup_of(grid), rows)
    assert [float(found[f"health/{n}"]) for n in ("obs_abs_max", "obs_std", "obs_constant")] == [1.0, 0.0, 0.0]


def test_actions_outside_their_range_are_counted():
    drawn = jnp.array([[0.5, 9.0], [-2.0, 0.0], [0.0, 0.0], [0.0, 3.0]])
    setup = setup_of(Box(-9.0, 9.0, (4,)), Box(-1.0, 1.0, (2,)))
    assert vitals.action_at_bound(setup, drawn, None)["health/action_at_bound"] == 3 / 8
    weight = jnp.array([1.0, 0.0, 0.0, 1.0])
    assert vitals.action_at_bound(setup, drawn, weight)["health/action_at_bound"] == 0.5
    choice = vitals.action_at_bound(setup_of(Box(-9.0, 9.0, (4,))), jnp.zeros(4, jnp.int32), None)
    assert choice["health/action_at_bound"] == 0.0


def test_the_first_of_several_bad_numbers_counts():
    assert [int(vitals.first_bad(*map(jnp.asarray, n))) for n in ((0, 0), (0, 6), (5, 3))] == [0, 6, 3]
    groups = [dict.fromkeys((*vitals.WORST, "health/first_bad"), jnp.asarray(x)) for x in (0.0, 6.0, 2.0)]
    assert vitals.worst_of(groups)["health/first_bad"] == 2.0
    assert vitals.worst_of(groups)["health/obs_abs_max"] == 6.0


@pytest.fixture(scope="module")
def update():
    setup = setup_of(Box(-9.0, 9.0, (4,)))
    learner = ppo.init(setup, jax.random.key(0))
    step = jax.jit(lambda hyper, learner, rollout: ppo.update(setup, hyper, learner, rollout)[1])
    return lambda rollout, learner=learner, **settings: step(
        ppo.make_hyper(override(CONFIG, **settings)), learner, rollout
    )


def make_rollout(reward=1.0, feature=0.5):
    flags, rows = jnp.zeros((2, 2, 1), bool), jnp.linspace(0.0, 1.0, 16).reshape(2, 2, 1, 4)
    return Rollout(
        rows.at[0, 0, 0, 0].set(feature), jnp.zeros((2, 2, 1), jnp.int32), jnp.full((2, 2, 1), reward),
        flags, flags, rows, rows[0],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rollout", "settings", "name"),
    [
        (make_rollout(), {}, None),
        (make_rollout(reward=np.inf), {}, "reward"),
        (make_rollout(feature=np.nan), {}, "observation"),
        (make_rollout(reward=1e30), {}, "loss"),
    ],
)
def test_the_first_tensor_that_is_not_finite_has_a_number(update, rollout, settings, name):
    found = float(update(rollout, **settings)["health/first_bad"])
    assert found == (0 if name is None else vitals.FIRST_BAD.index(name) + 1)


def test_scales_leave_out_who_had_left():
    value, target = jnp.array([1.0, 3.0, 99.0]), jnp.array([2.0, 6.0, 99.0])
    found = vitals.scale_metrics(value, target, jnp.array([1.0, 1.0, 0.0]), jnp.array([3.0, 4.0]))
    assert {name.removeprefix("losses/"): float(x) for name, x in found.items()} == {
        "value_mean": 2.0,
        "return_mean": 4.0,
        "return_std": 2.0,
        "param_norm": 5.0,
    }
