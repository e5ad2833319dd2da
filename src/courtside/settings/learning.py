"""What a run's algorithm is told, and what the house must know of an algorithm without its code. No JAX here.

A family of algorithms has one module of settings (`settings.ppo`, `settings.mad4pg`): a group of learning settings, of which a
run has one, and the traits of each algorithm. `settings.algorithms` is the table of them all.

A group says of itself which settings are data of the compiled program. One that nobody put into TRACED counts as part of the
program, so that forgetting it costs a compile and never trains a member of a population in the wrong program.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from courtside.settings.schedules import Schedule, parse_schedule
from courtside.settings.values import flag_of

if TYPE_CHECKING:
    from courtside.settings.config import Config


class Learning:
    """What every group of learning settings has: a frozen dataclass with help under each field, and this."""

    if TYPE_CHECKING:  # fields that each group has, and what the words below are: annotated here they would be settings
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]
        num_steps: int
        gamma: float
        norm_obs: bool
        TRACED: tuple[str, ...]
        OFF: tuple[tuple[str, Any], ...]
        SCHEDULES: tuple[str, ...]
        RATES: tuple[str, ...]
        ABOVE_0: tuple[str, ...]
        NOT_BELOW_0: tuple[str, ...]
        SHARES: tuple[str, ...]

    TRACED = ()
    """Settings that are data of the compiled program, so that members of a population may differ in them."""
    OFF = ()
    """Of these the values at which the program does without them: whether they have it is part of the program."""
    SCHEDULES = ()
    """Settings that are a number or a schedule; all are TRACED, and may be turned while a run trains."""
    RATES = ()
    """Those of them that are step sizes, the policy's first."""
    ABOVE_0 = NOT_BELOW_0 = SHARES = ()
    """Settings that must be above 0, not below it, or from 0 to 1."""

    def schedule(self, name: str) -> Schedule:
        """A setting of SCHEDULES as the learner takes it."""
        return parse_schedule(getattr(self, name), flag_of(name))

    def minibatch_size(self, batch_size: int) -> int:
        """Samples of one gradient step, where an update collects that many."""
        return batch_size

    def gradient_steps(self, batch_size: int) -> int:
        """Gradient steps of one update."""
        return 1

    def faults(self, config: Config) -> list[str]:
        """What is wrong with these settings beside those of a run, a sentence each; ranges are looked at elsewhere."""
        return length_faults(config)

    def program(self) -> tuple[Hashable, ...]:
        """What of these settings decides the compiled program: all that is not known to be data of it."""
        static = (each.name for each in dataclasses.fields(self) if each.name not in self.TRACED)
        is_off = (getattr(self, name) == value for name, value in self.OFF)
        return (type(self), *is_off, *(getattr(self, name) for name in static))


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What the house must know of an algorithm before, and without, loading it."""

    group: str
    """Name of its learning settings, as in config.json."""
    settings: type[Learning]
    code: str
    """Where it is written: module:NAME of an `algos.algorithm.Algorithm`."""
    draws_actions: bool = True
    """Its policy is a distribution that actions are drawn from; else an actor, with noise on top as long as it trains."""
    has_actor_critic: bool = True
    """Its network is `nets.actor_critic`: with a shared torso, a CNN, an LSTM where they are wanted, and with values."""
    has_replay: bool = False
    """It learns from experience that it keeps, once there is enough of it, and explores by noise."""
    can_overlap: bool = False
    """Rollouts may be acted in shifts, or while the update before is still being learned."""
    predicts_distribution: bool = False
    """Its critic predicts a distribution of returns."""
    has_central_critic: bool | None = None
    """Whether its critic sees what all agents see; None leaves that to --critic."""
    with_central_critic: str = ""
    """Its relative whose critic does."""
    usual_net: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the network that a change to its family takes along."""
    sizes: tuple[str, ...] = ("num_envs", "num_steps", "batch_size", "total_timesteps", "num_updates")
    """The sizes of a run in the order in which one leads to the next; shown first."""
    shown: Mapping[str, str] = field(default_factory=dict)
    """Name on the screen -> key of a metric, behind return and length."""
    explores_more: str = "other seeds"
    """What to type to try more things."""
    steps_calmer: str = "a smaller learning rate"
    """What to type against steps that are too large for a policy that works."""


def batch_words(config: Config) -> str:
    return f"{config.batch_size} samples ({config.env.num_envs} envs x {config.learning.num_steps} steps)"


def length_faults(config: Config) -> list[str]:
    """A run that is too short for a single update."""
    if not 0 < config.run.total_timesteps < config.batch_size:
        return []
    return [
        f"--total-timesteps is {config.run.total_timesteps}, but one update takes the batch of {batch_words(config)}; "
        "ask for at least that many."
    ]


def nearest_divisor(number: int, near: int, furthest: int = 100_000) -> int | None:
    """Searched outwards from `near`, the smaller first; None where there is none within `furthest`."""
    near = min(near, number)
    outwards = (near + sign * distance for distance in range(furthest) for sign in (-1, 1))
    return next((d for d in outwards if d >= 1 and number % d == 0), None)
