"""Scripted players of the red-and-blue-door worlds: they see the whole state and walk the shortest way.

`key-runner` clears the way to its own door, fetches its key and opens the door. `hunter` walks to the nearest opponent and
eliminates it. Both stand still where there is nothing to be done. Ways are read off a field of distances to the goal, which
grows from the goal over the cells that can be walked on.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, Type, colour_of, standable, type_of
from courtside.envs.multigrid.rules import Rules
from courtside.envs.multigrid.state import Action, GridState, ahead

FAR = jnp.inf


def make_scripts(rules: Rules) -> dict[str, Any]:
    """The scripts that the rules have use for, by name: functions of state, number of the agent, and key."""
    return {name: functools.partial(SCRIPTS[name], rules) for name in getattr(rules, "scripts", ())}


def run_for_key(rules: Rules, state: GridState, agent: int, key: PRNGKeyArray) -> Int[Array, ""]:
    """Clear the way to one's own door, fetch one's key, open the door."""
    colour, hands = rules.agent_colours[agent], state.carried[agent]
    kind, own = type_of(state.cells), colour_of(state.cells) == colour
    door, own_key, ball = (kind == Type.DOOR) & own, (kind == Type.KEY) & own, (kind == Type.BALL) & ~own
    has_key, has_ball = type_of(hands) == Type.KEY, type_of(hands) == Type.BALL
    from_door = distances(rules, door, standable(state.cells))
    blocked = _neighbours(rules, from_door)[:, state.position[agent]].min() == FAR
    goal = jnp.where(has_key, door, jnp.where(blocked & jnp.any(ball), ball, own_key))
    action = approach(rules, state, agent, goal, jnp.where(has_key, Action.TOGGLE, Action.PICK_UP))
    return jnp.where(has_ball | (has_key & blocked), put_down(rules, state, agent, from_door), action)


def hunt(rules: Rules, state: GridState, agent: int, key: PRNGKeyArray) -> Int[Array, ""]:
    """Walk to the nearest opponent that is still in the game, and hit it."""
    mine = rules.agent_colours[agent]
    opponents = [i for i, colour in enumerate(rules.agent_colours) if colour != mine]
    prey = _standing_on(rules, state, opponents)
    return approach(rules, state, agent, prey, jnp.asarray(Action.TOGGLE))


SCRIPTS = {"key-runner": run_for_key, "hunter": hunt}


def approach(
    rules: Rules, state: GridState, agent: int, goal: Bool[Array, "cells"], then: Int[Array, ""]
) -> Int[Array, ""]:
    """One action on the shortest way to face a goal cell, or `then` where one is faced; done where no way leads there.

    Other agents are in the way like walls.
    """
    others = _standing_on(rules, state, [i for i in range(len(rules.agent_colours)) if i != agent])
    field = distances(rules, goal, standable(state.cells) & ~others)
    position, direction = state.position[agent], state.direction[agent]
    turns = (jnp.arange(4) - direction) % 4
    far = _neighbours(rules, field)[:, position]
    best = jnp.argmin(4 * far + jnp.minimum(turns, 4 - turns))
    walk = jnp.array([Action.FORWARD, Action.RIGHT, Action.RIGHT, Action.LEFT])[turns[best]]
    faced = goal[ahead(rules.height, position, direction)]
    return jnp.where(faced, then, jnp.where(far[best] == FAR, Action.DONE, walk)).astype(jnp.int32)


def put_down(rules: Rules, state: GridState, agent: int, from_door: Float[Array, "cells"]) -> Int[Array, ""]:
    """Drop what is carried on the first free cell in front that is not right before the door; turn until there is one."""
    front = ahead(rules.height, state.position[agent], state.direction[agent])
    others = _standing_on(rules, state, list(range(len(rules.agent_colours))))
    is_free = (state.cells[front] == EMPTY) & ~others[front] & (from_door[front] > 1)
    return jnp.where(is_free, Action.DROP, Action.RIGHT).astype(jnp.int32)


def distances(rules: Rules, goal: Bool[Array, "cells"], walkable: Bool[Array, "cells"]) -> Float[Array, "cells"]:
    """Steps from each walkable cell to the nearest goal cell; infinite where no way leads there.

    d(goal) = 0, d(cell) = 1 + min d(neighbour), repeated until nothing changes.
    """
    start = jnp.where(goal, 0.0, FAR)

    def spread(fields: tuple[Array, Array]) -> tuple[Array, Array]:
        _, field = fields
        nearer = jnp.min(_neighbours(rules, field), axis=0) + 1.0
        return field, jnp.where(walkable, jnp.minimum(field, nearer), start)

    return jax.lax.while_loop(lambda fields: jnp.any(fields[0] != fields[1]), spread, spread((start, start)))[1]


def _neighbours(rules: Rules, field: Float[Array, "cells"]) -> Float[Array, "4 cells"]:
    """What lies right, below, left and above of each cell; nothing lies beyond the edge."""
    grid = jnp.pad(field.reshape(rules.width, rules.height), 1, constant_values=FAR)
    sides = (grid[2:, 1:-1], grid[1:-1, 2:], grid[:-2, 1:-1], grid[1:-1, :-2])
    return jnp.stack([side.reshape(-1) for side in sides])


def _standing_on(rules: Rules, state: GridState, agents: list[int]) -> Bool[Array, "cells"]:
    """The cells of those of these agents that are still in the game."""
    cells = jnp.arange(rules.width * rules.height)
    occupied = jnp.zeros(cells.shape, bool)
    for i in agents:
        occupied = occupied | (cells == state.position[i]) & ~state.done[i]
    return occupied
