"""Does the preset hold for every seed: `courtside train PRESET` over many seeds, each to its verdict.

python bench/cartpole_seeds.py --preset cartpole --seeds 10
"""

import argparse
import statistics
import sys
import tempfile
import time

import courtside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="cartpole")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=1)
    args = parser.parse_args()
    passed, steps, seconds = 0, [], []
    with tempfile.TemporaryDirectory() as runs_dir:
        for seed in range(args.first_seed, args.first_seed + args.seeds):
            start = time.perf_counter()
            result = courtside.train(args.preset, seed=seed, runs_dir=runs_dir)
            seconds.append(time.perf_counter() - start)
            line = result.verdict.results[0]
            passed += result.verdict.passed
            steps.append(result.verdict.steps_to_pass or float("inf"))
            print(
                f"seed {seed}: {'pass' if result.verdict.passed else 'FAIL'}, mean over the window {line.value:.1f}, "
                f"worst stretch {line.worst:.1f}, passed after {steps[-1]:,.0f} steps, {seconds[-1]:.1f} s",
                flush=True,
            )
    print(
        f"{args.preset}: {passed} of {args.seeds} seeds pass; steps to the pass: median {statistics.median(steps):,.0f}, "
        f"worst {max(steps):,.0f}; wall time of a run: median {statistics.median(seconds):.1f} s, worst {max(seconds):.1f} s"
    )
    sys.exit(passed < args.seeds)


if __name__ == "__main__":
    main()
