"""Summaries against hand numbers, and against slow twins that read like their equations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from courtside.health.statistics import (
    bootstrap_interval,
    chance_by_step,
    interquartile_mean,
    quantiles,
    stratified_interval,
    summarize,
    wilson_interval,
    worst_tenth,
)


def test_hand_numbers():
    summary = summarize([8, 1, 3, 100, 5, 2, 4, 7])
    assert summary.count == 8
    assert summary.mean == 130 / 8
    assert summary.std == pytest.approx(math.sqrt(sum((x - 16.25) ** 2 for x in [8, 1, 3, 100, 5, 2, 4, 7]) / 8))
    assert summary.iqm == (3 + 4 + 5 + 7) / 4  # 1, 2 and 8, 100 are cut off
    assert (summary.minimum, summary.maximum) == (1, 100)


@pytest.mark.parametrize(
    ("scores", "iqm"), [([7], 7), ([1, 3], 2), ([1, 2, 6], 3), ([0, 2, 4, 90], 3), ([0, 1, 2, 3, 94], 2)]
)
def test_iqm_of_few_scores(scores, iqm):
    assert interquartile_mean(np.asarray(scores, float)) == iqm


def test_iqm_works_on_rows():
    np.testing.assert_array_equal(interquartile_mean(np.asarray([[0.0, 2, 4, 90], [1, 1, 1, 1]])), [3, 1])


def test_one_score_is_its_own_interval():
    summary = summarize([5.0])
    assert (summary.iqm_low, summary.iqm_high, summary.std) == (5, 5, 0)


def test_interval_of_two_scores_by_hand():
    # redrawing {0, 1} gives a mean of 0, 1/2, 1 with chances 1/4, 1/2, 1/4: 95% needs both ends
    assert bootstrap_interval(np.asarray([0.0, 1.0])) == (0, 1)


def test_same_scores_same_interval():
    scores = np.random.default_rng(3).normal(size=50)
    assert summarize(scores) == summarize(scores)


def test_interval_covers_the_truth_about_95_times_in_100():
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        low, high = bootstrap_interval(generator.normal(10, 2, size=64), resamples=400)
        hits += low <= 10 <= high
    assert 0.88 <= hits / 200 <= 0.99


def test_interval_does_not_depend_on_the_block_size(monkeypatch):
    scores = np.random.default_rng(1).normal(size=20)
    whole = bootstrap_interval(scores)
    monkeypatch.setattr("courtside.health.statistics._BLOCK", 60)
    assert bootstrap_interval(scores) == whole


def test_not_a_number_is_not_hidden():
    summary = summarize([1.0, math.nan, 2.0, 3.0, 4.0])
    assert math.isnan(summary.mean)
    assert math.isnan(summary.iqm)
    assert math.isnan(summary.iqm_low)


def test_no_scores_is_an_error():
    with pytest.raises(ValueError, match="one or more scores"):
        summarize([])


def test_json_is_plain_data():
    assert summarize([1, 2]).to_json()["mean"] == 1.5


def test_one_stratum_is_the_plain_bootstrap():
    scores = np.random.default_rng(2).normal(size=12)
    assert stratified_interval([scores]) == bootstrap_interval(scores)


def test_strata_are_redrawn_apart():
    # each stratum has one value only, so nothing can vary; pooled, the same scores would
    low, high = np.zeros(4), np.ones(4)
    assert stratified_interval([low, high]) == (0.5, 0.5)
    assert bootstrap_interval(np.concatenate([low, high])) == (0, 1)


def test_stratified_interval_against_a_slow_twin():
    generator = np.random.default_rng(4)
    strata = [generator.normal(0, 1, size=5), generator.normal(8, 3, size=9)]
    twin = []
    for _ in range(4_000):
        pool = sorted(generator.choice(s) for s in strata for _ in range(s.size))
        twin.append(sum(pool[3:11]) / 8)
    expected = np.quantile(twin, [0.025, 0.975])
    np.testing.assert_allclose(stratified_interval(strata, resamples=4_000), expected, atol=0.15)


def test_strata_do_not_depend_on_the_block_size(monkeypatch):
    strata = [np.random.default_rng(i).normal(size=6) for i in range(3)]
    whole = stratified_interval(strata, resamples=50)
    monkeypatch.setattr("courtside.health.statistics._BLOCK", 60)
    assert stratified_interval(strata, resamples=50) == whole


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([5], 5), ([3, 1, 2], 1), (range(10), 0), (range(11), 0.5), ([9] * 10 + [1] * 6, 1), ([1, math.nan], math.nan)],
)
def test_worst_tenth(scores, expected):
    assert worst_tenth(np.asarray(list(scores), float)) == pytest.approx(expected, nan_ok=True)


def test_quantiles_leave_out_what_is_not_there():
    nan = math.nan
    rows = np.asarray([[1.0, 5, nan], [2, nan, nan], [3, 7, nan], [4, nan, nan], [10, nan, nan]])
    found = quantiles(rows, [0.1, 0.5, 0.9])
    # h = 1.4, 3, 4.6 of 1 2 3 4 10; of 5 and 7 it is 5.2, 6, 6.8; of nothing it is nothing
    np.testing.assert_allclose(found[:, 0], [1.4, 3, 7.6])
    np.testing.assert_allclose(found[:, 1], [5.2, 6, 6.8])
    assert np.isnan(found[:, 2]).all()


@pytest.mark.parametrize(
    # Newcombe 1998 (Statistics in Medicine 17), table I, method 3
    ("hits", "count", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval(hits, count, low, high):
    assert wilson_interval(hits, count) == pytest.approx((low, high), abs=5e-5)
    mirrored = wilson_interval(count - hits, count)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=5e-5)


def test_wilson_interval_solves_its_equation():
    # the ends are where the share is z deviations away: (p - x)² = z² x(1 - x)/n
    for end in wilson_interval(13, 16):
        assert (13 / 16 - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / 16, rel=1e-5)


def test_wilson_interval_of_nothing_and_nonsense():
    assert wilson_interval(0, 0) == (0, 1)
    with pytest.raises(ValueError, match="3 of 2"):
        wilson_interval(3, 2)


def test_chance_is_the_plain_share_when_all_got_to_the_end():
    passed_at = [300, None, 200, 300]
    assert chance_by_step(passed_at, [900] * 4) == [(200, 1 / 4), (300, 3 / 4)]
    assert chance_by_step([None, None], [900, 900]) == []


def test_chance_counts_a_stopped_member_as_long_as_it_ran():
    # at 200 all five are open: 1/5; the one stopped at 250 is out, so at 300 one of three passes: 1 - 4/5 · 2/3
    passed_at, steps = [200, None, 300, None, None], [900, 250, 900, 900, 900]
    assert chance_by_step(passed_at, steps) == [(200, 1 / 5), (300, pytest.approx(7 / 15))]
