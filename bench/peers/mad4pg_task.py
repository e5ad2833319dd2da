"""What the MAD4PG scripts share: the sizes, the command line, the clock and the one-line report.

One update is an actor step, a critic step and a soft target update of both agents, with the sampling of their common
batch. Entries hold n-step returns already, as the original stores them. The numbers in the replay are random: what an
update costs does not depend on them.
Only the standard library is imported here, so the module loads under any interpreter.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable

import harness

NUM_AGENTS = 2
OBS_SIZE = 24
ACTION_SIZE = 2
HIDDEN_SIZES = (350, 250)
NUM_ATOMS = 101
VMIN, VMAX = -0.01, 2.0
BATCH_SIZE = 128
BUFFER_SIZE = 300_000
ROLLOUT = 5
GAMMA = 0.99
TAU = 1e-3
ACTOR_LEARN_RATE, CRITIC_LEARN_RATE = 2.5e-4, 5e-4
L2 = 1e-4
INIT_RANGE = 0.03
DONE_SHARE = 0.05
"""Share of the replay's entries that end an episode."""


def make_parser(doc: str) -> argparse.ArgumentParser:
    """The flags every MAD4PG script takes; `doc` is the script's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one window, about")
    parser.add_argument("--repeats", type=int, default=3, help="windows; the figure is their median")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=0, help="0 tries one and all cores and keeps the faster")


def pick_threads(update: Callable[[], object], set_threads: Callable[[int], None], asked: int) -> int:
    """Set the number of threads: the one asked for, or the faster of one and all cores."""
    speeds = {}
    for threads in (asked,) if asked else (1, os.cpu_count() or 1):
        set_threads(threads)
        speeds[threads] = statistics.median(windows(update, 1, seconds=0.5, repeats=3))
    chosen = max(speeds, key=speeds.__getitem__)
    set_threads(chosen)
    return chosen


def windows(run: Callable[[], object], num_updates: int, seconds: float, repeats: int) -> list[float]:
    """Updates per second of each window; a call of `run` makes `num_updates` updates and waits for them."""
    clock = harness.UpdateClock(num_updates, seconds, repeats)
    while not clock.done:
        run()
        clock.tick(time.perf_counter())
    return clock.rates


def measure_and_report(
    run: Callable[[], object],
    num_updates: int,
    args: argparse.Namespace,
    *,
    system: str,
    threads: int,
    packages: list[str],
) -> None:
    """Time the windows and print the one JSON line that the bench reads."""
    busy, own, start = harness.machine_seconds(), time.process_time(), time.perf_counter()
    rates = windows(run, num_updates, args.seconds, args.repeats)
    elsewhere = harness.machine_seconds() - busy - (time.process_time() - own)
    elapsed = time.perf_counter() - start
    record = {
        "system": system,
        "updates_per_s": round(statistics.median(rates), 1),
        "all": [round(rate, 1) for rate in rates],
        "threads": threads,
        "cores_used_elsewhere": round(max(0.0, elsewhere / elapsed), 2),
        "versions": harness.package_versions(*packages),
    }
    print(json.dumps(record), flush=True)
