"""The tile world with Emerald's memory, played for real: keys, emulator, memory, decoder."""

from __future__ import annotations

import pytest
from homebrew import quest, quest_player, word

from courtside.hosts.gba.core import Emulator, key_mask
from courtside.hosts.gba.emerald.memory import GameState, is_set, read_state
from courtside.hosts.gba.emerald.pokemon import gained_experience, read_tables

UP, DOWN, LEFT, RIGHT = (key_mask(name) for name in ("up", "down", "left", "right"))
TO_BADGE_2 = [UP] * 3 + [RIGHT] * 3
TO_DOOR = [RIGHT] * 3 + [DOWN]


@pytest.fixture(scope="module")
def rom() -> bytes:
    return quest.build()


@pytest.fixture
def emulator(rom):
    with Emulator(rom) as made:
        made.run(16)
        yield made


def walk(emulator: Emulator, keys: list[int]) -> list[GameState | None]:
    """One tile for each key."""
    states = []
    for key in keys:
        emulator.run(quest.FRAMES_PER_MOVE, key)
        states.append(read_state(emulator.read))
    return states


def known(emulator: Emulator) -> GameState:
    state = read_state(emulator.read)
    assert state is not None
    return state


def test_the_game_begins_in_littleroot(emulator):
    state = known(emulator)
    assert (state.map_group, state.map_num, state.x, state.y) == (0, 9, 4, 3)
    assert (state.money, state.badges, state.num_seen, state.num_owned) == (3000, 0, 1, 1)
    assert state.is_overworld
    assert state.has_pokedex
    assert state.visited == (True,) + (False,) * 15
    assert state.bag is not None
    assert state.bag["items"] == ((13, 1),)
    assert state.bag["balls"] == ((4, 5),)
    assert [pokemon.hp for pokemon in state.party or ()] == [20, 15]
    assert len(state.boxes or ()) == 1


def test_a_badge_brings_money_experience_a_potion_and_a_page(emulator):
    tables = read_tables(emulator.read)
    states = walk(emulator, TO_BADGE_2)
    assert [(state.x, state.y) for state in states if state] == [(4, 2), (4, 1), (4, 0), (5, 0), (6, 0), (7, 0)]
    before, after = states[-2:]
    assert before is not None
    assert after is not None
    assert after.party is not None
    assert tables is not None
    assert (before.badges, after.badges) == (0, 2)
    assert (before.money, after.money) == (3000, 3500)
    assert after.bag is not None
    assert after.bag["items"] == ((13, 2),)
    assert after.num_seen == 2
    assert [gained_experience(pokemon, tables) for pokemon in after.party] == [5, 0]
    assert after.party[0].hp == 16, "there was grass on the way"
    emulator.run(quest.FRAMES_PER_MOVE, LEFT)
    assert not (emulator.screen()[:20, 180:200] == (206, 206, 0)).all(axis=-1).any(), "the badge is gone"


def test_through_the_door_all_moves_and_nothing_is_lost(emulator):
    walk(emulator, TO_BADGE_2)
    before, key, pointer = known(emulator), word(emulator, quest.POINTERS), known(emulator).key
    seen = walk(emulator, [DOWN] * 4 + [0] * 4)
    blank = [state for state in seen if state is None]
    after = known(emulator)
    assert blank, "the frames in which the blocks move are unknown"
    assert (after.map_group, after.map_num, after.x, after.y) == (0, 0, -2, 0)
    assert (after.money, after.badges, after.bag, after.party) == (
        before.money,
        before.badges,
        before.bag,
        before.party,
    )
    assert after.boxes == before.boxes
    assert after.visited[7], "Petalburg"
    assert after.key != pointer
    assert word(emulator, quest.POINTERS) != key
    assert (word(emulator, quest.POINTERS) - quest.BLOCKS[0][0]) % 4 == 0


def test_the_screen_is_black_while_a_map_is_loaded(emulator):
    walk(emulator, TO_DOOR)
    emulator.run(4)
    assert not emulator.screen().any()
    assert word(emulator, quest.MAIN + 4) == quest.LOAD_MAP
    emulator.run(40)
    assert emulator.screen().any()
    assert word(emulator, quest.MAIN + 4) == quest.OVERWORLD


def test_a_switch_flips_back_and_forth(emulator):
    walk(emulator, [UP, LEFT])
    flips = [state for state in walk(emulator, [LEFT, RIGHT] * 3) if state]
    assert [is_set(state.flags, quest.SWITCH_FLAG) for state in flips] == [True, True, False, False, True, True]


def test_the_centre_heals_and_walls_stop(emulator):
    walk(emulator, [UP] * 3)
    assert [pokemon.hp for pokemon in known(emulator).party or ()] == [16, 15]
    walk(emulator, [DOWN] * 4 + [LEFT])
    assert [pokemon.hp for pokemon in known(emulator).party or ()] == [20, 15]
    states = walk(emulator, [LEFT] * 2)
    assert [(state.x, state.y) for state in states if state] == [(2, 4), (2, 4)]


def test_all_badges_can_be_had(emulator):
    keys = quest_player.all_badges()
    states = [state for state in walk(emulator, keys) if state]
    assert states[-1].badges == 0xFF
    assert states[-1].money == 3000 + 8 * quest.MONEY_PER_BADGE
    assert len(keys) < 80
