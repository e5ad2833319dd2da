"""What a search reports, on one that is made up from a known truth, so that every figure has a known answer."""

import csv
import json
import math
from dataclasses import replace

import pytest
from made_search import BASE, SPACE, made_up, make_curves, make_final, make_search, make_trials

from courtside.errors import ConfigError
from courtside.experiments.tune import axes, importance, plots, report
from courtside.experiments.tune.curves import make_curve, read_curves, write_curves
from courtside.experiments.tune.space import to_json as space_to_json
from courtside.settings.config import from_json
from courtside.settings.presets.files import read_preset


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A report with all its files."""
    folder = tmp_path_factory.mktemp("search")
    found = made_up(folder)
    write_curves(folder, make_curves(found.search))
    return report.write_files(found)


def test_the_best_setting_is_a_preset_with_every_setting(made):
    best, row = read_preset(made.run_dir / "best.json"), made.winner
    assert best.name == "redblue-tuned"
    assert "among 256 settings; 16 of 16 fresh seeds pass" in best.about
    expected = from_json(row.config)
    assert (best.config.ppo, best.config.env, best.config.thresholds) == (expected.ppo, expected.env, BASE.thresholds)
    assert best.config.ppo != BASE.ppo


def test_each_setting_is_ranked_once_by_the_furthest_stage(made):
    ranking = made.ranking
    assert len(ranking) == 256
    assert ranking[0].number == made.search.winner
    assert [trial.stage for trial in ranking] == sorted((trial.stage for trial in ranking), reverse=True)
    second = [trial.score for trial in ranking if trial.stage == 2]
    assert second == sorted(second, reverse=True)
    lost = replace(made.trials[0], score=-math.inf)
    assert report.rank([lost, *made.trials[1:9]])[-1] is lost


def test_the_learning_rate_is_found_to_matter_most(made):
    shares = made.importance.shares
    assert next(iter(shares)) == "learning_rate"
    assert shares["learning_rate"] > 0.5
    assert sum(shares.values()) == pytest.approx(1)


def test_too_few_or_equal_trials_say_nothing_of_importance():
    space, trials = space_to_json(SPACE), make_trials(24)
    assert "stage 1 has 24, and it takes 25" in importance.find_importance(space, trials).sentence()
    flat = [replace(trial, score=1.0) for trial in make_trials(40)]
    assert "scored the same" in importance.find_importance(space, flat).sentence()


def test_every_trial_is_in_the_table_for_spreadsheets(made):
    rows = list(csv.DictReader((made.run_dir / "trials.csv").read_text().splitlines()))
    assert [int(row["number"]) for row in rows] == [trial.number for trial in made.trials]
    assert float(rows[7]["learning_rate"]) == made.trials[7].settings["learning_rate"]
    assert rows[-1]["origin"] == str(made.trials[-1].origin)


def test_the_page_has_every_part(made):
    page = (made.run_dir / "report.md").read_text()
    assert "| winner | 16 of 16 (81-100%) | 1.00 | 775,000 | 2.4 |" in page
    assert "| preset | 15 of 16 (72-99%) |" in page
    assert "as the preset |" in page
    assert "| student | 2 of 16 (3-36%) | 0.12 | - |" in page
    for name in ("parallel", "slices", "curves"):
        assert f"plots/{name}.png" in page
        assert (made.run_dir / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    lines = report.terminal_lines(made)
    assert f"courtside train {made.run_dir / 'best.json'}" in lines[-2]
    assert max(map(len, lines[:-4])) <= 100


def test_a_winner_that_does_no_better_than_the_preset_is_told(made):
    search = replace(made.search, finals=(made.winner, make_final("preset", {}, 16)))
    better = replace(search.finals[1], score=9.0)
    told = report.conclusion(replace(made, search=replace(search, finals=(made.winner, better))))
    assert "preset did better than the winner" in told
    assert "did better" not in report.conclusion(replace(made, search=search))


def test_a_search_that_was_stopped_has_a_report_without_a_winner(tmp_path):
    trials = make_trials(1)
    search = make_search(make_trials(256), winner=None, finals=(), finished=False)
    report.write_files(report.from_trials(tmp_path, search, trials))
    assert "not reached" in (tmp_path / "report.md").read_text()
    assert not (tmp_path / "best.json").exists()


def test_without_matplotlib_there_is_a_report_that_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ConfigError, match=r"pip install \"courtside\[tune\]\""):
        plots.import_matplotlib()
    report.write_files(made_up(tmp_path, 64, winner=None, finals=()))
    assert "There are no plots" in (tmp_path / "report.md").read_text()


def test_only_what_differs_from_the_preset_is_named(made):
    settings = {"learning_rate": 5e-4, "ent_coef": 0.02, "gamma": 0.97, "hidden_sizes": "64x64", "num_steps": 128}
    assert report.differing(made.search, settings) == {"gamma": "0.97", "num_steps": "128"}


def test_a_curve_is_thinned_by_means_weighed_by_episodes(tmp_path):
    import numpy as np

    columns = {
        "charts/episodes": np.asarray([1, 3, 0, 0] * 100),
        "charts/episodic_return": np.asarray([1.0, 2.0, 9.0, 9.0] * 100),
        "losses/entropy": np.asarray([1.0, 2.0, 3.0, np.nan] * 100),
    }
    curve = make_curve("winner", BASE, [columns, columns])
    assert curve.steps.tolist() == [4 * BASE.batch_size * (i + 1) for i in range(100)]
    assert np.allclose(curve.metrics["charts/episodic_return"], 1.75)
    assert np.allclose(curve.metrics["losses/entropy"], 2.0)
    write_curves(tmp_path, [curve])
    (found,) = read_curves(tmp_path)
    assert (found.name, found.steps.tolist()) == ("winner", curve.steps.tolist())
    assert json.dumps(sorted(found.metrics)) == json.dumps(sorted(curve.metrics))


@pytest.mark.parametrize(
    ("one", "values", "labels"),
    [
        ({"name": "a", "low": 1e-4, "high": 5e-3, "log": True}, [1e-3, 2e-3], ["2e-4", "0.001", "0.005"]),
        ({"name": "g", "low": 0.9, "high": 0.99, "from_one": True}, [0.91, 0.95], ["0.9", "0.95", "0.98", "0.99"]),
        ({"name": "l", "low": 0.8, "high": 1.0}, [0.9, 1.0], ["0.8", "0.85", "1"]),
        ({"name": "e", "low": 1, "high": 3, "whole": True}, [1, 3], ["1", "2", "3"]),
        ({"name": "n", "values": ["128x128", "64x64", True]}, ["64x64", True], ["True", "128x128", "64x64"]),
    ],
)
def test_axes_have_round_labels_on_their_own_scale(one, values, labels):
    axis = axes.make_axis(one, values)
    found = [text for _, text in axis.ticks(6)]
    assert [label for label in labels if label in found] == labels
    assert all(axis.low - 1e-9 <= place <= axis.high + 1e-9 for place, _ in axis.ticks(6))
    assert axes.make_axis(one, values[:1]) is None
