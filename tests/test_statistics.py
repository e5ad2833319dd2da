"""Summaries against hand numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from courtside.statistics import bootstrap_interval, interquartile_mean, summarize


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
    monkeypatch.setattr("courtside.statistics._BLOCK", 60)
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
