import json

from courtside import registry, spaces
from courtside.cli import main


def test_every_world_is_listed_with_what_it_is(capsys):
    assert main(["envs"]) == 0
    page = capsys.readouterr().out
    lines = {line.split()[0]: line for line in page.splitlines() if line.strip()}
    for entry in registry.ENVS:
        assert entry.about in lines[entry.name]
    assert lines["cartpole"].endswith(" CartPole-v1")
    assert " 500 " in lines["cartpole"]
    assert "one of 2 " in lines["cartpole"]
    assert "gym:NAME" in page
    assert "module:Class" in page


def test_json_holds_the_complete_spaces(capsys):
    assert main(["envs", "--json"]) == 0
    records = {record["name"]: record for record in json.loads(capsys.readouterr().out)}
    assert list(records) == [entry.name for entry in registry.ENVS]
    for name, record in records.items():
        spec = registry.make_jax_env(name).spec
        assert spaces.from_json(record["observation"]) == spec.observation
        assert spaces.from_json(record["action"]) == spec.action
        assert (record["num_agents"], record["time_limit"]) == (spec.num_agents, spec.time_limit)


def test_an_unknown_flag_is_an_error(capsys):
    assert main(["envs", "--jason"]) == 2
    assert "Did you mean --json" in capsys.readouterr().err
