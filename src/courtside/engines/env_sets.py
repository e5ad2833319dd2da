"""The envs of a run outside JAX: those that are trained on and those of evaluations, foreseen and then built when needed."""

from __future__ import annotations

import functools
from pathlib import Path

import jax

from courtside.engines import fit
from courtside.errors import EnvContractError
from courtside.hosts.base import Host
from courtside.hosts.env_host import Forecast, foresee, make_host
from courtside.hosts.env_slice import Numbering
from courtside.hosts.shifts import make_shifts
from courtside.settings.config import Config
from courtside.settings.kinds import EnvSource, find_kind
from courtside.types import EnvSpec

EVAL_ENVS = 16
"""That play an evaluation, or as many as are trained on, where that is more."""


class EnvSets:
    """Envs are built when they are first stepped: by then it is known that they fit, and an evaluation builds only its own."""

    def __init__(self, config: Config, source: EnvSource, wants_bytes: bool) -> None:
        """`wants_bytes`: rows are bytes where they can be."""
        self.config, self.source, self._own_source = config, source, source
        self._wants_bytes = wants_bytes
        self.num_shifts = count_shifts(config)
        self._notices = [source.note] if source.note else []
        """What is to be told of the plan, and was not yet."""
        self.built: Host | None = None
        """The envs to train on, once they are there."""
        self._is_closed = False
        self.forecast = self._foresee()

    def _foresee(self) -> Forecast | None:
        """What the envs will be like; None where the one that was tried failed but failures are to be survived."""
        try:
            env, ask = self.config.env, functools.partial(foresee, self.source, packed=self._wants_bytes)
            forecast = ask(env.num_envs // self.num_shifts, env)
            if forecast.plan.mode == "serial" and not env.shifts:  # nobody else steps them: turns would gain nothing
                self.num_shifts, forecast = 1, ask(env.num_envs, env)
        except EnvContractError as error:
            if self.config.env.on_worker_failure != "restart":
                raise
            self._notices.append(f"How much memory the envs take could not be foreseen. {error}")
            return None
        turns = f" So does each of {self.num_shifts} groups of envs, which take turns." if self.num_shifts > 1 else ""
        self._notices.append(forecast.plan.reason + turns)
        return forecast

    @property
    def spec(self) -> EnvSpec:
        return self.host.spec if self.forecast is None else self.forecast.spec

    @property
    def can_save(self) -> bool:
        """Whether where the envs stand can be part of a checkpoint."""
        return self.forecast.can_save if self.forecast else self.host.can_save

    @property
    def host(self) -> Host:
        """The envs to train on, built on first use."""
        if self.built is None:
            self.built = self._make_host()
            if self.forecast is not None:
                self.built.notices()  # why this plan: told before
            if self._is_closed:  # stopped while a thread was building
                self.built.close()
        return self.built

    def _make_host(self) -> Host:
        plan, count = self.forecast and self.forecast.plan, self.config.env.num_envs // self.num_shifts
        make = functools.partial(make_host, self._own_source, count, self.config.env, plan, self._wants_bytes)
        if self.num_shifts == 1:
            return make()
        groups = range(0, self.config.env.num_envs, count)
        return make_shifts([functools.partial(make, numbering=Numbering(first, groups.stop)) for first in groups])

    def use_folder(self, folder: Path, seed: int) -> None:
        """Tell the envs that will be trained on where the run's folder is, and the seed that they begin with."""
        kind = find_kind(self.source.kind)
        self._own_source = kind.for_training(self.source, str(folder.resolve()), seed, self.config.env.num_envs)
        if self.built is not None and self._own_source != self.source:  # built to learn what its envs are like
            self.built.close()
            self.built = None

    def make_eval_host(self, episodes: int) -> Host:
        """Envs of their own, so that training episodes go on undisturbed."""
        num_envs = self._count_eval_envs(episodes)
        if self.built is None and self.forecast is not None:  # else asked when the training envs were built
            fit.check_fits({fit.EVAL_ENVS: self._eval_envs_mb(num_envs)})
        host = make_host(self.source, num_envs, self.config.env, packed=self._wants_bytes, for_evaluation=True)
        host.notices()  # the plan is of interest for the training envs only
        return host

    def _count_eval_envs(self, episodes: int) -> int:
        return min(episodes, max(EVAL_ENVS, self.config.env.num_envs))

    def _eval_envs_mb(self, num_envs: int) -> float:
        return foresee(self.source, num_envs, self.config.env, self._wants_bytes).memory_mb

    def memory_mb(self) -> dict[str, float]:
        """What both sets will take."""
        foreseen = self.forecast.memory_mb * self.num_shifts if self.forecast else self.host.memory_mb()
        if not self.forecast or not self.config.eval_updates:
            return {fit.HOST_ENVS: foreseen}
        num_envs = self._count_eval_envs(self.config.run.eval_episodes)
        return {fit.HOST_ENVS: foreseen, fit.EVAL_ENVS: self._eval_envs_mb(num_envs)}

    def take_notices(self) -> list[str]:
        """What happened since this was asked the last time."""
        told, self._notices = self._notices, []
        return told + (self.built.notices() if self.built is not None else [])

    def close(self) -> None:
        self._is_closed = True
        if self.built is not None:
            self.built.close()


def count_shifts(config: Config) -> int:
    """How many groups of envs take turns: two where an accelerator chooses the actions, unless told."""
    told = config.env.shifts
    if told:
        return told
    can = config.traits.can_overlap and not config.net.lstm_size and config.env.num_envs % 2 == 0
    return 2 if can and jax.default_backend() != "cpu" and config.env.workers in ("auto", "processes") else 1
