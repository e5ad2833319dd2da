"""Shapes against their areas, and the two array libraries against each other."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.envs.drawing import blank, disc, paint, polygon, rectangle, ring, stroke, to_rgb, turn

WHITE = (255, 255, 255)


def area(shape) -> float:
    """Share of a unit canvas that a shape covers."""
    canvas = blank(np, 64, 64, 1 / 64)
    return float(paint(canvas, shape(canvas), WHITE).colour.mean() / 255)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (lambda c: disc(c, 0.5, 0.5, 0.3), math.pi * 0.09),
        (lambda c: rectangle(c, 0.1, 0.2, 0.6, 0.9), 0.5 * 0.7),
        (lambda c: rectangle(c, 0.1, 0.1, 0.9, 0.9, 0.2), 0.64 - (4 - math.pi) * 0.04),
        (lambda c: stroke(c, (0.3, 0.3), (0.7, 0.6), 0.1), 0.5 * 0.1 + math.pi * 0.05**2),
        (lambda c: polygon(c, ((0.1, 0.1), (0.9, 0.5), (0.1, 0.9))), 0.8 * 0.8 / 2),
        (lambda c: ring(disc(c, 0.5, 0.5, 0.3), 0.1), math.pi * (0.35**2 - 0.25**2)),
    ],
)
def test_a_shape_covers_its_area(shape, expected):
    assert area(shape) == pytest.approx(expected, rel=0.01)


def test_y_grows_downwards_and_turns_are_clockwise():
    canvas = blank(np, 8, 8, 1 / 8)
    canvas = paint(canvas, rectangle(canvas, 0.5, 0, 1, 0.25), WHITE)
    right_top, turned = to_rgb(canvas), to_rgb(turn(canvas, 1))
    assert right_top[:2, 4:].min() == 255
    assert right_top.sum() == 2 * 4 * 3 * 255
    assert turned[4:, 6:].min() == 255
    assert turned.sum() == right_top.sum()


def test_traced_pictures_equal_numpys():
    def draw(xp, x):
        canvas = blank(xp, 24, 32, 1 / 16, (250, 249, 246), (-1.0, -0.75))
        canvas = paint(canvas, disc(canvas, x, 0.1, 0.4), (10, 200, 30), 0.5)
        canvas = paint(canvas, polygon(canvas, ((x, -0.6), (x + 0.4, 0.5), (x - 0.4, 0.5))), (200, 0, 90))
        return to_rgb(paint(canvas, stroke(canvas, (x, 0), (0.5, 0.5), 0.1), (0, 0, 255)))

    traced = jax.jit(lambda x: draw(jnp, x))(jnp.float32(0.2))
    # Rounding may tip a half.
    assert np.abs(np.asarray(traced, int) - draw(np, np.float32(0.2)).astype(int)).max() <= 1
