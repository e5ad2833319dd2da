"""What `--insure` is worth: a set-up that forgets, with and without it, over many seeds.

    python bench/insurance.py --seeds 16

CartPole with a clip of 10 and a learning rate of 1e-2 that never falls: it learns quickly, holds for a while and then
loses it. A seed counts as kept when its final evaluation is within 5% of the best evaluation that it ever had, undone
ones included. Prints a line per run, and the share of seeds kept without and with insurance.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from safetensors import numpy as safetensors

import courtside
from courtside.runs import checkpoint, runlog

FORGETFUL = {"learning_rate": "1e-2", "anneal_lr": False, "clip_coef": "10", "total_timesteps": 500_000}
WITHIN = 0.95


def final_and_best(run_dir: Path) -> tuple[float, float]:
    """The last evaluation, and the best of all times: the state remembers it, also where its row was undone."""
    final = runlog.read_rows(run_dir, runlog.EVALS)[-1]["eval/episodic_return"]
    newest = checkpoint.find_checkpoints(run_dir / checkpoint.FOLDER)[0]
    return final, float(safetensors.load(newest.read_bytes())["best_score"])


def describe_insurance(run_dir: Path) -> str:
    path = run_dir / "insurance.json"
    if not path.exists():
        return ""
    record = json.loads(path.read_text())
    won = ", ".join(fall["won"] for fall in record["falls"]) or "nothing to do"
    return f", {record['rewinds']} rewinds ({won}), {record['extra_steps']:,} extra steps"


def run_seed(seed: int, insure: bool, runs_dir: str) -> bool:
    """One run; whether it kept what it had."""
    start = time.perf_counter()
    settings = FORGETFUL | {"seed": seed, "insure": insure, "runs_dir": runs_dir, "tensorboard": False}
    run_dir = courtside.train("cartpole", **settings).run_dir
    final, best = final_and_best(run_dir)
    kept = final >= WITHIN * best
    print(
        f"{'insured' if insure else 'plain'} seed {seed}: best {best:.0f}, final {final:.0f}, "
        f"{'kept' if kept else 'LOST'}{describe_insurance(run_dir)}, {time.perf_counter() - start:.0f} s",
        flush=True,
    )
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first-seed", type=int, default=1)
    args = parser.parse_args()
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    with tempfile.TemporaryDirectory() as runs_dir:
        for insure in (False, True):
            kept = sum(run_seed(seed, insure, runs_dir) for seed in seeds)
            word = "with" if insure else "without"
            print(f"{word} insurance: {kept} of {args.seeds} seeds end within 5% of their best", flush=True)


if __name__ == "__main__":
    main()
