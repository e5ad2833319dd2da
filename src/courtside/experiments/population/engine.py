"""Many members in one compiled program: each has its own key, hyperparameters, envs and statistics.

An accelerator trains its members side by side (vmap): it is idle with one. A CPU core trains its members one after the
other inside the same program, which costs nothing (a core is busy with one) and keeps every member equal, bit for bit, to
the same seed trained alone. Where there are several devices each takes its share of the members, driven by a thread of its
own; `backend.start` makes one device of every core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from courtside.algos.algorithm import make_hyper
from courtside.algos.team import Team
from courtside.engines import COMPILE_THREAD, Rows, backend, fit, make_engine
from courtside.engines.episodes import Episodes, play_episodes
from courtside.engines.jax_engine import JaxEngine, init_run, run_updates
from courtside.envs.base import Env
from courtside.errors import ConfigError
from courtside.machine import available_mb
from courtside.settings.config import Config
from courtside.types import Policy, TrainState, is_key, make_key, numbers_of

MEMORY_SHARE = 0.8
"""How much of the free memory a population may plan with."""

Shards = tuple[TrainState, ...]
"""The members' states, stacked along a leading axis P; one stack for each device that has members."""


@dataclass
class _Share:
    """The members of one device, and its programs."""

    device: Any
    members: range
    hyper: Any
    seeds: Array
    chunk: Callable[..., Any]
    init: Callable[..., Any]
    plays: dict[tuple[int, bool], Callable[..., Any]] = field(default_factory=dict)
    """Evaluations that are compiled ahead, by episodes and whether actions are the likeliest."""


