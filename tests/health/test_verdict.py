"""The verdict against hand numbers and a slow reference that recomputes everything from all rows."""

from __future__ import annotations

import json
import math
import operator
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bytecodes import num_bytecodes
from courtside.health import verdict as verdicts
from courtside.health.verdict import VerdictTracker
from courtside.settings.config import Threshold

SCORE = "charts/game_score"
RETURN = "charts/episodic_return"
OPS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt}


def bound(metric, op, value, window, source=""):
    return Threshold(metric, op, float(value), window, source)


def judge(rows, *thresholds):
    tracker = VerdictTracker(thresholds)
    tracker.add(rows)
    return tracker.verdict()


def rows_of(values, batch=10, metric="m", episodes=None):
    rows = [{"step": batch * (i + 1), "update": i + 1, metric: v} for i, v in enumerate(values)]
    if episodes is not None:
        rows = [{**row, "charts/episodes": e} for row, e in zip(rows, episodes, strict=True)]
    return rows


def test_hand_numbers():
    # windows of 20 steps = 2 updates: means -, 1, 3, 5, 2, 4.5
    verdict = judge(rows_of([0, 2, 4, 6, -2, 11]), bound("m", ">=", 3.0, 20))
    result = verdict.results[0]
    assert verdict.passed
    assert result.value == 4.5
    assert result.worst == -2  # stretches of 2 steps are single updates
    assert (result.since_step, result.since_update) == (60, 6)  # broken at step 50
    assert (verdict.steps_to_pass, verdict.updates_to_pass) == (30, 3)
    assert (verdict.total_steps, verdict.total_updates) == (60, 6)


def test_episodes_are_weighted_by_how_many_ended():
    rows = rows_of([100.0, None, 400.0, 7.0], metric=RETURN, episodes=[3, 0, 1, 0])
    assert judge(rows, bound(RETURN, ">", 0, 40)).results[0].value == (3 * 100 + 400) / 4


def test_other_metrics_ignore_the_number_of_episodes():
    rows = rows_of([1.0, 3.0], metric="losses/entropy", episodes=[9, 0])
    assert judge(rows, bound("losses/entropy", ">", 0, 20)).results[0].value == 2


def test_window_is_rounded_up_to_whole_updates():
    # 15 steps need two updates of 10
    assert judge(rows_of([8, 2, 4]), bound("m", ">", 0, 15)).results[0].value == 3
    assert judge(rows_of([8, 2, 4]), bound("m", ">", 0, 10)).results[0].value == 4


def test_since_and_first_pass_wait_for_a_whole_window():
    verdict = judge(rows_of([9, 9, 9, 9]), bound("m", ">=", 9, 30))
    assert verdict.results[0].since_step == 30
    assert verdict.steps_to_pass == 30


def test_all_thresholds_must_hold_together_for_the_pass():
    rows = [{"step": 10 * i, "update": i, "a": a, "b": b} for i, (a, b) in enumerate([(9, 0), (0, 9), (9, 9)], 1)]
    verdict = judge(rows, bound("a", ">", 5, 10), bound("b", ">", 5, 10))
    assert (verdict.passed, verdict.steps_to_pass) == (True, 30)


def test_a_pass_that_was_lost_is_a_fail_that_says_so():
    verdict = judge(rows_of([9, 9, 0]), bound("m", ">", 5, 10))
    assert (verdict.passed, verdict.steps_to_pass) == (False, 10)
    assert "lost it" in verdicts.sentence(verdict)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (rows_of([900.0]), "the run made 10 steps, fewer than the 30"),
        ([], "the run made 0 steps"),
        (rows_of([1, 1, 1], metric="other"), "no value in the last 30 steps"),
        (rows_of([900, math.nan, 900]), "not a finite number"),
        (rows_of([900, math.inf, 900]), "not a finite number"),
        (rows_of([5, 5, 5]), "mean over the last 30 steps was 5"),
    ],
)
def test_each_way_to_fail_says_why(rows, words):
    verdict = judge(rows, bound("m", ">=", 475, 30))
    assert not verdict.passed
    assert words in verdict.results[0].reason
    assert words in verdicts.sentence(verdict)


def test_a_spike_leaves_no_trace_once_it_has_left_the_window():
    # with running float sums, 1e30 would swallow every later value
    result = judge(rows_of([1e30, 0.1, 0.1, 0.1]), bound("m", "<", 1, 20)).results[0]
    assert result.value == 0.1


def test_nan_is_forgotten_once_it_has_left_the_window():
    assert judge(rows_of([math.nan, 7, 7]), bound("m", ">", 5, 20)).passed


def test_no_thresholds_is_no_pass():
    verdict = judge(rows_of([1]))
    assert not verdict.passed
    assert verdict.steps_to_pass is None
    assert verdicts.sentence(verdict).startswith("NO VERDICT")


