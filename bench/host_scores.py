"""Gymnasium envs trained through the host to a stated score, and evaluated from the run folder.

    python bench/host_scores.py

The scores are the usual ones for these envs; settings that differ from the defaults are in GOALS.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import courtside

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts"))

GOALS = {
    "gym:CartPole-v1": (475.0, {"total_timesteps": 300_000, "num_envs": 8, "num_steps": 128, "learning_rate": "1e-3"}),
    "gym:Acrobot-v1": (-100.0, {"total_timesteps": 300_000, "num_envs": 16, "num_steps": 128, "learning_rate": "1e-3"}),
    "gym:Pendulum-v1": (
        -250.0,
        {
            "total_timesteps": 400_000,
            "num_envs": 16,
            "num_steps": 128,
            "learning_rate": "1e-3",
            "gamma": 0.9,
            "update_epochs": 10,
            "num_minibatches": 8,
            "ent_coef": 0,
            "norm_obs": True,
            "norm_reward": True,
        },
    ),
    "dict_env:Signpost": (
        7.5,
        {"total_timesteps": 150_000, "num_envs": 8, "num_steps": 64, "learning_rate": "2e-3", "ent_coef": 0},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="part of an env id")
    args = parser.parse_args()
    missed = 0
    with tempfile.TemporaryDirectory() as runs_dir:
        for env_id, (goal, settings) in GOALS.items():
            if args.only not in env_id:
                continue
            start = time.perf_counter()
            result = courtside.train(env_id=env_id, seed=args.seed, runs_dir=runs_dir, **settings)
            seconds = time.perf_counter() - start
            score = courtside.evaluate(result.run_dir, episodes=50, which="last")
            missed += score.mean < goal
            print(
                f"{env_id}: {score.mean:.1f} ± {score.std:.1f} (goal {goal}) after {result.step:,} steps, {seconds:.0f} s, "
                f"{'reached' if score.mean >= goal else 'MISSED'}",
                flush=True,
            )
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
