"""What the Atari scripts share: the game and the zoo's settings, random walks, the machine's load and the one-line report.

A step is four frames of the game. Only NumPy and the standard library are imported here, so the module loads under any
interpreter that has an Atari package.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import harness
import numpy as np

GAME, GYM_ID = "breakout", "BreakoutNoFrameskip-v4"
NUM_ACTIONS = 4
FRAME_SKIP, STACK = 4, 4
PLANNED_STEPS = 10_000_000
LEARNING_RATE, CLIP = 2.5e-4, 0.1
"""Both fall linearly to 0 at the planned end."""
ENTROPY_COEF, VALUE_COEF = 0.01, 0.5
WARMUP_STEPS = 100
"""Random steps of each env before the first window: by then lives and whole games end at different moments."""
PACKAGES = (
    "ale-py", "envpool", "gymnasium", "jax", "numpy", "opencv-python-headless", "stable-baselines3", "torch",
)  # fmt: skip


def make_parser(doc: str) -> argparse.ArgumentParser:
    """The flags every Atari script takes; `doc` is the script's docstring."""
    parser = harness.make_parser(doc)
    parser.set_defaults(num_envs=8)
    return parser


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def walk(args: argparse.Namespace, step: Callable[[np.ndarray], object]) -> list[float]:
    """Env steps per second of each window; `step` takes one random action for each env, int64 [B]."""
    drawn = np.random.default_rng(args.seed)
    for _ in range(WARMUP_STEPS):
        step(drawn.integers(NUM_ACTIONS, size=args.num_envs))
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    clock.tick(time.perf_counter())
    while not clock.done:
        for actions in drawn.integers(NUM_ACTIONS, size=(args.num_steps, args.num_envs)):
            step(actions)
        clock.tick(time.perf_counter())
    return clock.rates


class Load:
    """What the cores do beside this process and its workers, from the moment this is made."""

    def __init__(self) -> None:
        self._busy, self._own, self._start = harness.machine_seconds(), own_seconds(), time.perf_counter()

    def elsewhere(self) -> float:
        """Cores used by others meanwhile."""
        others = harness.machine_seconds() - self._busy - (own_seconds() - self._own)
        return max(0.0, others / (time.perf_counter() - self._start))


def own_seconds() -> float:
    """Seconds of work of this process, of its workers, and of those that have ended; 0 where /proc does not tell."""
    ticks, parents = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # ended meanwhile
            continue
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    return sum(ticks[pid] for pid in family(os.getpid(), parents)) / os.sysconf("SC_CLK_TCK") if ticks else 0.0


def family(root: int, parents: dict[int, int]) -> list[int]:
    """A process and all that it started, directly or not; `parents` tells every process's parent."""
    found = [root]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def report(args: argparse.Namespace, *, system: str, rates: list[float], load: Load, threads: int) -> None:
    """Print the one JSON line that the bench reads."""
    speed = statistics.median(rates)
    record = {
        "system": system,
        "num_envs": args.num_envs,
        "num_steps": args.num_steps,
        "steps_per_s": round(speed, 1),
        "frames_per_s": round(speed * FRAME_SKIP, 1),
        "all": [round(rate, 1) for rate in rates],
        "threads": threads,
        "cores_used_elsewhere": round(load.elsewhere(), 2),
        "versions": harness.package_versions(*PACKAGES),
    }
    print(json.dumps(record), flush=True)
