"""How a view is written down for a learner: one small integer per cell, the reference's triples, or its one-hots.

`kinds` is ours and the default: the index of what is seen in the list of everything that can be seen in this world, so
that a network looks up a row per cell and never multiplies by zero. `double-one-hot` is the array of the course's own
script, which encodes twice and so keeps only "unseen", "empty" and "wall"; `blurred` is the same knowledge as kinds.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt8

from courtside.envs.multigrid.objects import CODE, Type, agent_codes, colour_of, shown, state_of, type_of
from courtside.envs.multigrid.observation import draw_agents, view
from courtside.envs.multigrid.rules import GridOptions, Rules
from courtside.envs.multigrid.state import GridState
from courtside.spaces import Box, Cells, Dict, Discrete, Space
from courtside.types import Obs

NUM_TYPES, NUM_COLOURS = 11, 6
DOUBLED = ((Type.UNSEEN, 1), (Type.EMPTY, 12), (Type.WALL, 18))
"""The flags that survive encoding twice, and the channel that says "no"; the next one says "yes"."""


@dataclass(frozen=True)
class Encoding:
    """The space of what one agent is given, and the function that writes it for all. Arrays lead with A."""

    space: Callable[[Rules, GridOptions], Space]
    write: Callable[[Rules, GridOptions, GridState], Obs]


def num_states(rules: Rules) -> int:
    """States in a one-hot: 7 where keys have states of their own (the course), else 4, since directions need four."""
    return 7 if any(state_of(code) > 3 for code in rules.alphabet) else 4


@functools.cache
def kind_table(alphabet: tuple[int, ...]) -> np.ndarray:
    """Kind of every ten-bit code: 1, 2, ... in the order of the alphabet, 0 for unseen. [1024]"""
    table = np.zeros(CODE + 1, np.uint8)
    table[list(alphabet)] = 1 + np.arange(len(alphabet))
    return table


def _with_rest(parts: dict[str, Space], rules: Rules, fewest: int) -> Space:
    """Add direction, and the mission where the world has at least so many texts."""
    mission = {"mission": Discrete(len(rules.missions))} if len(rules.missions) >= fewest else {}
    return Dict.of(parts | {"direction": Discrete(4)} | mission)


def _rest(rules: Rules, state: GridState, fewest: int) -> dict[str, Array]:
    mission = {"mission": rules.mission(state)} if len(rules.missions) >= fewest else {}
    return {"direction": state.direction} | mission


def _square(options: GridOptions) -> tuple[int, int]:
    return options.view_size, options.view_size


def _kinds(rules: Rules, options: GridOptions, state: GridState) -> Obs:
    kinds = jnp.asarray(kind_table(rules.alphabet))[view(rules, options, state)]
    return {"cells": kinds.reshape(-1, *_square(options))} | _rest(rules, state, 2)


def _blurred(rules: Rules, options: GridOptions, state: GridState) -> Obs:
    """Unseen, empty, wall, anything else."""
    kinds = jnp.minimum(type_of(view(rules, options, state)), 3).astype(jnp.uint8)
    return {"cells": kinds.reshape(-1, *_square(options)), "direction": state.direction}


def _raw(rules: Rules, options: GridOptions, state: GridState) -> Obs:
    return {"image": image(rules, options, state)} | _rest(rules, state, 1)


def image(rules: Rules, options: GridOptions, state: GridState) -> UInt8[Array, "A V V 3"]:
    """The reference's own array: (type, colour, state) of every cell in view."""
    triples = jnp.asarray(_triple_table())[view(rules, options, state)]
    return triples.reshape(-1, *_square(options), 3)


@functools.cache
def _triple_table() -> np.ndarray:
    """(type, colour, state) of every ten-bit code: one look-up, where arithmetic makes the compiler do the view thrice. [1024, 3]"""
    codes = np.arange(CODE + 1)
    return np.stack([type_of(codes), colour_of(codes), state_of(codes)], axis=-1).astype(np.uint8)


def _one_hot_space(rules: Rules, options: GridOptions) -> Space:
    channels = NUM_TYPES + NUM_COLOURS + num_states(rules)
    return _with_rest({"image": Box(0, 1, (*_square(options), channels), "uint8")}, rules, 1)


def _one_hot(rules: Rules, options: GridOptions, state: GridState) -> Obs:
    """Type, colour and state of every cell, one flag each."""
    triples = image(rules, options, state)
    sizes = (NUM_TYPES, NUM_COLOURS, num_states(rules))
    flags = [triples[..., i, None] == jnp.arange(n, dtype=jnp.uint8).reshape(1, 1, 1, n) for i, n in enumerate(sizes)]
    return {"image": jnp.concatenate(flags, axis=-1).astype(jnp.uint8)} | _rest(rules, state, 1)


def _doubled(rules: Rules, options: GridOptions, state: GridState) -> UInt8[Array, "A V V 25"]:
    """The direction in every cell, then the one-hot of the first three flags of the one-hot."""
    types = type_of(view(rules, options, state)).reshape(-1, *_square(options), 1)
    channel = jnp.arange(25).reshape(1, 1, 1, 25)
    flags = sum((channel == no + (types == kind)).astype(jnp.uint8) for kind, no in DOUBLED)
    return jnp.where(channel == 0, state.direction.astype(jnp.uint8).reshape(-1, 1, 1, 1), flags)


def _full_alphabet(rules: Rules) -> tuple[int, ...]:
    """From above even a lone agent is seen."""
    return tuple(dict.fromkeys((*rules.alphabet, *agent_codes(rules.agent_colours))))


def _full_space(rules: Rules, options: GridOptions) -> Space:
    cells = Cells(len(_full_alphabet(rules)) + 1, (rules.width, rules.height))
    return _with_rest({"cells": cells}, rules, 2)


def _full(rules: Rules, options: GridOptions, state: GridState) -> Obs:
    """The whole grid with the agents drawn in, the same for all."""
    codes = draw_agents(rules, state, jnp.arange(state.cells.shape[0]), shown(state.cells))
    kinds = jnp.asarray(kind_table(_full_alphabet(rules)))[codes].reshape(1, rules.width, rules.height)
    cells = jnp.broadcast_to(kinds, (len(rules.agent_names), rules.width, rules.height))
    return {"cells": cells} | _rest(rules, state, 2)


ENCODINGS: dict[str, Encoding] = {
    "kinds": Encoding(lambda r, o: _with_rest({"cells": Cells(len(r.alphabet) + 1, _square(o))}, r, 2), _kinds),
    "blurred": Encoding(lambda r, o: Dict.of({"cells": Cells(4, _square(o)), "direction": Discrete(4)}), _blurred),
    "raw": Encoding(lambda r, o: _with_rest({"image": Box(0, 10, (*_square(o), 3), "uint8")}, r, 1), _raw),
    "one-hot": Encoding(_one_hot_space, _one_hot),
    "double-one-hot": Encoding(lambda r, o: Box(0, 3, (*_square(o), 25), "uint8"), _doubled),
    "full": Encoding(_full_space, _full),
}
