"""MAD4PG updates per second at the original's sizes: courtside beside its peers, one after the other in one run.

    python bench/mad4pg_speed.py --torch-python PATH

`--torch-python` is an interpreter that has PyTorch for the CPU; without it courtside alone is measured. One update is an
actor step, a critic step and a target update of both agents, sampling included: batch 128, actors 24-350-250-2, central critics
of 48 + 4 numbers, 350-250, 101 atoms. Systems take turns, `--rounds` times; a figure is the median over the rounds, each of
them a median of windows. Between the turns the machine's float32 matrix rate is measured (a product of two large square
matrices in JAX), and every system is told which share of it its useful products make up.

The last column is what other processes took meanwhile, in cores: figures count only where it is near 0.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from turns import PEERS, System, median_of, peer

sys.path.insert(0, str(PEERS))
import mad4pg_task as task

OURS = "courtside"
ROW_LOOP = "PyTorch, the original's row loop"
EAGER = "PyTorch, vectorised"
MATRIX_SIZE = 2048
Records = dict[str, list[dict]]
"""Records by system, one per round."""


def systems(args: argparse.Namespace) -> list[System]:
    """Everything that can be measured with the interpreters given."""
    found = [System(OURS, peer(sys.executable, "mad4pg_ours.py"), ())]
    if args.torch_python:
        original = peer(args.torch_python, "mad4pg_rowloop.py")
        vectorised = peer(args.torch_python, "mad4pg_torch.py")
        found += [
            System(ROW_LOOP, original, ()),
            System("PyTorch, the original with the loop taken out", [*original, "--projection", "scatter"], ()),
            System(EAGER, vectorised, ()),
            System(f"{EAGER}, critics see the observations twice", [*vectorised, "--passes", "plain"], ()),
            System(f"{EAGER}, compiled", [*vectorised, "--compile"], ()),
        ]
    return [system for system in found if args.only in system.name]


def useful_products() -> dict[str, int]:
    """Multiply-adds of one update that its definition asks for, in all rows of the batch and both agents.

    What the observations bring to a critic's second layer is counted once for the stored and the chosen actions. No gradient
    is taken towards observations, stored actions, other agents, or from an actor's loss to a critic's weights.
    Everything beside matrix products (Adam, projection, sampling) is left out.
    """
    first, second = task.HIDDEN_SIZES
    see, choose = task.OBS_SIZE * first, second * task.ACTION_SIZE
    middle, judge = first * second, second * task.NUM_ATOMS
    see_all, join = task.NUM_AGENTS * see, task.NUM_AGENTS * task.ACTION_SIZE * second
    actor, critic = see + middle + choose, see_all + middle + join + judge
    by_row = {
        "target actor": actor,
        "target critic": critic,
        "actor": actor,
        "critic, stored actions": critic,
        "critic, chosen actions": join + judge,
        "critic's gradient, weights": critic,
        "critic's gradient, layers below": judge + middle,
        "actor's gradient, through the critic to the own action": judge + task.ACTION_SIZE * second,
        "actor's gradient, weights": actor,
        "actor's gradient, layers below": choose + middle,
    }
    return {name: task.NUM_AGENTS * task.BATCH_SIZE * count for name, count in by_row.items()}


def useful_flops() -> int:
    """Of one update: a multiplication and an addition for each product."""
    return 2 * sum(useful_products().values())


def matrix_rate(tries: int = 8) -> float:
    """Float32 operations per second of a large square product on all cores; the best of some tries."""
    import jax

    matrix = jax.random.normal(jax.random.key(0), (MATRIX_SIZE, MATRIX_SIZE))
    multiply = jax.jit(lambda a, b: a @ b)
    multiply(matrix, matrix).block_until_ready()
    seconds = []
    for _ in range(tries):
        start = time.perf_counter()
        multiply(matrix, matrix).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return 2 * MATRIX_SIZE**3 / min(seconds)


def run_once(system: System, args: argparse.Namespace) -> dict:
    """One process; where a peer fails the whole bench stops and says why."""
    flags = ["--seconds", str(args.seconds), "--repeats", str(args.repeats)]
    environ = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([*system.command, *flags], capture_output=True, text=True, env=environ)
    if done.returncode:
        sys.exit(f"{' '.join(system.command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def take_turns(chosen: list[System], args: argparse.Namespace) -> tuple[Records, list[float]]:
    """Every system's records and the matrix rates, one per round."""
    records: Records = {}
    rates = []
    for turn in range(args.rounds):
        rates.append(matrix_rate())
        print(f"round {turn + 1} matrix rate: {rates[-1] / 1e9:.0f} GFLOP/s", file=sys.stderr, flush=True)
        for system in chosen:
            record = run_once(system, args)
            records.setdefault(system.name, []).append(record)
            speed = f"{record['updates_per_s']:.1f} updates/s, windows {record['all']}, {record['threads']} threads"
            elsewhere = f"{record['cores_used_elsewhere']} cores used elsewhere"
            print(f"round {turn + 1} {system.name}: {speed}, {elsewhere}", file=sys.stderr, flush=True)
    return records, rates


def table(records: Records, rate: float) -> list[str]:
    """Speed, its share of the matrix rate, and how many times as fast ours is."""
    lines = [
        "| system | updates/s | best window | threads | share of the matrix rate | courtside to it | cores used elsewhere |",
        "|---" * 7 + "|",
    ]
    ours = median_of(records[OURS], "updates_per_s") if OURS in records else None
    for name, rounds in records.items():
        speed = median_of(rounds, "updates_per_s")
        best = max(window for record in rounds for window in record["all"])
        threads = "/".join(str(count) for count in sorted({record["threads"] for record in rounds}))
        ratio = f"{ours / speed:.2f}x" if ours and name != OURS else ""
        elsewhere = max(record["cores_used_elsewhere"] for record in rounds)
        share = speed * useful_flops() / rate
        lines.append(f"| {name} | {speed:.1f} | {best:.1f} | {threads} | {share:.0%} | {ratio} | {elsewhere} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python")
    parser.add_argument("--only", default="", help="measure only systems whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one window, about")
    parser.add_argument("--repeats", type=int, default=3, help="windows of one process")
    parser.add_argument("--out", type=Path, help="write the raw records here")
    args = parser.parse_args()
    records, rates = take_turns(systems(args), args)
    rate = statistics.median(rates)
    print("MAD4PG updates per second\n", *table(records, rate), sep="\n")
    print(f"\nMatrix rate {rate / 1e9:.0f} GFLOP/s; useful work of one update {useful_flops() / 1e6:.0f} MFLOP:")
    for name, count in useful_products().items():
        print(f"  {name}: {2 * count / 1e6:.1f}")
    if args.out:
        args.out.write_text(json.dumps({"systems": records, "matrix_rates": rates}, indent=1))


if __name__ == "__main__":
    main()
