"""Settings that change while a run trains: `--turns 500:learning_rate=1e-4`, and what the page's knobs add to them.

A turn is part of the run's settings and holds from behind its update on. So a run that is resumed, killed or repeated with
the same settings makes it at the same update: chunks of updates end there, and the rates are data of the compiled program.
No JAX here.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

from courtside.errors import ConfigError
from courtside.settings.config import Config, override
from courtside.settings.schedules import Schedule, parse_schedule
from courtside.settings.values import merge_words

MOST_DIGITS = 12
"""Of the number of an update."""


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
    update, _, name = (part.strip() for part in left.partition(":"))
    setting = name.replace("-", "_")
    names = config.learning.SCHEDULES
    if not (update.isdecimal() and len(update) <= MOST_DIGITS and setting and value):
        raise ConfigError(
            f"--turns has the word {word!r}, but each must be UPDATE:NAME=VALUE, such as 500:{(config.learning.RATES or ('learning_rate',))[-1]}=1e-4."
        )
    if setting not in names:
        raise ConfigError(
            f"--turns has the word {word!r}, but {setting} cannot be turned while a run trains; with --algo {config.run.algo} "
            f"these can: {', '.join(names)}."
        )
    return Turn(int(update), setting, settled(value, f"--turns {setting}"))


def settled(value: str, name: str) -> str:
    """The value as it is put in force: a plain number stays what it is to the end of the run, also where rates are annealed."""
    schedule = parse_schedule(value, name)
    numbers = (schedule.start, schedule.end)
    if not all(0 <= number < math.inf for number in numbers):
        raise ConfigError(f"{name} is {value}, but it must be 0 or more, and finite.")
    return value if "(" in value else f"constant({value})"


def schedules_of(config: Config) -> dict[str, Schedule]:
    """The settings of the run's family that are a number or a schedule, as the learner takes them."""
    return {name: config.learning.schedule(name) for name in config.learning.SCHEDULES}


def turns_of(config: Config) -> list[Turn]:
    """All turns of a run, the earliest first."""
    return sorted((read_turn(word, config) for word in config.run.turns), key=lambda turn: turn.update)


def config_at(config: Config, update: int) -> Config:
    """The run with the settings that are in force behind an update."""
    made = {turn.setting: turn.value for turn in turns_of(config) if turn.update <= update}
    return override(config, **made) if made else config


def add_turn(config: Config, turn: Turn) -> Config:
    """The run with one turn more; the same setting turned again at the same update replaces the first."""
    turned = _with_words(config, merge_words(config.run.turns, [str(turn)]))
    turned.validate()
    return turned


def _with_words(config: Config, words: tuple[str, ...]) -> Config:
    return dataclasses.replace(config, run=dataclasses.replace(config.run, turns=words))


def faults(config: Config) -> list[str]:
    """One sentence for each word of `--turns` that cannot be used, alone or together with the other settings."""
    sentences = [fault for word in config.run.turns if (fault := _word_fault(word, config))]
    if config.run.turns and config.run.insure:
        sentences.append(
            "--turns changes settings by a plan and --insure changes them when a score falls; leave one of them out."
        )
    return sentences or [fault for turn in turns_of(config) for fault in _turned_faults(config, turn)]


def _word_fault(word: str, config: Config) -> str | None:
    try:
        read_turn(word, config)
    except ConfigError as error:
        return str(error)
    return None


def _turned_faults(config: Config, turn: Turn) -> list[str]:
    """What is wrong with the settings behind a turn that was not wrong before."""
    from courtside.settings.checks import find_faults

    before, after = (_with_words(config_at(config, update), ()) for update in (turn.update - 1, turn.update))
    old = find_faults(before)
    return [f"--turns {turn}: {fault}" for fault in find_faults(after) if fault not in old]


def late_turns(config: Config) -> list[str]:
    """Sentences about turns that the run never reaches."""
    last = config.num_updates
    late = [str(turn) for turn in turns_of(config) if turn.update >= last]
    return [f"The run has {last:,} updates, so nothing comes of --turns {' '.join(late)}."] if late else []


class Turns:
    """The turns of a run that is being trained; more may be added on the way."""

    def __init__(self, config: Config) -> None:
        self.config = config
        """The settings of the run, with all turns that are known by now."""
        self._turns = turns_of(config)
        self._made: tuple[Turn, ...] = ()

    def add(self, turn: Turn) -> None:
        self.config = add_turn(self.config, turn)
        self._turns = turns_of(self.config)

    def until_next(self, update: int) -> int | None:
        """Updates until the next turn; None where none is to come."""
        return min((turn.update - update for turn in self._turns if turn.update > update), default=None)

    def take_new(self, update: int) -> tuple[Config, list[Turn]] | None:
        """What is in force behind this update and which turns were made right there; None where nothing has changed."""
        made = tuple(turn for turn in self._turns if turn.update <= update)
        if made == self._made:
            return None
        new = [turn for turn in made if turn not in self._made and turn.update == update]
        self._made = made
        return config_at(self.config, update), new


def words_of(turn: Turn) -> str:
    """A turn as an event tells it."""
    return f"{turn.setting} is {turn.value} from update {turn.update + 1:,} on."
