"""Games of the Game Boy Advance: `gba:emerald[sticky=0.2]`, or `gba:MODULE:NAME` for a description of your own. No emulator here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from courtside.errors import ConfigError
from courtside.settings import gate
from courtside.settings.kinds import EnvSource, GamePage, Games, Kind, read_game
from courtside.settings.values import Option, unknown_name

PREFIX = "gba:"
GAMES = {"emerald": "courtside.hosts.gba.emerald.description:EMERALD"}
"""Game -> where its description is."""
VISITS = "visits.png"


def read(env_id: str) -> EnvSource:
    """Where `gba:GAME` leads, or a game that is named alone."""
    if recognises(env_id):
        return EnvSource("gba", env_id.lower())
    game, words = read_game(env_id)
    game = game.strip()
    if game.lower() in GAMES:
        return EnvSource("gba", game.lower(), words)
    if ":" in game:
        return EnvSource("gba", game, words)
    hint = f" {PREFIX}MODULE:NAME takes a description of your own."
    raise ConfigError(unknown_name("GBA game", game, list(GAMES)) + hint)


def recognises(env_id: str) -> bool:
    return env_id.lower() in GAMES


def targets(source: EnvSource) -> tuple[str, ...]:
    return () if source.name in GAMES else (source.name,)


# What follows needs the game's description, which is imported with its rewards.


def list_options(source: EnvSource) -> tuple[Option, ...]:
    from courtside.hosts.gba import options

    return options.list_options(options.read(source).description)


def give(source: EnvSource, more: Mapping[str, Any]) -> EnvSource:
    """The cartridge must be there: that is said at once, before any worker is started."""
    from courtside.hosts.gba import options

    options.require_rom(source := options.give(source, more))
    return source


def describe(source: EnvSource, more: Mapping[str, Any]) -> dict[str, Any]:
    """Empty as long as nobody has agreed to import the game's description: settings are read before that."""
    if source.name not in GAMES and not gate.is_allowed(source.name):
        return {}
    from courtside.hosts.gba import options

    return options.describe(source, more)


def for_evaluation(source: EnvSource) -> EnvSource:
    from courtside.hosts.gba import options

    return options.give(source, {"evaluation": True})


def for_training(source: EnvSource, folder: str, first_seed: int, num_envs: int) -> EnvSource:
    return give(source, {"folder": folder, "first_seed": first_seed, "num_envs": num_envs})


def list_games() -> list[str]:
    """The games that we have a description of, and how to bring another."""
    own = f"  {PREFIX}MODULE:NAME   a description of your own (docs/emerald.md)"
    known = [f"  {PREFIX}{game}" for game in GAMES]
    return ["Games of the Game Boy Advance; the cartridge is yours (--rom PATH)", "", *known, own]


def make_page(source: EnvSource) -> GamePage:
    """Known without the cartridge."""
    from courtside import spaces
    from courtside.hosts.gba import observation, options

    game = options.read(source).description
    facts = {
        "sees": spaces.describe(observation.SPACE),
        "does": f"one of {len(game.actions)}: {', '.join(game.action_names)}",
        "cartridge": " or ".join(f"SHA-1 {sha1}" for sha1 in game.rom_sha1) or game.rom_code or "any",
    }
    record = {
        "about": game.about, "observation": spaces.to_json(observation.SPACE),
        "action": spaces.to_json(spaces.Discrete(len(game.actions))), "actions": list(game.action_names),
        "rom_sha1": list(game.rom_sha1), "rom_code": game.rom_code,
    }  # fmt: skip
    return GamePage(source.bare_id, game.about, facts, record)


KIND = Kind(
    name="gba", calls="courtside.hosts.gba.calls", check="courtside.hosts.gba.check",
    usage="gba:emerald", about="Pokemon Emerald from your own cartridge's dump (--rom PATH; needs the emulator extra)",
    read=read, recognises=recognises, targets=targets,
    games=Games(
        names=tuple(GAMES), list_names=list_games, make_page=make_page, list_options=list_options, give=give, describe=describe
    ),
    for_evaluation=for_evaluation, for_training=for_training,
    file_options={"rom": "ROM", "save": "save file", "start": "saved state", "folder": "folder"},
    sees_pixels=True, holds_lock=True, shows_screens=True, zoom=2,
    pictures={VISITS: "Where the agents have been"}, draws="courtside.hosts.gba.visit_map",
    player="courtside.hosts.gba.player", replay="courtside.hosts.gba.replay_video",
)  # fmt: skip
