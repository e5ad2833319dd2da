"""The knobs of a run on the page: what can be turned, how it stands now, and wishes for whoever trains it (`knobs`). No JAX here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from courtside.dash.cards import UNREADABLE, Card, read_config
from courtside.dash.liveness import pulse_of
from courtside.dash.shelf import Shelf, parent_of
from courtside.errors import ConfigError
from courtside.files import is_plain_folder
from courtside.runs import knobs
from courtside.settings.config import Config
from courtside.settings.schedules import value_at, write_schedule
from courtside.settings.turns import Turn, add_turn, config_at, schedules_of, settled
from courtside.settings.values import flag_of


def describe(shelf: Shelf, name: str, run: Path, card: Card) -> dict[str, Any]:
    """What the page needs to know of a run's knobs."""
    config = read_config(run)
    return {
        "why_not": _why_not(shelf, name, run, config),
        "why_no_turn": _why_no_turn(config),
        "can_stop": parent_of(name) is None,
        "paused": card.state == "paused",
        "finished": card.state == "finished",
        "waiting": len(knobs.waiting(run)),
        "settings": [] if config is UNREADABLE else _settings(config, card),
    }


def _settings(config: Config, card: Card) -> list[dict[str, Any]]:
    """Each with what it says in force, and the number that this is at the moment."""
    now = config_at(config, card.step // config.batch_size)
    plan, schedules, planned = config.num_updates * config.batch_size, schedules_of(now), schedules_of(config)
    return [
        {
            "name": name,
            "flag": flag_of(name),
            "value": write_schedule(schedules[name]),
            "planned": write_schedule(planned[name]),
            "now": value_at(schedules[name], min(card.step, plan), plan),
        }
        for name in config.learning.SCHEDULES
    ]


def _why_not(shelf: Shelf, name: str, run: Path, config: Config) -> str | None:
    """Why nobody would hear what is asked of this run; None where somebody does."""
    if config is UNREADABLE:
        return "Its settings are of another version."
    if not pulse_of(run):
        return "It is not being trained now; `courtside resume` goes on with it."
    if is_plain_folder(shelf.file(run, knobs.FOLDER)):
        return None
    parent = parent_of(name)
    if parent is not None:
        return "It is trained together with the other members; turn the knobs of the population."
    return "Nobody listens here: its members are trained by processes of their own, so turn theirs, or it was started by an older courtside."


def _why_no_turn(config: Config) -> str | None:
    if config.run.insure:
        return "An insured run changes its settings itself when a score falls (--insure)."
    return None


def accept(shelf: Shelf, name: str, run: Path, sent: Any) -> None:
    """Leave a wish for whoever trains the run, or say why not."""
    wish, config = knobs.read_wish(sent), read_config(run)
    if wish is None:
        raise ConfigError(f"What was sent is no wish; its kind must be one of {', '.join(knobs.KINDS)}.")
    if (why := _why_not(shelf, name, run, config)) is not None:
        raise ConfigError(why)
    if wish.kind == "stop" and parent_of(name) is not None:
        raise ConfigError("It is a member of a population; stop that as a whole, with Ctrl-C where it was started.")
    if len(knobs.waiting(run)) >= knobs.MOST_WISHES:
        raise ConfigError(f"{knobs.MOST_WISHES} wishes wait already; the run may hang.")
    if wish.kind == "turn":
        refuse_turn(config, wish)
    knobs.put(run, wish)


def refuse_turn(config: Config, wish: knobs.Wish) -> None:
    """The run itself looks again, but whoever typed it should be told at once."""
    if (why := _why_no_turn(config)) is not None:
        raise ConfigError(why)
    if not wish.value:
        raise ConfigError(
            f"There is no value for {wish.setting}; write a number, or a schedule such as linear(1e-4, 0)."
        )
    add_turn(config, Turn(config.num_updates, wish.setting, settled(wish.value, wish.setting)))
