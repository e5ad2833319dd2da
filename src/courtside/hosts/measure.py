"""What one env costs, measured: time of a step, gain from threads, memory. Runs in a process of its own. No JAX here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from courtside.errors import EnvContractError, describe_error
from courtside.hosts.calls import FAILURES, calling
from courtside.hosts.facts import EnvFacts
from courtside.machine import own_share_mb, resident_mb
from courtside.settings.kinds import EnvSource, find_kind

STEP_BUDGET = 0.06
"""Seconds spent on stepping one env."""
THREAD_BUDGET = 0.02
"""Seconds spent on stepping each of two envs, once in a row and once in two threads."""
THREAD_ROUNDS, ROUNDS_BUDGET = 3, 0.2
"""How often that is done, unless it took so many seconds before."""
CHEAP_STEP = 30e-6
"""Seconds of a step below which handing it to a thread cannot pay off, so that is not tried."""
SLOW_STEP = 0.5
"""Seconds of a step above which trying threads would take too long."""


@dataclass(frozen=True)
class Measured:
    """What was found; times in seconds, memory in MB."""

    facts: EnvFacts
    step_seconds: float
    thread_gain: float
    """How much faster two threads step two envs than one thread does: 1 no gain, 2 all of it."""
    base_mb: float
    """A worker before it has loaded the env's code."""
    first_env_mb: float
    """What the first env adds, code included."""
    next_env_mb: float
    """What each further env adds."""

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Measured:
        return cls(**{**record, "facts": EnvFacts.from_json(record["facts"])})


def measure_env(source: EnvSource, with_speed: bool, say_alive: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Build two envs and step them with random actions, a few times or until the speed is known; the result as JSON data."""
    base = own_share_mb(os.getpid())
    before = resident_mb()
    kind = calling(source)
    one = kind.build_env(source)
    facts = kind.describe_env(source.id, one)
    step_seconds = _time_steps(source, one, STEP_BUDGET if with_speed else 0.0)
    say_alive()
    after_one = resident_mb()
    two = kind.build_env(source)
    _time_steps(source, two, 0.0)
    say_alive()
    after_two = resident_mb()
    worth_trying = with_speed and not find_kind(source.kind).holds_lock and CHEAP_STEP < step_seconds < SLOW_STEP
    gain = _thread_gain(source, one, two) if worth_trying else 1.0
    one.close()
    two.close()
    memory = {"base_mb": base, "first_env_mb": after_one - before, "next_env_mb": max(0.0, after_two - after_one)}
    return {**asdict(Measured(facts, step_seconds, gain, **memory)), "facts": facts.to_json()}


def _time_steps(source: EnvSource, env: Any, budget: float) -> float:
    """Seconds of one step, resets included, over 3 steps at least unless they are very slow."""
    call, count = "reset", 0
    try:
        step = calling(source).play_randomly(env)
        env.reset(seed=0)
        started = time.perf_counter()
        while (passed := time.perf_counter() - started) < budget or (count < 3 and passed < 1.0):
            call = "step"
            has_ended = step(count)
            count += 1
            if has_ended:
                call = "reset"
                env.reset()
        return passed / count
    except FAILURES as error:
        raise EnvContractError(
            f"{source.id}, env 0, step {count + 1}, before training: {call}() raised {describe_error(error)}. Mend the env first."
        ) from error


def _thread_gain(source: EnvSource, one: Any, two: Any) -> float:
    """The same steps, first in a row, then side by side. The quickest rounds count: whatever else the machine does only
    makes a round slower."""
    in_a_row, side_by_side = [], []
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        while len(in_a_row) < THREAD_ROUNDS and (not in_a_row or time.perf_counter() - started < ROUNDS_BUDGET):
            in_a_row.append(sum(_time_steps(source, env, THREAD_BUDGET) for env in (one, two)))
            side_by_side.append(sum(pool.map(lambda env: _time_steps(source, env, THREAD_BUDGET), (one, two))))
    return 2 * min(in_a_row) / min(side_by_side)
