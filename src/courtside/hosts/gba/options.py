"""What a GBA game can be told: how it starts, how actions last, when an episode ends, what is seen. No emulator here.

Each game adds options of its own (`GameDescription.options`), such as the weights of its rewards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from courtside.errors import ConfigError
from courtside.hosts.gba.description import GameDescription, find_game
from courtside.settings.kinds import EnvSource, merge_options
from courtside.settings.values import Option, read_options, signature_options

HIDDEN = ("rom", "folder", "first_seed", "num_envs", "evaluation")
"""The ROM has a flag of its own, --rom; the rest is not the user's to tell."""
UNSEEN = (
    "rom", "save", "start", "evaluation", "folder", "first_seed", "num_envs", "trajectories", "atlas_start", "atlas_store", "atlas_mb",
    "atlas_by",
)  # fmt: skip
"""Options that change nothing of what the network is shown and paid in a given state of the game."""


@dataclass(frozen=True, kw_only=True)
class GbaOptions:
    """The defaults are those of the Emerald experiments' last code, with its defects mended."""

    rom: str = ""
    """Path of the cartridge's dump."""
    save: str = ""
    """Path of what the cartridge's battery kept, a .sav file: the game goes on from there. None begins a new game."""
    start: str = ""
    """Path of a saved state that episodes begin at, instead of switching the console on."""
    frame_skip: int = 24
    """Frames that an action lasts, less one: 24 holds its keys for 25 frames."""
    sticky: float = 0.1
    """Chance, at each step, that the keys of the step before stay held instead of the new ones."""
    action_noise: float = 0.0
    """Chance, at each step, that an action drawn at random is taken instead."""
    max_steps: int = 65_536
    """Steps after which an episode is cut; 0 never cuts."""
    patience: int = 8_192
    """Steps without a new best sum of rewards after which an episode is cut; 0 never cuts."""
    stop_penalty: float = 0.0
    """What is subtracted from the last reward of an episode that ran out of patience."""
    mode: Literal["fixed", "faithful"] = "fixed"
    """Whether the originals' defects are mended; each can be switched by itself."""
    orientation: Literal["right", "faithful"] | None = None
    """The picture upright, or turned on its side and squeezed as the original had it; none goes with the mode."""
    cut_is_end: bool | None = None
    """Defect: a cut episode counts as one that truly ended, so that what would have followed is worth nothing; none goes
    with the mode."""
    trajectories: int = 1
    """Newest episodes of each env that are kept in the run folder, to be played again by `courtside replay`; 0 keeps none."""
    atlas_start: float = 0.0
    """Chance that an episode begins at a state which an env of this run stored, instead of the start of the game."""
    atlas_store: float = 0.001
    """Chance, at each step, that the state is stored; where atlas_start is 0 none is."""
    atlas_mb: float = 500.0
    """Disk that stored states may take."""
    atlas_by: Literal["uniform", "progress"] = "uniform"
    """Begin at all places alike, or more often where returns change."""
    folder: str = ""
    """The run folder, where there is one."""
    first_seed: int = 0
    """Seed of the run's first env."""
    num_envs: int = 1
    """Envs of the run."""
    evaluation: bool = False
    """Rewards neither scaled nor squashed, however training is set."""

    @property
    def is_faithful(self) -> bool:
        return self.mode == "faithful"

    @property
    def shows_sideways(self) -> bool:
        return self.is_faithful if self.orientation is None else self.orientation == "faithful"

    @property
    def ends_when_cut(self) -> bool:
        return self.is_faithful if self.cut_is_end is None else self.cut_is_end


@dataclass(frozen=True)
class Task:
    """A game with all its options."""

    game: str
    """As it is named behind `gba:`."""
    description: GameDescription
    options: GbaOptions
    own: Mapping[str, Any]
    """Values of the game's own options."""

    @property
    def everything(self) -> dict[str, Any]:
        return dataclasses.asdict(self.options) | dict(self.own)


def list_options(description: GameDescription) -> tuple[Option, ...]:
    """What a user can tell a game."""
    return tuple(option for option in _all_options(description) if option.name not in HIDDEN)


def _all_options(description: GameDescription) -> tuple[Option, ...]:
    common = (
        dataclasses.replace(option, default=description.defaults.get(option.name, option.default))
        for option in signature_options(GbaOptions)
    )
    return (*common, *description.options)


def read(source: EnvSource) -> Task:
    description = find_game(source.name)
    known = _all_options(description)
    values = {option.name: option.default for option in known} | read_options(source.bare_id, known, source.options)
    names = {field.name for field in dataclasses.fields(GbaOptions)}
    options = GbaOptions(**{key: value for key, value in values.items() if key in names})
    _check(source.bare_id, options)
    return Task(source.name, description, options, {key: value for key, value in values.items() if key not in names})


def give(source: EnvSource, more: Mapping[str, Any]) -> EnvSource:
    """With further options; what is as always stays out, so that one task has one id."""
    task = read(merge_options(source, more))
    plain = {option.name: option.default for option in _all_options(task.description)}
    changed = {name: value for name, value in task.everything.items() if value != plain[name]}
    return dataclasses.replace(source, options=changed)


def require_rom(source: EnvSource) -> None:
    """Say at once that there is no cartridge, before any worker is started."""
    options = read(source).options
    if not options.rom:
        raise ConfigError(
            f"{source.bare_id} needs a cartridge, and none was given; give a dump of your own, a .gba file: --rom PATH."
        )
    for what, path in (("ROM", options.rom), ("save file", options.save), ("saved state", options.start)):
        if path and not Path(path).is_file():
            how = "--rom PATH" if what == "ROM" else "the path of a file"
            raise ConfigError(f"There is no {what} at {path}; give {how}.")


def describe(source: EnvSource, more: Mapping[str, Any]) -> dict[str, Any]:
    """All that decides what the network is shown and paid, as JSON data; an option that is not the user's is refused."""
    known = [
        option for option in _all_options(find_game(source.name)) if option.name == "rom" or option.name not in HIDDEN
    ]
    read_options(source.bare_id, known, {**source.options, **more})
    return identify(read(merge_options(source, more)))


def identify(task: Task) -> dict[str, Any]:
    """Everything but what is `UNSEEN`."""
    return {"game": task.game} | {key: value for key, value in task.everything.items() if key not in UNSEEN}


def _check(world: str, options: GbaOptions) -> None:
    """Refuse numbers outside their range."""
    most = 2**31 - 1
    ranges = {
        "frame_skip": (0, 1_000), "sticky": (0.0, 0.99), "action_noise": (0.0, 1.0), "max_steps": (0, most),
        "patience": (0, most), "stop_penalty": (0.0, 1e9), "trajectories": (0, most), "atlas_start": (0.0, 1.0),
        "atlas_store": (0.0, 1.0), "atlas_mb": (1.0, 1e9),
    }  # fmt: skip
    for name, (low, high) in ranges.items():
        value = getattr(options, name)
        if not low <= value <= high:
            raise ConfigError(f"The option {name} of {world} is {value}, but it must lie between {low} and {high}.")
