"""What an Atari game can be told: every step of the way from the emulator's screen to what the agent sees. No emulator here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from courtside.errors import ConfigError
from courtside.hosts.atari import ids
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


def list_options() -> tuple[Option, ...]:
    """What a user can tell a game."""
    return tuple(option for option in signature_options(AtariOptions) if option.name not in HIDDEN)


def read(name: str) -> tuple[str, AtariOptions]:
    """The game and its options, from a name as `ids.write_name` writes it, with or without the prefix."""
    game, told = ids.read_name(name.removeprefix(ids.PREFIX))
    world = f"{ids.PREFIX}{game}"
    options = AtariOptions(**read_options(world, signature_options(AtariOptions), told))
    _check(world, options)
    return game, options


def tell(name: str, more: Mapping[str, Any]) -> str:
    """The name with further options; what is as always stays out, so that one task has one name."""
    game, told = ids.read_name(name.removeprefix(ids.PREFIX))
    merged = told | {key.replace("-", "_"): _word(value) for key, value in more.items()}
    _, options = read(ids.write_name(game, merged))
    plain = AtariOptions()
    changed = {
        field.name: _word(value)
        for field in dataclasses.fields(options)
        if (value := getattr(options, field.name)) != getattr(plain, field.name)
    }
    return ids.write_name(game, changed)


def for_evaluation(env_id: str) -> str:
    """The id of the same game with the same pipeline as evaluations play it."""
    return f"{ids.PREFIX}{tell(env_id, {'evaluation': True})}"


def describe(env_id: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """The declared pipeline as JSON data: all that decides what the network is shown and paid; empty for other envs' ids."""
    name = env_id.removeprefix(ids.PREFIX)
    if name == env_id:
        found = ids.recognise(env_id)
        if found is None:
            return {}
        name = found.name
    _refuse_hidden(name, told)
    game, options = read(tell(name, told))
    return {"game": game} | {key: value for key, value in dataclasses.asdict(options).items() if key not in UNSEEN}


def _refuse_hidden(name: str, more: Mapping[str, Any]) -> None:
    """What a run is told must be in its pipeline: a switch that is not would make that untrue."""
    game, told = ids.read_name(name)
    read_options(f"{ids.PREFIX}{game}", list_options(), told | dict(more))


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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
