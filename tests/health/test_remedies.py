"""Remedies change what they say, only settings that a run can change in its middle, and never nothing."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from courtside.algos.ops.schedules import schedule_value
from courtside.algos.ppo import make_hyper
from courtside.experiments.population.batch import program_key
from courtside.health.diagnose import KINDS
from courtside.health.remedies import REMEDIES, apply, flags, follow, for_kinds, scaled, shrink, widen
from courtside.settings.config import override
from courtside.settings.presets import PRESETS, find_preset
from courtside.settings.schedules import value_at
from courtside.training.insurance import settling


def test_schedules_keep_their_form():
    assert scaled("1e-3", 0.1) == "0.0001"
    assert scaled("linear(3e-3, 1e-3)", 1 / 3) == "linear(0.001, 0.000333333)"
    assert scaled("decay(3e-3, 1234567, 3e-4)", 1 / 3) == "decay(0.001, 1234567, 0.0001)"
    assert scaled("warmup(0.05, exponential(1e-2, 1e-4))", 0.1) == "warmup(0.05, exponential(0.001, 1e-05))"


@pytest.mark.parametrize("kind", REMEDIES)
def test_every_remedy_gives_valid_settings_of_the_same_shapes(kind):
    assert kind in KINDS
    for name in PRESETS:
        config = find_preset(name)
        for remedy in REMEDIES[kind]:
            changed = apply(remedy, config)
            changed.validate()
            assert (changed.env, changed.net, changed.batch_size) == (config.env, config.net, config.batch_size)


def test_what_changes_nothing_or_the_same_again_is_not_tried():
    config = find_preset("cartpole")
    names = [remedy.name for remedy in for_kinds(["dead-critic", "value-blowup"], config)]
    assert "value weight 0.5" not in names, "it is 0.5 already"
    assert "gamma 0.99" not in names
    assert len(names) == len(set(names))
    assert "gamma 0.99" in [r.name for r in for_kinds(["dead-critic"], override(config, gamma=1.0))]
    assert for_kinds(["time-limit"], config) == []


@pytest.mark.parametrize(
    ("kind", "settings", "remedy"),
    [
        ("entropy-collapse", {"ent_coef": "0.05"}, "entropy bonus 0.01"),
        ("entropy-collapse", {"ent_coef": "linear(0, 0.05)"}, "entropy bonus 0.01"),
        ("kl-spikes", {"target_kl": 0.01}, "target KL 0.02"),
        ("dead-critic", {"vf_coef": 1.0}, "value weight 0.5"),
        ("gradients-vanishing", {"max_grad_norm": 50.0}, "gradient norm 10"),
    ],
)
def test_no_remedy_does_the_opposite_of_what_it_says(kind, settings, remedy):
    assert remedy not in [one.name for one in for_kinds([kind], override(find_preset("cartpole"), **settings))]


def test_limits_are_put_where_they_are_missed():
    config = override(find_preset("cartpole"), ent_coef="0.0", vf_coef=0.1, target_kl=0.1)
    changes = {one.name: one.change(config) for one in for_kinds(["entropy-collapse", "dead-critic"], config)}
    assert changes["entropy bonus 0.01"] == {"ent_coef": "0.01"}
    assert changes["value weight 0.5"] == {"vf_coef": 0.5}
    assert changes["target KL 0.02"] == {"target_kl": 0.02}
    assert "entropy bonus x 10" not in changes, "ten times nothing"


def test_flags_are_what_one_would_type():
    settings = {"learning_rate": "linear(0.1, 0)", "clip_vloss": False, "norm_reward": True, "target_kl": 0.02}
    assert flags(settings) == '--learning-rate "linear(0.1, 0)" --no-clip-vloss --norm-reward --target-kl 0.02'


def test_a_rate_that_runs_out_starts_where_the_rate_stands():
    config = override(find_preset("cartpole"), learning_rate="1e-2", anneal_lr=False)
    update = config.num_updates // 2
    changed = override(config, **settling(update)(config))
    assert value_at(changed.learning_rate, update, config.num_updates) == pytest.approx(1e-2, rel=1e-4)
    assert value_at(changed.learning_rate, 1, 1) == 0.0
    falling = override(config, learning_rate=f"decay(1e-2, {update * config.batch_size})")
    assert settling(update)(falling) == {"learning_rate": changed_by(update, config, 0.5e-2)}


def changed_by(update, config, rate):
    return f"linear({rate / (1 - update / config.num_updates):.6g}, 0)"


def test_a_rate_that_runs_out_agrees_with_the_learner_behind_a_warm_up():
    config = override(find_preset("cartpole"), learning_rate="warmup(0.4, linear(1e-2, 0))")
    update = config.num_updates // 2
    progress = update / config.num_updates
    numbers = make_hyper(config).learning_rate
    assert float(schedule_value(numbers, jnp.int32(update))) == pytest.approx(1e-2 * (1 - progress), rel=1e-5)
    changed = override(config, **settling(update)(config))
    assert value_at(changed.learning_rate, progress, 1) == pytest.approx(1e-2 * (1 - progress), rel=1e-5)


def test_a_remedy_takes_the_settings_of_the_family():
    config = override(
        find_preset("pendulum-d4pg"), actor_learn_rate="1e-3", critic_learn_rate="linear(2e-3, 0)", gamma=1.0
    )
    changes = {one.name: one.change(config) for one in for_kinds(["value-blowup", "gradients-exploding"], config)}
    assert changes["learning rate / 10"] == {"actor_learn_rate": "0.0001", "critic_learn_rate": "linear(0.0002, 0)"}
    assert set(changes) == {"learning rate / 10"}, "a replay keeps the old gamma's returns; others are PPO's own"
    assert settling(0)(config) == {"actor_learn_rate": "linear(0.001, 0)", "critic_learn_rate": "linear(0.002, 0)"}


FAMILY = (
    "value-range-clipped",
    "value-range-too-wide",
    "target-runaway",
    "target-lag",
    "noise-gone",
    "noise-never-anneals",
)


@pytest.mark.parametrize("kind", FAMILY)
def test_what_helps_a_replayed_run_is_data_of_its_program(kind):
    config = find_preset("pendulum-d4pg")
    sick = {"target-runaway": {"gamma": 1.0}, "value-range-too-wide": {"vmin": -4e4}}.get(kind, {})
    config = override(config, **sick)
    tried = for_kinds([kind], config)
    assert tried
    assert {program_key(apply(remedy, config)) for remedy in tried} == {program_key(config)}


def test_gradients_that_are_never_cut_stay_so_in_the_middle_of_a_replayed_run():
    """Cutting them is part of its program and of its state."""
    config = find_preset("pendulum-d4pg")
    assert config.mad4pg.max_grad_norm == 0
    assert "gradient norm 0.5" not in [remedy.name for remedy in for_kinds(["not-a-number"], config)]


def test_a_range_is_widened_about_its_middle_and_narrowed_towards_nothing():
    config = override(find_preset("pendulum-d4pg"), vmin=-1.0, vmax=3.0)
    assert widen(3)(config) == {"vmin": -5.0, "vmax": 7.0}
    assert shrink(0.1)(config) == {"vmin": -0.1, "vmax": 0.3}
    assert follow(10)(override(config, update_type="hard", C=500)) == {"C": 50}
    assert follow(10)(override(config, tau=0.5)) == {"tau": 1.0}
