"""The colours of the console, and from two raw screens to the one picture that a network is shown.

A raw screen holds numbers of colours. Where two screens are shown as one, each of red, green and blue is the larger of the
two, and only then is brightness computed, as in the reference. A table of all pairs of colours does both at once.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from courtside.hosts.atari.resize import AreaResize, AxisPlan

PAIR = np.dtype("<u2")
"""Two colours as one number, the older in its higher byte."""
WORD = 8
"""Pixels that are compared at once, as one number."""
PAL_HEIGHT = 250
"""Rows of the European games' screens; all others have 210."""
NTSC = """
000000 4a4a4a 6f6f6f 8e8e8e aaaaaa c0c0c0 d6d6d6 ececec
484800 69690f 86861d a2a22a bbbb35 d2d240 e8e84a fcfc54
7c2c00 904811 a26221 b47a30 c3903d d2a44a dfb755 ecc860
901c00 a33915 b55328 c66c3a d5824a e39759 f0aa67 fcbc74
940000 a71a1a b83232 c84848 d65c5c e46f6f f08080 fc9090
840064 97197a a8308f b846a2 c659b3 d46cc3 e07cd2 ec8ce0
500084 68199a 7d30ad 9246c0 a459d0 b56ce0 c57cee d48cfc
140090 331aa3 4e32b5 6848c6 7f5cd5 956fe3 a980f0 bc90fc
000094 181aa7 2d32b8 4248c8 545cd6 656fe4 7580f0 8490fc
001c88 183b9d 2d57b0 4272c2 548ad2 65a0e1 75b5ef 84c8fc
003064 185080 2d6d98 4288b0 54a0c5 65b7d9 75cceb 84e0fc
004030 18624e 2d8169 429e82 54b899 65d1ae 75e7c2 84fcd4
004400 1a661a 328432 48a048 5cba5c 6fd26f 80e880 90fc90
143c00 355f18 527e2d 6e9c42 87b754 9ed065 b4e775 c8fc84
303800 505916 6d762b 88923e a0ab4f b7c25f ccd86e e0ec7c
482c00 694d14 866a26 a28638 bb9f47 d2b656 e8cc63 fce070
"""
"""Red, green and blue of each colour: a line for each hue, from dark to bright. Colours have even numbers."""
PAL = """
000000 2b2b2b 525252 767676 979797 b6b6b6 d2d2d2 ececec
000000 2b2b2b 525252 767676 979797 b6b6b6 d2d2d2 ececec
805800 96711a ab8732 be9c48 cfaf5c dfc06f eed180 fce090
445c00 5e791a 769332 8cac48 a0c25c b3d76f c4ea80 d4fc90
703400 89511a a06b32 b68448 c99a5c dcaf6f ecc280 fcd490
006414 1a8035 329852 48b06e 5cc587 6fd99e 80ebb4 90fcc8
700014 891a35 a03252 b6486e c95c87 dc6f9e ec80b4 fc90c8
005c5c 1a7676 328e8e 48a4a4 5cb8b8 6fcbcb 80dcdc 90ecec
70005c 841a74 963289 a8489e b75cb0 c66fc1 d380d1 e090e0
003c70 195a89 2f75a0 448eb6 57a5c9 68badc 79ceec 88e0fc
580070 6e1a89 8332a0 9648b6 a75cc9 b76fdc c680ec d490fc
002070 193f89 2f5aa0 4474b6 578bc9 68a1dc 79b5ec 88c8fc
340080 4a1a96 5f32ab 7248be 835ccf 936fdf a280ee b090fc
000088 1a1a9d 3232b0 4848c2 5c5cd2 6f6fe1 8080ef 9090fc
000000 2b2b2b 525252 767676 979797 b6b6b6 d2d2d2 ececec
000000 2b2b2b 525252 767676 979797 b6b6b6 d2d2d2 ececec
"""
GREY_WEIGHTS = np.array([9798, 19235, 3735], np.int64)
"""Share of red, green and blue in brightness, in 1/32768: OpenCV's whole numbers for 0.299, 0.587 and 0.114."""
DULL_WEIGHTS = np.array([0.2989, 0.5870, 0.1140])
"""The emulator's own, for colours with odd numbers: a console that loses the colour signal shows them grey."""


@functools.cache
def colours(height: int) -> np.ndarray:
    """Red, green and blue of all numbers that a raw screen may hold. uint8 [256, 3]"""
    text = PAL if height == PAL_HEIGHT else NTSC
    bright = np.frombuffer(bytes.fromhex(text), np.uint8).reshape(128, 3)
    dull = np.floor(bright @ DULL_WEIGHTS + 0.5).astype(np.uint8)
    return np.stack([bright, np.broadcast_to(dull[:, None], bright.shape)], axis=1).reshape(256, 3)


