"""BlockedUnlockPickup: a box behind a locked door, a ball before the door, and the key somewhere in the near room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import (
    COLOUR_NAMES,
    EMPTY,
    WALL,
    State,
    Type,
    other_agent_codes,
    state_of,
    type_of,
)
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement, succeed
from courtside.envs.multigrid.state import GridState, start_state
from courtside.envs.multigrid.worlds import layout


@dataclass(frozen=True, kw_only=True)
class BlockedUnlockPickup(layout.Numbered):
    """Move the ball, unlock the door, take the box."""

    room_size: int = 6
    """Side of each of the two rooms, walls included; at least 4."""
    num_agents: int = 1
    mission_tells: bool = False
    """Whether the mission names the colour of the box; else it is drawn at random and says nothing."""
    judges_finished: bool = True
    """An agent that has won and is out of the game is paid again in every step, for it still holds the box."""

    fixed: ClassVar[Mapping[str, object]] = {"mission_tells": True, "judges_finished": False}

    @property
    def width(self) -> int:
        return 2 * self.room_size - 1

    @property
    def height(self) -> int:
        return self.room_size

    @property
    def missions(self) -> tuple[str, ...]:
        return tuple(f"pick up the {colour} {thing}" for colour in COLOUR_NAMES for thing in ("box", "key"))

    @property
    def capacity(self) -> int:
        return (self.room_size - 2) ** 2 - 2

    @property
    def alphabet(self) -> tuple[int, ...]:
        doors = layout.kinds(Type.DOOR, State.OPEN, State.CLOSED, State.LOCKED)
        things = (*layout.kinds(Type.KEY, 0), *layout.kinds(Type.BALL, 0), *layout.kinds(Type.BOX, 0))
        return EMPTY, WALL, *doors, *things, *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(max_steps=16 * self.room_size**2, joint_reward=True)

    @property
    def rooms(self) -> tuple[layout.Room, layout.Room]:
        size = self.room_size
        return layout.Room(0, 0, size, size), layout.Room(size - 1, 0, size, size)

    @property
    def wall(self) -> int:
        """Index of the top cell of the wall between the rooms."""
        return (self.room_size - 1) * self.height

    def start(self, key: PRNGKeyArray) -> GridState:
        uniform = jax.random.uniform(key, (7 + self.num_agents,), jnp.float32)
        box_colour, door_colour, ball_colour = layout.below(uniform[:3], layout.NUM_COLOURS)
        door = self.wall + 1 + layout.below(uniform[3], self.room_size - 2)
        ball = door - self.height
        box_cells = jnp.asarray(self._box_cells())
        box = box_cells[layout.below(uniform[4], box_cells.size)]
        near = jnp.asarray(self.rooms[0].inside(self.height))
        key_cell = layout.choose(uniform[5], near, near != ball)
        cells = layout.put(
            jnp.asarray(layout.walled(self.width, self.height, *self.rooms)),
            jnp.stack([door, ball, box, key_cell]),
            jnp.stack([
                layout.thing(Type.DOOR, door_colour, State.LOCKED),
                layout.thing(Type.BALL, ball_colour),
                layout.thing(Type.BOX, box_colour),
                layout.thing(Type.KEY, door_colour),
            ]),
        )  # fmt: skip
        everywhere = jnp.tile(near, (self.num_agents, 1))
        position, direction = layout.spread_poses(
            uniform[7:], self.height, everywhere, things=jnp.stack([ball, key_cell])
        )
        number = 2 * box_colour if self.mission_tells else layout.below(uniform[6], len(self.missions))
        return start_state(cells, position, direction, number)

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        """Whoever holds the box has won; a box that was opened is gone, and with it the game."""
        won = type_of(turn.after.carried) == Type.BOX
        won = won if self.judges_finished else won & ~turn.before.done
        state, reward = succeed(options, turn.after, turn.reward, won)
        wall = state.cells[self.wall : self.wall + self.height]
        locked = jnp.any((type_of(wall) == Type.DOOR) & (state_of(wall) == State.LOCKED))
        return Judgement(state, reward, state.done, {"door_unlocked": ~locked, "success": jnp.any(won)})

    def mission(self, state: GridState) -> Int[Array, "A"]:
        return jnp.full_like(state.position, state.extra)

    def _box_cells(self) -> Int[np.ndarray, "N"]:
        """The far room without the five cells around the place where agents wait to be put down."""
        cells = self.rooms[1].inside(self.height)
        x, y = self.room_size - 1 + self.room_size // 2, self.room_size // 2
        return cells[(cells // self.height - x) ** 2 + (cells % self.height - y) ** 2 > 1]
