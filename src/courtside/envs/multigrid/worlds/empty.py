"""Empty: one square room with a goal in the corner; the goal pays and ends inside the move, so there is nothing to judge."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, WALL, Colour, Type, other_agent_codes, pack
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement
from courtside.envs.multigrid.state import GridState, start_state
from courtside.envs.multigrid.worlds import layout

GOAL = pack(Type.GOAL, Colour.GREEN)


@dataclass(frozen=True, kw_only=True)
class Empty(layout.Numbered):
    """Reach the green goal."""

    size: int = 8
    """Side of the room, walls included."""
    random_start: bool = False
    """Whether agents start anywhere; else all of them at (1, 1), facing right, on one cell."""
    num_agents: int = 1

    @property
    def width(self) -> int:
        return self.size

    @property
    def height(self) -> int:
        return self.size

    @property
    def missions(self) -> tuple[str, ...]:
        return ("get to the green goal square",)

    @property
    def capacity(self) -> int:
        return (self.size - 2) ** 2 - 1

    @property
    def alphabet(self) -> tuple[int, ...]:
        return EMPTY, WALL, GOAL, *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(max_steps=4 * self.size**2)

    def start(self, key: PRNGKeyArray) -> GridState:
        cells = jnp.asarray(_grid(self.size))
        if not self.random_start:
            corner = jnp.full(self.num_agents, self.height + 1, jnp.int32)
            return start_state(cells, corner, jnp.zeros_like(corner))
        where, facing = jax.random.uniform(key, (2, self.num_agents), jnp.float32)
        free = jnp.asarray(np.flatnonzero(_grid(self.size) == EMPTY).astype(np.int32))
        position = layout.spread(where, free, taken=jnp.zeros(0, jnp.int32))
        return start_state(cells, position, layout.below(facing, 4))

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        done = turn.after.done
        return Judgement(turn.after, turn.reward, done, {"success": jnp.any(done)})


def _grid(size: int) -> Int[np.ndarray, "cells"]:
    """Walls all around, the goal in the lower right corner."""
    grid = layout.walled(size, size)
    grid[(size - 2) * size + size - 2] = GOAL
    return grid
