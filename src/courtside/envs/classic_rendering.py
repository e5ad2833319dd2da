"""Pictures of the classic worlds, drawn on the device from one state. Units are those of the dynamics, y downwards."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jaxtyping import Array, Float, UInt8

from courtside.envs.drawing import Canvas, blank, disc, paint, polygon, rectangle, ring, stroke, to_rgb

PAPER, INK, FAINT = (250, 249, 246), (52, 58, 64), (206, 212, 218)
WOOD, STEEL, ROSE, MOSS = (214, 140, 69), (73, 107, 148), (201, 72, 91), (88, 129, 87)

Picture = UInt8[Array, "h w 3"]


def draw_cartpole(state: Float[Array, "4"]) -> Picture:
    """A cart on its track, the ends of which are lost; 5.4 m wide."""
    x, angle = state[0], state[2]
    canvas = blank(jnp, 240, 432, 1 / 80, PAPER, (-2.7, -1.9))
    canvas = paint(canvas, stroke(canvas, (-2.4, 0.3), (2.4, 0.3), 0.03), FAINT)
    for end in (-2.4, 2.4):
        canvas = paint(canvas, stroke(canvas, (end, 0.18), (end, 0.42), 0.03), FAINT)
    canvas = paint(canvas, rectangle(canvas, x - 0.34, 0.0, x + 0.34, 0.3, 0.06), INK)
    for wheel in (-0.2, 0.2):
        canvas = paint(canvas, disc(canvas, x + wheel, 0.31, 0.085), INK)
        canvas = paint(canvas, disc(canvas, x + wheel, 0.31, 0.035), PAPER)
    tip = (x + 1.2 * jnp.sin(angle), 0.04 - 1.2 * jnp.cos(angle))
    canvas = paint(canvas, stroke(canvas, (x, 0.04), tip, 0.11), WOOD)
    return to_rgb(paint(canvas, disc(canvas, x, 0.04, 0.035), PAPER))


def draw_acrobot(state: Float[Array, "4"]) -> Picture:
    """Two links and the height that the free end has to reach."""
    canvas = blank(jnp, 320, 320, 1 / 68, PAPER, (-2.35, -2.35))
    canvas = paint(canvas, rectangle(canvas, -2.3, -1.012, 2.3, -0.988), MOSS)
    elbow = (jnp.sin(state[0]), jnp.cos(state[0]))
    tip = (elbow[0] + jnp.sin(state[0] + state[1]), elbow[1] + jnp.cos(state[0] + state[1]))
    canvas = paint(canvas, stroke(canvas, (0.0, 0.0), elbow, 0.2), STEEL)
    canvas = paint(canvas, stroke(canvas, elbow, tip, 0.2), WOOD)
    for x, y in ((0.0, 0.0), elbow):
        canvas = paint(canvas, disc(canvas, x, y, 0.055), PAPER)
    return to_rgb(canvas)


def draw_mountain_car(state: Float[Array, "2"]) -> Picture:
    """The valley 0.45 sin 3x + 0.55, the car on its slope, and the flag at 0.5."""
    position = state[0]
    canvas = blank(jnp, 272, 432, 1 / 225, PAPER, (-1.26, -1.18))
    slope = 1.35 * jnp.cos(3 * canvas.x)
    canvas = paint(canvas, -(canvas.y + _height(canvas.x)) / jnp.sqrt(1 + slope**2), FAINT)
    canvas = _flag(canvas, 0.5)
    tilt = jnp.arctan(1.35 * jnp.cos(3 * position))
    canvas = _car(canvas, position, -_height(position), -tilt)
    return to_rgb(canvas)


def _height(x: Array) -> Array:
    return 0.45 * jnp.sin(3 * x) + 0.55


def _flag(canvas: Canvas, x: float) -> Canvas:
    foot = -(0.45 * math.sin(3 * x) + 0.55)
    canvas = paint(canvas, stroke(canvas, (x, foot), (x, foot - 0.15), 0.01), INK)
    cloth = polygon(canvas, ((x, foot - 0.155), (x + 0.075, foot - 0.125), (x, foot - 0.095)))
    return paint(canvas, cloth, MOSS)


def _car(canvas: Canvas, x: Array, y: Array, angle: Array) -> Canvas:
    """Drawn upright in coordinates that lean with the slope."""
    across, down = canvas.x - x, canvas.y - y
    sin, cos = jnp.sin(angle), jnp.cos(angle)
    tilted = canvas._replace(x=across * cos + down * sin, y=down * cos - across * sin)
    tilted = paint(tilted, rectangle(tilted, -0.045, -0.135, 0.05, -0.07, 0.025), ROSE)
    tilted = paint(tilted, rectangle(tilted, -0.095, -0.095, 0.095, -0.03, 0.02), ROSE)
    for wheel in (-0.055, 0.055):
        tilted = paint(tilted, disc(tilted, wheel, -0.028, 0.028), INK)
    return canvas._replace(colour=tilted.colour)


def draw_pendulum(state: Float[Array, "2"]) -> Picture:
    """A rod on an axle, upright at angle 0."""
    canvas = blank(jnp, 320, 320, 1 / 110, PAPER, (-1.4545, -1.4545))
    canvas = paint(canvas, ring(disc(canvas, 0.0, 0.0, 1.0), 0.012), FAINT)
    tip = (jnp.sin(state[0]), -jnp.cos(state[0]))
    canvas = paint(canvas, stroke(canvas, (0.0, 0.0), tip, 0.2), ROSE)
    return to_rgb(paint(canvas, disc(canvas, 0.0, 0.0, 0.05), INK))
