"""The members of a population on disk: `members/00`, `members/01`, ... each an ordinary run folder. No JAX here."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from courtside import runlog, storage
from courtside.config import Config
from courtside.errors import CheckpointError, ConfigError

FOLDER = "members"
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
    found = [path for path in (Path(run_dir) / FOLDER).glob("*") if _NAME.fullmatch(path.name)]
    return sorted((path for path in found if (path / runlog.CONFIG).exists()), key=lambda path: int(path.name))


def is_population(run_dir: str | Path) -> bool:
    return (Path(run_dir) / FOLDER).is_dir()


def create_folders(config: Config) -> Path:
    """A new run folder with a folder for every member in it, each with its complete config."""
    run_dir = runlog.make_run_folder(config)
    storage.make_folder(run_dir / FOLDER)
    runlog.write_config(run_dir, config)
    runlog.append_session(run_dir, 0)
    require_whole(run_dir, config)
    return run_dir


def find_member(run_dir: str | Path, index: int) -> Path:
    """The folder of one member, or a sentence that says which there are."""
    dirs = member_dirs(run_dir)
    if not dirs:
        raise ConfigError(f"--member {index} needs a population, but {run_dir} is a single run; leave it out.")
    if not 0 <= index < len(dirs):
        raise ConfigError(f"There is no member {index} in {run_dir}: it has members 0 to {len(dirs) - 1}.")
    return dirs[index]


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
        storage.make_folder(dirs[i])
        runlog.write_config(dirs[i], configs[i])
    return dirs
