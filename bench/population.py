"""Many seeds of one configuration, vmapped in one compiled program and judged as the verdict judges one run.

For the other scripts of this folder; meant for a GPU, on a CPU keep the number of seeds small. Needs nothing but the
engine: JAX, Equinox, Optax, safetensors, Rich and NumPy.
"""

import functools
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from courtside import backend
from courtside.algos import ppo
from courtside.config import Config, Threshold
from courtside.engines import MAX_CHUNK, make_engine
from courtside.engines.jax_engine import JaxEngine, init_run, run_updates
from courtside.health.verdict import Verdict, VerdictTracker

Columns = dict[str, np.ndarray]
"""One array per metric. [seeds, updates]"""


@dataclass(frozen=True)
class Trained:
    """What came of all seeds together."""

    columns: Columns
    compile_s: float
    seconds: float
    """Training alone, without compiling."""


def make_jax_engine(config: Config) -> JaxEngine:
    """The engine of a JAX world, whose parts these scripts put together anew."""
    engine = make_engine(config)
    if not isinstance(engine, JaxEngine):
        raise SystemExit(f"{config.env.env_id} is stepped outside JAX; this script takes JAX worlds only.")
    return engine


def train_all(config: Config, seeds: Iterable[int]) -> Trained:
    """Train every seed to the planned end; each gives what a run of its own gives, up to rounding."""
    backend.start(config)
    engine = make_jax_engine(config)
    env, team, hyper = engine.env, engine.team, ppo.make_hyper(config)
    start = time.perf_counter()
    init = jax.jit(jax.vmap(functools.partial(init_run, env, team)))
    state = jax.block_until_ready(init(np.asarray(list(seeds), np.uint32)))
    chunk = jax.jit(jax.vmap(functools.partial(run_updates, env, team), in_axes=(None, 0, None)), donate_argnums=1)
    program = chunk.lower(hyper, state, np.int32(1)).compile()
    compiled = time.perf_counter()
    pieces = []
    for done in range(0, config.num_updates, MAX_CHUNK):
        length = min(MAX_CHUNK, config.num_updates - done)
        state, rows = program(hyper, state, np.int32(length))
        pieces.append({name: np.asarray(column)[:, :length] for name, column in rows.items()})
    seconds = time.perf_counter() - compiled
    columns = {name: np.concatenate([piece[name] for piece in pieces], axis=1) for name in pieces[0]}
    return Trained(columns, compiled - start, seconds)


def judge(config: Config, columns: Columns, thresholds: Iterable[Threshold] | None = None) -> list[Verdict]:
    """One verdict per seed, by the config's own thresholds unless others are given."""
    thresholds = tuple(config.thresholds if thresholds is None else thresholds)
    num_seeds = len(next(iter(columns.values())))
    verdicts = []
    for seed in range(num_seeds):
        tracker = VerdictTracker(thresholds)
        tracker.add(rows_of(config, columns, seed))
        verdicts.append(tracker.verdict())
    return verdicts


def rows_of(config: Config, columns: Columns, seed: int) -> Iterator[dict[str, Any]]:
    """The records of one seed as `train.run` yields them."""
    lists = {name: column[seed].tolist() for name, column in columns.items()}
    for i in range(config.num_updates):
        step = {"step": (i + 1) * config.batch_size, "update": i + 1}
        yield step | {name: values[i] for name, values in lists.items()}
