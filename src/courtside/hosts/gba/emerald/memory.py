"""What the game knows, out of its memory: bytes in, typed values out, each checked. No JAX here.

The save blocks move about and what they hold of money and bag gets a new key, so pointers and key are read anew each time.
While the game copies the blocks from one place to the other, the pointers are already right and the bytes are not. It takes
its picture interrupt away for that while, and it never does so from the walking screen: such a frame is unknown, as is one whose
money cannot be, or whose clock cannot.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from courtside.hosts.gba.emerald.maps import is_map
from courtside.hosts.gba.emerald.pokemon import BAD_EGG, Pokemon, Read, decode_box_pokemon, decode_party_pokemon
from courtside.hosts.gba.emerald.symbols import (
    BADGE_FLAGS,
    BOX_POKEMON,
    BOX_SIZE,
    FLAG_BYTES,
    FLAGS,
    IN_BATTLE,
    MAIN,
    NUM_BOXES,
    NUM_ITEMS,
    NUM_NATIONAL,
    NUM_VARIABLES,
    PARTY_POKEMON,
    PARTY_SIZE,
    POCKETS,
    POKEDEX_BYTES,
    SAVE_BLOCK_1,
    SAVE_BLOCK_2,
    STORAGE,
    SYMBOLS,
    VISITED_FLAGS,
)

MAX_MONEY, MAX_COINS = 999_999, 9_999
MAX_OUTCOME = 10
LEAST_COORDINATE, MOST_COORDINATE = -7, 10_240 // 15
"""A player may stand on the border of 7 tiles around a map; map and border together have at most 10,240 tiles."""
OVERWORLD = SYMBOLS["CB2_Overworld"].address + 1
"""Odd, as the addresses of all of the game's code: its instructions are the short kind."""

_MAIN, _OUTCOME, _COUNT = (
    SYMBOLS["gMain"].address,
    SYMBOLS["gBattleOutcome"].address,
    SYMBOLS["gPlayerPartyCount"].address,
)
_POINTERS, _PARTY = SYMBOLS["gSaveBlock1Ptr"].address, SYMBOLS["gPlayerParty"].address - _COUNT
_AREAS = tuple(SYMBOLS[name].address for name in ("gSaveblock1", "gSaveblock2", "gPokemonStorage"))
_RANGE = 0x80
"""Bytes that a save block moves within."""
_NUM_PLACES = sum(places for places, _ in POCKETS.values())
_BAG = SAVE_BLOCK_1["bag"] - SAVE_BLOCK_1["money"]
_POSITION, _CLOCK, _CALLBACKS = struct.Struct("<hhbb"), struct.Struct("<HBBB"), struct.Struct("<I4xI")
_SLOTS = struct.Struct(f"<{2 * _NUM_PLACES}H")
_DEX_MASK = (1 << NUM_NATIONAL) - 1


@dataclass(frozen=True, slots=True, eq=False)
class GameState:
    """One frame, every value checked. A field is None where it alone is unknown."""

    map_group: int
    map_num: int
    x: int
    """Tiles; below zero while the player walks in from the map to the left."""
    y: int
    money: int | None
    coins: int | None
    badges: int
    """A bit for each, the first gym's lowest."""
    flags: bytes
    """300 bytes: flag f is bit f % 8 of byte f // 8."""
    variables: np.ndarray
    """uint16 [256]"""
    num_seen: int
    """Species in the Pokedex."""
    num_owned: int
    has_pokedex: bool
    has_pokenav: bool
    is_champion: bool
    visited: tuple[bool, ...]
    """The 16 towns, in the order of `maps.TOWNS`."""
    party: tuple[Pokemon, ...] | None
    boxes: tuple[Pokemon, ...] | None
    """Who is in a box, empty places left out."""
    bag: Mapping[str, tuple[tuple[int, int], ...]] | None
    """Of each pocket, items and how many."""
    in_battle: bool
    battle_outcome: int | None
    """1 won, 2 lost, 3 drew, 4 ran, 5 was teleported, 6 the foe fled, 7 caught, 8 out of safari balls, 9 forfeited,
    10 the foe was teleported; 0 nothing yet."""
    is_overworld: bool
    """The game runs its walking screen: no battle, menu or loading."""
    key: int
    """What money, coins and bag are encrypted with in this frame."""
    play_time: tuple[int, int, int]
    """Hours, minutes, seconds."""


@dataclass(frozen=True, slots=True)
class Pointers:
    """Where the save blocks are now."""

    block_1: int
    block_2: int
    storage: int


