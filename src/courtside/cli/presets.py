"""`courtside presets`: the known-good settings and what they are judged by."""

from __future__ import annotations

import json

from courtside.cli.arguments import Parser
from courtside.cli.numbers import count
from courtside.config import Config, to_json
from courtside.presets import DEFAULT, PRESETS


def main(args: list[str]) -> int:
    parser = Parser("presets", "List the known-good settings and what they are judged by.")
    parser.add_argument("--json", action="store_true", help="print them complete, as JSON")
    if parser.read(args).json:
        print(json.dumps({name: {"about": about, **to_json(config)} for name, (about, config) in PRESETS.items()}))
        return 0
    for name, (about, config) in PRESETS.items():
        print("\n".join(describe(name, about, config)))
    print("\nTrain one with `courtside train NAME`; `courtside train NAME --help` shows its settings.")
    return 0


def describe(name: str, about: str, config: Config) -> list[str]:
    """A preset in a few lines."""
    title = f"{name} (default)" if name == DEFAULT else name
    sizes = f"{config.env.num_envs} envs x {config.ppo.num_steps} steps"
    lines = [title, f"  {about}", f"  {config.env.env_id}, {count(config.run.total_timesteps)} steps, {sizes}"]
    for goal in config.thresholds:
        source = f" ({goal.source})" if goal.source else ""
        lines.append(
            f"  judged by {goal.metric} {goal.op} {goal.value:g} over the last {count(goal.window_steps)} steps{source}"
        )
    return lines
