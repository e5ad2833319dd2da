import json

from courtside.cli import main
from courtside.config import from_json
from courtside.presets import PRESETS


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
