"""One Pokemon, out of the bytes of the party or of a box. No JAX here.

Four blocks of 12 bytes are encrypted and lie in an order that its personality decides; a checksum tells whether they are whole.
The game decrypts them in place while it looks at them, so that a frame may well catch one half-way: such a one is unknown.
"""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Callable
from dataclasses import dataclass

from courtside.errors import EnvContractError
from courtside.hosts.gba.emerald.symbols import (
    BOX_POKEMON,
    NUM_GROWTH_RATES,
    NUM_ITEMS,
    NUM_LEVELS,
    NUM_MOVES,
    NUM_SPECIES,
    SPECIES_INFO,
    SYMBOLS,
)
from courtside.hosts.gba.emerald.text import decode_text

Read = Callable[[int, int], bytes]
"""`read(address, size)` gives the bytes of the emulator's memory."""

ORDERS = (
    *("0123", "0132", "0213", "0312", "0231", "0321", "1023", "1032", "2013", "3012", "2031", "3021"),
    *("1203", "1302", "2103", "3102", "2301", "3201", "1230", "1320", "2130", "3120", "2310", "3210"),
)
"""By personality modulo 24: the places at which the blocks of kind 0, 1, 2 and 3 lie."""
STARTS = tuple(tuple(12 * int(place) for place in order) for order in ORDERS)
MAX_EXPERIENCE = 1_640_000
"""Level 100 of those that need the most."""
BAD_EGG, HAS_SPECIES = 1 << 0, 1 << 1
AILMENTS = {1 << 3: "poisoned", 1 << 4: "burned", 1 << 5: "frozen", 1 << 6: "paralysed", 1 << 7: "badly poisoned"}

_TABLES = tuple(SYMBOLS[name] for name in ("gSpeciesInfo", "gExperienceTables", "sSpeciesToNationalPokedexNum"))
_OUTSIDE = struct.Struct("<II10sxB8xH2x")
_GROWTH, _ATTACKS, _EFFORT, _ORIGIN = (struct.Struct(form) for form in ("<HHIxB", "<4H4B", "<6B", "<xBHI"))
_IN_PARTY = struct.Struct("<IBxHH")
_HALVES = struct.Struct("<24H")
_EVERY_WORD = sum(1 << (32 * i) for i in range(12))


@dataclass(frozen=True, slots=True)
class Pokemon:
    """What memory says of it; all checked against its checksum and the game's limits."""

    species: int
    """The game's own number, 1 to 411; not the number in the Pokedex."""
    level: int
    """1 to 100; 0 in a box, which does not store it."""
    experience: int
    hp: int
    """0 in a box, which does not store it."""
    max_hp: int
    """0 in a box, which does not store it."""
    met_level: int
    """0 where it hatched."""
    met_location: int
    held_item: int
    moves: tuple[int, ...]
    """Four; 0 is none."""
    pp: tuple[int, ...]
    is_egg: bool
    nickname: str | None
    """None where a letter is not known."""
    friendship: int
    evs: tuple[int, ...]
    """HP, attack, defense, speed, special attack, special defense."""
    ivs: tuple[int, ...]
    """In the same order, 0 to 31."""
    status: int
    """Bits 0-2 turns of sleep, 3 poison, 4 burn, 5 freeze, 6 paralysis, 7 bad poison; 0 in a box."""


@functools.lru_cache(maxsize=256)
def decode_party_pokemon(raw: bytes) -> Pokemon | None:
    """One of the party, 100 bytes; None where it is not whole or cannot be. The same bytes are looked at once."""
    status, level, hp, max_hp = _IN_PARTY.unpack_from(raw, BOX_POKEMON)
    possible = 1 <= level <= NUM_LEVELS and hp <= max_hp and 0 < max_hp < 1000 and status < 1 << 12
    return _decode(raw[:BOX_POKEMON], level, hp, max_hp, status & 0xFF) if possible else None


@functools.lru_cache(maxsize=1024)
def decode_box_pokemon(raw: bytes) -> Pokemon | None:
    """One in a box, 80 bytes; None where it is not whole or cannot be. The same bytes are looked at once."""
    return _decode(raw, 0, 0, 0, 0)


