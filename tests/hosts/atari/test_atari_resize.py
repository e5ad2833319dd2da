"""The resize against OpenCV's results, recorded, and against a slow twin."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from plain_wrappers import shrink

from courtside.hosts.atari.resize import AreaResize, make_axis

RECORDED = {
    (210, 160, 84): "ad8c566011532b2d",
    (250, 160, 84): "35522aae6c2ceeb0",
    (210, 160, 64): "1997938853bf2807",
    (210, 160, 160): "4a33b94b1506f247",
}
"""Height, width, size -> digest of what cv2.resize(..., interpolation=cv2.INTER_AREA) makes of `pictures`, by OpenCV 4.14 and 5.0."""


def pictures(height: int, width: int) -> np.ndarray:
    """Noise, blocks of few colours (where means often end in a half), stripes. uint8 [6, height, width]"""
    rng = np.random.default_rng(0)
    noise = rng.integers(256, size=(2, height, width))
    blocks = rng.integers(256, size=(3, height // 10, width // 10)).repeat(10, axis=1).repeat(10, axis=2)
    stripes = np.broadcast_to(np.arange(width) % 2 * 255, (1, height, width))
    return np.concatenate([noise, blocks, stripes]).astype(np.uint8)


def resized(picture: np.ndarray, size: int) -> np.ndarray:
    resize = AreaResize(*picture.shape, size)
    return resize(picture.reshape(resize.num_bands, -1, picture.shape[1]).astype(np.float32)).reshape(size, size)


@pytest.mark.parametrize(("height", "width", "size"), list(RECORDED))
def test_pictures_shrink_as_with_opencv(height, width, size):
    found = np.stack([resized(picture, size) for picture in pictures(height, width)])
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == RECORDED[height, width, size]


@pytest.mark.parametrize(("height", "size"), [(210, 84), (250, 84), (210, 77), (210, 160)])
def test_pictures_shrink_as_in_the_slow_twin(height, size):
    for picture in pictures(height, 160):
        assert np.array_equal(resized(picture, size), shrink(picture, size))


def test_parts_of_a_picture_shrink_as_the_whole():
    picture, resize = pictures(210, 160)[2], AreaResize(210, 160, 84)
    some = [3, 17, 40]
    bands = resize(picture.reshape(42, 5, 160)[some].astype(np.float32))
    assert np.array_equal(bands, shrink(picture, 84).reshape(42, 2, 84)[some])


def test_a_cell_covers_as_much_as_it_should():
    axis = make_axis(5, 2)
    assert axis.weights.tolist() == [[2, 2, 1, 0, 0], [0, 0, 1, 2, 2]]
    assert axis.taps.tolist() == [[0, 1, 2], [2, 3, 4]]
    assert np.allclose(axis.shares, [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])
