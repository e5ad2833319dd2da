"""Who fights, by the documented layout."""

from __future__ import annotations

import struct

import pytest
from image import Game, encode_text, make_memory

from courtside.hosts.gba.emerald.battle import IS_DOUBLE, IS_TRAINER, Fighter, read_battle

ZIGZAGOON = Fighter(288, 4, 11, 17, (33, 45, 0, 0), (35, 40, 0, 0), 0b1000, "ZIGZAGOON")


def encode_fighter(fighter, hp=None):
    raw = bytearray(b"\xff" * 0x58)
    struct.pack_into("<H", raw, 0x00, fighter.species)
    struct.pack_into("<4H", raw, 0x0C, *fighter.moves)
    struct.pack_into("<4B", raw, 0x24, *fighter.pp)
    struct.pack_into("<H", raw, 0x28, fighter.hp if hp is None else hp)
    struct.pack_into("<B", raw, 0x2A, fighter.level)
    struct.pack_into("<H", raw, 0x2C, fighter.max_hp)
    raw[0x30:0x3B] = encode_text(fighter.nickname, 11)
    struct.pack_into("<I", raw, 0x4C, fighter.status)
    return bytes(raw)


def make_battle(kind, count, fighters, in_battle=True):
    memory = make_memory(Game(in_battle=in_battle))
    memory.write(0x02022FEC, struct.pack("<I", kind))
    memory.write(0x0202406C, bytes([count]))
    memory.write(0x02024084, b"".join(fighters))
    return memory


@pytest.mark.parametrize(("kind", "count"), [(IS_TRAINER, 2), (IS_TRAINER | IS_DOUBLE, 4)])
def test_a_battle_is_read_as_it_was_written(kind, count):
    battle = read_battle(make_battle(kind, count, [encode_fighter(ZIGZAGOON)] * count).read)
    assert (battle.kind, battle.fighters) == (kind, (ZIGZAGOON,) * count)


def test_no_battle_or_one_that_cannot_be_is_unknown():
    whole = [encode_fighter(ZIGZAGOON)] * 2
    assert read_battle(make_battle(0, 2, whole, in_battle=False).read) is None
    assert read_battle(make_battle(0, 0, whole).read) is None
    assert read_battle(make_battle(IS_DOUBLE, 2, whole).read) is None
    assert read_battle(make_battle(0, 2, [whole[0], encode_fighter(ZIGZAGOON, hp=18)]).read) is None
