"""From a listing and what the user asked for to a world: every option is known, well formed and possible."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

from courtside.config import unknown_name
from courtside.envs.multigrid.catalogue import Listing
from courtside.envs.multigrid.encodings import ENCODINGS
from courtside.envs.multigrid.rules import GridOptions, Rules
from courtside.envs.multigrid.teams import JointWorld
from courtside.envs.multigrid.world import GridWorld
from courtside.envs.multigrid.worlds.bare import Bare
from courtside.envs.multigrid.worlds.blocked_unlock_pickup import BlockedUnlockPickup
from courtside.envs.multigrid.worlds.competitive import Competitive
from courtside.envs.multigrid.worlds.empty import Empty
from courtside.envs.multigrid.worlds.locked_hallway import LockedHallway
from courtside.envs.multigrid.worlds.playground import Playground
from courtside.envs.multigrid.worlds.red_blue_doors import RedBlueDoors
from courtside.errors import ConfigError

KINDS: dict[str, Any] = {
    "empty": Empty,
    "blocked-unlock-pickup": BlockedUnlockPickup,
    "red-blue-doors": RedBlueDoors,
    "locked-hallway": LockedHallway,
    "playground": Playground,
    "competitive": Competitive,
    "bare": Bare,
}
SYNONYMS = {
    "agents": "num_agents",
    "agent_view_size": "view_size",
    "has_obsticle": "has_obstacle",
    "deadlock_no_key": "unreachable_keys",
}
"""Names that the original has for an option."""
CHOICES = {"mode": ("faithful", "fixed"), "homework": (2, 3), "encoding": tuple(ENCODINGS)}
SMALLEST = {"view_size": 3, "max_steps": 1, "num_agents": 1, "size": 4, "room_size": 4, "num_rooms": 2}
LARGEST = {"view_size": 23}
"""A row of a view is the bits of one number."""
EVEN = {("red-blue-doors", "size"), ("locked-hallway", "num_rooms")}
HIDDEN = ("teams", "version", "pickup")
"""Fields that make the variant what it is; other listings have other values."""


def build(listing: Listing, asked: Mapping[str, Any]) -> GridWorld | JointWorld:
    """The world of a listing, with the user's options over the registered ones and switches over the mode."""
    kind = KINDS[listing.kind]
    given = {SYNONYMS.get(name.lower(), name): value for name, value in asked.items()}
    given = {name: _checked(listing, name, value) for name, value in given.items()}
    settings = _registered(listing, kind, given.pop("homework", 2), given.pop("mode", "faithful")) | given
    rules: Rules = kind(**{name: value for name, value in settings.items() if name in _fields(kind)})
    options = dataclasses.replace(
        rules.defaults, **{name: value for name, value in settings.items() if name in _fields(GridOptions)}
    )
    _check_room(listing, rules, options)
    world = GridWorld(rules, options, listing.name)
    return JointWorld(world) if listing.joint else world


def option_names(listing: Listing) -> tuple[str, ...]:
    """Everything that this world can be told."""
    shared = ["mode"] + (["homework"] if listing.kind == "competitive" else [])
    names = [*shared, *_fields(KINDS[listing.kind]), *_fields(GridOptions)]
    return tuple(name for name in names if name not in HIDDEN)


def _registered(listing: Listing, kind: Any, homework: int, mode: str) -> dict[str, Any]:
    settings = dict(listing.settings)
    if homework == 3:
        settings |= listing.homework_3 or {}
    if mode == "fixed":
        settings |= {**GridOptions.fixed, **kind.fixed}
    if listing.joint:
        settings["mask_partial_ends"] = False
    return settings


@functools.cache
def _fields(kind: Any) -> dict[str, Any]:
    """Names and types of a dataclass's own options."""
    types = get_type_hints(kind)
    return {f.name: types[f.name] for f in dataclasses.fields(kind) if f.init}


def _checked(listing: Listing, name: str, value: Any) -> Any:
    """The value in the type of its option; text, as the command line gives it, is read."""
    if name not in option_names(listing):
        raise ConfigError(unknown_name(f"option of {listing.name}", name, list(option_names(listing))))
    if name in CHOICES:
        return _one_of(name, value, CHOICES[name])
    expected = (_fields(KINDS[listing.kind]) | _fields(GridOptions))[name]
    if get_origin(expected) is Literal:
        return _one_of(name, value, get_args(expected))
    value = _read(name, value, int if int in get_args(expected) else expected)
    _check_number(listing, name, value)
    return value


def _one_of(name: str, value: Any, choices: tuple[Any, ...]) -> Any:
    for choice in choices:
        if str(value) == str(choice):
            return choice
    raise ConfigError(
        f"The option {name} is {value!r}, but it is one of {', '.join(map(str, choices))}; choose one of them."
    )


def _read(name: str, value: Any, expected: type) -> Any:
    """Booleans by name, numbers by value; 3.5 is no whole number, and `yes` is no number at all."""
    try:
        if expected is bool:
            return {"true": True, "false": False, "1": True, "0": False}[str(value).lower()]
        read = expected(value)
        if isinstance(value, bool) or (expected is int and float(value) != read):
            raise ValueError
        return read
    except (KeyError, ValueError, TypeError):
        words = {bool: "true or false", int: "a whole number", float: "a number"}[expected]
        raise ConfigError(f"The option {name} is {value!r}, but it must be {words}; change it.") from None


def _check_number(listing: Listing, name: str, value: Any) -> None:
    if name in SMALLEST and value < SMALLEST[name]:
        raise ConfigError(f"The option {name} is {value}, but {SMALLEST[name]} is the smallest that works; raise it.")
    if name in LARGEST and value > LARGEST[name]:
        raise ConfigError(f"The option {name} is {value}, but {LARGEST[name]} is the largest that works; lower it.")
    if name == "view_size" and value % 2 == 0:
        raise ConfigError(
            f"The view size is {value}, but it must be odd, for the agent sits in the middle of its view; "
            f"take {value - 1} or {value + 1}."
        )
    if (listing.kind, name) in EVEN and value % 2:
        raise ConfigError(f"The option {name} is {value}, but {listing.name} needs an even number; take {value + 1}.")


def _check_room(listing: Listing, rules: Rules, options: GridOptions) -> None:
    num = len(rules.agent_names)
    if num > rules.capacity:
        raise ConfigError(
            f"{listing.name} was asked for {num} agents, but it has only {rules.capacity} free cells to start on; "
            "ask for fewer or a larger grid."
        )
