"""One physics step: contacts as they are found at its start, velocities that these allow, new places.

Each racket is told in coordinates of its own side (its half of the court is x < 0), so one function serves both, the ball
being mirrored for the right one. All numbers are scalars: XLA then needs few kernels, which is what a world this small costs.

A contact holds what approaches; ball and racket bounce off each other without loss where they meet fast enough. Places and
velocities are solved for apart: overlaps are pushed out without leaving any speed behind.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from courtside.envs.tennis import court

Number = Float[Array, ""]
FREE = -1e4
"""Least speed of what nothing holds."""
BALL_GIVES, RACKET_GIVES = 1 / court.BALL_MASS, 1 / court.RACKET_MASS
"""Speed that an impulse of 1 gives."""


class Body(NamedTuple):
    """A racket, or the ball."""

    x: Number
    y: Number
    vx: Number
    vy: Number


class Contact(NamedTuple):
    """Where ball and racket are nearest."""

    nx: Number
    ny: Number
    """From the racket to the ball, of length 1."""
    gap: Number
    """Between their surfaces; negative where they overlap."""
    touches: Bool[Array, ""]


class Push(NamedTuple):
    """What a racket does to the ball in one physics step, or is about to."""

    impulse: Number
    """Negative where it would have to pull."""
    gives: Number
    """Parting speed that each unit of the impulse adds."""


def mirror(body: Body) -> Body:
    """As the other side sees it."""
    return Body(-body.x, body.y, -body.vx, body.vy)


def steer(racket: Body, run: Number, jump: Number) -> Body:
    """What an action does before each physics step; a positive one runs to the net."""
    jumps = (jump > court.JUMP_ACTION) & (racket.y < court.JUMP_HEIGHT)
    vy = jnp.where(jumps, court.JUMP_SPEED, racket.vy)
    return Body(jnp.minimum(racket.x, court.NEAREST), racket.y, court.RACKET_SPEED * run, vy)


def hold_speed(ball: Body) -> Body:
    """The ball is held to its top speed before each physics step."""
    vx, vy = (jnp.clip(v, -court.BALL_SPEED, court.BALL_SPEED) for v in (ball.vx, ball.vy))
    return Body(ball.x, ball.y, vx, vy)


def find_contact(racket: Body, ball: Body) -> Contact:
    """Ball against the tilted box of a racket; a ball whose middle is inside leaves by the nearest face."""
    (face_x, face_y), (edge_x, edge_y) = court.FACE, court.EDGE
    from_x, from_y = ball.x - racket.x, ball.y - racket.y
    across, along = from_x * face_x + from_y * face_y + court.BACK, from_x * edge_x + from_y * edge_y
    over_face, over_edge = jnp.abs(across) - court.HALF_THICKNESS, jnp.abs(along) - court.HALF_LENGTH
    out_face, out_edge = jnp.maximum(over_face, 0.0), jnp.maximum(over_edge, 0.0)
    square = out_face**2 + out_edge**2
    is_inside, by_face = square == 0, over_face >= over_edge
    distance = jnp.sqrt(jnp.where(is_inside, 1.0, square))
    n_face = jnp.where(is_inside, jnp.where(by_face, 1.0, 0.0), out_face / distance)
    n_edge = jnp.where(is_inside, jnp.where(by_face, 0.0, 1.0), out_edge / distance)
    n_face, n_edge = jnp.where(across < 0, -n_face, n_face), jnp.where(along < 0, -n_edge, n_edge)
    gap = jnp.where(is_inside, jnp.maximum(over_face, over_edge), distance) - court.BALL_RADIUS
    return Contact(n_face * face_x + n_edge * edge_x, n_face * face_y + n_edge * edge_y, gap, gap < court.TOUCH)


def move(left: Body, right: Body, ball: Body, contacts: tuple[Contact, Contact]) -> tuple[Body, Body, Body]:
    """Gravity; then new places by the velocities that set overlaps right, and the velocities that stay."""
    falling = fall(left), fall(right), fall(ball)
    going = _solve(*falling, contacts, is_place=True)
    staying = _solve(*falling, contacts, is_place=False)
    left, right, ball = (go(body, by) for body, by in zip(staying, going, strict=True))
    return left, right, ball


def fall(body: Body) -> Body:
    return Body(body.x, body.y, body.vx, body.vy - court.GRAVITY * court.DT)


def go(body: Body, by: Body) -> Body:
    """On to a new place, by the velocity of `by`."""
    return Body(body.x + court.DT * by.vx, body.y + court.DT * by.vy, body.vx, body.vy)


def _solve(
    left: Body, right: Body, ball: Body, contacts: tuple[Contact, Contact], is_place: bool
) -> tuple[Body, Body, Body]:
    """Velocities under the least impulses that all contacts ask for: those to go by, or those that stay."""
    holds = _hold(left, is_place), _hold(right, is_place)
    pushes = (
        _find_push(left, ball, contacts[0], holds[0], is_place),
        _find_push(right, mirror(ball), contacts[1], holds[1], is_place),
    )
    on_left, on_right = _share(pushes, contacts)
    gained_x = BALL_GIVES * (on_left * contacts[0].nx - on_right * contacts[1].nx)
    gained_y = BALL_GIVES * (on_left * contacts[0].ny + on_right * contacts[1].ny)
    return (
        _recoil(left, contacts[0], on_left, holds[0]),
        _recoil(right, contacts[1], on_right, holds[1]),
        Body(ball.x, ball.y, ball.vx + gained_x, ball.vy + gained_y),
    )


def _hold(racket: Body, is_place: bool) -> tuple[Number, Number]:
    """Least speeds of a racket away from wall and floor."""
    wall, floor = racket.x - court.FARTHEST, racket.y - court.REST
    vx, vy = (jnp.where(gap < court.TOUCH, _least(gap, is_place), FREE) for gap in (wall, floor))
    return vx, vy


def _least(gap: Number, is_place: bool) -> Number:
    """Least speed apart: none that closes a contact stays, but a gap may close, and an overlap is pushed out."""
    if not is_place:
        return jnp.zeros_like(gap)
    return jnp.where(gap > 0, -gap / court.DT, jnp.minimum(-gap * (court.PUSH / court.DT), court.MAX_PUSH))


def _find_push(racket: Body, ball: Body, contact: Contact, hold: tuple[Number, Number], is_place: bool) -> Push:
    """The impulse after which ball and racket part just as they should, were it the only one on the ball.

    With it parting speed grows along a line, less steep while wall or floor holds the racket. Where the impulse presses the
    racket on to them, the line bends down and the larger of both answers is right, otherwise the smaller.
    """
    nx, ny = contact.nx, contact.ny
    racket_x, racket_y, ball_speed = nx * racket.vx, ny * racket.vy, nx * ball.vx + ny * ball.vy
    approach = racket_x + racket_y - ball_speed
    wanted = jnp.where(approach > court.BOUNCE_SPEED, approach, _least(contact.gap, is_place)) - ball_speed
    held_x, held_y = nx * hold[0], ny * hold[1]
    free = (wanted + racket_x + racket_y) / (BALL_GIVES + RACKET_GIVES)
    at_wall = (wanted + held_x + racket_y) / (BALL_GIVES + RACKET_GIVES * ny**2)
    on_floor = (wanted + racket_x + held_y) / (BALL_GIVES + RACKET_GIVES * nx**2)
    in_corner = (wanted + held_x + held_y) / BALL_GIVES
    impulse = _pick(ny > 0, _pick(nx > 0, free, at_wall), _pick(nx > 0, on_floor, in_corner))
    at_least = jnp.maximum(impulse, 0.0)
    gives_x = jnp.where(racket.vx - RACKET_GIVES * nx * at_least > hold[0], nx**2, 0.0)
    gives_y = jnp.where(racket.vy - RACKET_GIVES * ny * at_least > hold[1], ny**2, 0.0)
    return Push(impulse, BALL_GIVES + RACKET_GIVES * (gives_x + gives_y))


def _pick(larger: Bool[Array, ""], a: Number, b: Number) -> Number:
    return jnp.where(larger, jnp.maximum(a, b), jnp.minimum(a, b))


def _share(pushes: tuple[Push, Push], contacts: tuple[Contact, Contact]) -> tuple[Number, Number]:
    """Impulses of both rackets on the ball. Where both touch it each reaches into the other's: two equations, none pulls."""
    (left, gives_left), (right, gives_right) = pushes
    both = contacts[0].touches & contacts[1].touches
    reach = jnp.where(both, BALL_GIVES * (contacts[0].ny * contacts[1].ny - contacts[0].nx * contacts[1].nx), 0.0)
    scale = gives_left * gives_right - reach**2
    on_left = gives_right * (left * gives_left - reach * right) / scale
    on_right = gives_left * (right * gives_right - reach * left) / scale
    on_left, on_right = jnp.where(on_right < 0, left, on_left), jnp.where(on_left < 0, right, on_right)
    left, right = (
        jnp.where(contact.touches, jnp.maximum(impulse, 0.0), 0.0)
        for contact, impulse in zip(contacts, (on_left, on_right), strict=True)
    )
    return left, right


def _recoil(racket: Body, contact: Contact, impulse: Number, hold: tuple[Number, Number]) -> Body:
    speed = RACKET_GIVES * impulse
    vx, vy = jnp.maximum(racket.vx - speed * contact.nx, hold[0]), jnp.maximum(racket.vy - speed * contact.ny, hold[1])
    return Body(racket.x, racket.y, vx, vy)
