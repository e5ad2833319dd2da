"""The engine of worlds outside JAX: envs are stepped by a host, acting and learning are compiled."""

from __future__ import annotations

import functools
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray
from safetensors import numpy as safetensors

from courtside.algos import acting
from courtside.algos import team as teams
from courtside.algos.algorithm import make_hyper
from courtside.algos.group import may_pack
from courtside.algos.nets import cores
from courtside.algos.team import Team, make_team
from courtside.engines import EVALUATION, Rows, fit
from courtside.engines.choosing import Acting, ActionChooser, join_said, memories_of, nothing_said
from courtside.engines.env_sets import EnvSets
from courtside.engines.episodes import Episodes
from courtside.engines.fit import can_share
from courtside.engines.host_rollout import (
    DeviceRows,
    HostColumns,
    Shift,
    collect_host,
    make_columns,
    make_rollout,
    nothing,
)
from courtside.engines.overlapping import GRAIN, Overlap, is_in_step
from courtside.engines.playing import HostPlayer
from courtside.engines.rollout import summarize_episodes
from courtside.errors import ConfigError
from courtside.hosts.base import Host, ShowsScreens
from courtside.hosts.facts import can_pack
from courtside.hosts.shifts import Shifts
from courtside.settings.config import Config
from courtside.settings.kinds import EnvSource
from courtside.types import Metrics, Policy, Rollout, TrainState, make_key

SAVING_FACTOR = 4.0
"""`chunk_factor` where all envs are saved at the end of each chunk: that takes milliseconds for each dozen of them."""
STATE_BYTES = 16_384
"""What one saved env takes in a checkpoint, roughly; only announcements of memory and disk rely on it."""


