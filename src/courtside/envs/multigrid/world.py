"""A grid world as the rest of courtside knows worlds: rules and options put together into `reset` and `step`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt8

from courtside.envs.base import make_timestep
from courtside.envs.multigrid import rendering
from courtside.envs.multigrid.dynamics import act_all, draw_order
from courtside.envs.multigrid.encodings import ENCODINGS
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Rules
from courtside.envs.multigrid.scripts import make_scripts
from courtside.envs.multigrid.state import ACTION_NAMES, NUM_ACTIONS, Action, GridState
from courtside.spaces import Discrete
from courtside.types import EnvSpec, Obs, TimeStep


class Play(eqx.Module):
    """One step as the reference returns it."""

    state: GridState
    seen: GridState
    """The state that views are taken of."""
    reward: Float[Array, "A"]
    terminated: Bool[Array, "A"]
    truncated: Bool[Array, ""]
    """The time limit is reached; a win in this very step sets both."""
    info: dict[str, Array]
    events: dict[str, Array]


@dataclass(frozen=True)
class GridWorld:
    """One world; equal rules and options make equal worlds, so that nothing is compiled twice."""

    rules: Rules
    options: GridOptions
    name: str = "multigrid"

    action_names: ClassVar[tuple[str, ...]] = ACTION_NAMES

    @property
    def spec(self) -> EnvSpec:
        return EnvSpec(
            name=self.name,
            observation=ENCODINGS[self.options.encoding].space(self.rules, self.options),
            action=Discrete(NUM_ACTIONS),
            num_agents=len(self.rules.agent_names),
            agent_names=self.rules.agent_names,
        )

    @property
    def noop_action(self) -> int:
        """The action of an opponent that does nothing."""
        return Action.DONE

    @property
    def scripts(self) -> dict[str, Any]:
        """Scripted players by name: functions of state, number of the agent, and key."""
        return make_scripts(self.rules)

    @property
    def sight(self) -> dict[str, Any]:
        """All that decides how the world looks to an agent: a network trained under another would be misled."""
        names = ("encoding", "view_size", "see_through_walls")
        mission = getattr(self.rules, "mission_number", None)
        shown = {name: getattr(self.options, name) for name in names}
        return shown | {"mission_number": mission, "kinds_of_cells": self.rules.alphabet}

    def reset(self, key: PRNGKeyArray) -> tuple[GridState, Obs]:
        state = self.rules.start(key)
        return state, self.observe(state)

    def step(self, state: GridState, action: Int[Array, "A"], key: PRNGKeyArray) -> tuple[GridState, TimeStep]:
        order = draw_order(self.options, len(self.rules.agent_names), key)
        play = self.play(state, action, order)
        cut = play.truncated & ~play.terminated
        return play.state, make_timestep(self.observe(play.seen), play.reward, play.terminated, cut, play.info)

    def play(self, state: GridState, action: Int[Array, "A"], order: Int[Array, "A"] | Int[np.ndarray, "A"]) -> Play:
        """One step with the agents acting in a given order: first everything physical, then the judging."""
        after, reward = act_all(self.rules, self.options, state, action, order)
        judged = self.rules.judge(self.options, JudgedStep(state, after, action, order, reward))
        cut = judged.state.step >= self.options.max_steps
        seen = after if self.options.stale_view else judged.state
        return Play(judged.state, seen, judged.reward, judged.terminated, cut, judged.info, judged.events)

    def observe(self, state: GridState) -> Obs:
        """What each agent is shown of a state."""
        return ENCODINGS[self.options.encoding].write(self.rules, self.options, state)

    def render(self, state: GridState) -> UInt8[Array, "h w 3"]:
        """A picture of the grid, 32 pixels a cell."""
        return rendering.render(self, state)

    def describe(self, state: GridState, coloured: bool = True) -> str:
        """The grid as text for a terminal."""
        return rendering.describe_text(self, state, coloured)
