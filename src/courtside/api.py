"""The Python API: the same pieces that the command line calls.

import courtside

result = courtside.train("cartpole", seed=3, total_timesteps=200_000)
run = courtside.load(result.run_dir)
action = run.policy(obs)
print(courtside.evaluate(result.run_dir, episodes=50).mean)
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from courtside import presets
from courtside.config import Config, override
from courtside.evaluate import EvalResult, evaluate_run
from courtside.loading import LoadedRun, Which, load
from courtside.session import Result, View
from courtside.session import train as train_session

__all__ = ["EvalResult", "LoadedRun", "Result", "evaluate", "load", "train"]


def train(preset: str | Config = presets.DEFAULT, *, view: View | None = None, **settings: Any) -> Result:
    """Train a preset, or a Config of your own, with settings changed by their flag names (`num_envs=8`).

    `view.on(event)` is called with every event of the run (see `courtside.events`).
    """
    config = presets.find_preset(preset) if isinstance(preset, str) else preset
    return train_session(override(config, **settings), view=view)


def evaluate(
    run: str | Path,
    *,
    episodes: int = 100,
    deterministic: bool | None = None,
    which: Which = "best",
    seed: int | None = None,
) -> EvalResult:
    """Scores of whole episodes, with everything rebuilt from the run folder; see `evaluate.evaluate_run`."""
    return evaluate_run(run, episodes=episodes, deterministic=deterministic, which=which, seed=seed)


class _CallableModule(ModuleType):
    """`courtside.train(...)` is this API, `courtside.train.run(...)` the loop in the module of the same name."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return {"courtside.train": train, "courtside.evaluate": evaluate}[self.__name__](*args, **kwargs)


for _name in ("courtside.train", "courtside.evaluate"):
    sys.modules[_name].__class__ = _CallableModule
