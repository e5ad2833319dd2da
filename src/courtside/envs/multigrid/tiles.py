"""Every tile of a grid world, drawn once: the look people know from MiniGrid, in shapes of our own.

Coordinates are shares of a tile, (0, 0) its upper left corner. Things stand on tiles that cannot be seen through; agents and
what they carry are overlays, so that the ground shows around them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from courtside.envs.drawing import Canvas, blank, disc, paint, polygon, rectangle, ring, stroke, to_rgb, turn
from courtside.envs.multigrid.objects import CODE, Colour, State, Type, colour_of, state_of, type_of

BLACK, WHITE = (0, 0, 0), (255, 255, 255)
RGB = ((255, 0, 0), (0, 255, 0), (0, 0, 255), (112, 39, 195), (255, 255, 0), (100, 100, 100))
"""By colour index."""
LINE = (100, 100, 100)
"""Grid lines, along the left and the upper edge of each tile."""
ORANGE = (255, 128, 0)
NUM_COLOURS = len(RGB)
PLAIN = (Type.UNSEEN, Type.EMPTY, Type.WALL, Type.LAVA)
"""Things that look alike in every colour."""
NUM_AGENT_LOOKS = NUM_COLOURS * 2 * 4
CARRIED_TYPES = (Type.KEY, Type.BALL, Type.BOX)


class TileAtlas(NamedTuple):
    """All tiles of one size."""

    ground: UInt8[np.ndarray, "N S S 3"]
    ground_of: Int[np.ndarray, "1024"]
    """Ten-bit code of a shown thing -> its tile."""
    paint: UInt8[np.ndarray, "M S S 3"]
    """What an overlay adds; the first adds nothing."""
    through: UInt8[np.ndarray, "M S S 1"]
    """How much of the ground an overlay lets through, of 255."""


@functools.cache
def draw_atlas(size: int) -> TileAtlas:
    """Draw all tiles at `size` pixels."""
    looks = [_look(code) for code in range(CODE + 1)]
    numbers = {look: number for number, look in enumerate(dict.fromkeys(looks))}
    ground = np.stack([to_rgb(_draw_thing(*look, size)) for look in numbers])
    overlays = [_draw_overlay(draw, size) for draw in _overlays()]
    ground_of = np.asarray([numbers[look] for look in looks], np.int32)
    return TileAtlas(ground, ground_of, *(np.stack(part) for part in zip(*overlays, strict=True)))


def agent_overlay(colour: Any, is_done: Any, direction: Any) -> Any:
    """Number of the overlay that shows an agent; numbers or arrays."""
    return 1 + (colour * 2 + is_done) * 4 + direction


def carried_overlay(carried: Any) -> Any:
    """Number of the overlay that shows a thing in an agent's hands."""
    return 1 + NUM_AGENT_LOOKS + (type_of(carried) - Type.KEY) * NUM_COLOURS + colour_of(carried)


def _overlays() -> list[Callable[[Canvas], Canvas]]:
    """In the order of the two functions above."""
    looks = [(c, done, d) for c in range(NUM_COLOURS) for done in (False, True) for d in range(4)]
    agents = [functools.partial(_agent, colour=c, is_done=done, direction=d) for c, done, d in looks]
    badges = [functools.partial(_badge, type=t, colour=c) for t in CARRIED_TYPES for c in range(NUM_COLOURS)]
    return [lambda canvas: canvas, *agents, *badges]


def _draw_overlay(draw: Callable[[Canvas], Canvas], size: int) -> tuple[np.ndarray, np.ndarray]:
    """What differs between a black and a white ground is how much of the ground shines through."""
    on_black, on_white = (draw(blank(np, size, size, 1 / size, ground)).colour for ground in (BLACK, WHITE))
    through = (on_white - on_black)[..., :1]
    return (on_black + 0.5).astype(np.uint8), (through + 0.5).astype(np.uint8)


def _look(code: int) -> tuple[int, int, int]:
    """Type, colour and state, as far as they can be told apart; codes that no thing has look unseen."""
    kind, colour, state = type_of(code), colour_of(code), state_of(code)
    if kind >= Type.AGENT or colour >= NUM_COLOURS:
        return Type.UNSEEN, 0, 0
    return kind, 0 if kind in PLAIN else colour, min(state, State.LOCKED) if kind == Type.DOOR else 0


def _draw_thing(kind: int, colour: int, state: int, size: int) -> Canvas:
    canvas, rgb = blank(np, size, size, 1 / size), RGB[colour]
    if kind == Type.UNSEEN:
        return canvas
    canvas = _lines(canvas)
    match kind:
        case Type.WALL:
            return paint(canvas, rectangle(canvas, 0, 0, 1, 1), RGB[Colour.GREY])
        case Type.FLOOR:
            return _lines(paint(canvas, rectangle(canvas, 0, 0, 1, 1), _shade(rgb, 0.4)))
        case Type.GOAL:
            return _lines(paint(canvas, rectangle(canvas, 0, 0, 1, 1), rgb))
        case Type.LAVA:
            return _lines(_lava(canvas))
        case Type.DOOR:
            return _door(canvas, rgb, state)
        case Type.KEY | Type.BALL | Type.BOX:
            return _portable(canvas, kind, rgb)
    return canvas


