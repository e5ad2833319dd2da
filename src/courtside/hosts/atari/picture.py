"""The colours of the console, and from two raw screens to the one picture that a network is shown.

A raw screen holds numbers of colours. Where two screens are shown as one, each of red, green and blue is the larger of the
two, and only then is brightness computed, as in the reference. A table of all pairs of colours does both at once.
"""

from __future__ import annotations

import functools

import numpy as np

from courtside.hosts.atari.resize import AreaResize

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


class Eye:
    """Two raw screens -> one small picture. What it returns holds until the next call.

    Most of a screen is as it was in the last one: only bands of rows that changed are looked at anew.
    """

    def __init__(self, height: int, width: int, size: int, grey: bool) -> None:
        self._tables = pair_tables(height, grey)
        self.num_channels = len(self._tables)
        self._resize = AreaResize(height, width, size)
        bands = (self._resize.num_bands, self._resize.rows.period, width)
        self._seen = np.zeros((2, *bands), np.uint8)
        """The screens of the last call; before the first one they are black, as the result is."""
        self._pairs, self._shown = np.empty(bands, np.uint16), np.empty(bands, np.float32)
        self._result = np.zeros((size, size, self.num_channels), np.uint8)
        self._result_bands = self._result.reshape(bands[0], -1, size, self.num_channels)

    def __call__(self, screens: np.ndarray) -> np.ndarray:
        """Older and newer, uint8 [2, H, W] -> uint8 [size, size, 1 or 3]"""
        screens = screens.reshape(self._seen.shape)
        changed = np.flatnonzero((_as_words(screens) != _as_words(self._seen)).any(axis=(0, 2)))
        if changed.size:
            np.copyto(self._seen, screens)
            self._draw(changed)
        return self._result

    def _draw(self, where: np.ndarray) -> None:
        """Bring some bands of the result up to date."""
        older, newer = np.take(self._seen, where, axis=1, mode="clip")
        pairs, shown = self._pairs[: len(where)], self._shown[: len(where)]
        np.left_shift(older, 8, out=pairs, dtype=np.uint16)
        np.bitwise_or(pairs, newer, out=pairs)
        for k, table in enumerate(self._tables):
            np.take(table, pairs, out=shown, mode="clip")
            self._result_bands[where, :, :, k] = self._resize(shown)


def _as_words(screens: np.ndarray) -> np.ndarray:
    """Eight pixels as one number, so that they are compared at once. [2, bands, ...]"""
    return screens.reshape(*screens.shape[:2], -1).view(np.uint64)
