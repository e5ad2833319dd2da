"""Things on the grid, each packed into one integer, and the index tables that every observation is written in.

Bits 0-3 hold the type, 4-6 the colour, 7-9 the state: together the ten bits that can be seen. Bits 10-19 hold what is in
a box, bits 20-29 what is in that thing, both packed alike (0 = nothing). Bit 30 marks a thing that looks unlike what it is:
a door that is shut but shown open, a paid key that is shown as if it were fresh.
"""

from __future__ import annotations

from typing import Any, TypeVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

T = TypeVar("T", int, Array, np.ndarray)


class Type:
    """What a thing is."""

    UNSEEN = 0
    EMPTY = 1
    WALL = 2
    FLOOR = 3
    DOOR = 4
    KEY = 5
    BALL = 6
    BOX = 7
    GOAL = 8
    LAVA = 9
    AGENT = 10


class Colour:
    """In the order in which agents take them."""

    RED = 0
    GREEN = 1
    BLUE = 2
    PURPLE = 3
    YELLOW = 4
    GREY = 5


class State:
    """A door's state, or a course key's; 0 for things that have none."""

    OPEN = 0
    CLOSED = 1
    LOCKED = 2
    PICKED_UP = 3
    AVAILABLE = 4


TYPE_NAMES = ("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava", "agent")
COLOUR_NAMES = ("red", "green", "blue", "purple", "yellow", "grey")

CODE_BITS = 10
CODE = (1 << CODE_BITS) - 1
"""Mask of what can be seen."""
LOOKS = 1 << 30
UNSEEN = 0
EMPTY = Type.EMPTY
NOTHING = 0
"""Empty hands; shown as the empty triple."""


def pack(type: Any, colour: Any = 0, state: Any = 0, content: Any = 0) -> Any:
    """One integer per thing, from Python numbers or arrays or a mix of both; `content` is a packed thing itself."""
    return type | colour << 4 | state << 7 | content << CODE_BITS


WALL = pack(Type.WALL, Colour.GREY)


def type_of(cells: T) -> T:
    return cells & 15


def colour_of(cells: T) -> T:
    return cells >> 4 & 7


def state_of(cells: T) -> T:
    """The true state, whatever the thing looks like."""
    return cells >> 7 & 7


def content_of(cells: T) -> T:
    """What a box holds, ready to lie on the grid: a packed thing, 0 for nothing."""
    return cells >> CODE_BITS & (1 << 2 * CODE_BITS) - 1


def shown(cells: Int[Array, "*batch"]) -> Int[Array, "*batch"]:
    """The ten bits that can be seen: a marked door looks open, a marked key looks fresh."""
    look = jnp.where(type_of(cells) == Type.DOOR, State.OPEN, State.AVAILABLE)
    return jnp.where(cells & LOOKS != 0, cells & 127 | look << 7, cells & CODE)


def in_hand(carried: Int[Array, "*batch"]) -> Int[Array, "*batch"]:
    """What an agent's own cell shows: the thing it carries, or the empty triple."""
    return jnp.where(carried == NOTHING, EMPTY, shown(carried))


def triple(cells: Int[Array, "*batch"]) -> Int[Array, "*batch 3"]:
    """The true (type, colour, state) of each thing; give it `shown(cells)` for what is seen."""
    return jnp.stack([type_of(cells), colour_of(cells), state_of(cells)], axis=-1)


def agent_codes(colours: tuple[int, ...]) -> tuple[int, ...]:
    """How agents of these colours are seen, in all four directions."""
    return tuple(pack(Type.AGENT, colour, direction) for colour in sorted(set(colours)) for direction in range(4))


def other_agent_codes(colours: tuple[int, ...]) -> tuple[int, ...]:
    """How agents of these colours see each other: nobody sees itself, so an agent that is alone sees none."""
    return agent_codes(colours) if len(colours) > 1 else ()


def standable(cells: Any) -> Any:
    """Whether an agent may step there: nothing, floor, goal, lava, or a door that is truly open."""
    kind = type_of(cells)
    ground = (kind == Type.EMPTY) | (kind == Type.FLOOR) | (kind == Type.GOAL) | (kind == Type.LAVA)
    return ground | (kind == Type.DOOR) & (state_of(cells) == State.OPEN)


def portable(cells: Any) -> Any:
    """Whether it can be picked up at all."""
    kind = type_of(cells)
    return (kind >= Type.KEY) & (kind <= Type.BOX)


def opaque(codes: Any) -> Any:
    """Whether a seen thing blocks the view: a wall, or a door that is not shown open."""
    kind = type_of(codes)
    return (kind == Type.WALL) | (kind == Type.DOOR) & (state_of(codes) != State.OPEN)