def _lines(canvas: Canvas) -> Canvas:
    thickness = max(canvas.pixel, 1 / 32)
    canvas = paint(canvas, rectangle(canvas, 0, 0, thickness, 1), LINE)
    return paint(canvas, rectangle(canvas, 0, 0, 1, thickness), LINE)


def _shade(rgb: tuple[int, int, int], share: float) -> tuple[int, int, int]:
    red, green, blue = (int(part * share) for part in rgb)
    return red, green, blue


def _lava(canvas: Canvas) -> Canvas:
    """Three rows of waves on orange."""
    canvas = paint(canvas, rectangle(canvas, 0, 0, 1, 1), ORANGE)
    for y in (0.3, 0.52, 0.74):
        for i in range(4):
            start, end = 0.1 + 0.2 * i, 0.3 + 0.2 * i
            rise = 0.05 if i % 2 else -0.05
            canvas = paint(canvas, stroke(canvas, (start, y + rise), (end, y - rise), 0.05), BLACK)
    return canvas


def _door(canvas: Canvas, rgb: tuple[int, int, int], state: int) -> Canvas:
    """Open: its leaf seen from the side. Closed: two frames and a handle. Locked: filled, with a keyhole."""
    if state == State.OPEN:
        leaf = rectangle(canvas, 0.86, 0, 1, 1)
        return paint(paint(canvas, leaf, rgb), rectangle(canvas, 0.91, 0.05, 0.95, 0.95), BLACK)
    canvas = paint(canvas, rectangle(canvas, 0, 0, 1, 1), rgb)
    if state == State.LOCKED:
        canvas = paint(canvas, rectangle(canvas, 0.07, 0.07, 0.93, 0.93), _shade(rgb, 0.45))
        canvas = paint(canvas, disc(canvas, 0.7, 0.45, 0.08), rgb)
        return paint(canvas, rectangle(canvas, 0.665, 0.45, 0.735, 0.66), rgb)
    for inset, colour in ((0.05, BLACK), (0.1, rgb), (0.15, BLACK)):
        canvas = paint(canvas, rectangle(canvas, inset, inset, 1 - inset, 1 - inset), colour)
    return paint(canvas, disc(canvas, 0.73, 0.5, 0.08), rgb)


def _portable(canvas: Canvas, kind: int, rgb: tuple[int, int, int]) -> Canvas:
    match kind:
        case Type.KEY:
            return _key(canvas, rgb)
        case Type.BALL:
            return paint(canvas, disc(canvas, 0.5, 0.5, 0.32), rgb)
        case _:
            frame = ring(rectangle(canvas, 0.15, 0.15, 0.85, 0.85, 0.03), 0.07)
            return paint(paint(canvas, frame, rgb), rectangle(canvas, 0.15, 0.465, 0.85, 0.535), rgb)


def _key(canvas: Canvas, rgb: tuple[int, int, int]) -> Canvas:
    """A bow at the top, a shaft, and two teeth to the left."""
    canvas = paint(canvas, ring(disc(canvas, 0.56, 0.28, 0.125), 0.13), rgb)
    canvas = paint(canvas, rectangle(canvas, 0.5, 0.4, 0.62, 0.88), rgb)
    canvas = paint(canvas, rectangle(canvas, 0.37, 0.59, 0.55, 0.67), rgb)
    return paint(canvas, rectangle(canvas, 0.37, 0.8, 0.55, 0.88), rgb)


def _agent(canvas: Canvas, colour: int, is_done: bool, direction: int) -> Canvas:
    """A triangle that points where it looks; hollow once it is out of the game."""
    shape = polygon(canvas, ((0.14, 0.17), (0.88, 0.5), (0.14, 0.83)))
    return turn(paint(canvas, ring(shape + 0.045, 0.07) if is_done else shape, RGB[colour]), direction)


def _badge(canvas: Canvas, type: int, colour: int) -> Canvas:
    """A carried thing: the same drawing, small, on a dark plate in the lower right corner."""
    canvas = paint(canvas, rectangle(canvas, 0.54, 0.54, 0.99, 0.99, 0.08), (40, 40, 40))
    corner = canvas._replace(x=(canvas.x - 0.54) / 0.45, y=(canvas.y - 0.54) / 0.45, pixel=canvas.pixel / 0.45)
    return canvas._replace(colour=_portable(corner, type, RGB[colour]).colour)
