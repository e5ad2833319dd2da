"""An update that is learned while the next rollout is already being collected: `--staleness 1`.

Envs outside JAX wait while an update is learned, and an accelerator waits while they are stepped. Here both work at once.
The price: every rollout is acted by the policy from before the newest update. PPO's ratio is taken to that policy, the
one that acted, so the update is right, only less on-policy.

The parts are those that the algorithm's own update is made of (`Algorithm.parts`). An accelerator does one thing after the other, and actions must not wait for a whole update. So it is cut into parts, one
for each epoch, and a part is handed over whenever envs have been sent on their way.

After every `GRAIN` updates, and wherever a run pauses, all is in step again: the next rollout is acted by the newest policy,
and nothing is under way that a checkpoint would have to hold. Where that happens depends on the settings alone, so that a
resumed run goes on bit for bit.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from courtside.algos import team as teams
from courtside.algos.algorithm import Parts
from courtside.algos.inputs import cut
from courtside.algos.team import Team
from courtside.engines.rollout import summarize_episodes
from courtside.settings.config import Config
from courtside.types import EpisodeEnd, Metrics, Policy, Rollout, TrainState

GRAIN = 8


class Overlap:
    """Compiled parts of an update, and the update that is under way."""

    def __init__(self, team: Team, config: Config, hyper: Any) -> None:
        assert team.algorithm.parts is not None
        self._num_epochs, self.hyper = team.algorithm.parts.num_epochs(config), hyper
        self._start = jax.jit(functools.partial(start, team))
        self._run_epoch = jax.jit(functools.partial(run_epoch, team), donate_argnums=3)
        self._finish = jax.jit(functools.partial(finish, team))
        self._summarize = jax.jit(functools.partial(_summarize, team.names))
        self._lessons: tuple[Any, ...] = ()
        self._descents: Any = ()
        self._summary: Metrics = {}
        self._epoch = self._num_epochs

    def compile(self, state: TrainState, rollout: Rollout) -> None:
        """Run every part once on empty input."""
        self.begin(state, rollout, state.policy)
        self.go_on()
        self._epoch = self._num_epochs
        self.end(state)

    def begin(self, state: TrainState, rollout: Rollout, behaviour: Any) -> None:
        """Start to learn from a rollout that `behaviour` acted."""
        work = self._start(self.hyper, state, rollout, behaviour)
        self._lessons, self._descents = tuple(zip(*work, strict=True))
        self._summary = self._summarize(rollout.ends, rollout.truncated, rollout.games)
        self._epoch = 0

    def go_on(self) -> None:
        """Hand over the next part, if one is left; the device takes it up when it can."""
        if self._epoch < self._num_epochs:
            epoch = jnp.asarray(self._epoch, jnp.int32)
            self._descents = self._run_epoch(self.hyper, self._lessons, epoch, self._descents)
            self._epoch += 1

    def end(self, state: TrainState) -> tuple[TrainState, Metrics]:
        """The state after all parts."""
        while self._epoch < self._num_epochs:
            self.go_on()
        # Rollouts take turns with two sets of columns, which a CPU reads in place: the next but one overwrites this one's.
        jax.block_until_ready((self._lessons, self._summary))
        work = tuple(zip(self._lessons, self._descents, strict=True))
        self._lessons, self._descents = (), ()
        state, metrics = self._finish(self.hyper, state, work)
        return state, self._summary | metrics


def start(team: Team, hyper: Any, state: TrainState, rollout: Rollout, behaviour: tuple[Policy, ...]) -> Any:
    """The first part, of every group: what the epochs leave alone, and what moves. `behaviour` are the policies that acted."""
    groups = enumerate(zip(team.groups, state.learners, behaviour, strict=True))
    begin = parts_of(team).start
    return tuple(begin(group, hyper, learner, cut(group, rollout, i), acted) for i, (group, learner, acted) in groups)


def run_epoch(team: Team, hyper: Any, lessons: tuple[Any, ...], i: Array, descents: Any) -> Any:
    """Epoch i: what moves, before and after it."""
    groups = zip(team.groups, lessons, descents, strict=True)
    return tuple(parts_of(team).run_epoch(group, hyper, lesson, i, descent) for group, lesson, descent in groups)


def finish(team: Team, hyper: Any, state: TrainState, work: tuple[Any, ...]) -> tuple[TrainState, Metrics]:
    """The last part."""
    ends = (parts_of(team).finish(group, hyper, *parts) for group, parts in zip(team.groups, work, strict=True))
    learners, metrics = zip(*ends, strict=True)
    return replace(state, learners=learners), teams.merge(team, metrics)


def parts_of(team: Team) -> Parts:
    assert team.algorithm.parts is not None  # else the settings were refused
    return team.algorithm.parts


def _summarize(names: tuple[str, ...], ends: EpisodeEnd, truncated: Array, games: EpisodeEnd | None) -> Metrics:
    return summarize_episodes(ends, names, truncated, games)


def is_in_step(update: int, is_last: bool) -> bool:
    """Whether the update with this number, counted from 0, is finished before the next rollout begins."""
    return is_last or (update + 1) % GRAIN == 0
