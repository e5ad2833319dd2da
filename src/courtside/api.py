"""The Python API: the same pieces that the command line calls.

import courtside

result = courtside.train("cartpole", seed=3, total_timesteps=200_000)
run = courtside.load(result.run_dir)
action = run.policy(obs)
print(courtside.evaluate(result.run_dir, episodes=50).mean)
courtside.resume(result.run_dir, total_timesteps=400_000)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from courtside.engines.loading import LoadedRun, load
from courtside.experiments import start
from courtside.runs import runlog
from courtside.runs.events import Notice
from courtside.runs.trust import admit_base, admit_config, consent
from courtside.settings import presets, worlds
from courtside.settings.config import Config, override
from courtside.training.evaluate import EvalResult, evaluate_run
from courtside.training.session import Result, View

if TYPE_CHECKING:
    from courtside.experiments.population.session import PopulationResult
    from courtside.health.findings import Finding


__all__ = ["EvalResult", "LoadedRun", "Result", "diagnose", "evaluate", "load", "resume", "train"]


def train(
    preset: str | Config | None = None, *, view: View | None = None, trust: bool | str = False, **settings: Any
) -> Result | PopulationResult:
    """Train a preset, or a Config of your own, with settings changed by their flag names (`num_envs=8`).

    As on the command line, a preset's thresholds hold for its own world only, and another `env_id` without a preset starts
    from the plain defaults. `view.on(event)` is called with every event of the run (see `courtside.runs.events`). With `seeds=16`
    the result is a population's: how its members spread. `trust` consents to the code that a preset file or a run, given as
    the preset, names.
    """
    with consent(trust):
        base, notes = _find_base(preset, settings)
        config = override(base, **settings)
        if view is not None:
            for note in [*notes, *presets.changed_task_notes(base, config)]:
                view.on(Notice(note))
        return start.train(config, view=view)


def _find_base(preset: str | Config | None, settings: dict[str, Any]) -> tuple[Config, list[str]]:
    """What the settings are changes to, with what it names let in, and what the user should know about it."""
    if not isinstance(preset, Config):
        base, notes = presets.find_base(preset, settings.get("env_id"), settings.get("algo"))
        admit_base(preset, base, settings)
        return base, notes
    if (env_id := settings.get("env_id")) is not None:
        worlds.stand_for(env_id)
    else:
        admit_config(preset.env)
    return preset, []


def resume(
    run: str | Path,
    *,
    view: View | None = None,
    total_timesteps: int | None = None,
    rom: str = "",
    trust: bool | str = False,
) -> Result | PopulationResult:
    """Go on with a run or a population that was stopped or killed, bit for bit, or beyond its end with `total_timesteps`.

    `rom` is where a run's cartridge's dump lies now; `trust` consents to the code that a stranger's run names.
    """
    return start.resume(run, view=view, total_timesteps=total_timesteps, rom=rom, trust=trust)


def diagnose(run: str | Path) -> list[Finding]:
    """What is wrong with a run, most important first, as `courtside doctor` prints it; empty where all is well."""
    from courtside.health.diagnose import diagnose as find
    from courtside.health.history import read_case

    return find(read_case(runlog.find_run(run)))


evaluate = evaluate_run
