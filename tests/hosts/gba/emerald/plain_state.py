"""A plain state of the game, to be changed by `dataclasses.replace`: a new game in Littleroot, with one Pokemon."""

import dataclasses
from typing import Any

import numpy as np

from courtside.hosts.gba.emerald.memory import GameState
from courtside.hosts.gba.emerald.pokemon import Pokemon

LITTLEROOT = 9


def make_pokemon(hp: int = 20, max_hp: int = 20, number: int = 0, **changes: Any) -> Pokemon:
    """`number` tells several apart."""
    plain = Pokemon(
        species=277, level=5, experience=135, hp=hp, max_hp=max_hp, met_level=5, met_location=16, held_item=0,
        moves=(1, 43, 0, 0), pp=(35, 30, 0, 0), is_egg=False, nickname="TREECKO", friendship=70, evs=(0,) * 6,
        ivs=(number, 1, 2, 3, 4, 5), status=0,
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


def make_state(**changes: Any) -> GameState:
    plain = GameState(
        map_group=0, map_num=LITTLEROOT, x=10, y=10, money=3000, coins=0, badges=0, flags=bytes(300),
        variables=np.zeros(256, np.uint16), num_seen=0, num_owned=0, has_pokedex=False, has_pokenav=False,
        is_champion=False, visited=(True,) + (False,) * 15, party=(make_pokemon(),), boxes=(), bag={}, in_battle=False,
        battle_outcome=0, is_overworld=True, key=0, play_time=(0, 0, 0),
    )  # fmt: skip
    return dataclasses.replace(plain, **changes)


def flags(*numbers: int) -> bytes:
    """The game's flags with these set."""
    array = bytearray(300)
    for number in numbers:
        array[number // 8] |= 1 << number % 8
    return bytes(array)
