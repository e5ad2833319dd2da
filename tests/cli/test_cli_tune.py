"""What is typed: every mistake is one sentence and status 2, before anything is trained."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from courtside.cli import main
from courtside.cli.tune import find_search, read_rows
from courtside.settings.presets import find_preset
from courtside.settings.presets.files import write_preset
from waiting import PATIENCE


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["redblue", "--budget", "soon"], "--budget is 'soon'"),
        (["redblue", "--trials", "0"], "--trials is '0', but it must be a whole number of 1 or more"),
        (["redblue", "--stages", "9"], "from 1 to 5"),
        (["redblu"], "no preset named 'redblu'"),
        (["redblue", "--trails", "8"], "no flag named '--trails'"),
        (["redblue", "--space", "gama=0.9,0.95"], "Did you mean gamma"),
        (["redblue", "--space", "gamma=0.99..0.9"], "not below its end"),
        (["redblue", "--gamma", "0.9", "--space", "gamma=0.9,0.95"], "both fixed by --gamma and searched"),
        (["redblue", "--space"], "NAME=VALUE"),
        (["pendulum-d4pg", "--space", "clip_coef=0.1,0.2"], "no setting to search named 'clip_coef'"),
        (["redblue", "--seeds", "4"], "--seeds-per-trial"),
        (["redblue", "--insure"], "--insure"),
        (["redblue", "--compare", "nowhere.json"], "nowhere.json"),
        (["cartpole", "--env-id", "gym:CartPole-v1"], "stepped outside JAX"),
    ],
)
def test_mistakes(args, told, tmp_path, capsys):
    assert main(["tune", *args, "--runs-dir", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error
    assert not list(tmp_path.iterdir())


def test_help_is_quick_and_tells_of_budget_and_space(capsys):
    assert main(["tune", "--help"]) == 0
    page = capsys.readouterr().out
    assert "--budget TIME" in page
    assert "log(1e-4,3e-3)" in page
    script = "import sys; from courtside.cli import main; main(['--help']); sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=PATIENCE).returncode == 0


def test_rows_to_compare(tmp_path):
    config = find_preset("redblue")
    (tmp_path / "student.json").write_text(json.dumps({"gamma": 0.98, "hidden_sizes": [32, 32]}))
    assert read_rows(tmp_path / "student.json") == ("student", {"gamma": 0.98, "hidden_sizes": (32, 32)})
    write_preset(tmp_path / "best.json", "mine", "found by a search", config)
    name, settings = read_rows(tmp_path / "best.json")
    assert (name, settings["gamma"], settings["num_envs"]) == ("best", 0.95, 64)
    assert "total_timesteps" not in settings
    write_preset(tmp_path / "tennis.json", "mine", "", find_preset("tennis"))
    assert read_rows(tmp_path / "tennis.json")[1]["C"] == find_preset("tennis").mad4pg.C


def test_files_to_compare_have_names_of_their_own(tmp_path, capsys):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "best.json").write_text('{"gamma": 0.98}')
    (tmp_path / "seeded.json").write_text('{"seed": 3}')
    (tmp_path / "listed.json").write_text('{"learning_rate": [1]}')
    for names, told in (
        (["a/best", "b/best"], "two files called best"),
        (["seeded"], "seed cannot be set"),
        (["listed"], "must be a number or a schedule"),
    ):
        words = [word for name in names for word in ("--compare", str(tmp_path / f"{name}.json"))]
        assert main(["tune", "redblue", *words, "--runs-dir", str(tmp_path / "runs")]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert told in error


def test_a_preset_is_never_taken_for_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "redblue").mkdir()
    for name in ("config.json", "search.json"):
        (tmp_path / "redblue" / name).write_text("{}")
    assert find_search("redblue") is None
    assert find_search("./redblue") is not None
    assert find_search(None) is None
    assert main(["tune", "./redblue", "--trials", "4"]) == 2
    assert main(["resume", "./redblue"]) == 2
