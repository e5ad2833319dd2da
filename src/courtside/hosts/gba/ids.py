"""Names of GBA games: `gba:emerald[sticky=0.2]`, or `gba:MODULE:NAME` for a description of your own. No emulator here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from courtside.errors import ConfigError
from courtside.settings.values import split_words, unknown_name

KIND = "gba"
PREFIX = f"{KIND}:"
GAMES = {"emerald": "courtside.hosts.gba.emerald.description:EMERALD"}
"""Game -> where its description is."""

_WRITTEN = re.compile(r"(?P<game>[^\[\]]*)(\[(?P<words>[^\[\]]*)\])?")
_PLAIN = "/\\:.~+-_ "
"""Signs of a value that need no code; paths may have commas and brackets, which part the words of a name."""


def recognise(env_id: str) -> str | None:
    """The name behind `gba:`, also of a game that is named alone; None for other envs' ids."""
    if env_id.startswith(PREFIX):
        return env_id.removeprefix(PREFIX)
    return env_id if env_id.lower() in GAMES else None


def write_name(game: str, told: Mapping[str, str]) -> str:
    """`emerald`, or `emerald[rom=/path/to.gba,sticky=0.2]` where it is told something."""
    words = ",".join(f"{name}={quote(value, safe=_PLAIN)}" for name, value in told.items())
    return f"{game}[{words}]" if words else game


def read_name(name: str) -> tuple[str, dict[str, str]]:
    """The game and what it is told, from what `write_name` wrote or a user typed behind `gba:`."""
    parts = _WRITTEN.fullmatch(name.strip())
    if parts is None:
        raise ConfigError(f"{PREFIX}{name} cannot be read; write {PREFIX}GAME, or {PREFIX}GAME[NAME=VALUE,NAME=VALUE].")
    words = [word for word in (parts["words"] or "").split(",") if word.strip()]
    return _check(parts["game"].strip()), {name: unquote(value) for name, value in split_words(words).items()}


def _check(game: str) -> str:
    """A game that we know, or one that names its module."""
    if game.lower() in GAMES:
        return game.lower()
    if ":" in game:
        return game
    hint = f" {PREFIX}MODULE:NAME takes a description of your own."
    raise ConfigError(unknown_name("GBA game", game, list(GAMES)) + hint)


def target_of(game: str) -> str:
    """`module:NAME` of a game's description."""
    return GAMES.get(game, game)
