"""The distribution over members, from folders written by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from courtside import files
from courtside.errors import CheckpointError
from courtside.experiments.population import histories, results
from courtside.experiments.population.histories import MemberLog
from courtside.runs import runlog
from courtside.runs.members import create_folders, member_dir
from courtside.settings.config import Config, Threshold, override

RETURN = "charts/episodic_return"
PASSING = Threshold(RETURN, ">=", 10.0, window_steps=1_000)


def make_population(tmp_path, curves, thresholds=(PASSING,), finished=True):
    """A folder per curve; an update is 512 steps, of 4 episodes each where there is a return, none where it is None."""
    plain = override(Config(), runs_dir=str(tmp_path), seeds=len(curves), seed=7, total_timesteps=512 * len(curves[0]))
    run_dir = create_folders(Config(run=plain.run, thresholds=thresholds))
    for i, curve in enumerate(curves):
        rows = [
            {"step": 512 * (u + 1), "update": u + 1, "charts/episodes": 0 if score is None else 4, RETURN: score}
            for u, score in enumerate(curve)
        ]
        write_rows(member_dir(run_dir, i), rows)
        if finished:
            write_verdict(member_dir(run_dir, i))
    return run_dir


def write_rows(folder, rows, name=runlog.METRICS):
    (folder / name).write_text("".join(runlog.encode_row(row) + "\n" for row in rows))


def write_verdict(folder):
    """As a run writes it at its end."""
    from courtside.health.verdict import VerdictTracker, to_json

    tracker = VerdictTracker(runlog.read_config(folder).thresholds)
    tracker.add(runlog.read_history(folder))
    files.write_json(folder / runlog.VERDICT, to_json(tracker.verdict()))


def test_who_passed_and_when(tmp_path):
    # windows of 1,000 steps hold two updates: above 10 together from update 3, from update 4, lost again, never
    curves = [[0, 10, 20, 20, 20], [0, 0, 10, 10, 10], [0, 20, 20, 0, 0], [1, 2, 3, 4, 5]]
    found = results.read_results(make_population(tmp_path, curves))
    assert [(m.name, m.seed, m.setting, m.passed, m.steps_to_pass) for m in found.members] == [
        ("00", 7, 0, True, 3 * 512),
        ("01", 8, 0, True, 4 * 512),
        ("02", 9, 0, False, 2 * 512),
        ("03", 10, 0, False, None),
    ]
    assert found.passes is not None
    assert (found.passes.passed, found.passes.of, found.passes.lost) == (2, 4, 1)
    assert found.passes.chance == ((1024, 0.25), (1536, 0.5), (2048, 0.75))
    at = dict(found.passes.chance_at)
    assert (at[1000], at[1200], at[1400], at[1600], at[2000], at[2200], at[2560]) == (
        0,
        0.25,
        0.25,
        0.5,
        0.5,
        0.75,
        0.75,
    )
    text = results.sentence(found)
    assert text.startswith(
        "2 of 4 seeds pass (95% interval 15% to 85%); half of all had passed by step 1,536, but never"
    )
    assert "1 had passed and lost it again." in text


def scores(rows):
    history = MemberLog(Config(), judges=False)
    history.add([row | {"update": update} for update, row in enumerate(rows, start=1)])
    return history.scores()


def test_final_score_weighs_the_episodes_of_the_last_steps():
    rows = [
        {"step": 100_000, "charts/episodes": 9, RETURN: 1000.0},  # just outside the last 100,000
        {"step": 150_000, "charts/episodes": 1, RETURN: 1.0},
        {"step": 200_000, "charts/episodes": 3, RETURN: 5.0},
    ]
    assert results.window_mean(scores(rows), 100_000) == (1 + 3 * 5) / 4
    assert results.window_mean(scores([{"step": 5, "charts/episodes": 0, RETURN: None}]), 100_000) is None
    assert results.window_mean(scores([]), 100_000) is None


def test_a_short_run_is_told_by_how_it_ended():
    rows = [{"step": 100 * u, "charts/episodes": 2, RETURN: float(u)} for u in range(1, 21)]
    assert results.final_score(scores(rows)) == 19.5  # the last tenth of 2,000 steps
    silent = [row | {"charts/episodes": 0, RETURN: None} for row in rows[-5:]]
    assert results.final_score(scores([*rows[:-5], *silent])) == 8.0  # none ended so late
    long = [row | {"step": 1000 * row["step"]} for row in rows]
    assert results.final_score(scores(long)) == 20.0  # never more than the last 100,000
    assert results.final_score(scores([])) is None


def test_spread_by_hand(tmp_path):
    found = results.read_results(make_population(tmp_path, [[score] for score in (4, 1, 100, 3, 2)]))
    spread = found.spread
    assert spread is not None
    assert (spread.count, spread.median, spread.iqm, spread.worst_tenth) == (5, 3, 3, 1)
    assert (spread.minimum, spread.maximum, spread.num_settings) == (1, 100, 1)
    assert 1 <= spread.iqm_low < 3 < spread.iqm_high <= 100
    assert "The middle half scores 3 (" in results.sentence(found)


def test_settings_are_redrawn_apart(tmp_path):
    """Two settings whose seeds all score the same: nothing is left to chance, so the interval is a point."""
    run_dir = make_population(tmp_path, [[0.0], [0.0], [1.0], [1.0]])
    for i in (2, 3):
        folder = member_dir(run_dir, i)
        runlog.write_config(folder, override(runlog.read_config(folder), gamma=0.9))
    found = results.read_results(run_dir)
    assert [member.setting for member in found.members] == [0, 0, 1, 1]
    assert found.spread is not None
    assert (found.spread.num_settings, found.spread.iqm_low, found.spread.iqm_high) == (2, 0.5, 0.5)
    assert "0 of 4 runs pass" in results.sentence(found)


def test_curves_on_common_steps(tmp_path):
    found = results.read_results(make_population(tmp_path, [[None, 0.0, None], [None, 10.0, 20.0]]))
    assert found.curves.steps == (512, 1024, 1536)
    low, median, high = found.curves.quantiles
    np.testing.assert_allclose(median, [math.nan, 5, 10])  # where no episode ended the last known value goes on
    np.testing.assert_allclose(low, [math.nan, 1, 2])
    np.testing.assert_allclose(high, [math.nan, 9, 18])


def test_a_curve_is_the_mean_of_each_stretch_and_ends_with_its_member():
    rows = [{"step": s, "charts/episodes": n, RETURN: v} for s, n, v in ((10, 1, 4.0), (20, 3, 8.0), (30, 2, 6.0))]
    curve = histories.curve_on(scores(rows), np.asarray([5, 20, 30, 40]))
    np.testing.assert_allclose(curve, [math.nan, 7, 6, math.nan])
    assert np.isnan(histories.curve_on(scores([]), np.asarray([1, 2]))).all()


def test_long_runs_are_told_in_a_hundred_points(tmp_path):
    found = results.read_results(make_population(tmp_path, [[1.0] * 333, [2.0] * 333]))
    assert len(found.curves.steps) == 100
    assert found.curves.steps[-1] == 333 * 512
    assert set(found.curves.quantiles[1]) == {1.5}


def test_a_population_that_still_runs(tmp_path):
    run_dir = make_population(tmp_path, [[20.0] * 4, [20.0] * 4, [0.0] * 4], finished=False)
    write_verdict(member_dir(run_dir, 0))
    (member_dir(run_dir, 2) / runlog.METRICS).unlink()
    found = results.read_results(run_dir)
    assert [(m.finished, m.passed, m.step) for m in found.members] == [(True, True, 2048), (False, True, 2048), (False, False, 0)]  # fmt: skip
    assert found.passes is not None
    assert (found.passes.passed, found.passes.of) == (1, 1)
    assert found.passes.chance == ((1024, 1.0),), "who never ran says nothing about the chance"
    assert results.sentence(found).startswith("1 of 3 seeds are finished, and 1 of these pass (95%")


def test_nothing_was_trained_yet(tmp_path):
    run_dir = make_population(tmp_path, [[0.0], [0.0]], finished=False)
    for i in range(2):
        (member_dir(run_dir, i) / runlog.METRICS).unlink()
    found = results.read_results(run_dir)
    assert found.spread is None
    assert found.curves.steps == ()
    assert "No episode has ended yet." in results.sentence(found)
    results.write_results(run_dir, found)


def test_without_thresholds_nobody_passes_or_fails(tmp_path):
    run_dir = make_population(tmp_path, [[1.0], [2.0]], thresholds=(), finished=False)
    folder = member_dir(run_dir, 1) / runlog.CHECKPOINTS
    folder.mkdir()
    (folder / "update-00000001.safetensors").touch()
    found = results.read_results(run_dir)
    assert found.passes is None
    assert [(member.finished, member.passed) for member in found.members] == [(False, None), (True, None)]
    assert results.sentence(found).startswith("1 of 2 seeds are finished; no thresholds")


def test_a_verdict_does_not_count_once_the_run_was_made_longer(tmp_path):
    run_dir = make_population(tmp_path, [[20.0] * 4])
    folder = member_dir(run_dir, 0)
    assert results.is_finished(folder, runlog.read_config(folder))
    assert not results.is_finished(folder, override(runlog.read_config(folder), total_timesteps=512 * 9))


def test_evaluations_are_read(tmp_path):
    run_dir = make_population(tmp_path, [[1.0] * 3])
    scores = [("a", 3.0), ("b", 9.0), ("c", 4.0)]
    rows = [{"step": i, "update": i, "eval/episodic_return": score} for i, (_, score) in enumerate(scores, 1)]
    write_rows(member_dir(run_dir, 0), rows, runlog.EVALS)
    (member,) = results.read_results(run_dir).members
    assert (member.last_eval, member.best_eval) == (4.0, 9.0)


def test_results_json_is_valid_and_complete(tmp_path):
    run_dir = make_population(tmp_path, [[None, 1.0], [None, 2.0]])
    path = results.write_results(run_dir, results.read_results(run_dir))
    record = json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert record["finished"] == 2
    assert [member["final_score"] for member in record["members"]] == [1, 2]
    assert record["curves"]["quantiles"][1] == [None, 1.5]
    assert record["spread"]["median"] == 1.5
    assert record["passes"]["of"] == 2


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (1_000_000, [*range(100_000, 1_000_001, 100_000)]),
        (300_000, [*range(25_000, 300_001, 25_000)]),
        (999_424, [*range(100_000, 1_000_000, 100_000), 999_424]),
        (7, [7]),
        (0, []),
    ],
)
def test_round_steps(last, expected):
    assert results.round_steps(last) == expected


def test_a_plain_run_is_no_population(tmp_path):
    with pytest.raises(CheckpointError, match="is no population; `courtside train --seeds N` makes one"):
        results.read_results(tmp_path)


def test_a_damaged_verdict_is_one_sentence(tmp_path):
    run_dir = make_population(tmp_path, [[1.0]])
    (member_dir(run_dir, 0) / runlog.VERDICT).write_text("{")
    with pytest.raises(CheckpointError, match=r"verdict\.json cannot be read"):
        results.read_results(run_dir)


def test_what_it_took_to_pass(tmp_path):
    run_dir = make_population(tmp_path, [[0, 20, 20, 20], [20, 20, 20, 20], [0, 0, 0, 0]])
    for i in range(3):
        timing = [{"step": 0, "update": 0, "compile_seconds": 9.0}]
        timing += [{"step": 512 * u, "update": u, "seconds": 10.0} for u in (2, 4)]
        write_rows(member_dir(run_dir, i), timing, runlog.TIMING)
    found = results.read_results(run_dir)
    assert [(m.steps_to_pass, m.episodes_to_pass, m.seconds_to_pass) for m in found.members] == [
        (1024, 8, 10.0), (1024, 8, 10.0), (None, None, None)
    ]  # fmt: skip
    assert "To pass took 1,024 steps, 8 episodes and 10 s in the median, at most 1,024 steps" in results.sentence(found)
    record = results.to_json(found)
    assert record["effort"] == {
        "count": 2, "steps": {"median": 1024.0, "worst": 1024.0}, "episodes": {"median": 8.0, "worst": 8.0},
        "seconds": {"median": 10.0, "worst": 10.0},
    }  # fmt: skip


def test_members_that_are_judged_by_their_score_are_told_by_it(tmp_path):
    run_dir = make_population(tmp_path, [[1.0]], thresholds=(Threshold("charts/score", ">=", 5.0, 500),))
    row = {"step": 512, "update": 1, "charts/episodes": 4, RETURN: 1.0, "charts/score": 6.0}
    write_rows(member_dir(run_dir, 0), [row])
    found = results.read_results(run_dir)
    assert (found.members[0].final_score, found.curves.quantiles[1]) == (6.0, (6.0,))
