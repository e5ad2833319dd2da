"""Layouts: grids of walls made once, and random choices that turn uniform numbers into cells by index arithmetic alone.

A first state is drawn for every env in every step of a rollout, so nothing here loops until it fits: where the reference
draws again until a cell is free, we count the free cells and take the k-th, which has the same distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from courtside.envs.multigrid.objects import COLOUR_NAMES, EMPTY, WALL, pack
from courtside.envs.multigrid.state import GridState, ahead

NUM_COLOURS = len(COLOUR_NAMES)
NOWHERE = 1 << 20
"""No cell has this index; above all of them, because JAX counts negative ones from the end."""


class Numbered:
    """What most worlds have in common: agents that differ in nothing but their number, and one mission for all."""

    num_agents: int
    fixed: ClassVar[Mapping[str, object]] = {}

    @property
    def agent_names(self) -> tuple[str, ...]:
        return tuple(f"agent_{i}" for i in range(self.num_agents))

    @property
    def agent_colours(self) -> tuple[int, ...]:
        """Red, green, blue, ... by index, and over again."""
        return tuple(i % NUM_COLOURS for i in range(self.num_agents))

    def mission(self, state: GridState) -> Int[Array, "A"]:
        return jnp.zeros_like(state.position)


@dataclass(frozen=True)
class Room:
    """A rectangle of cells, its walls included."""

    x: int
    y: int
    width: int
    height: int

    def inside(self, grid_height: int) -> Int[np.ndarray, "N"]:
        """Indices of the cells between the walls."""
        x = np.arange(self.x + 1, self.x + self.width - 1, dtype=np.int32)
        y = np.arange(self.y + 1, self.y + self.height - 1, dtype=np.int32)
        return (x[:, None] * grid_height + y).reshape(-1)


def walled(width: int, height: int, *rooms: Room) -> Int[np.ndarray, "cells"]:
    """An empty grid with a wall around it and around every room."""
    grid = np.full((width, height), EMPTY, np.int32)
    for room in (Room(0, 0, width, height), *rooms):
        right, bottom = room.x + room.width - 1, room.y + room.height - 1
        grid[room.x : right + 1, [room.y, bottom]] = WALL
        grid[[room.x, right], room.y : bottom + 1] = WALL
    return grid.reshape(-1)


def kinds(type: int, *states: int) -> tuple[int, ...]:
    """A thing in every colour and in each of these states."""
    return tuple(pack(type, colour, state) for colour in range(NUM_COLOURS) for state in states)


def below(uniform: Float[Array, "*shape"], count: Int[Array, ""] | int) -> Int[Array, "*shape"]:
    """A whole number 0 .. count-1, each as likely, from a number in [0, 1)."""
    return jnp.floor(uniform * jnp.asarray(count, jnp.float32)).astype(jnp.int32)


def shuffled(uniform: Float[Array, "n"]) -> Int[Array, "n"]:
    """A random order of 0 .. n-1: the rank of each number among all."""
    index = jnp.arange(uniform.size)
    smaller = uniform[None, :] < uniform[:, None]
    tied = (uniform[None, :] == uniform[:, None]) & (index[None, :] < index[:, None])
    return jnp.sum(smaller | tied, axis=1, dtype=jnp.int32)


def choose(uniform: Float[Array, ""], candidates: Int[Array, "N"], free: Bool[Array, "N"]) -> Int[Array, ""]:
    """One of the candidates that are free, each as likely.

    Free ones are counted by a product with a triangle of ones: over many envs one matrix product, far cheaper on a CPU
    than a cumulative sum, and it keeps XLA from computing a chain of choices over and over.
    """
    triangle = np.triu(np.ones((free.size, free.size), np.float32))
    rank = jnp.dot(free.astype(jnp.float32), triangle).astype(jnp.int32)
    return candidates[jnp.sum(rank <= below(uniform, rank[-1]))]


def untaken(candidates: Int[Array, "N"], taken: Int[Array, "M"]) -> Bool[Array, "N"]:
    """Which of these cells are not among the others."""
    return jnp.all(candidates[:, None] != taken[None, :], axis=1)


def spread(
    uniform: Float[Array, "A"], candidates: Int[Array, "N"], taken: Int[Array, "M"], waiting: int = NOWHERE
) -> Int[Array, "A"]:
    """A cell of its own for each agent; `waiting` is the cell of agents not yet placed, so only the last may take it."""
    if uniform.size == 1 and taken.size == 0:
        return candidates[below(uniform, candidates.size)]
    cells: list[Array] = []
    for i in range(uniform.size):
        free = untaken(candidates, jnp.concatenate([taken, others(cells, uniform.size, waiting)]))
        cells.append(choose(uniform[i], candidates, free))
    return jnp.stack(cells)


def others(placed: list[Array], num_agents: int, waiting: int) -> Int[Array, "K"]:
    """Where the other agents are while the next one is placed."""
    last = len(placed) == num_agents - 1
    return jnp.stack([jnp.int32(NOWHERE if last else waiting), *placed])


def spread_poses(
    uniform: Float[Array, "A"],
    height: int,
    candidates: Int[Array, "A N"],
    things: Int[Array, "K"],
    waiting: int = NOWHERE,
) -> tuple[Int[Array, "A"], Int[Array, "A"]]:
    """A cell of its own and a direction for each agent, with no thing right ahead; every such pose is as likely."""
    directions = jnp.tile(jnp.arange(4, dtype=jnp.int32), candidates.shape[1])
    positions: list[Array] = []
    poses: list[Array] = []
    for i in range(uniform.size):
        cells = jnp.repeat(candidates[i], 4)
        taken = jnp.concatenate([things, others(positions, uniform.size, waiting)])
        free = untaken(cells, taken) & untaken(ahead(height, cells, directions), things)
        poses.append(choose(uniform[i], cells * 4 + directions, free))
        positions.append(poses[-1] // 4)
    return jnp.stack(positions), jnp.stack(poses) % 4


def thing(type: int, colour: Int[Array, "*shape"], state: int = 0) -> Int[Array, "*shape"]:
    """Things of one type in colours that were drawn."""
    return pack(jnp.full_like(colour, type), colour, state)


def put(cells: Int[Array, "N"], where: Int[Array, "M"], what: Int[Array, "M"]) -> Int[Array, "N"]:
    """The grid with a thing on each of these cells; what is to be put nowhere is left out."""
    return cells.at[where].set(what, mode="drop")
