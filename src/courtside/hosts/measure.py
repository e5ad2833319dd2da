"""What one env costs, measured: time of a step, gain from threads, memory. Runs in a process of its own. No JAX here."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass
from typing import Any

from courtside.errors import EnvContractError
from courtside.hosts.gym_make import EnvFacts, build_env, describe_env, describe_error
from courtside.hosts.memory import resident_mb

STEP_BUDGET = 0.06
"""Seconds spent on stepping one env."""
THREAD_BUDGET = 0.08
"""Seconds spent on stepping two envs in two threads."""
CHEAP_STEP = 30e-6
"""Seconds of a step below which handing it to a thread cannot pay off, so that is not tried."""


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


def measure_env(env_id: str) -> dict[str, Any]:
    """Build two envs, step them a little with random actions; the result as JSON data."""
    base = resident_mb()
    one = build_env(env_id)
    facts = describe_env(env_id, one)
    try:
        step_seconds = _time_steps(one, STEP_BUDGET)
        after_one = resident_mb()
        two = build_env(env_id)
        _time_steps(two, 0.0)
        after_two = resident_mb()
        gain = _thread_gain(one, two, step_seconds) if step_seconds > CHEAP_STEP else 1.0
        one.close()
        two.close()
    except EnvContractError:
        raise
    except Exception as error:
        raise EnvContractError(f"{env_id} failed while its speed was measured: {describe_error(error)}.") from error
    memory = {"base_mb": base, "first_env_mb": after_one - base, "next_env_mb": max(0.0, after_two - after_one)}
    found = Measured(facts, step_seconds, gain, **memory)
    return {**asdict(found), "facts": facts.to_json()}


def _time_steps(env: Any, budget: float) -> float:
    """Seconds of one step, resets included, over at least 3 steps."""
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(32)]
    env.reset(seed=0)
    started, count = time.perf_counter(), 0
    while count < 3 or time.perf_counter() - started < budget:
        _, _, terminated, truncated, _ = env.step(actions[count % 32])
        count += 1
        if terminated or truncated:
            env.reset()
    return (time.perf_counter() - started) / count


def _thread_gain(one: Any, two: Any, step_seconds: float) -> float:
    """The same steps, first in a row, then side by side."""
    budget = max(THREAD_BUDGET / 4, 3 * step_seconds)
    in_a_row = (_time_steps(one, budget) + _time_steps(two, budget)) / 2
    found: list[float] = []
    threads = [threading.Thread(target=lambda e=env: found.append(_time_steps(e, budget))) for env in (one, two)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return 2 * in_a_row / (sum(found) / 2) / 1.0 if len(found) == 2 else 1.0
