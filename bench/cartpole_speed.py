"""CartPole PPO, full training steps/s: courtside beside its peers, one after the other in one run.

    python bench/cartpole_speed.py --peers-python PATH --cleanrl-dir DIR --purejaxrl-dir DIR

`--peers-python` is an interpreter that has stable-baselines3, rejax and gymnax; the two folders are checkouts of CleanRL
and PureJaxRL. A peer whose place is not given is left out. Every figure is the median of at least three windows; systems
take turns, `--rounds` times, so that a slow moment of the machine does not fall on one of them alone.
Prints a table in Markdown and, with `--out FILE`, writes the raw records.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
SHAPES = ("4x128", "16x128", "256x32", "2048x32")
HOST_SHAPES = ("4x128", "256x32")


def systems(args: argparse.Namespace) -> dict[str, tuple[list[str], tuple[str, ...]]]:
    """Name -> command without the shape, and the shapes it is measured at."""
    found = {
        "courtside, JAX world": ([sys.executable, str(PEERS / "ours.py"), "--world", "jax"], SHAPES),
        "courtside, Gymnasium host": ([sys.executable, str(PEERS / "ours.py"), "--world", "gym"], HOST_SHAPES),
    }
    if args.peers_python:
        peer = [args.peers_python, "-W", "ignore"]
        found["SB3"] = ([*peer, str(PEERS / "sb3.py")], HOST_SHAPES)
        found["rejax"] = ([*peer, str(PEERS / "rejax.py")], SHAPES)
        if args.cleanrl_dir:
            found["CleanRL ppo.py"] = (
                [*peer, str(PEERS / "cleanrl_loop.py"), "--cleanrl-dir", args.cleanrl_dir],
                HOST_SHAPES,
            )
        if args.purejaxrl_dir:
            command = [*peer, str(PEERS / "purejaxrl.py"), "--purejaxrl-dir", args.purejaxrl_dir]
            found["PureJaxRL"] = (command, SHAPES)
    return found


def run_once(command: list[str], shape: str, args: argparse.Namespace) -> dict:
    num_envs, num_steps = shape.split("x")
    flags = ["--num-envs", num_envs, "--num-steps", num_steps, "--seconds", str(args.seconds), "--repeats", "3"]
    done = subprocess.run([*command, *flags], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(args: argparse.Namespace) -> dict[str, dict[str, list[dict]]]:
    """Records by system and shape, one per round."""
    chosen, records = systems(args), {}
    for shape in args.shapes.split(","):
        for turn in range(args.rounds):
            for name, (command, shapes) in chosen.items():
                if shape not in shapes:
                    continue
                record = run_once(command, shape, args)
                records.setdefault(name, {}).setdefault(shape, []).append(record)
                print(
                    f"round {turn + 1} {name} {shape}: {record['steps_per_s']:,.0f} steps/s",
                    file=sys.stderr,
                    flush=True,
                )
    return records


def median_of(records: list[dict], field: str) -> float:
    return statistics.median(record[field] for record in records)


def table(records: dict, field: str, form: str) -> list[str]:
    lines = ["| system | " + " | ".join(SHAPES) + " |", "|---" * (len(SHAPES) + 1) + "|"]
    for name, by_shape in records.items():
        cells = [format(median_of(by_shape[s], field), form) if s in by_shape else "" for s in SHAPES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def command_to_first_update(cache: str) -> float:
    """Seconds from typing `courtside train` to the first logged update, run folder and all; an empty cache is cold."""
    with tempfile.TemporaryDirectory() as runs_dir:
        flags = [
            "--num-envs=4",
            "--num-steps=128",
            "--total-timesteps=1000000000",
            "--eval-every=0",
            f"--runs-dir={runs_dir}",
        ]
        start = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "courtside", "train", "cartpole", *flags],
            env=os.environ | {"COURTSIDE_CACHE_DIR": cache},
            stdout=subprocess.DEVNULL,
        )
        while not any(path.stat().st_size for path in Path(runs_dir).glob("*/metrics.jsonl")):
            time.sleep(0.01)
        seconds = time.perf_counter() - start
        process.kill()
        process.wait()
    return seconds


def print_starts() -> None:
    with tempfile.TemporaryDirectory() as cache:
        command_to_first_update(cache)
        warm = statistics.median(command_to_first_update(cache) for _ in range(3))
    cold = statistics.median(command_to_first_update("") for _ in range(3))
    print(
        f"\n`courtside train` at 4x128, from the command to the first logged update: cold {cold:.1f} s, warm {warm:.1f} s"
    )


def print_fast_preset(args: argparse.Namespace) -> None:
    command = [sys.executable, str(PEERS / "ours.py"), "--preset", "cartpole-fast"]
    runs = [run_once(command, "64x32", args) for _ in range(args.rounds)]
    print(f"\nPreset cartpole-fast: {median_of(runs, 'steps_per_s'):,.0f} steps/s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers-python")
    parser.add_argument("--cleanrl-dir")
    parser.add_argument("--purejaxrl-dir")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    records = measure(args)
    print("Steps per second, rollout and learning\n", *table(records, "steps_per_s", ",.0f"), sep="\n")
    print("\nCompile, seconds, cold\n", *table(records, "compile_s", ".1f"), sep="\n")
    print(
        "\nFrom the start of the process to the first update, seconds, cold\n",
        *table(records, "first_update_s", ".1f"),
        sep="\n",
    )
    print_starts()
    print_fast_preset(args)
    if args.out:
        args.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
