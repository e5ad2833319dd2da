"""The physical pass: every agent acts once, in a given order, on what the agents before it have left.

Which object types a world can hold is known before compiling, so that a world without boxes or lava does not pay for them.
Agents and cells are changed by comparing and selecting, never by scattering: under vmap that is several times cheaper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import (
    EMPTY,
    LOOKS,
    NOTHING,
    State,
    Type,
    colour_of,
    content_of,
    portable,
    standable,
    state_of,
    type_of,
)
from courtside.envs.multigrid.rules import GridOptions, Rules, fail, succeed
from courtside.envs.multigrid.state import Action, GridState, ahead

Carry = TypeVar("Carry")
Index = int | Int[Array, ""]
"""One agent: a number known before compiling where there is only one."""


def draw_order(options: GridOptions, num_agents: int, key: PRNGKeyArray) -> Int[Array, "A"] | Int[np.ndarray, "A"]:
    """Who acts when: a uniformly random permutation, or by index; with one agent nothing is drawn."""
    if num_agents == 1 or options.order == "fixed":
        return np.arange(num_agents)
    ticket, index = jax.random.bits(key, (num_agents,)), jnp.arange(num_agents)
    mine, other = ticket[:, None], ticket[None, :]
    sooner = (other < mine) | (other == mine) & (index[None, :] < index[:, None])
    rank = jnp.sum(sooner, axis=1)
    return jnp.sum(jnp.where(rank[:, None] == index[None, :], index[:, None], 0), axis=0)


def for_each(
    order: Int[Array, "A"] | Int[np.ndarray, "A"], act: Callable[[Index, Carry], Carry], carry: Carry
) -> Carry:
    """Let the agents act one after the other. With several it is a loop: one turn is compiled, not A, and runs far faster."""
    if order.shape[0] == 1:
        return act(0, carry)
    turns = jnp.asarray(order, jnp.int32)
    return jax.lax.fori_loop(0, turns.shape[0], lambda k, carry: act(turns[k], carry), carry)


def get(values: Array, agent: Index) -> Array:
    """One agent's entry."""
    if isinstance(agent, int):
        return values[agent]
    mine = jnp.arange(values.shape[0]) == agent
    return jnp.any(mine & values) if values.dtype == jnp.bool_ else jnp.sum(jnp.where(mine, values, 0))


def put(values: Array, agent: Index, value: Array) -> Array:
    """The same entries with one agent's replaced."""
    return jnp.where(jnp.arange(values.shape[0]) == agent, value, values)


def act_all(
    rules: Rules,
    options: GridOptions,
    state: GridState,
    action: Int[Array, "A"],
    order: Int[Array, "A"] | Int[np.ndarray, "A"],
) -> tuple[GridState, Float[Array, "A"]]:
    """All agents act; the step is counted first, so that a success now is paid for this step."""
    state = eqx.tree_at(lambda s: s.step, state, state.step + 1)
    reward = jnp.zeros(state.position.shape, jnp.float32)
    return for_each(
        order, lambda agent, carry: act_one(rules, options, *carry, agent, get(action, agent)), (state, reward)
    )


def act_one(
    rules: Rules,
    options: GridOptions,
    state: GridState,
    reward: Float[Array, "A"],
    agent: Index,
    action: Int[Array, ""],
) -> tuple[GridState, Float[Array, "A"]]:
    """One agent acts; whoever is done does nothing."""
    types = frozenset(map(type_of, rules.alphabet))
    position, direction, carried = (get(x, agent) for x in (state.position, state.direction, state.carried))
    front = ahead(rules.height, position, direction)
    cell = state.cells[front]
    occupied = jnp.any(state.position == front)
    acts = ~get(state.done, agent)
    moves = acts & (action == Action.FORWARD) & standable(cell) & (options.allow_agent_overlap | ~occupied)
    takes = acts & (action == Action.PICK_UP) & _may_take(options, cell, carried, rules.agent_colours, agent)
    drops = acts & (action == Action.DROP) & (carried != NOTHING) & (cell == EMPTY) & ~occupied
    toggles = acts & (action == Action.TOGGLE)
    turn = (action == Action.RIGHT).astype(jnp.int32) - (action == Action.LEFT).astype(jnp.int32)
    new_cell = jnp.where(toggles, _toggled(types, cell, carried), cell)
    new_cell = jnp.where(takes, EMPTY, jnp.where(drops, carried & ~LOOKS, new_cell))
    state = GridState(
        cells=jnp.where(jnp.arange(state.cells.shape[0]) == front, new_cell, state.cells),
        position=put(state.position, agent, jnp.where(moves, front, position)),
        direction=put(state.direction, agent, jnp.where(acts, direction + turn & 3, direction)),
        carried=put(state.carried, agent, jnp.where(takes, cell, jnp.where(drops, NOTHING, carried))),
        done=state.done,
        step=state.step,
        extra=state.extra,
    )
    arrived = (jnp.arange(state.done.shape[0]) == agent) & moves
    if Type.GOAL in types:
        state, reward = succeed(options, state, reward, arrived & (type_of(cell) == Type.GOAL))
    if Type.LAVA in types:
        state, reward = fail(options, state, reward, arrived & (type_of(cell) == Type.LAVA))
    return state, reward


def _may_take(
    options: GridOptions, cell: Int[Array, ""], carried: Int[Array, ""], colours: tuple[int, ...], agent: Index
) -> Bool[Array, ""]:
    """Empty hands and a portable thing; with the course's rule, only one's own key or the others' ball."""
    free = portable(cell) & (carried == NOTHING)
    if options.pickup == "any":
        return free
    own = colour_of(cell) == get(jnp.asarray(colours, jnp.int32), agent)
    return free & jnp.where(type_of(cell) == Type.KEY, own, (type_of(cell) == Type.BALL) & ~own)


def _toggled(types: frozenset[int], cell: Int[Array, ""], carried: Int[Array, ""]) -> Int[Array, ""]:
    """What a toggled thing becomes: doors open and shut, a locked one needs its key, a box gives way to its content."""
    changed = cell
    if Type.DOOR in types:
        fits = (type_of(carried) == Type.KEY) & (colour_of(carried) == colour_of(cell))
        state = state_of(cell)
        opens = (state == State.CLOSED) | (state == State.LOCKED) & fits
        new_state = jnp.where(opens, State.OPEN, jnp.where(state == State.OPEN, State.CLOSED, state))
        door = jnp.where(new_state == state, cell, cell & 127 | new_state << 7)
        changed = jnp.where(type_of(cell) == Type.DOOR, door, changed)
    if Type.BOX in types:
        changed = jnp.where(type_of(cell) == Type.BOX, jnp.maximum(content_of(cell), EMPTY), changed)
    return changed
