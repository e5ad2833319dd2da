"""The Nature CNN, learning and acting: courtside beside PyTorch, taking turns in one run.

    python bench/cnn_speed.py --torch-python PATH

`--torch-python` is an interpreter that has PyTorch; without it courtside alone is measured. Learning is a minibatch step of
PPO at the zoo's settings (256 images gathered from a rollout of 1,024, forward, clipped loss, backward, norm clip, Adam);
acting is a forward pass of 8, 32 or 128 images from bytes to the heads. Figures are images per second: the median over the
rounds, each of them a median of windows. Both ways in which courtside can convolve are measured, over blocks and
with XLA's strided convolutions: a run takes the blocks on a CPU, the others elsewhere. Runs on a GPU as it is, if JAX and
PyTorch find one.

The last column is what other processes took meanwhile, in cores: figures count only where it is near 0.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from turns import System, median_of, peer

ACTING = (8, 32, 128)
TASKS = {"learn": 0} | {f"act on {count}": count for count in ACTING}
"""What is measured -> `--batch` of the scripts."""
BLOCKS, DIRECT, TORCH = "courtside, over blocks", "courtside, XLA's own", "PyTorch, channels last"
Records = dict[str, dict[str, list[dict]]]
"""Records by system and task, one per round."""


def systems(args: argparse.Namespace) -> list[System]:
    threads = ["--threads", str(args.threads)] if args.threads else []
    found = [
        System(name, [*peer(sys.executable, "cnn_ours.py", "--way", way, "--epochs", epochs), *threads], ())
        for name, way, epochs in ((BLOCKS, "blocks", "4"), (DIRECT, "direct", "1"))
    ]
    if args.torch_python:
        found.append(System(TORCH, [*peer(args.torch_python, "cnn_torch.py"), *threads], ()))
    return [system for system in found if args.only in system.name]


def run_once(system: System, batch: int, args: argparse.Namespace) -> dict:
    """One process; where a peer fails the whole bench stops and says why."""
    flags = ["--batch", str(batch), "--seconds", str(args.seconds), "--repeats", str(args.repeats)]
    environ = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*system.command, *flags], capture_output=True, text=True, env=environ)
    if done.returncode:
        sys.exit(f"{' '.join(system.command)} failed:\n{done.stderr[-2000:]}")
    record = json.loads(done.stdout.strip().splitlines()[-1])
    return record | {"images_per_s": record.pop("updates_per_s")}


def take_turns(chosen: list[System], args: argparse.Namespace) -> Records:
    records: Records = {system.name: {task: [] for task in TASKS if args.task in task} for system in chosen}
    for turn in range(args.rounds):
        for task, batch in TASKS.items():
            if args.task not in task:
                continue
            for system in chosen:
                record = run_once(system, batch, args)
                records[system.name][task].append(record)
                speed = f"{record['images_per_s']:,.0f} images/s, {record['threads']} threads"
                elsewhere = f"{record['cores_used_elsewhere']} cores used elsewhere"
                print(f"round {turn + 1} {system.name}, {task}: {speed}, {elsewhere}", file=sys.stderr, flush=True)
    return records


def table(records: Records) -> list[str]:
    """Images per second, and beside PyTorch's how many times as fast."""
    tasks = next(iter(records.values()))
    lines = ["| system | " + " | ".join(tasks) + " | cores used elsewhere |", "|---" * (len(tasks) + 2) + "|"]
    for name, by_task in records.items():
        cells = []
        for task, rounds in by_task.items():
            speed = median_of(rounds, "images_per_s")
            beside = median_of(records[TORCH][task], "images_per_s") if TORCH in records and name != TORCH else None
            cells.append(f"{speed:,.0f}" + (f" ({speed / beside:.2f}x)" if beside else ""))
        elsewhere = max(record["cores_used_elsewhere"] for rounds in by_task.values() for record in rounds)
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {elsewhere} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python")
    parser.add_argument("--threads", type=int, default=0, help="of every system; 0 leaves it to each")
    parser.add_argument("--only", default="", help="measure only systems whose name contains this")
    parser.add_argument("--task", default="", help="measure only tasks whose name contains this: learn, act, act on 8")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one window, about")
    parser.add_argument("--repeats", type=int, default=3, help="windows of one process")
    parser.add_argument("--out", type=Path, help="write the raw records here")
    args = parser.parse_args()
    records = take_turns(systems(args), args)
    print("Nature CNN, images per second (in brackets: to PyTorch)\n", *table(records), sep="\n")
    if args.out:
        args.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
