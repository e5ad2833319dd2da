"""Playground: three by three rooms joined by random doors, with a dozen things lying about and nothing to win."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, WALL, State, Type, other_agent_codes, pack
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement
from courtside.envs.multigrid.state import GridState, start_state
from courtside.envs.multigrid.worlds import layout

SIDE = 3
"""Rooms in a row, and rows of rooms."""
NUM_ROOMS = SIDE * SIDE
NUM_THINGS = 12
BORDERS = tuple(
    (room, other)
    for room in range(NUM_ROOMS)
    for other in range(NUM_ROOMS)
    if other == room + SIDE or (other == room + 1 and other % SIDE > 0)
)
"""Pairs of rooms that share a wall. Rooms are counted down the columns, as cells are."""
THINGS = (Type.KEY, Type.BALL, Type.BOX)


@dataclass(frozen=True, kw_only=True)
class Playground(layout.Numbered):
    """Nothing to do and everything to try."""

    room_size: int = 7
    """Side of a room, walls included."""
    num_agents: int = 1

    @property
    def width(self) -> int:
        return SIDE * self.pitch + 1

    @property
    def height(self) -> int:
        return SIDE * self.pitch + 1

    @property
    def missions(self) -> tuple[str, ...]:
        return ("",)

    @property
    def capacity(self) -> int:
        return (self.room_size - 2) ** 2 - NUM_THINGS

    @property
    def alphabet(self) -> tuple[int, ...]:
        doors = layout.kinds(Type.DOOR, State.OPEN, State.CLOSED)
        things = [code for type in THINGS for code in layout.kinds(type, 0)]
        return EMPTY, WALL, *doors, *things, *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(max_steps=100)

    @property
    def pitch(self) -> int:
        """From one room to the next; neighbours share a wall."""
        return self.room_size - 1

    @property
    def rooms(self) -> tuple[layout.Room, ...]:
        size = self.room_size
        return tuple(layout.Room(i // SIDE * self.pitch, i % SIDE * self.pitch, size, size) for i in range(NUM_ROOMS))

    @property
    def waiting(self) -> int:
        """The middle of the grid: no thing is put there or beside it, and no agent but the last is put there."""
        middle = SIDE // 2 * self.pitch + self.room_size // 2
        return middle * self.height + middle

    def start(self, key: PRNGKeyArray) -> GridState:
        sizes = (3 * len(BORDERS), 4 * NUM_THINGS, 2 * self.num_agents)
        uniform = jax.random.uniform(key, (sum(sizes),), jnp.float32)
        for_doors, for_things, for_agents = jnp.split(uniform, np.cumsum(sizes[:-1]))
        door_cells, doors = self._draw_doors(*for_doors.reshape(3, -1))
        thing_cells, things = self._draw_things(*for_things.reshape(4, -1))
        walls = jnp.asarray(layout.walled(self.width, self.height, *self.rooms))
        things_at = jnp.concatenate([door_cells, thing_cells])
        cells = layout.put(walls, things_at, jnp.concatenate([doors, things]))
        room, place = for_agents.reshape(2, -1)
        insides = jnp.asarray(self._insides())[layout.below(room, NUM_ROOMS)]
        position, direction = layout.spread_poses(place, self.height, insides, things_at, self.waiting)
        return start_state(cells, position, direction)

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        return Judgement(turn.after, turn.reward, turn.after.done)

    def _draw_doors(
        self, order: Float[Array, "K"], place: Float[Array, "K"], colour: Float[Array, "K"]
    ) -> tuple[Int[Array, "K"], Int[Array, "K"]]:
        """A cell and a door for every border; nowhere if no door was added."""
        offset = layout.below(place, self.room_size - 2)
        walls = jnp.asarray(self._border_cells())
        door = layout.thing(Type.DOOR, layout.below(colour, layout.NUM_COLOURS), State.CLOSED)
        cells = jnp.take_along_axis(walls, offset[:, None], axis=1)[:, 0]
        return jnp.where(added_doors(order), cells, layout.NOWHERE), door

    def _draw_things(
        self, room: Float[Array, "N"], place: Float[Array, "N"], kind: Float[Array, "N"], colour: Float[Array, "N"]
    ) -> tuple[Int[Array, "N"], Int[Array, "N"]]:
        """Each thing in a room drawn by itself, on a cell that is free then."""
        insides = jnp.asarray(self._insides())[layout.below(room, NUM_ROOMS)]
        middle = self.waiting + jnp.array([0, 1, -1, self.height, -self.height])

        def add(cells: Array, drawn: tuple[Array, Array, Array]) -> tuple[Array, None]:
            i, uniform, inside = drawn
            free = layout.untaken(inside, cells) & layout.untaken(inside, middle)
            return cells.at[i].set(layout.choose(uniform, inside, free)), None

        nowhere = jnp.full(NUM_THINGS, layout.NOWHERE, jnp.int32)
        cells, _ = jax.lax.scan(add, nowhere, (jnp.arange(NUM_THINGS), place, insides))
        types = jnp.asarray(THINGS, jnp.int32)[layout.below(kind, len(THINGS))]
        return cells, pack(types, layout.below(colour, layout.NUM_COLOURS))

    def _insides(self) -> Int[np.ndarray, "rooms cells"]:
        return np.stack([room.inside(self.height) for room in self.rooms])

    def _border_cells(self) -> Int[np.ndarray, "borders cells"]:
        """The cells in which the door of each border may be."""
        along = np.arange(1, self.room_size - 1, dtype=np.int32)
        cells = []
        for room, other in BORDERS:
            x, y = self.rooms[other].x, self.rooms[other].y
            beside = other == room + SIDE
            cells.append(x * self.height + y + along if beside else (x + along) * self.height + y)
        return np.stack(cells).astype(np.int32)


def added_doors(order: Float[Array, "borders"]) -> Bool[Array, "borders"]:
    """Doors are added in this order until every room can be reached: which are there in the end.

    A room is within reach once the highest number on the best path to it has come; Bellman's recursion with max for sum.
    """
    never = 2.0
    table = np.full((NUM_ROOMS, NUM_ROOMS), len(BORDERS))
    for border, (room, other) in enumerate(BORDERS):
        table[room, other] = table[other, room] = border
    between = jnp.append(order, never)[table]
    reached = jnp.full(NUM_ROOMS, never).at[0].set(0.0)

    def go_on(_: Array, reached: Array) -> Array:
        return jnp.minimum(reached, jnp.min(jnp.maximum(reached[:, None], between), axis=0))

    reached = jax.lax.fori_loop(0, NUM_ROOMS - 1, go_on, reached)
    return order <= jnp.max(reached)
