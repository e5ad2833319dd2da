"""The engine of JAX worlds: rollout and learning in one compiled program, many updates per call."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from courtside import backend, memory, rollout
from courtside.algos import ppo
from courtside.config import Config
from courtside.engines import COMPILE_THREAD, MAX_CHUNK, Rows
from courtside.envs.base import Env
from courtside.episodes import Episodes, play_episodes
from courtside.keys import make_key
from courtside.types import Policy, TrainState

Columns = dict[str, Float[Array, "max_chunk"]]
"""One array per metric inside the program, one entry per update, as long as the longest chunk."""


class JaxEngine:
    """See `engines.Engine`."""

    def __init__(self, config: Config, env: Env, note: str = "") -> None:
        self.config, self.env, self.spec = config, env, env.spec
        self.setup = ppo.make_setup(config, env.spec.observation, env.spec.action, env.spec.num_agents)
        self.hyper = ppo.make_hyper(config)
        self._notices = [note] if note else []
        quick, good = backend.compiler_options(0), backend.compiler_options(2)
        init, chunk = functools.partial(init_run, env, self.setup), functools.partial(run_updates, env, self.setup)
        play = functools.partial(play_episodes, env, self.setup)
        self._init: Callable[..., Any] = jax.jit(init, compiler_options=quick)
        self._template: TrainState = jax.eval_shape(self._init, np.uint32(0))
        self._chunk: Callable[..., Any] = jax.jit(chunk, donate_argnums=1, compiler_options=good)
        self._play = jax.jit(play, static_argnums=(3, 4), compiler_options=good)
        self._evaluate: Callable[..., Any] | None = None
        """The evaluation that training itself does, compiled ahead."""

    def compile(self) -> None:
        """The training program, the start and the evaluation side by side."""
        state, run = self._template, self.config.run
        count, key = jax.ShapeDtypeStruct((), jnp.int32), jax.eval_shape(make_key, np.uint32(0))
        play = (state.policy, state.policy_state, key, run.eval_episodes, run.eval_deterministic)
        with ThreadPoolExecutor(thread_name_prefix=COMPILE_THREAD) as pool:
            chunk = pool.submit(_build, self._chunk, self.hyper, state, count)
            init = pool.submit(_build, self._init, np.uint32(0))
            if self.config.eval_updates:
                self._evaluate = pool.submit(_build, self._play, *play).result()
            self._chunk, self._init = chunk.result(), init.result()

    def init(self) -> TrainState:
        return self._init(np.uint32(self.config.run.seed))

    def template(self) -> TrainState:
        return self._template

    def run_chunk(self, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        return self._run(self.hyper, state, num_updates)

    def _run(self, hyper: ppo.Hyper, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        state, rows = self._chunk(hyper, state, np.int32(num_updates))
        return state, {name: np.asarray(column)[:num_updates] for name, column in rows.items()}

    def rollout_share(self, state: TrainState, num_updates: int, seconds: float) -> float:
        """Run the same program with no epochs on a copy of the state: what remains is the Rollout Phase, and the one
        pass that values it."""
        tried = max(1, num_updates // 10)
        no_epochs = eqx.tree_at(lambda h: h.update_epochs, self.hyper, jnp.zeros((), jnp.int32))
        tries = [self._seconds(no_epochs, state, tried) for _ in range(3)]
        return min(1.0, min(tries) / tried * num_updates / seconds)

    def _seconds(self, hyper: ppo.Hyper, state: TrainState, num_updates: int) -> float:
        copy = jax.block_until_ready(jax.tree.map(jnp.copy, state))
        start = time.perf_counter()
        self._run(hyper, copy, num_updates)
        return time.perf_counter() - start

    def play(self, policy: Policy, seed: int, episodes: int, deterministic: bool) -> Episodes:
        key, start = make_key(np.uint32(seed)), self._template.policy_state
        planned = (self.config.run.eval_episodes, self.config.run.eval_deterministic)
        if self._evaluate is not None and (episodes, deterministic) == planned:
            return self._evaluate(policy, start, key)
        return self._play(policy, start, key, episodes, deterministic)

    def memory_mb(self) -> dict[str, float]:
        state = self._template
        envs = memory.tree_mb((state.env_state, state.obs)) * (1 + self.setup.num_steps)
        return {"envs": envs, **memory.learner_mb(self.setup, state)}

    def notices(self) -> list[str]:
        notices, self._notices = self._notices, []
        return notices

    def close(self) -> None: ...


def _build(program: Any, *arguments: Any) -> Any:
    return program.lower(*arguments).compile()


def init_run(env: Env, setup: ppo.Setup, seed: Array) -> TrainState:
    """A fresh learner and its envs, drawn from the seed."""
    init_key, env_key = jax.random.split(make_key(seed))
    return rollout.start_envs(env, setup, ppo.init(setup, init_key), env_key)


def run_updates(
    env: Env, setup: ppo.Setup, hyper: ppo.Hyper, state: TrainState, num_updates: Array
) -> tuple[TrainState, Columns]:
    """`num_updates` times: Rollout Phase, Learning Phase. The count is traced, so one program serves every length."""

    names = (*rollout.metric_names(env), *ppo.METRICS)

    def one_update(i: Array, carry: tuple[TrainState, Array]) -> tuple[TrainState, Array]:
        state, rows = carry
        state, collected, episode_metrics = rollout.collect(env, setup, state)
        state, loss_metrics = ppo.update(setup, hyper, state, collected)
        metrics = episode_metrics | loss_metrics
        return state, rows.at[i].set(jnp.stack([metrics[name] for name in names]))

    rows = jnp.zeros((MAX_CHUNK, len(names)), jnp.float32)
    state, rows = jax.lax.fori_loop(0, num_updates, one_update, (state, rows))
    return state, {name: rows[:, i] for i, name in enumerate(names)}
