"""What `--seeds 16` costs beside one run, and whether its members equal the same seeds run alone.

    python bench/seeds_cost.py redblue --seeds 16 --repeats 3

Trains one run and one population in turn, as `courtside train` does, run folders and all, in one process; medians of the
wall time without compiling, and with it. The first pair is cold (imports, caches, the clock of the machine): one more pair
than `--repeats` is made, and the first is left out of the medians. Then compares the metrics of the first and the last member, row by row, with
those of the same seeds trained alone: byte for byte on a CPU; on a GPU, where members are vmapped, it tells after how many
updates the rows differ and by how much. Needs nothing but the engine.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from courtside.engines import backend
from courtside.experiments import start
from courtside.runs import runlog
from courtside.runs.events import Compiled, Event
from courtside.runs.members import member_dirs
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset


class CompileClock:
    """A view that notes how long compiling took."""

    seconds = 0.0

    def on(self, event: Event) -> None:
        if isinstance(event, Compiled):
            self.seconds = event.seconds


def measure(config: Config) -> tuple[Path, float, float]:
    """Run folder, wall time without compiling, and compile time."""
    clock, begun = CompileClock(), time.perf_counter()
    result = start.train(config, view=clock)
    return result.run_dir, time.perf_counter() - begun - clock.seconds, clock.seconds


def compare(alone: Path, member: Path) -> dict[str, Any]:
    """Where the rows of a member leave those of the run alone, and how far they are apart there and at the end."""
    rows = [runlog.read_rows(folder) for folder in (alone, member)]
    if (alone / runlog.METRICS).read_bytes() == (member / runlog.METRICS).read_bytes():
        return {"equal": True, "rows": len(rows[0])}
    first = next(i for i, (a, b) in enumerate(zip(*rows, strict=True)) if a != b)
    final = [[row["charts/episodic_return"] for row in part[-25:]] for part in rows]
    means = [float(np.nanmean(np.array(values, float))) for values in final]
    return {
        "equal": False,
        "first_difference": first + 1,
        "largest_there": gap(rows[0][first], rows[1][first]),
        "final_returns": means,
    }


def gap(a: dict[str, Any], b: dict[str, Any]) -> float:
    """The largest difference of two rows, relative to the size of the number."""
    pairs = ((a[name], b[name]) for name in a if a[name] is not None and b[name] is not None)
    return max(abs(x - y) / max(abs(x), abs(y), 1e-3) for x, y in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("preset", nargs="?", default="redblue")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--total-timesteps", type=int)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as runs_dir:
        changes = {} if args.total_timesteps is None else {"total_timesteps": args.total_timesteps}
        config = override(find_preset(args.preset), runs_dir=runs_dir, tensorboard=False, **changes)
        backend.start(config, members=args.seeds)
        print(backend.describe_device(), flush=True)
        one, many = [], []
        for i in range(args.repeats + 1):
            one.append(measure(config))
            many.append(measure(override(config, seeds=args.seeds)))
            print(
                f"{'' if i else 'cold: '}one {one[-1][1]:.1f} s (compile {one[-1][2]:.1f}), {args.seeds} seeds {many[-1][1]:.1f} s (compile {many[-1][2]:.1f})",
                flush=True,
            )
        last = measure(override(config, seed=config.run.seed + args.seeds - 1))
        members = member_dirs(many[-1][0])
        compared = {"first": compare(one[-1][0], members[0]), "last": compare(last[0], members[-1])}
        passed = (
            sum(json.loads((folder / runlog.VERDICT).read_text())["passed"] for folder in members)
            if config.thresholds
            else None
        )
    found: dict[str, Any] = {
        "one_s": statistics.median(seconds for _, seconds, _ in one[1:]),
        "many_s": statistics.median(seconds for _, seconds, _ in many[1:]),
        "one_with_compile_s": statistics.median(a + b for _, a, b in one[1:]),
        "many_with_compile_s": statistics.median(a + b for _, a, b in many[1:]),
        "members": compared,
        "passed": passed,
    }
    found["ratio"] = found["many_s"] / found["one_s"]
    found["ratio_with_compile"] = found["many_with_compile_s"] / found["one_with_compile_s"]
    print(json.dumps(found, indent=1))
    if args.out:
        args.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
