"""Where agents have been, as one picture: a panel for each map, its tiles the brighter the more steps were spent there.

Every env writes its own counts to a file in the run folder (`visits/03.npz`), so nobody waits for another; whoever draws
adds them up. No JAX here.
"""

from __future__ import annotations

import io
import itertools
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from courtside import files
from courtside.hosts.gba.kind import VISITS
from courtside.runs.captions import ADVANCE, GROUND, INK, LEADING, write_line
from courtside.runs.png import encode_png

FOLDER, FILE = "visits", VISITS
Map = tuple[int, int]
"""Group and number, or whatever two numbers a game tells its maps apart by."""
Visits = Mapping[Map, tuple[Int[np.ndarray, "_ 2"], Int[np.ndarray, "_"]]]
"""Map -> its visited tiles as x, y, and the steps spent on each: what `Footprints.visit_arrays` gives."""

PANEL, GAP, SCALE = 192, 12, 2
"""Pixels of a panel's side, between two of them, and of a letter's dot."""
TITLE = 2 * LEADING * SCALE
HEAD = 3 * LEADING * SCALE
"""What stands above all panels: the scale of colours."""
MOST_PANELS, COLUMNS = 30, 6
LARGEST_TILE = 16
HALF = 1 << 15
UNSEEN = (16, 16, 20)
HEAT = ((48, 18, 90), (130, 30, 110), (215, 70, 70), (250, 155, 50), (255, 240, 150))
"""From one step to the most."""


class Panel(NamedTuple):
    """One map."""

    name: str
    counts: np.ndarray
    """Steps on each tile of the part that was visited. int64 [height, width]"""


def write_visits(folder: Path, env: int, visits: Visits, name_of: Callable[[int, int], str]) -> None:
    """Replace the counts of one env in a run folder; the names of the maps go with them."""
    names = np.array([name_of(*place) for place in visits] or [""], np.str_)
    packed = io.BytesIO()
    np.savez_compressed(packed, rows=_rows(visits), maps=np.array([*visits], np.int64).reshape(-1, 2), names=names)
    files.make_folder(folder / FOLDER)
    files.write_bytes(folder / FOLDER / f"{env:02d}.npz", packed.getvalue())


def _rows(visits: Visits) -> Int[np.ndarray, "N 5"]:
    """One for each tile: group, number, x, y, steps."""
    rows = [np.zeros((0, 5), np.int64)]
    for place, (tiles, counts) in visits.items():
        rows.append(np.column_stack([np.tile(np.array(place, np.int64), (len(tiles), 1)), tiles, counts]))
    return np.concatenate(rows)


def draw_run(folder: Path) -> Path | None:
    """Draw what all envs of a run have written; returns the picture's path, or None where nothing was visited yet."""
    visits, names = read_visits(folder)
    if not visits:
        return None
    picture = draw_visits(visits, lambda *place: names.get(place, "no name"))
    files.write_bytes(folder / FILE, encode_png(picture))
    return folder / FILE


