"""What is shown before training: every setting, every derived size, and the memory they will take."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from courtside.runs.events import Started
from courtside.settings.config import Config
from courtside.settings.numbers import count, megabytes
from courtside.settings.presets import PRESETS
from courtside.settings.values import field_docs

MUCH_MB = 100.0
"""From here on it is said what a run will take on disk."""


@dataclass(frozen=True)
class Row:
    part: str
    name: str
    value: str
    meaning: str
    preset_value: str | None = None
    """What the preset says, where the run differs from it."""

    @property
    def shown(self) -> str:
        return self.value if self.preset_value is None else f"{self.value} (preset {self.preset_value})"


def setting_rows(config: Config) -> list[Row]:
    """One row per size and setting, with the first clause of its help as the meaning."""
    # A preset file is not at hand any more: nothing is marked.
    other = Config() if config.preset == "custom" else config
    base = PRESETS[config.preset][1] if config.preset in PRESETS else other
    sizes = config.traits.sizes
    owners = {f.name: part for part, group in config.groups.items() for f in fields(group)}
    rows = [_row("sizes", owners.get(name, ""), name, config, base) for name in sizes]
    return rows + [_row(part, part, name, config, base) for name, part in owners.items() if name not in sizes]


def _row(heading: str, part: str, name: str, config: Config, base: Config) -> Row:
    """`part` is the group that holds the setting; empty for a size that is derived, which no preset sets."""
    owner = config.groups[part] if part else config
    value = _in_force(config, owner, name)
    preset_value = _in_force(base, base.groups.get(part) or type(owner)(), name) if part else value
    return Row(heading, name, value, meanings(type(owner))[name], None if preset_value == value else preset_value)


def _in_force(config: Config, owner: Any, name: str) -> str:
    """What a setting comes to: who the critic sees is up to --algo in one of the families."""
    if name == "critic":
        return "central" if config.has_central_critic else "own"
    return _written(getattr(owner, name))


def _written(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int):
        return count(value)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return str(value) or "(empty)"


@cache
def meanings(kind: type) -> dict[str, str]:
    """Field or property -> the first clause of the text under it."""
    return {
        name: re.split(r"[.;] ", " ".join(text.split()))[0].removesuffix(".") for name, text in field_docs(kind).items()
    }


def settings_table(config: Config) -> Table:
    """The settings for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=f"Settings of {config.preset}", title_justify="left")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold", max_width=28)
    table.add_column("meaning", style="dim")
    rows = setting_rows(config)
    for row, following in zip(rows, [*rows[1:], None], strict=True):
        style = "" if row.preset_value is None else "bold yellow"
        last_of_part = following is not None and following.part != row.part
        # Text and not markup: a setting may hold square brackets.
        table.add_row(Text(row.name, style or "cyan"), Text(row.shown, style), row.meaning, end_section=last_of_part)
    return table


def settings_lines(config: Config) -> list[str]:
    """The settings for a pipe: one line each."""
    return [f"{row.part:<6} {row.name:<18} {row.shown:<22} {row.meaning}" for row in setting_rows(config)]


def disk_lines(started: Started) -> list[str]:
    """What the kept states will take on disk, and what is free; nothing where it is little."""
    from courtside.machine import free_mb  # needs JAX

    needed = sum(started.disk_mb.values())
    if needed < MUCH_MB:
        return []
    listed = ", ".join(f"{name} {megabytes(amount)}" for name, amount in started.disk_mb.items())
    free = free_mb(started.config.run.runs_dir)
    rest = "" if free is None else f"; {megabytes(free)} free"
    fewer = "" if free is None or needed < free else " (--keep-checkpoints 1 and --snapshots 0 need the least)"
    return [f"disk: {megabytes(needed)} ({listed}){rest}{fewer}"]


def memory_line(started: Started) -> str:
    """What will be held in memory by part, in all, and what is free."""
    from courtside.engines.fit import available_mb, device_mb  # needs JAX, which is loaded once a run has started

    listed = ", ".join(f"{name} {megabytes(amount)}" for name, amount in started.memory_mb.items())
    free = device_mb() or available_mb()
    rest = "" if free is None else f"; {megabytes(free)} free"
    return f"memory: {megabytes(sum(started.memory_mb.values()))} ({listed}){rest}"
