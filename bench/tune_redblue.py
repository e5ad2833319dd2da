"""How long does a search for `redblue` take, and does its winner hold on fresh seeds?

    python bench/tune_redblue.py --trials 256 --require 15      # an accelerator: 256 settings x 300k steps, under 5 minutes
    python bench/tune_redblue.py --budget 10m --require 12      # two CPU cores

Runs `courtside tune` as a user would, in a process of its own with an empty compilation cache, so that every compile
counts. The final round has the winner, the preset itself and the best setting that a course student found by a random
search of single runs. Prints the rows for `bench/RESULTS.md`; exits with status 1 when fewer seeds pass than `--require`,
or when it took longer than `--within` seconds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from courtside.health.statistics import wilson_interval

STUDENT = {
    "learning_rate": "3e-4", "gamma": 0.98, "gae_lambda": 0.97, "clip_coef": "0.25", "ent_coef": "0.01", "vf_coef": 0.6,
    "target_kl": 0.02, "num_steps": 128, "num_envs": 8, "num_minibatches": 4, "update_epochs": 3, "clip_vloss": False,
}  # fmt: skip
"""The student's best of a random search over these names, 300k steps and one seed each; the rest as CleanRL has it."""
KEPT = (
    "report.md",
    "best.json",
    "search.json",
    "trials.csv",
    "plots/parallel.png",
    "plots/slices.png",
    "plots/curves.png",
)


def run_search(args: argparse.Namespace, runs_dir: Path) -> tuple[Path, float]:
    """The finished search's folder, and the seconds by the wall clock, Python's own start included."""
    student = runs_dir / "student.json"
    student.write_text(json.dumps(STUDENT))
    size = ["--budget", args.budget] if args.budget else ["--trials", str(args.trials)]
    command = [sys.executable, "-m", "courtside", "tune", args.preset, *size, "--stages", str(args.stages)]
    command += ["--compare", str(student), "--seed", str(args.seed), "--runs-dir", str(runs_dir), *args.flags]
    print(*command[1:], flush=True)
    begun = time.perf_counter()
    subprocess.run(command, check=True, env=os.environ | {"COURTSIDE_CACHE_DIR": str(runs_dir / "programs")})
    return next(path.parent for path in runs_dir.glob("*/search.json")), time.perf_counter() - begun


def describe(search: dict[str, Any], seconds: float) -> list[str]:
    """The figures of the whole search."""
    plan = "; ".join(f"{s['trials']} settings x {s['steps']:,} steps x {s['seeds']} seeds" for s in search["stages"])
    work = sum(s["trials"] * s["steps"] * s["seeds"] for s in search["stages"])
    work += sum(len(row["seeds"]) * row["steps"] for row in search["finals"])
    return [
        f"{search['device']}: {plan}",
        f"{seconds:.0f} s by the wall clock, {work:,} steps, {work / seconds:,.0f} steps/s",
    ]


def line(row: dict[str, Any]) -> str:
    """One row of the final round. A seed that never passed counts as infinitely slow."""
    passed, of = sum(row["passed"]), len(row["passed"])
    low, high = wilson_interval(passed, of)
    steps = statistics.median(float("inf") if step is None else step for step in row["steps_to_pass"])
    settings = ", ".join(f"{name} {value}" for name, value in row["settings"].items())
    cells = (
        row["name"],
        f"{passed} of {of} ({low:.0%} to {high:.0%})",
        f"{steps:,.0f}" if steps < float("inf") else "-",
        f"{row['worst_tenth']:.2f}",
        settings,
    )
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="redblue")
    parser.add_argument("--trials", type=int, default=256, help="settings of the first stage")
    parser.add_argument("--budget", help="a time such as 10m, instead of a number of settings")
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--require", type=int, default=12, help="fresh seeds on which the winner must pass")
    parser.add_argument("--within", type=float, help="seconds that it may take at most")
    parser.add_argument("--out", type=Path, help="copy the report and its pictures here")
    parser.add_argument("flags", nargs="*", help="further flags of `courtside tune`, behind --")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as runs_dir:
        run_dir, seconds = run_search(args, Path(runs_dir))
        search = json.loads((run_dir / "search.json").read_text())
        for name in KEPT if args.out else ():
            if (run_dir / name).exists():
                args.out.mkdir(parents=True, exist_ok=True)
                shutil.copy(run_dir / name, args.out)
    head = "| settings | seeds that pass | median steps to pass | worst tenth | values |"
    print(*describe(search, seconds), "", head, "|---" * 5 + "|", *map(line, search["finals"]), sep="\n")
    passed = next(sum(row["passed"]) for row in search["finals"] if row["name"] == "winner")
    sys.exit(passed < args.require or (args.within is not None and seconds > args.within))


if __name__ == "__main__":
    main()
