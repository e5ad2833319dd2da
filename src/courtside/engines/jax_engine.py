"""The engine of JAX worlds: rollout and learning in one compiled program, many updates per call."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from courtside.algos import team as teams
from courtside.algos.algorithm import make_hyper
from courtside.algos.team import Team, make_team
from courtside.engines import COMPILE_THREAD, MAX_CHUNK, Rows, backend, fit, rollout
from courtside.engines.episodes import Episodes, Trace, play_episodes, trace_episodes
from courtside.envs.base import Env
from courtside.errors import EnvContractError
from courtside.settings.config import Config
from courtside.types import Policy, TrainState, make_key

Columns = dict[str, Float[Array, "max_chunk"]]
"""One array per metric inside the program, one entry per update, as long as the longest chunk."""


class JaxEngine:
    """See `engines.Engine`."""

    chunk_factor, chunk_grain = 1.0, 1

    def __init__(self, config: Config, env: Env, note: str = "", opponents: tuple[Any, ...] = ()) -> None:
        self.config, self.spec, self.opponents = config, env.spec, opponents
        self.team = make_team(config, env.spec, packed=True)
        self.hyper = make_hyper(config)
        self._notices = [note] if note else []
        self._arrays, self._world = eqx.partition(env, eqx.is_array)
        quick, good = backend.compiler_options(0), backend.compiler_options(2)
        self._init: Callable[..., Any] = jax.jit(self._with_world(init_run), compiler_options=quick)
        self._template: TrainState = jax.eval_shape(self._init, self._arrays, np.uint32(0))
        chunk, play = self._with_world(run_updates), self._with_world(play_episodes)
        self._chunk: Callable[..., Any] = jax.jit(chunk, donate_argnums=2, compiler_options=good)
        self._play = jax.jit(play, static_argnums=(3, 4), compiler_options=good)
        self._evaluate: Callable[..., Any] | None = None
        """The evaluation that training itself does, compiled ahead."""

    def _with_world(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function(world, team, ...)` as a program whose first argument is the arrays of the world.

        Frozen opponents are such arrays: they are data, so other ones fit the same program.
        """
        return lambda arrays, *args: function(eqx.combine(arrays, self._world), self.team, *args)

    @property
    def env(self) -> Env:
        return eqx.combine(self._arrays, self._world)

    @env.setter
    def env(self, env: Env) -> None:
        """Take a world that differs in its arrays only, such as the parameters of an opponent: nothing is compiled anew."""
        arrays, world = eqx.partition(env, eqx.is_array)
        if not eqx.tree_equal(world, self._world) or _shapes(arrays) != _shapes(self._arrays):
            raise EnvContractError("The new world differs from the old one in more than its arrays; make a new engine.")
        self._arrays = arrays

    def compile(self) -> None:
        """The training program, the start and the evaluation side by side."""
        state, run, world = self._template, self.config.run, self._arrays
        count, key = jax.ShapeDtypeStruct((), jnp.int32), jax.eval_shape(make_key, np.uint32(0))
        play = (world, state.policy, key, run.eval_episodes, run.eval_deterministic)
        with ThreadPoolExecutor(thread_name_prefix=COMPILE_THREAD) as pool:
            chunk = pool.submit(_build, self._chunk, world, self.hyper, state, count)
            init = pool.submit(_build, self._init, world, np.uint32(0))
            if self.config.eval_updates:
                self._evaluate = pool.submit(_build, self._play, *play).result()
            self._chunk, self._init = chunk.result(), init.result()

    def init(self) -> TrainState:
        return self._init(self._arrays, np.uint32(self.config.run.seed))

    def template(self) -> TrainState:
        return self._template

    def use(self, config: Config) -> None:
        self.hyper = make_hyper(config)

    def run_chunk(self, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        state, rows = self._chunk(self._arrays, self.hyper, state, np.int32(num_updates))
        return state, {name: np.asarray(column)[:num_updates] for name, column in rows.items()}

    def rollout_share(self, state: TrainState, num_updates: int, seconds: float) -> float:
        """Run the same program with no epochs on a copy of the state: what remains is the Rollout Phase, and the one
        pass that values it."""
        tried = max(1, num_updates // 10)
        idle = self.team.algorithm.without_learning(self.hyper)
        tries = [self._seconds(idle, state, tried) for _ in range(3)]
        return min(1.0, min(tries) / tried * num_updates / seconds)

    def _seconds(self, hyper: Any, state: TrainState, num_updates: int) -> float:
        copy = jax.block_until_ready(jax.tree.map(jnp.copy, state))
        start = time.perf_counter()
        jax.block_until_ready(self._chunk(self._arrays, hyper, copy, np.int32(num_updates)))
        return time.perf_counter() - start

    def play(self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool) -> Episodes:
        arguments = (self._arrays, policies, make_key(np.uint32(seed)))
        planned = (self.config.run.eval_episodes, self.config.run.eval_deterministic)
        if self._evaluate is not None and (episodes, deterministic) == planned:
            return self._evaluate(*arguments)
        return self._play(*arguments, episodes, deterministic)

    def trace(self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool) -> list[Trace]:
        """The episodes that `play` plays with this seed, state by state."""
        key = make_key(np.uint32(seed))
        return trace_episodes(self.env, self.team, policies, key, episodes, deterministic)

    def memory_mb(self) -> dict[str, float]:
        state = self._template
        envs = fit.tree_mb((state.env_state, state.obs)) * (1 + self.team.num_steps)
        return {"envs": envs, **fit.learner_mb(self.team, state)}

    def notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def close(self) -> None: ...


def _shapes(tree: Any) -> Any:
    return jax.tree.structure(tree), [(x.shape, x.dtype) for x in jax.tree.leaves(tree)]


def _build(program: Any, *arguments: Any) -> Any:
    return program.lower(*arguments).compile()


def init_run(env: Env, team: Team, seed: Array) -> TrainState:
    """Fresh learners and their envs, drawn from the seed."""
    init_key, env_key = jax.random.split(make_key(seed))
    return rollout.start_envs(env, team, teams.init(team, init_key), env_key)


def run_updates(env: Env, team: Team, hyper: Any, state: TrainState, num_updates: Array) -> tuple[TrainState, Columns]:
    """`num_updates` times: Rollout Phase, Learning Phase. The count is traced, so one program serves every length."""

    names = (*rollout.metric_names(env, team), *teams.metric_names(team))

    def one_update(i: Array, carry: tuple[TrainState, Array]) -> tuple[TrainState, Array]:
        state, rows = carry
        state, collected, episode_metrics = rollout.collect(env, team, state)
        state, loss_metrics = teams.update(team, hyper, state, collected)
        metrics = episode_metrics | loss_metrics
        return state, rows.at[i].set(jnp.stack([metrics[name] for name in names]))

    rows = jnp.zeros((MAX_CHUNK, len(names)), jnp.float32)
    state, rows = jax.lax.fori_loop(0, num_updates, one_update, (state, rows))
    return state, {name: rows[:, i] for i, name in enumerate(names)}
