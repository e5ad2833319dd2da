"""What agents see: a square of the grid ahead, cut by what blocks the view.

An agent sits in the middle of the last row of its view, looking at row 0; image index is [left-right, depth]. Other agents
are drawn only where there are several, the ended ones never, and the agent's own cell shows what it carries.

Sight spreads row by row, from the agent's own row away from it. In each row it runs to the right through everything
transparent, then to the left, and whatever lets it through lights the cell beyond and the one beside that. Rows are kept
as the bits of one integer each, so that a row takes a handful of operations, whatever its width.
"""

from __future__ import annotations

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from courtside.envs.multigrid.objects import UNSEEN, WALL, Type, in_hand, opaque, pack, shown
from courtside.envs.multigrid.rules import GridOptions, Rules
from courtside.envs.multigrid.state import GridState

SMALLEST_VIEW, LARGEST_VIEW = 3, 31
"""A row of a view is the bits of one 32-bit number."""
WORD = 24
"""Bits of a whole number that a float32 holds exactly."""


def view_fault(size: int) -> str | None:
    """Why no agent can have a view of this size, in one sentence; None where it can."""
    if size < SMALLEST_VIEW:
        return f"The view size is {size}, but {SMALLEST_VIEW} is the smallest that works; raise it."
    if size > LARGEST_VIEW:
        return f"The view size is {size}, but {LARGEST_VIEW} is the largest that works; lower it."
    if size % 2 == 0:
        return (
            f"The view size is {size}, but it must be odd, for the agent sits in the middle of its view; "
            f"take {size - 1} or {size + 1}."
        )
    return None


@functools.cache
def view_offsets(size: int) -> np.ndarray:
    """(dx, dy) from an agent to each cell of its view, by direction. [4, size * size, 2]"""
    across, depth = np.meshgrid(np.arange(size) - size // 2, np.arange(size) - (size - 1), indexing="ij")
    right, forward = across.ravel(), -depth.ravel()
    turned = [(forward, right), (-right, forward), (-forward, -right), (right, -forward)]
    return np.stack([np.stack(pair, axis=-1) for pair in turned])


@functools.cache
def view_table(width: int, height: int, size: int) -> np.ndarray:
    """Index of every cell in view, by 4 * position + direction; width * height stands for "outside". [4WH, size * size]"""
    x, y = np.divmod(np.arange(width * height), height)
    place = np.stack([x, y], axis=-1)[:, None, None, :] + view_offsets(size)[None]
    inside = np.all((place >= 0) & (place < [width, height]), axis=-1)
    index = np.where(inside, place[..., 0] * height + place[..., 1], width * height)
    return index.reshape(4 * width * height, size * size).astype(np.int32)


def view(rules: Rules, options: GridOptions, state: GridState) -> Int[Array, "A cells"]:
    """The ten-bit code of every cell that each agent sees, 0 where it does not see."""
    size = options.view_size
    table = jnp.asarray(view_table(rules.width, rules.height, size))
    index = table[state.position * 4 + state.direction]
    codes = jnp.where(index == rules.width * rules.height, WALL, shown(state.cells[index]))
    if len(rules.agent_names) > 1:
        codes = draw_agents(rules, state, index, codes)
    own = jnp.arange(size * size) == own_cell(size)
    codes = jnp.where(own[None, :], in_hand(state.carried)[:, None], codes)
    return codes if options.see_through_walls else jnp.where(visible(size, opaque(codes)), codes, UNSEEN)


def own_cell(size: int) -> int:
    """Where the agent itself sits in its flattened view."""
    return size // 2 * size + size - 1


def draw_agents(
    rules: Rules, state: GridState, index: Int[Array, "*batch"], codes: Int[Array, "*batch"]
) -> Int[Array, "*batch"]:
    """Draw the agents over what lies at these cells; of several on one cell the last shows, ended ones not at all."""
    for agent, colour in enumerate(rules.agent_colours):
        here = (index == state.position[agent]) & ~state.done[agent]
        codes = jnp.where(here, pack(Type.AGENT, colour, state.direction[agent]), codes)
    return codes


def visible(size: int, blocked: Bool[Array, "*batch cells"]) -> Bool[Array, "*batch cells"]:
    """Which cells of a view are in sight, given which ones block it."""
    # Each row of the view as the bits of an integer, leftmost cell first.
    grid = ~blocked.reshape(*blocked.shape[:-1], size, size)
    weights = jnp.asarray(1 << np.arange(size), jnp.int32).reshape((1,) * (grid.ndim - 2) + (size, 1))
    clear = jnp.sum(jnp.where(grid, weights, 0), axis=-2)
    rows, seen = [], jnp.full(blocked.shape[:-1], 1 << size // 2, jnp.int32)
    for depth in reversed(range(size)):
        lit, seen = _sweep(size, seen, clear[..., depth])
        rows.append(lit)
    return _row_cells(size, jnp.stack(rows[::-1], axis=-1))


def _row_cells(size: int, bits: Int[Array, "*batch V"]) -> Bool[Array, "*batch cells"]:
    """The bits back in their cells, by a product with powers of two: exact, and the compiler does each row only once.

    Shifting instead makes it repeat the whole sweep for every cell, which is ten times slower. Rows longer than a word go
    in two.
    """
    if size <= WORD:
        return _word_cells(size, size, bits)
    words = [_word_cells(size, WORD, bits & (1 << WORD) - 1), _word_cells(size, size - WORD, bits >> WORD)]
    return jnp.concatenate(words, axis=-1)


def _word_cells(size: int, num_bits: int, word: Int[Array, "*batch V"]) -> Bool[Array, "*batch cells"]:
    """The lowest bits of every row in as many columns of cells."""
    exact = jax.lax.Precision.HIGHEST
    cells = jnp.matmul(word.astype(jnp.float32), jnp.asarray(_spreader(size, num_bits)), precision=exact)
    return cells.astype(jnp.int32) & 1 == 1


@functools.cache
def _spreader(size: int, num_bits: int) -> np.ndarray:
    """Row j to its cells (i, j), moved down by i bits. [size, num_bits * size]"""
    return np.kron(2.0 ** -np.arange(num_bits), np.eye(size)).astype(np.float32)


def _sweep(size: int, seen: Array, clear: Array) -> tuple[Array, Array]:
    """One row: which of its cells are in sight, and which of the next row get lit.

    Adding carries a bit to the right through a run of clear cells; to the left it goes by 1, 2, 4, ... cells at a time.
    """
    full, last = (1 << size) - 1, 1 << size - 1
    seen = (seen | clear ^ clear + (seen & clear)) & full
    through = seen & clear & ~last
    ahead = through | through << 1
    run = clear >> 1
    for shift in itertools.takewhile(lambda shift: shift < size, (1, 2, 4, 8, 16)):
        seen, run = seen | run & seen >> shift, run & run >> shift
    through = seen & clear & ~1
    return seen, ahead | through | through >> 1
