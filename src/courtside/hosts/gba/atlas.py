"""An atlas of saved states: moments of a game by place and progress, from which later episodes may start.

All envs of a run share one folder. A file's name tells place, progress, the step at which it was stored and the env that
stored it, so no two writers share a file and nobody needs a lock. What an env knows at its step t is worked out from names
alone: of all states at least `settle` steps old, when every env has written its own, the most useful that the budget has
room for. That choice stays the same if states that it leaves out are gone already, so it does not matter when they are
deleted.

Resume stays exact: an env's step, its random numbers and the returns it noted are in its saved state, states from steps that
lie in the future of a resumed run are not looked at until they were stored again, byte for byte the same, and what is left
out is deleted only `grace` steps later, when the checkpoints that may need it are gone. No JAX here.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from courtside import files
from courtside.errors import CheckpointError, ConfigError

FOLDER, INDEX, SUFFIX = "atlas", "index.json", ".state"
MB = 1_000_000
SLOT = 400_000
"""Bytes that a state counts for, whatever it has: with sizes that differ, what there is room for would hang on the order in
which states come and go. Few consoles have larger ones; most are a third of it."""
PLACE = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
NAME = re.compile(r"(\d{3,})_(\d{12})_([0-9a-f]{8})\.state")


@dataclass(frozen=True, kw_only=True)
class AtlasSettings:
    """What is kept, and which of it is started from."""

    capacity_mb: float = 500.0
    """Disk that the states of a run may take: one half for those of the last `grace` steps, the other for the best before."""
    num_envs: int = 1
    """Envs that share the folder."""
    choose_by: Literal["uniform", "progress"] = "uniform"
    """Start from all places alike, or more often where returns change."""
    floor: float = 0.2
    """Share of the starts that all places have alike, however little returns change there."""
    window: int = 8
    """Returns from a place that are compared with as many before them."""
    settle: int = 1_000
    """Steps after which a state can be started from; envs are never that far apart."""
    grace: int = 100_000
    """Steps for which a state that was left out can still be resumed with."""

    @property
    def slots(self) -> int:
        """States that are kept for good."""
        return int(self.capacity_mb * MB) // (2 * SLOT)

    @property
    def spacing(self) -> int:
        """Steps from one state of an env to its next, so that new ones stay within their half of the disk."""
        return -(-self.grace // max(1, self.slots // self.num_envs - 1))

    def check(self) -> None:
        """Refuse what cannot work."""
        needed = 4 * self.num_envs * SLOT / MB
        if self.slots < 2 * self.num_envs:
            raise ConfigError(
                f"The atlas may take {self.capacity_mb:g} MB, but {self.num_envs} envs need {needed:g}; raise atlas_mb to that."
            )
        if not 0.0 <= self.floor <= 1.0:
            raise ConfigError(f"The floor of the atlas is {self.floor}; it is a share from 0 to 1.")
        if self.window < 1 or not 0 < self.settle <= self.grace:
            raise ConfigError(f"The atlas needs a window of 1 or more and 0 < settle <= grace, but has {self}.")


class Entry(NamedTuple):
    """One stored state. Of one place, the last in order is the most useful: the furthest, then the newest."""

    place: str
    progress: int
    step: int
    """Of the env that stored it, counted over its whole life."""
    env: int

    @property
    def file(self) -> str:
        return f"{self.place}/{self.progress:03d}_{self.step:012d}_{self.env:08x}{SUFFIX}"


class Start(NamedTuple):
    """Where an episode starts from."""

    entry: Entry
    state: bytes


class Atlas:
    """One env's view of the folder."""

    def __init__(self, folder: Path, settings: AtlasSettings, env: int) -> None:
        settings.check()
        self.folder, self.settings, self.env = folder, settings, env
        self._returns: dict[str, deque[float]] = {}
        self._is_storing, self._trouble = True, ""
        self._newest = -settings.spacing
        """Step at which this env last stored something."""

    def store(self, place: str, progress: int, step: int, state: bytes) -> None:
        """Keep this state if it can be kept; if not, training goes on and `take_trouble` says why."""
        entry = Entry(place, progress, step, self.env)
        if not PLACE.fullmatch(place) or progress < 0:
            raise ConfigError(
                f"An atlas holds places such as 0-9 and progress from 0 up, not {place!r} and {progress}."
            )
        if not self._is_storing or step - self._newest < self.settings.spacing:
            return
        self._newest = step
        if len(state) > SLOT:
            return self._stop(f"it has {len(state):,} bytes and may have {SLOT:,}")
        try:
            files.make_folder(self.folder / place)
            files.write_bytes(self.folder / entry.file, state)
            self.tidy(step)
        except CheckpointError as error:
            cause = error.__cause__
            self._stop(files.explain(cause) if isinstance(cause, OSError) else str(error))

    def _stop(self, why: str) -> None:
        self._is_storing = False
        self._trouble = (
            f"A state could not be stored in the atlas {self.folder}: {why}. Training goes on, and this env stores no more; "
            "resume the run to try again."
        )

    def take_trouble(self) -> str | None:
        """What went wrong and was not told yet."""
        trouble, self._trouble = self._trouble, ""
        return trouble or None

    def known(self, step: int) -> list[Entry]:
        """What an env may start from at its step."""
        return choose_kept(_up_to(step - self.settings.settle, list_entries(self.folder)), self.settings.slots)

    def sample(self, rng: np.random.Generator, step: int) -> Start | None:
        """A state to start from, drawn place by place; None where there is none."""
        entries = self.known(step)
        if not entries:
            return None
        places = sorted({entry.place for entry in entries})
        place = places[int(rng.choice(len(places), p=self.chances(places)))]
        there = [entry for entry in entries if entry.place == place]
        chosen = there[int(rng.integers(len(there)))]
        try:
            return Start(chosen, (self.folder / chosen.file).read_bytes())
        except OSError as error:
            self._trouble = (
                f"The state {chosen.file} of the atlas cannot be read: {files.explain(error)}. The episode starts from the "
                "beginning of the game instead."
            )
            return None

    def note_return(self, place: str, earned: float) -> None:
        """What an episode that started at a place has earned."""
        self._returns.setdefault(place, deque(maxlen=2 * self.settings.window)).append(float(earned))

    def chances(self, places: Sequence[str]) -> Float[np.ndarray, "n"]:
        """How likely a start from each place is. One that was not tried twice counts as the one where most is learned."""
        even = np.full(len(places), 1 / len(places))
        found = [learning_progress(self._returns.get(place, ())) for place in places]
        most = max((value for value in found if value is not None), default=0.0)
        worth = np.array([most if value is None else value for value in found])
        if self.settings.choose_by == "uniform" or not worth.any():
            return even
        return self.settings.floor * even + (1 - self.settings.floor) * worth / worth.sum()

    def tidy(self, step: int) -> None:
        """Delete what was left out for long, and write the index anew."""
        entries = list_entries(self.folder)
        old = _up_to(step - self.settings.grace, entries)
        gone = set(old) - set(choose_kept(old, self.settings.slots))
        for entry in gone:
            (self.folder / entry.file).unlink(missing_ok=True)
        write_index(self.folder, [entry for entry in entries if entry not in gone], self.env)

    def save(self) -> dict[str, Any]:
        """What an env's saved state must hold of it, as JSON data."""
        return {"newest": self._newest, "returns": {place: list(found) for place, found in self._returns.items()}}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called."""
        self._returns, self._newest = {}, int(saved["newest"])
        for place, returns in saved["returns"].items():
            for earned in returns:
                self.note_return(place, earned)


def place_key(group: int, num: int) -> str:
    """A map as a place."""
    return f"{group}-{num}"


def list_entries(folder: Path) -> list[Entry]:
    """All states that lie in the folder, in order; other files are passed over."""
    found = (_parse(path) for path in folder.glob(f"*/*{SUFFIX}"))
    return sorted(entry for entry in found if entry is not None)


def _parse(path: Path) -> Entry | None:
    match = NAME.fullmatch(path.name)
    if match is None or not PLACE.fullmatch(path.parent.name):
        return None
    return Entry(path.parent.name, int(match[1]), int(match[2]), int(match[3], 16))


def _up_to(step: int, entries: Iterable[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.step <= step]


def choose_kept(entries: Iterable[Entry], slots: int) -> list[Entry]:
    """The most useful of them: the best of every place, then the second best of every place, as far as there is room.

    That is what remains where the least useful of the fullest place goes first; and it remains the same if some that are
    left out are missing from the start.
    """
    ranks: dict[str, int] = {}
    ranked = []
    for entry in sorted(entries, reverse=True):
        rank = ranks[entry.place] = ranks.get(entry.place, -1) + 1
        ranked.append((rank, entry))
    return sorted(entry for _, entry in sorted(ranked, key=lambda pair: (pair[0], pair[1].place))[:slots])


def learning_progress(returns: Sequence[float]) -> float | None:
    """By how much the newer half of the returns differs from the older; None where there are fewer than two."""
    half = len(returns) // 2
    if half == 0:
        return None
    values = np.asarray(returns, np.float64)
    return float(abs(values[half:].mean() - values[:half].mean()))


def write_index(folder: Path, entries: Sequence[Entry], env: int = 0) -> None:
    """A list for people and programs of what lies in the folder; nothing here reads it, the files themselves count.

    Each env writes its own and then moves it there, as two may do so at once.
    """
    places: dict[str, int] = {}
    for entry in entries:
        places[entry.place] = places.get(entry.place, 0) + 1
    states = [{"file": entry.file, **entry._asdict()} for entry in entries]
    own = folder / f".{env:08x}-{INDEX}"
    files.write_json(own, {"places": places, "states": states})
    try:
        own.replace(folder / INDEX)
    except OSError as error:
        raise files.write_error(folder / INDEX, error) from error
