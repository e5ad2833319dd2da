"""From the console's screen to the picture that a network is shown: brightness, 120 x 80 pixels. No JAX here.

Upright, each pixel is the mean of four, rounded as OpenCV's area interpolation rounds a halved picture. The faithful way
is the original's mistake: the picture lies on its side, its long axis squeezed to 80 pixels and its short one to 120.
"""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float, UInt8, UInt16

from courtside import spaces
from courtside.hosts.atari.picture import GREY_WEIGHTS
from courtside.hosts.gba.core import HEIGHT, WIDTH, to_rgb

ROWS, COLUMNS = HEIGHT // 2, WIDTH // 2
QUARTERS = np.array([[3, 0, 0], [1, 2, 0], [0, 2, 1], [0, 0, 3]])
"""How much of each of four pixels lies in each of three that take their place, in quarters of a pixel of the original."""
SPACE = spaces.Box(0.0, 255.0, (ROWS, COLUMNS, 1), "uint8")


@functools.cache
def brightness() -> UInt16[np.ndarray, "65536"]:
    """Of every colour that the core can draw, 0 to 255; as numbers that four of them fit into."""
    colours = to_rgb(np.arange(65_536, dtype=np.uint16)[None])[0]
    return ((colours @ GREY_WEIGHTS + 16_384) >> 15).astype(np.uint16)


class Eye:
    """The core's pixels -> what is seen. What it returns holds until the next call."""

    def __init__(self, sideways: bool) -> None:
        self._shrink = squeeze if sideways else halve
        self._grey = np.empty((HEIGHT, WIDTH), np.uint16)
        self._seen = np.zeros(SPACE.shape, np.uint8)

    def __call__(self, pixels: UInt16[np.ndarray, "160 240"]) -> UInt8[np.ndarray, "80 120 1"]:
        np.take(brightness(), pixels, out=self._grey, mode="clip")
        self._seen[..., 0] = self._shrink(self._grey)
        return self._seen


def halve(grey: UInt16[np.ndarray, "160 240"]) -> UInt16[np.ndarray, "80 120"]:
    """Means of 2 x 2 pixels, a half rounded up."""
    rows = grey[::2] + grey[1::2]
    return rows[:, ::2] + rows[:, 1::2] + 2 >> 2


def squeeze(grey: UInt16[np.ndarray, "160 240"]) -> Float[np.ndarray, "80 120"]:
    """The picture on its side: of the long axis means of three pixels, of the short one three where there were four."""
    rows = grey.T.reshape(ROWS, 3, HEIGHT).sum(axis=1)
    parts = rows.reshape(ROWS, HEIGHT // 4, 4) @ QUARTERS
    return np.rint(parts.reshape(ROWS, COLUMNS) / 12)
