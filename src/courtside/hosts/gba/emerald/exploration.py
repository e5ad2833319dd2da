"""Where an agent has been: points of each map that lie some way apart, what going there again is worth, and visits per tile.

A new point is stored where none is near; coming near an old one again, long enough after the last time, counts as a revisit.
The nearest point is exact: points are kept in squares of a grid as wide as the radius, so that nine squares hold all that
can be near. No JAX here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from courtside.errors import ConfigError

Place = tuple[int, int]
"""Group and number of a map, or x and y on one."""
UNSIGNED = 0xFFFF


@dataclass(frozen=True, kw_only=True)
class Exploring:
    """How far apart points lie, and for how long they are not worth coming back to."""

    radius: float = 6.0
    """Tiles from a stored point within which no other is stored; the screen shows 7 to each side, and 5 up and down."""
    squared_radius: bool = False
    """Take the radius as the square of a distance, as the original did: 6.0 is then 2.45 tiles."""
    unsigned_coordinates: bool = False
    """Take x and y as numbers without a sign, as the original did: one step left of the edge is then 65,535 tiles away."""
    capacity: int = 100_000
    """Points of a map that are stored at most."""
    revisit_cooldown: int = 8_192
    """Steps from one counted visit of a point to the next."""
    refresh_cooldown: int = 4_096
    """Steps that must pass away from a point before it counts again: standing still does not pay."""

    @property
    def limit(self) -> float:
        """The square of the distance below which a point is near."""
        return self.radius if self.squared_radius else self.radius**2

    def check(self) -> None:
        """Refuse what cannot work."""
        if not 0.0 < self.radius <= 1_000.0:
            raise ConfigError(f"The radius of exploration is {self.radius}; it must be above 0 and at most 1000 tiles.")
        if min(self.capacity, self.revisit_cooldown, self.refresh_cooldown) < 0:
            raise ConfigError(f"Capacity and cool-downs of exploration must not be negative, but are {self}.")


@dataclass
class MapPoints:
    """The stored points of one map."""

    points: list[Place] = field(default_factory=list)
    ready: list[int] = field(default_factory=list)
    """The step from which being near the point counts again."""
    squares: dict[Place, list[int]] = field(default_factory=dict)
    """Square of the grid -> which points lie in it."""


class Footprints:
    """The memory of one env. An episode's points are forgotten with it; visits are counted for good."""

    def __init__(self, settings: Exploring | None = None) -> None:
        self.settings = settings or Exploring()
        self.settings.check()
        self._limit, self._width = self.settings.limit, math.ceil(math.sqrt(self.settings.limit))
        self.visits: dict[Place, dict[Place, int]] = {}
        """Map -> tile -> steps spent there."""
        self.reset()

    def reset(self) -> None:
        """Forget the points: an episode begins."""
        self._maps: dict[Place, MapPoints] = {}
        self.num_points, self.num_revisits, self._step = 0, 0, 0

    def wait(self) -> None:
        """A step passed at a place that is not known."""
        self._step += 1

    def see(self, place: Place, x: int, y: int) -> None:
        """A step passed at this tile of this map."""
        if self.settings.unsigned_coordinates:
            x, y = x & UNSIGNED, y & UNSIGNED
        memory = self._maps.get(place)
        if memory is None:
            memory = self._maps[place] = MapPoints()
        nearest = self._find_near(memory, x, y)
        if nearest is not None:
            self._return_to(memory, nearest)
        elif len(memory.points) < self.settings.capacity:
            self._store(memory, x, y, self._step + self.settings.revisit_cooldown)
        self._step += 1

    def count_visit(self, place: Place, x: int, y: int) -> None:
        """For the picture of where agents have been."""
        tiles = self.visits.setdefault(place, {})
        tiles[x, y] = tiles.get((x, y), 0) + 1

    def _find_near(self, memory: MapPoints, x: int, y: int) -> int | None:
        """The nearest point below the limit, the older one of two; None if there is none."""
        found, smallest = None, self._limit
        across, down, squares = x // self._width, y // self._width, memory.squares
        for column in (across - 1, across, across + 1):
            for row in (down - 1, down, down + 1):
                for point in squares.get((column, row), ()):
                    its_x, its_y = memory.points[point]
                    distance = (its_x - x) ** 2 + (its_y - y) ** 2
                    if distance < smallest or (distance == smallest and found is not None and point < found):
                        found, smallest = point, distance
        return found

    def _return_to(self, memory: MapPoints, point: int) -> None:
        if memory.ready[point] <= self._step:
            memory.ready[point] = self._step + self.settings.revisit_cooldown
            self.num_revisits += 1
        else:
            memory.ready[point] = max(memory.ready[point], self._step + self.settings.refresh_cooldown)

    def _store(self, memory: MapPoints, x: int, y: int, ready: int) -> None:
        memory.squares.setdefault((x // self._width, y // self._width), []).append(len(memory.points))
        memory.points.append((x, y))
        memory.ready.append(ready)
        self.num_points += 1

    def visit_arrays(self) -> dict[Place, tuple[np.ndarray, np.ndarray]]:
        """Map -> its visited tiles as x, y (int16 [N, 2]), and the steps spent on each (int32 [N])."""
        return {
            place: (_pairs(tiles), np.fromiter(tiles.values(), np.int32, len(tiles)))
            for place, tiles in self.visits.items()
        }

    def save(self) -> dict[str, Any]:
        """Everything: points and tiles of all maps one after the other, and how many each map has."""
        maps, visits = self._maps, self.visit_arrays()
        return {
            "step": self._step,
            "num_revisits": self.num_revisits,
            "maps": _pairs(maps),
            "map_sizes": np.array([len(memory.points) for memory in maps.values()], np.int32),
            "points": _pairs([point for memory in maps.values() for point in memory.points]),
            "ready": np.array([step for memory in maps.values() for step in memory.ready], np.int64),
            "visited_maps": _pairs(visits),
            "visited_sizes": np.array([len(counts) for _, counts in visits.values()], np.int32),
            "tiles": np.concatenate([_pairs([]), *(tiles for tiles, _ in visits.values())]),
            "tile_steps": np.concatenate([np.zeros(0, np.int32), *(counts for _, counts in visits.values())]),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on exactly where `save` was called."""
        self.reset()
        points = saved["points"].astype(np.int32) & (UNSIGNED if self.settings.unsigned_coordinates else -1)
        for place, part in _split(saved["maps"], saved["map_sizes"]):
            memory = self._maps[place] = MapPoints()
            for (x, y), ready in zip(points[part].tolist(), saved["ready"][part].tolist(), strict=True):
                self._store(memory, x, y, ready)
        self.visits = {
            place: dict(zip(_places(saved["tiles"][part]), saved["tile_steps"][part].tolist(), strict=True))
            for place, part in _split(saved["visited_maps"], saved["visited_sizes"])
        }
        self._step, self.num_revisits = int(saved["step"]), int(saved["num_revisits"])


def _pairs(places: Any) -> np.ndarray:
    """int16 [N, 2]; 16 bits are all that the game has, with a sign or without."""
    return np.array(list(places), np.int32).reshape(-1, 2).astype(np.int16)


def _places(pairs: np.ndarray) -> list[Place]:
    return [(first, second) for first, second in pairs.tolist()]


def _split(maps: np.ndarray, sizes: np.ndarray) -> list[tuple[Place, slice]]:
    """Each map with its part of what was put one after the other."""
    ends = np.cumsum(sizes).tolist()
    return [
        (place, slice(end - size, end)) for place, size, end in zip(_places(maps), sizes.tolist(), ends, strict=True)
    ]
