"""`courtside envs`: the worlds you can train on; `courtside envs NAME`: one of them, with all it can be told."""

from __future__ import annotations

import json
from typing import Any

from courtside import spaces
from courtside.cli.arguments import Parser
from courtside.errors import ConfigError
from courtside.settings import worlds
from courtside.settings.kinds import EnvSource, Games, all_kinds
from courtside.settings.values import Option, wanted

COLUMNS = ("name", "what it is", "sees", "does", "agents", "time limit", "also answers to")
WIDEST = 54
OPTION_COLUMNS = ("option", "default", "must be", "meaning")

OWN = "module:Class", "your own: a courtside world or a gymnasium.Env that can be imported from here"
CLOSING = """
See a world's options with `courtside envs NAME`, test one with `courtside check ENV`, train with `courtside train --env-id ENV`."""


def main(argv: list[str]) -> int:
    parser = Parser("envs", "List the worlds you can train on, or tell all about one of them.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="one world: its options, agents and spaces")
    parser.add_argument("--json", action="store_true", help="print them as JSON, with their complete spaces")
    args = parser.read(argv)
    for kind in all_kinds():
        if kind.name == args.name and kind.games is not None:
            print(json.dumps(list(kind.games.names)) if args.json else "\n".join(kind.games.list_names()))
            return 0
    if args.name is not None and (games := worlds.games_of(source := worlds.stand_for(args.name))) is not None:
        print(json.dumps(game_record(games, source)) if args.json else "\n".join(game_page(games, source)))
        return 0
    chosen = worlds.ENVS if args.name is None else (find(args.name),)
    if args.json:
        records = [record(entry) for entry in chosen]
        print(json.dumps(records if args.name is None else records[0] | {"options": option_records(args.name)}))
    else:
        print("\n".join(page() if args.name is None else one_page(chosen[0])))
    return 0


def find(env_id: str) -> worlds.EnvEntry:
    """The entry that an id leads to; only worlds of ours have one."""
    source = worlds.find_env(env_id)
    if source.kind != "jax":
        raise ConfigError(f"{env_id} is not a world of ours; `courtside check {env_id}` tries it.")
    return worlds.find_entry(source.name)


def page() -> list[str]:
    """All worlds, group by group."""
    lines: list[str] = []
    for group, about in worlds.GROUPS.items():
        rows = [row(entry) for entry in worlds.ENVS if entry.group == group]
        lines += [f"{group}: {about}", *table([COLUMNS, *rows]), ""]
    others = (*((kind.usage, kind.about) for kind in all_kinds()), OWN)
    return [*lines, *(f"{usage:<15}{about}" for usage, about in others), CLOSING]


def one_page(entry: worlds.EnvEntry) -> list[str]:
    """One world with its agents, spaces and options."""
    world = worlds.make_jax_env(entry.name)
    facts = {
        "agents": ", ".join(world.spec.names),
        "sees": spaces.describe(world.spec.observation),
        "does": spaces.describe(world.spec.action),
        "time limit": time_limit(world),
        "scripts": ", ".join(getattr(world, "scripts", ())) or "-",
        "also answers to": "\n                 ".join(entry.aliases) or "-",
    }
    lines = [f"{entry.name}: {entry.about}", "", *(f"{name:<16} {text}" for name, text in facts.items()), ""]
    return lines + option_lines(worlds.world_options(entry.name))


def game_page(games: Games, source: EnvSource) -> list[str]:
    """One game with its actions and options."""
    page = games.make_page(source)
    head = [source.note, ""] if source.note else []
    facts = (f"{name:<16} {text}" for name, text in page.facts.items())
    return [*head, f"{page.name}: {page.about}", "", *facts, "", *option_lines(games.list_options(source))]


def game_record(games: Games, source: EnvSource) -> dict[str, Any]:
    """The same as JSON data."""
    page, options = games.make_page(source), [_option_record(option) for option in games.list_options(source)]
    return {"name": page.name, "group": source.kind, **page.record, "options": options}


def time_limit(world: Any) -> str:
    """Steps after which an episode is cut, by the spec or by the world itself."""
    own = getattr(getattr(world, "options", None), "max_steps", None)
    limit = world.spec.time_limit or own
    return "-" if limit is None else str(limit)


def option_lines(options: tuple[Option, ...]) -> list[str]:
    if not options:
        return ["It has no options."]
    rows = [(option.name, str(option.default), wanted(option.kind), option.about) for option in options]
    example = f"Change them with --env-options {rows[0][0]}=VALUE, several with spaces between."
    return [*table([OPTION_COLUMNS, *rows]), "", example]


def row(entry: worlds.EnvEntry) -> tuple[str, ...]:
    """One line of the table; what is too long for it is told by the page of the world."""
    world = worlds.make_jax_env(entry.name)
    texts = (spaces.describe(space) for space in (world.spec.observation, world.spec.action))
    sees, does = (text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..." for text in texts)
    more = f" and {len(entry.aliases) - 1} more" if len(entry.aliases) > 1 else ""
    also = f"{entry.aliases[0]}{more}" if entry.aliases else "-"
    return entry.name, entry.about, sees, does, str(world.spec.num_agents), time_limit(world), also


def record(entry: worlds.EnvEntry) -> dict[str, Any]:
    """The same as JSON data."""
    spec = worlds.make_jax_env(entry.name).spec
    return {
        "name": entry.name,
        "group": entry.group,
        "about": entry.about,
        "observation": spaces.to_json(spec.observation),
        "action": spaces.to_json(spec.action),
        "num_agents": spec.num_agents,
        "agents": list(spec.names),
        "time_limit": spec.time_limit,
        "aliases": list(entry.aliases),
    }


def option_records(name: str) -> list[dict[str, Any]]:
    return [_option_record(option) for option in worlds.world_options(find(name).name)]


def _option_record(option: Option) -> dict[str, Any]:
    return {"name": option.name, "default": option.default, "wanted": wanted(option.kind), "about": option.about}


def table(rows: list[tuple[str, ...]]) -> list[str]:
    """Columns as wide as their widest cell."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(r, widths, strict=True)).rstrip() for r in rows]
