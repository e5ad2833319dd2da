"""The picture of where agents have been: counts of several envs from a real walk, and what is drawn of them."""

from __future__ import annotations

import numpy as np
import pytest
from homebrew import quest, quest_player

from courtside.hosts.gba import visit_map
from courtside.hosts.gba.core import Emulator
from courtside.hosts.gba.emerald.exploration import Footprints
from courtside.hosts.gba.emerald.maps import map_name
from courtside.hosts.gba.emerald.memory import read_state
from courtside.hosts.gba.visit_map import HEAT, PANEL, UNSEEN, draw_visits, heat, read_visits, spread, write_visits
from courtside.runs.captions import GROUND
from courtside.runs.png import encode_png


@pytest.fixture(scope="module")
def visits():
    """A walk to all badges."""
    memory = Footprints()
    with Emulator(quest.build()) as emulator:
        emulator.run(16)
        for keys in quest_player.all_badges():
            emulator.run(quest.FRAMES_PER_MOVE, keys)
            if (state := read_state(emulator.read)) is not None:
                memory.count_visit((state.map_group, state.map_num), state.x, state.y)
    return memory.visit_arrays()


def test_the_counts_of_all_envs_become_one_picture(tmp_path, visits):
    for env in (0, 1):
        write_visits(tmp_path, env, visits, map_name)
    write_visits(tmp_path, 2, {}, map_name)
    (tmp_path / "visits" / "03.npz").write_bytes(b"damaged")
    found, names = read_visits(tmp_path)
    assert names == {(0, 9): "Littleroot", (0, 0): "Petalburg"}
    for place, (tiles, counts) in visits.items():
        once = dict(zip(map(tuple, tiles.tolist()), counts.tolist(), strict=True))
        both = dict(zip(map(tuple, found[place][0].tolist()), found[place][1].tolist(), strict=True))
        assert both == {tile: 2 * count for tile, count in once.items()}
    path = visit_map.draw_run(tmp_path)
    assert path == tmp_path / "visits.png"
    assert path.read_bytes() == encode_png(draw_visits(found, map_name))


def test_nothing_is_drawn_where_nobody_was(tmp_path):
    assert visit_map.draw_run(tmp_path) is None
    write_visits(tmp_path, 0, {}, map_name)
    assert visit_map.draw_run(tmp_path) is None
    assert not (tmp_path / "visits.png").exists()


def test_tiles_lie_where_they_were_walked_on():
    """Three tiles on a map that begins left of zero; y grows downwards."""
    table = spread(np.array([[-3, 5], [-2, 5], [-3, 7]], np.int16), np.array([1, 20, 400], np.int32))
    assert table.tolist() == [[1, 20], [0, 0], [400, 0]]
    colours = heat(table, 400)
    assert [tuple(colours[y, x].tolist()) for y, x in ((0, 0), (0, 1), (2, 0), (1, 0))] == [
        HEAT[0], HEAT[2], HEAT[-1], UNSEEN,
    ]  # fmt: skip


def test_a_map_too_large_for_its_panel_is_made_smaller_and_loses_no_step():
    tiles = np.stack([np.arange(1_000), np.arange(1_000) // 2], axis=1).astype(np.int16)
    table = spread(tiles, np.ones(1_000, np.int32))
    assert max(table.shape) <= PANEL
    assert table.sum() == 1_000


def test_the_most_visited_come_first_and_the_rest_is_only_counted():
    one = {(0, num): (np.array([[0, 0]]), np.array([num + 1])) for num in range(visit_map.MOST_PANELS + 5)}
    named = []
    picture = draw_visits(one, lambda group, num: named.append(num) or "x")
    assert named == list(range(visit_map.MOST_PANELS + 4, 4, -1))
    tile = picture[visit_map.HEAD + visit_map.TITLE + PANEL // 2, visit_map.GAP + PANEL // 2]
    assert tuple(tile.tolist()) == HEAT[-1]
    assert (picture[-1] == GROUND).all()
