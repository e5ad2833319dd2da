"""Evaluation of a run from its folder alone: env, preprocessing and network are rebuilt as training had them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside import config as settings
from courtside import preprocess
from courtside.callable_module import make_callable
from courtside.engines import make_engine
from courtside.errors import CheckpointError, ConfigError
from courtside.loading import LoadedRun, Which, load
from courtside.statistics import summarize
from courtside.train import evaluation_seed


@dataclass(frozen=True)
class EvalResult:
    """Scores of whole episodes."""

    mean: float
    std: float
    iqm: float
    """Interquartile mean: the mean of the middle half."""
    iqm_low: float
    iqm_high: float
    """95% interval of the interquartile mean."""
    mean_length: float
    episodes: int
    deterministic: bool
    checkpoint: str
    step: int
    returns: list[float]
    notes: tuple[str, ...] = ()
    """What the user should know about the checkpoint that was taken."""

    def to_json(self) -> dict[str, Any]:
        """For scripts: what is no finite number is null, since JSON has no word for it."""
        record = dataclasses.asdict(self) | {"returns": [_or_null(score) for score in self.returns]}
        return {name: _or_null(value) for name, value in record.items()}


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def evaluate_run(
    run: str | Path,
    *,
    episodes: int = 100,
    deterministic: bool | None = None,
    which: Which = "best",
    seed: int | None = None,
) -> EvalResult:
    """Play whole episodes with a run's policy; how actions are chosen is the run's own way unless told otherwise."""
    if episodes < 1:
        raise ConfigError(f"episodes is {episodes}, but it must be 1 or more.")
    if seed is not None:
        settings.check_seed("seed", seed)
    loaded = load(run, which)
    greedy = loaded.config.run.eval_deterministic if deterministic is None else deterministic
    seed = evaluation_seed(loaded.config.run.seed, 0) if seed is None else seed
    played = _play(loaded, episodes, greedy, seed)
    returns, lengths = np.asarray(played.returns, np.float64), np.asarray(played.lengths)
    summary = summarize(returns)
    return EvalResult(
        mean=summary.mean,
        std=summary.std,
        iqm=summary.iqm,
        iqm_low=summary.iqm_low,
        iqm_high=summary.iqm_high,
        mean_length=float(lengths.mean()),
        episodes=episodes,
        deterministic=greedy,
        checkpoint=str(loaded.checkpoint),
        step=loaded.step,
        returns=returns.tolist(),
        notes=loaded.notes,
    )


def _play(loaded: LoadedRun, episodes: int, deterministic: bool, seed: int) -> Any:
    """Build the env anew, make sure that it still is the one trained on, and play."""
    config = settings.override(loaded.config, num_envs=min(loaded.config.env.num_envs, episodes), num_minibatches=1)
    engine = make_engine(config)
    try:
        here = preprocess.describe_pipeline(config, engine.spec.observation, engine.spec.action)
        if lines := preprocess.difference(loaded.pipeline, here):
            raise CheckpointError(
                f"The env {config.env.env_id} is not the one that this run was trained on: {'; '.join(lines)}. "
                "Use the version of the env that the run was trained with."
            )
        return engine.play(loaded.weights, seed, episodes, deterministic)
    finally:
        engine.close()


make_callable(__name__)
