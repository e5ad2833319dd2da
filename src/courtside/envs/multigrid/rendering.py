"""A grid world as a picture on the device, and as coloured text for a terminal.

A frame is three gathers into the atlas of `tiles` (ground, agent, what the agent carries) and a little integer
arithmetic, so thousands of states can be drawn side by side: `jax.vmap(lambda s: render(world, s))(states)`.
Cells that an agent sees are lightened. An agent that is out while others play on is drawn hollow.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, UInt8

from courtside.envs.multigrid import tiles
from courtside.envs.multigrid.objects import (
    COLOUR_NAMES,
    NOTHING,
    TYPE_NAMES,
    UNSEEN,
    Colour,
    State,
    Type,
    colour_of,
    shown,
    state_of,
    type_of,
)
from courtside.envs.multigrid.observation import view, view_table
from courtside.envs.multigrid.state import GridState

TILE = 32
"""Side of a cell in pixels unless told otherwise."""
LIGHTER = 77
"""How far a seen cell moves towards white, of 256."""


def render(world: Any, state: GridState, tile: int = TILE) -> UInt8[Array, "h w 3"]:
    """A picture of one state, `tile` pixels a cell; y runs downwards."""
    rules = world.rules
    return draw(state, seen_cells(world, state), rules.agent_colours, rules.width, rules.height, tile)


@functools.partial(jax.jit, static_argnums=(2, 3, 4, 5))
def draw(
    state: GridState, seen: Bool[Array, "cells"], colours: tuple[int, ...], width: int, height: int, tile: int
) -> UInt8[Array, "h w 3"]:
    """The same from plain parts: which cells to lighten, the agents' colours, the size of the grid."""
    atlas = tiles.draw_atlas(tile)
    ground, looks = jnp.asarray(atlas.ground), jnp.asarray(atlas.ground_of)[shown(state.cells)]
    both = jnp.concatenate([ground, lighten(ground)])
    frame = both[looks + len(ground) * seen]
    for a in jnp.argsort(~is_out(state), stable=True):  # those in the game cover those that are out
        cell = state.position[a]
        own = draw_agent(atlas, ground[looks[cell]], state, a, colours)
        frame = frame.at[cell].set(jnp.where(seen[cell], lighten(own), own))
    return frame.reshape(width, height, tile, tile, 3).transpose(1, 2, 0, 3, 4).reshape(height * tile, width * tile, 3)


