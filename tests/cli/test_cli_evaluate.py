import json

import pytest

from courtside.cli import main


def evaluate(run, capsys, *args: str) -> dict:
    assert main(["eval", str(run.path), "--json", "--episodes", "5", *args]) == 0
    return json.loads(capsys.readouterr().out)


def test_default_is_the_best_policy_evaluated_as_training_did(small_run, capsys):
    found = evaluate(small_run, capsys)
    assert found["episodes"] == len(found["returns"]) == 5
    assert found["deterministic"] is False
    assert "best" in found["checkpoint"]


def test_flags_choose_mode_checkpoint_and_seed(small_run, capsys):
    found = evaluate(small_run, capsys, "--deterministic", "--last", "--seed", "3")
    assert found["deterministic"] is True
    assert (found["step"], "checkpoints" in found["checkpoint"]) == (1280, True)
    assert evaluate(small_run, capsys, "--deterministic", "--last", "--seed", "3") == found
    assert evaluate(small_run, capsys, "--sampled", "--last", "--seed", "4")["returns"] != found["returns"]


def test_score_is_readable(small_run, capsys):
    assert main(["eval", str(small_run.path), "--episodes", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "episodes    3, sampled actions"
    assert [line.split()[0] for line in lines] == ["checkpoint", "episodes", "return", "IQM", "length"]


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--episodes", "0"], "--episodes is '0', but it must be a whole number of 1 or more."),
        (["--deterministic", "--sampled"], "not allowed with"),
        (["--best", "--last"], "not allowed with"),
        (["--episode", "3"], "Did you mean --episodes?"),
        (["--seed", "-1"], "--seed is '-1'"),
    ],
)
def test_refusals(args, sentence, capsys):
    assert main(["eval", "run", *args]) == 2
    assert sentence in capsys.readouterr().err
