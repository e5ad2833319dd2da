import contextlib
import json
import shutil

import jax
import pytest

from courtside.algos import team
from courtside.cli import main
from courtside.engines import make_engine
from courtside.runs import checkpoint, runlog
from courtside.runs.pipeline import describe_pipeline
from courtside.settings.config import override
from courtside.settings.presets import find_preset


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


def test_each_agent_and_the_worlds_own_means_are_told(tmp_path, capsys):
    small = ["--num-envs", "2", "--num-steps", "8", "--total-timesteps", "16", "--hidden-sizes", "4"]
    world = ["--env-id", "redblue-1v1", "--opponent", "blue=learn", "--env-options", "max_steps=4"]
    assert main(["train", *world, "--runs-dir", str(tmp_path), *small]) == 0
    run = str(next(tmp_path.iterdir()))
    capsys.readouterr()
    assert main(["eval", run, "--episodes", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    agents = next(i for i, line in enumerate(lines) if line.startswith("agents      red_0"))
    assert lines[agents + 1].split()[0] == "blue_0"
    own = next(i for i, line in enumerate(lines) if line.startswith("world       "))
    assert any("door_open_done" in line for line in lines[own:])


def test_actors_that_draw_nothing_are_said_to_play_their_own_actions(tmp_path, capsys):
    config = override(find_preset("duo-meet"), hidden_sizes=(4,), num_envs=2)
    with contextlib.closing(make_engine(config)) as engine:
        pipeline = describe_pipeline(config, engine.spec)
        policies = team.init(engine.team, jax.random.key(1)).policy
    runlog.write_config(tmp_path, config)
    meta = {"pipeline": pipeline, "step": 1, "update": 1}
    checkpoint.save(checkpoint.best_path(tmp_path), checkpoint.policies(policies), meta)
    assert main(["eval", str(tmp_path), "--episodes", "2", "--sampled"]) == 0
    streams = capsys.readouterr()
    assert streams.out.splitlines()[1] == "episodes    2, the actors' own actions"
    assert streams.err.startswith("note: mad4pg draws no actions")
    assert main(["eval", str(tmp_path), "--episodes", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["algo"], found["deterministic"], found["notes"]) == ("mad4pg", True, [])


def damage(path):
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def test_broken_newer_checkpoints_are_told_on_stderr(small_run, tmp_path, capsys):
    run = shutil.copytree(small_run.path, tmp_path / "run")
    newest = checkpoint.find_checkpoints(run / checkpoint.FOLDER)[0]
    shutil.copy(newest, checkpoint.checkpoint_path(run, 11))
    damage(checkpoint.checkpoint_path(run, 11))
    assert main(["eval", str(run), "--last", "--episodes", "2", "--json"]) == 0
    streams = capsys.readouterr()
    assert json.loads(streams.out)["checkpoint"] == str(newest)
    assert streams.err.startswith("note: ")
    assert checkpoint.checkpoint_path(run, 11).name in streams.err


def test_a_damaged_best_offers_the_newest(small_run, tmp_path, capsys):
    run = shutil.copytree(small_run.path, tmp_path / "run")
    damage(checkpoint.best_path(run))
    assert main(["eval", str(run)]) == 2
    assert "use --last" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (["--episodes", "0"], "--episodes is '0', but it must be a whole number of 1 or more."),
        (["--deterministic", "--sampled"], "not allowed with"),
        (["--best", "--last"], "not allowed with"),
        (["--episode", "3"], "Did you mean --episodes"),
        (["--seed", "-1"], "--seed is '-1'"),
        (
            ["--env-options", "stack=2"],
            "--env-options is a setting, and a run is evaluated with those that it was trained with",
        ),
        (["--seed", str(10**20)], "but it must be a whole number from 0 to 4294967295."),
    ],
)
def test_refusals(args, sentence, capsys):
    assert main(["eval", "run", *args]) == 2
    assert sentence in capsys.readouterr().err
