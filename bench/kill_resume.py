"""Certified resume: `kill -9` at random moments, resume, compare with the run that was never stopped.

    python bench/kill_resume.py --kills 20
    python bench/kill_resume.py --kills 6 --seeds 4
    python bench/kill_resume.py --kills 10 -- --insure --no-anneal-lr --learning-rate 1e-2 --clip-coef 10

One reference run goes to its end. Then the same command is started again and again, killed one to three times at random
moments (while starting, compiling, training, evaluating or saving), resumed after each kill, and let go to its end. Last
checkpoint (parameters, optimizer, keys, envs, counters), best policy, metrics, evaluations and verdict must be equal byte
for byte. Prints a line per run and exits with 1 on any difference.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json")


def train_command(args: argparse.Namespace, runs_dir: Path) -> list[str]:
    flags = ["--total-timesteps", str(args.total_timesteps), "--checkpoint-seconds", "0.2", "--runs-dir", str(runs_dir)]
    return [
        sys.executable,
        "-m",
        "courtside",
        "train",
        args.preset,
        "--seed",
        "7",
        "--seeds",
        str(args.seeds),
        *flags,
        *args.more,
    ]


def resume_command(run: Path) -> list[str]:
    return [sys.executable, "-m", "courtside", "resume", str(run)]


def only_run(runs_dir: Path) -> Path | None:
    return next((config.parent for config in runs_dir.glob("*/config.json")), None)


def num_updates_done(runs_dir: Path) -> int:
    run = only_run(runs_dir)
    metrics = folders(run)[-1] / "metrics.jsonl" if run else None
    return metrics.read_bytes().count(b"\n") if metrics and metrics.exists() else 0


def folders(run: Path) -> list[Path]:
    """The run itself, or the members of a population."""
    return sorted((run / "members").glob("*")) or [run]


def outcome(run: Path) -> dict[str, bytes]:
    """What must be equal."""
    found = {}
    for folder in folders(run):
        last = max((folder / "checkpoints").glob("*.safetensors"))
        for path in (*(folder / name for name in FILES), last, *folder.glob("insurance.json")):
            found[str(path.relative_to(run))] = path.read_bytes()
    return found


def next_command(args: argparse.Namespace, runs_dir: Path) -> list[str]:
    run = only_run(runs_dir)
    return train_command(args, runs_dir) if run is None else resume_command(run)


def run_until(command: list[str], runs_dir: Path, update: int, delay: float) -> bool:
    """Start, wait until `update` is logged and `delay` seconds more, kill; False where the run ended before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and num_updates_done(runs_dir) < update:
        time.sleep(0.01)
    time.sleep(delay)
    was_running = process.poll() is None
    process.kill()
    process.wait()
    return was_running


def plan_kills(moments: random.Random, num_updates: int, num_kills: int) -> list[tuple[int, float]]:
    """Moments in order: an update that must be logged, and seconds to wait after it; the first may fall into the start."""
    updates = sorted(moments.randrange(num_updates) for _ in range(num_kills))
    plan = [(update, moments.uniform(0.0, 0.4)) for update in updates]
    return [(0, moments.uniform(0.1, 6.0)), *plan[1:]] if moments.random() < 0.25 else plan


def killed_run(args: argparse.Namespace, plan: list[tuple[int, float]], runs_dir: Path) -> list[int]:
    """Go through the kills, then to the end; returns the updates that stood in the log at each kill."""
    seen = []
    for update, delay in plan:
        if run_until(next_command(args, runs_dir), runs_dir, update, delay):
            seen.append(num_updates_done(runs_dir))
    done = subprocess.run(next_command(args, runs_dir), capture_output=True, text=True)
    if done.returncode and "is finished" not in done.stderr:
        sys.exit(f"resume failed: {done.stderr}")
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--preset", default="cartpole")
    parser.add_argument("--total-timesteps", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the kill moments")
    parser.add_argument("--seeds", type=int, default=1, help="members of a population")
    parser.add_argument("more", nargs="*", help="further flags of `courtside train`, behind --")
    args = parser.parse_args()
    moments = random.Random(args.seed)
    num_kills = num_runs = wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        whole = Path(temporary) / "whole"
        subprocess.run(train_command(args, whole), check=True, capture_output=True)
        expected, num_updates = outcome(only_run(whole)), num_updates_done(whole)
        while num_kills < args.kills:
            runs_dir = Path(temporary) / f"run-{num_runs}"
            plan = plan_kills(moments, num_updates, min(moments.randint(1, 3), args.kills - num_kills))
            seen = killed_run(args, plan, runs_dir)
            found = outcome(only_run(runs_dir))
            differ = [name for name in expected if found.get(name) != expected[name]]
            num_kills, num_runs, wrong = num_kills + len(seen), num_runs + 1, wrong + bool(differ)
            word = "equal" if not differ else "DIFFERS in " + ", ".join(differ)
            print(f"run {num_runs}: killed after updates {seen} of {num_updates}: {word}", flush=True)
    print(f"{num_kills} kills in {num_runs} runs; {num_runs - wrong} runs equal the uninterrupted one bit for bit")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
