"""What an Atari game can be told: every step of the way from the emulator's screen to what the agent sees. No emulator here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from courtside.errors import ConfigError
from courtside.settings.kinds import EnvSource, merge_options
from courtside.settings.values import Option, read_options, signature_options

SMALLEST, LARGEST = 36, 160
"""Pixels of a side: below, the network's layers have nothing left to look at; above, nothing would be gained."""
HIDDEN = ("evaluation",)
"""Not the user's to tell: `for_evaluation` does."""
UNSEEN = ("idle_limit", "evaluation")
"""Options that change nothing of what the network is shown in training."""


@dataclass(frozen=True, kw_only=True)
class AtariOptions:
    """The defaults are those of the DQN papers as Stable-Baselines3 and the RL Zoo use them."""

    noop_max: int = 30
    """A game begins with 1 to this many raw frames in which nothing is done, drawn at random; 0 begins at once."""
    frame_skip: int = 4
    """Raw frames that an action lasts; what they pay is added up, and the brighter of the last two pictures is shown."""
    life_loss: bool = True
    """In training an episode ends with each life; the game goes on in the next one. Evaluations play whole games."""
    fire_reset: bool = True
    """Begin each episode with the actions 1 (FIRE) and 2 in games that have FIRE: some stand still until it is pressed."""
    screen_size: int = 84
    """Pixels of each side of the picture, from 36 to 160."""
    grey: bool = True
    """Show brightness alone; off shows red, green and blue."""
    clip_reward: bool = True
    """Train on the sign of the reward: 1, 0 or -1. Scores and evaluations count the game's own points."""
    stack: int = 4
    """Pictures shown at once, the newest last."""
    sticky: float = 0.0
    """Chance, at each raw frame, that the action before it is repeated instead of the new one."""
    full_actions: bool = False
    """Offer all 18 actions of the console instead of those that the game uses."""
    max_frames: int = 108_000
    """Raw frames after which a game is cut, 30 minutes of play; 0 never cuts."""
    idle_limit: int = 4_500
    """In evaluation: steps without a point and without a lost life after which a game is cut; 0 never cuts."""
    evaluation: bool = False
    """Whole games and the game's own points, however training is set."""

    @property
    def ends_with_life(self) -> bool:
        return self.life_loss and not self.evaluation

    @property
    def goes_on_with_life(self) -> bool:
        """Whether lives begin as in training, one after the other within an episode."""
        return self.life_loss and self.evaluation

    @property
    def clips(self) -> bool:
        return self.clip_reward and not self.evaluation

    @property
    def num_channels(self) -> int:
        """Numbers for each pixel of what is seen."""
        return self.stack * (1 if self.grey else 3)


def list_options(source: EnvSource) -> tuple[Option, ...]:
    """What a user can tell a game."""
    return tuple(option for option in signature_options(AtariOptions) if option.name not in HIDDEN)


def read(source: EnvSource) -> AtariOptions:
    options = AtariOptions(**read_options(source.bare_id, signature_options(AtariOptions), source.options))
    _check(source.bare_id, options)
    return options


def give(source: EnvSource, more: Mapping[str, Any]) -> EnvSource:
    """With further options; what is as always stays out, so that one task has one id."""
    options = dataclasses.asdict(read(merge_options(source, more)))
    plain = dataclasses.asdict(AtariOptions())
    changed = {name: value for name, value in options.items() if value != plain[name]}
    return dataclasses.replace(source, options=changed)


def for_evaluation(source: EnvSource) -> EnvSource:
    """The same game with the same pipeline as evaluations play it."""
    return give(source, {"evaluation": True})


def describe(source: EnvSource, more: Mapping[str, Any]) -> dict[str, Any]:
    """The declared pipeline as JSON data: all that decides what the network is shown and paid.

    What a run is told must be in it: a switch that is not would make it untrue, so that one is refused.
    """
    read_options(source.bare_id, list_options(source), {**source.options, **more})
    options = dataclasses.asdict(read(merge_options(source, more)))
    return {"game": source.name} | {name: value for name, value in options.items() if name not in UNSEEN}


def _check(world: str, options: AtariOptions) -> None:
    """Refuse numbers outside their range."""
    ranges = {
        "noop_max": (0, 10_000), "frame_skip": (1, 100), "screen_size": (SMALLEST, LARGEST), "stack": (1, 16),
        "sticky": (0.0, 0.99), "max_frames": (0, 2**31 - 1), "idle_limit": (0, 2**31 - 1),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        value = getattr(options, name)
        if not low <= value <= high:
            raise ConfigError(f"The option {name} of {world} is {value}, but it must lie between {low} and {high}.")
