"""A whole memory of the game, written by the documented layout: what the decoder has to read back.

It shares nothing with the decoder but the names of the values; addresses and offsets stand here a second time on purpose.
"""

from __future__ import annotations

import itertools
import struct
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from courtside.hosts.gba.emerald.pokemon import Pokemon

CODES = {" ": 0x00} | {letter: 0xA1 + i for i, letter in enumerate("0123456789!?.-")}
CODES |= {chr(ord(first) + i): start + i for first, start in (("A", 0xBB), ("a", 0xD5)) for i in range(26)}
KINDS_BY_PLACE = list(itertools.permutations(range(4)))
"""The rows of the order of blocks are all orders there are, as a dictionary would sort them."""
OVERWORLD, LOADING = 0x08085E5D, 0x08085FCD
TORCHIC = Pokemon(
    *(280, 12, 1_500, 20, 33, 5, 16, 0, (10, 45, 0, 0), (35, 40, 0, 0), False, "TORCHIC", 70),
    *((1, 2, 3, 4, 5, 6), (31, 0, 7, 19, 30, 1), 0),
)


def _tuples(size: int, most: int) -> st.SearchStrategy:
    return st.tuples(*[st.integers(0, most)] * size)


@st.composite
def _values(draw: st.DrawFn) -> dict[str, Any]:
    ranges = {
        "species": (1, 411),
        "level": (1, 100),
        "experience": (0, 1_640_000),
        "max_hp": (1, 999),
        "met_level": (0, 100),
        "met_location": (0, 255),
        "held_item": (0, 376),
        "friendship": (0, 255),
        "status": (0, 255),
    }
    values = draw(st.fixed_dictionaries({name: st.integers(*limits) for name, limits in ranges.items()}))
    values |= {"moves": draw(_tuples(4, 354)), "pp": draw(_tuples(4, 255))}
    values |= {"evs": draw(_tuples(6, 255)), "ivs": draw(_tuples(6, 31))}
    values |= {"is_egg": draw(st.booleans()), "nickname": draw(st.text("".join(CODES), max_size=10))}
    return values | {"hp": draw(st.integers(0, values["max_hp"]))}


POKEMON = _values()
"""Fields of any Pokemon there can be. The checks of types draw random numbers, so it is made outside of the strategy."""


def encode_text(text: str, size: int) -> bytes:
    return bytes(CODES[letter] for letter in text).ljust(size, b"\xff")


def encode_pokemon(
    pokemon: Pokemon, personality: int = 0x1234_5678, trainer: int = 0x9ABC_DEF0, bits: int = 0b010
) -> bytes:
    """100 bytes as in the party; the first 80 of them are what a box holds. Neighbours of a value are all ones."""
    genes = sum(iv << 5 * i for i, iv in enumerate(pokemon.ivs)) | pokemon.is_egg << 30 | 1 << 31
    kinds = (
        struct.pack(
            "<HHIBBH", pokemon.species, pokemon.held_item, pokemon.experience, 0xFF, pokemon.friendship, 0xFFFF
        ),
        struct.pack("<4H4B", *pokemon.moves, *pokemon.pp),
        struct.pack("<6B6B", *pokemon.evs, *[0xFF] * 6),
        struct.pack("<BBHII", 0xFF, pokemon.met_location, pokemon.met_level | 0x1FF << 7, genes, 0xFFFF_FFFF),
    )
    checksum = sum(struct.unpack("<24H", b"".join(kinds))) % 65_536
    plain = b"".join(kinds[kind] for kind in KINDS_BY_PLACE[personality % 24])
    secret = struct.pack("<12I", *(word ^ personality ^ trainer for word in struct.unpack("<12I", plain)))
    name = encode_text(pokemon.nickname or "", 10)
    outside = struct.pack("<II10sBB7sBHH", personality, trainer, name, 2, bits, b"\xff" * 7, 0xFF, checksum, 0xFFFF)
    stats = struct.pack("<IBBHH5H", pokemon.status, pokemon.level, 0xFF, pokemon.hp, pokemon.max_hp, *[0xFFFF] * 5)
    return outside + secret + stats


@dataclass(frozen=True)
class Game:
    """What is to be written; as a game stands that has just begun."""

    offsets: tuple[int, int, int] = (0, 0, 0)
    """How far the first and second save block and the boxes have moved."""
    key: int = 0xDEAD_BEEF
    place: tuple[int, int, int, int] = (0, 9, 5, 8)
    """Map group, map number, x, y."""
    money: int = 3_000
    coins: int = 0
    bag: tuple[tuple[tuple[int, int], ...], ...] = ((), (), (), (), ())
    flags: frozenset[int] = frozenset()
    variables: tuple[int, ...] = (0,) * 256
    seen: frozenset[int] = frozenset()
    owned: frozenset[int] = frozenset()
    """By national number."""
    party: tuple[Pokemon, ...] = ()
    boxes: dict[int, Pokemon] = field(default_factory=dict)
    """By place, 0 to 419."""
    callback2: int = OVERWORLD
    interrupt: int = 0x0808_0001
    in_battle: bool = False
    outcome: int = 0
    play_time: tuple[int, int, int] = (0, 0, 0)


