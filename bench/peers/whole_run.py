"""Measures JAX peers whose whole training run is one compiled function of a key.

Such a peer cannot be timed from update to update, so each window is one whole run, with as many updates as
fill it. One-update training is compiled first, with no compilation cache: it gives the compile time (tracing,
lowering, compiling) and the seconds from process start to a first update done. A longer program is then
compiled for the windows.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
from harness import process_age

Train = Callable[[jax.Array], Any]


@dataclass(frozen=True)
class Measured:
    """What one peer did at one shape."""

    rates: list[float]
    """Environment steps per second, one for each window."""
    compile_s: float
    first_update_s: float


def run_seconds(program: Train, seed: int) -> float:
    """Seconds that one whole run takes, to the last array."""
    key = jax.random.PRNGKey(seed)
    start = time.perf_counter()
    jax.block_until_ready(program(key))
    return time.perf_counter() - start


def compile_train(train: Train) -> Train:
    return jax.jit(train).lower(jax.random.PRNGKey(0)).compile()


def fit_to_window(make_train: Callable[[int], Train], update_s: float, seconds: float) -> tuple[Train, int]:
    """A compiled program whose run lasts about `seconds`, and its number of updates.

    `update_s` from a one-update run counts the initialisation too, so the first guess may fall short:
    then the guess is corrected once.
    """
    num_updates = max(2, math.ceil(seconds / update_s))
    program = compile_train(make_train(num_updates))
    took = run_seconds(program, 0)
    if took >= 0.8 * seconds:
        return program, num_updates
    num_updates = math.ceil(num_updates * seconds / took)
    program = compile_train(make_train(num_updates))
    run_seconds(program, 0)
    return program, num_updates


def measure(
    make_train: Callable[[int], Train], *, steps_per_update: int, seconds: float, repeats: int, seed: int
) -> Measured:
    """Time `make_train(num_updates)`, a peer's own train function, over `repeats` whole runs."""
    jax.config.update("jax_enable_compilation_cache", False)
    start = time.perf_counter()
    single = compile_train(make_train(1))
    compile_s = time.perf_counter() - start
    run_seconds(single, 0)
    first_update_s = process_age()

    program, num_updates = fit_to_window(make_train, run_seconds(single, 0), seconds)
    took = [run_seconds(program, seed + i) for i in range(repeats)]
    return Measured([num_updates * steps_per_update / s for s in took], compile_s, first_update_s)
