"""The state of one grid world, and how cells are counted: cell (x, y) has index x * height + y."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree


class GridState(eqx.Module):
    """Everything that can change in an episode; leading axes come from vmap."""

    cells: Int[Array, "cells"]
    """Packed things (`objects`); agents are not among them."""
    position: Int[Array, "A"]
    """Index of the cell each agent stands on."""
    direction: Int[Array, "A"]
    """0 right, 1 down, 2 left, 3 up."""
    carried: Int[Array, "A"]
    """Packed thing in each agent's hands, 0 for nothing."""
    done: Bool[Array, "A"]
    """Agents that no longer act."""
    step: Int[Array, ""]
    """Steps taken in this episode."""
    extra: PyTree = ()
    """What the world's own rules remember."""


class Action:
    """What an agent may do."""

    LEFT = 0
    RIGHT = 1
    FORWARD = 2
    PICK_UP = 3
    DROP = 4
    TOGGLE = 5
    DONE = 6


ACTION_NAMES = ("turn left", "turn right", "forward", "pick up", "drop", "toggle", "done")
NUM_ACTIONS = len(ACTION_NAMES)


def start_state(
    cells: Int[Array, "cells"], position: Int[Array, "A"], direction: Int[Array, "A"], extra: PyTree = ()
) -> GridState:
    """A first state: empty hands, everyone alive, no step taken."""
    nothing = jnp.zeros_like(position)
    return GridState(cells, position, direction, nothing, nothing != 0, jnp.zeros((), jnp.int32), extra)


def ahead(height: int, position: Int[Array, "*A"], direction: Int[Array, "*A"]) -> Int[Array, "*A"]:
    """Index of the cell in front: +height to the right, +1 down, and back the same way."""
    stride = jnp.where(direction & 1 == 0, height, 1)
    return position + jnp.where(direction < 2, stride, -stride)
