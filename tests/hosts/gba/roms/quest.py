"""A tile world that keeps its memory as Pokemon Emerald keeps its own, at the same addresses: badges lie about on two maps.

The arrows walk, a tile in eight frames. On a badge the player gets it, with some money, a potion, experience and a page of
the Pokedex. Grass costs the first Pokemon health, the centre gives it back, and a switch flips a script flag each time it is
stepped on. A door leads from Littleroot to Petalburg and back: the screen is black for a while, the save blocks move and
their key changes, as in the real game. Nothing is left to chance: the same keys give the same game.
"""

from __future__ import annotations

import struct
from pathlib import Path

from assembler import HEADER_SIZE, ROM, assemble, cartridge

TITLE, CODE = "BADGE QUEST", "CSQE"
FRAMES_PER_MOVE = 8
LOADING_FRAMES = 12
"""Of the main loop, with the screen black; moving the save blocks makes a few of them longer."""
MAPS = (
    (  # Littleroot: group 0, number 9
        ".1..g..2",
        "..#...#.",
        "..s...#.",
        ".#......",
        ".#.h...D",
        "....#...",
        ".....#..",
        "3..g...4",
    ),
    (  # Petalburg: group 0, number 0
        "5...#..6",
        "..#...#.",
        "..#.g...",
        "D....h..",
        "..#..s..",
        "....#...",
        ".#......",
        "7...#..8",
    ),
)
MAP_NUMBERS, FIRST_COORDINATES = (9, 0), (0, -3)
"""Of each map: its number, and x and y of its upper left tile."""
START, ARRIVALS = (4, 3), ((6, 4), (1, 3))
"""Tiles: where the player begins, and where one stands after the door to each map."""
TILES = ".#Dsgh"
"""Floor, wall, door, switch, grass, centre; badges follow from FIRST_BADGE on."""
FLOOR, WALL, DOOR, SWITCH, GRASS, CENTRE, FIRST_BADGE = range(7)
SWITCH_FLAG, FLAGS_AT_START = 0x123, (0x074, 0x860, 0x861, 0x86F)
MONEY_AT_START, MONEY_PER_BADGE, EXPERIENCE_PER_BADGE, HEALTH_PER_GRASS = 3000, 500, 5, 4
BADGE, VISITED_PETALBURG = 0x867, 0x876
PERSONALITY, TRAINER, SPECIES, LEVEL, GROWTH_RATE = 0x9A3C51E7, 0x1B2E4D35, 277, 5, 3

FLOOR_COLOUR, PLAYER_COLOUR, ON_COLOUR, MARGIN_COLOUR = 0x1084, 0x7FFF, 0x7C1F, 0x0841
COLOURS = {  # around and inside, 5 bits each of blue, green, red
    FLOOR: (FLOOR_COLOUR, FLOOR_COLOUR),
    WALL: (0x3DEF, 0x3DEF),
    DOOR: (0x0194, 0x0000),
    SWITCH: (FLOOR_COLOUR, 0x3C0F),
    GRASS: (0x0D24, 0x0D64),
    CENTRE: (FLOOR_COLOUR, 0x18DF),
    FIRST_BADGE: (FLOOR_COLOUR, 0x0339),
}

# Emerald's own addresses and offsets.
PARTY_COUNT, PARTY = 0x020244E9, 0x020244EC
POINTERS, RANDOM, MAIN = 0x03005D8C, 0x03005D80, 0x030022C0
OVERWORLD, LOAD_MAP, PICTURE_INTERRUPT = 0x08085E5D, 0x08085FCD, 0x08085E01
BLOCKS = ((0x02025A00, 0x3D88), (0x02024A54, 0xF2C), (0x02029808, 0x83D0))
"""Area and size of save block 1, save block 2 and storage, in the order of their pointers."""
MONEY_AT, BAG_AT, NUM_SLOTS, FLAGS_AT, VARS_AT, STATS_AT, NUM_STATS = 0x490, 0x560, 186, 0x1270, 0x139C, 0x159C, 64
TIME_AT, OWNED_AT, SEEN_AT, KEY_AT = 0x0E, 0x28, 0x5C, 0xAC
EXPERIENCE_TABLES, SPECIES_INFO, NATIONAL_NUMBERS = 0x0831F72C, 0x083203CC, 0x0831DC82
NUM_SPECIES = 412

STAGING = 0x02010000
"""Where a block lies while it moves."""
GAME = 0x03000000
WAIT, LOADING, MAP, COLUMN, ROW, NEXT_MAP, STEPS = (4 * i for i in range(7))
"""The game's own words, from GAME on: frames until the next step is possible, frames of loading left, map, tile, map that
is being loaded, and steps so far."""

