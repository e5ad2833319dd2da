"""`courtside envs`: the worlds you can train on; `courtside envs NAME`: one of them, with all it can be told."""

from __future__ import annotations

import json
import textwrap
from typing import Any

from courtside import spaces
from courtside.cli.arguments import Parser
from courtside.errors import ConfigError
from courtside.hosts.atari import ids as atari_ids
from courtside.hosts.atari.options import list_options
from courtside.hosts.gba import ids as gba_ids
from courtside.settings import worlds
from courtside.settings.values import Option, wanted

COLUMNS = ("name", "what it is", "sees", "does", "agents", "time limit", "also answers to")
WIDEST = 54
OPTION_COLUMNS = ("option", "default", "must be", "meaning")

OTHERS = """gym:NAME       any Gymnasium env, such as gym:LunarLander-v3 (needs the gym extra)
atari:game     any Atari game, such as atari:breakout (needs the atari extra); `courtside envs atari` lists them
gba:emerald    Pokemon Emerald from your own cartridge's dump (--rom PATH; needs the emulator extra)
pz:module      any PettingZoo ParallelEnv, such as pz:pettingzoo.butterfly.pistonball_v6 (needs the pettingzoo extra)
module:Class   your own: a courtside world or a gymnasium.Env that can be imported from here

See a world's options with `courtside envs NAME`, test one with `courtside check ENV`, train with `courtside train --env-id ENV`."""


def main(args: list[str]) -> int:
    parser = Parser("envs", "List the worlds you can train on, or tell all about one of them.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="one world: its options, agents and spaces")
    parser.add_argument("--json", action="store_true", help="print them as JSON, with their complete spaces")
    found = parser.read(args)
    if found.name in (atari_ids.KIND, gba_ids.KIND):
        is_atari = found.name == atari_ids.KIND
        games, lines = (atari_ids.GAMES, games_page()) if is_atari else (gba_ids.GAMES, cartridges_page())
        print(json.dumps(list(games)) if found.json else "\n".join(lines))
        return 0
    if found.name is not None and (source := worlds.stand_for(found.name)).kind == atari_ids.KIND:
        print(json.dumps(game_record(source)) if found.json else "\n".join(game_page(source)))
        return 0
    if found.name is not None and source.kind == gba_ids.KIND:
        print(json.dumps(cartridge_record(source)) if found.json else "\n".join(cartridge_page(source)))
        return 0
    chosen = worlds.ENVS if found.name is None else (find(found.name),)
    if found.json:
        records = [record(entry) for entry in chosen]
        print(json.dumps(records if found.name is None else records[0] | {"options": option_records(found.name)}))
    else:
        print("\n".join(page() if found.name is None else one_page(chosen[0])))
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
    return [*lines, OTHERS]


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


def cartridges_page() -> list[str]:
    """The games of the Game Boy Advance that we have a description of, and how to bring another."""
    known = [f"  {gba_ids.PREFIX}{game}" for game in gba_ids.GAMES]
    own = f"  {gba_ids.PREFIX}MODULE:NAME   a description of your own (docs/emerald.md)"
    return ["Games of the Game Boy Advance; the cartridge is yours (--rom PATH)", "", *known, own]


def games_page() -> list[str]:
    """The names of all Atari games."""
    lines = textwrap.wrap(", ".join(atari_ids.GAMES), 120, break_on_hyphens=False)
    example = "courtside train --env-id atari:breakout"
    return [f"{len(atari_ids.GAMES)} Atari games, each with the prefix atari:, as in `{example}`", "", *lines]


def game_page(source: worlds.EnvSource) -> list[str]:
    """One Atari game with its actions and options."""
    record = game_record(source)
    facts = {
        "sees": spaces.describe(spaces.from_json(record["observation"])),
        "does": f"one of {len(record['actions'])}: {', '.join(record['actions'])}",
        "time limit": f"{record['time_limit']} steps of a game" if record["time_limit"] else "-",
    }
    head = [source.note, ""] if source.note else []
    lines = [*head, f"{record['name']}: an Atari game", "", *(f"{name:<16} {text}" for name, text in facts.items()), ""]
    return lines + option_lines(list_options())


def game_record(source: worlds.EnvSource) -> dict[str, Any]:
    """The same as JSON data; the game is built to see its actions."""
    from courtside.hosts.atari.make import build_env, describe_env

    name = f"{atari_ids.PREFIX}{source.name}"
    env = build_env(name)
    return {
        "name": name,
        "group": atari_ids.KIND,
        "observation": spaces.to_json(env.observation),
        "action": spaces.to_json(env.action),
        "actions": list(env.action_names),
        "time_limit": describe_env(name, env).time_limit,
        "options": [_option_record(option) for option in list_options()],
    }


def cartridge_page(source: worlds.EnvSource) -> list[str]:
    """One GBA game with its actions and options, known without its cartridge."""
    from courtside.hosts.gba import options

    record = cartridge_record(source)
    facts = {
        "sees": spaces.describe(spaces.from_json(record["observation"])),
        "does": f"one of {len(record['actions'])}: {', '.join(record['actions'])}",
        "cartridge": " or ".join(f"SHA-1 {sha1}" for sha1 in record["rom_sha1"]) or record["rom_code"] or "any",
    }
    lines = [f"{record['name']}: {record['about']}", "", *(f"{name:<16} {text}" for name, text in facts.items()), ""]
    return lines + option_lines(options.list_options(options.read(source.name).description))


def cartridge_record(source: worlds.EnvSource) -> dict[str, Any]:
    """The same as JSON data."""
    from courtside.hosts.gba import observation, options

    told = options.read(source.name)
    game = told.description
    return {
        "name": f"{gba_ids.PREFIX}{told.game}",
        "group": gba_ids.KIND,
        "about": game.about,
        "observation": spaces.to_json(observation.SPACE),
        "action": spaces.to_json(spaces.Discrete(len(game.actions))),
        "actions": list(game.action_names),
        "rom_sha1": list(game.rom_sha1),
        "rom_code": game.rom_code,
        "options": [_option_record(option) for option in options.list_options(game)],
    }


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
    sees, does = (_short(spaces.describe(space)) for space in (world.spec.observation, world.spec.action))
    more = f" and {len(entry.aliases) - 1} more" if len(entry.aliases) > 1 else ""
    also = f"{entry.aliases[0]}{more}" if entry.aliases else "-"
    return entry.name, entry.about, sees, does, str(world.spec.num_agents), time_limit(world), also


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 3]}..."


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
