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
    height, width = picture.shape
    resize = AreaResize(height, width, size)
    rows, columns = resize.rows, resize.columns
    shrunk = resize(tiles_of(picture, resize).reshape(columns.period, -1))
    tiles = shrunk.reshape(rows.count, columns.count, rows.repeats, columns.repeats)
    return tiles.transpose(2, 0, 3, 1).reshape(size, size)


def tiles_of(picture: np.ndarray, resize: AreaResize) -> np.ndarray:
    """All tiles, row by row. float32 [columns, rows, n]"""
    rows, columns = resize.rows, resize.columns
    tiles = picture.reshape(rows.repeats, rows.period, columns.repeats, columns.period).transpose(3, 1, 0, 2)
    return tiles.reshape(columns.period, rows.period, -1).astype(np.float32)


@pytest.mark.parametrize(("height", "width", "size"), list(RECORDED))
def test_pictures_shrink_as_with_opencv(height, width, size):
    found = np.stack([resized(picture, size) for picture in pictures(height, width)])
    assert hashlib.sha256(found.tobytes()).hexdigest()[:16] == RECORDED[height, width, size]


@pytest.mark.parametrize(("height", "size"), [(210, 84), (250, 84), (210, 77), (210, 160)])
def test_pictures_shrink_as_in_the_slow_twin(height, size):
    for picture in pictures(height, 160):
        assert np.array_equal(resized(picture, size), shrink(picture, size))


def test_some_tiles_shrink_as_the_whole():
    picture, resize = pictures(210, 160)[2], AreaResize(210, 160, 84)
    some = [3, 17, 40, 167]
    found = resize(tiles_of(picture, resize)[..., some].reshape(40, -1))
    expected = shrink(picture, 84).reshape(42, 2, 4, 21).transpose(1, 3, 0, 2).reshape(2, 21, -1)
    assert np.array_equal(found, expected[..., some])


def test_a_cell_covers_as_much_as_it_should():
    axis = make_axis(5, 2)
    assert (axis.period, axis.count, axis.repeats) == (5, 2, 1)
    assert axis.taps.T.tolist() == [[0, 1, 2], [2, 3, 4]]
    assert np.allclose(axis.shares[..., 0].T, [[0.4, 0.4, 0.2], [0.2, 0.4, 0.4]])


@pytest.mark.parametrize(("size", "period"), [(84, 40), (64, 40), (80, 8), (160, 8), (77, 160)])
def test_tiles_can_be_as_wide_as_asked(size, period):
    axis = make_axis(160, size, multiple=8)
    assert (axis.period, axis.period * axis.repeats, axis.count * axis.repeats) == (period, 160, size)
    assert np.allclose(axis.shares.sum(axis=0), 1.0)
