"""Who fights in the battle under way. Nothing of it is encrypted. No JAX here."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from courtside.hosts.gba.emerald.pokemon import Read
from courtside.hosts.gba.emerald.symbols import (
    BATTLE_POKEMON,
    IN_BATTLE,
    MAIN,
    NUM_LEVELS,
    NUM_MOVES,
    NUM_SPECIES,
    SYMBOLS,
)
from courtside.hosts.gba.emerald.text import decode_text

IS_DOUBLE, IS_TRAINER, IS_FIRST, IS_SAFARI, IS_LESSON = 1 << 0, 1 << 3, 1 << 4, 1 << 7, 1 << 9
"""Of the kind of a battle; a lesson is the one in which Wally is shown how to catch."""
_FIGHTER = struct.Struct("<H10x4H")
_STRENGTH = struct.Struct("<4BHBxH2x11s")


@dataclass(frozen=True, slots=True)
class Fighter:
    """A Pokemon in a battle."""

    species: int
    level: int
    hp: int
    max_hp: int
    moves: tuple[int, ...]
    pp: tuple[int, ...]
    status: int
    """As `Pokemon.status`."""
    nickname: str | None


@dataclass(frozen=True, slots=True)
class Battle:
    kind: int
    """Bits: `IS_DOUBLE`, `IS_TRAINER`, ..."""
    fighters: tuple[Fighter, ...]
    """The player's and the foe's by turns, two or four."""


def read_battle(read: Read) -> Battle | None:
    """None where there is no battle, or one of the fighters cannot be, as while it is being set up."""
    if not read(SYMBOLS["gMain"].address + MAIN["bits"], 1)[0] & IN_BATTLE:
        return None
    kind = int.from_bytes(read(SYMBOLS["gBattleTypeFlags"].address, 4), "little")
    count, raw = read(SYMBOLS["gBattlersCount"].address, 1)[0], read(SYMBOLS["gBattleMons"].address, 4 * BATTLE_POKEMON)
    if count != (4 if kind & IS_DOUBLE else 2):
        return None
    fighters = [decode_fighter(raw[i * BATTLE_POKEMON : (i + 1) * BATTLE_POKEMON]) for i in range(count)]
    known = tuple(fighter for fighter in fighters if fighter is not None)
    return Battle(kind, known) if len(known) == count else None


def decode_fighter(raw: bytes) -> Fighter | None:
    species, *moves = _FIGHTER.unpack_from(raw)
    *pp, hp, level, max_hp, nickname = _STRENGTH.unpack_from(raw, 0x24)
    status = int.from_bytes(raw[0x4C:0x50], "little")
    if not (
        0 < species < NUM_SPECIES
        and max(moves) < NUM_MOVES
        and 1 <= level <= NUM_LEVELS
        and hp <= max_hp
        and max_hp > 0
    ):
        return None
    return Fighter(species, level, hp, max_hp, tuple(moves), tuple(pp), status & 0xFF, decode_text(nickname))