def test_sentence_of_a_pass():
    rows = [
        {"step": 512 * i, "update": i, RETURN: 500.0 if i > 300 else 20.0, "charts/episodes": 2} for i in range(1, 977)
    ]
    text = verdicts.sentence(judge(rows, bound(RETURN, ">=", 475, 100_000)))
    first, last = text.splitlines()
    # 196 updates make a window; 186 of them at 500 lift the mean to 475.5
    assert first == (
        "PASS: charts/episodic_return held at or above 475 over the last 100,000 steps (mean 500, worst stretch 500), "
        "since step 248,832 (update 486)."
    )
    assert last == "Passed after 248,832 steps (486 updates) of 499,712 steps (976 updates)."


def test_a_pass_that_was_lost_and_held_again_says_both():
    verdict = judge(rows_of([9, 9, 1, 1, 9, 9, 9]), bound("m", ">", 5, 20))
    *_, last = verdicts.sentence(verdict).splitlines()
    assert verdict.passed
    assert verdict.steps_to_pass == 20
    assert last == (
        "Passed first after 20 steps (2 updates) of 70 steps (7 updates); lost it later, and holds it again since step 60."
    )


def test_json_is_plain_data():
    verdict = judge(rows_of([9, 9]), bound("m", ">", 5, 10, "by hand"))
    record = json.loads(json.dumps(verdicts.to_json(verdict)))
    assert record["passed"] is True
    assert record["results"][0]["source"] == "by hand"
    assert record["results"][0]["since_update"] == 1


def test_only_the_window_that_counts_is_told():
    bounds = [bound("m", ">", 5, 10), Threshold("m", ">", 5, window_episodes=2), Threshold("eval/m", ">", 5)]
    tracker = VerdictTracker(bounds)
    tracker.add(rows_of([9, 9]))
    found = [(r["window_steps"], r["window_episodes"]) for r in verdicts.to_json(tracker.verdict())["results"]]
    assert found == [(10, None), (None, 2), (None, None)]


def test_work_per_row_does_not_grow_with_the_window():
    rows = rows_of([float(i % 97) for i in range(300)], batch=1)
    small, large = (num_bytecodes(lambda n=n: judge(rows, bound("m", ">", 5, n))) for n in (10, 200))
    assert large < 1.5 * small


values = st.one_of(st.none(), st.floats(width=32, allow_nan=True, allow_infinity=True), st.integers(-3, 3))
streams = st.lists(st.tuples(st.integers(1, 7), values, st.integers(0, 3)), max_size=25)


@given(streams, st.integers(1, 40), st.sampled_from(sorted(OPS)), st.integers(-2, 2), st.sampled_from(["m", RETURN]))
def test_agrees_with_the_slow_reference(stream, window, op, target, metric):
    rows, step = [], 0
    for update, (batch, value, episodes) in enumerate(stream, 1):
        step += batch
        rows.append({"step": step, "update": update, metric: value, "charts/episodes": episodes})
    threshold = bound(metric, op, target, window)
    verdict = judge(rows, threshold)
    value, worst, since, first = slow_verdict(rows, threshold)
    result = verdict.results[0]
    assert same(result.value, value)
    assert same(result.worst, worst)
    assert (result.since_step, result.since_update) == since
    assert (verdict.steps_to_pass, verdict.updates_to_pass) == first
    assert verdict.passed == result.passed == (since != (None, None))


@given(streams, st.integers(0, 25))
def test_rows_may_come_in_any_pieces(stream, cut):
    rows = [{"step": 5 * i, "update": i, "m": v} for i, (_, v, _) in enumerate(stream, 1)]
    tracker = VerdictTracker([bound("m", ">", 0, 15)])
    tracker.add(rows[:cut])
    tracker.add(rows[cut:])
    assert str(tracker.verdict()) == str(judge(rows, bound("m", ">", 0, 15)))


def same(a, b):
    return a is b or a == b or (a is not None and b is not None and math.isnan(a) and math.isnan(b))


def slow_mean(rows, metric, end, span):
    pairs = []
    for row in rows:
        weight = row["charts/episodes"] if metric == RETURN else 1
        if end - span < row["step"] <= end and row[metric] is not None and weight:
            pairs.append((row[metric], weight))
    if not pairs:
        return None
    if not all(math.isfinite(v) for v, _ in pairs):
        return math.nan
    return float(sum(Fraction(v) * w for v, w in pairs) / sum(w for _, w in pairs))


