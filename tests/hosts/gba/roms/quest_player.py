"""One who knows the maps of `quest`: the keys that collect every badge, the nearest first."""

from __future__ import annotations

from quest import ARRIVALS, MAPS, START

KEYS = {0x10: (1, 0), 0x20: (-1, 0), 0x40: (0, -1), 0x80: (0, 1)}
STEPS_OF_LOADING = 4
"""Steps without a key after a door, enough until the player can walk."""


def all_badges() -> list[int]:
    """A key for each step."""
    keys, here = collect(0, START)
    keys += way(0, here, "D") + [0] * STEPS_OF_LOADING
    return keys + collect(1, ARRIVALS[1])[0]


def collect(number: int, here: tuple[int, int]) -> tuple[list[int], tuple[int, int]]:
    """The keys to all badges of a map, and the tile of the last."""
    left, keys = {tile for row in MAPS[number] for tile in row if tile.isdigit()}, []
    while left:
        nearest = min(sorted(left), key=lambda badge: len(way(number, here, badge)))
        keys, here = keys + way(number, here, nearest), place(number, nearest)
        left.remove(nearest)
    return keys, here


def way(number: int, here: tuple[int, int], target: str) -> list[int]:
    """The fewest keys from a tile to the first of a kind, around walls and other doors."""
    reached, frontier = {here: []}, [here]
    for column, row in frontier:
        for key, (right, down) in KEYS.items():
            tile = (column + right, row + down)
            if tile in reached or not (0 <= tile[0] < 8 and 0 <= tile[1] < 8):
                continue
            kind = MAPS[number][tile[1]][tile[0]]
            if kind == target:
                return [*reached[column, row], key]
            if kind not in "#D":
                reached[tile] = [*reached[column, row], key]
                frontier.append(tile)
    raise ValueError(f"there is no way from {here} to {target}")


def place(number: int, target: str) -> tuple[int, int]:
    return next((row.index(target), y) for y, row in enumerate(MAPS[number]) if target in row)
