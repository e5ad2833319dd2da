from __future__ import annotations

import dataclasses

import pytest

from courtside.errors import ConfigError
from courtside.experiments.tune import space
from courtside.experiments.tune.space import Choice, Range, changes, make_space, scale_schedule, settings_of
from courtside.settings.config import Config, override
from courtside.settings.presets import PRESETS, find_preset

REDBLUE = find_preset("redblue")


def part(found, name):
    return next(part for part in found if part.name == name)


@pytest.mark.parametrize("name", list(PRESETS))
def test_default_space_of_every_preset_can_be_trained_in_two_programs(name):
    config = find_preset(name)
    found = make_space(config)
    assert len(space.shapes(found)) == 2
    assert settings_of(config, found) is not None, "the preset's own point has to be beaten, so it must be inside"
    ppo, replay = {"learning_rate", "ent_coef", "update_epochs"}, {"actor_learn_rate", "critic_learn_rate", "tau", "C"}
    assert {"gamma", *(replay if config.traits.has_replay else ppo)} <= {part.name for part in found}


def test_words_change_the_table():
    words = [
        "learning_rate=log(1e-5,1e-3)",
        "gae_lambda=0.9..1.0",
        "num_envs=32,64,128",
        "gamma=fixed",
        "clip-vloss=True,False",
    ]
    found = make_space(REDBLUE, words)
    assert part(found, "learning_rate") == Range("learning_rate", 1e-5, 1e-3, log=True)
    assert part(found, "gae_lambda") == Range("gae_lambda", 0.9, 1.0)
    assert part(found, "num_envs") == Choice("num_envs", (32, 64, 128))
    assert part(found, "clip_vloss") == Choice("clip_vloss", (True, False))
    assert "gamma" not in {p.name for p in found}
    assert part(make_space(REDBLUE, ["update_epochs=1..4"]), "update_epochs").whole


def test_layers_switches_and_schedules_as_choices():
    found = make_space(REDBLUE, ["hidden_sizes=64x64,128", "target_kl=none,0.02", "ent_coef=linear(0.1,0),0.01"])
    assert part(found, "hidden_sizes").values == ("64x64", "128")
    assert part(found, "target_kl").values == (None, 0.02)
    assert part(found, "ent_coef").values == ("linear(0.1,0)", 0.01)
    changed = override(REDBLUE, **changes(REDBLUE, {"hidden_sizes": "64x64", "ent_coef": 0.05, "target_kl": None}))
    assert changed.net.hidden_sizes == (64, 64)
    assert changed.ppo.ent_coef == "linear(0.05, 0)", "the preset's schedule keeps its shape"


def test_the_space_is_that_of_the_algorithm():
    tennis = find_preset("tennis")
    assert part(make_space(tennis), "vmax") == Range("vmax", 0.5, 4.0, log=True)
    assert "vmax" not in {p.name for p in make_space(override(tennis, algo="maddpg"))}, "a number has no range"
    assert "num_envs" in {p.name for p in make_space(override(tennis, algo="ppo"))}
    found = make_space(tennis, ["layer_sizes=350x250,64", "noise=gaussian,ou", "batch-size=128,256", "C=10..100"])
    assert part(found, "hidden_sizes").values == ("350x250", "64")
    assert part(found, "C").whole
    assert len(space.shapes(found)) == 16, "n, layers, noise and batch are programs of their own"
    with pytest.raises(ConfigError, match="no setting to search named 'clip_coef'"):
        make_space(tennis, ["clip_coef=0.1,0.2"])


def test_a_flag_takes_its_setting_out_of_the_search():
    assert "gamma" not in {p.name for p in make_space(REDBLUE, fixed=["gamma", "num_envs"])}


def test_our_own_shapes_give_way_to_the_users_sizes():
    assert part(make_space(REDBLUE, ["num_steps=32,64"]), "num_envs").values == (64, 32)
    config = override(REDBLUE, num_steps=7)
    found = {p.name for p in make_space(config, ["num_minibatches=32,64"])}
    assert "num_envs" not in found, "64 does not divide 32 x 7"


