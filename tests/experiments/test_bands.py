"""Bands: what is measured of a run, what a file keeps of it, and that the files shipped fit the presets they are for."""

import dataclasses
import json
from importlib import resources

import numpy as np
import pytest

from courtside.errors import ConfigError
from courtside.experiments import bands
from courtside.experiments.bands import (
    Band,
    band_names,
    find_band,
    first_ends,
    fresh_seeds,
    from_json,
    measure,
    to_json,
)
from courtside.settings.presets import find_preset

CARTPOLE = find_preset("cartpole")


def make_band(**changes):
    band = Band(
        preset="cartpole", settings=bands.settings_of(CARTPOLE), seeds=(3, 4), ends=(1, 3),
        first={"losses/entropy": np.array([[0.5, np.nan], [2.0, 0.25]])}, whole_ends=(3,),
        whole={"losses/entropy": [[0.1, 0.2, 0.3, 0.4, 0.5]]}, steps_to_pass=(1024, None), made={"date": "2024-01-01"},
    )  # fmt: skip
    return dataclasses.replace(band, **changes)


def test_spans_are_means_of_updates_and_metrics_of_episodes_count_each_episode():
    columns = {
        "charts/episodes": np.array([0.0, 1.0, 3.0, 0.0]),
        "charts/episodic_return": np.array([np.nan, 10.0, 20.0, np.nan]),
        "losses/entropy": np.array([1.0, 2.0, 3.0, 4.0]),
        "losses/not_compared": np.zeros(4),
        "agents/red/episodic_return": np.array([np.nan, 1.0, 2.0, np.nan]),
    }
    found = measure(columns, (1, 3, 4))
    assert list(found) == ["charts/episodic_return", "losses/entropy", "agents/red/episodic_return"]
    np.testing.assert_allclose(found["losses/entropy"], [1.0, 2.5, 4.0])
    np.testing.assert_allclose(found["charts/episodic_return"], [np.nan, 17.5, np.nan])
    np.testing.assert_allclose(found["agents/red/episodic_return"], [np.nan, 1.75, np.nan])


def test_numbers_are_kept_to_four_digits():
    np.testing.assert_equal(bands.four_digits(np.array([123.456, -0.000123456, np.nan])), [123.5, -0.0001235, np.nan])


def test_the_first_part_begins_with_short_spans_and_stays_inside_the_plan():
    ends = first_ends(CARTPOLE)
    lengths = np.diff((0, *ends))
    assert len(ends) == bands.FIRST_POINTS
    assert lengths[0] < lengths[-1]
    assert ends[-1] == round(bands.FIRST_SHARE * CARTPOLE.num_updates)
    short = dataclasses.replace(CARTPOLE, run=dataclasses.replace(CARTPOLE.run, total_timesteps=3 * 1024))
    assert first_ends(short) == (1, 2, 3)
    assert bands.whole_ends(short) == (1, 2, 3)


def test_a_band_survives_being_written():
    band = make_band()
    again = from_json(json.loads(json.dumps(to_json(band), allow_nan=False)))
    np.testing.assert_equal(again.first, band.first)
    assert dataclasses.replace(again, first={}) == dataclasses.replace(band, first={})


def test_a_band_of_another_format_is_refused():
    with pytest.raises(ConfigError, match="of format 99, this version reads 1"):
        from_json(to_json(make_band()) | {"format": 99})


def test_fresh_seeds_are_none_of_the_band():
    assert fresh_seeds(make_band(), 4, first=2) == [2, 5, 6, 7]


def test_changed_settings_are_named_and_unknown_ones_are_not():
    settings = bands.settings_of(CARTPOLE)
    settings["ppo"] |= {"gamma": 0.9, "of_another_version": 1}
    assert bands.settings_changes(make_band(settings=settings), CARTPOLE) == ["gamma was 0.9, is 0.99"]


def test_a_preset_without_band_is_told_which_have_one():
    with pytest.raises(ConfigError, match=r"'nothing' has no measured band.*these have one: "):
        find_band("nothing")


@pytest.mark.parametrize("name", band_names())
def test_every_shipped_band_fits_its_preset(name):
    config, band = find_preset(name), find_band(name)
    assert (band.preset, bands.settings_changes(band, config)) == (name, [])
    assert (band.ends, band.whole_ends) == (first_ends(config), bands.whole_ends(config))
    assert len(band.seeds) >= 16
    assert len(band.steps_to_pass) == len(band.seeds)
    assert {values.shape for values in band.first.values()} == {(len(band.seeds), len(band.ends))}
    losses = [values for metric, values in band.first.items() if metric.startswith("losses/")]
    assert losses
    assert all(np.isfinite(values).all() for values in losses), (
        "episodes may not have ended yet, losses are always there"
    )
    assert {"date", "command", "device", "versions"} <= set(band.made)
    file = resources.files("courtside.settings.presets") / "bands" / f"{name}.json"
    assert len(file.read_text()) < 60_000


def test_losses_count_from_the_first_gradient_step_on():
    columns = {
        "charts/episodes": np.zeros(4),
        "charts/learning_steps": np.array([0.0, 0.0, 8.0, 16.0]),
        "losses/critic_loss": np.array([np.nan, np.nan, 4.0, 2.0]),
        "losses/actor_loss": np.array([np.nan, np.nan, np.nan, 2.0]),
    }
    found = measure(columns, (1, 3, 4))
    np.testing.assert_equal(found["losses/critic_loss"], [np.nan, 4.0, 2.0])
    np.testing.assert_equal(found["losses/actor_loss"], [np.nan, np.nan, 2.0], "a loss that broke stays broken")
