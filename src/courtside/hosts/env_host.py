"""Any env outside JAX as a Host: B of them stepped serially, in threads or in worker processes.

`make_host` is the way in and takes the fastest of the three. What differs between Gymnasium, PettingZoo and the like is in
their folders, how envs are called and checked in `env_slice`, who calls them in `crews` and `process_crew`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from courtside.errors import ConfigError
from courtside.hosts.arrays import num_bytes
from courtside.hosts.base import GameEnds, HostStep
from courtside.hosts.crews import Crew, EnvBatch, SerialCrew, ThreadCrew
from courtside.hosts.env_slice import Numbering
from courtside.hosts.facts import EnvFacts
from courtside.hosts.measure import Measured, measure_env
from courtside.hosts.process_crew import ProcessCrew, measure_in_process, processes_work
from courtside.hosts.state_bytes import join_states, split_states
from courtside.machine import MB, num_cores
from courtside.settings.config import EnvConfig
from courtside.settings.kinds import EnvSource, find_kind
from courtside.settings.worlds import outside_jax
from courtside.types import EnvSpec

Mode = Literal["serial", "threads", "processes"]

HANDOVER = {"threads": 40e-6, "processes": 80e-6}
"""Seconds that signalling adds to a step of all envs, measured on a plain 2-core machine ..."""
HANDOVER_PER_WORKER = 15e-6
"""... and for each worker."""
GOOD_THREAD_GAIN = 1.5
"""Gain of two threads over one (at most 2) from which on threads are worth it."""
SAVED = ("features", "absent", "running_return", "running_length", "steps", "seed", "restarts")
"""Shared arrays that are part of where the envs stand; the others tell of a step and are written anew by the next."""


@dataclass(frozen=True)
class Plan:
    """How the envs will be stepped, and why in one sentence."""

    mode: Mode
    num_workers: int
    reason: str
    is_measured: bool = False
    """Whether a measurement led to it."""


@dataclass(frozen=True)
class Forecast:
    """What B envs will be like, known before they are built."""

    spec: EnvSpec
    plan: Plan
    memory_mb: float
    can_save: bool
    """Whether the envs can be saved in the middle of an episode, and go on exactly from there."""


class EnvHost:
    """B envs behind one handle; see `hosts.base.Host`. The arrays of a step are reused by the next."""

    def __init__(self, source: EnvSource, num_envs: int, crew: Crew, plan: Plan) -> None:
        self.spec, self._kind = make_spec(source.id, crew.facts), find_kind(source.kind)
        self.num_envs, self.plan = num_envs, plan
        self._crew, self._is_open, self._notices = crew, True, [plan.reason]
        self._has_sent = False
        a = crew.arrays
        self.absent = a.absent
        self._result = HostStep(
            a.features, a.reward, a.terminated, a.truncated, a.final_features, a.ended, a.episode_return, a.episode_length, a.told,
            GameEnds(a.game_ended, a.game_score, a.game_length) if crew.facts.tells_games else None,
        )  # fmt: skip

    def reset(self, seed: int) -> np.ndarray:
        self._expect(has_sent=False)
        self._crew.arrays.seed[:] = seed + np.arange(self.num_envs)
        self._crew.arrays.restarts[:] = 0
        self._guard(self._crew.reset)
        return self._crew.arrays.features

    def step(self, action: np.ndarray | tuple[np.ndarray, ...]) -> HostStep:
        self.send(action)
        return self.recv()

    def send(self, action: np.ndarray | tuple[np.ndarray, ...]) -> None:
        self._expect(has_sent=False)
        given = action if isinstance(action, tuple) else (action,)
        for array, part in zip(self._crew.arrays.actions, given, strict=True):
            array[...] = part.reshape(array.shape)
        self._guard(self._crew.send)
        self._has_sent = True

    def is_ready(self) -> bool:
        return self._has_sent and self._crew.is_ready()

    def recv(self) -> HostStep:
        self._expect(has_sent=True)
        self._has_sent = False
        self._guard(self._crew.recv)
        return self._result

    @property
    def can_save(self) -> bool:
        return self._crew.facts.can_save

    def save(self) -> dict[str, np.ndarray]:
        """All that is needed to go on exactly from here, in other processes too, where the envs `can_save`."""
        self._expect(has_sent=False)
        envs = join_states(self._guard(self._crew.save))
        arrays = {name: getattr(self._crew.arrays, name).copy() for name in SAVED}
        return {"envs": np.frombuffer(envs, np.uint8), **arrays}

    def load(self, saved: dict[str, np.ndarray]) -> np.ndarray:
        self._expect(has_sent=False)
        states = split_states(saved["envs"].tobytes())
        self._guard(lambda: self._crew.load(states, saved["features"]))
        for name in SAVED:
            getattr(self._crew.arrays, name)[:] = saved[name]
        return self._crew.arrays.features

    def screens(self, limit: int) -> np.ndarray | None:
        """The current pictures of the first envs, uint8 [n, H, W, 3], where envs of this kind have them at hand."""
        self._expect(has_sent=False)
        if not self._kind.shows_screens or not self._is_open:
            return None
        return self._crew.screens(limit)

    def notices(self) -> list[str]:
        """Sentences for the user since the last call; what several envs say alike is said once."""
        notices, self._notices = Counter(self._notices + self._crew.take_notices()), []
        return [text if times == 1 else f"{text} ({times} times)" for text, times in notices.items()]

    def memory_mb(self) -> float:
        return self._crew.memory_mb() if self._is_open else 0.0

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._crew.close()

    def _expect(self, has_sent: bool) -> None:
        """The arrays are the workers' between `send` and `recv`: nothing else may be asked of them then."""
        if self._has_sent != has_sent:
            raise RuntimeError("there is a step to recv first" if self._has_sent else "no step was sent")

    def _guard(self, call: Callable[[], Any]) -> Any:
        """Run a call of the crew; whatever interrupts it leaves workers half way, so the host closes."""
        if not self._is_open:
            raise RuntimeError("this host is closed")
        try:
            return call()
        except BaseException:
            self.close()
            raise


