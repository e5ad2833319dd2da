"""When thresholds held, by every row: of logs that grow, are cut, are damaged, and are too long for one look."""

import json

import pytest
from made_runs import make_run, write_rows

from courtside.dash import judging
from courtside.dash.judging import Judges, judge
from courtside.health.verdict import VerdictTracker
from courtside.runs import lines, runlog
from courtside.settings.config import Threshold
from waiting import wait_until

RETURN = Threshold("charts/episodic_return", ">=", 0.5, window_steps=2_000)
ENTROPY = Threshold("losses/entropy", "<", 0.6, window_steps=5_000)
EVAL = Threshold("eval/episodic_return", ">=", 0.2)
ALL = (ENTROPY, EVAL, RETURN)


def append(run, rows, name=runlog.METRICS):
    with open(run / name, "ab") as file:
        file.write(b"".join(row if isinstance(row, bytes) else json.dumps(row).encode() + b"\n" for row in rows))


def truth(run, thresholds=ALL):
    """As the run itself judges."""
    tracker = VerdictTracker(thresholds)
    tracker.add(runlog.read_history(run))
    return [(result.passed, result.since_step, result.value) for result in tracker.verdict().results]


def told(judged):
    return [(each.result.passed, each.result.since_step, each.result.value) for each in judged]


def test_it_is_what_the_run_itself_says_in_the_order_of_the_thresholds(tmp_path):
    run = make_run(tmp_path)
    found = judge(run, ALL)
    assert told(found) == truth(run)
    assert [each.result.metric for each in found] == [
        "losses/entropy",
        "eval/episodic_return",
        "charts/episodic_return",
    ]
    assert found[2].held == [[found[2].result.since_step, 51_200]]


def test_rows_that_come_are_all_that_is_read(tmp_path, monkeypatch):
    run, judges = make_run(tmp_path, updates=60), Judges()
    first = judges.look(run, ALL)
    assert first is not None
    assert told(first) == truth(run)
    taken = []
    take = judging._Reading._take
    monkeypatch.setattr(judging._Reading, "_take", lambda self, row: taken.append(row["update"]) or take(self, row))
    append(
        run,
        [
            {"step": 512 * u, "update": u, "charts/episodic_return": 0.1, "charts/episodes": 1, "losses/entropy": 0.1}
            for u in range(61, 91)
        ],
    )
    append(run, [b'{"step": 99, "upd'])
    later = judges.look(run, ALL)
    assert taken == list(range(61, 91))
    write_rows(run / runlog.METRICS, [row for row in runlog.read_rows(run) if row["update"] <= 90])
    assert later is not None
    assert told(later) == truth(run)
    (held,) = later[2].held
    assert held[1] < 35_000, "it was lost when the return fell"


def test_a_log_that_was_cut_is_read_again(tmp_path):
    run, judges = make_run(tmp_path), Judges()
    judges.look(run, ALL)
    rows = runlog.read_rows(run)
    write_rows(run / runlog.METRICS, rows[:40])
    append(run, [row | {"charts/episodic_return": 0.0} for row in rows[40:]])
    found = judges.look(run, ALL)
    assert found is not None
    assert told(found) == truth(run)
    assert not found[2].result.passed


@pytest.mark.parametrize(
    "odd",
    [
        b"{half\n", b"[]\n", b'{"step": "x", "update": 3}\n', b"\xff\xfe\n", b"[" * 3_000 + b"\n",
        b'{"step": 51201, "update": 101, "charts/episodic_return": [1], "charts/episodes": "Infinity"}\n',
        b"x" * (2 * lines.BLOCK_BYTES) + b"\n",
    ],
)  # fmt: skip
def test_what_is_no_row_changes_nothing(tmp_path, odd):
    run = make_run(tmp_path)
    expected = truth(run)
    append(run, [odd])
    assert [each[:2] for each in told(judge(run, ALL))] == [each[:2] for each in expected]


def test_a_long_log_is_gone_through_meanwhile(tmp_path, monkeypatch):
    monkeypatch.setattr(judging, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(judging, "PART_SECONDS", 0.005)
    run, judges = make_run(tmp_path), Judges()
    assert judges.look(run, ALL) is None
    monkeypatch.setattr(judging, "LOOK_SECONDS", 0.05)
    assert told(wait_until(lambda: judges.look(run, ALL))) == truth(run)


def test_a_run_without_a_log(tmp_path):
    (result,) = Judges().look(tmp_path, (RETURN,)) or []
    assert not result.result.passed
    assert result.held == []
