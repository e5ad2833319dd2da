"""A run that is given another length: what follows from it, and how short it can still become."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from courtside.errors import ConfigError
from courtside.runs import checkpoint
from courtside.settings.config import Config, override
from courtside.settings.schedules import Schedule, value_at
from courtside.settings.turns import config_at, schedules_of
from courtside.settings.values import flag_of


def replan(config: Config, folders: Iterable[Path], total_timesteps: int | None) -> tuple[Config, list[str]]:
    """The run (or all members of a population) with another length, and what to say about it; refused where it is past that.

    `folders` are the run's own, or those of the members.
    """
    if total_timesteps is None or total_timesteps == config.run.total_timesteps:
        return config, []
    update = max((checkpoint.newest_update(folder) for folder in folders), default=0)
    made = update * config.batch_size
    if total_timesteps < made:
        raise ConfigError(
            f"--total-timesteps is {total_timesteps:,}, but the run is already at step {made:,}; give more to train on, or "
            "evaluate it with `courtside eval`."
        )
    replanned = override(config, total_timesteps=total_timesteps)
    return replanned, [_describe(config_at(config, update), config_at(replanned, update), made)]


def _describe(old: Config, new: Config, made: int) -> str:
    """What another length does to each schedule at the step where the run stands."""
    length = f"The planned length changes from {old.run.total_timesteps:,} to {new.run.total_timesteps:,} steps"
    tied = {name: schedule for name, schedule in schedules_of(old).items() if schedule.is_tied}
    if not tied or old.num_updates == new.num_updates:
        return f"{length}; no rate depends on that, so training goes on as it would have."
    changes = "; ".join(_describe_one(name, schedule, old, new, made) for name, schedule in tied.items())
    return f"{length}, and schedules over the run end there, so from step {made:,} it is another run: {changes}."


def _describe_one(name: str, schedule: Schedule, old: Config, new: Config, made: int) -> str:
    lengths = [config.num_updates * config.batch_size for config in (old, new)]
    before, after = (f"{value_at(schedule, made, length):.4g}" for length in lengths)
    now = f"stays at {after} for now" if before == after else f"jumps from {before} to {after}"
    return f"{flag_of(name)} {now} and is {schedule.end:.4g} at step {lengths[1]:,}"
