"""The test behind `courtside verify`: silent on the same population, loud on another, and right about how often it errs."""

import numpy as np
import pytest

from courtside.experiments.verify.comparison import compare, limits

POINTS = 6


def make_seeds(generator, count, shift=0.0):
    """Two metrics that hang together from point to point, as learning curves do, with heavy tails."""
    level = generator.standard_normal((count, 1, 1))
    values = level + generator.standard_t(3, (count, 2, POINTS))
    return {"losses/entropy": np.exp(0.3 * values[:, 0]), "losses/value_loss": values[:, 1] + shift}


def outside(band, fresh):
    return {result.metric: result.direction for result in compare(band, fresh) if not result.passed}


def test_the_same_population_is_inside():
    generator = np.random.default_rng(0)
    results = compare(make_seeds(generator, 32), make_seeds(generator, 8))
    assert [result.direction for result in results] == ["inside", "inside"]
    assert all(result.low <= result.value <= result.high for result in results)


def test_the_limits_are_the_bands_own_whatever_the_value_is():
    """One wild seed moves the mean beyond them, which alone is no alarm."""
    generator = np.random.default_rng(3)
    band, fresh = make_seeds(generator, 32), make_seeds(generator, 8)
    result = next(r for r in compare(band, fresh) if r.metric == "losses/entropy")
    assert result.passed
    assert result.value > result.high


@pytest.mark.parametrize(("shift", "direction"), [(8.0, "above"), (-8.0, "below")])
def test_a_shifted_metric_is_outside_and_only_that_one(shift, direction):
    generator = np.random.default_rng(0)
    band, fresh = make_seeds(generator, 32), make_seeds(generator, 8, shift)
    assert outside(band, fresh) == {"losses/value_loss": direction}


def test_a_shift_at_one_point_is_found_there():
    generator = np.random.default_rng(0)
    band, fresh = make_seeds(generator, 32), make_seeds(generator, 8)
    fresh["losses/value_loss"][:, 4] += 20.0
    result = next(r for r in compare(band, fresh) if r.metric == "losses/value_loss")
    assert (result.passed, result.point) == (False, 4)
    assert result.value > result.high


def test_a_small_shift_that_never_lets_up_is_found_too():
    """No point alone would do: the average over all points is looked at as well."""
    generator = np.random.default_rng(0)
    noise = generator.standard_normal((40, 100))
    band, fresh = {"losses/entropy": noise[:32]}, {"losses/entropy": noise[32:] + 0.8}
    assert outside(band, fresh) == {"losses/entropy": "above"}


def test_two_seeds_are_enough_for_what_is_far_away():
    generator = np.random.default_rng(0)
    assert outside(make_seeds(generator, 32), make_seeds(generator, 2, 60.0)) == {"losses/value_loss": "above"}


def test_one_wild_seed_of_the_band_does_not_hide_a_shift():
    generator = np.random.default_rng(0)
    band, fresh = make_seeds(generator, 32), make_seeds(generator, 8, 8.0)
    band["losses/value_loss"][3] = -1e9
    assert outside(band, fresh) == {"losses/value_loss": "above"}


def test_false_alarms_are_as_rare_as_promised():
    """At one in ten, where few tries suffice to count: 300 tries give 30 alarms, more than 45 in one of 200 times."""
    generator = np.random.default_rng(3)
    alarms = 0
    for _ in range(300):
        together = make_seeds(generator, 9)
        parts = [{name: values[part] for name, values in together.items()} for part in (slice(6), slice(6, 9))]
        alarms += any(not result.passed for result in compare(*parts, false_alarms=0.1))
    assert 15 <= alarms <= 45


def test_a_metric_that_never_varies_is_inside_until_it_does():
    band, fresh = {"losses/clipfrac": np.zeros((32, 3))}, {"losses/clipfrac": np.zeros((8, 3))}
    assert outside(band, fresh) == {}
    fresh["losses/clipfrac"][:, 1] = 0.5
    assert outside(band, fresh) == {"losses/clipfrac": "above"}


def test_what_is_no_number_or_gone_is_outside_without_a_test():
    generator = np.random.default_rng(0)
    band, fresh = make_seeds(generator, 32), make_seeds(generator, 8)
    fresh["losses/entropy"][2, 3] = np.nan
    del fresh["losses/value_loss"]
    assert outside(band, fresh) == {"losses/entropy": "broken", "losses/value_loss": "missing"}


def test_an_episode_that_has_not_ended_yet_is_no_deviation_but_none_at_all_is():
    generator = np.random.default_rng(0)
    values = generator.standard_normal((40, 3))
    band, fresh = {"charts/episodic_return": values[:32]}, {"charts/episodic_return": values[32:].copy()}
    band["charts/episodic_return"][5, 0] = np.nan  # not every seed of the band has a value here either
    fresh["charts/episodic_return"][:, 0] = np.nan
    fresh["charts/episodic_return"][0, 1] = np.nan
    assert outside(band, fresh) == {}
    fresh["charts/episodic_return"][:, 1] = np.nan
    assert outside(band, fresh) == {"charts/episodic_return": "missing"}


def test_limits_are_where_the_correlation_becomes_critical():
    usual, critical = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0]), 0.5
    usual = np.concatenate([usual, -usual])  # wide enough not to be bounded by its own seeds
    _, high = limits(usual, 3, critical)
    spread = usual.std(ddof=1)
    fresh = high + spread * np.array([-1.0, 0.0, 1.0])  # as spread as the band
    labels = np.repeat([0.0, 1.0], [12, 3])
    assert np.corrcoef(labels, np.concatenate([usual, fresh]))[0, 1] == pytest.approx(critical)


def test_limits_narrow_with_the_seeds():
    usual = np.random.default_rng(0).standard_normal(200)
    (low2, high2), (low50, high50) = limits(usual, 2, 0.1), limits(usual, 50, 0.1)
    assert low2 < low50 < usual.mean() < high50 < high2
