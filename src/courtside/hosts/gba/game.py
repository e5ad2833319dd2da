"""One GBA game as an env: the emulator, and around it actions that stick, what is seen, what is paid, and ends of episodes.

Which game it is, its keys, its memory and its rewards stand in a `GameDescription`. The same seed and actions give the
same pictures, rewards and ends. No JAX here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8, UInt16

from courtside import spaces
from courtside.errors import CheckpointError, ConfigError
from courtside.files import explain
from courtside.hosts.gba import observation
from courtside.hosts.gba.core import FRAMES_PER_SECOND, Emulator
from courtside.hosts.gba.description import GameDescription, Press
from courtside.hosts.gba.logbook import Logbook
from courtside.hosts.gba.options import GbaOptions, Task, identify
from courtside.hosts.gba.rom import identify as identify_rom
from courtside.hosts.gba.rom import require
from courtside.hosts.state_bytes import pack, unpack

FILM_SPEED, FILM_FPS = 4, 10
"""A film shows a frame for each step. Where a step lasts long it is faster than the game, so many times at most, up to so many
frames a second: at its own speed Emerald would have two or three."""
REWARDS = "rewards/"
"""What names of the rewards' arrays begin with in a saved state."""

_STARTS: dict[Any, bytes] = {}
"""States that episodes begin at, by what leads there."""

Answer = tuple[np.ndarray, float, bool, bool, dict[str, Any]]
"""What is seen, reward, terminated, truncated, info."""


@dataclass
class EpisodeSoFar:
    """Where an episode stands, beside what console and rewards know."""

    length: int = 0
    keys: int = 0
    """Held in the newest step: they may stick."""
    earned: float = 0.0
    best: float = 0.0
    """The highest sum of rewards so far."""
    best_step: int = 0
    """When it was reached."""


