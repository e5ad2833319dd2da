"""Pokemon: what is encoded by the documented layout is read back, and what is not whole is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image import KINDS_BY_PLACE, POKEMON, TORCHIC, Memory, encode_pokemon, experience_rows, write_tables

from courtside.errors import EnvContractError
from courtside.hosts.gba.emerald.pokemon import (
    ORDERS,
    Pokemon,
    ailments,
    decode_box_pokemon,
    decode_party_pokemon,
    decrypt,
    gained_experience,
    read_tables,
)

WORDS = st.integers(0, 2**32 - 1)


def boxed(pokemon):
    return replace(pokemon, level=0, hp=0, max_hp=0, status=0)


@given(POKEMON, WORDS, WORDS)
def test_one_is_read_as_it_was_written(values, personality, trainer):
    pokemon = Pokemon(**values)
    raw = encode_pokemon(pokemon, personality, trainer)
    assert decode_party_pokemon(raw) == pokemon
    assert decode_box_pokemon(raw[:80]) == boxed(pokemon)


@pytest.mark.parametrize("row", range(24))
def test_every_row_of_the_order_of_blocks(row):
    kinds = KINDS_BY_PLACE[row]
    assert ORDERS[row] == "".join(str(kinds.index(kind)) for kind in range(4))
    assert decode_party_pokemon(encode_pokemon(TORCHIC, personality=24 * 1_000 + row)) == TORCHIC


@given(POKEMON, WORDS, WORDS, st.integers(0x20 * 8, 80 * 8 - 1) | st.integers(0x1C * 8, 0x1E * 8 - 1))
def test_a_flipped_bit_is_noticed(values, personality, trainer, bit):
    raw = bytearray(encode_pokemon(Pokemon(**values), personality, trainer))
    raw[bit // 8] ^= 1 << bit % 8
    assert decrypt(bytes(raw)) is None
    assert decode_party_pokemon(bytes(raw)) is None
    assert decode_box_pokemon(bytes(raw[:80])) is None


def test_one_that_the_game_is_looking_at_is_unknown():
    secret = encode_pokemon(TORCHIC, 7, 9)
    plain = encode_pokemon(TORCHIC, 7, 7)
    assert decode_party_pokemon(secret[:0x20] + plain[0x20:]) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"species": 0},
        {"species": 412},
        {"held_item": 377},
        {"moves": (0, 0, 0, 355)},
        {"experience": 1_640_001},
        {"met_level": 101},
    ],
)
def test_what_cannot_be_is_unknown_though_its_checksum_is_right(changes):
    raw = encode_pokemon(replace(TORCHIC, **changes))
    assert decrypt(raw) is not None
    assert decode_party_pokemon(raw) is None
    assert decode_box_pokemon(raw[:80]) is None


@pytest.mark.parametrize(
    "changes",
    [{"level": 0}, {"level": 101}, {"hp": 34}, {"hp": 0, "max_hp": 0}, {"max_hp": 1_000}, {"status": 1 << 12}],
)
def test_a_member_of_the_party_that_cannot_be_is_unknown(changes):
    assert decode_party_pokemon(encode_pokemon(replace(TORCHIC, **changes))) is None


@pytest.mark.parametrize("bits", [0b000, 0b001, 0b011, 0b111])
def test_a_bad_egg_and_one_without_species_are_unknown(bits):
    assert decode_party_pokemon(encode_pokemon(TORCHIC, bits=bits)) is None


def test_a_name_of_other_letters_is_unknown_and_the_rest_is_not():
    raw = bytearray(encode_pokemon(TORCHIC))
    raw[8] = 0x40
    assert decode_party_pokemon(bytes(raw)) == replace(TORCHIC, nickname=None)


def test_ailments_by_their_bits():
    assert ailments(0) == ()
    assert ailments(0b011) == ("asleep for 3 turns",)
    words = ("poisoned", "burned", "frozen", "paralysed", "badly poisoned")
    assert [ailments(1 << bit) for bit in range(3, 8)] == [(word,) for word in words]


@pytest.fixture(scope="module")
def memory():
    memory = Memory()
    write_tables(memory)
    return memory


def test_gained_experience_counts_from_the_level_at_which_one_was_met(memory):
    tables, rows = read_tables(memory.read), experience_rows()
    for species in range(277, 283):
        for met_level in (0, 1, 5, 100):
            one = replace(TORCHIC, species=species, met_level=met_level, experience=rows[species % 6][met_level] + 7)
            assert gained_experience(one, tables) == 7
    poor = replace(TORCHIC, species=278, met_level=20, experience=1_000)
    assert gained_experience(poor, tables) == 0
    assert gained_experience(poor, tables, fixed=False) == 1_000 - rows[2][20]


@pytest.mark.parametrize(
    ("address", "bit"), [(0x083203CC + 28 * 7 + 0x13, 3), (0x0831F72C + 4 * 50 + 3, 0), (0x0831DC82, 0)]
)
def test_another_cartridge_has_no_such_tables(memory, address, bit):
    memory.flip(address, bit)
    try:
        assert read_tables(memory.read) is None
    finally:
        memory.flip(address, bit)
    assert read_tables(memory.read) is not None


def test_a_cartridge_that_ends_before_has_no_tables():
    def read(address, size):
        raise EnvContractError("There is nothing so far up.")

    assert read_tables(read) is None
