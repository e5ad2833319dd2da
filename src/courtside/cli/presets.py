"""`courtside presets`: the known-good settings and what they are judged by."""

from __future__ import annotations

import dataclasses
import json

from courtside.cli.arguments import Parser
from courtside.health.verdict import window_unit, window_words
from courtside.settings.config import Config, to_json
from courtside.settings.numbers import count
from courtside.settings.presets import DEFAULT, PRESETS, find_preset
from courtside.settings.presets.files import is_preset_file, read_preset

DESCRIBED = ("total_timesteps", "algo", "env_id", "num_envs", "num_steps")
"""Settings that `describe` tells."""


def main(args: list[str]) -> int:
    parser = Parser("presets", "List the known-good settings and what they are judged by.")
    parser.add_argument("preset", metavar="PRESET", nargs="?", help="show this one alone: a name, or a preset file")
    parser.add_argument("--json", action="store_true", help="print them complete, as JSON")
    options = parser.read(args)
    chosen = PRESETS if options.preset is None else find_one(options.preset)
    if options.json:
        print(json.dumps({name: {"about": about, **to_json(config)} for name, (about, config) in chosen.items()}))
        return 0
    for name, (about, config) in chosen.items():
        print("\n".join(describe(name, about, config)))
    if options.preset is not None:
        print(*settings(chosen), f"\nTrain it with `courtside train {options.preset}`.", sep="\n")
        return 0
    print("\nTrain one with `courtside train NAME`; `courtside train NAME --help` shows its settings.")
    return 0


def find_one(preset: str) -> dict[str, tuple[str, Config]]:
    """The one that is named, in the shape of the whole list."""
    if is_preset_file(preset):
        record = read_preset(preset)
        return {record.name: (record.about, record.config)}
    config = find_preset(preset)
    return {preset: (PRESETS[preset][0], config)}


def settings(chosen: dict[str, tuple[str, Config]]) -> list[str]:
    """What the presets set other than the plain defaults, a line each; without what `describe` tells."""
    groups = [group for _, config in chosen.values() for group in config.groups.values()]
    return [
        f"  sets {field.name} to {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for group in groups
        for field in dataclasses.fields(group)
        if field.name not in DESCRIBED and (value := getattr(group, field.name)) != field.default
    ]


def describe(name: str, about: str, config: Config) -> list[str]:
    """A preset in a few lines."""
    title = f"{name} (default)" if name == DEFAULT else name
    algo = "" if config.run.algo == Config().run.algo else f", {config.run.algo}"
    num_steps = config.learning.num_steps
    sizes = f"{config.env.num_envs} envs x {num_steps} step{'s' * (num_steps != 1)}{algo}"
    lines = [title, f"  {about}", f"  {config.env.env_id}, {count(config.run.total_timesteps)} steps, {sizes}"]
    for goal in config.thresholds:
        source = f" ({goal.source})" if goal.source else ""
        over = "in" if window_unit(goal) == "evaluations" else "over"
        lines.append(f"  judged by {goal.metric} {goal.op} {goal.value:g} {over} {window_words(goal)}{source}")
    return lines
