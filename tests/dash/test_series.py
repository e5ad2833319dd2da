"""Curves: points are means over even stretches, episodes count each, and most updates lie in the band."""

import numpy as np
import pytest

from courtside.dash.lines import Excerpt
from courtside.dash.series import make_clock, make_series, names_needed


def table(**columns):
    found = {name.replace("__", "/"): np.asarray(values, float) for name, values in columns.items()}
    return Excerpt(found, tuple(found), len(next(iter(found.values()))), 0, True)


def test_few_points_are_shown_as_they_are():
    got = make_series(table(step=[1, 2, 3], x=[1.0, np.nan, np.inf]), "x", np.array([1.0, 2, 3]), 10)
    assert got == {"x": [1, 3], "mean": [1, None], "low": [1, None], "high": [1, None]}


def test_many_become_means_with_a_band():
    values = np.concatenate([np.arange(100.0), np.full(100, 7.0)])
    got = make_series(table(step=np.arange(200), x=values), "x", np.arange(200.0), 2)
    assert got["x"] == [99, 199]
    assert got["mean"] == [49.5, 7]
    assert (got["low"], got["high"]) == ([10, 7], [89, 7])


def test_metrics_of_episodes_count_each_episode():
    rows = {"charts__episodic_return": [1, 4, np.nan, 10], "charts__episodes": [3, 1, 0, 0], "step": [1, 2, 3, 4]}
    got = make_series(table(**rows), "charts/episodic_return", np.arange(4.0), 1)
    assert got["mean"] == [pytest.approx(7 / 4)]
    assert names_needed(["charts/episodic_return"]) == ["step", "update", "charts/episodic_return", "charts/episodes"]


def test_a_span_and_nothing_at_all():
    made = table(step=[1, 2, 3], x=[1, 2, 3])
    assert make_series(made, "x", np.array([1.0, 2, 3]), 5, (2, 3))["mean"] == [2, 3]
    assert make_series(made, "x", np.array([1.0, 2, 3]), 5, (9, 10))["x"] == []


def test_seconds_of_training_follow_from_the_chunks():
    rows = table(step=[0, 100, 300], seconds=[np.nan, 2.0, 1.0], steps_per_second=[np.nan, 50.0, 100.0])
    assert make_clock(rows).at(np.array([0.0, 50, 100, 300, 900])).tolist() == [0, 1, 2, 3, 3]
    assert make_clock(rows._replace(is_whole=False)).at(np.array([100.0, 300])).tolist() == [2, 4], (
        "by speed, in a sample"
    )