class Memory:
    """The regions that the game uses, of the cartridge only the part with its tables."""

    def __init__(self) -> None:
        self.regions = {
            0x0200_0000: bytearray(0x40000),
            0x0300_0000: bytearray(0x8000),
            0x0831_0000: bytearray(0x20000),
        }
        self.num_reads = 0

    def _find(self, address: int, size: int) -> tuple[bytearray, int]:
        for start, region in self.regions.items():
            if start <= address and address + size <= start + len(region):
                return region, address - start
        raise AssertionError(f"{size} bytes at {address:#x} are outside of memory")

    def read(self, address: int, size: int) -> bytes:
        self.num_reads += 1
        region, start = self._find(address, size)
        return bytes(region[start : start + size])

    def write(self, address: int, raw: bytes) -> None:
        region, start = self._find(address, len(raw))
        region[start : start + len(raw)] = raw

    def flip(self, address: int, bit: int = 0) -> None:
        self.write(address, bytes([self.read(address, 1)[0] ^ 1 << bit]))


def encode_bits(numbers: frozenset[int], size: int) -> bytes:
    return sum(1 << number for number in numbers).to_bytes(size, "little")


def encode_bag(bag: tuple[tuple[tuple[int, int], ...], ...], key: int) -> bytes:
    """Empty places are encrypted too."""
    raw = b""
    for places, pocket in zip((30, 30, 16, 64, 46), bag, strict=True):
        slots = [*pocket, *[(0, 0)] * (places - len(pocket))]
        raw += b"".join(struct.pack("<HH", item, count ^ key & 0xFFFF) for item, count in slots)
    return raw


def make_memory(game: Game) -> Memory:
    memory = Memory()
    block_1, block_2, storage = (a + b for a, b in zip((0x02025A00, 0x02024A54, 0x02029808), game.offsets, strict=True))
    memory.write(0x03005D8C, struct.pack("<III", block_1, block_2, storage))
    memory.write(0x030022C4, struct.pack("<III", game.callback2, 0, game.interrupt))
    memory.write(0x030022C0 + 0x439, bytes([game.in_battle << 1 | 0b101]))
    memory.write(0x0202433A, bytes([game.outcome]))
    _write_first_block(memory, block_1, game)
    memory.write(block_2 + 0x0E, struct.pack("<HBBB", *game.play_time, 59))
    memory.write(block_2 + 0x28, encode_bits(frozenset(n - 1 for n in game.owned), 52))
    memory.write(block_2 + 0x5C, encode_bits(frozenset(n - 1 for n in game.seen), 52))
    memory.write(block_2 + 0xAC, struct.pack("<I", game.key))
    memory.write(0x020244E9, bytes([len(game.party)]))
    for i, pokemon in enumerate(game.party):
        memory.write(0x020244EC + 100 * i, encode_pokemon(pokemon, personality=i))
    for place, pokemon in game.boxes.items():
        memory.write(storage + 4 + 80 * place, encode_pokemon(pokemon, personality=place)[:80])
    return memory


def _write_first_block(memory: Memory, block_1: int, game: Game) -> None:
    group, num, x, y = game.place
    memory.write(block_1, struct.pack("<hhbb", x, y, group, num))
    memory.write(block_1 + 0x490, struct.pack("<IH", game.money ^ game.key, game.coins ^ game.key & 0xFFFF))
    memory.write(block_1 + 0x560, encode_bag(game.bag, game.key))
    memory.write(block_1 + 0x1270, encode_bits(game.flags, 300))
    memory.write(block_1 + 0x139C, struct.pack("<256H", *game.variables))


def experience_rows() -> list[list[int]]:
    """What a level takes, by the six published formulas."""

    def erratic(n: int) -> int:
        if n <= 50:
            return (100 - n) * n**3 // 50
        if n <= 68:
            return (150 - n) * n**3 // 100
        return (1911 - 10 * n) // 3 * n**3 // 500 if n <= 98 else (160 - n) * n**3 // 100

    def fluctuating(n: int) -> int:
        share = (n + 1) // 3 + 24 if n <= 15 else n + 14 if n <= 36 else n // 2 + 32
        return share * n**3 // 50

    def medium_slow(n: int) -> int:
        return 6 * n**3 // 5 - 15 * n**2 + 100 * n - 140

    formulas = (lambda n: n**3, erratic, fluctuating, medium_slow, lambda n: 4 * n**3 // 5, lambda n: 5 * n**3 // 4)
    return [[0, 1, *(formula(n) for n in range(2, 101))] for formula in formulas]


def write_tables(memory: Memory) -> None:
    """Species s grows at rate s % 6, and the Pokedex counts the species from the last to the first."""
    memory.write(0x0831F72C, struct.pack("<606I", *itertools.chain(*experience_rows())))
    memory.write(0x083203CC, b"".join(b"\xff" * 0x13 + bytes([species % 6]) + b"\xff" * 8 for species in range(412)))
    memory.write(0x0831DC82, struct.pack("<411H", *range(411, 0, -1)))