@dataclass(frozen=True, slots=True)
class Frame:
    """The bytes that a state is made of, all of one frame."""

    main: bytes
    outcome: bytes
    party: bytes
    """From the count of its members on."""
    position: bytes
    wealth: bytes
    """Money, coins, the computer's items, the bag."""
    story: bytes
    """Flags and variables."""
    owner: bytes
    """The second save block, up to the key."""
    boxes: bytes


def read_state(read: Read) -> GameState | None:
    """Everything; None where the frame is not to be believed."""
    frame = read_frame(read)
    return None if frame is None else decode_frame(frame)


def read_frame(read: Read) -> Frame | None:
    """None where a pointer leads elsewhere, or the game is moving what they point to."""
    main, pointers = read(_MAIN, MAIN["bits"] + 1), decode_pointers(read(_POINTERS, 12))
    if pointers is None or is_moving(main):
        return None
    return Frame(
        main,
        read(_OUTCOME, 1),
        read(_COUNT, _PARTY + PARTY_SIZE * PARTY_POKEMON),
        read(pointers.block_1, _POSITION.size),
        read(pointers.block_1 + SAVE_BLOCK_1["money"], _BAG + _SLOTS.size),
        read(pointers.block_1 + SAVE_BLOCK_1["flags"], FLAG_BYTES + 2 * NUM_VARIABLES),
        read(pointers.block_2, SAVE_BLOCK_2["encryptionKey"] + 4),
        read(pointers.storage + STORAGE["boxes"], NUM_BOXES * BOX_SIZE * BOX_POKEMON),
    )


def decode_frame(frame: Frame) -> GameState | None:
    """None where position, money or clock cannot be."""
    key = int.from_bytes(frame.owner[-4:], "little")
    place, money, play_time = (
        decode_position(frame.position),
        decode_money(frame.wealth, key),
        decode_play_time(frame.owner),
    )
    if place is None or money is None or play_time is None:
        return None
    flags, (num_seen, num_owned) = frame.story[:FLAG_BYTES], count_pokedex(frame.owner)
    bits = int.from_bytes(flags, "little")
    return GameState(
        map_group=place[0],
        map_num=place[1],
        x=place[2],
        y=place[3],
        money=money,
        coins=decode_coins(frame.wealth, key),
        badges=bits >> BADGE_FLAGS.start & 0xFF,
        flags=flags,
        variables=np.frombuffer(frame.story, "<u2", NUM_VARIABLES, FLAG_BYTES),
        num_seen=num_seen,
        num_owned=num_owned,
        has_pokedex=bool(bits >> FLAGS["has_pokedex"] & 1),
        has_pokenav=bool(bits >> FLAGS["has_pokenav"] & 1),
        is_champion=bool(bits >> FLAGS["is_champion"] & 1),
        visited=tuple([bit == "1" for bit in f"{bits >> VISITED_FLAGS.start & 0xFFFF:016b}"[::-1]]),
        party=decode_party(frame.party[0], frame.party[_PARTY:]),
        boxes=decode_boxes(frame.boxes),
        bag=decode_bag(frame.wealth[_BAG:], key),
        in_battle=bool(frame.main[MAIN["bits"]] & IN_BATTLE),
        battle_outcome=decode_outcome(frame.outcome[0]),
        is_overworld=_CALLBACKS.unpack_from(frame.main, MAIN["callback2"])[0] == OVERWORLD,
        key=key,
        play_time=play_time,
    )


def decode_pointers(raw: bytes) -> Pointers | None:
    """None where one leads out of the area that its block moves within."""
    pointers = struct.unpack("<3I", raw)
    offsets = [pointer - area for pointer, area in zip(pointers, _AREAS, strict=True)]
    inside = all(0 <= offset < _RANGE and offset % 4 == 0 for offset in offsets)
    return Pointers(*pointers) if inside else None


def is_moving(main: bytes) -> bool:
    """Whether the save blocks may be on their way from one place to the other."""
    callback2, picture_interrupt = _CALLBACKS.unpack_from(main, MAIN["callback2"])
    return callback2 != OVERWORLD and picture_interrupt == 0


def decode_position(raw: bytes) -> tuple[int, int, int, int] | None:
    """Group and number of the map, x, y."""
    x, y, group, num = _POSITION.unpack(raw)
    possible = LEAST_COORDINATE <= min(x, y) and max(x, y) <= MOST_COORDINATE and is_map(group, num)
    return (group, num, x, y) if possible else None


