"""Kinds of worlds outside JAX: each is a folder of `hosts` whose `kind.py` holds a `Kind`, and a line in `KINDS`.

A record needs nothing that the kind itself needs, neither its packages nor NumPy: what does lies in the modules that it names,
which are imported when they are used.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote, unquote

from courtside.errors import ConfigError
from courtside.settings.values import Option, split_words

KINDS = {
    "gym": "courtside.hosts.gym.kind:KIND",
    "atari": "courtside.hosts.atari.kind:KIND",
    "gba": "courtside.hosts.gba.kind:KIND",
    "pz": "courtside.hosts.pz.kind:KIND",
}
"""What stands before the colon of an id -> the record of its kind."""
OF_MODULES = "gym"
"""The kind of a user's own env (`module:Class`) that is no JAX world."""

_WRITTEN = re.compile(r"(?P<name>[^\[\]]*)(\[(?P<words>[^\[\]]*)\])?")
_PLAIN = "/\\:.~+-_ "
"""Signs of a value that need no code; paths may have commas and brackets, which part the words of an id."""


@dataclass(frozen=True)
class EnvSource:
    """Where an env id leads, and what the env is told."""

    kind: str
    """`jax` (a world of ours), `module` (the user's), or one of `KINDS`."""
    name: str
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Of kinds whose games have some: as they were typed, or as `Games.give` has made them."""
    note: str = ""

    @property
    def bare_id(self) -> str:
        """Without the options."""
        return self.name if self.kind in ("jax", "module") else f"{self.kind}:{self.name}"

    @property
    def id(self) -> str:
        """As a user types it and records have it: `gym:NAME`, `module:Class`, `atari:GAME[NAME=VALUE,NAME=VALUE]`."""
        words = ",".join(f"{name}={quote(write_value(value), safe=_PLAIN)}" for name, value in self.options.items())
        return f"{self.bare_id}[{words}]" if words else self.bare_id


def merge_options(source: EnvSource, more: Mapping[str, Any]) -> EnvSource:
    """With further options, all as text."""
    given = {name.replace("-", "_"): write_value(value) for name, value in more.items()}
    return replace(source, options={**source.options, **given})


def write_value(value: Any) -> str:
    """An option's value as text that can be read again."""
    return str(value).lower() if isinstance(value, bool | None) else str(value)


def read_game(env_id: str) -> tuple[str, dict[str, str]]:
    """Game and options, from what stands behind the prefix of an id."""
    prefix, _, text = env_id.partition(":")
    parts = _WRITTEN.fullmatch(text.strip())
    if parts is None:
        raise ConfigError(f"{env_id} cannot be read; write {prefix}:GAME, or {prefix}:GAME[NAME=VALUE,NAME=VALUE].")
    words = [word for word in (parts["words"] or "").split(",") if word.strip()]
    return parts["name"], {name: unquote(value) for name, value in split_words(words).items()}


@dataclass(frozen=True)
class GamePage:
    """A game as `courtside envs GAME` shows it."""

    name: str
    about: str
    facts: Mapping[str, str]
    """What the page says of it."""
    record: Mapping[str, Any]
    """The same as JSON data."""


@dataclass(frozen=True, kw_only=True)
class Games:
    """What a kind says of its games, where they have names and options of their own."""

    names: tuple[str, ...]
    list_names: Callable[[], list[str]]
    """What `courtside envs KIND` says."""
    make_page: Callable[[EnvSource], GamePage]
    list_options: Callable[[EnvSource], tuple[Option, ...]]
    """What a user can tell a game."""
    give: Callable[[EnvSource, Mapping[str, Any]], EnvSource]
    """The source with further options, all checked; what is as always stays out, so that one task has one id."""
    describe: Callable[[EnvSource, Mapping[str, Any]], dict[str, Any]]
    """With these options: all that decides what a network is shown and paid, as it is sealed into checkpoints; empty where that
    cannot be told yet."""


def _the_same(source: EnvSource, *_: Any) -> EnvSource:
    return source


@dataclass(frozen=True, kw_only=True)
class Kind:
    """All that differs between one kind of worlds outside JAX and another."""

    name: str
    calls: str
    """Module: how envs are built and called (`hosts.calls.Calling`)."""
    check: str
    """Module with `run_checks`: does an env keep its kind's contract?"""
    usage: str
    """How such an id is typed, for the list of all worlds."""
    about: str
    """What it leads to, and what that needs."""

    # --- ids
    read: Callable[[str], EnvSource]
    """Where an id leads that has this prefix or that is `recognised`; one sentence where it leads nowhere."""
    recognises: Callable[[str], bool] = lambda env_id: False
    """Whether an id without a prefix, such as another tool's, is of this kind, as far as it says itself."""
    look_up: Callable[[str], EnvSource | None] = lambda env_id: None
    """The same for an id that nobody recognises, by asking what is installed."""
    near: Callable[[str], tuple[str, ...]] = lambda name: ()
    """Ids that come near a name that nobody knows."""
    targets: Callable[[EnvSource], tuple[str, ...]] = lambda source: ()
    """Code of the user's that a source names, as `gate` knows it."""
    registers: str = ""
    """Package that makes these ids known to Gymnasium as it is imported."""

    # --- how it is treated
    games: Games | None = None
    for_evaluation: Callable[[EnvSource], EnvSource] = _the_same
    """What evaluations play."""
    for_training: Callable[[EnvSource, str, int, int], EnvSource] = _the_same
    """What may leave something in a run's folder; also its first seed and the number of its envs."""
    file_options: Mapping[str, str] = field(default_factory=dict)
    """Options that are paths, and what lies there."""

    sees_pixels: bool = False
    whole_games: bool = False
    """Evaluations play whole games for the game's own points, however training is cut and paid."""
    holds_lock: bool = False
    """Threads are not even tried: a step never lets another one run, or may end the whole process."""

    # --- what is shown
    shows_screens: bool = False
    """The current pictures of envs are at hand: `render()` costs next to nothing."""
    zoom: int = 1
    """Pixels of a film for each of a screen, a side: a console's are too few for a line of text."""
    unit: str = "reward"
    """What is earned, in a film."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Files that `draw_run` draws in a run folder -> what they show."""
    draws: str = ""
    """Module with `draw_run`."""
    player: str = ""
    """Module for `courtside play`: a person at the console."""
    replay: str = ""
    """Module for `courtside replay`: recorded episodes as films."""


@functools.cache
def _load(target: str) -> Kind:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def find_kind(name: str) -> Kind:
    """The kind of a source that is outside JAX, by `EnvSource.kind`."""
    return _load(KINDS[OF_MODULES if name == "module" else name])


def all_kinds() -> tuple[Kind, ...]:
    return tuple(map(_load, KINDS.values()))


def owner_of(env_id: str) -> Kind | None:
    """The kind that an id says it is of; None for all other ids, be they of worlds of ours or unknown."""
    prefix, colon, _ = env_id.partition(":")
    if colon:
        return _load(KINDS[prefix]) if prefix in KINDS else None
    return next((kind for kind in all_kinds() if kind.recognises(env_id)), None)
