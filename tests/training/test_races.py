"""Races by hand numbers: scores, paired intervals, the chance to be better, and who comes first."""

from __future__ import annotations

import numpy as np
import pytest

from courtside.health.remedies import RATE_DOWN_3, RATE_DOWN_10
from courtside.settings.config import Threshold
from courtside.training import races
from courtside.training.insurance import steadiest


def columns(returns: list[float], episodes: list[float]) -> races.Columns:
    return {"charts/episodic_return": np.array(returns, float), "charts/episodes": np.array(episodes, float)}


def compare(remedy, settings, scores, unchanged):
    return races.compare(remedy, settings, np.array(scores, float), np.array(unchanged, float))


def test_score_is_the_mean_of_the_episodes_in_the_last_third():
    assert races.end_score(columns([0, 0, 0, 0, 10, 40], [9, 9, 9, 9, 2, 1])) == pytest.approx(20.0)
    assert races.end_score(columns([6, 8, 0], [1, 1, 0])) == pytest.approx(7.0), "no episode ended at the end"
    assert np.isnan(races.end_score(columns([0, 0, 0], [0, 0, 0])))


def test_difference_is_paired_by_seed():
    better = compare(RATE_DOWN_3, {"learning_rate": "1"}, [11, 101, 1001], [10, 100, 1000])
    assert (better.difference, better.low, better.high) == (1.0, 1.0, 1.0), "each seed gains 1, however unlike they are"
    assert better.helped
    assert better.chance == pytest.approx(6 / 9)


def test_a_gain_that_luck_explains_has_not_helped():
    lucky = compare(RATE_DOWN_3, {"learning_rate": "1"}, [0, 0, 30], [0, 10, 0])
    assert lucky.difference == pytest.approx(20 / 3)
    assert lucky.low < 0 < lucky.high
    assert not lucky.helped


def test_idle_remedies_hardly_ever_seem_to_help():
    """Six remedies that change nothing, against the same eight seeds of no change: skewed scores, and bell-shaped ones."""
    draw, num_races = np.random.default_rng(0), 400
    for scores in (draw.exponential(100, (num_races, 7, 8)), draw.normal(100, 30, (num_races, 7, 8))):
        lows = [[races.paired_interval(own - one[-1], tried=6)[0] for own in one[:-1]] for one in scores]
        assert np.mean(np.max(lows, axis=1) > 0) < 0.05


def test_what_helps_one_alone_may_be_luck_among_six():
    gains, none = [10, 12, 3, 8, 1, 7, 2, 9], [0] * 8
    alone, among = (
        races.compare(RATE_DOWN_3, {"gamma": 1}, np.array(gains, float) - 3, np.array(none, float), 0.0, n)
        for n in (1, 6)
    )
    assert alone.low == pytest.approx(3.5 - 2.3646 * 4.0356 / 8**0.5, abs=1e-3), "t of 7, deviation of 8"
    assert (alone.helped, among.helped) == (True, False)


def test_one_seed_claims_nothing():
    assert not compare(RATE_DOWN_3, {"learning_rate": "1"}, [9], [0]).helped


def test_a_seed_without_episodes_counts_as_the_worst_seen():
    found = compare(RATE_DOWN_3, {"learning_rate": "1"}, [np.nan, 5], [3, 4])
    assert found.scores == (3.0, 5.0)


def test_ranking_goes_by_what_is_sure_not_by_the_luckiest():
    steady = compare(RATE_DOWN_3, {"learning_rate": "1"}, [5, 6, 5], [0, 0, 0])
    lucky = compare(RATE_DOWN_10, {"learning_rate": "2"}, [0, 0, 60], [0, 0, 0])
    none = compare(races.NO_CHANGE, {}, [0, 0, 0], [0, 0, 0])
    assert races.ranked([lucky, none, steady])[0] == steady
    assert not none.helped


def test_thresholds_are_looked_at_where_the_score_is():
    wanted = (Threshold("charts/episodic_return", ">=", 15.0), Threshold("losses/entropy", "<", 0.3))
    member = columns([0, 0, 20], [1, 1, 1]) | {"losses/entropy": np.array([0.1, 0.1, 0.9])}
    assert races.closeness([member], wanted) == 0.5
    assert races.closeness([member], ()) == 0.0


def test_insurance_takes_no_change_only_where_it_is_clearly_better():
    calm = compare(RATE_DOWN_10, {"learning_rate": "1"}, [98, 98], [99, 99])
    none = compare(races.NO_CHANGE, {}, [99, 99], [99, 99])
    listed = [RATE_DOWN_10.name]
    assert steadiest([none, calm], listed, near=2.0).name == RATE_DOWN_10.name
    assert steadiest([none, calm], listed, near=0.5).name == races.NO_CHANGE.name
