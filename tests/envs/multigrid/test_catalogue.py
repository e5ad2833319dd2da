"""Names and options: every original id is known, every option checked, every world fit for training."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grids import agents_stand_free, draw

from courtside.envs.multigrid import catalogue
from courtside.envs.multigrid.build import KINDS, option_kinds
from courtside.errors import ConfigError
from courtside.types import make_key

COURSE = "MultiGrid-CompetativeRedBlueDoor-"


@pytest.mark.parametrize("listing", catalogue.entries(), ids=lambda listing: listing.name)
def test_every_world_can_be_made_under_each_of_its_names(listing):
    world = catalogue.make(listing.name)
    spec = world.spec
    assert all(catalogue.make(alias) == world for alias in listing.aliases)
    state, obs = jax.eval_shape(world.reset, make_key(0))
    action = jax.ShapeDtypeStruct((spec.num_agents, *spec.action.shape), jnp.int32)
    after, step = jax.eval_shape(world.step, state, action, jax.eval_shape(make_key, 0))
    assert jax.tree.map(lambda x: (x.shape, x.dtype), (state, obs)) == jax.tree.map(
        lambda x: (x.shape, x.dtype), (after, step.obs)
    )
    assert len(spec.names) == spec.num_agents == step.reward.shape[0]


def test_the_original_settings_of_some_ids():
    solo = catalogue.make(COURSE + "v2-DTDE-Red-Single-with-Obsticle")
    assert (solo.options.view_size, solo.options.max_steps, solo.rules.has_obstacle) == (7, 1000, True)
    assert catalogue.make(COURSE + "v2-DTDE-Red-Single-with-Obstacle") == solo
    duel = catalogue.make(COURSE + "v3-DTDE-1v1")
    assert (duel.options.max_steps, duel.rules.randomization, duel.rules.death_match) == (300, True, True)
    assert duel.spec.names == ("red_0", "blue_0")
    assert catalogue.make("redblue-1v1", homework=3).spec.names == ("blue_0", "red_0")
    assert not catalogue.make("redblue-pair").rules.randomization
    assert catalogue.make("redblue-pair", homework="3").rules.randomization
    assert catalogue.make("MultiGrid-LockedHallway-6Rooms-v0").options.max_steps == 1200
    assert catalogue.make("MultiGrid-RedBlueDoors-8x8-v0").options.failure_termination_mode == "any"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_the_fixed_mode_names_only_options_that_exist(kind):
    rules = KINDS[kind]
    assert all(getattr(rules(), name) != value for name, value in rules.fixed.items())


def test_a_switch_given_on_its_own_wins_over_the_mode():
    world = catalogue.make("redblue", mode="fixed", ball_pays="always")
    assert (world.rules.ball_pays, world.rules.win_pays, world.options.stale_view) == ("always", "team", False)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("redblue", {"view_size": 6}, "must be odd"),
        ("redblue", {"agent_view_size": "1"}, "3 is the smallest"),
        ("redblue", {"view_size": 7.5}, "whole number"),
        ("empty-random-5x5", {"num_agents": 9}, "only 8 free cells"),
        ("red-blue-doors-6x6", {"num_agents": 17}, "only 16 free cells"),
        ("redblue", {"ball_pay": "once"}, "Did you mean ball_pays"),
        ("redblue", {"ball_pays": "twice"}, "always, once"),
        ("redblue", {"encoding": "two-hot"}, "double-one-hot"),
        ("redblue", {"mode": "mended"}, "faithful, fixed"),
        ("redblue", {"see_through_walls": "maybe"}, "True or False"),
        ("red-blue-doors-8x8", {"homework": 3}, "no option of red-blue-doors-8x8"),
        ("redblue", {"view_size": 33}, "31 is the largest"),
        ("redblue", {"max_steps": 1000000000000}, "1000000000 is the largest"),
        ("redblue", {"max_steps": float("inf")}, "whole number"),
        ("redblue", {"pickup_penalty": "nan"}, "ordinary number"),
        ("redblue", {"key_reward": 1e300}, "ordinary number"),
        ("redblue", {"agents": 2}, "no option of redblue named 'agents'"),
        ("redblue", {"randomization": "true", "unreachable_keys": "true"}, "set one of them to false"),
        ("redblue-1v1", {"unreachable_keys": True}, "both randomization .* and unreachable_keys"),
        ("empty-5x5", {"num_agents": 10**12}, "1000 is the largest"),
        ("playground", {"room_size": 6, "num_agents": 5}, "only 4 free cells"),
        ("redblue-1vs1", {}, "Did you mean redblue-1v1"),
        (COURSE + "v3-DTDE-1v2", {}, "v3-DTDE-1v1"),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(name, options, said):
    with pytest.raises(ConfigError, match=said):
        catalogue.make(name, **options)


def test_options_may_come_as_text():
    assert catalogue.make("redblue", view_size="5", see_through_walls="true") == catalogue.make(
        "redblue", view_size=5, see_through_walls=True
    )
    assert catalogue.make("redblue", see_through_walls="yes", max_steps="1e3") == catalogue.make(
        "redblue", see_through_walls=True, max_steps=1000
    )
    assert "mode" in option_kinds(catalogue.find("redblue"))


def test_the_names_of_the_original_are_understood():
    course = catalogue.make("redblue-1v1-eval", **{"agent-view-size": "7", "deadlock_no_Key": True, "has_obsticle": 1})
    assert (course.options.view_size, course.rules.unreachable_keys, course.rules.has_obstacle) == (7, True, True)
    assert catalogue.make("empty-5x5", agents=2) == catalogue.make("empty-5x5", num_agents=2)


@pytest.mark.parametrize(
    ("name", "smallest"),
    [
        ("empty-random-5x5", {"size": 4}),
        ("red-blue-doors-6x6", {"size": 4}),
        ("blocked-unlock-pickup", {"room_size": 4}),
        ("locked-hallway-2rooms", {"room_size": 4}),
        ("playground", {"room_size": 6}),
    ],
)
def test_the_smallest_rooms_have_a_start(name, smallest):
    rules = catalogue.make(name, **smallest).rules
    assert agents_stand_free(draw(rules))
    with pytest.raises(ConfigError, match="is the smallest that works"):
        catalogue.make(name, **{option: size - 1 for option, size in smallest.items()})


def test_nothing_that_is_seen_is_missing_from_the_alphabet():
    """Random play never shows a cell of kind 0 where sight goes through everything."""
    for name in ("redblue-2v2", "blocked-unlock-pickup", "playground"):
        world = catalogue.make(name, see_through_walls=True)
        agents = world.spec.num_agents

        @jax.jit
        def play(key, world=world, agents=agents):
            def step(state, key):
                state, out = world.step(state, jax.random.randint(key, (agents,), 0, 7), key)
                return state, out.obs["cells"]

            return jax.lax.scan(step, world.reset(key)[0], jax.random.split(key, 200))[1]

        cells = np.asarray(play(make_key(0)))
        assert cells.min() > 0, name
