"""RedBlueDoors: a room with a red door on its left and a blue one on its right; the red one has to be opened first.

The doors hang at random heights of two fixed walls, so judging reads two columns of the grid and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, LOOKS, WALL, Colour, State, Type, other_agent_codes, pack
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement, fail, first_of, succeed
from courtside.envs.multigrid.state import Action, GridState, ahead, start_state
from courtside.envs.multigrid.worlds import layout

RED_OPEN, RED_SHUT = (pack(Type.DOOR, Colour.RED, state) for state in (State.OPEN, State.CLOSED))
BLUE_OPEN, BLUE_SHUT = (pack(Type.DOOR, Colour.BLUE, state) for state in (State.OPEN, State.CLOSED))


@dataclass(frozen=True, kw_only=True)
class RedBlueDoors(layout.Numbered):
    """Open the red door, then the blue one."""

    size: int = 8
    """Side of the room between the doors, walls included; even. The grid is twice as wide."""
    num_agents: int = 1
    door_looks_open: bool = True
    """After a failure the blue door is shut, but everybody goes on seeing it open."""
    judges_finished: bool = True
    """An agent that is out of the game is judged for its choice of action all the same, and can be paid again."""

    fixed: ClassVar[Mapping[str, object]] = {"door_looks_open": False, "judges_finished": False}

    @property
    def width(self) -> int:
        return 2 * self.size

    @property
    def height(self) -> int:
        return self.size

    @property
    def missions(self) -> tuple[str, ...]:
        return ("open the red door then the blue door",)

    @property
    def capacity(self) -> int:
        return (self.size - 2) ** 2

    @property
    def alphabet(self) -> tuple[int, ...]:
        return EMPTY, WALL, RED_OPEN, RED_SHUT, BLUE_OPEN, BLUE_SHUT, *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(max_steps=20 * self.size**2, joint_reward=True, failure_termination_mode="any")

    @property
    def room(self) -> layout.Room:
        return layout.Room(self.size // 2, 0, self.size, self.size)

    @property
    def red_wall(self) -> int:
        """Index of the top cell of the left wall."""
        return self.room.x * self.height

    @property
    def blue_wall(self) -> int:
        return (self.room.x + self.size - 1) * self.height

    def start(self, key: PRNGKeyArray) -> GridState:
        uniform = jax.random.uniform(key, (2 + 2 * self.num_agents,), jnp.float32)
        heights = 1 + layout.below(uniform[:2], self.size - 2)
        where, facing = uniform[2:].reshape(2, -1)
        cells = jnp.asarray(layout.walled(self.width, self.height, self.room))
        cells = layout.put(
            cells, heights + jnp.array([self.red_wall, self.blue_wall]), jnp.array([RED_SHUT, BLUE_SHUT])
        )
        inside = jnp.asarray(self.room.inside(self.height))
        position = layout.spread(where, inside, taken=jnp.zeros(0, jnp.int32))
        return start_state(cells, position, layout.below(facing, 4))

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        """Whoever chose toggle and faces the open blue door now has won or lost, by what the red door is."""
        toggles = self._opened_blue(turn)
        red_open = jnp.any(self._column(turn.after, self.red_wall) == RED_OPEN)
        state, reward = succeed(options, turn.after, turn.reward, toggles & red_open)
        lost = first_of(toggles & ~red_open)  # the door is shut before the next agent is looked at
        state, reward = fail(options, state, reward, lost)
        shut = BLUE_SHUT | LOOKS if self.door_looks_open else BLUE_SHUT
        cells = jnp.where(jnp.any(lost) & (state.cells == BLUE_OPEN), shut, state.cells)
        state = eqx.tree_at(lambda s: s.cells, state, cells)
        blue_open = jnp.any(self._column(state, self.blue_wall) == BLUE_OPEN)
        info = {"red_door_open": red_open, "success": red_open & blue_open}
        return Judgement(state, reward, state.done, info)

    def _column(self, state: GridState, top: int) -> Int[Array, "H"]:
        return state.cells[top : top + self.height]

    def _opened_blue(self, turn: JudgedStep) -> Bool[Array, "A"]:
        front = ahead(self.height, turn.after.position, turn.after.direction)
        is_open = self._column(turn.after, self.blue_wall) == BLUE_OPEN
        here = front[:, None] == self.blue_wall + jnp.arange(self.height)[None, :]
        facing = jnp.any(here & is_open[None, :], axis=1)
        toggles = (turn.action == Action.TOGGLE) & facing
        return toggles if self.judges_finished else toggles & ~turn.before.done
