"""Every name of a grid world: the original ids, and short ones of ours. Nothing heavy is imported before one is built.

Homework 2 and homework 3 of the course register some ids with other settings, and homework 3 lists the blue team first;
an id means homework 2 where that has it, and the option `homework=3` gives the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from courtside.errors import ConfigError
from courtside.settings.values import unknown_name

STANDARD = "MultiGrid-"
COURSE = "MultiGrid-CompetativeRedBlueDoor-"
"""Spelled as in the source."""


@dataclass(frozen=True)
class Listing:
    """A world that can be asked for."""

    name: str
    about: str
    aliases: tuple[str, ...]
    """The original ids."""
    kind: str
    """Which rules it follows; `build.KINDS` has them."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Fields of the rules and the options as registered."""
    homework_3: Mapping[str, Any] | None = None
    """What homework 3 registers otherwise under this id; None where it is the same or the world is not the course's."""
    joint: bool = False
    """Whether each team is one agent that moves all its members."""


def _standard(name: str, original: str, about: str, kind: str, **settings: Any) -> Listing:
    return Listing(name, about, (f"{STANDARD}{original}-v0",), kind, settings)


def _course(
    name: str,
    original: str,
    about: str,
    red: int = 1,
    blue: int = 0,
    *,
    homework_3: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Listing:
    """A variant of the course; where there are two teams homework 3 lists blue first."""
    teams = (("red", red), ("blue", blue)) if blue else (("red", red),)
    if blue:
        homework_3 = {"teams": teams[::-1]} | dict(homework_3 or {})
    aliases = [COURSE + original]
    if "Obsticle" in original:
        aliases.append(aliases[0].replace("Obsticle", "Obstacle"))
    joint = "-CTCE-" in original
    return Listing(name, about, tuple(aliases), "competitive", {"teams": teams} | settings, homework_3, joint)


def _blue_first(members: int) -> tuple[tuple[str, int], ...]:
    return ("blue", members), ("red", members)


_RANDOM: dict[str, Any] = {"randomization": True}
_SHORTER: dict[str, Any] = {"max_steps": 100}
_V2: dict[str, Any] = {"version": 2, "view_size": 7, "max_steps": 1000}
_PAIR: dict[str, Any] = {"red": 2, "has_obstacle": True}
_DUEL: dict[str, Any] = {"blue": 1, "death_match": True, "max_steps": 300}
_FOUR: dict[str, Any] = {"red": 2, "blue": 2}

LISTINGS: tuple[Listing, ...] = (
    *(
        _standard(f"empty-{n}x{n}", f"Empty-{n}x{n}", f"reach the goal of an empty {n} x {n} room", "empty", size=n)
        for n in (5, 6, 8, 16)
    ),
    *(
        _standard(
            f"empty-random-{n}x{n}", f"Empty-Random-{n}x{n}",
            f"reach the goal of an empty {n} x {n} room from anywhere", "empty", size=n, random_start=True,
        )
        for n in (5, 6)
    ),
    _standard(
        "blocked-unlock-pickup", "BlockedUnlockPickup", "move the ball, unlock the door, take the box",
        "blocked-unlock-pickup",
    ),
    *(
        _standard(
            f"red-blue-doors-{n}x{n}", f"RedBlueDoors-{n}x{n}", "open the red door, then the blue one",
            "red-blue-doors", size=n,
        )
        for n in (6, 8)
    ),
    *(
        _standard(
            f"locked-hallway-{n}rooms", f"LockedHallway-{n}Rooms", f"unlock {n} rooms, each key behind the last",
            "locked-hallway", num_rooms=n,
        )
        for n in (2, 4, 6)
    ),
    _standard("playground", "Playground", "nine rooms full of things and no task", "playground"),
    _course("redblue-free", "v2-DTDE-Red-Single", "fetch the key, open the red door", **_V2),
    _course(
        "redblue", "v2-DTDE-Red-Single-with-Obsticle", "fetch the key, move the ball away, open the red door",
        has_obstacle=True, **_V2,
    ),
    _course("redblue-v3-free", "v3-DTDE-Red-Single", "redblue-free with missions and a smaller view"),
    _course(
        "redblue-v3", "v3-DTDE-Red-Single-with-Obsticle", "redblue with missions and a smaller view", has_obstacle=True,
    ),
    _course("redblue-pair", "v3-CTDE-Red", "two red agents share key, ball and door", homework_3=_RANDOM, **_PAIR),
    _course("redblue-pair-dtde", "v3-DTDE-Red", "redblue-pair under its other id", homework_3=_RANDOM, **_PAIR),
    _course("redblue-pair-joint", "v3-CTCE-Red", "redblue-pair with one mind for both", homework_3=_RANDOM, **_PAIR),
    _course(
        "redblue-pair-eval", "v3-CTDE-Red-Eval", "redblue-pair, keys anywhere, 300 steps", homework_3=_SHORTER,
        randomization=True, max_steps=300, **_PAIR,
    ),
    _course(
        "redblue-pair-dtde-eval", "v3-DTDE-Red-Eval", "redblue-pair-eval under its other id", randomization=True,
        max_steps=300, **_PAIR,
    ),
    _course(
        "redblue-pair-joint-eval", "v3-CTCE-Red-Eval", "redblue-pair-eval with one mind for both", homework_3=_SHORTER,
        randomization=True, max_steps=300, **_PAIR,
    ),
    _course("redblue-1v1", "v3-DTDE-1v1", "red against blue: open your door or hit the other", **_DUEL, **_RANDOM),
    _course("redblue-1v1-joint", "v3-CTCE-1v1", "redblue-1v1 as a game of two teams", **_DUEL, **_RANDOM),
    _course(
        "redblue-2v2", "v3-DTDE-2v2", "two against two, with balls and hits", has_obstacle=True, death_match=True,
        **_FOUR,
    ),
    _course(
        "redblue-2v2-joint", "v3-CTCE-2v2", "redblue-2v2 with one mind per team", has_obstacle=True, death_match=True,
        **_FOUR,
    ),
    _course(
        "redblue-2v2-peaceful", "v3-CTDE-2v2", "two against two, with balls, nobody can be hit", has_obstacle=True,
        **_FOUR,
    ),
    _course(
        "redblue-2v2-death-match", "v3-DTDE-2v2-Death-Match", "two against two, with hits, no balls", death_match=True,
        **_FOUR,
    ),
    _course(
        "redblue-2v2-death-match-ctde", "v3-CTDE-2v2-Death-Match", "redblue-2v2-death-match under its other id",
        death_match=True, **_FOUR,
    ),
    _course(
        "redblue-2v2-death-match-joint", "v3-CTCE-2v2-Death-Match", "redblue-2v2-death-match with one mind per team",
        death_match=True, **_FOUR,
    ),
    _course(
        "redblue-1v1-eval", "v3-DTDE-1v1-Eval", "redblue-1v1 with the keys at their places", teams=_blue_first(1),
        **_DUEL,
    ),
    _course(
        "redblue-1v1-death-match", "v3-DTDE-1v1-Death_Match", "red against blue, keys out of reach: hit the other",
        teams=_blue_first(1), has_obstacle=True, unreachable_keys=True, **_DUEL,
    ),
    _course(
        "redblue-1v1-death-match-eval", "v3-DTDE-1v1-Death_Match-Eval", "redblue-1v1-death-match in 100 steps",
        teams=_blue_first(1), has_obstacle=True, unreachable_keys=True, **(_DUEL | _SHORTER),
    ),
    _course(
        "redblue-2v2-joint-eval", "v3-CTCE-2v2-Eval", "redblue-2v2-joint, keys anywhere, 300 steps",
        teams=_blue_first(2), has_obstacle=True, death_match=True, randomization=True, max_steps=300, **_FOUR,
    ),
)  # fmt: skip


def entries() -> tuple[Listing, ...]:
    """All worlds, for the registry: `name`, `about`, `aliases`."""
    return LISTINGS


def find(name: str) -> Listing:
    """The listing of a short name or an original id; an unknown one lists the near ones."""
    for listing in LISTINGS:
        if name == listing.name or name in listing.aliases:
            return listing
    names = [n for listing in LISTINGS for n in (listing.name, *listing.aliases)]
    raise ConfigError(unknown_name("grid world", name, names, "courtside envs"))


def make(name: str, **options: Any) -> Any:
    """Build a world; `options` are the fields of its rules and of `GridOptions`, and `mode` and `homework`."""
    from courtside.envs.multigrid.build import build

    return build(find(name), options)
