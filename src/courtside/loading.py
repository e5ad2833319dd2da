"""A trained policy from its run folder alone: no layer sizes to remember, no env to build.

run = courtside.load("runs/cartpole-...")
action = run.policy(obs)
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import jax
import numpy as np

from courtside import backend, checkpoint, preprocess, runlog, spaces
from courtside.algos import ppo
from courtside.config import MAX_SEED, Config, check_seed
from courtside.errors import CheckpointError, ConfigError, EnvContractError
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
    notes: tuple[str, ...] = ()
    """What the user should know: newer checkpoints that are broken and were passed over."""
    chance: np.random.Generator = field(default_factory=np.random.default_rng, repr=False, compare=False)
    """Where drawn actions without a seed come from; each opened run has its own, started from the system's entropy."""

    def _encode(self, obs: Any) -> np.ndarray:
        try:
            return preprocess.encode(self.setup.observation, obs, np)
        except (ValueError, TypeError, IndexError, KeyError) as error:
            wanted = spaces.describe(self.setup.observation)
            raise EnvContractError(
                f"The observation does not fit the run ({error}); expected {wanted}, as the env {self.config.env.env_id} gives it."
            ) from error

    def policy(self, obs: Any, *, deterministic: bool = True, seed: int | None = None) -> np.ndarray:
        """The action for an observation as the env gives it; leading batch axes are allowed.

        Drawn actions differ from call to call; the same `seed` draws the same again. It has no effect on deterministic ones.
        """
        features = self._encode(obs)
        if deterministic:
            action = _greedy(self.setup)(self.weights, features)
        else:
            action = _sampled(self.setup)(self.weights, features, self._seed(seed))
        return preprocess.decode_action(self.setup.action, np.asarray(action), np)

    def _seed(self, seed: int | None) -> np.uint32:
        if seed is None:
            return self.chance.integers(MAX_SEED, endpoint=True, dtype=np.uint32)
        check_seed("seed", seed)
        return np.uint32(seed)


def load(run: str | Path, which: Which = "best") -> LoadedRun:
    """Open a run: its best policy, or its last. A run that was never evaluated has no best: its last is taken."""
    if which not in get_args(Which):
        raise ConfigError(f"which is {which!r}, but it must be 'best' or 'last'.")
    backend.start()
    run_dir = runlog.find_run(run)
    config = runlog.read_config(run_dir)
    path, meta, notes = _choose_checkpoint(run_dir, which)
    pipeline = meta["pipeline"]
    observation, action = spaces.from_json(pipeline["observation"]), spaces.from_json(pipeline["action"])
    setup = ppo.make_setup(config, observation, action, meta["num_agents"])
    expected = preprocess.describe_pipeline(config, observation, action)
    template = jax.eval_shape(lambda: ppo.init(setup, jax.random.key(0)).policy)
    weights, meta = checkpoint.load(path, template, expected, part=True)
    return LoadedRun(run_dir, config, setup, weights, pipeline, path, meta["step"], notes)


def _choose_checkpoint(run_dir: Path, which: Which) -> tuple[Path, dict[str, Any], tuple[str, ...]]:
    """A whole checkpoint, its meta, and what the user should know about the choice."""
    best = checkpoint.best_path(run_dir)
    if which == "best" and best.exists():
        return best, _read_best(run_dir, best), ()
    try:
        path, skipped = checkpoint.newest_whole(run_dir / checkpoint.FOLDER)
    except CheckpointError as error:
        if best.exists():
            raise CheckpointError(f"{error} Its best policy is there: use --best.") from error
        raise
    note = checkpoint.describe_skipped(path, skipped)
    return path, checkpoint.read_meta(path), (note,) if note else ()


def _read_best(run_dir: Path, best: Path) -> dict[str, Any]:
    """Its meta; where it is damaged, the error offers the newest policy if there is one."""
    try:
        return checkpoint.read_meta(best)
    except CheckpointError as error:
        try:
            newest, _ = checkpoint.newest_whole(run_dir / checkpoint.FOLDER)
        except CheckpointError:
            raise error from None
        raise CheckpointError(f"{error} The newest policy, {newest.name}, is whole: use --last.") from error


@functools.cache
def _greedy(setup: ppo.Setup) -> Any:
    return jax.jit(lambda policy, features: ppo.act_greedily(setup, policy, features, ())[0])


@functools.cache
def _sampled(setup: ppo.Setup) -> Any:
    def draw(policy: Policy, features: jax.Array, seed: jax.Array) -> jax.Array:
        noise = distributions.draw_noise(setup.action, jax.random.key(seed), features.shape[:-1])
        return ppo.act(setup, policy, features, (), noise)[0]

    return jax.jit(draw)
