"""A trained policy from its run folder alone: no layer sizes to remember, no env to build.

run = courtside.load("runs/cartpole-...")
action = run.policy(obs)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from courtside import backend, checkpoint, preprocess, runlog, spaces
from courtside.algos import ppo
from courtside.config import Config
from courtside.errors import CheckpointError
from courtside.nets import distributions
from courtside.types import Policy

Which = Literal["best", "last"]


@dataclass(frozen=True)
class LoadedRun:
    """A run folder, opened for acting."""

    run_dir: Path
    config: Config
    setup: ppo.Setup
    weights: Policy
    pipeline: dict[str, Any]
    checkpoint: Path
    step: int

    def policy(self, obs: Any, *, deterministic: bool = True, seed: int = 0) -> np.ndarray:
        """The action for an observation as the env gives it; leading batch axes are allowed.

        The same `seed` draws the same action; it has no effect on deterministic ones.
        """
        features = preprocess.encode(self.setup.observation, obs, np)
        if deterministic:
            action = _greedy(self.setup)(self.weights, features)
        else:
            action = _sampled(self.setup)(self.weights, features, np.uint32(seed))
        return preprocess.decode_action(self.setup.action, np.asarray(action), np)


def load(run: str | Path, which: Which = "best") -> LoadedRun:
    """Open a run: its best policy, or its last. A run that was never evaluated has no best: its last is taken."""
    backend.start()
    run_dir = runlog.find_run(run)
    config = runlog.read_config(run_dir)
    path = _choose_checkpoint(run_dir, which)
    meta = checkpoint.read_meta(path)
    pipeline = meta["pipeline"]
    observation, action = spaces.from_json(pipeline["observation"]), spaces.from_json(pipeline["action"])
    setup = ppo.make_setup(config, observation, action, meta["num_agents"])
    expected = preprocess.describe_pipeline(config, observation, action)
    template = jax.eval_shape(lambda: ppo.init(setup, jax.random.key(0)).policy)
    weights, meta = checkpoint.load(path, template, expected, part=True)
    return LoadedRun(run_dir, config, setup, weights, pipeline, path, meta["step"])


def _choose_checkpoint(run_dir: Path, which: Which) -> Path:
    best = checkpoint.best_path(run_dir)
    if which == "best" and best.exists():
        return best
    try:
        return checkpoint.newest_whole(run_dir / checkpoint.FOLDER)[0]
    except CheckpointError as error:
        if best.exists():
            raise CheckpointError(f"{error} Its best policy is there: use --best.") from error
        raise


@functools.cache
def _greedy(setup: ppo.Setup) -> Any:
    return jax.jit(lambda policy, features: ppo.act_greedily(setup, policy, features, ())[0])


@functools.cache
def _sampled(setup: ppo.Setup) -> Any:
    def draw(policy: Policy, features: jax.Array, seed: jax.Array) -> jax.Array:
        noise = distributions.draw_noise(setup.action, jax.random.key(seed), features.shape[:-1])
        return ppo.act(setup, policy, features, (), noise)[0]

    return jax.jit(draw)
