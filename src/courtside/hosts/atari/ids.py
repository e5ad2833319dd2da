"""Names of Atari games: `atari:breakout[sticky=0.25]`, and the ids by which Gymnasium knows the same games. No emulator here."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from courtside.errors import ConfigError
from courtside.settings.values import split_words, unknown_name

KIND = "atari"
PREFIX = f"{KIND}:"
_NAMES = """
adventure air_raid alien amidar assault asterix asteroids atlantis atlantis2 backgammon bank_heist basic_math
battle_zone beam_rider berzerk blackjack bowling boxing breakout carnival casino centipede chopper_command
crazy_climber crossbow darkchambers defender demon_attack donkey_kong double_dunk earthworld elevator_action enduro
entombed et fishing_derby flag_capture freeway frogger frostbite galaxian gopher gravitar hangman haunted_house hero
human_cannonball ice_hockey jamesbond journey_escape kaboom kangaroo keystone_kapers king_kong klax koolaid krull
kung_fu_master laser_gates lost_luggage mario_bros miniature_golf montezuma_revenge mr_do ms_pacman name_this_game
othello pacman phoenix pitfall pitfall2 pong pooyan private_eye qbert riverraid road_runner robotank seaquest
sir_lancelot skiing solaris space_invaders space_war star_gunner superman surround tennis tetris tic_tac_toe_3d
time_pilot trondead turmoil tutankham up_n_down venture video_checkers video_chess video_cube video_pinball
wizard_of_wor word_zapper yars_revenge zaxxon
"""
GAMES = tuple(_NAMES.split())
"""As the emulator's package spells them."""
FOR_TWO = ("combat", "joust", "maze_craze", "warlords")
"""Games that one player cannot play."""

_BY_CLASS = {game.title().replace("_", "").lower(): game for game in GAMES}
_FOREIGN = re.compile(
    r"(?P<ale>ALE/)?(?P<name>[A-Za-z0-9]+?)(?P<ram>-ram)?(?P<way>NoFrameskip|Deterministic)?-v(?P<v>[045])"
)
_WRITTEN = re.compile(r"(?P<game>[^\[\]]*)(\[(?P<words>[^\[\]]*)\])?")

OWN_STICKY = 0.25
"""How often versions 0 and 5 repeat the last action instead of the new one."""


@dataclass(frozen=True)
class Found:
    """Where an id of another maker leads."""

    name: str
    """The game with what the id asks for, as `write_name` has it."""
    note: str


def write_name(game: str, told: Mapping[str, str]) -> str:
    """`breakout`, or `breakout[sticky=0.25,stack=2]` where it is told something."""
    words = ",".join(f"{name}={value}" for name, value in told.items())
    return f"{game}[{words}]" if words else game


def read_name(name: str) -> tuple[str, dict[str, str]]:
    """The game and what it is told, from what `write_name` wrote or a user typed behind `atari:`."""
    parts = _WRITTEN.fullmatch(name.strip())
    if parts is None:
        raise ConfigError(f"{PREFIX}{name} cannot be read; write {PREFIX}GAME, or {PREFIX}GAME[NAME=VALUE,NAME=VALUE].")
    words = [word for word in (parts["words"] or "").split(",") if word.strip()]
    return find_game(parts["game"]), split_words(words)


def find_game(name: str) -> str:
    """A game by its own name, however it is spelled, or which names come near."""
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    game = plain if plain in GAMES else _BY_CLASS.get(plain.replace("_", ""))
    if game is not None:
        return game
    if plain in FOR_TWO:
        raise ConfigError(
            f"{PREFIX}{plain} is a game for two players only; one agent cannot play it. Take another game."
        )
    raise ConfigError(unknown_name("Atari game", name, list(GAMES), "courtside envs atari"))


def near_games(name: str) -> list[str]:
    """Ids of the game that a name without our prefix comes very near, if there is one."""
    bare = re.sub(r"-v\d+$", "", name.lower())
    return [f"{PREFIX}{game}" for game in difflib.get_close_matches(bare, GAMES, n=1, cutoff=0.75)]


def recognise(env_id: str) -> Found | None:
    """What an id such as `BreakoutNoFrameskip-v4` or `ALE/Breakout-v5` runs as; None where it is no Atari game's."""
    if (parts := _take_apart(env_id)) is None:
        return None
    game = find_game(parts["name"])
    if parts["ram"]:
        raise ConfigError(
            f"{env_id} shows the console's memory instead of the picture, which is not offered; take {PREFIX}{game}."
        )
    name = write_name(game, {} if parts["v"] == "4" else {"sticky": str(OWN_STICKY)})
    return Found(
        name,
        f"{env_id} runs as {PREFIX}{name}{_describe_change(parts)}, unless --env-options say otherwise.{_describe_original(parts)}",
    )


def is_of_game(gym_id: str) -> bool:
    """Whether an id of Gymnasium's names an Atari game."""
    return _take_apart(gym_id) is not None


def _take_apart(env_id: str) -> re.Match[str] | None:
    parts = _FOREIGN.fullmatch(env_id)
    return parts if parts and (parts["ale"] or parts["way"] or parts["name"].lower() in _BY_CLASS) else None


def _describe_change(parts: re.Match[str]) -> str:
    """What is otherwise than in the env that the id names, so that nobody skips frames twice without noticing."""
    if parts["way"] == "NoFrameskip":
        return ""
    own = "4 frames" if parts["way"] == "Deterministic" or parts["v"] == "5" else "2 to 4 frames, drawn at random,"
    return f", without the {own} that this id skips by itself: frames are skipped once, as the option frame_skip says"


def _describe_original(parts: re.Match[str]) -> str:
    """Where the env itself is; Gymnasium no longer has the variants called Deterministic."""
    return "" if parts["way"] == "Deterministic" else f" --env-id gym:{parts[0]} takes Gymnasium's own, raw."
