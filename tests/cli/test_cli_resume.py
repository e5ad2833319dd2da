import io
import shutil

import pytest
from rich.console import Console

from courtside.cli import main
from courtside.cli.resume import recall
from courtside.cli.view import PlainView


def test_finished_run_is_refused_with_the_way_on(small_run, capsys):
    assert main(["resume", str(small_run.path)]) == 2
    streams = capsys.readouterr()
    assert streams.err.count("\n") == 1
    assert "--total-timesteps" in streams.err


def test_health_watch_is_shown_what_was_logged_before(small_run, tmp_path):
    view = PlainView(Console(file=io.StringIO()))
    recall(small_run.path, view)
    assert [row["update"] for row in view.board.health.metrics.rows] == list(range(1, 11))
    damaged = shutil.copytree(small_run.path, tmp_path / "damaged")
    (damaged / "metrics.jsonl").write_text("{\n")
    recall(damaged, PlainView(Console(file=io.StringIO())))


def test_missing_run_is_one_sentence(tmp_path, capsys):
    assert main(["resume", str(tmp_path / "nothing")]) == 2
    streams = capsys.readouterr()
    assert streams.err.startswith("courtside: ")
    assert streams.err.count("\n") == 1


@pytest.mark.parametrize("flag", ["--layer-sizes", "--lr", "--no-norm-obs", "--seed=3"])
def test_settings_come_from_the_run(flag, small_run, capsys):
    assert main(["resume", str(small_run.path), flag]) == 2
    assert f"{flag.partition('=')[0]} is a setting, and a run goes on with those" in capsys.readouterr().err


def test_a_run_cannot_end_before_where_it_is(small_run, capsys):
    assert main(["resume", str(small_run.path), "--total-timesteps", "1000"]) == 2
    assert "--total-timesteps is 1,000, but the run is already at step 1,280;" in capsys.readouterr().err


def test_help_tells_what_continues(capsys):
    assert main(["resume", "--help"]) == 0
    page = capsys.readouterr().out
    assert "bit for bit" in page
    assert "--total-timesteps N" in page


@pytest.mark.parametrize("flag", ["--member", "--total-timesteps"])
def test_flags_of_a_run_are_refused_for_a_search(flag, tmp_path, capsys):
    for name in ("config.json", "search.json"):
        (tmp_path / name).write_text("{}")
    assert main(["resume", str(tmp_path), flag, "3"]) == 2
    assert f"leave {flag} out" in capsys.readouterr().err
