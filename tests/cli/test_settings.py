import dataclasses
import io
from typing import get_args

import pytest
from rich.console import Console

from courtside.cli.settings import meanings, memory_line, setting_rows, settings_lines, settings_table
from courtside.runs.events import Started
from courtside.settings.config import Config, EnvConfig, RunConfig, override
from courtside.settings.groups import Algo
from courtside.settings.presets import find_preset


@pytest.mark.parametrize("algo", ["ppo", "mad4pg"])
def test_every_setting_and_size_is_there_once_with_a_meaning(algo):
    config = override(Config(), algo=algo)
    rows, parts = setting_rows(config), ("run", "env", "net", config.family)
    settings = [f.name for part in parts for f in dataclasses.fields(getattr(config, part))]
    assert sorted(row.name for row in rows) == sorted({*settings, *config.traits.sizes})
    assert all(row.meaning for row in rows)


def test_sizes_come_first_and_in_order():
    rows = setting_rows(override(Config(), num_envs=8, total_timesteps=100_000))
    assert [(row.name, row.value) for row in rows[:8]] == [
        ("num_envs", "8"), ("num_steps", "128"), ("batch_size", "1,024"), ("num_minibatches", "4"),
        ("minibatch_size", "256"), ("total_timesteps", "100,000"), ("num_updates", "97"), ("update_epochs", "4"),
    ]  # fmt: skip


def test_the_batch_of_the_replay_family_is_what_is_drawn():
    rows = setting_rows(override(Config(), algo="ddpg", num_envs=8, updates_per_step=0.5, batch_size=64))
    shown = {row.name: row.value for row in rows if row.part == "sizes"}
    assert (shown["batch_size"], shown["gradient_steps"], shown["buffer_size"]) == ("64", "4", "300,000")


@pytest.mark.parametrize(("algo", "seen"), [("ppo", "own"), ("d4pg", "own"), ("mad4pg", "central")])
def test_the_critic_that_is_in_force_is_shown(algo, seen):
    (row,) = [row for row in setting_rows(override(Config(), algo=algo)) if row.name == "critic"]
    assert row.value == seen


def test_the_meaning_of_algo_names_all_of_them():
    assert all(name in meanings(RunConfig)["algo"] for name in get_args(Algo))


def test_only_settings_that_differ_from_the_preset_are_marked():
    preset = find_preset("cartpole")
    rows = setting_rows(override(preset, num_envs=64, target_kl=0.02))
    assert {row.name: row.shown for row in rows if row.preset_value is not None} == {
        "num_envs": f"64 (preset {preset.env.num_envs})",
        "target_kl": "0.02 (preset None)",
    }


def test_meaning_is_the_text_under_the_field():
    found = meanings(EnvConfig)
    assert found["num_envs"] == "Copies of the world stepped side by side (B)"
    assert found["workers"] == "How a Gymnasium env is stepped"


def test_preset_that_no_longer_exists_is_no_fault():
    assert setting_rows(dataclasses.replace(Config(), preset="gone"))


def test_table_and_lines_show_brackets_as_typed():
    config = override(Config(), exp_name="[red]x[/]")
    page = io.StringIO()
    Console(file=page, width=120).print(settings_table(config))
    assert "[red]x[/]" in page.getvalue()
    assert "minibatch_size" in page.getvalue()
    assert any("[red]x[/]" in line for line in settings_lines(config))


def test_memory_is_given_by_part_in_all_and_free():
    line = memory_line(Started(Config(), {"envs": 1.5, "rollout": 250.0}, "cpu"))
    assert line.startswith("memory: 252 MB (envs 1.5 MB, rollout 250 MB)")
    assert line.endswith(" MB free")