class GbaGame:
    """What `reset` and `step` show is reused by the next call; copy what you want to keep."""

    def __init__(self, task: Task) -> None:
        self.task, self.description, self.options = task, task.description, task.options
        if self.options.atlas_start > 0.0 and self.description.place is None:
            raise ConfigError(
                f"atlas_start is {self.options.atlas_start:g}, but gba:{task.game} does not tell where a state is; give its "
                "description a `place`, or leave atlas_start out."
            )
        self.emulator = open_cartridge(task)
        # Now, while the cartridge's own memory is as it came: what an agent saves in the game must not be in its start.
        self._start = find_start(self.emulator, self.description, self.options)
        if self.options.start:
            self._try_start()
        self.observation = observation.SPACE
        self.action = spaces.Discrete(len(self.description.actions))
        self.action_names = self.description.action_names
        own = FRAMES_PER_SECOND / (self.options.frame_skip + 1)
        self.metadata = {"render_fps": max(1, round(max(own, min(FILM_SPEED * own, FILM_FPS))))}
        self.rewards = self.description.make_rewards(task.everything, self.emulator.read)
        self.logbook = Logbook(task, self.emulator, self.rewards)
        self._eye = observation.Eye(self.options.shows_sideways)
        self._rng = np.random.default_rng()
        self._now = EpisodeSoFar()
        self.state: Any = None
        """What the game knew after the newest step; None where that was not to be believed."""

    def _try_start(self) -> None:
        """Say at once, not in the first episode, that a file is no state of this cartridge."""
        try:
            self.emulator.load_state(self._start)
        except CheckpointError as error:
            raise ConfigError(f"The saved state {self.options.start} cannot be started from. {error}") from error

    def reset(self, seed: int | None = None) -> UInt8[np.ndarray, "80 120 1"]:
        """Begin an episode: at the start of the game, or midway, at a state that was stored in this run."""
        if seed is not None:
            self._rng = np.random.default_rng(seed)
            self.logbook.take_seed(seed)
        midway = self.logbook.choose_start(self._rng)
        start = self._start if midway is None else midway
        self.emulator.load_state(start)
        self._now, self.state = EpisodeSoFar(), self._read()
        hides = is_black(self.emulator.pixels())
        self.rewards.reset(None if hides else self.state, midway=midway is not None)
        self.logbook.begin()
        return self.look()

    def step(self, action: int) -> Answer:
        """One action, for several frames; keys that stick are those of the step before."""
        if self.options.action_noise and self._rng.random() < self.options.action_noise:
            action = int(self._rng.integers(self.action.n))
        keys = self.description.actions[action][1]
        if self.options.sticky and self._rng.random() < self.options.sticky:
            keys = self._now.keys
        return self.press(keys, action)

    def press(self, keys: int, action: int = -1) -> Answer:
        """A step with these very keys."""
        now = self._now
        now.keys, now.length = keys, now.length + 1
        self.emulator.run(self.options.frame_skip + 1, keys)
        self.state = self._read()
        pixels = self.emulator.pixels()
        hides = is_black(pixels)
        reward = self.rewards.step(self.state, hides)
        is_over = self.state is not None and not hides and self.description.is_over(self.state)
        is_tired, is_late = self._note(reward), 0 < self.options.max_steps <= now.length
        reward -= self.options.stop_penalty * is_tired
        is_cut = is_tired or is_late
        self.logbook.add(action, keys, reward, None if hides else self.state, self._rng)
        if is_over or is_cut:
            self.logbook.end(now.earned)
        return self._eye(pixels), reward, is_over or (is_cut and self.options.ends_when_cut), is_cut, {}

    def _note(self, reward: float) -> bool:
        """Add up what was earned; says whether that has not become more for too long."""
        now = self._now
        now.earned += reward
        if now.earned > now.best:
            now.best, now.best_step = now.earned, now.length
        return 0 < self.options.patience <= now.length - now.best_step

    @property
    def totals(self) -> Float32[np.ndarray, "n"]:
        """What each component of the rewards is worth now, in the order of `rewards.names`."""
        return np.fromiter(self.rewards.totals.values(), np.float32)

    def look(self) -> UInt8[np.ndarray, "80 120 1"]:
        """The picture of now, as an agent sees it."""
        return self._eye(self.emulator.pixels())

    def render(self) -> UInt8[np.ndarray, "160 240 3"]:
        """The screen of now, in colours."""
        return self.emulator.screen()

    def close(self) -> None:
        self.emulator.close()

    def save_state(self) -> bytes:
        """Everything, so that `load_state` of another such game goes on as this one would."""
        kept = self.rewards.save()
        arrays = {REWARDS + name: value for name, value in kept.items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in kept.items() if REWARDS + name not in arrays}
        console = np.frombuffer(self.emulator.save_state(), np.uint8)
        record = {"of": identify(self.task), "progress": dataclasses.asdict(self._now), "rewards": plain}
        record |= {"rng": self._rng.bit_generator.state, "logbook": self.logbook.save()}
        return pack(record, arrays | {"console": console})

    def load_state(self, state: bytes) -> None:
        """Go on where `save_state` was called, in this process or another."""
        record, arrays = unpack(state)
        if record.get("of") != identify(self.task):
            raise CheckpointError(
                f"The saved state is of {record.get('of')}, but this game is {identify(self.task)}; use what it was saved with."
            )
        self.emulator.load_state(arrays.pop("console").tobytes())
        self.rewards.load(record["rewards"] | {name.removeprefix(REWARDS): array for name, array in arrays.items()})
        self._now = EpisodeSoFar(**record["progress"])
        self._rng.bit_generator.state = record["rng"]
        self.logbook.load(record["logbook"])
        self.state = self._read()

    def _read(self) -> Any:
        return self.description.read_state(self.emulator.read)


def is_black(pixels: UInt16[np.ndarray, "h w"]) -> bool:
    """Nothing is on the screen at all: the game is loading."""
    return not pixels.any()


def open_cartridge(task: Task) -> Emulator:
    """The console with the right cartridge, and its save where there is one."""
    description, options = task.description, task.options
    path = Path(options.rom)
    require(
        identify_rom(path), description.about or description.name, sha1s=description.rom_sha1, code=description.rom_code,
        revision=description.rom_revision,
    )  # fmt: skip
    return Emulator(path, save=read_save(description, options.save) if options.save else None)


def read_save(description: GameDescription, path: str) -> bytes:
    """The bytes of a save file, if it is of this game."""
    save = _read_file("save file", path)
    if fault := description.fault_of_save(save):
        raise ConfigError(f"{path} is no save of {description.name}: {fault}; give a .sav file of this game.")
    return save


def _read_file(what: str, path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"The {what} {path} cannot be read: {explain(error)}. Give another one.") from error


def find_start(emulator: Emulator, description: GameDescription, options: GbaOptions) -> bytes:
    """The state that episodes begin at. Getting there may take thousands of frames, so it is done once in each process."""
    if options.start:
        return _read_file("saved state", options.start)
    presses = description.start_from_save if options.save else description.start
    key = (emulator.rom_sha1, emulator.version, options.save, presses)
    if key not in _STARTS:
        _STARTS[key] = _play_start(emulator, presses)
    return _STARTS[key]


def _play_start(emulator: Emulator, presses: tuple[Press, ...]) -> bytes:
    emulator.reset()
    for keys, frames in presses or ((0, 1),):
        emulator.run(frames, keys)
    return emulator.save_state()
