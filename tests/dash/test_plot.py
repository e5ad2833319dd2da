"""Learning curves as pictures."""

import sys

import numpy as np
import pytest
from made_runs import make_config, make_run, write_rows
from test_groups import POPULATION, SEARCH, make_population, make_search

from courtside import cli
from courtside.dash.lines import LineFiles
from courtside.dash.pictures import find_metrics, make_figure, short_count
from courtside.experiments.tune.plots import import_matplotlib
from courtside.runs import runlog

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install matplotlib")
RUN = "made-20260102-030405-abcdef"
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    make_population(folder)
    runlog.write_config(make_search(folder), make_config())
    make_run(folder)
    return folder


@pytest.mark.parametrize("ending", STARTS)
def test_the_ending_decides(runs, tmp_path, ending):
    path = tmp_path / f"plot.{ending}"
    assert cli.main(["plot", str(runs / RUN), "-o", str(path)]) == 0
    assert path.read_bytes().startswith(STARTS[ending])


def test_a_population_beside_a_run_along_time(runs, tmp_path):
    path = tmp_path / "plot.png"
    line = ["plot", str(runs / POPULATION), str(runs / RUN), "--metric", "episodic_return", "losses/entropy"]
    assert cli.main([*line, "--along", "time", "-o", str(path)]) == 0
    assert path.stat().st_size > 10_000


def test_each_panel_has_its_curves_and_thresholds(runs):
    curve = {"x": [1.0, 2.0], "mean": [0.0, None], "low": [0.0, None], "high": [1.0, None]}
    metrics = ["charts/episodic_return", "losses/entropy"]
    curves = {name: dict.fromkeys(metrics, curve) for name in ("_one", "t$w$o")}
    figure = make_figure(import_matplotlib(), metrics, curves, [runs / RUN, runs / POPULATION], "step")
    judged, other = figure.axes[:2]
    assert [len(judged.lines), len(other.lines)] == [3, 2]
    np.testing.assert_array_equal(judged.lines[-1].get_ydata(), [0.5, 0.5])
    assert [text.get_text() for text in judged.texts] == ["asked: ≥ 0.5"]
    words = [text.get_text().strip() for text in figure.legends[0].get_texts()]
    assert words == ["_one", "t$w$o (median and middle 80% of 3 members)"]


def test_a_name_that_looks_like_mathematics(tmp_path):
    run = make_run(tmp_path, "a$^{b")
    write_rows(run / runlog.METRICS, [row | {"env/$\\frac{": 1.0} for row in runlog.read_rows(run)])
    assert cli.main(["plot", str(run), "--metric", "env/$\\frac{", "-o", str(tmp_path / "plot.svg")]) == 0


def test_metrics_are_found_by_their_last_part(runs):
    assert find_metrics(LineFiles(), {"run": runs / RUN}, ["entropy"]) == ["losses/entropy"]
    assert find_metrics(LineFiles(), {"run": runs / RUN}, []) == ["charts/episodic_return"]
    assert [short_count(x) for x in (0, 512, 50_000, 1.5e6)] == ["0", "512", "50k", "1.5M"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ([RUN, "--metric", "entrpy"], "losses/entropy"),
        ([RUN, "-o", "plot.jpg"], ".png, .svg, .pdf"),
        ([RUN, "-o", "no/plot.png"], "There is no folder no"),
        ([SEARCH], "search"),
        (["nowhere"], "nowhere"),
        ([RUN, "--along", "days"], "days"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(runs, tmp_path, monkeypatch, capsys, line, told):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["plot", *(str(runs / each) if each in (RUN, SEARCH) else each for each in line)]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_matplotlib_may_be_missing(runs, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert cli.main(["plot", str(runs / RUN), "-o", str(tmp_path / "plot.png")]) == 2
    assert "courtside[tune]" in capsys.readouterr().err
