"""A picture of the court, drawn on the device from one state. Units are metres, y downwards."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float, UInt8

from courtside.envs.drawing import Canvas, blank, disc, paint, polygon, rectangle, stroke, to_rgb
from courtside.envs.tennis import court
from courtside.envs.tennis.dynamics import Body, mirror
from courtside.envs.tennis.state import TennisState, unpack

PIXEL = 1 / 20
HEIGHT, WIDTH = 272, 512
CORNER = (-12.8, -8.6)
SKY, WALLS, NET, PLANE = (236, 240, 243), (134, 142, 150), (73, 80, 87), (255, 255, 255)
FLOORS = ((141, 160, 203), (226, 160, 125))
RACKETS, FACES = ((52, 84, 148), (176, 78, 40)), ((116, 149, 214), (232, 141, 98))
BALL, SHINE, SHADOW = (214, 226, 60), (243, 248, 178), (0, 0, 0)


def draw(state: TennisState) -> UInt8[Array, "h w 3"]:
    """Both rackets with their hitting faces, the ball and its shadow, net, floor and walls; 25.6 m wide."""
    left, right, ball = unpack(state.bodies)
    canvas = _draw_court(ball)
    for racket, facing, body, face in zip((left, mirror(right)), (1, -1), RACKETS, FACES, strict=True):
        canvas = _draw_racket(canvas, racket, facing, body, face)
    canvas = paint(canvas, disc(canvas, ball.x, -ball.y, court.BALL_RADIUS), BALL)
    return to_rgb(paint(canvas, disc(canvas, ball.x - 0.14, -ball.y - 0.16, 0.13), SHINE))


def _draw_court(ball: Body) -> Canvas:
    canvas = blank(jnp, HEIGHT, WIDTH, PIXEL, SKY, CORNER)
    canvas = paint(canvas, rectangle(canvas, -0.06, -court.OVER_TOP, 0.06, -court.NET_TOP), PLANE)
    for side, colour in zip((-1, 1), FLOORS, strict=True):
        near, far = sorted((0.0, side * 13.0))
        canvas = paint(canvas, rectangle(canvas, near, -court.FLOOR, far, 6.0), colour)
        wall = -side * court.WALL
        near, far = sorted((wall, wall + side))
        canvas = paint(canvas, rectangle(canvas, near, -9.0, far, 6.0), WALLS)
    canvas = paint(canvas, rectangle(canvas, -0.09, -court.NET_TOP, 0.09, 6.0), NET)
    width = 0.6 - 0.035 * (ball.y - court.FLOOR)
    ground = -court.FLOOR + 0.09
    return paint(canvas, stroke(canvas, (ball.x - width, ground), (ball.x + width, ground), 0.1), SHADOW, 0.25)


def _draw_racket(canvas: Canvas, racket: Body, facing: int, body: tuple, face: tuple) -> Canvas:
    """The box that the ball bounces off, the face in a lighter colour."""
    whole = _box(racket, facing, court.HALF_THICKNESS, -court.HALF_THICKNESS)
    front = _box(racket, facing, court.HALF_THICKNESS, court.HALF_THICKNESS - 0.22)
    canvas = paint(canvas, polygon(canvas, whole), body)
    return paint(canvas, polygon(canvas, front), face)


def _box(racket: Body, facing: int, front: float, back: float) -> tuple[tuple[Float[Array, ""], Float[Array, ""]], ...]:
    """Corners in clockwise order of a slice of the racket's box, from `back` to `front` of its middle."""
    corners = [(a, b) for a, b in ((front, 1), (front, -1), (back, -1), (back, 1))]
    box = []
    for across, end in corners[::facing]:
        forward, along = across - court.BACK, end * court.HALF_LENGTH
        x = facing * (court.FACE[0] * forward + court.EDGE[0] * along)
        box.append((racket.x + x, -(racket.y + court.FACE[1] * forward + court.EDGE[1] * along)))
    return tuple(box)
