import json

from courtside.cli import main
from courtside.settings.config import from_json, override
from courtside.settings.presets import PRESETS, find_preset
from courtside.settings.presets.files import write_preset


def test_presets_are_listed_with_what_they_are_judged_by(capsys):
    assert main(["presets"]) == 0
    page = capsys.readouterr().out
    assert "redblue (default)" in page
    assert "judged by charts/episodic_return >= 475 over the last 100,000 steps" in page
    assert all(name in page for name in PRESETS)


def test_json_is_complete(capsys):
    assert main(["presets", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for name, (about, config) in PRESETS.items():
        assert found[name].pop("about") == about
        assert from_json(found[name]) == config


def test_one_preset_is_shown_by_name_or_from_a_file(tmp_path, capsys):
    file = write_preset(tmp_path / "mine.json", "mine", "my own", override(find_preset("cartpole"), gamma=0.9))
    assert main(["presets", str(file)]) == 0
    page = capsys.readouterr().out
    assert page.startswith("mine\n  my own\n  cartpole, 500,000 steps, 8 envs x 128 steps\n  judged by")
    assert "sets gamma to 0.9" in page
    assert f"courtside train {file}" in page
    assert main(["presets", "cartpole", "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)) == ["cartpole"]
    assert main(["presets", str(tmp_path / "none.json")]) == 2
    assert "There is no preset file" in capsys.readouterr().err
