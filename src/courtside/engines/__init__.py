"""Engines: how updates are run for a world that lives inside the compiled program, and for one outside it.

Both offer the functions of `Engine`, so that `training.loop.run` does not care which one it drives. Whatever must survive a kill is
in the TrainState; an engine itself holds only compiled programs and, for host worlds, the envs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from courtside.algos.team import Team
from courtside.engines.episodes import Episodes
from courtside.errors import EnvContractError
from courtside.runs import trust
from courtside.settings.config import Config
from courtside.settings.worlds import build_world, find_env, give_options
from courtside.types import EnvSpec, Policy, TrainState

COMPILE_THREAD = "courtside-compile"
"""Name of the threads that compile: a process that ends while one is at work must not wait for it."""

MAX_CHUNK = 1024
"""Updates in one call of `run_chunk`, at most."""
EVALUATION = "Evaluation: "
"""What notices from the envs of an evaluation begin with."""

Rows = dict[str, np.ndarray]
"""One array per metric, one entry per update."""


@runtime_checkable
class Engine(Protocol):
    """What `loop.run` and evaluation need of a world and an algorithm."""

    spec: EnvSpec
    team: Team
    opponents: tuple[Any, ...]
    """Networks of opponents, to be kept in a new run folder (`recruit.keep`)."""

    @property
    def chunk_factor(self) -> float:
        """How many times as long as usual a chunk should take, where each costs something at its end."""
        ...

    def compile(self) -> None:
        """Build every program ahead of time; runs in a thread of its own, so that the terminal lives."""
        ...

    @property
    def chunk_grain(self) -> int:
        """Chunks end after a multiple of so many updates, or where the run pauses or ends."""
        ...

    def init(self) -> TrainState:
        """Everything a run starts from, drawn from its seed."""
        ...

    def template(self) -> TrainState:
        """The shapes of the TrainState, for reading a checkpoint."""
        ...

    def use(self, config: Config) -> None:
        """Take the rates and coefficients of these settings, from the next chunk on; nothing is compiled anew."""
        ...

    def run_chunk(self, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        """Rollout and Learning Phase, `num_updates` times; the old state's buffers are reused."""
        ...

    def rollout_share(self, state: TrainState, num_updates: int, seconds: float) -> float:
        """Share of the Rollout Phase in a chunk of `num_updates` that took `seconds`."""
        ...

    def play(self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool) -> Episodes:
        """Whole episodes under the policies of all groups; the same policies and seed give the same episodes."""
        ...

    def memory_mb(self) -> dict[str, float]:
        """What the run will hold, by part."""
        ...

    def notices(self) -> list[str]:
        """Sentences for the user since the last call."""
        ...

    def close(self) -> None: ...


def make_engine(config: Config, run_dir: Path | None = None) -> Engine:
    """The engine that fits the env id; the opponents of an existing run come from the copies in its folder."""
    from courtside.engines.host_engine import HostEngine
    from courtside.engines.jax_engine import JaxEngine
    from courtside.engines.opponents import recruit, refuse_opponents

    if run_dir is not None:
        trust.admit(config.env, run_dir)
    source = find_env(config.env.env_id)
    options = config.env.options
    env = build_world(source, options)
    if env is None:
        refuse_opponents(config)
        return HostEngine(config, give_options(source, options))
    if source.kind == "module":
        _refuse_broken(source.name, env)
    env, opponents = recruit(config, env, run_dir)
    return JaxEngine(config, env, source.note, opponents)


def _refuse_broken(target: str, env: Any) -> None:
    """The user's world may raise or return anything; found here it is one sentence, deep in the program a riddle."""
    from courtside.envs.check import traced_faults

    if faults := traced_faults(env):
        raise EnvContractError(f"{target} breaks the contract: {faults[0]} `courtside check {target}` tells more.")
