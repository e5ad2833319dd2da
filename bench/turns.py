"""Measures several systems side by side: each in a process and an interpreter of its own, taking turns on one machine.

A system is a script of `peers/` that prints one JSON record. They take turns, so that a slow moment of the machine does
not fall on one of them alone; a figure is the median over all rounds, each of them a median of windows.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

PEERS = Path(__file__).parent / "peers"
Records = dict[str, dict[str, list[dict]]]
"""Records by system and shape, one per round."""


@dataclass(frozen=True)
class System:
    """One row of the table."""

    name: str
    command: list[str]
    """The script and its own flags, without the shape."""
    shapes: tuple[str, ...]
    """`ENVSxSTEPS` it is measured at."""
    environ: dict[str, str] = field(default_factory=dict)


def add_flags(parser: argparse.ArgumentParser, shapes: tuple[str, ...]) -> None:
    parser.add_argument("--shapes", default=",".join(shapes), help="envs x steps, separated by commas")
    parser.add_argument("--only", default="", help="measure only systems whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0, help="length of one window, about")
    parser.add_argument("--repeats", type=int, default=3, help="windows of one process")
    parser.add_argument("--out", type=Path, help="write the raw records here")


def peer(python: str, script: str, *flags: str) -> list[str]:
    """A script of `peers/` under another interpreter."""
    return [python, "-W", "ignore", str(PEERS / script), *flags]


def take_turns(systems: list[System], args: argparse.Namespace) -> Records:
    records: Records = {}
    for shape in args.shapes.split(","):
        for turn in range(args.rounds):
            for system in systems:
                if shape not in system.shapes or args.only not in system.name:
                    continue
                record = run_once(system, shape, args)
                records.setdefault(system.name, {}).setdefault(shape, []).append(record)
                speed = f"{record['steps_per_s']:,.0f} steps/s"
                print(f"round {turn + 1} {system.name} {shape}: {speed}", file=sys.stderr, flush=True)
    if args.out:
        args.out.write_text(json.dumps(records, indent=1))
    return records


def run_once(system: System, shape: str, args: argparse.Namespace) -> dict:
    """One process; where a peer fails the whole bench stops and says why."""
    num_envs, num_steps = shape.split("x")
    flags = ["--num-envs", num_envs, "--num-steps", num_steps]
    flags += ["--seconds", str(args.seconds), "--repeats", str(args.repeats)]
    environ = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"} | system.environ
    done = subprocess.run([*system.command, *flags], capture_output=True, text=True, env=environ)
    if done.returncode:
        sys.exit(f"{' '.join(system.command)} failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def median_of(records: list[dict], name: str) -> float:
    return statistics.median(record[name] for record in records)


def table(records: Records, name: str, form: str) -> list[str]:
    """One field of the records in Markdown, a row for each system, a column for each shape."""
    shapes = list(dict.fromkeys(shape for by_shape in records.values() for shape in by_shape))
    lines = ["| system | " + " | ".join(shapes) + " |", "|---" * (len(shapes) + 1) + "|"]
    for system, by_shape in records.items():
        cells = [format(median_of(by_shape[s], name), form) if s in by_shape else "" for s in shapes]
        lines.append(f"| {system} | " + " | ".join(cells) + " |")
    return lines


def ratios(records: Records, ours: str, peers: list[str]) -> list[str]:
    """How many times as fast `ours` is as each peer, at the shapes that both were measured at."""
    kept = {name: by_shape for name, by_shape in records.items() if name in peers}
    shapes = [shape for shape in records.get(ours, {}) if any(shape in by_shape for by_shape in kept.values())]
    if not shapes:
        return []
    lines = [f"| {ours} to | " + " | ".join(shapes) + " |", "|---" * (len(shapes) + 1) + "|"]
    for name, by_shape in kept.items():
        speeds = [median_of(by_shape[s], "steps_per_s") if s in by_shape else None for s in shapes]
        mine = [median_of(records[ours][s], "steps_per_s") for s in shapes]
        cells = ["" if theirs is None else f"{own / theirs:.1f}" for own, theirs in zip(mine, speeds, strict=True)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines
