"""The members of a population on disk: `members/00`, `members/01`, ... each an ordinary run folder. No JAX here."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from courtside import files
from courtside.errors import CheckpointError, ConfigError
from courtside.runs import runlog
from courtside.runs.system_record import append_session
from courtside.settings.config import Config

FOLDER = "members"
ALONE = "alone.json"
"""Lies in the folder of a member that was resumed by itself."""
_NAME = re.compile(r"\d{2,}")


def member_configs(config: Config) -> list[Config]:
    """Each member as a run of its own: seeds from --seed upwards."""
    runs = (
        dataclasses.replace(config.run, seed=config.run.seed + i, seeds=1, require_pass=False)
        for i in range(config.run.seeds)
    )
    return [dataclasses.replace(config, run=run) for run in runs]


def member_dir(run_dir: Path, index: int) -> Path:
    return run_dir / FOLDER / f"{index:02d}"


def member_dirs(run_dir: str | Path) -> list[Path]:
    """The members' folders in order; empty where the run is not a population."""
    folders = [path for path in (Path(run_dir) / FOLDER).glob("*") if _NAME.fullmatch(path.name)]
    return sorted((path for path in folders if (path / runlog.CONFIG).exists()), key=lambda path: int(path.name))


def is_population(run_dir: str | Path) -> bool:
    return (Path(run_dir) / FOLDER).is_dir()


def create_folders(config: Config) -> Path:
    """A new run folder with a folder for every member in it, each with its complete config."""
    run_dir = runlog.make_run_folder(config)
    files.make_folder(run_dir / FOLDER)
    runlog.write_config(run_dir, config)
    append_session(run_dir, 0)
    require_whole(run_dir, config)
    return run_dir


def find_member(run_dir: str | Path, index: int) -> Path:
    """The folder of one member, or a sentence that says which there are."""
    if not is_population(run_dir):
        raise ConfigError(f"--member {index} needs a population, but {run_dir} is a single run; leave it out.")
    folder, dirs = member_dir(Path(run_dir), index), member_dirs(run_dir)
    if folder not in dirs:
        there = f"it has members {int(dirs[0].name)} to {int(dirs[-1].name)}" if dirs else "it has none yet"
        raise ConfigError(f"There is no member {index} in {run_dir}: {there}.")
    return folder


def note_alone(run_dir: Path) -> None:
    """Remember that a member goes on by itself: from then on it is no longer at the same point as the others."""
    if run_dir.parent.name == FOLDER and (run_dir.parent.parent / runlog.CONFIG).exists():
        files.write_json(run_dir / ALONE, {"alone": True})


def refuse_loners(dirs: Sequence[Path]) -> None:
    """Going on with all would undo what one of them has learned alone."""
    loners = [folder for folder in dirs if (folder / ALONE).exists()]
    if loners:
        raise CheckpointError(
            f"The member {loners[0].name} was trained on alone, and going on with all would undo that. Resume the members one by "
            f"one (courtside resume {loners[0]}), or delete {loners[0] / ALONE} to let it start from where the others are."
        )


def require_whole(run_dir: Path, config: Config) -> list[Path]:
    """The members' folders; all must be there for the population to go on.

    Where a kill came while the folders were made, nothing was trained yet and the rest are made now.
    """
    dirs = [member_dir(run_dir, i) for i in range(config.run.seeds)]
    missing = [i for i, path in enumerate(dirs) if not (path / runlog.CONFIG).exists()]
    if missing and any((path / runlog.CHECKPOINTS).is_dir() for path in dirs):
        lost = dirs[missing[0]]
        raise CheckpointError(
            f"The population {run_dir} lacks the member {lost.name} ({lost / runlog.CONFIG} is not there); "
            "its other members can be resumed alone."
        )
    configs = member_configs(config)
    for i in missing:
        files.make_folder(dirs[i])
        runlog.write_config(dirs[i], configs[i])
    return dirs
