"""The course's red-and-blue-door worlds: fetch your key, move the ball away, open your door, or eliminate the others.

A turn is judged agent by agent in the order in which they acted, after all of them have acted. A pick-up pays for a fresh
key of one's own colour, pays for the others' ball while one faces the place where it started (again and again, ever less),
and costs a little otherwise. A toggle at one's own door wins, a toggle at an opponent eliminates it where that is allowed.

Everything that the original does by accident is a switch of its own; `mode="fixed"` turns all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from courtside.envs.multigrid.objects import EMPTY, WALL, Colour, State, Type, other_agent_codes, pack
from courtside.envs.multigrid.rules import GridOptions, JudgedStep, Judgement
from courtside.envs.multigrid.state import GridState, start_state
from courtside.envs.multigrid.worlds import layout
from courtside.envs.multigrid.worlds.competitive_judge import EVENTS, RuleMemory, judge_all

COLOURS = {"red": Colour.RED, "blue": Colour.BLUE}
MISSIONS = (
    "Go pick up the key or the ball for opening the door",
    "Go pick up the key",
    "Go move away the ball",
    "Go open the door with the key",
)
DISCOUNT = 0.9
"""What a ball's first reward is multiplied with."""


@dataclass(frozen=True, kw_only=True)
class Competitive:
    """One or two teams in the middle room, a locked door each; `teams` says who, in the order of their indices."""

    teams: tuple[tuple[str, int], ...] = (("red", 1),)
    """Colour and number of members of each team; homework 3 lists blue first."""
    version: Literal[2, 3] = 3
    """2 shows no mission, 3 does."""
    has_obstacle: bool = False
    """Whether a ball of the other colour lies before each team's door."""
    death_match: bool = False
    """Whether agents can eliminate each other."""
    randomization: bool = False
    """Whether keys lie anywhere in the room; else at their places."""
    unreachable_keys: bool = False
    """Keys lie in the side rooms: only elimination can win."""
    key_reward: float = 0.5
    """Paid once, for picking up one's own key."""
    ball_reward: float = 0.5
    """Paid, times a factor that starts at 0.9 and is squared each time, for lifting the others' ball off its place."""
    elimination_reward: float = 0.5
    """Paid for eliminating an opponent; the victim loses 1."""
    pickup_penalty: float = 0.001
    """What a pick-up action costs that is not paid."""
    ball_pays: Literal["always", "once"] = "always"
    """`always`: every further pick-up action with the ball in hand pays again; `once`: only the first."""
    win_pays: Literal["first", "team"] = "first"
    """Who is paid for a win: the first living member by index, or every living one."""
    win_overwrites: bool = True
    """Whether the win replaces what else the agent earned in that step."""
    stolen_win: bool = True
    """Whether toggling one's own shut door wins when any door is open."""
    judge_the_dead: bool = True
    """Whether agents that are out of the game are still judged, and hit, for what they chose."""
    hit_clears_cell: bool = True
    """Whether an eliminated agent takes the thing it stood on with it, an open door included."""
    mask_partial_ends: bool = True
    """Whether nobody is told of its end before everybody has ended."""
    paid_key_looks_fresh: bool = True
    """Whether a paid key in hand goes on looking like a fresh one."""
    mission_number: Literal["faithful", "meaningful"] = "faithful"
    """`faithful`: a random number at first, 0 after the first message; `meaningful`: the number of the text."""

    fixed: ClassVar[Mapping[str, object]] = {
        "ball_pays": "once",
        "win_pays": "team",
        "win_overwrites": False,
        "stolen_win": False,
        "judge_the_dead": False,
        "hit_clears_cell": False,
        "mask_partial_ends": False,
        "paid_key_looks_fresh": False,
        "mission_number": "meaningful",
    }
    scripts: ClassVar[tuple[str, ...]] = ("key-runner", "hunter")
    """Scripted players that make sense here."""

    @property
    def width(self) -> int:
        return 16

    @property
    def height(self) -> int:
        return 8

    @property
    def agent_names(self) -> tuple[str, ...]:
        return tuple(f"{team}_{i}" for team, members in self.teams for i in range(members))

    @property
    def agent_colours(self) -> tuple[int, ...]:
        return tuple(COLOURS[team] for team, members in self.teams for _ in range(members))

    @property
    def missions(self) -> tuple[str, ...]:
        return MISSIONS if self.version == 3 else ()

    @property
    def defaults(self) -> GridOptions:
        return GridOptions(
            max_steps=20 * self.height**2, view_size=5, allow_agent_overlap=False, order="fixed", pickup="team"
        )

    @property
    def alphabet(self) -> tuple[int, ...]:
        """Both doors, and what belongs to the teams there are."""
        colours = [COLOURS[team] for team, _ in self.teams]
        states = (State.OPEN, State.CLOSED, State.LOCKED)  # a door without a team stays locked for ever
        doors = [pack(Type.DOOR, c, s) for c in COLOURS.values() for s in (states if c in colours else states[2:])]
        keys = [pack(Type.KEY, c, s) for c in colours for s in (State.PICKED_UP, State.AVAILABLE)]
        balls = [pack(Type.BALL, _other(c)) for c in colours] if self.has_obstacle else []
        agents = other_agent_codes(self.agent_colours)
        return EMPTY, WALL, *doors, *keys, *balls, *agents

    def start(self, key: PRNGKeyArray) -> GridState:
        place_key, mission_key = jax.random.split(key)
        position, direction = (jnp.asarray(x, jnp.int32) for x in self._poses())
        cells = self._place_keys(jnp.asarray(self._grid()), place_key)
        return start_state(cells, position, direction, self._memory(mission_key))

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement:
        return judge_all(self, options, turn)

    def mission(self, state: GridState) -> Int[Array, "A"]:
        return state.extra.number

    def _memory(self, key: PRNGKeyArray) -> RuleMemory:
        """No message yet: one mission is drawn and given to all."""
        num = len(self.agent_names)
        first = jnp.zeros(num, jnp.int32)
        if self.version == 3 and self.mission_number == "faithful":
            first += jax.random.randint(key, (), 0, len(MISSIONS))
        return RuleMemory(
            discount=jnp.full(len(COLOURS), DISCOUNT, jnp.float32),
            mission=first,
            number=first,
            open_door_lost=jnp.zeros((), bool),
            totals=jnp.zeros((num, len(EVENTS)), jnp.int32),
            balls=jnp.zeros(num, jnp.int32),
        )

    def _poses(self) -> tuple[list[int], list[int]]:
        """Red at the top facing left, blue at the bottom facing right; counted with red first, whatever the indices."""
        colours = self.agent_colours
        ranked = sorted(range(len(colours)), key=lambda i: (colours[i] == Colour.BLUE, i))
        rank = {agent: place for place, agent in enumerate(ranked)}
        position, direction = [], []
        for agent, colour in enumerate(colours):
            is_red, place = colour == Colour.RED, rank[agent]
            x, y = (9 - place, 1) if is_red else (4 + max(place, 2), 6)
            position.append(self.at(x, y))
            direction.append(2 if is_red else 0)
        return position, direction

    def at(self, x: int, y: int) -> int:
        return x * self.height + y

    @property
    def homes(self) -> dict[int, int]:
        """Where the ball of each colour starts: before the door of the other team."""
        return {Colour.BLUE: self.at(5, 6), Colour.RED: self.at(10, 1)}

    @property
    def graves(self) -> dict[int, int]:
        """Where the eliminated of each colour are put."""
        return {Colour.BLUE: self.at(13, 2), Colour.RED: self.at(2, 2)}

    def _grid(self) -> Int[np.ndarray, "cells"]:
        """Walls, doors and balls; keys come later."""
        grid = layout.walled(self.width, self.height, layout.Room(4, 0, 8, 8))
        grid[self.at(4, 6)] = pack(Type.DOOR, Colour.RED, State.LOCKED)
        grid[self.at(11, 1)] = pack(Type.DOOR, Colour.BLUE, State.LOCKED)
        for team, _ in self.teams if self.has_obstacle else ():
            ball = _other(COLOURS[team])
            grid[self.homes[ball]] = pack(Type.BALL, ball)
        return grid

    def _place_keys(self, cells: Int[Array, "cells"], key: PRNGKeyArray) -> Int[Array, "cells"]:
        """A fresh key for each team: at its place, or on any free cell of the room, each as likely."""
        fixed = {"red": self.at(7, 4), "blue": self.at(8, 3)}
        away = {"red": self.at(1, 3), "blue": self.at(14, 3)}
        inside = layout.Room(4, 0, 8, 8).inside(self.height)
        inside = jnp.asarray(inside[~np.isin(inside, self._poses()[0])])
        uniform = jax.random.uniform(key, (len(self.teams),), jnp.float32)
        for i, (team, _) in enumerate(self.teams):
            place = (away if self.unreachable_keys else fixed)[team]
            if self.randomization:
                place = layout.choose(uniform[i], inside, cells[inside] == EMPTY)
            thing = pack(Type.KEY, COLOURS[team], State.AVAILABLE)
            cells = jnp.where(jnp.arange(cells.size) == place, thing, cells)
        return cells


def _other(colour: int) -> int:
    return Colour.BLUE if colour == Colour.RED else Colour.RED
