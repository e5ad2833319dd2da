"""CleanRL's ppo.py on CartPole-v1: full training steps per second, its own file run as it is.

    python cleanrl_loop.py --cleanrl-dir CLEANRL --num-envs 4 --num-steps 128 --threads 1

CLEANRL is a checkout that holds cleanrl/ppo.py; the interpreter needs torch, gymnasium, tyro and tensorboard.
ppo.py runs as a subprocess with a budget it never reaches and is ended after the last window. It prints a
line `SPS: ...` as each update ends; the windows are timed by the arrival of those lines, since the number in
them is a mean from the start. first_update_s counts from the start of that subprocess. Nothing is compiled.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

UNBOUNDED_STEPS = 10**9


def ppo_command(script: Path, num_envs: int, num_steps: int, seed: int) -> list[str]:
    """The command line of CleanRL's ppo.py with the common settings."""
    settings = {
        "env-id": harness.ENV_ID,
        "seed": seed,
        "total-timesteps": UNBOUNDED_STEPS,
        "num-envs": num_envs,
        "num-steps": num_steps,
        "learning-rate": harness.LEARNING_RATE,
        "gamma": harness.GAMMA,
        "gae-lambda": harness.GAE_LAMBDA,
        "num-minibatches": harness.NUM_MINIBATCHES,
        "update-epochs": harness.NUM_EPOCHS,
        "clip-coef": harness.CLIP,
        "ent-coef": harness.ENTROPY_COEF,
        "vf-coef": harness.VALUE_COEF,
        "max-grad-norm": harness.MAX_GRAD_NORM,
    }
    flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
    return [sys.executable, str(script), *flags, "--no-anneal-lr", "--no-cuda"]


def time_updates(command: list[str], threads: int, clock: harness.UpdateClock) -> float:
    """Run `command` until the clock is done; seconds from its start to the end of its first update."""
    env = os.environ | {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": str(threads)}
    first_update_s = None
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            for line in process.stdout:
                if not line.startswith("SPS:"):
                    continue
                now = time.perf_counter()
                first_update_s = first_update_s or now - start
                clock.tick(now)
                if clock.done:
                    return first_update_s
        finally:
            process.terminate()
            process.wait()
        errors.seek(0)
        raise SystemExit(f"ppo.py stopped early, exit {process.returncode}:\n{errors.read()[-2000:]}")


def main() -> None:
    parser = harness.make_parser(__doc__)
    parser.add_argument("--cleanrl-dir", type=Path, required=True, help="holds cleanrl/ppo.py")
    parser.add_argument("--threads", type=int, default=1, help="torch threads (OMP_NUM_THREADS)")
    args = parser.parse_args()

    script = args.cleanrl_dir.resolve() / "cleanrl" / "ppo.py"
    command = ppo_command(script, args.num_envs, args.num_steps, args.seed)
    clock = harness.UpdateClock(args.num_envs * args.num_steps, args.seconds, args.repeats)
    first_update_s = time_updates(command, args.threads, clock)
    harness.report(
        args,
        system="cleanrl",
        version=harness.file_version(script),
        rates=clock.rates,
        compile_s=0.0,
        first_update_s=first_update_s,
        threads=args.threads,
        versions=harness.package_versions("torch", "gymnasium", "numpy", "tensorboard"),
    )


if __name__ == "__main__":
    main()