@functools.cache
def pair_tables(height: int, grey: bool) -> tuple[np.ndarray, ...]:
    """Of each pair of colours (older x 256 + newer), what is shown: its brightness, or red, green and blue. float32 [65536]"""
    table = colours(height)
    brighter = np.maximum(table[:, None], table[None, :]).reshape(-1, 3)
    if not grey:
        return tuple(brighter[:, k].astype(np.float32) for k in range(3))
    return (((brighter @ GREY_WEIGHTS + 16384) >> 15).astype(np.float32),)


class Retina:
    """Two raw screens of each of B games -> one small picture of each, always in the same place.

    Most of a screen is as it was in the last one: only tiles of it that changed are looked at anew. Those of all games are
    worked on together, since that takes hardly longer than those of one.
    """

    def __init__(self, height: int, width: int, pictures: np.ndarray) -> None:
        """`pictures` is where it draws, uint8 [B, size, size, 1 or 3]: brightness, or red, green and blue."""
        num_games, size, _, num_channels = pictures.shape
        pictures[:] = 0
        self._planes = [pictures[..., k].reshape(-1) for k in range(num_channels)]
        self._tables = pair_tables(height, num_channels == 1)
        self._resize = AreaResize(height, width, size, multiple=WORD)
        self._tiling = make_tiling(num_games, self._resize.rows, self._resize.columns)
        self._seen = np.zeros((num_games, 2 * height * width // WORD), np.uint64)
        """The screens of the last call; before the first one they are black, as the pictures are."""
        self._differs = np.empty(self._seen.shape, bool)

    def __call__(self, screens: np.ndarray, first: int = 0) -> None:
        """Of n games from number `first` on: older and newer, uint8 [n, 2, H, W]."""
        words, seen = screens.reshape(-1).view(np.uint64), self._seen[first : first + len(screens)].reshape(-1)
        (changed,) = np.not_equal(words, seen, out=self._differs[: len(screens)].reshape(-1)).nonzero()
        if changed.size:
            seen[changed] = words.take(changed)
            (where,) = np.bincount(self._tiling.of_word.take(changed)).nonzero()
            pairs = self._find_pairs(screens, where)
            self._draw(pairs, where + first * self._tiling.num_tiles if first else where)

    def _find_pairs(self, screens: np.ndarray, where: np.ndarray) -> np.ndarray:
        """Older and newer colour of each pixel of some tiles, as one number. uint16 [columns, rows of all tiles]"""
        tiling = self._tiling
        lines = screens.reshape(-1).view(tiling.line).take(tiling.lines.take(where, axis=2))
        pixels = lines.view(np.uint8).reshape(2, -1)
        pairs = np.empty(pixels.shape[::-1], np.uint8)
        pairs[:, 0], pairs[:, 1] = pixels[1], pixels[0]
        return pairs.view(PAIR).reshape(-1, self._resize.columns.period).T

    def _draw(self, pairs: np.ndarray, where: np.ndarray) -> None:
        """Bring some tiles of the pictures up to date."""
        cells = self._tiling.first_cell.take(where) + self._tiling.cells
        for table, plane in zip(self._tables, self._planes, strict=True):
            plane[cells] = self._resize(table.take(pairs))


@dataclass(frozen=True)
class Tiling:
    """Where the N tiles of each of B pictures lie: game by game, row by row."""

    num_tiles: int
    of_word: np.ndarray
    """The tile that each word of the raw screens lies in. int [B x 2 x H x W / WORD]"""
    line: np.dtype
    """One row of a tile, to be moved as a whole."""
    lines: np.ndarray
    """The lines of each tile in the older and the newer screen. int [2, rows, B x N]"""
    first_cell: np.ndarray
    """The first pixel of the pictures that each tile becomes. int [B x N]"""
    cells: np.ndarray
    """How far all of them are from the first one. int [fewer rows, fewer columns, 1]"""


def make_tiling(num_games: int, rows: AxisPlan, columns: AxisPlan) -> Tiling:
    down, across, words = rows.repeats, columns.repeats, columns.period // WORD
    of_word = np.broadcast_to(
        _count_up(num_games, 1, down, 1, across, 1), (num_games, 2, down, rows.period, across, words)
    )
    lines = _count_up(num_games, 2, down, rows.period, across)
    cells = _count_up(num_games, down, rows.count, across, columns.count)
    return Tiling(
        down * across,
        of_word.reshape(-1),
        np.dtype((np.void, columns.period)),
        lines.transpose(1, 3, 0, 2, 4).reshape(2, rows.period, -1),
        cells[:, :, 0, :, 0].reshape(-1),
        cells[0, 0, :, 0, :, None].copy(),
    )


def _count_up(*shape: int) -> np.ndarray:
    return np.arange(math.prod(shape)).reshape(shape)
