"""`courtside doctor` on run folders written by hand, and on a real one."""

import json
from pathlib import Path

import pytest
from made_rows import rows

from courtside.cli import main
from courtside.cli.doctor import closing_lines, examine
from courtside.runs import runlog
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset

CONFIG = override(find_preset("cartpole"), num_envs=4, num_steps=128, total_timesteps=512 * 60)


def write_run(folder: Path, updates: int = 60, bad_from: int = 10**9, config: Config = CONFIG) -> Path:
    folder.mkdir(parents=True)
    runlog.write_config(folder, config)
    lines = [runlog.encode_row(found) + "\n" for found in rows(1, updates, bad_from)]
    (folder / runlog.METRICS).write_text("".join(lines))
    return folder


@pytest.fixture
def population(tmp_path: Path) -> Path:
    """Three members; the last is sick."""
    folder = tmp_path / "runs" / "pop"
    for member, bad_from in enumerate((10**9, 10**9, 40)):
        config = override(CONFIG, seed=member + 1)
        write_run(folder / "members" / f"{member:02}", bad_from=bad_from, config=config)
    runlog.write_config(folder, override(CONFIG, seeds=3))
    return folder


def test_healthy_run(tmp_path, capsys):
    assert main(["doctor", str(write_run(tmp_path / "run"))]) == 0
    page = capsys.readouterr().out.splitlines()
    assert page[0].endswith("run: cartpole, 30,720 of 30,720 steps, finished.")
    assert page[1] == "Nothing wrong found."
    assert closing_lines(tmp_path / "run") == ["Health: nothing wrong found."]


def test_sick_run_tells_what_since_when_and_what_to_do(tmp_path, capsys):
    run = write_run(tmp_path / "my run", bad_from=40)
    assert main(["doctor", str(run)]) == 1
    page = capsys.readouterr().out
    assert "since step 20,480 (update 40)" in page
    for label in ("seen", "cause", "do", "sure", "more     docs/health/not-a-number.md"):
        assert f"\n   {label}" in page
    assert f"courtside doctor '{run}' --prove" in page
    lines = closing_lines(run)
    assert f"`courtside doctor '{run}'` tells more." in lines[0]
    assert lines[1].startswith("  since step 20,480: ")
    (first,) = examine(run).groups[0].findings
    assert lines[2] == f"    {first.cause} Do: {first.remedy}"


def test_run_that_is_still_going(tmp_path, capsys):
    assert main(["doctor", str(write_run(tmp_path / "run", updates=50, bad_from=40))]) == 1
    assert "25,600 of 30,720 steps, not finished." in capsys.readouterr().out


def test_json_is_one_object(tmp_path, capsys):
    assert main(["doctor", str(write_run(tmp_path / "run", bad_from=40)), "--json"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert (record["sick"], record["too_short"]) == (True, None)
    assert record["findings"][0]["kind"] == "not-a-number"
    assert record["findings"][0]["page"] == "docs/health/not-a-number.md"


def test_too_short_is_said_and_no_fault(small_run, capsys):
    assert main(["doctor", str(small_run.path)]) == 0
    page = capsys.readouterr().out
    assert "Too short to judge: " in page
    assert "\n1. " not in page
    assert "Health: too short to judge: " in small_run.page
    assert main(["doctor", str(small_run.path), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["findings"], bool(record["too_short"])) == ([], True)


def test_proof_of_a_run_that_is_too_short_says_so(small_run, capsys):
    assert main(["doctor", str(small_run.path), "--prove"]) == 0
    assert capsys.readouterr().out.count("are needed to judge it") == 2
    assert main(["doctor", str(small_run.path), "--prove", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["proof"]["outcomes"] == []


def test_population_counts_its_sick_members(population, capsys):
    assert main(["doctor", str(population)]) == 1
    page = capsys.readouterr().out
    assert "3 members, 30,720 of 30,720 steps each" in page
    assert "1 of 3 members: " in page
    assert "\n   members  02\n" in page
    assert any(line.startswith("  1 of 3 members: since step 20,480") for line in closing_lines(population))
    assert not any(" Do: " in line for line in closing_lines(population)), "members may differ in what helps"


def test_one_member_alone(population, capsys):
    assert main(["doctor", str(population), "--member", "2"]) == 1
    assert "members/02: " in capsys.readouterr().out
    assert main(["doctor", str(population / "members" / "02")]) == 1


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--member", "3"], "it has members 0 to 2"),
        (["--member", "-1"], "--member is '-1'"),
        (["--prove"], "add --member K"),
        (["--proof"], "Did you mean --prove"),
    ],
)
def test_bad_input_is_one_sentence(population, args, words, capsys):
    assert main(["doctor", str(population), *args]) == 2
    streams = capsys.readouterr()
    assert (streams.out, streams.err.count("\n")) == ("", 1)
    assert words in streams.err


def test_single_run_has_no_members(tmp_path, capsys):
    assert main(["doctor", str(write_run(tmp_path / "run")), "--member", "0"]) == 2
    assert "single run" in capsys.readouterr().err
    assert main(["doctor", str(tmp_path / "nothing")]) == 2


def test_help_tells_the_exit_status(capsys):
    assert main(["doctor", "--help"]) == 0
    page = capsys.readouterr().out
    assert "Exit status: 0 nothing is wrong" in page
    assert "--member K" in page
