"""A member's log in pieces is that log as a whole; judged as the slow way does it."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.experiments.population.histories import MemberLog, load_history
from courtside.experiments.population.results import final_score
from courtside.health.verdict import VerdictTracker
from courtside.runs import runlog
from courtside.settings.config import Config, Threshold, override
from courtside.training.stopping import ScoreWatch

RETURN, EVAL = "charts/episodic_return", "eval/episodic_return"
PLAN = override(Config(), total_timesteps=512 * 200, quit_threshold=8.0, quit_window=5)
BY_ROWS = (Threshold(RETURN, ">=", 4.0, window_steps=1_000),)
BY_BOTH = (*BY_ROWS, Threshold(EVAL, ">=", 5.0))


def config_of(thresholds):
    return Config(run=PLAN.run, thresholds=thresholds)


def row(update, score):
    return {"step": 512 * update, "update": update, "charts/episodes": 0 if score is None else 2, RETURN: score}


def evaluation(update, score):
    return {"step": 512 * update, "update": update, EVAL: score}


def chunk(update, seconds):
    return {"step": 512 * update, "update": update, "seconds": seconds}


scores = st.lists(st.one_of(st.none(), st.integers(0, 10).map(float)), min_size=1, max_size=40)


@given(
    scores,
    st.lists(st.integers(0, 10).map(float), min_size=40, max_size=40),
    st.sets(st.integers(1, 40), max_size=5),
    st.integers(0, 2),
)
def test_pieces_come_to_the_same_as_the_whole(told, evaluated, cuts, lead):
    """Every third update is evaluated, cuts fall anywhere between updates, and evaluations may come pieces before their rows."""
    rows = [row(update, score) for update, score in enumerate(told, start=1)]
    evals = [evaluation(update, evaluated[update - 1]) for update in range(3, len(rows) + 1, 3)]
    edges = [0, *sorted(cut for cut in cuts if cut < len(rows)), len(rows)]
    for thresholds in (BY_ROWS, BY_BOTH):
        config = config_of(thresholds)
        history, sent = MemberLog(config), 0
        for i, (low, high) in enumerate(itertools.pairwise(edges)):
            ahead = edges[min(i + 1 + lead, len(edges) - 1)]
            new = [each for each in evals[sent:] if each["update"] <= ahead]
            sent += len(new)
            history.add(rows[low:high], new)
        tracker = VerdictTracker(thresholds)
        tracker.add(runlog.in_order(rows + evals) if thresholds is BY_BOTH else rows)
        assert history.verdict() == tracker.verdict()
        assert history.watch.stop == ScoreWatch(config, rows).stop
        assert history.evals == [each[EVAL] for each in evals]
        found = history.scores()
        assert found.values[found.weights > 0].tolist() == [score for score in told if score is not None]


def test_an_evaluation_is_judged_before_the_rows_behind_it():
    """However early it came: held back until its row, and not longer."""
    history = MemberLog(config_of((Threshold(EVAL, ">=", 5.0), Threshold(RETURN, ">=", 4.0, window_steps=512))))
    history.add([], [evaluation(1, 9.0)])
    history.add([row(1, 5.0), row(2, 0.0)])
    assert history.verdict().steps_to_pass == 512
    assert not history.verdict().passed


def test_an_evaluation_whose_metrics_are_lost_counts_all_the_same():
    """A last line may be damaged; as soon as metrics come, it stands in its place."""
    history = MemberLog(config_of((Threshold(EVAL, ">=", 5.0),)))
    history.add([row(1, 5.0)], [evaluation(2, 9.0)])
    assert history.verdict().steps_to_pass == 1024
    assert history.verdict().passed
    history.add([row(2, 5.0)], [evaluation(3, 1.0)])
    assert history.verdict().steps_to_pass == 1024
    assert not history.verdict().passed


def test_a_score_that_is_no_number_is_not_passed_over():
    history = MemberLog(config_of(BY_ROWS))
    history.add([row(1, 5.0), row(2, None), row(3, math.nan)])
    assert math.isnan(final_score(history.scores()))
    healthy = MemberLog(config_of(BY_ROWS))
    healthy.add([row(1, 5.0), row(2, None)])
    assert final_score(healthy.scores()) == 5.0


def test_rows_of_an_insured_run_are_not_kept():
    history = MemberLog(Config(run=override(PLAN, insure=True).run, thresholds=BY_ROWS))
    history.add([row(update, 1.0) for update in range(1, 50)])
    assert history.watch._seen == []


def test_what_it_took_up_to_a_step():
    history = MemberLog(config_of(BY_ROWS))
    history.add(
        [row(u, 1.0) for u in range(1, 11)],
        (),
        [chunk(4, 1.5), chunk(8, 2.0), {"step": 9, "update": 9}, chunk(10, 4.0)],
    )
    assert (history.step, history.episodes_until(3 * 512), history.episodes_until(None)) == (5120, 6, None)
    assert [history.seconds_until(512 * u) for u in (1, 4, 5, 10, 99)] == [1.5, 1.5, 3.5, 7.5, 7.5]
    assert MemberLog(config_of(BY_ROWS)).seconds_until(512) is None
    assert MemberLog(config_of(BY_ROWS)).step == 0


@pytest.mark.parametrize("judges", [True, False])
def test_a_folder_is_read_whole(tmp_path, judges):
    for name, told in ((runlog.METRICS, [row(1, 9.0), row(2, 9.0)]), (runlog.TIMING, [chunk(2, 3.0)])):
        (tmp_path / name).write_text("".join(runlog.encode_row(each) + "\n" for each in told))
    history = load_history(tmp_path, config_of(BY_ROWS), judges)
    assert (history.step, history.seconds_until(1024)) == (1024, 3.0)
    assert history.verdict().passed == judges
