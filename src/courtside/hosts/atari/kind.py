"""Atari games: `atari:breakout[sticky=0.25]`, and the ids by which Gymnasium knows the same games. No emulator here."""

from __future__ import annotations

import dataclasses
import difflib
import re
import textwrap

from courtside.errors import ConfigError
from courtside.hosts.atari import options
from courtside.settings.kinds import EnvSource, GamePage, Games, Kind, read_game
from courtside.settings.values import unknown_name

PREFIX = "atari:"
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
OWN_STICKY = 0.25
"""How often versions 0 and 5 repeat the last action instead of the new one."""


def read(env_id: str) -> EnvSource:
    """Where `atari:GAME`, `BreakoutNoFrameskip-v4` or `ALE/Breakout-v5` leads."""
    if env_id.startswith(PREFIX):
        game, words = read_game(env_id)
        return EnvSource("atari", find_game(game), words)
    parts = _take_apart(env_id)
    assert parts is not None  # `recognises` was asked
    game = find_game(parts["name"])
    if parts["ram"]:
        raise ConfigError(
            f"{env_id} shows the console's memory instead of the picture, which is not offered; take {PREFIX}{game}."
        )
    source = EnvSource("atari", game, {} if parts["v"] == "4" else {"sticky": str(OWN_STICKY)})
    note = f"{env_id} runs as {source.id}{_describe_change(parts)}, unless --env-options say otherwise."
    if parts["way"] != "Deterministic":  # Gymnasium no longer has those variants
        note += f" --env-id gym:{env_id} takes Gymnasium's own, raw."
    return dataclasses.replace(source, note=note)


def recognises(env_id: str) -> bool:
    """Whether an id of Gymnasium's names an Atari game."""
    return _take_apart(env_id) is not None


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


def near_games(name: str) -> tuple[str, ...]:
    """Ids of the game that a name without our prefix comes very near, if there is one."""
    bare = re.sub(r"-v\d+$", "", name.lower())
    return tuple(f"{PREFIX}{game}" for game in difflib.get_close_matches(bare, GAMES, n=1, cutoff=0.75))


def _take_apart(env_id: str) -> re.Match[str] | None:
    parts = _FOREIGN.fullmatch(env_id)
    return parts if parts and (parts["ale"] or parts["way"] or parts["name"].lower() in _BY_CLASS) else None


def _describe_change(parts: re.Match[str]) -> str:
    """What is otherwise than in the env that the id names, so that nobody skips frames twice without noticing."""
    if parts["way"] == "NoFrameskip":
        return ""
    own = "4 frames" if parts["way"] == "Deterministic" or parts["v"] == "5" else "2 to 4 frames, drawn at random,"
    return f", without the {own} that this id skips by itself: frames are skipped once, as the option frame_skip says"


def list_games() -> list[str]:
    lines = textwrap.wrap(", ".join(GAMES), 120, break_on_hyphens=False)
    example = "courtside train --env-id atari:breakout"
    return [f"{len(GAMES)} Atari games, each with the prefix {PREFIX}, as in `{example}`", "", *lines]


def make_page(source: EnvSource) -> GamePage:
    """The game is built to see its actions."""
    from courtside import spaces
    from courtside.hosts.atari.calls import build_env, describe_env

    env = build_env(source)
    limit = describe_env(source.id, env).time_limit
    facts = {
        "sees": spaces.describe(env.observation),
        "does": f"one of {len(env.action_names)}: {', '.join(env.action_names)}",
        "time limit": f"{limit} steps of a game" if limit else "-",
    }
    record = {
        "observation": spaces.to_json(env.observation), "action": spaces.to_json(env.action),
        "actions": list(env.action_names), "time_limit": limit,
    }  # fmt: skip
    return GamePage(source.id, "an Atari game", facts, record)


KIND = Kind(
    name="atari", calls="courtside.hosts.atari.calls", check="courtside.hosts.atari.check",
    usage="atari:game", about="any Atari game, such as atari:breakout (needs the atari extra); `courtside envs atari` lists them",
    read=read, recognises=recognises, near=near_games, registers="ale_py",
    games=Games(
        names=GAMES, list_names=list_games, make_page=make_page, list_options=options.list_options, give=options.give,
        describe=options.describe,
    ),
    for_evaluation=options.for_evaluation, sees_pixels=True, whole_games=True, holds_lock=True, shows_screens=True, zoom=3, unit="score",
)  # fmt: skip
