"""Every option of a grid world with its type, its default in that world and its meaning, for `courtside envs NAME`."""

from __future__ import annotations

from typing import Any

from courtside.envs.multigrid.build import KINDS, build, option_kinds
from courtside.envs.multigrid.catalogue import find
from courtside.envs.multigrid.rules import GridOptions
from courtside.settings.values import Option, field_docs

MODES = {
    "mode": ("faithful", "faithful: as the original is, its mistakes included; fixed: all of them mended."),
    "homework": (2, "Which homework's settings an id of the course has."),
}
"""Options that stand for several others -> default and meaning."""


def list_options(name: str) -> tuple[Option, ...]:
    """All that a world can be told; a switch given on its own beats the mode."""
    listing = find(name)
    world = build(listing, {})
    docs = {option: text for option, (_, text) in MODES.items()}
    docs |= field_docs(GridOptions) | field_docs(KINDS[listing.kind])
    return tuple(
        Option(option, kind, _default(world, option), docs.get(option, ""))
        for option, kind in option_kinds(listing).items()
    )


def _default(world: Any, option: str) -> Any:
    if option in MODES:
        return MODES[option][0]
    return getattr(world.rules if hasattr(world.rules, option) else world.options, option)
