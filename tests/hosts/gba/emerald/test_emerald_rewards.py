"""Emerald's rewards: what each component pays, what each defect paid, and a copy that goes on alike."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_state import flags, make_pokemon, make_state

from bytecodes import num_bytecodes
from courtside.errors import CheckpointError, ConfigError
from courtside.hosts.gba.emerald.reward_settings import (
    HEAD,
    NOVEMBER,
    PYGBA,
    WEIGHTS,
    Defects,
    EmeraldRewards,
    EmeraldWeights,
    find_weights,
)
from courtside.hosts.gba.emerald.rewards import make_rewards, value_experience
from courtside.hosts.gba.rewards import squash

TREE, SWITCH = 0x060, 0x4FF
"""Two script flags."""


def gained(pokemon):
    """Every Pokemon was met with 135 points."""
    return pokemon.experience - 135


def make_model(weights=HEAD, defects=None, **more):
    return make_rewards(EmeraldRewards(weights=weights, defects=defects or Defects(), **more), gained)


def play(model, *states, start=None):
    """The rewards of these states."""
    model.reset(start or make_state())
    return [model.step(state) for state in states]


PAID = {
    "visit_city_rew": ({"visited": (True,) * 3 + (False,) * 13}, {"november": 10, "head": 10, "pygba": 10}),
    "seen_poke_rew": ({"num_seen": 3}, {"november": 0.6, "head": 0.6, "pygba": 0.6}),
    "caught_poke_rew": ({"num_owned": 2}, {"november": 2, "head": 2, "pygba": 2}),
    "explore_rew": ({"x": 16}, {"november": 0.01, "head": 0.02, "pygba": 0}),
    "money_rew": ({"money": 3500}, {"november": 0.5, "head": 0, "pygba": 0}),
    "pokedex_rew": ({"has_pokedex": True}, {"november": 10, "head": 10, "pygba": 0}),
    "pokenav_rew": ({"has_pokenav": True}, {"november": 10, "head": 10, "pygba": 0}),
    "badge_rew": ({"badges": 0b10001}, {"november": 20, "head": 20, "pygba": 20}),
    "champ_rew": ({"is_champion": True}, {"november": 0, "head": 10, "pygba": 100}),
    "trainer_rew": ({"flags": flags(0x500, 0x85F, 0x860)}, {"november": 0, "head": 4, "pygba": 2}),
    "event_rew": ({"flags": flags(0x04F, 0x050, SWITCH)}, {"november": 0, "head": 0.15, "pygba": 2}),
    "exp_rew": (
        {"party": (make_pokemon(experience=335),), "boxes": (make_pokemon(experience=235),)},
        {"november": 0, "head": 3.58, "pygba": 0.1 * 300 ** (1 / 3)},
    ),
}


@pytest.mark.parametrize("published", WEIGHTS)
@pytest.mark.parametrize("name", PAID)
def test_a_component_pays_what_was_published_and_nothing_else_pays(name, published):
    changes, expected = PAID[name]
    model = make_model(find_weights(published))
    model.reset(make_state())
    before = model.totals
    reward = model.step(make_state(**changes))
    paid = {key: total - before[key] for key, total in model.totals.items() if total != before[key]}
    assert reward == pytest.approx(expected[published])
    assert paid == ({name: pytest.approx(expected[published])} if expected[published] else {})
    assert model.step(make_state(**changes)) == 0.0, "only a change is paid"


def test_the_log_names_are_those_of_the_weights():
    published = {field.name for field in dataclasses.fields(EmeraldWeights) if field.name.endswith("_rew")}
    assert set(make_model().totals) == published == {*PAID, "revisit_rew", "heal_rew"}


def test_lost_money_costs_less_than_won_money_pays():
    assert play(make_model(NOVEMBER), make_state(money=2000)) == pytest.approx([-0.4])


def test_coming_back_pays_and_steps_that_cannot_be_seen_count_as_steps():
    model = make_model(revisit_cooldown=5, refresh_cooldown=2)
    away = make_state(map_num=10), make_state(is_overworld=False), None, None
    assert play(model, *away, make_state()) == pytest.approx([0.02, 0, 0, 0, 0.01])
    assert model.totals["revisit_rew"] == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("shape", "value"), [("tanh", 4 * math.tanh(0.5)), ("linear", 400), ("power", 40), ("log", 4 * math.log(1.5))]
)
def test_experience_has_four_shapes(shape, value):
    weights = EmeraldWeights(exp_rew=4, exp_shape=shape, exp_rate=0.5 if shape == "power" else 0.005, exp_step=0.0)
    assert value_experience(100, weights) == pytest.approx(value)


def party(*hp):
    return make_state(party=tuple(make_pokemon(points, number=number) for number, points in enumerate(hp)))


def healed(*states):
    """Rewards for healing; each state lasts 4 steps unless a number of steps is given."""
    model = make_model()
    model.reset(None)
    for state, steps in states:
        for _ in range(steps):
            model.step(state)
    return model.totals["heal_rew"]


def test_healing_pays_above_half_once_it_is_believed():
    assert healed((party(9), 4), (party(20), 4)) == 0.5
    assert healed((party(9), 4), (party(20), 3)) == 0.0, "not believed yet"
    assert healed((party(10), 4), (party(20), 4)) == 0.0, "just half"
    assert healed((party(1, 1), 4), (party(20, 20), 4)) == 0.5, "one event, however many were healed"


def test_a_glitch_is_no_healing():
    assert healed((party(20), 4), (party(1), 3), (party(20), 4)) == 0.0
    assert healed((party(1), 4), (party(20), 3), (party(1), 1), (party(20), 3), (party(1), 4)) == 0.0


def test_waking_up_after_the_whole_party_fainted_pays_nothing():
    assert healed((party(0, 0), 4), (party(20, 20), 4)) == 0.0
    assert healed((party(0, 1), 4), (party(20, 20), 4)) == 0.5


def test_neither_a_new_pokemon_nor_a_higher_level_is_healing():
    assert healed((party(20), 4), (party(20, 20), 4)) == 0.0
    grown = make_state(party=(make_pokemon(51, 60),))
    assert healed((party(11), 4), (grown, 4)) == 0.0


def test_the_flag_farming_loop_earned_and_earns_nothing_any_more():
    """A ferry to and fro: one flag is set, another is cleared, and back again."""
    loop = [make_state(flags=flags(SWITCH)), make_state(flags=flags(TREE))] * 20
    start = make_state(flags=flags(TREE))
    faithful = play(make_model(defects=Defects(flips_pay=True)), *loop, start=start)
    assert faithful == pytest.approx([0.15] * 40)
    fixed = play(make_model(), *loop, start=start)
    assert fixed == pytest.approx([0.075] + [0.0] * 39)


def test_petalburg_was_skipped_and_is_explored():
    walk = [make_state(map_num=0, x=x) for x in (0, 10, 20)]
    assert play(make_model(defects=Defects(skips_petalburg=True)), *walk) == [0.0] * 3
    assert play(make_model(), *walk) == pytest.approx([0.02] * 3)


def test_a_place_counts_only_in_the_overworld():
    loading = make_state(map_num=3, is_overworld=False)
    assert play(make_model(), loading) == [0.0]
    assert play(make_model(defects=Defects(skips_petalburg=True)), loading) == pytest.approx([0.02])


def test_the_defects_of_exploration_reach_the_memory():
    assert play(make_model(), make_state(x=13)) == [0.0]
    assert play(make_model(defects=Defects(squared_radius=True)), make_state(x=13)) == pytest.approx([0.02])
    edge = make_state(x=-1), make_state(x=0)
    assert play(make_model(), edge[0], start=edge[1]) == [0.0]
    unsigned = make_model(defects=Defects(unsigned_coordinates=True))
    assert play(unsigned, edge[0], start=edge[1]) == pytest.approx([0.02])


def test_a_start_midway_paid_a_jump_and_pays_nothing():
    far = make_state(map_num=3, badges=1, flags=flags(TREE), num_seen=20)
    rewards = []
    for defects in (Defects(), Defects(keeps_midway=True)):
        model = make_model(defects=defects)
        model.reset(make_state())
        model.reset(far, midway=True)
        rewards.append(model.step(far))
    assert rewards == pytest.approx([0.0, 10 + 0.075 + 4 + 0.02])


def test_much_money_was_worth_nothing_and_is_worth_what_it_is():
    rich = make_state(money=103_000)
    assert play(make_model(NOVEMBER), rich) == pytest.approx([100])
    assert play(make_model(NOVEMBER, Defects(large_money_lost=True)), rich) == [0.0]


def test_faithful_has_every_defect_and_the_default_none():
    assert all(dataclasses.asdict(Defects.faithful()).values())
    assert not any(dataclasses.asdict(Defects()).values())


def test_a_black_screen_and_an_unknown_state_pay_nothing_and_keep_the_total():
    model = make_model()
    model.reset(make_state(badges=1))
    glitch = make_state(badges=0, map_num=40)
    assert model.step(glitch, screen_is_black=True) == 0.0
    assert model.step(None) == 0.0
    assert model.totals["badge_rew"] == 10
    assert model.step(make_state(badges=1)) == 0.0, "the glitch left nothing behind"


def test_what_was_unknown_does_not_pay_when_it_becomes_known():
    model = make_model(NOVEMBER)
    model.reset(None)
    assert model.step(make_state(badges=3, money=None)) == 0.0
    assert model.step(make_state(badges=3, money=50_000)) == 0.0
    assert model.step(make_state(badges=3, money=None)) == 0.0
    assert model.step(make_state(badges=3, money=51_000)) == pytest.approx(1.0)


def test_rewards_can_be_scaled_and_squashed():
    model = make_model(NOVEMBER, scale=0.5, squashes=True)
    rewards = play(model, make_state(num_owned=1), make_state(), start=make_state())
    assert rewards == pytest.approx([5 * math.tanh(0.5), -0.3 * math.tanh(0.5)])
    assert squash(1e6) == 5.0


STEP = st.fixed_dictionaries(
    {
        "map_num": st.integers(0, 2), "x": st.integers(-3, 9), "y": st.integers(0, 3), "badges": st.integers(0, 3),
        "money": st.sampled_from([None, 2900, 3000, 9000]), "flags": st.sets(st.integers(0x04E, 0x054)),
        "party": st.sampled_from([None, (), (3,), (20,), (0,), (3, 4)]), "is_overworld": st.booleans(),
    }
)  # fmt: skip
WALK = st.lists(st.tuples(STEP, st.sampled_from(["seen"] * 6 + ["black", "unknown"])), max_size=25)


def make_walk(steps):
    """States, and whether the screen is black."""
    for step, kind in steps:
        team = None if step["party"] is None else party(*step["party"]).party
        state = make_state(**step | {"flags": flags(*step["flags"]), "party": team})
        yield (None if kind == "unknown" else state), kind == "black"


@given(WALK, WALK, st.sampled_from([Defects(), Defects.faithful()]))
@settings(max_examples=25)
def test_a_loaded_model_goes_on_exactly(before, after, defects):
    options = {"radius": 2.0, "revisit_cooldown": 5, "refresh_cooldown": 2, "heal_steps": 2}
    model, copy = (make_model(defects=defects, **options) for _ in range(2))
    model.reset(make_state())
    for state, is_black in make_walk(before):
        model.step(state, is_black)
    saved = model.save()
    arrays = {key: value for key, value in saved.items() if isinstance(value, np.ndarray)}
    plain = {key: value for key, value in saved.items() if key not in arrays}
    copy.load(json.loads(json.dumps(plain)) | arrays)
    for state, is_black in make_walk(after):
        assert copy.step(state, is_black) == model.step(state, is_black)
        assert copy.totals == model.totals
    for key, value in model.save().items():
        np.testing.assert_array_equal(copy.save()[key], value)


def test_saved_rewards_of_other_settings_or_with_a_part_missing_are_refused():
    saved = make_model().save()
    with pytest.raises(CheckpointError, match="settings"):
        make_model(PYGBA).load(saved)
    del saved["event_rew/seen"]
    with pytest.raises(CheckpointError, match="damaged"):
        make_model().load(saved)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ConfigError, match="november, head, pygba"):
        find_weights("december")
    weights = EmeraldWeights()
    object.__setattr__(weights, "exp_shape", "cubic")
    with pytest.raises(ConfigError, match="power"):
        make_model(weights)
    with pytest.raises(ConfigError, match="step"):
        make_model(heal_steps=0)


def test_a_step_is_no_more_work_where_much_was_seen():
    """Of a whole map, walked along its lines, the last point costs no more than the first ones."""
    model = make_model()
    states = [make_state(x=x, y=y) for x in range(0, 40, 2) for y in range(0, 40, 2)]
    costs = [num_bytecodes(lambda state=state: model.step(state)) for state in states]
    assert max(costs[-50:]) < 1.5 * max(costs[:5])


def test_full_boxes_are_added_up_once():
    boxes = tuple(make_pokemon() for _ in range(420))
    model, states = make_model(), [make_state(), make_state(), make_state(boxes=boxes), make_state(boxes=boxes)]
    _, empty, first, again = (num_bytecodes(lambda state=state: model.step(state)) for state in states)
    assert first > 2 * empty
    assert again < 1.2 * empty
