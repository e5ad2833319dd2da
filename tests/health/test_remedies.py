"""Remedies change what they say, only settings that a run can change in its middle, and never nothing."""

from __future__ import annotations

import pytest

from courtside.config import override
from courtside.health.findings import KINDS
from courtside.health.insurance import rate_at, settling
from courtside.health.remedies import REMEDIES, apply, flags, for_kinds, scaled
from courtside.presets import PRESETS, find_preset
from courtside.schedules import parse_schedule


def test_schedules_keep_their_form():
    assert scaled("1e-3", 0.1) == "0.0001"
    assert scaled("linear(3e-3, 1e-3)", 1 / 3) == "linear(0.001, 0.000333333)"
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


def test_flags_are_what_one_would_type():
    settings = {"learning_rate": "linear(0.1, 0)", "clip_vloss": False, "norm_reward": True, "target_kl": 0.02}
    assert flags(settings) == '--learning-rate "linear(0.1, 0)" --no-clip-vloss --norm-reward --target-kl 0.02'


def test_a_rate_that_runs_out_starts_where_the_rate_stands():
    config = override(find_preset("cartpole"), learning_rate="1e-2", anneal_lr=False)
    update = config.num_updates // 2
    changed = override(config, **settling(update)(config))
    progress = update / config.num_updates
    assert rate_at(changed.learning_rate, progress) == pytest.approx(1e-2, rel=1e-4)
    assert rate_at(changed.learning_rate, 1.0) == 0.0
    assert rate_at(parse_schedule("exponential(1e-2, 1e-4)"), 0.5) == pytest.approx(1e-3)
