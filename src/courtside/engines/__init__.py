"""Engines: how updates are run for a world that lives inside the compiled program, and for one outside it.

Both offer the functions of `Engine`, so that `train.run` does not care which one it drives. Whatever must survive a kill is
in the TrainState; an engine itself holds only compiled programs and, for host worlds, the envs.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np

from courtside.algos import ppo
from courtside.config import Config
from courtside.envs.base import EnvSpec
from courtside.episodes import Episodes
from courtside.errors import EnvContractError
from courtside.registry import build_own, find_env, make_jax_env
from courtside.types import Policy, TrainState

COMPILE_THREAD = "courtside-compile"
"""Name of the threads that compile: a process that ends while one is at work must not wait for it."""

MAX_CHUNK = 1024
"""Updates in one call of `run_chunk`, at most."""

Rows = dict[str, np.ndarray]
"""One array per metric, one entry per update."""


@runtime_checkable
class Engine(Protocol):
    """What `train.run` and evaluation need of a world and an algorithm."""

    spec: EnvSpec
    setup: ppo.Setup

    def compile(self) -> None:
        """Build every program ahead of time; runs in a thread of its own, so that the terminal lives."""
        ...

    def init(self) -> TrainState:
        """Everything a run starts from, drawn from its seed."""
        ...

    def template(self) -> TrainState:
        """The shapes of the TrainState, for reading a checkpoint."""
        ...

    def run_chunk(self, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        """Rollout and Learning Phase, `num_updates` times; the old state's buffers are reused."""
        ...

    def rollout_share(self, state: TrainState, num_updates: int, seconds: float) -> float:
        """Share of the Rollout Phase in a chunk of `num_updates` that took `seconds`."""
        ...

    def play(self, policy: Policy, seed: int, episodes: int, deterministic: bool) -> Episodes:
        """Whole episodes under a policy; the same policy and seed give the same episodes."""
        ...

    def memory_mb(self) -> dict[str, float]:
        """What the run will hold, by part."""
        ...

    def notices(self) -> list[str]:
        """Sentences for the user since the last call."""
        ...

    def close(self) -> None: ...


def make_engine(config: Config) -> Engine:
    """The engine that fits the env id."""
    from courtside.engines.host_engine import HostEngine
    from courtside.engines.jax_engine import JaxEngine

    source = find_env(config.env.env_id)
    if source.kind == "jax":
        return JaxEngine(config, make_jax_env(source.name), source.note)
    if source.kind == "module" and (env := build_own(source.name)) is not None:
        _refuse_broken(source.name, env)
        return JaxEngine(config, env)
    return HostEngine(config, source)


def _refuse_broken(target: str, env: Any) -> None:
    """The user's world may raise or return anything; found here it is one sentence, deep in the program a riddle."""
    from courtside.envs.check import traced_faults

    if faults := traced_faults(env):
        raise EnvContractError(f"{target} breaks the contract: {faults[0]} `courtside check {target}` tells more.")
