"""Whole episodes on disk, and played again: the state at the start, the keys of every step, what was earned, the state at
the end.

A trajectory is a folder, `trajectories/03/episode_0012` for instance, that is there whole or not at all. The keys are those
that the console saw, after all that sticks or is drawn at random, so that it can be played again without the env: an
emulator set to the first state and given the same keys must come to the same last state. No JAX here.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
import shutil
import zipfile
import zlib
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, Int32, UInt8, UInt16

from courtside import files
from courtside.errors import CheckpointError
from courtside.hosts.gba.core import Emulator

FOLDER = "trajectories"
INITIAL, FINAL, STEPS, ABOUT = "initial.state", "final.state", "steps.npz", "trajectory.json"
EPISODE = re.compile(r"episode_(\d{4,})")
ARRAYS = ("actions", "keys", "rewards", "totals")
FORMAT = 1


@dataclass(frozen=True)
class About:
    """What stands beside the numbers, for people and for playing it again."""

    game: str
    rom_sha1: str
    frames_per_step: int
    components: tuple[str, ...] = ()
    """Log names of what is paid for, in the order of `Trajectory.totals`."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How the env was made, as JSON data."""


@dataclass(frozen=True)
class Trajectory:
    """One episode, or the part of one since the run was resumed."""

    about: About
    initial: bytes
    final: bytes
    actions: Int32[np.ndarray, "T"]
    """As the agent chose them."""
    keys: UInt16[np.ndarray, "T"]
    """As the console saw them."""
    rewards: Float32[np.ndarray, "T"]
    totals: Float32[np.ndarray, "T+1 C"]
    """What each component was worth at the start and after every step."""

    @property
    def num_steps(self) -> int:
        return len(self.keys)


class Recorder:
    """Writes what one env plays, every `every`-th episode of it, and keeps the newest `keep`."""

    def __init__(self, folder: Path, about: About, env: int, *, keep: int = 4, every: int = 1) -> None:
        self.folder, self._about, self._keep, self._every = folder / f"{env:02d}", about, keep, every
        self._count, self._initial, self._trouble = 0, b"", ""
        self._steps: dict[str, array] = {}

    @property
    def is_recording(self) -> bool:
        return bool(self._initial)

    @property
    def is_next(self) -> bool:
        """Whether the episode that begins now is one to record: only then need its state be saved for `begin`."""
        return self._keep > 0 and not self._trouble and self._count % self._every == 0

    def begin(self, state: bytes | None, totals: Mapping[str, float]) -> None:
        """An episode begins at this state; None if it `is_next` not."""
        self._initial = state if state is not None and self.is_next else b""
        self._count += 1
        self._steps = {"actions": array("i"), "keys": array("H"), "rewards": array("f"), "totals": array("f")}
        self._add_totals(totals)

    def add(self, action: int, keys: int, reward: float, totals: Mapping[str, float]) -> None:
        """A step was made."""
        if self._initial:
            self._steps["actions"].append(action)
            self._steps["keys"].append(keys)
            self._steps["rewards"].append(reward)
            self._add_totals(totals)

    def _add_totals(self, totals: Mapping[str, float]) -> None:
        self._steps["totals"].extend([totals.get(name, 0.0) for name in self._about.components])

    def end(self, state: bytes) -> str | None:
        """The episode ended at this state: write it. Returns what went wrong, after which nothing more is recorded."""
        if not self._initial or not self._steps["keys"]:
            return None
        found = Trajectory(self._about, self._initial, state, **_as_arrays(self._steps, len(self._about.components)))
        self._initial = b""
        try:
            episodes = list_episodes(self.folder)
            last = int(episodes[-1].name.removeprefix("episode_")) if episodes else -1
            write_trajectory(self.folder / f"episode_{last + 1:04d}", found)
            # Only once the new one is there: a full disk must not cost both.
            for path in episodes[: max(0, len(episodes) + 1 - self._keep)]:
                shutil.rmtree(path, ignore_errors=True)
        except CheckpointError as error:
            cause = error.__cause__
            why = files.explain(cause) if isinstance(cause, OSError) else str(error)
            self._trouble = (
                f"An episode could not be recorded in {self.folder}: {why}. Training goes on without recording."
            )
            return self._trouble
        return None


def _as_arrays(steps: Mapping[str, array], num_components: int) -> dict[str, np.ndarray]:
    kinds = {"actions": np.int32, "keys": np.uint16, "rewards": np.float32, "totals": np.float32}
    arrays = {name: np.array(values, kinds[name]) for name, values in steps.items()}
    return arrays | {"totals": arrays["totals"].reshape(len(steps["keys"]) + 1, num_components)}


