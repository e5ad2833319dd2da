"""Logs of members that grow, are cut, or change: read once, and as the slow way reads them."""

from __future__ import annotations

import dataclasses
import os

import pytest
from test_groups import POPULATION, make_population

from courtside.dash import member_logs
from courtside.dash.member_logs import MemberLogs, names_needed
from courtside.experiments.population.histories import load_history
from courtside.experiments.population.results import read_results
from courtside.runs import lines, runlog
from courtside.settings.config import Threshold, override

RETURN = "charts/episodic_return"


@pytest.fixture
def run(tmp_path):
    make_population(tmp_path)
    return tmp_path / POPULATION


@pytest.fixture
def member(run):
    return run / "members" / "01"


def grow(member, score, **more):
    last = runlog.read_rows(member)[-1]
    new = last | {"step": last["step"] + 512, "update": last["update"] + 1, RETURN: score, "charts/episodes": 7}
    append(member, new | more)


def append(member, row, name=runlog.METRICS):
    with open(member / name, "a") as file:
        file.write(runlog.encode_row(row) + "\n")


def look(logs, member):
    return logs.load(member, runlog.read_config(member), True)


def assert_same(history, member):
    slow = load_history(member, runlog.read_config(member))
    for found, wanted in zip(history.scores(), slow.scores(), strict=True):
        assert found.tolist() == pytest.approx(wanted.tolist(), nan_ok=True)
    assert history.verdict() == slow.verdict()
    assert (history.evals, history.watch.stop) == (slow.evals, slow.watch.stop)


def test_results_are_those_of_the_command_line(run):
    logs = MemberLogs()
    assert read_results(run, logs.load) == read_results(run)
    grow(run / "members" / "00", 3.0)
    assert read_results(run, logs.load) == read_results(run)


def test_what_a_log_has_grown_by_is_all_that_is_read(member, monkeypatch):
    logs = MemberLogs()
    before = look(logs, member)
    parsed = []
    monkeypatch.setattr(lines.Follower, "next_rows", _counting(lines.Follower.next_rows, parsed))
    for score in (1.0, 2.0):
        grow(member, score)
        assert look(logs, member) is before
    assert [row[RETURN] for row in parsed] == [1.0, 2.0]
    assert_same(before, member)


def _counting(plain, seen):
    def next_rows(self, file, *more):
        rows = plain(self, file, *more)
        seen.extend(rows or [])
        return rows

    return next_rows


def test_evaluations_and_timing_grow_and_are_cut_too(member):
    goals = (Threshold("eval/episodic_return", ">=", 3.0), Threshold(RETURN, ">=", 0.0, window_steps=512))
    config = dataclasses.replace(runlog.read_config(member), thresholds=goals)
    runlog.write_config(member, config)
    logs = MemberLogs()
    for score in (1.0, 4.0, 2.0):
        grow(member, 1.0)
        now = {name: runlog.read_rows(member)[-1][name] for name in ("step", "update")}
        append(member, now | {"eval/episodic_return": score}, runlog.EVALS)
        append(member, now | {"seconds": 1.5}, runlog.TIMING)
        assert_same(look(logs, member), member)
    assert look(logs, member).evals[-3:] == [1.0, 4.0, 2.0]
    for name in (runlog.EVALS, runlog.TIMING):
        runlog.truncate_rows(member / name, now["update"] - 1)
        assert_same(look(logs, member), member)
    assert look(logs, member).evals[-1] == 4.0
    (member / runlog.EVALS).unlink()
    assert look(logs, member).evals == []


@pytest.mark.parametrize(
    ("metric", "weight", "quits"),
    [
        ("charts/score", "charts/episodes", True),
        ("charts/game_score", "charts/games", False),
        (RETURN, "charts/episodes", True),
    ],
)
def test_scores_of_agents_and_of_games_are_read_as_the_command_line_does(member, metric, weight, quits):
    changes = {"quit_threshold": 0.9, "quit_window": 3, "total_timesteps": 512 * 1000} if quits else {}
    goals = (Threshold(metric, ">=", 0.7, window_steps=2_000),)
    runlog.write_config(member, dataclasses.replace(override(runlog.read_config(member), **changes), thresholds=goals))
    logs = MemberLogs()
    look(logs, member)
    for score in (0.1, 0.8, *[1.0] * 12):
        grow(member, score, **{metric: score, weight: 3})
    history = look(logs, member)
    assert_same(history, member)
    assert (history.watch.stop is not None) == quits
    assert history.scores().weights[-1] == 3


def test_half_a_line_waits_for_its_end(member):
    logs, line = MemberLogs(), b'{"step": 99999, "update": 999, "charts/episodic_return": 1.0, "charts/episodes": 1}'
    step = look(logs, member).step
    with open(member / runlog.METRICS, "ab", buffering=0) as file:
        file.write(line[:30])
        assert look(logs, member).step == step
        file.write(line[30:] + b"\n")
    assert look(logs, member).step == 99_999
    assert logs.skipped(member) == 0


def test_a_log_that_was_cut_or_replaced_is_read_again(member):
    logs = MemberLogs()
    look(logs, member)
    runlog.truncate_rows(member / runlog.METRICS, 40)
    assert look(logs, member).step == 40 * 512
    for score in range(60):
        grow(member, float(score))
    assert_same(look(logs, member), member)
    other = member / "other"
    other.write_bytes((member / runlog.METRICS).read_bytes().replace(b"0.5", b"0.7"))
    os.replace(other, member / runlog.METRICS)
    assert_same(look(logs, member), member)
    (member / runlog.METRICS).unlink()
    assert look(logs, member).step == 0


def test_settings_that_change_and_a_judgement_that_was_not_wanted_begin_anew(member):
    logs, config = MemberLogs(), runlog.read_config(member)
    plain = logs.load(member, config, False)
    judged = logs.load(member, config, True)
    assert judged is not plain
    assert logs.load(member, config, False) is judged, "what was judged serves those who do not ask for it"
    turned = override(config, turns=("500:learning_rate=1e-4",))
    assert logs.load(member, turned, True).config == turned


def test_lines_that_are_no_records_are_counted_once(member):
    logs = MemberLogs()
    with open(member / runlog.METRICS, "ab") as file:
        file.write(b"{half a li\n\n[]\n")
    for _ in range(2):
        look(logs, member)
        assert logs.skipped(member) == 2


def test_few_members_are_kept(run, monkeypatch):
    monkeypatch.setattr(member_logs, "MOST_KEPT", 1)
    logs, (first, second) = MemberLogs(), sorted((run / "members").iterdir())[:2]
    was = look(logs, first)
    look(logs, second)
    assert look(logs, first) is not was
    assert logs.skipped(second) == 0


def test_only_what_is_needed_is_kept_of_a_row(member):
    assert "losses/policy_loss" not in names_needed(runlog.read_config(member))
    assert {RETURN, "charts/episodes"} <= names_needed(runlog.read_config(member))