def draw_agent(
    atlas: tiles.TileAtlas,
    ground: UInt8[Array, "S S 3"],
    state: GridState,
    agent: Int[Array, ""],
    colours: tuple[int, ...],
) -> UInt8[Array, "S S 3"]:
    """An agent and what it carries on the ground where it stands."""
    colour, carried = jnp.asarray(colours)[agent], state.carried[agent]
    looks = tiles.agent_overlay(colour, is_out(state)[agent].astype(jnp.int32), state.direction[agent])
    badge = jnp.where(carried == NOTHING, 0, tiles.carried_overlay(carried))
    for overlay in (looks, badge):
        through, paint = jnp.asarray(atlas.through)[overlay], jnp.asarray(atlas.paint)[overlay]
        ground = ((ground.astype(jnp.int32) * through + 127) // 255 + paint).astype(jnp.uint8)
    return ground


def is_out(state: GridState) -> Bool[Array, "A"]:
    """Who has left the game while others play on; at its end nobody has."""
    return state.done & ~jnp.all(state.done)


def lighten(picture: UInt8[Array, "..."]) -> UInt8[Array, "..."]:
    part = picture.astype(jnp.int32)
    return (part + (255 - part) * LIGHTER // 256).astype(jnp.uint8)


@functools.partial(jax.jit, static_argnums=0)
def seen_cells(world: Any, state: GridState) -> Bool[Array, "cells"]:
    """Which cells are in sight of an agent that is still in the game."""
    rules, options = world.rules, world.options
    table = jnp.asarray(view_table(rules.width, rules.height, options.view_size))
    index = table[state.position * 4 + state.direction]
    in_sight = (view(rules, options, state) != UNSEEN) & ~is_out(state)[:, None]
    outside = rules.width * rules.height
    return jnp.zeros(outside + 1, bool).at[index].max(in_sight)[:outside]


# --- text -----------------------------------------------------------------------------------------------------------

SYMBOLS = {
    Type.EMPTY: ("  ", "  "), Type.WALL: ("██", "##"), Type.FLOOR: ("░░", ":"), Type.KEY: ("o┬", "k"),
    Type.BALL: ("● ", "o"), Type.BOX: ("▣ ", "b"), Type.GOAL: ("▓▓", "$"), Type.LAVA: ("≈≈", "~~"),
}  # fmt: skip
"""A thing in colour, and without: one character then, which a letter for its colour follows."""
DOORS = {State.OPEN: ("┆┆", "/"), State.CLOSED: ("[]", "|"), State.LOCKED: ("╬╬", "x")}
AGENTS, AGENTS_OUT = (
    (("▶ ", ">"), ("▼ ", "v"), ("◀ ", "<"), ("▲ ", "^")),
    (("▷ ", ")"), ("▽ ", "u"), ("◁ ", "("), ("△ ", "n")),
)
LETTERS = "rgbpye"
"""Of the colours."""
GROUND, SEEN_GROUND = (0, 0, 0), (62, 62, 62)
BRIGHTER = {Colour.BLUE: (95, 135, 255), Colour.PURPLE: (175, 110, 255), Colour.GREY: (150, 150, 150)}
"""Colours that letters would be hard to read in."""


def describe_text(world: Any, state: GridState, coloured: bool = True) -> str:
    """The grid as lines of text, two characters a cell, and a line for each agent with something in hand or to do."""
    rules = world.rules
    looks = [_thing_look(code) for code in np.asarray(shown(state.cells)).tolist()]
    position, direction, out = (np.asarray(part).tolist() for part in (state.position, state.direction, is_out(state)))
    for a in sorted(range(len(position)), key=lambda a: not out[a]):  # those in the game cover those that are out
        looks[position[a]] = (AGENTS_OUT if out[a] else AGENTS)[direction[a]], rules.agent_colours[a]
    write = _coloured_cell if coloured else _plain_cell
    seen = np.asarray(seen_cells(world, state)).tolist()
    cells = [write(*look, is_seen) for look, is_seen in zip(looks, seen, strict=True)]
    return "\n".join(["".join(cells[y :: rules.height]) for y in range(rules.height)] + _agent_lines(rules, state))


def _thing_look(code: int) -> tuple[tuple[str, str], int]:
    """Symbols and colour of a shown thing."""
    kind = type_of(code)
    symbols = DOORS[min(state_of(code), State.LOCKED)] if kind == Type.DOOR else SYMBOLS.get(kind, ("  ", "  "))
    return symbols, colour_of(code)


def _coloured_cell(symbols: tuple[str, str], colour: int, is_seen: bool) -> str:
    """In the picture's colours, on a lighter ground where it is seen."""
    ink = tiles.ORANGE if symbols == SYMBOLS[Type.LAVA] else BRIGHTER.get(colour, tiles.RGB[colour])
    ground = SEEN_GROUND if is_seen else GROUND
    return "\x1b[1;38;2;{};{};{};48;2;{};{};{}m{}\x1b[0m".format(*ink, *ground, symbols[0])


def _plain_cell(symbols: tuple[str, str], colour: int, is_seen: bool) -> str:
    text = symbols[1] if len(symbols[1]) == 2 else symbols[1] + LETTERS[colour]
    return " ." if is_seen and not text.strip() else text


def _agent_lines(rules: Any, state: GridState) -> list[str]:
    carried, missions = np.asarray(state.carried).tolist(), mission_texts(rules, state)
    lines = []
    for name, thing, mission in zip(rules.agent_names, carried, missions, strict=True):
        hand = [f"carries a {describe_thing(thing)}"] if thing else []
        told = [f"is told: {mission}"] if mission else []
        lines += [f"{name} {' and '.join(hand + told)}"] if hand or told else []
    return lines


def mission_texts(rules: Any, state: GridState) -> list[str]:
    """What each agent is told to do; empty where the world says nothing. In the course worlds a text and the number shown
    with it can differ, and the text is kept apart."""
    if not any(rules.missions):
        return [""] * len(rules.agent_names)
    number = getattr(state.extra, "mission", None)
    return [rules.missions[i] for i in np.asarray(rules.mission(state) if number is None else number).tolist()]


def describe_thing(thing: int) -> str:
    """Its colour and kind, such as `red key`."""
    return f"{COLOUR_NAMES[colour_of(thing)]} {TYPE_NAMES[type_of(thing)]}"