def make_host(
    env: str | EnvSource,
    num_envs: int,
    env_config: EnvConfig,
    plan: Plan | None = None,
    packed: bool = False,
    for_evaluation: bool = False,
    numbering: Numbering | None = None,
) -> EnvHost:
    """B envs, stepped as `env_config` says; `auto` measures one env first and takes the fastest way.

    `packed`: rows are bytes where that can be (`facts.can_pack`). `numbering`: where these are some of a run's envs.
    """
    source = outside_jax(env)
    plan = plan or plan_workers(source, num_envs, env_config)
    if for_evaluation:  # same speed, same memory: there is nothing to measure anew
        source = find_kind(source.kind).for_evaluation(source)
    restart, timeout = env_config.on_worker_failure == "restart", env_config.worker_timeout
    batch = EnvBatch(source, num_envs, restart, timeout, packed, numbering)
    if plan.mode == "serial":
        crew = SerialCrew(batch)
    else:
        crew = (ThreadCrew if plan.mode == "threads" else ProcessCrew)(batch, plan.num_workers)
    return EnvHost(source, num_envs, crew, plan)


def make_spec(env_id: str, facts: EnvFacts) -> EnvSpec:
    return EnvSpec(
        name=env_id, observation=facts.observation, action=facts.action, num_agents=facts.num_agents,
        time_limit=facts.time_limit, agent_names=facts.agent_names, per_agent=facts.per_agent,
        tells_games=facts.tells_games, told_names=facts.told_names, made_of=facts.made_of,
    )  # fmt: skip


def plan_workers(source: EnvSource, num_envs: int, env_config: EnvConfig) -> Plan:
    """Take what the user asked for, or measure and choose."""
    num_workers = min(env_config.num_workers or num_cores(), num_envs)
    can_process = processes_work() and can_be_imported(source)
    mode = env_config.workers
    if mode == "processes" and not can_process:
        raise ConfigError(
            f"--workers processes cannot run {source.id} here: worker processes need Linux or macOS and a class that "
            "can be imported from a module. Use --workers serial or threads."
        )
    if mode == "auto" and env_config.on_worker_failure == "restart" and can_process:
        reason = (
            f"{num_envs} envs run in {num_workers} worker processes, since only a process survives a crash or a hang."
        )
        return Plan("processes", num_workers, reason)
    if mode == "auto":
        return choose(measure(source, True, env_config.worker_timeout), num_envs, num_workers, can_process)
    return Plan(mode, 1 if mode == "serial" else num_workers, f"{num_envs} envs run as asked: {mode}.")


def choose(measured: Measured, num_envs: int, num_workers: int, can_process: bool = True) -> Plan:
    """The way with the shortest time for one step of all envs; the simpler one where it is close."""
    step, most = measured.step_seconds, -(-num_envs // num_workers)
    times: dict[Mode, float] = {"serial": num_envs * step}
    if num_workers > 1 and measured.thread_gain >= GOOD_THREAD_GAIN:
        times["threads"] = most * step * 2 / min(measured.thread_gain, 2.0) + _handover("threads", num_workers)
    if num_workers > 1 and can_process:
        times["processes"] = most * step + _handover("processes", num_workers)
    best: Mode = "serial"
    for mode in times:
        if times[mode] < 0.85 * times[best]:
            best = mode
    others = ", ".join(f"{mode} about {_micro(seconds)}" for mode, seconds in times.items())
    reason = f"One env step takes {_micro(step)}; for {num_envs} envs: {others}. Taken: {best}."
    return Plan(best, 1 if best == "serial" else num_workers, reason, is_measured=True)


def _handover(mode: Mode, num_workers: int) -> float:
    return HANDOVER[mode] + HANDOVER_PER_WORKER * num_workers


def foresee(env: str | EnvSource, num_envs: int, env_config: EnvConfig, packed: bool = False) -> Forecast:
    """Spaces, way of stepping and memory of B envs, told before they are built: one env is built and measured."""
    source = outside_jax(env)
    plan = plan_workers(source, num_envs, env_config)
    one = measure(source, plan.is_measured, env_config.worker_timeout)
    arrays = num_bytes(one.facts.layout(num_envs, packed)) / MB
    if plan.mode == "processes":
        first = plan.num_workers * (one.base_mb + one.first_env_mb)
        memory_mb = arrays + first + (num_envs - plan.num_workers) * one.next_env_mb
    else:
        memory_mb = arrays + one.first_env_mb + (num_envs - 1) * one.next_env_mb
    return Forecast(make_spec(source.id, one.facts), plan, memory_mb, one.facts.can_save)


def estimate_memory_mb(env: str | EnvSource, num_envs: int, env_config: EnvConfig) -> float:
    """Memory that B envs will take, in MB."""
    return foresee(env, num_envs, env_config).memory_mb


def can_be_imported(source: EnvSource) -> bool:
    """Whether another process can build the env too: a class of the script that was started cannot be found there."""
    return "__main__" not in source.name.split(":")


@functools.lru_cache(maxsize=8)
def measure(source: EnvSource, with_speed: bool, timeout: float) -> Measured:
    """Memory and speed of one env; measured once per run, in a process of its own where that can be."""
    if processes_work() and can_be_imported(source):
        return measure_in_process(source, with_speed, timeout)
    return Measured.from_json(measure_env(source, with_speed))


def _micro(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs" if seconds < 1e-3 else f"{seconds * 1e3:.1f} ms"
