"""What every peer script shares: the command line, the settings, the clock and the one-line report.

Each script beside this file runs in the *peer's* interpreter, drives the peer's own training loop on
CartPole-v1 and measures full training (rollout + learning) in environment steps per second. The figure is the
median over windows; what comes before the first one (imports, compiling, first update) is reported apart.
Only the standard library is imported here, so the module loads under any interpreter.
"""

import argparse
import json
import os
import platform
import statistics
import time
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

IMPORTED_AT = time.perf_counter()

ENV_ID = "CartPole-v1"
LEARNING_RATE = 2.5e-4
GAMMA = 0.99
GAE_LAMBDA = 0.95
CLIP = 0.2
ENTROPY_COEF = 0.01
VALUE_COEF = 0.5
MAX_GRAD_NORM = 0.5
NUM_EPOCHS = 4
NUM_MINIBATCHES = 4
HIDDEN_SIZES = (64, 64)


def make_parser(doc: str) -> argparse.ArgumentParser:
    """The flags every peer script takes; `doc` is the script's docstring."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, default=4, help="environments stepped side by side")
    parser.add_argument("--num-steps", type=int, default=128, help="steps per environment and update")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of one window, about")
    parser.add_argument("--repeats", type=int, default=3, help="windows; the figure is their median")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def process_age() -> float:
    """Seconds since this process started; since this import where /proc does not tell."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return time.perf_counter() - IMPORTED_AT
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def machine_seconds() -> float:
    """Seconds of work of all cores since the start of the machine, whoever did it; 0 where /proc does not tell."""
    try:
        fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    except OSError:
        return 0.0
    idle, waiting = fields[3], fields[4]
    return (sum(fields) - idle - waiting) / os.sysconf("SC_CLK_TCK")


@dataclass
class UpdateClock:
    """Turns the moments at which updates end into windows of whole updates.

    The first update is warm-up: its end opens the first window.
    """

    steps_per_update: int
    seconds: float
    repeats: int
    rates: list[float] = field(default_factory=list)
    """Steps per second of each full window so far."""
    _opened: float | None = None
    _updates: int = 0

    def tick(self, now: float) -> None:
        """An update ended at `now` (seconds, any origin)."""
        if self._opened is None:
            self._opened = now
            return
        self._updates += 1
        elapsed = now - self._opened
        if elapsed >= self.seconds:
            self.rates.append(self._updates * self.steps_per_update / elapsed)
            self._opened, self._updates = now, 0

    @property
    def done(self) -> bool:
        return len(self.rates) >= self.repeats


def package_versions(*names: str) -> dict[str, str]:
    """Versions of Python and of the packages that are installed."""
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def file_version(path: Path) -> str:
    """A short digest that names the version of a peer that is a single file."""
    return f"{path.name} sha256:{sha256(path.read_bytes()).hexdigest()[:12]}"


def report(
    args: argparse.Namespace,
    *,
    system: str,
    version: str,
    rates: list[float],
    compile_s: float,
    first_update_s: float,
    versions: dict[str, str],
    threads: int | None = None,
) -> None:
    """Print the one JSON line that the caller of a peer script reads."""
    record = {
        "system": system,
        "version": version,
        "num_envs": args.num_envs,
        "num_steps": args.num_steps,
        "steps_per_s": round(statistics.median(rates), 1),
        "all": [round(rate, 1) for rate in rates],
        "compile_s": round(compile_s, 2),
        "first_update_s": round(first_update_s, 2),
        "threads": threads,
        "versions": versions,
    }
    print(json.dumps(record), flush=True)
