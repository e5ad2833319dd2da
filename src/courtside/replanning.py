"""A run that is given another length: what follows from it, and how short it can still become."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from courtside import checkpoint
from courtside.config import Config, override
from courtside.errors import ConfigError


def replan(config: Config, folders: Iterable[Path], total_timesteps: int | None) -> tuple[Config, list[str]]:
    """The run (or all members of a population) with another length, and what to say about it; refused where it is past that.

    `folders` are the run's own, or those of the members.
    """
    if total_timesteps is None or total_timesteps == config.run.total_timesteps:
        return config, []
    made = max((checkpoint.newest_update(folder) for folder in folders), default=0) * config.batch_size
    if total_timesteps < made:
        raise ConfigError(
            f"--total-timesteps is {total_timesteps:,}, but the run is already at step {made:,}; give more to train on, or "
            "evaluate it with `courtside eval`."
        )
    note = (
        f"The planned length changes from {config.run.total_timesteps:,} to {total_timesteps:,} steps: schedules now end "
        "there, so the rates jump to where they stand on the new plan."
    )
    return override(config, total_timesteps=total_timesteps), [note]
