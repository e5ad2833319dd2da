"""What the tests of the worlds share: many layouts at once as NumPy arrays, floods, and turns made by hand."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from courtside.envs.multigrid.objects import EMPTY, WALL
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement, Rules
from courtside.envs.multigrid.state import GridState
from courtside.types import make_key

STEPS = ((1, 0), (0, 1), (-1, 0), (0, -1))
"""Right, down, left, up."""


MANY = 3000
"""Layouts to look at; one number for all, so that each world is compiled once."""


@functools.cache
def _starter(rules: Rules) -> Callable[[jax.Array], GridState]:
    return jax.jit(jax.vmap(rules.start))


def draw(rules: Rules, seed: int = 0) -> GridState:
    """Many first states, as NumPy arrays [MANY, ...]; cells become [MANY, W, H]."""
    state = _starter(rules)(jax.random.split(make_key(seed), MANY))
    state = jax.tree.map(np.asarray, state)
    return eqx.tree_at(lambda s: s.cells, state, state.cells.reshape(MANY, rules.width, rules.height))


def first(rules: Rules) -> GridState:
    """Some first state."""
    return jax.tree.map(lambda leaf: leaf[0], _starter(rules)(jax.random.split(make_key(0), MANY)))


@functools.partial(jax.jit, static_argnums=(0, 1))
def judge(rules: Rules, options: GridOptions, turn: JudgedStep) -> Judgement:
    return rules.judge(options, turn)


def type_of(cells: np.ndarray) -> np.ndarray:
    return cells & 15


def colour_of(cells: np.ndarray) -> np.ndarray:
    return cells >> 4 & 7


def state_of(cells: np.ndarray) -> np.ndarray:
    return cells >> 7 & 7


def places(state: GridState) -> np.ndarray:
    """(x, y) of every agent. [MANY, A, 2]"""
    height = state.cells.shape[2]
    return np.stack([state.position // height, state.position % height], axis=-1)


def flood(passable: np.ndarray, start: tuple[int, int]) -> np.ndarray:
    """Which cells can be walked to."""
    reached = np.zeros_like(passable)
    todo = [start]
    while todo:
        x, y = todo.pop()
        if not reached[x, y]:
            reached[x, y] = True
            todo += [(x + dx, y + dy) for dx, dy in STEPS if passable[x + dx, y + dy]]
    return reached


def is_walled(cells: np.ndarray) -> bool:
    """Whether every grid [MANY, W, H] has a closed wall around it."""
    edges = (cells[:, 0], cells[:, -1], cells[:, :, 0], cells[:, :, -1])
    return all(bool((edge == WALL).all()) for edge in edges)


def agents_stand_free(state: GridState) -> bool:
    """Whether every agent stands on an empty cell of its own."""
    at = places(state)
    empty = np.take_along_axis(state.cells.reshape(len(at), -1), state.position, axis=1) == EMPTY
    alone = [len(np.unique(row)) == row.size for row in state.position]
    return bool(empty.all()) and all(alone)


def evenly(counts: np.ndarray, tolerance: float = 0.2) -> bool:
    """Whether things that should be as likely are: every count within a fifth of the mean."""
    return bool((np.abs(counts / counts.mean() - 1) < tolerance).all())


def turn(
    state: GridState, action: list[int], *, after: dict[str, Any] | None = None, order: list[int] | None = None
) -> JudgedStep:
    """A turn in which nothing physical happened but what `after` says; it is step 1 of the episode."""
    changed = {"step": state.step + 1, **(after or {})}
    names = list(changed)
    moved = eqx.tree_at(lambda s: [getattr(s, name) for name in names], state, [changed[name] for name in names])
    agents = len(action)
    return JudgedStep(
        before=state,
        after=moved,
        action=jnp.array(action, jnp.int32),
        order=jnp.array(order if order is not None else range(agents), jnp.int32),
        reward=jnp.zeros(agents, jnp.float32),
    )