def decrypt(raw: bytes) -> bytes | None:
    """The four blocks of 80 bytes in the order of their kinds; None where the checksum is another."""
    personality, trainer, _, _, checksum = _OUTSIDE.unpack_from(raw)
    mask = (personality ^ trainer) * _EVERY_WORD
    plain = (int.from_bytes(raw[0x20:BOX_POKEMON], "little") ^ mask).to_bytes(48, "little")
    if sum(_HALVES.unpack(plain)) & 0xFFFF != checksum:
        return None
    return b"".join([plain[start : start + 12] for start in STARTS[personality % 24]])


def _decode(raw: bytes, level: int, hp: int, max_hp: int, status: int) -> Pokemon | None:
    _, _, nickname, bits, _ = _OUTSIDE.unpack_from(raw)
    plain = decrypt(raw)
    if plain is None or bits & (BAD_EGG | HAS_SPECIES) != HAS_SPECIES:
        return None
    species, held_item, experience, friendship = _GROWTH.unpack_from(plain, 0)
    attacks = _ATTACKS.unpack_from(plain, 12)
    met_location, origin, genes = _ORIGIN.unpack_from(plain, 36)
    met_level = origin & 0x7F
    if not _is_possible(species, held_item, experience, met_level, attacks[:4]):
        return None
    return Pokemon(
        species=species,
        level=level,
        experience=experience,
        hp=hp,
        max_hp=max_hp,
        met_level=met_level,
        met_location=met_location,
        held_item=held_item,
        moves=attacks[:4],
        pp=attacks[4:],
        is_egg=bool(genes >> 30 & 1),
        nickname=decode_text(nickname),
        friendship=friendship,
        evs=_EFFORT.unpack_from(plain, 24),
        ivs=tuple([genes >> shift & 31 for shift in range(0, 30, 5)]),
        status=status,
    )


def _is_possible(species: int, held_item: int, experience: int, met_level: int, moves: tuple[int, ...]) -> bool:
    is_one = 0 < species < NUM_SPECIES and held_item < NUM_ITEMS and max(moves) < NUM_MOVES
    return is_one and experience <= MAX_EXPERIENCE and met_level <= NUM_LEVELS


def ailments(status: int) -> tuple[str, ...]:
    """What a Pokemon suffers from, in words."""
    asleep = (f"asleep for {status & 7} turns",) if status & 7 else ()
    return asleep + tuple(word for bit, word in AILMENTS.items() if status & bit)


@dataclass(frozen=True)
class Tables:
    """What the cartridge says of species; it never changes, so one reading is enough."""

    growth: tuple[int, ...]
    """Of each species, how fast it grows: a row of `experience`."""
    experience: tuple[tuple[int, ...], ...]
    """[6, 101], what a level takes."""
    national: tuple[int, ...]
    """Of each species, its number in the Pokedex; 0 for none."""


def read_tables(read: Read) -> Tables | None:
    """None where the cartridge holds no such tables, or ends before them: it is another game, or another edition."""
    try:
        info, experience, national = (read(symbol.address, symbol.size) for symbol in _TABLES)
    except EnvContractError:
        return None
    growth = tuple(info[SPECIES_INFO["growthRate"] :: SPECIES_INFO["end"]])
    amounts = struct.unpack(f"<{len(experience) // 4}I", experience)
    rows = tuple(amounts[i : i + NUM_LEVELS + 1] for i in range(0, len(amounts), NUM_LEVELS + 1))
    tables = Tables(growth, rows, (0, *struct.unpack(f"<{len(national) // 2}H", national)))
    return tables if _are_tables(tables) else None


def _are_tables(tables: Tables) -> bool:
    """Rates that exist, levels that take ever more, and a Pokedex number of its own for each species."""
    grows = all(row[0] == 0 and all(a < b for a, b in itertools.pairwise(row)) for row in tables.experience)
    bounded = max(max(row) for row in tables.experience) <= MAX_EXPERIENCE
    numbered = sorted(tables.national) == list(range(NUM_SPECIES))
    return grows and bounded and numbered and max(tables.growth) < NUM_GROWTH_RATES


def gained_experience(pokemon: Pokemon, tables: Tables, *, fixed: bool = True) -> int:
    """What it has earned since it was met; never below zero where `fixed`."""
    gained = pokemon.experience - tables.experience[tables.growth[pokemon.species]][pokemon.met_level]
    return max(gained, 0) if fixed else gained
