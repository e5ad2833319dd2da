"""Does `courtside doctor --prove` name the true remedy? Runs made sick on purpose, each with a known cure.

    python bench/prove_sick_runs.py --seeds 8

For each case: train the sick run, diagnose it, race the remedies from before the trouble, and compare what came first with
what was broken. Prints the findings, the table of the race and a line per case; exits with 1 where a true remedy was not
named first.
"""

import argparse
import sys
import tempfile
import time

import courtside
from courtside.engines import backend
from courtside.experiments import prove
from courtside.settings.presets import find_preset

CASES = {
    "learning rate x 100": ({"learning_rate": "0.1"}, {"learning rate / 10", "learning rate / 30"}),
    "learning rate / 100": ({"learning_rate": "1e-5"}, {"learning rate x 10", "learning rate x 100"}),
    "entropy bonus x 50": ({"ent_coef": "0.5"}, {"entropy bonus / 10", "entropy bonus / 100"}),
    "clip 10 at a high rate": ({"clip_coef": "10", "learning_rate": "1e-2", "anneal_lr": False}, {"clip 0.2"}),
}
"""What is wrong -> the settings that make it so, and the remedies that undo it."""
STEPS = 300_000


def run_case(name: str, seeds: int, runs_dir: str) -> bool:
    """Whether the race puts a true remedy first."""
    settings, cures = CASES[name]
    start = time.perf_counter()
    run = courtside.train("cartpole", **settings, total_timesteps=STEPS, runs_dir=runs_dir, tensorboard=False)
    trained = time.perf_counter()
    proof = prove.prove(run.run_dir, seeds=seeds)
    first = proof.outcomes[0].name if proof.outcomes else "nothing"
    right = first in cures and proof.outcomes[0].helped
    print(f"{name}: {'RIGHT' if right else 'WRONG'}, {first} came first", flush=True)
    print(prove.sentence(proof))
    print(f"  trained in {trained - start:.0f} s, proved in {time.perf_counter() - trained:.0f} s\n", flush=True)
    return right


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", choices=CASES)
    args = parser.parse_args()
    backend.start(find_preset("cartpole"), members=args.seeds)
    with tempfile.TemporaryDirectory() as runs_dir:
        right = [run_case(name, args.seeds, runs_dir) for name in ([args.only] if args.only else CASES)]
    print(f"{sum(right)} of {len(right)} sick runs: the true remedy came first")
    sys.exit(not all(right))


if __name__ == "__main__":
    main()
