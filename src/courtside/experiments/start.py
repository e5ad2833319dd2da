"""One run or many: what `courtside train` and `courtside resume` begin with."""

from __future__ import annotations

from pathlib import Path

from courtside.experiments.population import session as population
from courtside.runs import runlog
from courtside.runs.members import is_population
from courtside.settings.config import Config
from courtside.training import session
from courtside.training.session import Result, View


def train(config: Config, *, view: View | None = None) -> Result | population.PopulationResult:
    """A new run in a new folder; a population where several seeds are asked for."""
    if config.run.seeds > 1:
        config.validate()
        return population.train(runlog.with_rom(config, config.env.rom), view=view)
    return session.train(config, view=view)


def resume(
    run: str | Path,
    *,
    view: View | None = None,
    total_timesteps: int | None = None,
    rom: str = "",
    trust: bool | str = False,
) -> Result | population.PopulationResult:
    """Go on with a run or a population from where its folder stands; `rom` is where a run's cartridge's dump lies now, `trust`
    consents to the code that a stranger's run names."""
    run_dir = runlog.find_run(run)
    if is_population(run_dir):
        return population.resume(run_dir, view=view, total_timesteps=total_timesteps, trust=trust)
    return session.resume(run_dir, view=view, total_timesteps=total_timesteps, rom=rom, trust=trust)
