"""Every option of a grid world with its type, its default in that world and its meaning, for `courtside envs NAME`."""

from __future__ import annotations

from typing import Any, Literal, get_type_hints

from courtside.envs.multigrid.build import CHOICES, KINDS, build, option_names
from courtside.envs.multigrid.catalogue import find
from courtside.envs.multigrid.rules import GridOptions
from courtside.options import Option, field_docs

MODES = {
    "mode": ("faithful", "faithful: as the original is, its mistakes included; fixed: all of them mended."),
    "homework": (2, "Which homework's settings an id of the course has."),
}
"""Options that stand for several others -> default and meaning."""


def list_options(name: str) -> tuple[Option, ...]:
    """All that a world can be told; a switch given on its own beats the mode."""
    listing = find(name)
    world, kind = build(listing, {}), KINDS[listing.kind]
    kinds = get_type_hints(GridOptions) | get_type_hints(kind)
    kinds["max_steps"] = int
    kinds |= {option: Literal[choices] for option, choices in CHOICES.items()}
    docs = {option: text for option, (_, text) in MODES.items()} | field_docs(GridOptions) | field_docs(kind)
    return tuple(
        Option(option, kinds[option], _default(world, option), docs.get(option, "")) for option in option_names(listing)
    )


def _default(world: Any, option: str) -> Any:
    if option in MODES:
        return MODES[option][0]
    return getattr(world.rules if hasattr(world.rules, option) else world.options, option)
