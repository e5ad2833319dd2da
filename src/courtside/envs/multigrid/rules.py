"""What a world kind has to say, and what every world can be told: the contract between dynamics, rules and views.

A step is two passes. The physical pass moves agents and things (`dynamics`); it is the same everywhere. Then the world's
own rules judge the turn: rewards, ends, and what they remember. Views are taken between the two, as in the reference,
unless `stale_view` is off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from courtside.envs.multigrid.state import GridState

Ending = Literal["any", "all"]


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """What holds for any world. Every rule that the reference has by mistake is a switch, faithful unless told."""

    max_steps: int | Int[Array, ""] = 100
    """Steps after which an episode is cut (an array where one compiled program serves several limits)."""
    view_size: int = 7
    """Side of the square an agent sees; odd, 3 to 31."""
    see_through_walls: bool = False
    """Whether walls and shut doors do not block the view."""
    allow_agent_overlap: bool = True
    """Whether two agents may stand on one cell."""
    joint_reward: bool = False
    """Whether a success pays everybody."""
    success_termination_mode: Ending = "any"
    """`any`: one success ends it for everybody; `all`: for that agent only. LockedHallway always ends for everybody."""
    failure_termination_mode: Ending = "all"
    """The same for a failure: stepping into lava, or the blue door first in RedBlueDoors."""
    order: Literal["random", "fixed"] = "random"
    """Who acts first in a step: drawn anew each step, or by index."""
    encoding: str = "kinds"
    """How views are written: one number per kind of cell, what the course's doubled one-hot leaves of it, or as the reference does."""
    pickup: Literal["any", "team"] = "any"
    """`team`: only a key of one's own colour or a ball of another."""
    stale_view: bool = True
    """Views are taken before the end-of-step rules, so the last one still shows agents that have just ended."""

    fixed: ClassVar[Mapping[str, object]] = {"stale_view": False}
    """What `mode="fixed"` sets here."""


class JudgedStep(eqx.Module):
    """One step as the rules judge it: everything physical has happened."""

    before: GridState
    after: GridState
    """After the physical pass; its `step` counts this step already."""
    action: Int[Array, "A"]
    order: Int[Array, "A"] | Int[np.ndarray, "A"]
    """Agent indices in the order in which they acted; a NumPy array where it is known before compiling."""
    reward: Float[Array, "A"]
    """What the physical pass paid (goal)."""


class Judgement(eqx.Module):
    """What the rules make of a turn."""

    state: GridState
    reward: Float[Array, "A"]
    terminated: Bool[Array, "A"]
    """As returned to the agents; usually `state.done`. The time limit is not the rules' business."""
    info: dict[str, Array] = field(default_factory=dict)
    """Scalars to be logged of the episode, as they stand now; always the same names."""
    events: dict[str, Array] = field(default_factory=dict)
    """What happened to each agent in this very step. [A] each"""


@runtime_checkable
class Rules(Protocol):
    """A world kind: a frozen dataclass whose fields are its own options (sizes, variants, switches for its defects)."""

    fixed: ClassVar[Mapping[str, object]]
    """The rules' own fields that `mode="fixed"` sets, and to what; empty where the reference has no defect."""

    @property
    def width(self) -> int: ...

    @property
    def height(self) -> int: ...

    @property
    def agent_names(self) -> tuple[str, ...]: ...

    @property
    def agent_colours(self) -> tuple[int, ...]: ...

    @property
    def alphabet(self) -> tuple[int, ...]:
        """Every ten-bit code that can ever be seen here, agents included where there are several, unseen left out."""
        ...

    @property
    def missions(self) -> tuple[str, ...]:
        """The texts an agent can be given."""
        ...

    @property
    def defaults(self) -> GridOptions:
        """The options as the reference registers this world."""
        ...

    def start(self, key: PRNGKeyArray) -> GridState:
        """A first state; the key decides everything that is random."""
        ...

    def judge(self, options: GridOptions, turn: JudgedStep) -> Judgement: ...

    def mission(self, state: GridState) -> Int[Array, "A"]:
        """The number each agent is shown for its mission."""
        ...


def win_reward(options: GridOptions, step: Int[Array, ""]) -> Float[Array, ""]:
    """r = 1 - 0.9 t / T: the sooner the better."""
    return 1 - 0.9 * step.astype(jnp.float32) / options.max_steps


def succeed(
    options: GridOptions, state: GridState, reward: Float[Array, "A"], who: Bool[Array, "A"]
) -> tuple[GridState, Float[Array, "A"]]:
    """Pay and end those who reached the goal; the reward is assigned, not added."""
    paid = _spread(options.joint_reward, who)
    done = state.done | _spread(options.success_termination_mode == "any", who)
    return with_done(state, done), jnp.where(paid, win_reward(options, state.step), reward)


def fail(
    options: GridOptions, state: GridState, reward: Float[Array, "A"], who: Bool[Array, "A"]
) -> tuple[GridState, Float[Array, "A"]]:
    """End those who failed; nothing is paid for it, and nothing taken away."""
    done = state.done | _spread(options.failure_termination_mode == "any", who)
    return with_done(state, done), reward


def with_done(state: GridState, done: Bool[Array, "A"]) -> GridState:
    """The same state with other agents out of the game."""
    return eqx.tree_at(lambda s: s.done, state, done)


def first_of(who: Bool[Array, "A"]) -> Bool[Array, "A"]:
    """Of several only the one with the lowest index."""
    return who & (jnp.arange(who.size) == jnp.argmax(who))


def _spread(to_all: bool, who: Bool[Array, "A"]) -> Bool[Array, "A"]:
    return jnp.broadcast_to(jnp.any(who), who.shape) if to_all else who
