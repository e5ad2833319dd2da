"""Does a preset hold for every seed, and after how many steps and seconds?

    python bench/preset_seeds.py --preset redblue --seeds 16
    python bench/preset_seeds.py --preset redblue-pair --seeds 128 --vmapped

Runs one seed after the other as `courtside train` does, run folder and all, in one process: the first one compiles with an
empty cache, the others find its program there. `--vmapped` trains all seeds in one program instead, for a GPU; there a single seed has
no wall time of its own. Exits with status 1 when fewer than 15 of 16 seeds pass (`--require` sets another number).
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import population
from courtside.health.verdict import Verdict, VerdictTracker
from courtside.runs.events import Compiled, Evaluated, Event, Progress
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset


class PassClock:
    """A view of a run that notes how long it took from the start until all thresholds held for the first time."""

    def __init__(self, config: Config) -> None:
        self._tracker, self._start = VerdictTracker(config.thresholds), time.perf_counter()
        self.compile_s, self.episodes = 0.0, 0
        self.seconds: float | None = None

    def on(self, event: Event) -> None:
        if isinstance(event, Compiled):
            self.compile_s = event.seconds
        if isinstance(event, Progress):
            if self.seconds is None:
                self.episodes += int(sum(row["charts/episodes"] for row in event.rows))
            self._judge(event.rows)
        elif isinstance(event, Evaluated):
            self._judge([{"step": event.step, "update": event.update, **event.metrics}])

    def _judge(self, rows: list[dict[str, Any]]) -> None:
        self._tracker.add(rows)
        if self.seconds is None and self._tracker.verdict().steps_to_pass is not None:
            self.seconds = time.perf_counter() - self._start


def one_after_the_other(config: Config, seeds: range) -> list[dict[str, Any]]:
    import courtside

    records = []
    with tempfile.TemporaryDirectory() as runs_dir:
        os.environ["COURTSIDE_CACHE_DIR"] = f"{runs_dir}/programs"
        for seed in seeds:
            clock, start = PassClock(config), time.perf_counter()
            result = courtside.train(config, view=clock, seed=seed, runs_dir=runs_dir)
            times = {
                "seconds_to_pass": clock.seconds,
                "episodes_to_pass": None if clock.seconds is None else clock.episodes,
                "seconds": time.perf_counter() - start,
                "compile_s": clock.compile_s,
            }
            records.append(make_record(seed, result.verdict) | times)
            print(row(records[-1]), flush=True)
    return records


def all_at_once(config: Config, seeds: range) -> list[dict[str, Any]]:
    trained = population.train_all(config, seeds)
    steps = len(seeds) * config.num_updates * config.batch_size
    print(f"{trained.seconds:.1f} s with compiling, ", end="")
    print(f"{steps / trained.seconds:,.0f} steps/s over all seeds", flush=True)
    verdicts = population.judge(config, trained)
    records = [make_record(seed, verdict) for seed, verdict in zip(seeds, verdicts, strict=True)]
    print(*map(row, records), sep="\n")
    return records


def make_record(seed: int, verdict: Verdict | None) -> dict[str, Any]:
    if verdict is None:
        raise SystemExit(f"The run of seed {seed} has no verdict: it was stopped, or its preset has no thresholds.")
    return {
        "seed": seed,
        "passed": verdict.passed,
        "steps_to_pass": verdict.steps_to_pass,
        "updates_to_pass": verdict.updates_to_pass,
        "values": {result.metric: result.value for result in verdict.results},
        "failed": [result.metric for result in verdict.results if not result.passed],
    }


def row(record: dict[str, Any]) -> str:
    """One seed as a row of the table."""
    values = ", ".join(f"{_number(value, '.3f')}" for value in record["values"].values())
    cells = (
        str(record["seed"]),
        "pass" if record["passed"] else f"FAIL: {', '.join(record['failed'])}",
        _number(record["steps_to_pass"], ",.0f"),
        _number(record["updates_to_pass"], ",.0f"),
        _number(record.get("seconds_to_pass"), ".1f"),
        _number(record.get("seconds"), ".1f"),
        values,
    )
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def summary(preset: str, records: list[dict[str, Any]]) -> str:
    """Medians and worst; a seed that never passed counts as infinitely slow."""
    passed = sum(record["passed"] for record in records)
    parts = [f"{preset}: {passed} of {len(records)} seeds pass"]
    whole, tenths = ",.0f", ".1f"
    forms = {"steps_to_pass": whole, "updates_to_pass": whole, "episodes_to_pass": whole}
    forms |= {"seconds_to_pass": tenths, "seconds": tenths}
    for name, form in forms.items():
        if name not in records[0]:
            continue
        found = [float("inf") if record[name] is None else record[name] for record in records]
        words = name.replace("_", " ")
        parts.append(f"{words}: median {format(statistics.median(found), form)}, worst {format(max(found), form)}")
    return "; ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="redblue")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--vmapped", action="store_true", help="all seeds in one program")
    parser.add_argument("--total-timesteps", type=int, help="another length than the preset's")
    parser.add_argument("--require", type=int, help="seeds that must pass; 15 of 16 unless told")
    parser.add_argument("--out", type=Path, help="write the records here")
    args = parser.parse_args()
    config = find_preset(args.preset)
    if args.total_timesteps:
        config = override(config, total_timesteps=args.total_timesteps)
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    metrics = ", ".join(threshold.metric.rpartition("/")[2] for threshold in config.thresholds)
    print(
        f"| seed | verdict | steps to the pass | updates | seconds to the pass | seconds | {metrics} |\n"
        + "|---" * 7
        + "|"
    )
    records = all_at_once(config, seeds) if args.vmapped else one_after_the_other(config, seeds)
    print(f"\n{summary(args.preset, records)}")
    if args.out:
        args.out.write_text(json.dumps({"preset": args.preset, "seeds": records}, indent=1))
    require = args.seeds * 15 // 16 if args.require is None else args.require
    sys.exit(sum(record["passed"] for record in records) < require)


if __name__ == "__main__":
    main()