class HostEngine:
    """See `engines.Engine`."""

    def __init__(self, config: Config, source: EnvSource, packed: bool = True, keeps_rows: bool | None = None) -> None:
        """`packed`: rows are bytes where they can be; without it the same numbers come of four times the memory.

        `keeps_rows`: what is acted on stays on the device to be learned from; None does so where that is an accelerator,
        since a CPU reads a rollout where it lies.
        """
        if config.env.score_cap is not None:
            raise ConfigError(
                f"--score-cap was given, but {config.env.env_id} is stepped outside JAX and ends its episodes itself; leave it out."
            )
        self.config, self.source = config, source
        self.opponents: tuple[Any, ...] = ()
        self.on_pause: Callable[[], None] = nothing
        """Called between two steps of training, when no env is being stepped; it must not change anything."""
        self._player: HostPlayer | None = None
        self._features: np.ndarray | None = None
        self._newest_envs: dict[str, np.ndarray] | None = None
        """Where the envs stand, as it was last told."""
        self._rollout_seconds = 0.0
        wants_bytes = packed and may_pack(config)
        self._envs = EnvSets(config, source, wants_bytes)
        self.spec = self._envs.spec
        self.team = make_team(config, self.spec, wants_bytes and can_pack(self.spec))
        self.hyper = make_hyper(config)
        self._init = jax.jit(functools.partial(init_learners, self.team))
        self._draw = jax.jit(functools.partial(draw_rollout_noise, self.team), static_argnums=1)
        programs = Acting(self.team, jax.tree.structure(self.template().policy))
        self._act, self._greedy = jax.jit(programs.act), jax.jit(programs.act_greedily)
        self._keeps_rows = jax.default_backend() != "cpu" if keeps_rows is None else keeps_rows
        self._act_and_keep = jax.jit(programs.act_and_keep, donate_argnums=4)
        self._says = not (self._keeps_rows or config.env.staleness) and all(g.can_say for g in self.team.groups)
        self._act_in_training = jax.jit(programs.act_and_say) if self._says else self._act
        self._kept: DeviceRows | None = None
        self._value = jax.jit(programs.value)
        self._note_ends = jax.jit(functools.partial(acting.note_ends, self.team))
        self._overlap = Overlap(self.team, config, self.hyper) if config.env.staleness else None
        shares = self._overlap is None and can_share(self.team.groups)
        self._num_sharing = cores.count() if shares else 1
        update = functools.partial(learn, self.team)
        self._update: Callable[..., Any] = (
            cores.on_all(update, 1) if self._num_sharing > 1 else jax.jit(update, donate_argnums=1)
        )

    @property
    def host(self) -> Host:
        """The envs to train on, built on first use."""
        return self._envs.host

    def use_folder(self, folder: Path) -> None:
        """Tell the envs that will be trained on where the run's folder is."""
        self._envs.use_folder(folder, self._episode_seed(0))

    def compile(self) -> None:
        """Run each program once on empty input, so that later calls take the fast path."""
        if (forecast := self._envs.forecast) is not None and forecast.plan.mode != "serial":
            _ = self.host  # serial envs wait for the thread that will step them: they may be bound to it
        state = self._placed(self._init(np.uint32(0)))
        features = self._empty_features(self.config.env.num_envs)
        key, noise = self._draw(state.key, self.team.num_steps)
        shift = slice(self.config.env.num_envs // self._envs.num_shifts)
        leaves, shown = jax.tree.leaves(state.policy), features[shift]
        given = leaves, memories_of(state), shown
        if (kept := self._find_kept()) is None:
            self._act_in_training(*given, [np.asarray(part[0, shift]) for part in noise])
        else:
            *_, kept.rows = self._act_and_keep(*given, noise, kept.rows, kept.place(0, 0))
        if self._keeps_bytes:
            self._value(leaves, memories_of(state), shown)
        if self.team.is_recurrent:
            self._note_ends(memories_of(state), np.zeros(self.team.num_envs, bool))
        # Whether it learns is data: the same program, without the seconds that learning from images takes.
        rollout = make_rollout(self.team, self.spec, next(self._columns), kept)
        said = tuple(map(nothing_said, self.team.groups)) if self._says else None
        remembered = acting.rollout_memory(self.team, acting.memories_at_rest(self.team, self.team.num_envs))
        rollout = replace(rollout, memory=remembered, said=said)
        if self._overlap is None:
            self._update(self.team.algorithm.without_learning(self.hyper), state, key, rollout)
        else:
            self._overlap.compile(state, rollout)

    def _find_kept(self) -> DeviceRows | None:
        """Where the rows of a rollout are kept, if not in the host's memory."""
        if self._keeps_rows and self._kept is None:
            empty = self._empty_features(self.config.env.num_envs)
            self._kept = DeviceRows(jnp.zeros((self.team.num_steps, *empty.shape), empty.dtype))
        return self._kept

    @functools.cached_property
    def _columns(self) -> Iterator[HostColumns]:
        """Two sets in turns: the device may still read the rollout before this one."""
        empty = self._empty_features(self.config.env.num_envs)
        make = functools.partial(
            make_columns, self.team, self.spec, empty, self.team.num_steps, keeps_rows=not self._keeps_rows,
            keeps_values=self._keeps_bytes,
        )  # fmt: skip
        return itertools.cycle((make(), make()))

    @property
    def _keeps_bytes(self) -> bool:
        return self.team.groups[0].packed

    def _empty_features(self, num_envs: int) -> np.ndarray:
        size = max(max(group.own_size, group.row_size) for group in self.team.groups)
        return np.zeros((num_envs, self.spec.num_agents, size), np.uint8 if self._keeps_bytes else np.float32)

    @property
    def chunk_grain(self) -> int:
        return 1 if self._overlap is None else GRAIN

    def init(self) -> TrainState:
        state = self._init(np.uint32(self.config.run.seed))
        if self._envs.can_save:  # then where the envs stand is part of the state, from the first moment on
            self._features = np.array(self.host.reset(self._episode_seed(0)))
        return self._with_envs(state)

    def template(self) -> TrainState:
        state = jax.eval_shape(self._init, np.uint32(0))
        if not self._envs.can_save:
            return state
        size = STATE_BYTES * self.config.env.num_envs + self._empty_features(self.config.env.num_envs).nbytes
        saved = {"saved": np.zeros(size, np.uint8)}
        return eqx.tree_at(lambda s: s.env_state, state, saved, is_leaf=lambda x: x is None)

    @property
    def chunk_factor(self) -> float:
        return SAVING_FACTOR if self._envs.can_save else 1.0

    def _with_envs(self, state: TrainState) -> TrainState:
        """The state with where the envs stand, of kinds that can be saved: a resume then goes on bit for bit."""
        if not self._envs.can_save:
            return state
        saved = np.frombuffer(safetensors.save(self.host.save()), np.uint8)
        self._newest_envs = {"saved": saved}
        return replace(state, env_state=self._newest_envs)

    def _take_up(self, state: TrainState) -> TrainState:
        """The state without its envs; the host has those now, also where the run went back or was resumed."""
        if state.env_state is not None and state.env_state is not self._newest_envs:
            saved = safetensors.load(np.asarray(state.env_state["saved"]).tobytes())
            self._features = np.array(self.host.load(saved))
        return self._placed(replace(state, env_state=None))

    def _placed(self, state: TrainState) -> TrainState:
        """Where an update leaves it, so that what acts is compiled only once."""
        return cores.on_first(state) if self._num_sharing > 1 else state

    def use(self, config: Config) -> None:
        self.hyper = make_hyper(config)
        if self._overlap is not None:
            self._overlap.hyper = self.hyper

    def run_chunk(self, state: TrainState, num_updates: int) -> tuple[TrainState, Rows]:
        self._rollout_seconds = 0.0
        run = self._run_in_step if self._overlap is None else functools.partial(self._run_overlapped, self._overlap)
        state, rows = run(self._take_up(state), num_updates)
        return self._with_envs(state), {name: np.asarray([row[name] for row in rows], np.float32) for name in rows[0]}

    def _run_in_step(self, state: TrainState, num_updates: int) -> tuple[TrainState, list[Metrics]]:
        rows = []
        for _ in range(num_updates):
            jax.block_until_ready(state.learners)  # else the rollout's time would be that of learning too
            state, key, rollout = self._collect(state)
            state, metrics = self._update(self.hyper, state, key, rollout)
            rows.append(metrics)
        return state, rows

    def _run_overlapped(
        self, overlap: Overlap, state: TrainState, num_updates: int
    ) -> tuple[TrainState, list[Metrics]]:
        """See `engines.overlapping`."""
        rows, first = [], int(state.update)
        acted, (state, key, rollout) = state.policy, self._collect(state)
        for i in range(num_updates):
            state, is_last = eqx.tree_at(lambda s: s.key, state, key), i == num_updates - 1
            overlap.begin(state, rollout, acted)
            if goes_ahead := not is_in_step(first + i, is_last):
                acted, (_, key, rollout) = state.policy, self._collect(state, overlap.go_on)
            state, metrics = overlap.end(state)
            rows.append(metrics)
            if not goes_ahead and not is_last:
                acted, (state, key, rollout) = state.policy, self._collect(state)
        return state, rows

    def _collect(
        self, state: TrainState, meanwhile: Callable[[], None] = nothing
    ) -> tuple[TrainState, PRNGKeyArray, Rollout]:
        """The Rollout Phase: the state that acted, the key to go on with, and the rollout."""
        host, start = self.host, time.perf_counter()
        if self._features is None:
            self._features = np.array(host.reset(self._episode_seed(int(state.update))))
            state = teams.cut_episodes(self.team, state)  # those that a kill cut off do not go on in the new ones
        key, noise = self._draw(state.key, self.team.num_steps)
        choosers, shifts = self._make_shifts(host, state, noise)
        columns = next(self._columns)
        rollout = collect_host(shifts, self.team, self._features, columns, self._find_kept(), meanwhile, self.on_pause)
        remembered = acting.rollout_memory(self.team, memories_of(state))
        rollout = replace(rollout, memory=remembered, said=join_said(choosers))
        self._features, state = columns.rows[-1], choosers[0].remember(self.team, state, rollout)
        self._rollout_seconds += time.perf_counter() - start
        return state, key, rollout

    def _make_shifts(
        self, host: Host, state: TrainState, noise: Sequence[Array]
    ) -> tuple[list[ActionChooser], list[Shift]]:
        """One of all envs, unless they are cut into several; policies that remember have one."""
        parts = zip(host.parts, host.rows, strict=True) if isinstance(host, Shifts) else [(host, slice(None))]
        choosers, shifts, kept = [], [], self._find_kept()
        drawn: Any = noise if kept else [np.asarray(part) for part in noise]
        for part, rows in parts:
            own = drawn if kept else [x[:, rows] for x in drawn]
            choose = ActionChooser(
                self._act_and_keep if kept else self._act_in_training, self._value, state, own, kept, rows.start or 0
            )
            value = choose.value_of if self._keeps_bytes else None
            note = functools.partial(choose.note_ends, self._note_ends) if self.team.is_recurrent else None
            choosers.append(choose)
            shifts.append(Shift(part, choose, value, note, rows))
        return choosers, shifts

    def _episode_seed(self, update: int) -> int:
        """Seed of the envs: the run's own at the start, another one where a resumed run restarts its episodes."""
        return (self.config.run.seed + 1_000_003 * update) % 2**31

    def rollout_share(self, state: TrainState, num_updates: int, seconds: float) -> float:
        return min(1.0, self._rollout_seconds / seconds)

    def play(self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool) -> Episodes:
        """With envs of its own, so that training episodes go on undisturbed."""
        return self._find_player(episodes).play(policies, seed, episodes, deterministic)

    def record_actions(
        self, policies: tuple[Policy, ...], seed: int, episodes: int, deterministic: bool, num_recorded: int
    ) -> list[np.ndarray]:
        """What was done in the first `num_recorded` of the episodes that `play` plays with these arguments, each [L, A, ...]."""
        return self._find_player(episodes).record_actions(policies, seed, deterministic, num_recorded)

    def _find_player(self, episodes: int) -> HostPlayer:
        if self._player is None:
            self._player = HostPlayer(self._envs.make_eval_host(episodes), self.team, self._act, self._greedy)
        return self._player

    def memory_mb(self) -> dict[str, float]:
        # Two sets of columns and the batch; what steps led to is kept too where rows are numbers. Each core has its own batch.
        copies = (3 if self._keeps_bytes else 5) + self._num_sharing - 1
        learner = fit.learner_mb(self.team, self.template(), row_copies=copies)
        return self._envs.memory_mb() | learner | {"network": learner["network"] * self._num_sharing}

    def screens(self, limit: int) -> np.ndarray | None:
        """See `hosts.base.ShowsScreens`: of the envs that are trained on."""
        built = self._envs.built
        return built.screens(limit) if isinstance(built, ShowsScreens) else None

    def notices(self) -> list[str]:
        played = [] if self._player is None else self._player.host.notices()
        return [*self._envs.take_notices(), *(f"{EVALUATION}{notice}" for notice in played)]

    def close(self) -> None:
        self._envs.close()
        if self._player is not None:
            self._player.host.close()


def init_learners(team: Team, seed: Array) -> TrainState:
    return teams.init(team, jax.random.split(make_key(seed))[0])


def draw_rollout_noise(team: Team, key: PRNGKeyArray, num_steps: int) -> tuple[PRNGKeyArray, tuple[Array, ...]]:
    """The action noise of one rollout, and the key to go on with."""
    key, noise_key = jax.random.split(key)
    return key, acting.draw_noise(team, noise_key, (num_steps, team.num_envs))


def learn(team: Team, hyper: Any, state: TrainState, key: PRNGKeyArray, rollout: Rollout) -> tuple[TrainState, Metrics]:
    """The Learning Phase on what a host collected."""
    state = eqx.tree_at(lambda s: s.key, state, key)
    state, metrics = teams.update(team, hyper, state, rollout)
    assert rollout.ends is not None  # `collect_host` tells them
    return state, summarize_episodes(rollout.ends, team.names, rollout.truncated, rollout.games) | metrics