@pytest.mark.parametrize(
    ("words", "fixed", "told"),
    [
        (["learning_rate=3e-3..1e-4"], [], "not below"),
        (["learning_rate=log(0,1e-3)"], [], "above 0"),
        (["gamma=0.9,0.95"], ["gamma"], "both fixed by --gamma and searched"),
        (["learning_rat=1..2"], [], "Did you mean learning_rate"),
        (["total_timesteps=1,2"], [], "no setting to search named 'total_timesteps'"),
        (["num_minibatches=7,8"], [], "num_minibatches=7"),
        (["gamma=0.5..1.5"], [], "gamma=1.5"),
        (["gamma=abc..1"], [], "'abc' is not a number"),
        (["gamma=0.9"], [], "--gamma 0.9"),
        (["gamma=0.9,0.9"], [], "twice"),
        (["num_envs=8..64"], [], "a program of its own"),
        (["update_epochs=1.5..4"], [], "whole number"),
        (["activation=tanh,step"], [], "one of tanh"),
        (["gamma"], [], "NAME=VALUES"),
        (["num_envs=" + ",".join(map(str, range(8, 808, 8)))], [], "combinations"),
    ],
)
def test_bad_spaces_are_one_sentence(words, fixed, told):
    with pytest.raises(ConfigError, match=r".") as error:
        make_space(REDBLUE, words, fixed)
    assert told in str(error.value)


def test_empty_space():
    words = [f"{p.name}=fixed" for p in space.default_space(REDBLUE)]
    with pytest.raises(ConfigError, match="search space is empty"):
        make_space(REDBLUE, words)


@pytest.mark.parametrize(
    ("text", "scaled"),
    [
        ("0.01", "0.1"),
        ("linear(0.02, 0)", "linear(0.1, 0)"),
        ("linear(0.02, 0.005)", "linear(0.1, 0.025)"),
        ("warmup(0.05, exponential(1e-2, 1e-3))", "warmup(0.05, exponential(0.1, 0.01))"),
        ("constant(0.3)", "constant(0.1)"),
        ("decay(0.02, 2e6, 0.002)", "decay(0.1, 2000000, 0.01)"),
        ("0", "0.1"),
    ],
)
def test_a_schedule_keeps_its_shape(text, scaled):
    assert scale_schedule(text, 0.1) == scaled


def test_what_is_drawn_is_rounded_inside_the_range_and_found_again():
    gamma = Range("gamma", 0.9, 0.998, from_one=True)
    lines = (gamma, Range("update_epochs", 1, 6, whole=True), Choice("num_envs", (32, 64)))
    settings = space.round_settings(lines, {"1-gamma": 1 - 0.998, "update_epochs": 3, "num_envs": 32})
    assert settings == {"gamma": 0.998, "update_epochs": 3, "num_envs": 32}
    assert space.round_settings((gamma,), {"1-gamma": 0.0312345678})["gamma"] == 0.96877
    assert space.drawn_value(gamma, 0.998) == 1 - 0.998


def test_space_survives_json():
    import json

    found = make_space(Config())
    assert space.from_json(json.loads(json.dumps(space.to_json(found)))) == found


def test_distance_is_measured_on_the_scale_on_which_values_are_drawn():
    lines = (
        Range("learning_rate", 1e-4, 1e-2, log=True),
        Range("gamma", 0.9, 0.99, from_one=True),
        Choice("num_envs", (32, 64)),
    )
    a = {"learning_rate": 1e-4, "gamma": 0.9, "num_envs": 32}
    assert space.position(lines[0], 1e-3) == pytest.approx(0.5)
    assert space.position(lines[1], 0.99) == pytest.approx(0.0), "as 1 - gamma"
    assert space.distance(lines, a, a) == 0
    assert space.distance(lines, a, a | {"num_envs": 64}) == pytest.approx((1 / 3) ** 0.5)
    assert space.distance(lines, a, {"learning_rate": 1e-2, "gamma": 0.99, "num_envs": 64}) == pytest.approx(1.0)


def test_the_presets_own_point_in_the_space():
    base = find_preset("redblue")
    point = settings_of(base, make_space(base))
    assert point["learning_rate"] == 5e-4
    assert (point["ent_coef"], point["num_envs"], point["update_epochs"]) == (0.02, 64, 4)
    same = override(base, **changes(base, point))
    assert (same.ppo.learning_rate, same.ppo.ent_coef) == ("0.0005", "linear(0.02, 0)")
    assert dataclasses.replace(same.ppo, learning_rate="5e-4") == base.ppo
    assert settings_of(override(base, gamma=0.5), make_space(base)) is None, "it lies outside"
    assert settings_of(base, make_space(base, ["target_kl=0.01..0.03"])) is None, "the preset has none"
