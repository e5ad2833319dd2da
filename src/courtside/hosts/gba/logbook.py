"""What one env leaves in the run folder, and takes from it: states to start from, recorded episodes, where it has been.

Without a run folder, and in evaluations, nothing is written and every episode begins at the start of the game. No JAX here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from courtside.errors import CheckpointError
from courtside.hosts.gba import atlas, trajectories
from courtside.hosts.gba.core import Emulator
from courtside.hosts.gba.options import Task, identify
from courtside.hosts.gba.rewards import RewardModel
from courtside.hosts.gba.visit_map import write_visits

VISITS_EVERY = 2_048
"""Steps between two notes of where an env has been."""


class Logbook:
    """Of one env. Its number in the run is known with its first seed, or from its saved state."""

    def __init__(self, task: Task, emulator: Emulator, rewards: RewardModel) -> None:
        self._task, self._options, self._emulator, self._rewards = task, task.options, emulator, rewards
        self.notices: list[str] = []
        """Sentences for the user, emptied by whoever tells them."""
        self._number, self._age, self._place = -1, 0, ""
        self._notes_visits = True
        self._atlas: atlas.Atlas | None = None
        self._recorder: trajectories.Recorder | None = None

    @property
    def _folder(self) -> Path | None:
        return Path(self._options.folder) if self._options.folder and not self._options.evaluation else None

    def take_seed(self, seed: int) -> None:
        """Envs of a run are numbered by how far their seeds lie behind the run's; one that takes the place of another has the
        next seed but for all envs."""
        self._open(max(0, seed - self._options.first_seed) % self._options.num_envs)

    def _open(self, number: int) -> None:
        self._number = number
        if self._folder is None:
            return
        if self._options.atlas_start > 0.0:
            settings = atlas.AtlasSettings(
                capacity_mb=self._options.atlas_mb, choose_by=self._options.atlas_by, num_envs=self._options.num_envs
            )
            self._atlas = atlas.Atlas(self._folder / atlas.FOLDER, settings, number)
        about = trajectories.About(
            self._task.game, self._emulator.rom_sha1, self._options.frame_skip + 1, self._rewards.names, identify(self._task)
        )  # fmt: skip
        folder = self._folder / trajectories.FOLDER
        self._recorder = trajectories.Recorder(folder, about, number, keep=self._options.trajectories)

    def choose_start(self, rng: np.random.Generator) -> bytes | None:
        """A state of the atlas, if the episode is to begin at one."""
        self._place = ""
        if self._atlas is None or rng.random() >= self._options.atlas_start:
            return None
        start = self._atlas.sample(rng, self._age)
        self._note(self._atlas.take_trouble())
        if start is None:
            return None
        self._place = start.entry.place
        return start.state

    def begin(self) -> None:
        """An episode begins where the console is now, or is taken up there."""
        if self._recorder is not None:
            state = self._emulator.save_state() if self._recorder.is_next else None
            self._recorder.begin(state, self._rewards.totals)

    def add(self, action: int, keys: int, reward: float, state: Any, rng: np.random.Generator) -> None:
        """A step was made and led to this state of the game."""
        self._age += 1
        if self._recorder is not None and self._recorder.is_recording:
            self._recorder.add(action, keys, reward, self._rewards.totals)
        if self._atlas is not None and rng.random() < self._options.atlas_store:
            self._store(self._atlas, state)
        if self._age % VISITS_EVERY == 0:
            self._write_visits()

    def _store(self, book: atlas.Atlas, state: Any) -> None:
        if state is None or self._task.description.place is None:
            return
        place, progress = self._task.description.place(state)
        book.store(place, int(progress), self._age, self._emulator.save_state())
        self._note(book.take_trouble())

    def end(self, earned: float) -> None:
        """The episode ended."""
        if self._atlas is not None and self._place:
            self._atlas.note_return(self._place, earned)
        if self._recorder is not None and self._recorder.is_recording:
            self._note(self._recorder.end(self._emulator.save_state()))
        self._write_visits()

    def _write_visits(self) -> None:
        find, folder = self._task.description.visits, self._folder
        if folder is None or find is None or self._number < 0 or not self._notes_visits:
            return
        try:
            write_visits(folder, self._number, find(self._rewards), self._task.description.map_name)
        except CheckpointError as error:
            self._notes_visits = False
            self._note(f"Where an env has been is no longer noted. {error}")

    def _note(self, trouble: str | None) -> None:
        self.notices += [trouble] if trouble else []

    def save(self) -> dict[str, Any]:
        """What must survive for the env to go on alike, as JSON data."""
        known = None if self._atlas is None else self._atlas.save()
        return {"number": self._number, "age": self._age, "place": self._place, "atlas": known}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Go on where `save` was called; a recording goes on as a new one."""
        self._open(int(saved["number"]))
        self._age, self._place = int(saved["age"]), str(saved["place"])
        if self._atlas is not None and saved["atlas"] is not None:
            self._atlas.load(saved["atlas"])
        self.begin()
