"""`courtside verify` on a real, tiny training: the same code is inside its band, another one is outside and says how."""

import dataclasses
import json

import pytest

from courtside.cli.verify_words import HINTS, NAMES, describe, name_of
from courtside.errors import ConfigError
from courtside.experiments.bands import Band, band_names, settings_of
from courtside.experiments.verify import QUICK, hold_against, least_seeds, to_json, train_first_part
from courtside.settings.presets import DEFAULT, find_preset

PRESET = find_preset("cartpole")
CONFIG = dataclasses.replace(PRESET, learning=dataclasses.replace(PRESET.ppo, num_steps=32))
BROKEN = dataclasses.replace(CONFIG, learning=dataclasses.replace(CONFIG.ppo, learning_rate="2e-2"))
"""Rates are data of the compiled program, so this stands for an edit without a compilation of its own."""
ENDS = (2, 4, 8)
SEEDS = 6
"""In the band and fresh: as many members are the same compiled program."""


@pytest.fixture(scope="module")
def band():
    seeds = list(range(100, 100 + SEEDS))
    first = train_first_part(CONFIG, seeds, ENDS)
    return Band(
        preset="cartpole", settings=settings_of(CONFIG), seeds=tuple(seeds), ends=ENDS, first=dict(first),
        whole_ends=(), whole={}, steps_to_pass=(), made={},
    )  # fmt: skip


def test_the_same_code_is_inside(band):
    told = []
    report = hold_against(CONFIG, band, SEEDS, first_seed=99, on_progress=lambda *args: told.append(args))
    assert report.passed
    assert report.seeds == (99, 106, 107, 108, 109, 110)  # never those of the band
    assert told[-1] == (48, 48)
    assert describe(report)[-1] == "PASS: all 9 metrics are inside the band of cartpole."


def test_another_code_is_outside_and_is_told_how(band):
    report = hold_against(BROKEN, dataclasses.replace(band, settings=settings_of(BROKEN)), SEEDS)
    outside = {result.metric: result.direction for result in report.results if not result.passed}
    assert outside["losses/approx_kl"] == "above"
    lines = "\n".join(describe(report))
    assert "approximate KL is " in lines
    assert "6 healthy seeds average " in lines
    assert f"FAIL: {len(outside)} of 9 metrics are outside the band of cartpole." in lines
    assert "hint: " in lines
    record = json.loads(json.dumps(to_json(report), allow_nan=False))
    assert (record["passed"], record["results"][0]["step"] % CONFIG.batch_size) == (False, 0)


def test_a_band_of_other_settings_is_refused(band):
    with pytest.raises(
        ConfigError, match=r"learning_rate was 1e-3, is 2e-2. Put the settings back, or make a new band"
    ):
        hold_against(BROKEN, band, SEEDS)


def test_seeds_too_few_to_ever_fail_are_refused(band):
    with pytest.raises(ConfigError, match=r"3 seeds cannot be told from luck beside the 6 .* take --seeds 4 or more"):
        hold_against(CONFIG, band, 3)


def test_the_fewest_seeds_are_those_whose_rarest_labelling_is_rare_enough():
    assert least_seeds(32, 0.005) == 2  # 561 ways to choose 2 of 34
    assert least_seeds(16, 0.005) == 3  # 153 ways to choose 2 of 18, 969 to choose 3 of 19


def test_every_metric_has_a_name_and_most_deviations_a_hint():
    assert name_of("agents/red_0/episodic_return") == "return of red_0"
    assert {metric for metric, _ in HINTS} <= set(NAMES)


def test_the_presets_that_people_try_first_have_a_band():
    assert {DEFAULT, *QUICK} <= set(band_names())
