"""Pictures from shapes with smooth edges, in NumPy or on the device: the same lines serve both.

A shape is the signed distance of every pixel to its rim (negative inside); how far the rim runs through a pixel decides how
much of its colour the pixel takes. Nothing is sampled twice and every step is arithmetic on whole arrays, so a picture can
be drawn under `jit` and `vmap`, its coordinates being traced numbers.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

Number = Any
"""A float, or a traced one."""
Colour = tuple[int, int, int]


class Canvas(NamedTuple):
    """A picture under way; x grows to the right, y downwards."""

    xp: ModuleType
    """`numpy` or `jax.numpy`."""
    x: Any
    """Where each pixel's middle lies, in the units of the drawing. [h, w]"""
    y: Any
    pixel: float
    """Side of a pixel in the same units."""
    colour: Any
    """0 to 255. [h, w, 3]"""


def blank(
    xp: ModuleType,
    height: int,
    width: int,
    pixel: float,
    colour: Colour = (0, 0, 0),
    corner: tuple[float, float] = (0.0, 0.0),
) -> Canvas:
    """A canvas of one colour whose upper left corner lies at `corner`."""
    y, x = np.mgrid[:height, :width].astype(np.float32) * pixel + pixel / 2
    ground = np.broadcast_to(np.asarray(colour, np.float32), (height, width, 3))
    return Canvas(xp, xp.asarray(x + corner[0]), xp.asarray(y + corner[1]), pixel, xp.asarray(ground))


def paint(canvas: Canvas, distance: Any, colour: Colour, opacity: Number = 1.0) -> Canvas:
    """Cover what lies inside a shape."""
    xp = canvas.xp
    cover = xp.clip(0.5 - distance / canvas.pixel, 0.0, 1.0)[..., None] * opacity
    new = xp.broadcast_to(xp.asarray(colour, xp.float32), canvas.colour.shape)
    return canvas._replace(colour=canvas.colour + cover * (new - canvas.colour))


def to_rgb(canvas: Canvas) -> Any:
    """The picture as bytes. uint8 [h, w, 3]"""
    return canvas.xp.clip(canvas.colour + 0.5, 0, 255).astype(canvas.xp.uint8)


def disc(canvas: Canvas, x: Number, y: Number, radius: Number) -> Any:
    return canvas.xp.hypot(canvas.x - x, canvas.y - y) - radius


def rectangle(canvas: Canvas, left: Number, top: Number, right: Number, bottom: Number, rounding: float = 0.0) -> Any:
    """A box with its corners rounded off by that radius."""
    xp = canvas.xp
    across = xp.abs(canvas.x - (left + right) / 2) - (right - left) / 2 + rounding
    along = xp.abs(canvas.y - (top + bottom) / 2) - (bottom - top) / 2 + rounding
    outside = xp.hypot(xp.maximum(across, 0), xp.maximum(along, 0))
    return outside + xp.minimum(xp.maximum(across, along), 0) - rounding


def stroke(canvas: Canvas, start: tuple[Number, Number], end: tuple[Number, Number], thickness: float) -> Any:
    """A line with round ends."""
    xp, along_x, along_y = canvas.xp, end[0] - start[0], end[1] - start[1]
    from_x, from_y = canvas.x - start[0], canvas.y - start[1]
    share = xp.clip((from_x * along_x + from_y * along_y) / (along_x**2 + along_y**2 + 1e-12), 0.0, 1.0)
    return xp.hypot(from_x - share * along_x, from_y - share * along_y) - thickness / 2


def polygon(canvas: Canvas, corners: tuple[tuple[Number, Number], ...]) -> Any:
    """A convex one, its corners in clockwise order as seen on the screen."""
    xp, distance = canvas.xp, None
    for (ax, ay), (bx, by) in zip(corners, (*corners[1:], corners[0]), strict=True):
        length = xp.hypot(xp.asarray(bx - ax), xp.asarray(by - ay))
        side = ((canvas.x - ax) * (by - ay) - (canvas.y - ay) * (bx - ax)) / length
        distance = side if distance is None else xp.maximum(distance, side)
    return distance


def ring(distance: Any, thickness: float) -> Any:
    """The rim of a shape instead of the whole."""
    return abs(distance) - thickness / 2


def turn(canvas: Canvas, quarters: int) -> Canvas:
    """The same picture, turned clockwise by quarters; what is drawn next is not turned."""
    return canvas._replace(colour=canvas.xp.rot90(canvas.colour, -quarters))
