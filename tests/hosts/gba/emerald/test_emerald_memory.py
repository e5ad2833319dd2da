"""A whole frame: what was written by the documented layout is read back, and what is not to be believed is unknown."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from image import LOADING, OVERWORLD, POKEMON, TORCHIC, Game, encode_pokemon, make_memory, write_tables

from courtside.hosts.gba.emerald.maps import TOWNS, is_map, map_name
from courtside.hosts.gba.emerald.memory import count_set, is_set, pokedex_numbers, read_state
from courtside.hosts.gba.emerald.pokemon import Pokemon, read_tables
from courtside.hosts.gba.emerald.symbols import BADGE_FLAGS, SCRIPT_FLAGS, TRAINER_FLAGS, VISITED_FLAGS

POCKETS = ("items", "key_items", "balls", "machines", "berries")
BLOCK_1, BLOCK_2, BOXES, PARTY = 0x02025A00, 0x02024A54, 0x02029808 + 4, 0x020244EC
OFFSETS = st.integers(0, 31).map(lambda steps: 4 * steps)


def pocket(places, most):
    return st.lists(st.tuples(st.integers(1, 376), st.integers(1, most)), max_size=places).map(tuple)


GAMES = st.fixed_dictionaries(
    {
        "offsets": st.tuples(OFFSETS, OFFSETS, OFFSETS),
        "key": st.integers(0, 2**32 - 1),
        "place": st.tuples(st.just(0), st.integers(0, 56), st.integers(-7, 200), st.integers(-7, 200)),
        "money": st.integers(0, 999_999),
        "coins": st.integers(0, 9_999),
        "bag": st.tuples(pocket(30, 99), pocket(30, 99), pocket(16, 99), pocket(64, 99), pocket(46, 999)),
        "flags": st.frozensets(st.integers(0, 0x95F), max_size=40),
        "seen": st.frozensets(st.integers(1, 386), max_size=20),
        "in_battle": st.booleans(),
        "outcome": st.integers(0, 10),
        "play_time": st.tuples(st.integers(0, 999), st.integers(0, 59), st.integers(0, 59)),
    }
)


def read(**changes):
    return read_state(make_memory(Game(**changes)).read)


@settings(max_examples=25)
@given(GAMES, st.lists(POKEMON, max_size=6), st.dictionaries(st.integers(0, 419), POKEMON, max_size=3))
def test_a_frame_is_read_as_it_was_written(values, party, boxes):
    party = tuple(Pokemon(**one) for one in party)
    boxes = {place: Pokemon(**one) for place, one in boxes.items()}
    game = Game(
        **values, owned=frozenset(sorted(values["seen"])[::2]), party=party, boxes=boxes, variables=tuple(range(256))
    )
    state = read_state(make_memory(game).read)
    assert (state.map_group, state.map_num, state.x, state.y) == game.place
    assert (state.money, state.coins, state.key, state.play_time) == (game.money, game.coins, game.key, game.play_time)
    assert state.bag == dict(zip(POCKETS, game.bag, strict=True))
    assert {flag for flag in range(0x960) if is_set(state.flags, flag)} == game.flags
    assert state.variables.tolist() == list(range(256))
    assert (state.num_seen, state.num_owned) == (len(game.seen), len(game.owned))
    assert state.party == party
    assert state.boxes == tuple(replace(boxes[i], level=0, hp=0, max_hp=0, status=0) for i in sorted(boxes))
    assert (state.in_battle, state.battle_outcome, state.is_overworld) == (game.in_battle, game.outcome, True)


def test_each_badge_and_each_town_has_its_flag():
    for i, flag in enumerate(BADGE_FLAGS):
        assert read(flags=frozenset({flag})).badges == 1 << i
    for i, (town, flag) in enumerate(zip(TOWNS, VISITED_FLAGS, strict=True)):
        assert read(flags=frozenset({flag})).visited == tuple(j == i for j in range(16)), town
    around = read(flags=frozenset({0x866, 0x87F}))
    assert (around.badges, any(around.visited), around.is_champion) == (0, False, True)
    assert [read(flags=frozenset({flag})).has_pokedex for flag in (0x860, 0x861, 0x862)] == [False, True, False]
    assert [read(flags=frozenset({flag})).has_pokenav for flag in (0x861, 0x862, 0x863)] == [False, True, False]


def test_flags_of_a_range_are_counted():
    flags = read(flags=frozenset({0x04F, 0x050, 0x4FF, 0x500, 0x501, 0x85F, 0x860})).flags
    assert (count_set(flags, SCRIPT_FLAGS), count_set(flags, TRAINER_FLAGS)) == (2, 3)


def test_coordinates_have_a_sign():
    state = read(place=(0, 16, -1, -7))
    assert (state.x, state.y) == (-1, -7)


@pytest.mark.parametrize(
    "place", [(34, 0, 0, 0), (-1, 0, 0, 0), (0, 57, 0, 0), (1, -1, 0, 0), (1, 5, 0, 0), (0, 0, -8, 0), (0, 0, 0, 683)]
)
def test_a_place_that_is_not_there_makes_the_frame_unknown(place):
    assert read(place=place) is None


def test_petalburg_is_a_place():
    assert read(place=(0, 0, 0, 0)) is not None
    assert (map_name(0, 0), map_name(0, 16), map_name(0, 49)) == ("Petalburg", "Route 101", "Route 134")
    assert (map_name(1, 4), map_name(2, 1), map_name(99, 0)) == (
        "Littleroot, Birch's lab",
        "Oldale, indoors 1",
        "map 99.0",
    )
    assert is_map(24, 107)
    assert not is_map(24, 108)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("off", [-4, 128, 2, 0x40000, -0x02000000])
def test_a_pointer_that_leads_elsewhere_makes_the_frame_unknown(which, off):
    memory = make_memory(Game())
    pointer = struct.unpack("<I", memory.read(0x03005D8C + 4 * which, 4))[0]
    memory.write(0x03005D8C + 4 * which, struct.pack("<I", pointer + off))
    assert read_state(memory.read) is None


def test_the_key_is_that_of_the_frame():
    memory = make_memory(Game(key=0x0102_0304, money=500))
    assert read_state(memory.read).money == 500
    memory.write(BLOCK_2 + 0xAC, struct.pack("<I", 0xA1B2_C3D4))
    assert read_state(memory.read) is None, "money is still that of the old key"
    memory.write(BLOCK_1 + 0x490, struct.pack("<I", 500 ^ 0xA1B2_C3D4))
    state = read_state(memory.read)
    assert (state.money, state.coins) == (500, None), "coins are still those of the old key"


def test_blocks_on_their_way_are_unknown():
    """The pointers are new, the bytes still lie where they were: everything that is read is something else."""
    memory = make_memory(Game(key=0, money=0, flags=frozenset({0x100}), callback2=LOADING, interrupt=0))
    memory.write(0x03005D8C, struct.pack("<III", BLOCK_1 + 64, BLOCK_2 + 64, BOXES - 4 + 64))
    assert read_state(memory.read) is None
    assert read(callback2=LOADING).is_overworld is False
    assert read(callback2=OVERWORLD, interrupt=0).is_overworld is True


@pytest.mark.parametrize(
    "changes",
    [{"money": 1_000_000}, {"play_time": (0, 60, 0)}, {"play_time": (0, 0, 60)}, {"play_time": (1_000, 0, 0)}],
)
def test_money_and_clock_that_cannot_be_make_the_frame_unknown(changes):
    assert read(**changes) is None


@pytest.mark.parametrize("slot", [(377, 1), (1, 0), (1, 100)])
def test_an_item_that_cannot_be_makes_the_bag_unknown(slot):
    state = read(bag=((slot,), (), (), (), ()))
    assert (state.bag, state.money) == (None, 3_000)


def test_coins_and_outcome_that_cannot_be_are_unknown():
    assert read(coins=10_000).coins is None
    assert [read(outcome=outcome).battle_outcome for outcome in (10, 11, 0x81)] == [10, None, 1]


def test_a_party_with_an_unknown_member_is_unknown():
    memory = make_memory(Game(party=(TORCHIC, TORCHIC)))
    assert read_state(memory.read).party == (TORCHIC, TORCHIC)
    memory.flip(PARTY + 100 + 0x20)
    assert read_state(memory.read).party is None
    memory.write(0x020244E9, b"\x01")
    assert read_state(memory.read).party == (TORCHIC,)
    memory.write(0x020244E9, b"\x07")
    assert read_state(memory.read).party is None


def test_boxes_with_an_unknown_one_are_unknown_and_a_bad_egg_is_nobody():
    memory = make_memory(Game(boxes={0: TORCHIC, 419: TORCHIC}))
    both = read_state(memory.read).boxes
    assert len(both) == 2
    memory.flip(BOXES + 419 * 80 + 0x20)
    assert read_state(memory.read).boxes is None
    memory.write(BOXES + 419 * 80, encode_pokemon(TORCHIC, bits=0b111)[:80])
    assert read_state(memory.read).boxes == both[:1]


def test_a_frame_takes_few_reads_and_boxes_are_decoded_once():
    memory = make_memory(Game(boxes={7: TORCHIC}))
    memory.num_reads = 0
    boxes = read_state(memory.read).boxes
    assert memory.num_reads <= 10
    assert read_state(memory.read).boxes is boxes


def test_the_pokedex_counts_by_national_numbers():
    memory = make_memory(Game(seen=frozenset({1, 8, 9, 386, 387}), owned=frozenset({8, 9, 10})))
    write_tables(memory)
    state = read_state(memory.read)
    assert (state.num_seen, state.num_owned) == (4, 2), "no page beyond 386; not owned what was not seen"
    seen, owned = pokedex_numbers(memory.read(BLOCK_2, 0xB0))
    assert (seen, owned) == ({1, 8, 9, 386}, {8, 9})
    national = read_tables(memory.read).national
    assert [species for species in range(1, 412) if national[species] in owned] == [403, 404]
