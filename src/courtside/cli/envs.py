"""`courtside envs`: the worlds you can train on."""

from __future__ import annotations

import json
from typing import Any

from courtside import registry, spaces
from courtside.cli.arguments import Parser

COLUMNS = ("name", "what it is", "sees", "does", "agents", "time limit", "also answers to")

OTHERS = """gym:NAME       any Gymnasium env, such as gym:LunarLander-v3 (needs the gym extra)
module:Class   your own: a courtside world or a gymnasium.Env that can be imported from here

Test one with `courtside check ENV`, train on one with `courtside train --env-id ENV`."""


def main(args: list[str]) -> int:
    parser = Parser("envs", "List the worlds you can train on.")
    parser.add_argument("--json", action="store_true", help="print them as JSON, with their complete spaces")
    if parser.read(args).json:
        print(json.dumps([record(entry) for entry in registry.ENVS]))
        return 0
    print("\n".join([*table([COLUMNS, *(row(entry) for entry in registry.ENVS)]), "", OTHERS]))
    return 0


def row(entry: registry.EnvEntry) -> tuple[str, ...]:
    """One line of the table."""
    spec = registry.make_jax_env(entry.name).spec
    sees, does = spaces.describe(spec.observation), spaces.describe(spec.action)
    limit = "-" if spec.time_limit is None else str(spec.time_limit)
    return entry.name, entry.about, sees, does, str(spec.num_agents), limit, ", ".join(entry.aliases) or "-"


def record(entry: registry.EnvEntry) -> dict[str, Any]:
    """The same as JSON data."""
    spec = registry.make_jax_env(entry.name).spec
    return {
        "name": entry.name,
        "about": entry.about,
        "observation": spaces.to_json(spec.observation),
        "action": spaces.to_json(spec.action),
        "num_agents": spec.num_agents,
        "time_limit": spec.time_limit,
        "aliases": list(entry.aliases),
    }


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(r, widths, strict=True)).rstrip() for r in rows]
