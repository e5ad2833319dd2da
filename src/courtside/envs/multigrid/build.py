"""From a listing and what the user asked for to a world: every option is known, well formed and possible."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any, Literal, get_type_hints

from courtside.envs.multigrid.catalogue import Listing, find
from courtside.envs.multigrid.encodings import ENCODINGS
from courtside.envs.multigrid.observation import view_fault
from courtside.envs.multigrid.rules import GridOptions
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
from courtside.settings.values import Option, field_docs, read_options

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
CHOICES: dict[str, Any] = {
    "mode": Literal["faithful", "fixed"],
    "homework": Literal[2, 3],
    "encoding": Literal[tuple(ENCODINGS)],
}
"""Options whose type does not stand in a field."""
SMALLEST: dict[Any, int] = {
    "max_steps": 1,
    "num_agents": 1,
    "size": 4,
    "room_size": 4,
    ("playground", "room_size"): 6,
    "num_rooms": 2,
}
"""By option, or by kind and option where a kind needs more: a dozen things must fit into any one room of a playground."""
LARGEST = {"max_steps": 10**9, "num_agents": 1000, "size": 200, "room_size": 100}
"""Steps are counted in 32 bits; larger grids would fill the memory with tables."""
HUGE = 1e30
"""A reward beyond this is infinite in the learner's float32."""
EVEN = {("red-blue-doors", "size"), ("locked-hallway", "num_rooms")}
HIDDEN = ("teams", "version", "pickup")
"""Fields that make the variant what it is; other listings have other values."""

MODES = {
    "mode": ("faithful", "faithful: as the original is, its mistakes included; fixed: all of them mended."),
    "homework": (2, "Which homework's settings an id of the course has."),
}
"""Options that stand for several others -> default and meaning."""


def build(listing: Listing, words: Mapping[str, Any]) -> GridWorld | JointWorld:
    """The world of a listing, with the user's options over the registered ones and switches over the mode."""
    kind, given = KINDS[listing.kind], _read(listing, words)
    settings = _registered(listing, kind, given.pop("homework", 2), given.pop("mode", "faithful")) | given
    rules = kind(**{name: value for name, value in settings.items() if name in _fields(kind)})
    options = dataclasses.replace(
        rules.defaults, **{name: value for name, value in settings.items() if name in _fields(GridOptions)}
    )
    _check_keys(listing, settings)
    _check_room(listing, rules)
    world = GridWorld(rules, options, listing.name)
    return JointWorld(world) if listing.joint else world


def option_kinds(listing: Listing) -> dict[str, Any]:
    """Everything that this world can be told, and its type."""
    shared = ["mode"] + (["homework"] if listing.kind == "competitive" else [])
    fields = _fields(KINDS[listing.kind]) | _fields(GridOptions)
    kinds = fields | {"max_steps": int} | CHOICES
    return {name: kinds[name] for name in [*shared, *fields] if name not in HIDDEN}


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


def _read(listing: Listing, words: Mapping[str, Any]) -> dict[str, Any]:
    """The options under our names and in their types, each within its limits."""
    kinds = option_kinds(listing)
    ours = {name: SYNONYMS.get(name.lower().replace("-", "_"), name) for name in words}
    renamed = {ours[name] if ours[name] in kinds else name: value for name, value in words.items()}
    given = read_options(listing.name, [Option(name, kind, None) for name, kind in kinds.items()], renamed)
    for name, value in given.items():
        _check_number(listing, name, value)
    return given


def _check_number(listing: Listing, name: str, value: Any) -> None:
    fault = view_fault(value) if name == "view_size" else None
    if fault:
        raise ConfigError(fault)
    smallest, largest = SMALLEST.get((listing.kind, name), SMALLEST.get(name, -math.inf)), LARGEST.get(name, math.inf)
    if isinstance(value, int) and value < smallest:
        raise ConfigError(f"The option {name} is {value}, but {smallest} is the smallest that works; raise it.")
    if isinstance(value, int) and value > largest:
        raise ConfigError(f"The option {name} is {value}, but {largest} is the largest that works; lower it.")
    if isinstance(value, float) and not abs(value) < HUGE:
        raise ConfigError(f"The option {name} is {value}, but it must be an ordinary number, such as 0.5; change it.")
    if (listing.kind, name) in EVEN and value % 2:
        raise ConfigError(f"The option {name} is {value}, but {listing.name} needs an even number; take {value + 1}.")


def _check_keys(listing: Listing, settings: Mapping[str, Any]) -> None:
    if settings.get("randomization") and settings.get("unreachable_keys"):
        raise ConfigError(
            f"{listing.name} has both randomization (keys anywhere in the room) and unreachable_keys (keys out of it); "
            "set one of them to false."
        )


def _check_room(listing: Listing, rules: Any) -> None:
    """More agents than free cells are refused; the course's worlds have as many as their teams."""
    if "num_agents" in _fields(type(rules)) and rules.num_agents > rules.capacity:
        raise ConfigError(
            f"{listing.name} was asked for {rules.num_agents} agents, but it has only {rules.capacity} free cells to "
            "start on; ask for fewer or a larger grid."
        )


# --- what there is to tell ------------------------------------------------------------------------------------------


def list_options(name: str) -> tuple[Option, ...]:
    """All that a world can be told; a switch given on its own beats the mode."""
    listing = find(name)
    world = build(listing, {})
    docs = {option: text for option, (_, text) in MODES.items()}
    docs |= field_docs(GridOptions) | field_docs(KINDS[listing.kind])
    options = []
    for option, kind in option_kinds(listing).items():
        owner = world.rules if hasattr(world.rules, option) else world.options
        default = MODES[option][0] if option in MODES else getattr(owner, option)
        options.append(Option(option, kind, default, docs.get(option, "")))
    return tuple(options)