def list_episodes(folder: Path) -> list[Path]:
    """The trajectories of one env, the oldest first."""
    found = [path for path in folder.glob("episode_*") if EPISODE.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name.removeprefix("episode_")))


def find_episode(path: Path) -> Path:
    """An episode itself, or the newest of those in the folder of an env, of all envs or of a run."""
    if (path / ABOUT).is_file():
        return path
    patterns = ("episode_*", "*/episode_*", f"{FOLDER}/*/episode_*")
    found = [each for pattern in patterns for each in path.glob(pattern) if (each / ABOUT).is_file()]
    if not found:
        raise CheckpointError(
            f"There is no recorded episode in {path}; give a run, or a folder such as RUN/{FOLDER}/00/episode_0000."
        )
    return max(found, key=lambda each: ((each / ABOUT).stat().st_mtime, each))


def write_trajectory(path: Path, trajectory: Trajectory) -> None:
    """Fill a folder beside its place and move it there."""
    temporary = path.with_name(f".{path.name}{files.TEMPORARY}")
    shutil.rmtree(temporary, ignore_errors=True)
    files.make_folder(temporary)
    try:
        steps = io.BytesIO()
        np.savez_compressed(steps, **{name: getattr(trajectory, name) for name in ARRAYS})
        for name, content in {INITIAL: trajectory.initial, FINAL: trajectory.final, STEPS: steps.getvalue()}.items():
            files.write_bytes(temporary / name, content)
        files.write_json(temporary / ABOUT, _describe(trajectory))
        os.replace(temporary, path)
    except OSError as error:
        raise files.write_error(path, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _describe(trajectory: Trajectory) -> dict[str, Any]:
    """All that can be read without a program: what it is, and how it went."""
    ends = dict(zip(trajectory.about.components, trajectory.totals[-1].tolist(), strict=True))
    went = {"steps": trajectory.num_steps, "reward": float(trajectory.rewards.sum(dtype=np.float64)), "totals": ends}
    return {"format": FORMAT, **dataclasses.asdict(trajectory.about), **went}


def read_trajectory(path: Path | str) -> Trajectory:
    """What `write_trajectory` wrote."""
    path = Path(path)
    if not (path / ABOUT).is_file():
        raise CheckpointError(
            f"{path} is no recorded episode: there is no {ABOUT} in it; give a folder such as RUN/{FOLDER}/00/episode_0000."
        )
    try:
        record = json.loads((path / ABOUT).read_text())
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']}, {FORMAT} is read")
        known: dict[str, Any] = {each.name: record[each.name] for each in dataclasses.fields(About)}
        known["components"] = tuple(known["components"])
        about = About(**known)
        with np.load(path / STEPS, allow_pickle=False) as steps:
            arrays = {name: steps[name] for name in ARRAYS}
        _require_fit(arrays, len(about.components))
        return Trajectory(about, (path / INITIAL).read_bytes(), (path / FINAL).read_bytes(), **arrays)
    except (OSError, ValueError, LookupError, TypeError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        raise CheckpointError(f"The recorded episode {path} is damaged ({error}); take another one.") from error


def _require_fit(arrays: Mapping[str, np.ndarray], num_components: int) -> None:
    length = len(arrays["keys"])
    expected = {"actions": (length,), "keys": (length,), "rewards": (length,), "totals": (length + 1, num_components)}
    for name, shape in expected.items():
        if arrays[name].shape != shape or arrays[name].dtype.kind not in "iuf":
            raise ValueError(f"{name} is {arrays[name].dtype}{list(arrays[name].shape)}, not {list(shape)}")


def replay(
    trajectory: Trajectory, rom: bytes | Path, core: Path | None = None, every: int = 1
) -> Iterator[tuple[int, UInt8[np.ndarray, "160 240 3"]]]:
    """Play it again: the screens of the start, of every `every`-th step and of the last, each with the number of its step.

    Raises where the emulator does not come to the recorded end.
    """
    with Emulator(rom, core) as emulator:
        emulator.load_state(trajectory.initial)
        yield 0, emulator.screen()
        for step, keys in enumerate(trajectory.keys.tolist(), start=1):
            emulator.run(trajectory.about.frames_per_step, keys)
            if step % every == 0 or step == trajectory.num_steps:
                yield step, emulator.screen()
        if emulator.save_state() != trajectory.final:
            raise CheckpointError(
                f"The episode was played again for {trajectory.num_steps:,} steps and ended in another state than the "
                "recorded one; it was changed, or this emulator does not repeat itself: use the one it was recorded with."
            )