class PopulationEngine:
    """Trains members that share a program: the same world, sizes and switches, other seeds and hyperparameters."""

    def __init__(self, configs: Sequence[Config], run_dir: Path | None = None) -> None:
        single = make_engine(configs[0], run_dir)
        if not isinstance(single, JaxEngine):
            single.close()
            raise ConfigError(f"{configs[0].env.env_id} is stepped outside JAX, so its members cannot share a program.")
        self.configs, self.num_members = tuple(configs), len(configs)
        self.single, self.spec, self.team, self.opponents = single, single.spec, single.team, single.opponents
        self._arrays, self._world = eqx.partition(single.env, eqx.is_array)
        self._play: Callable[..., Any] = jax.jit(
            self._with_world(play_members), static_argnums=(3, 4), compiler_options=backend.compiler_options(2)
        )
        # Each device has members that follow each other; no device is left with two more than another.
        devices = jax.local_devices()
        parts = np.array_split(np.arange(self.num_members), min(len(devices), self.num_members))
        self._shares = [self._make_share(device, part) for device, part in zip(devices, parts, strict=False)]
        self._pool = ThreadPoolExecutor(len(self._shares), thread_name_prefix=COMPILE_THREAD)

    def _with_world(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function(world, team, ...)` as a program whose first argument is the arrays of the world."""
        return lambda arrays, *args: function(eqx.combine(arrays, self._world), self.team, *args)

    def _make_share(self, device: Any, part: np.ndarray) -> _Share:
        configs = [self.configs[i] for i in part]
        quick, good = backend.compiler_options(0), backend.compiler_options(2)
        with jax.default_device(device):
            hyper = jax.tree.map(lambda *x: jnp.stack(x), *map(make_hyper, configs))
            seeds = jnp.asarray([config.run.seed for config in configs], jnp.uint32)
        chunk = jax.jit(self._with_world(run_members), donate_argnums=2, compiler_options=good)
        init = jax.jit(self._with_world(init_members), compiler_options=quick)
        members = range(int(part[0]), int(part[-1]) + 1)
        return _Share(device, members, jax.device_put(hyper, device), jax.device_put(seeds, device), chunk, init)

    def replace_members(self, configs: Sequence[Config]) -> None:
        """Take other members of the same program, as many as before; nothing is compiled anew."""
        if len(configs) != self.num_members:
            raise ValueError(f"{self.num_members} members cannot be replaced by {len(configs)}")
        self.configs = tuple(configs)
        for share in self._shares:
            fresh = self._make_share(share.device, np.asarray(share.members))
            share.hyper, share.seeds = fresh.hyper, fresh.seeds

    def compile(self) -> None:
        """All programs of all devices, side by side."""
        with ThreadPoolExecutor(thread_name_prefix=COMPILE_THREAD) as pool:
            list(pool.map(lambda build: build(), [build for share in self._shares for build in self._builds(share)]))

    def _builds(self, share: _Share) -> list[Callable[[], None]]:
        """What compiles one device's programs: training, the start, and the evaluation that training itself does."""
        world = jax.device_put(self._arrays, share.device)
        shapes = jax.eval_shape(share.init, world, share.seeds)
        one_device = jax.sharding.SingleDeviceSharding(share.device)
        state = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=one_device), shapes)
        run = self.configs[0].run

        def build_chunk() -> None:
            count = jax.device_put(np.int32(1), share.device)
            share.chunk = share.chunk.lower(world, share.hyper, state, count).compile()

        def build_init() -> None:
            share.init = share.init.lower(world, share.seeds).compile()

        def build_play() -> None:
            keys = self._keys(share, [0] * self.num_members)
            inputs = (world, state.policy, keys, run.eval_episodes, run.eval_deterministic)
            share.plays[run.eval_episodes, run.eval_deterministic] = self._play.lower(*inputs).compile()

        return [build_chunk, build_init] + [build_play] * bool(self.configs[0].eval_updates)

    def _keys(self, share: _Share, seeds: Sequence[int]) -> Array:
        with jax.default_device(share.device):
            return jnp.stack([make_key(np.uint32(seeds[i])) for i in share.members])

    def init(self) -> Shards:
        """Every member's start, drawn from its seed."""
        return self._each(lambda share: share.init(self._world_on(share), share.seeds))

    def template(self) -> TrainState:
        """The shapes of one member's TrainState."""
        return self.single.template()

    def run_chunk(self, state: Shards, num_updates: int) -> tuple[Shards, Rows]:
        """Rollout and Learning Phase, `num_updates` times for every member; rows are [P, num_updates]."""
        return self._run([share.hyper for share in self._shares], state, num_updates)

    def _run(self, hypers: Sequence[Any], state: Shards, num_updates: int) -> tuple[Shards, Rows]:
        def work(share: _Share, hyper: Any, part: TrainState) -> tuple[TrainState, Rows]:
            count = jax.device_put(np.int32(num_updates), share.device)
            part, rows = share.chunk(self._world_on(share), hyper, part, count)
            return part, {name: np.asarray(column)[:, :num_updates] for name, column in rows.items()}

        done = self._each(work, hypers, state)
        rows = {name: np.concatenate([part[name] for _, part in done]) for name in done[0][1]}
        return tuple(part for part, _ in done), rows

    def rollout_share(self, state: Shards, num_updates: int, seconds: float) -> float | None:
        """Share of the Rollout Phase in a chunk that took `seconds`: the same program with no epochs, on a copy.

        None where it cannot be told: members side by side take gradient steps even where they are thrown away, and a
        second copy of every replay may not fit.
        """
        if self.configs[0].traits.has_replay and trains_side_by_side():
            return None
        tried = max(1, num_updates // 10)
        idle = [self.team.algorithm.without_learning(share.hyper) for share in self._shares]
        copy = jax.block_until_ready(jax.tree.map(jnp.copy, state))
        start = time.perf_counter()
        self._run(idle, copy, tried)
        return min(1.0, (time.perf_counter() - start) / tried * num_updates / seconds)

    def play(self, state: Shards, seeds: Sequence[int], episodes: int, deterministic: bool) -> list[Episodes]:
        """Whole episodes of every member under its own policies, the member's seed for each."""

        def work(share: _Share, part: TrainState) -> list[Episodes]:
            given = (self._world_on(share), part.policy, self._keys(share, seeds))
            ready = share.plays.get((episodes, deterministic))
            played = jax.device_get(ready(*given) if ready else self._play(*given, episodes, deterministic))
            return [jax.tree.map(lambda x: x[i], played) for i in range(len(share.members))]  # noqa: B023

        return [member for part in self._each(work, state) for member in part]

    def member(self, state: Shards, index: int) -> TrainState:
        """One member's state, as a run of its own has it."""
        for share, part in zip(self._shares, state, strict=True):
            if index in share.members:
                place = index - share.members.start
                return jax.tree.map(lambda x: x[place], part)  # noqa: B023
        raise IndexError(f"member {index} of {self.num_members}")

    def members(self, state: Shards) -> list[TrainState]:
        """Every member's state, in the machine's own memory: one copy for each device instead of one for each leaf."""
        states, host = [], jax.local_devices(backend="cpu")[0]
        for share, part in zip(self._shares, state, strict=True):
            leaves, tree = jax.tree.flatten(part)
            fetched = jax.device_get([numbers_of(leaf) for leaf in leaves])
            for i in range(len(share.members)):
                own = jax.device_put([numbers[i] for numbers in fetched], host)
                part = [  # random keys are keys again
                    jax.random.wrap_key_data(numbers, impl=jax.random.key_impl(leaf)) if is_key(leaf) else numbers
                    for leaf, numbers in zip(leaves, own, strict=True)
                ]
                states.append(jax.tree.unflatten(tree, part))
        return states

    def stack(self, states: Sequence[TrainState]) -> Shards:
        """Put single states together, in the order of the members."""
        parts = []
        for share in self._shares:
            together = jax.tree.map(
                lambda *leaves: jnp.stack([jnp.asarray(leaf) for leaf in leaves]), *(states[i] for i in share.members)
            )
            parts.append(jax.device_put(together, share.device))
        return tuple(parts)

    def set_best_scores(self, state: Shards, scores: Sequence[float]) -> Shards:
        """The same states with other best scores, one for each member."""
        best = lambda share: jax.device_put(np.asarray([scores[i] for i in share.members], np.float32), share.device)  # noqa: E731
        return tuple(
            eqx.tree_at(lambda s: s.best_score, part, best(share))
            for share, part in zip(self._shares, state, strict=True)
        )

    def memory_mb(self) -> dict[str, float]:
        """What all members hold together; on a CPU only one member of each core has a rollout at a time."""
        parts = self.single.memory_mb()
        if not trains_side_by_side():
            return population_mb(parts, fit.tree_mb(self.template()), self.num_members, len(self._shares))
        return {name: mb * self.num_members for name, mb in parts.items()}

    def notices(self) -> list[str]:
        return self.single.notices()

    def close(self) -> None:
        self._pool.shutdown(wait=False)

    def _world_on(self, share: _Share) -> Any:
        return jax.device_put(self._arrays, share.device)

    def _each(self, work: Callable[..., Any], *arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Call `work(share, ...)` for every device at once."""
        return tuple(self._pool.map(work, self._shares, *arguments))


def population_mb(parts: dict[str, float], state_mb: float, num_members: int, num_devices: int) -> dict[str, float]:
    """Memory on a CPU: a work space per core, and the state of every member that waits."""
    return {name: mb * num_devices for name, mb in parts.items()} | {"members": state_mb * num_members}


def trains_side_by_side() -> bool:
    """Whether members are vmapped; on a CPU they follow each other."""
    return jax.default_backend() != "cpu"


def members_that_fit(single: JaxEngine) -> int:
    """How many members may be trained at once with the memory that is free now; at least one."""
    free = fit.device_mb() if trains_side_by_side() else available_mb()
    each = sum(single.memory_mb().values()) if trains_side_by_side() else 2 * fit.tree_mb(single.template())
    devices = len(jax.local_devices()) if trains_side_by_side() else 1
    return 1_000_000 if free is None else devices * max(1, int(MEMORY_SHARE * free / max(each, 1e-9)))


def _over_members(function: Callable[..., Any], *stacks: Any) -> Any:
    """Side by side on an accelerator, one after the other on a CPU."""
    if trains_side_by_side():
        return jax.vmap(function)(*stacks)
    return jax.lax.map(lambda stack: function(*stack), stacks)


def init_members(env: Env, team: Team, seeds: Array) -> TrainState:
    """Fresh members, drawn from their seeds. [P]"""
    return _over_members(lambda seed: init_run(env, team, seed), seeds)


def run_members(env: Env, team: Team, hyper: Any, state: TrainState, num_updates: Array) -> Any:
    """`num_updates` times Rollout Phase and Learning Phase of every member; all leaves have a leading axis P."""
    return _over_members(lambda h, s: run_updates(env, team, h, s, num_updates), hyper, state)


def play_members(
    env: Env,
    team: Team,
    policies: tuple[Policy, ...],
    keys: Key[Array, "P"],
    num_episodes: int,
    deterministic: bool,
) -> Episodes:
    """`num_episodes` episodes of every member."""
    play = lambda p, k: play_episodes(env, team, p, k, num_episodes, deterministic)  # noqa: E731
    return _over_members(play, policies, keys)
