"""Bare: a walled grid without a task of its own, on which anything may lie; goal and lava do what they do everywhere."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, WALL, State, Type, other_agent_codes
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement
from courtside.envs.multigrid.state import GridState, start_state
from courtside.envs.multigrid.worlds import layout


@dataclass(frozen=True, kw_only=True)
class Bare(layout.Numbered):
    """Any grid: start from a state of one's own making."""

    width: int = 13
    height: int = 9
    num_agents: int = 1

    @property
    def missions(self) -> tuple[str, ...]:
        return ("",)

    @property
    def alphabet(self) -> tuple[int, ...]:
        """Everything there is."""
        doors = layout.kinds(Type.DOOR, State.OPEN, State.CLOSED, State.LOCKED)
        others = (Type.FLOOR, Type.KEY, Type.BALL, Type.BOX, Type.GOAL, Type.LAVA)
        things = [code for kind in others for code in layout.kinds(kind, 0)]
        return EMPTY, WALL, *doors, *things, *other_agent_codes(self.agent_colours)

    @property
    def defaults(self) -> GridOptions:
        return GridOptions()

    def start(self, key: PRNGKeyArray) -> GridState:
        """Nothing but walls, everybody in the upper left corner."""
        corner = jnp.full(self.num_agents, self.height + 1, jnp.int32)
        return start_state(jnp.asarray(layout.walled(self.width, self.height)), corner, jnp.zeros_like(corner))

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        return Judgement(turn.after, turn.reward, turn.after.done)
