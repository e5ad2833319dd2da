"""The runs folder: which runs, populations and searches lie in it, and which folder a name means.

A name comes from a browser, so it is never trusted: it must be that of a folder inside the runs folder which holds a run,
reached without links that lead outside. No JAX here.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from courtside.errors import CheckpointError
from courtside.experiments.tune.trials import SEARCH
from courtside.files import is_plain_folder
from courtside.runs import members
from courtside.runs.runlog import CONFIG

Kind = Literal["run", "population", "search"]
_STAMP = re.compile(r"(\d{8}-\d{6})")
_MEMBER = re.compile(r"\d{2,6}")


class Shelf:
    """One runs folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """All that lies on it, the newest first; folders of other things are passed over."""
        return sorted(self._find(), key=lambda name: (started_of(self.folder / name), name), reverse=True)

    def _find(self) -> Iterator[str]:
        try:
            with os.scandir(self.folder) as entries:
                yield from (entry.name for entry in entries if self._holds_run(entry))
        except OSError:
            return

    def _holds_run(self, entry: os.DirEntry[str]) -> bool:
        try:
            is_folder = entry.is_dir() and not entry.name.startswith(".")
            return is_folder and kind_of(Path(entry.path)) is not None and self._is_inside(Path(entry.path))
        except OSError:
            return False

    def find(self, name: str) -> Path:
        """The folder of a run, a population, one of its members or a search."""
        parts = name.split("/")
        is_member = len(parts) == 3 and parts[1] == members.FOLDER and _MEMBER.fullmatch(parts[2])
        is_plain = bool(parts[0]) and not parts[0].startswith(".") and not re.search(r"[\\\0]", name)
        folder = self.folder.joinpath(*parts)
        if not is_plain or not (len(parts) == 1 or is_member) or not self._is_run(folder):
            raise CheckpointError(f"There is no run named {name[:200]!r} here; it may have been deleted.")
        return folder

    def _is_run(self, folder: Path) -> bool:
        try:
            return self._is_inside(folder) and kind_of(folder) is not None
        except (OSError, ValueError):
            return False

    def _is_inside(self, path: Path) -> bool:
        """Whether a path leads to somewhere inside the runs folder, links followed."""
        return path.resolve().is_relative_to(self.folder.resolve())

    def file(self, run: Path, name: str) -> Path:
        """A file of a run, by a name of ours; refused where a link leads out of the runs folder."""
        path = run / name
        if not self._is_inside(path):
            raise CheckpointError(f"{name} of this run is a link that leads elsewhere, and is not shown.")
        return path


def members_of(folder: Path) -> list[Path]:
    """The members of a population that are folders of its own; links are passed over."""
    inside = is_plain_folder(folder / members.FOLDER)
    return [member for member in members.member_dirs(folder) if inside and is_plain_folder(member)]


def logged_in(run: Path) -> Path:
    """Where the log of a run lies; of a population that of its first member."""
    return next(iter(members_of(run)), run)


def kind_of(folder: Path) -> Kind | None:
    """What a folder holds; None where it is nothing of ours."""
    if (folder / SEARCH).is_file():
        return "search"
    if not (folder / CONFIG).is_file():
        return None
    return "population" if members.is_population(folder) else "run"


def parent_of(name: str) -> str | None:
    """The population that a member belongs to."""
    parts = name.split("/")
    return parts[0] if len(parts) == 3 else None


def started_of(folder: Path) -> str:
    """When it was begun, as `2026-01-31T12:00:00`: the time in the name, else that of the folder."""
    if stamps := _STAMP.findall(folder.name):
        day, clock = stamps[-1].split("-")
        return f"{day[:4]}-{day[4:6]}-{day[6:]}T{clock[:2]}:{clock[2:4]}:{clock[4:]}"
    try:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(folder.stat().st_mtime))
    except OSError:
        return ""