def read_visits(folder: Path) -> tuple[Visits, dict[Map, str]]:
    """The counts of all envs together, and what maps are called. This is but a picture: damaged files are passed over."""
    tables, names = [], {}
    for path in sorted((folder / FOLDER).glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as packed:
                tables.append(packed["rows"].reshape(-1, 5).astype(np.int64))
                places = [(group, num) for group, num in packed["maps"].tolist()]
                names |= dict(zip(places, packed["names"].tolist(), strict=False))
        except (OSError, ValueError, LookupError, EOFError, zlib.error, zipfile.BadZipFile):
            continue
    return add_up(tables), names


def add_up(tables: Iterable[Int[np.ndarray, "_ 5"]]) -> Visits:
    """Rows of several envs as counts per map and tile. All four numbers have 16 bits, and are looked for as one."""
    rows = np.concatenate([np.zeros((0, 5), np.int64), *tables])
    parts = ((rows[:, :4] + HALF) % (2 * HALF)).astype(np.uint64)
    packed = parts[:, 0] << 48 | parts[:, 1] << 32 | parts[:, 2] << 16 | parts[:, 3]
    keys, inverse = np.unique(packed, return_inverse=True)
    counts = np.bincount(inverse, rows[:, 4], len(keys)).astype(np.int64)
    first, second, x, y = ((keys >> shift & 0xFFFF).astype(np.int64) - HALF for shift in (48, 32, 16, 0))
    starts = np.unique(keys >> 32, return_index=True)[1].tolist()
    borders = itertools.pairwise([*starts, len(keys)])
    tiles = np.stack([x, y], axis=1)
    return {(int(first[i]), int(second[i])): (tiles[i:j], counts[i:j]) for i, j in borders}


def draw_visits(visits: Visits, name_of: Callable[[int, int], str]) -> UInt8[np.ndarray, "H W 3"]:
    """One picture, the map with most steps first."""
    ranked = sorted(visits, key=lambda place: (-int(visits[place][1].sum()), place))
    panels = [Panel(name_of(*place), spread(*visits[place])) for place in ranked[:MOST_PANELS]]
    most = max((int(panel.counts.max()) for panel in panels), default=1)
    columns = max(3, min(COLUMNS, len(panels)))
    rows, tall, wide = -(-len(panels) // columns), PANEL + TITLE + GAP, PANEL + GAP
    picture = np.full((HEAD + rows * tall + GAP, columns * wide + GAP, 3), GROUND, np.uint8)
    _draw_head(picture, most, len(visits))
    for number, panel in enumerate(panels):
        top, left = HEAD + number // columns * tall, GAP + number % columns * wide
        _draw_panel(picture[top : top + tall, left : left + PANEL], panel, most)
    return picture


def spread(tiles: Int[np.ndarray, "N 2"], counts: Int[np.ndarray, "N"]) -> Int[np.ndarray, "h w"]:
    """The visited part of a map as a table; where it is too large for a panel, neighbours share a pixel."""
    places = tiles.astype(np.int64) - tiles.min(axis=0)
    places //= -(-(int(places.max()) + 1) // PANEL)
    table = np.zeros((places[:, 1].max() + 1, places[:, 0].max() + 1), np.int64)
    np.add.at(table, (places[:, 1], places[:, 0]), counts)
    return table


def _draw_panel(place: np.ndarray, panel: Panel, most: int) -> None:
    """Title, sum of steps, and the tiles in the middle of the panel."""
    tile = min(LARGEST_TILE, PANEL // max(panel.counts.shape))
    tiles = heat(panel.counts, most).repeat(tile, axis=0).repeat(tile, axis=1)
    room = PANEL // (ADVANCE * SCALE)
    write_line(place, panel.name[:room], 0, 0, SCALE)
    write_line(place, f"{panel.counts.sum():,} steps"[:room], LEADING * SCALE, 0, SCALE, (140, 140, 140))
    box = place[TITLE : TITLE + PANEL]
    box[:] = UNSEEN
    top, left = (PANEL - tiles.shape[0]) // 2, (PANEL - tiles.shape[1]) // 2
    box[top : top + tiles.shape[0], left : left + tiles.shape[1]] = tiles


def _draw_head(picture: np.ndarray, most: int, num_maps: int) -> None:
    """What the colours mean, and how many maps there are beside those shown."""
    shown = f", the {MOST_PANELS} most visited" if num_maps > MOST_PANELS else ""
    maps = "1 map" if num_maps == 1 else f"{num_maps} maps"
    write_line(picture, maps + shown, GAP // 2, GAP, SCALE)
    top, width = GAP // 2 + LEADING * SCALE, 160
    write_line(picture, "steps per tile 1", top, GAP, SCALE, (140, 140, 140))
    left = GAP + 17 * ADVANCE * SCALE
    ramp = np.geomspace(1, most, width).astype(np.int64)
    picture[top : top + 5 * SCALE, left : left + width] = heat(ramp[None], most)
    write_line(picture, f"{most:,}", top, left + width + ADVANCE * SCALE, SCALE, (INK, INK, INK))


def heat(counts: Int[np.ndarray, "h w"], most: int) -> UInt8[np.ndarray, "h w 3"]:
    """Colours by the logarithm of counts: a tile stood on once is seen beside one stood on for hours."""
    share = np.log(np.maximum(counts, 1)) / np.log(max(most, 2))
    stops = np.linspace(0.0, 1.0, len(HEAT))
    colours = np.stack([np.interp(share, stops, [stop[i] for stop in HEAT]) for i in range(3)], axis=-1)
    return np.where((counts > 0)[..., None], colours, np.array(UNSEEN, np.float64)[None, None]).astype(np.uint8)