def slow_verdict(rows, threshold):
    metric, window, stretch = threshold.metric, threshold.window_steps, max(1, threshold.window_steps // 10)
    holds = []
    for row in rows:
        mean = slow_mean(rows, metric, row["step"], window)
        full = row["step"] >= window
        holds.append(full and mean is not None and OPS[threshold.op](mean, threshold.value))
    ends = [(row["step"], row["update"]) for row in rows]
    first = next((end for end, held in zip(ends, holds, strict=True) if held), (None, None))
    since = (None, None)
    for end, held in zip(reversed(ends), reversed(holds), strict=True):
        if not held:
            break
        since = end
    end = ends[-1][0] if ends else 0
    inside = [s for s, _ in ends if s >= stretch and s - stretch >= end - window]
    means = [m for m in (slow_mean(rows, metric, s, stretch) for s in inside) if m is not None]
    worst = None
    if means:
        worst = math.nan if any(map(math.isnan, means)) else (min if ">" in threshold.op else max)(means)
    return slow_mean(rows, metric, end, window), worst, since, first


# --- windows of episodes, and evaluations --------------------------------------------------------------------------


def test_the_last_episodes_are_the_newest_rows_that_hold_as_many():
    # the newest rows with at least 5 episodes: 3 + 1 + 0 + 2
    rows = rows_of([99.0, 2.0, 6.0, None, 1.0], metric="charts/score", episodes=[9, 3, 1, 0, 2])
    result = judge(rows, Threshold("charts/score", ">=", 2.0, window_episodes=5)).results[0]
    assert result.value == (3 * 2 + 6 + 2 * 1) / 6
    assert (result.passed, result.since_step, result.window_episodes) == (True, 10, 5)


def test_too_few_episodes_are_no_pass_however_many_steps():
    verdict = judge(rows_of([9.0, 9.0], metric=RETURN, episodes=[3, 1]), Threshold(RETURN, ">", 5, 1, "", 5))
    assert not verdict.passed
    assert "4 episodes have ended, fewer than the 5" in verdicts.sentence(verdict)


def test_whole_games_are_counted_and_weighed_as_games():
    games = [{"charts/episodes": 9, "charts/games": n, SCORE: score} for n, score in ((1, 10.0), (0, None), (3, 50.0))]
    rows = [{"step": 10 * i, "update": i, **row} for i, row in enumerate(games, 1)]
    result = judge(rows, Threshold(SCORE, ">=", 40.0, window_episodes=4)).results[0]
    assert (result.value, result.passed, result.since_step) == ((10 + 3 * 50) / 4, True, 30)
    short = judge(rows[:2], Threshold(SCORE, ">=", 5.0, window_episodes=4))
    assert "1 games have ended, fewer than the 4" in verdicts.sentence(short)
    assert verdicts.window_words(result) == "the last 4 games"


@given(streams, st.integers(1, 9), st.sampled_from(sorted(OPS)), st.integers(-2, 2), st.sampled_from(["m", RETURN]))
def test_windows_of_episodes_agree_with_the_slow_reference(stream, window, op, target, metric):
    rows = [
        {"step": 7 * i, "update": i, metric: value, "charts/episodes": n} for i, (_, value, n) in enumerate(stream, 1)
    ]
    verdict = judge(rows, Threshold(metric, op, float(target), window_episodes=window))
    held, value = [], None
    for i in range(len(rows)):
        newest = i
        while newest > 0 and sum(row["charts/episodes"] for row in rows[newest : i + 1]) < window:
            newest -= 1
        kept = rows[newest : i + 1]
        value = slow_mean([{**row, "step": 0} for row in kept], metric, 0, 1)
        is_full = sum(row["charts/episodes"] for row in kept) >= window
        held.append(is_full and value is not None and OPS[op](value, target))
    assert same(verdict.results[0].value, value)
    assert verdict.passed == bool(held and held[-1])
    assert verdict.updates_to_pass == (held.index(True) + 1 if True in held else None)


def test_an_evaluation_is_judged_alone_and_stands_until_the_next():
    told = [{"step": 10 * u, "update": u, "eval/score": score} for u, score in ((2, 3.0), (4, 1.0), (6, 5.0))]
    rows = sorted([*rows_of([9.0] * 7), *told], key=lambda row: row["update"])
    wanted = (Threshold("eval/score", ">=", 2.0), bound("m", ">", 5, 30))
    verdict = judge(rows, *wanted)
    assert verdict.results[0].value == 5.0
    assert verdict.results[0].worst is None
    assert (verdict.results[0].since_update, verdict.passed) == (6, True)
    assert verdict.updates_to_pass == 3, "held since update 2, but the window of the other was full only then"
    assert not judge(rows[:-3], *wanted).passed
    assert "PASS: eval/score held at or above 2 in the last evaluation (5), since step 60" in verdicts.sentence(verdict)
    assert "it was 1 in the last evaluation" in judge(rows[:-3], *wanted).results[0].reason
    assert "no evaluation" in judge(rows_of([9.0] * 7), *wanted).results[0].reason


def test_windows_that_can_be_foreseen():
    unforeseen = (Threshold(RETURN, ">", 1, window_episodes=100), Threshold("eval/score", ">", 1))
    assert verdicts.longest_window(unforeseen) == 0
    assert verdicts.longest_window((*unforeseen, bound("m", ">", 1, 500), bound("m", ">", 1, 20))) == 500


@pytest.mark.parametrize("metric", ["charts/episodic_return", "agents/red_0/episodic_return", "env/door_open_done"])
def test_what_is_told_of_episodes_weighs_by_episodes(metric):
    """Three episodes of 1 and one of 0 make 0.75, and an update without an end says nothing."""
    tracker = VerdictTracker([Threshold(metric, ">=", 0.75, 30)])
    rows = [(3, 1.0), (1, 0.0), (0, math.nan)]
    tracker.add(
        {"step": 10 * (i + 1), "update": i + 1, "charts/episodes": n, metric: v} for i, (n, v) in enumerate(rows)
    )
    assert tracker.verdict().results[0].value == 0.75
    assert tracker.verdict().passed