SOURCES = ("quest_game.s", "quest_blocks.s", "quest_screen.s")


def tiles(rows: tuple[str, ...]) -> list[int]:
    """A map's tiles as numbers."""
    return [TILES.index(tile) if tile in TILES else FIRST_BADGE + int(tile) - 1 for tile in "".join(rows)]


def data() -> str:
    """What the source needs beside its code."""
    listed = {
        "maps": (".byte", [tile for rows in MAPS for tile in tiles(rows)]),
        "colours": (".half", [colour for pair in COLOURS.values() for colour in pair]),
        "arrivals": (".word", [number for tile in ARRIVALS for number in tile]),
        "map_numbers": (".word", MAP_NUMBERS),
        "first_coordinates": (".word", FIRST_COORDINATES),
        "first_flags": (".half", [*FLAGS_AT_START, 0]),
        "party": (".byte", pokemon(20, 0) + pokemon(15, 1)),
        "owner": (".byte", bytes((0xCB, 0xD5, *[0xFF] * 6, 0, 0)) + TRAINER.to_bytes(4, "little") + bytes(2)),
    }
    return "\n".join(f"{name}:\n    {kind} {', '.join(map(str, values))}" for name, (kind, values) in listed.items())


def pokemon(health: int, number: int) -> bytes:
    """One of the party, 100 bytes: blocks in the order that its personality asks for, encrypted, with a checksum."""
    personality = PERSONALITY + number
    growth = struct.pack("<HHIBBH", SPECIES, 0, experience(GROWTH_RATE, LEVEL), 0, 70, 0)
    attacks = struct.pack("<4H4B", 1, 43, 0, 0, 35, 30, 0, 0)
    effort = bytes(12)
    origin = struct.pack("<BBHII", 0, 16, LEVEL | 3 << 7 | 4 << 11, 0x2A5294A5 & 0x3FFFFFFF, 0)
    blocks = dict(zip(_places(personality), (growth, attacks, effort, origin), strict=True))
    plain = b"".join(blocks[place] for place in range(4))
    secret = b"".join(
        (word ^ personality ^ TRAINER).to_bytes(4, "little") for (word,) in struct.iter_unpack("<I", plain)
    )
    checksum = sum(half for (half,) in struct.iter_unpack("<H", plain)) & 0xFFFF
    outside = struct.pack(
        "<II10sBB7sBHH", personality, TRAINER, b"\xcb\xd5\xff".ljust(10, b"\xff"), 2, 2, b"\xff" * 7, 0, checksum, 0
    )
    return outside + secret + struct.pack("<IBBHH5H", 0, LEVEL, 0xFF, health, health, 11, 10, 12, 11, 10)


def _places(personality: int) -> tuple[int, ...]:
    """Where blocks 0 to 3 lie; the two personalities of ours alone."""
    return {7: (1, 0, 3, 2), 8: (2, 0, 1, 3)}[personality % 24]


def experience(rate: int, level: int) -> int:
    """What a level takes in this world, whose rates are our own."""
    return level**3 + rate * level


def tables() -> dict[int, bytes]:
    """What the game says of species, by address: experience, growth rates, Pokedex numbers."""
    growth = b"".join(bytes(0x13) + bytes((GROWTH_RATE,)) + bytes(8) for _ in range(NUM_SPECIES))
    levels = [experience(rate, level) for rate in range(8) for level in range(101)]
    return {
        EXPERIENCE_TABLES: struct.pack(f"<{len(levels)}I", *levels),
        SPECIES_INFO: growth,
        NATIONAL_NUMBERS: struct.pack(f"<{NUM_SPECIES - 1}H", *range(1, NUM_SPECIES)),
    }


def symbols() -> dict[str, int]:
    found = {name: value for name, value in globals().items() if isinstance(value, int)}
    for number, (area, size) in enumerate(BLOCKS, start=1):
        found |= {f"AREA_{number}": area, f"SIZE_{number}": size}
    place = _places(PERSONALITY)[0]
    return found | {"START_COLUMN": START[0], "START_ROW": START[1], "EXPERIENCE_AT": 0x20 + 12 * place + 4}


def build() -> bytes:
    """The ROM, four megabytes, for the tables lie where the real game has them."""
    source = "\n".join(Path(__file__).with_name(name).read_text() for name in SOURCES)
    program = assemble(f"{source}\n{data()}", symbols())
    assert HEADER_SIZE + len(program) < NATIONAL_NUMBERS - ROM
    rom = bytearray(cartridge(TITLE, CODE, program, 4 << 20))
    for address, table in tables().items():
        rom[address - ROM : address - ROM + len(table)] = table
    return bytes(rom)
