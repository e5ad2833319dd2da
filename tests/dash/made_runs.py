"""Run folders made by hand: as training writes them, without training."""

from __future__ import annotations

import json
import math
from pathlib import Path

from courtside.runs import runlog
from courtside.settings.config import Config, Threshold, override

THRESHOLD = Threshold("charts/episodic_return", ">=", 0.5, window_steps=1_000)


def make_config(**changes) -> Config:
    config = Config(preset="custom", thresholds=(THRESHOLD,))
    return override(config, **{"num_envs": 4, "total_timesteps": 51_200, "num_minibatches": 1, **changes})


def row(update: int, batch: int = 512) -> dict:
    """A return that rises to 1, and an entropy that falls."""
    share = update / 100
    return {
        "step": update * batch, "update": update, "charts/episodic_return": min(1.0, share),
        "charts/episodes": update % 3, "losses/entropy": math.exp(-share), "losses/approx_kl": 0.01,
    }  # fmt: skip


def make_run(runs: Path, name: str = "made-20260102-030405-abcdef", updates: int = 100, **changes) -> Path:
    """A run that was stopped, or is finished where it has all its updates and a verdict is asked for."""
    folder = runs / name
    folder.mkdir(parents=True)
    runlog.write_config(folder, make_config(**changes))
    rows = [runlog.blank_episodes(row(update)) for update in range(1, updates + 1)]
    write_rows(folder / runlog.METRICS, rows)
    timing = [{"step": r["step"], "update": r["update"], "seconds": 0.5, "steps_per_second": 1024.0} for r in rows]
    write_rows(folder / runlog.TIMING, [{"step": 0, "update": 0, "compile_seconds": 2.5}, *timing])
    evals = [{"step": 5_120, "update": 10, "seed": 7, "eval/episodic_return": 0.25}]
    write_rows(folder / runlog.EVALS, evals)
    return folder


def write_rows(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
