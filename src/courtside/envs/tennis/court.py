"""The court in numbers: metres, seconds, kilograms. x runs to the right, y up, the net stands at x = 0.

Everything is written for the left racket; the right one is its mirror image.
"""

from __future__ import annotations

import math

NUM_AGENTS = 2

DT = 0.02
"""Seconds of one physics step."""
PHYSICS_STEPS = 5
"""Of one step of the world; the action holds through all of them."""
LIMIT = 5000
"""Physics steps after which an agent is done; it is told in the step after."""
GRAVITY = 9.81

BALL_RADIUS = 0.5
BALL_MASS = 0.75
BALL_SPEED = 9.0
"""To which each component of the ball's velocity is held before a physics step."""

RACKET_MASS = 4.0
RACKET_SPEED = 30.0
JUMP_SPEED = 7.0
JUMP_ACTION = 0.5
"""A second action above this jumps."""
JUMP_HEIGHT = -1.5
"""Below which a racket may jump."""
NEAREST = -1.0
"""As far as a racket may go towards the net."""

ANGLE = math.radians(55)
FACE = (math.cos(ANGLE), math.sin(ANGLE))
"""Where the hitting face looks: up and towards the net."""
EDGE = (-FACE[1], FACE[0])
"""Along the face."""
HALF_THICKNESS, HALF_LENGTH = 0.55, 0.9375
BACK = 0.5
"""The box's middle lies this far behind the racket's position."""

FLOOR, WALL = -3.25, -12.27
NET_HALF_WIDTH, NET_TOP = 0.05, -1.0
OVER_TOP = 9.0
"""The plane above the net, whose crossing pays, ends here."""

REST = FLOOR + BACK * FACE[1] + HALF_THICKNESS * FACE[1] + HALF_LENGTH * abs(EDGE[1])
"""Height of a racket whose lowest corner is on the floor."""
FARTHEST = WALL + BACK * FACE[0] + HALF_THICKNESS * FACE[0] + HALF_LENGTH * abs(EDGE[0])
"""Place of a racket whose rear corner is at the wall."""

TOUCH = 0.02
"""Bodies nearer than this are in contact."""
BOUNCE_SPEED = 2.0
"""Slower approaches do not bounce."""
PUSH, MAX_PUSH = 0.8, 10.0
"""Share of an overlap that one physics step undoes, and the speed it is undone with at most."""

SERVE_HEIGHT = 6.0
START_HEIGHT = -1.5
START_NEAR, START_FAR = 6.0, 8.0
"""Serves and rackets start this far from the net."""

CROSSING_PAYS, LOSING_PAYS = 0.1, -0.01
