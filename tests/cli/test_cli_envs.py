import json

import pytest

from courtside import spaces
from courtside.cli import main
from courtside.settings import worlds


def test_every_world_is_listed_with_what_it_is(capsys):
    assert main(["envs"]) == 0
    page = capsys.readouterr().out
    lines = {line.split()[0]: line for line in page.splitlines() if line.strip()}
    for entry in worlds.ENVS:
        assert entry.about in lines[entry.name]
    assert lines["cartpole"].endswith(" CartPole-v1")
    assert " 500 " in lines["cartpole"]
    assert "one of 2 " in lines["cartpole"]
    assert "gym:NAME" in page
    assert "pz:module" in page
    groups = [page.index(f"{group}: {about}") for group, about in worlds.GROUPS.items()]
    assert groups == sorted(groups)
    assert "module:Class" in page


def test_json_holds_the_complete_spaces(capsys):
    assert main(["envs", "--json"]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert list(records) == [entry.name for entry in worlds.ENVS]
    for name, record in records.items():
        spec = worlds.make_jax_env(name).spec
        assert spaces.from_json(record["observation"]) == spec.observation
        assert spaces.from_json(record["action"]) == spec.action
        assert (record["num_agents"], record["time_limit"]) == (spec.num_agents, spec.time_limit)


def test_an_unknown_flag_is_an_error(capsys):
    assert main(["envs", "--jason"]) == 2
    assert "Did you mean --json" in capsys.readouterr().err


def test_one_world_with_all_it_can_be_told(capsys):
    assert main(["envs", "CartPole-v1"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("cartpole: balance a pole on a cart\n")
    assert "agents           agent_0\n" in page
    assert "time limit       500\n" in page
    assert "It has no options." in page


@pytest.mark.parametrize(
    ("name", "words"),
    [("cartpol", "Did you mean cartpole?"), ("gym:CartPole-v1", "`courtside check gym:CartPole-v1` tries it.")],
)
def test_a_world_that_is_not_ours_is_refused(capsys, name, words):
    assert main(["envs", name]) == 2
    assert words in capsys.readouterr().err
