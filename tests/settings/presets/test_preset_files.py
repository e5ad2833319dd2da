"""Preset files: what is written is what is trained; whatever cannot be one is refused in a sentence."""

import dataclasses
import json

import pytest

from courtside.cli.flags import read_config
from courtside.errors import ConfigError
from courtside.settings.config import override
from courtside.settings.presets import find_base, find_preset
from courtside.settings.presets.files import read_preset, write_preset

CARTPOLE = find_preset("cartpole")


@pytest.fixture
def preset(tmp_path):
    tuned = override(CARTPOLE, learning_rate="3e-3", hidden_sizes=(32, 32), seed=9, runs_dir="elsewhere", wandb=True)
    return write_preset(tmp_path / "best.json", "cartpole-tuned", "found by a search", tuned)


def test_a_written_preset_reads_back_without_what_belongs_to_one_run(preset):
    found = read_preset(preset)
    expected = override(CARTPOLE, learning_rate="3e-3", hidden_sizes=(32, 32))
    assert found.config == dataclasses.replace(expected, preset="cartpole-tuned")
    assert (found.name, found.about) == ("cartpole-tuned", "found by a search")


def test_the_command_line_takes_a_file_where_a_preset_stands(preset):
    config, notes = read_config([str(preset), "--num-envs", "16"])
    assert (config.env.num_envs, config.ppo.learning_rate, notes) == (16, "3e-3", [])
    assert config.thresholds == CARTPOLE.thresholds  # so the verdict is that of a built-in one
    elsewhere, notes = find_base(str(preset), "pendulum")
    assert elsewhere.thresholds == ()
    assert "so this run has no verdict" in notes[0]


def test_a_preset_of_the_replay_family_reads_back(tmp_path):
    config = override(find_preset("pendulum-d4pg"), tau=0.5)
    written = write_preset(tmp_path / "mine.json", "mine", "", config)
    assert read_preset(written).config == dataclasses.replace(config, preset="mine")


def test_a_runs_own_config_can_be_trained_from(tmp_path):
    from courtside.runs.runlog import write_config

    config = override(CARTPOLE, num_envs=2, seed=4)
    write_config(tmp_path, config)
    assert find_preset(str(tmp_path / "config.json")) == config


def _with(part, **changes):
    return lambda record: {**record, part: {**record[part], **changes}}


def _threshold(**changes):
    return lambda record: {**record, "thresholds": [{**record["thresholds"][0], **changes}]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: [r], "is not a preset file: it lacks format"),
        (lambda r: {"learning_rate": "1e-3"}, "is not a preset file: it lacks format"),
        (lambda r: {**r, "format": 2}, "has format 2, but this courtside reads format 1; it was written by courtside"),
        (lambda r: {**r, "preset": ""}, "has '' as the preset's name"),
        (lambda r: {**r, "novel": {}}, r"cannot be used as a preset. It has the setting 'novel'"),
        (_with("ppo", novel=1), r"It has the setting 'novel'"),
        (_with("ppo", gamma="high"), "cannot be used as a preset"),
        (_with("ppo", gamma=1.5), "--gamma is 1.5, but it must lie between 0 and 1"),
        (lambda r: {**r, "env": 3}, "cannot be used as a preset"),
        (_threshold(op="=="), "A threshold reads 'charts/episodic_return' '=='; it must be a metric and one of >=, >,"),
        (_threshold(value="a lot"), "is 'a lot' over 100000 steps"),
        (_threshold(window_episodes=0), "over 0 episodes, but both must be numbers, and the episodes above 0"),
        (_threshold(window_steps=0), "over 0 steps, but both must be numbers, and the steps above 0"),
        (lambda r: {**r, "thresholds": [{"metric": "x"}]}, "cannot be used as a preset"),
    ],
)
def test_what_is_no_preset_is_refused_in_one_sentence(preset, change, message):
    preset.write_text(json.dumps(change(json.loads(preset.read_text()))))
    with pytest.raises(ConfigError, match=message) as caught:
        find_preset(str(preset))
    assert str(preset) in str(caught.value)


def test_a_missing_a_broken_and_a_binary_file_and_a_folder(preset):
    folder = preset.parent
    with pytest.raises(ConfigError, match=r"no preset file .*bets.json; `courtside presets` lists"):
        find_preset(str(folder / "bets.json"))
    with pytest.raises(ConfigError, match=r"is a folder, .* name the file .*best\.json"):
        find_preset(str(folder))
    for content in (preset.read_bytes()[:-9], b"\xff\xfe\x00"):
        preset.write_bytes(content)
        with pytest.raises(ConfigError, match="is not a preset file: it is no JSON"):
            find_preset(str(preset))
