"""Settings that change while a run trains: `--turns 500:learning_rate=1e-4`, and what the page's knobs add to them.

A turn is part of the run's settings and holds from behind its update on. So a run that is resumed, killed or repeated with
the same settings makes it at the same update: chunks of updates end there, and the rates are data of the compiled program.
No JAX here.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from courtside.config import Config, override
from courtside.config_groups import SCHEDULES
from courtside.errors import ConfigError
from courtside.schedules import parse_schedule
from courtside.words import merge_words

EXAMPLE = {"ppo": "500:learning_rate=1e-4", "mad4pg": "500:critic_learn_rate=1e-4"}


@dataclass(frozen=True)
class Turn:
    """A setting that has this value in all updates after `update`."""

    update: int
    setting: str
    value: str

    def __str__(self) -> str:
        return f"{self.update}:{self.setting}={self.value}"


def read_turn(word: str, config: Config) -> Turn:
    """`500:learning_rate=1e-4`, or an error that says what is wrong with it."""
    left, _, value = (part.strip() for part in word.partition("="))
    update, _, setting = (part.strip() for part in left.partition(":"))
    known = SCHEDULES[config.family]
    if not (update.isdecimal() and setting and value):
        raise ConfigError(
            f"--turns has the word {word!r}, but each must be UPDATE:NAME=VALUE, such as {EXAMPLE[config.family]}."
        )
    if setting not in known:
        raise ConfigError(
            f"--turns has the word {word!r}, but {setting} cannot be turned while a run trains; with --algo {config.run.algo} "
            f"these can: {', '.join(known)}."
        )
    return Turn(int(update), setting, settled(value, f"--turns {setting}"))


def settled(value: str, name: str) -> str:
    """The value as it is put in force: a plain number stays what it is to the end of the run, also where rates are annealed."""
    schedule = parse_schedule(value, name)
    numbers = (schedule.start, schedule.end)
    if not all(0 <= number < math.inf for number in numbers):
        raise ConfigError(f"{name} is {value}, but it must be 0 or more, and finite.")
    return value if "(" in value else f"constant({value})"


def turns_of(config: Config) -> list[Turn]:
    """All turns of a run, the earliest first."""
    return sorted((read_turn(word, config) for word in config.run.turns), key=lambda turn: turn.update)


def config_at(config: Config, update: int) -> Config:
    """The run with the settings that are in force behind an update."""
    made = {turn.setting: turn.value for turn in turns_of(config) if turn.update <= update}
    return override(config, **made) if made else config


def until_next(config: Config, update: int) -> int | None:
    """Updates until the next turn; None where none is to come."""
    return min((turn.update - update for turn in turns_of(config) if turn.update > update), default=None)


def add_turn(config: Config, turn: Turn) -> Config:
    """The run with one turn more; the same setting turned again at the same update replaces the first."""
    words = merge_words(config.run.turns, [str(turn)])
    turned = dataclasses.replace(config, run=dataclasses.replace(config.run, turns=words))
    turned.validate()
    return turned


def faults(config: Config) -> list[str]:
    """One sentence for each word of `--turns` that cannot be used."""
    found = []
    for word in config.run.turns:
        try:
            read_turn(word, config)
        except ConfigError as error:
            found.append(str(error))
    if config.run.turns and config.run.insure:
        found.append(
            "--turns changes settings by a plan and --insure changes them when a score falls; leave one of them out."
        )
    return found


class Turns:
    """The turns of a run that is being trained; more may be added on the way."""

    def __init__(self, config: Config) -> None:
        self.config = config
        """The settings of the run, with all turns that are known by now."""
        self._in_force = config_at(config, 0) if not config.run.turns else None

    def add(self, turn: Turn) -> None:
        self.config = add_turn(self.config, turn)

    def take_new(self, update: int) -> Config | None:
        """What is in force behind this update, where that is news; None where nothing has changed."""
        now = config_at(self.config, update)
        if self._in_force is not None and now.learning == self._in_force.learning:
            return None
        self._in_force = now
        return now
