"""Certified resume: `kill -9` at random moments, resume each time, compare with the run that was never stopped.

    python bench/kill_resume.py --kills 20

One reference run goes to its end. Then, again and again, the same command is started, killed at a random moment (while
importing, compiling, training, evaluating or saving), and resumed until it ends. Final checkpoint, best policy, metrics and
evaluations must be equal byte for byte. Prints a line per kill and exits with 1 on any difference.
"""

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ("metrics.jsonl", "evals.jsonl", "best/best.safetensors", "verdict.json")


def command(verb: str, *args: str) -> list[str]:
    return [sys.executable, "-m", "courtside", verb, *args]


def train_command(args: argparse.Namespace, runs_dir: Path) -> list[str]:
    flags = ["--total-timesteps", str(args.total_timesteps), "--checkpoint-seconds", "0.3", "--runs-dir", str(runs_dir)]
    return command("train", args.preset, "--seed", "7", *flags)


def only_run(runs_dir: Path) -> Path | None:
    found = [folder for folder in runs_dir.glob("*") if (folder / "config.json").exists()]
    return found[0] if found else None


def outcome(run: Path) -> dict[str, bytes]:
    """What must be equal: the last checkpoint (parameters, optimizer, envs, keys) and everything that was logged."""
    last = max((run / "checkpoints").glob("*.safetensors"))
    return {name: (run / name).read_bytes() for name in FILES} | {last.name: last.read_bytes()}


def kill_after(process: subprocess.Popen, seconds: float) -> bool:
    """Kill without warning after `seconds`; False where the process had ended by itself."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return True
    return False


def killed_run(args: argparse.Namespace, seconds: float, folder: Path) -> tuple[Path, str]:
    """Start, kill, resume to the end; returns the run folder and what stood on disk at the kill."""
    process = subprocess.Popen(train_command(args, folder), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    was_killed = kill_after(process, seconds)
    run = only_run(folder)
    if run is None:
        subprocess.run(train_command(args, folder), check=True, capture_output=True)
        return only_run(folder), "before the run folder was there"
    if not was_killed:
        return run, "after its end"
    saved = sorted((run / "checkpoints").glob("*.safetensors"))
    when = f"at {saved[-1].stem}" if saved else "before its first checkpoint"
    resumed = subprocess.run(command("resume", str(run)), capture_output=True, text=True)
    if resumed.returncode and "is finished" not in resumed.stderr:
        sys.exit(f"resume failed: {resumed.stderr}")
    return run, when


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--preset", default="cartpole")
    parser.add_argument("--total-timesteps", type=int, default=300_000)
    parser.add_argument("--seed", type=int, default=0, help="seed of the kill moments")
    args = parser.parse_args()
    moments = random.Random(args.seed)
    with tempfile.TemporaryDirectory() as temporary:
        start = time.perf_counter()
        subprocess.run(train_command(args, Path(temporary) / "whole"), check=True, capture_output=True)
        subprocess.run(train_command(args, Path(temporary) / "again"), check=True, capture_output=True)
        length = (time.perf_counter() - start) / 2
        expected = outcome(only_run(Path(temporary) / "whole"))
        wrong = 0
        for i in range(args.kills):
            seconds = moments.uniform(0.05, 1.0) * length
            run, when = killed_run(args, seconds, Path(temporary) / f"kill-{i}")
            found = outcome(run)
            differ = [name for name in expected if found.get(name) != expected[name]]
            wrong += bool(differ)
            print(
                f"kill {i + 1} after {seconds:.2f} s, {when}: {'equal' if not differ else 'DIFFERS in ' + ', '.join(differ)}",
                flush=True,
            )
    print(f"{args.kills - wrong} of {args.kills} runs equal the uninterrupted one bit for bit ({length:.1f} s a run)")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