def decode_money(wealth: bytes, key: int) -> int | None:
    money = int.from_bytes(wealth[:4], "little") ^ key
    return money if money <= MAX_MONEY else None


def decode_coins(wealth: bytes, key: int) -> int | None:
    coins = int.from_bytes(wealth[4:6], "little") ^ key & 0xFFFF
    return coins if coins <= MAX_COINS else None


def decode_play_time(owner: bytes) -> tuple[int, int, int] | None:
    """Hours, minutes, seconds."""
    hours, minutes, seconds, frames = _CLOCK.unpack_from(owner, SAVE_BLOCK_2["playTime"])
    return (hours, minutes, seconds) if hours < 1000 and max(minutes, seconds, frames) < 60 else None


def decode_outcome(raw: int) -> int | None:
    """The highest bit only tells a link that broke."""
    return raw & 0x7F if raw & 0x7F <= MAX_OUTCOME else None


def decode_bag(raw: bytes, key: int) -> dict[str, tuple[tuple[int, int], ...]] | None:
    """Of each pocket, items and how many; None where one of them cannot be."""
    pockets = _decode_pockets(raw, key & 0xFFFF)
    return None if pockets is None else dict(zip(POCKETS, pockets, strict=True))


@functools.lru_cache(maxsize=64)
def _decode_pockets(raw: bytes, key: int) -> tuple[tuple[tuple[int, int], ...], ...] | None:
    numbers, pockets, first = _SLOTS.unpack(raw), [], 0
    for places, most in POCKETS.values():
        last = first + 2 * places
        pocket = tuple(
            (item, count ^ key)
            for item, count in zip(numbers[first:last:2], numbers[first + 1 : last : 2], strict=True)
            if item
        )
        if not all(item < NUM_ITEMS and 0 < count <= most for item, count in pocket):
            return None
        pockets.append(pocket)
        first = last
    return tuple(pockets)


def decode_party(count: int, raw: bytes) -> tuple[Pokemon, ...] | None:
    """None where there are too many, or one of them is unknown."""
    if count > PARTY_SIZE:
        return None
    return _all_known(
        [decode_party_pokemon(raw[i : i + PARTY_POKEMON]) for i in range(0, count * PARTY_POKEMON, PARTY_POKEMON)]
    )


@functools.lru_cache(maxsize=32)
def decode_boxes(raw: bytes) -> tuple[Pokemon, ...] | None:
    """None where one of them is unknown; one that the game itself gave up as a bad egg is nobody. The same bytes are looked
    at once, for boxes seldom change."""
    places = np.frombuffer(raw, np.uint8).reshape(-1, BOX_POKEMON)
    is_held = places.any(axis=1) & (places[:, 0x13] & BAD_EGG == 0)
    return _all_known([decode_box_pokemon(places[i].tobytes()) for i in np.flatnonzero(is_held)])


def _all_known(pokemon: list[Pokemon | None]) -> tuple[Pokemon, ...] | None:
    known = [one for one in pokemon if one is not None]
    return tuple(known) if len(known) == len(pokemon) else None


def count_pokedex(owner: bytes) -> tuple[int, int]:
    """Species seen and owned. Who was not seen is not owned: so the game itself counts."""
    seen, owned = _pokedex_bits(owner)
    return seen.bit_count(), owned.bit_count()


def pokedex_numbers(owner: bytes) -> tuple[frozenset[int], frozenset[int]]:
    """The numbers of the species seen, and of those owned; `Tables.national` gives a species' number."""
    seen, owned = _pokedex_bits(owner)
    numbers = range(1, NUM_NATIONAL + 1)
    return frozenset(n for n in numbers if seen >> n - 1 & 1), frozenset(n for n in numbers if owned >> n - 1 & 1)


def _pokedex_bits(owner: bytes) -> tuple[int, int]:
    first_seen, first_owned = SAVE_BLOCK_2["seen"], SAVE_BLOCK_2["owned"]
    seen = int.from_bytes(owner[first_seen : first_seen + POKEDEX_BYTES], "little") & _DEX_MASK
    return seen, int.from_bytes(owner[first_owned : first_owned + POKEDEX_BYTES], "little") & seen


def is_set(flags: bytes, flag: int) -> bool:
    return bool(flags[flag // 8] >> flag % 8 & 1)


def count_set(flags: bytes, which: range) -> int:
    """How many of some flags that follow each other are set."""
    return (int.from_bytes(flags, "little") >> which.start & (1 << len(which)) - 1).bit_count()
