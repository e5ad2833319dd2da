"""Breakout to the end of its plan: wall time and score of whole games, several seeds, in parts where need be.

    python bench/breakout_fast.py --runs-dir runs/breakout-fast
    python bench/breakout_fast.py --runs-dir runs/breakout-fast --seconds 480        # the same command again goes on
    python bench/breakout_fast.py --runs-dir runs/breakout-fast -- --num-workers 8   # two at a time on 16 cores
    python bench/breakout_fast.py --runs-dir runs/seed-2 --seeds 1 --games 100 -- --seed 2   # one seed, alone

Meant for a machine with a GPU and many cores. It is `courtside train breakout-fast --seeds 2`, a process for each seed. After
`--seconds` it is stopped as Ctrl-C stops it, and the same command resumes it, bit for bit; an evaluation that has begun is
played to its end first. Begun by a script in the background this one does not hear Ctrl-C, as the shell has it: use
`--seconds` there, or interrupt `courtside` itself. With `--games`, each seed that is finished then plays as many whole games with actions drawn and as
many with the likeliest ones, both at once, with its newest policy. Prints how far each seed is, the score of the whole games
in the newest updates of its training, and once it is finished that of its last evaluation; then the seconds that all parts
took, starts, compiling and evaluation included. Exit status 0 once every seed is finished and has reached `--goal`, 1 until
then. The last line is JSON.
"""

import argparse
import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from courtside.experiments.population.processes import SHARED_GPU, STOPPED
from courtside.runs import runlog
from courtside.runs.members import is_population, member_dirs

PARTS, OUTPUT = "parts.json", "output.txt"
WAYS = {"drawn": "--sampled", "greedy": "--deterministic"}
RESAMPLES = 10_000
NEWEST = 70
"""Updates whose games make a score."""


def find_run(runs_dir: Path) -> Path | None:
    """The population, if it was begun."""
    return next(iter(runlog.list_runs(runs_dir)), None)


def members_of(run: Path) -> list[Path]:
    return member_dirs(run) if is_population(run) else [run]


def is_finished(run: Path | None) -> bool:
    return run is not None and all(is_over(member) for member in members_of(run))


def is_over(member: Path) -> bool:
    return (member / runlog.VERDICT).exists()


def command(args: argparse.Namespace, run: Path | None) -> list[str]:
    """Begin, or go on with what was begun."""
    courtside = [sys.executable, "-m", "courtside"]
    if run is not None:
        return [*courtside, "resume", str(run)]
    flags = ["--seeds", str(args.seeds), "--runs-dir", str(args.runs_dir)]
    return [*courtside, "train", args.preset, *flags, *args.more]


@contextlib.contextmanager
def noted(runs_dir: Path) -> Iterator[None]:
    """Adds the seconds inside to those of the parts before, however it ends."""
    begun, before = time.perf_counter(), parts_of(runs_dir)
    try:
        yield
    finally:
        (runs_dir / PARTS).write_text(json.dumps([*before, time.perf_counter() - begun]))


def parts_of(runs_dir: Path) -> list[float]:
    path = runs_dir / PARTS
    return json.loads(path.read_text()) if path.exists() else []


def take_part(args: argparse.Namespace, run: Path | None) -> None:
    """Train until the end of the plan or of the time; ends this script where the run fails."""
    args.runs_dir.mkdir(parents=True, exist_ok=True)
    log = args.runs_dir / OUTPUT
    with noted(args.runs_dir), log.open("ab") as output:
        process = subprocess.Popen(command(args, run), stdout=output, stderr=subprocess.STDOUT)
        try:
            process.wait(args.seconds if math.isfinite(args.seconds) else None)
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            process.send_signal(signal.SIGINT)
            process.wait()
    if process.returncode and process.returncode not in STOPPED:
        sys.exit(f"courtside ended with status {process.returncode}:\n{log.read_text()[-2000:]}")


def play_games(args: argparse.Namespace, member: Path) -> None:
    """Whole games of a finished seed, both ways at once; what was played already is left as it is."""
    playing = {}
    for way, flag in WAYS.items():
        if games_path(args.runs_dir, member, way).exists():
            continue
        flags = ["--episodes", str(args.games), "--last", flag, "--json"]
        command = [sys.executable, "-m", "courtside", "eval", str(member), *flags]
        playing[way] = subprocess.Popen(command, stdout=subprocess.PIPE, env=SHARED_GPU | os.environ)
    for way, process in playing.items():
        told, _ = process.communicate()
        if process.returncode:
            sys.exit(f"courtside eval ended with status {process.returncode}.")
        games_path(args.runs_dir, member, way).write_bytes(told)


def games_path(runs_dir: Path, member: Path, way: str) -> Path:
    return runs_dir / f"{member.name}-{way}.json"


def describe_games(path: Path) -> dict | None:
    """Mean score with its 95% interval (percentile bootstrap with a fixed seed), and how the games spread.

    The likeliest actions leave only the no-ops at a game's start to chance: then a few games come again and again, and the
    interval says nothing. So it is told how many scores are different.
    """
    if not path.exists():
        return None
    found = json.loads(path.read_text())
    scores = np.asarray(found["returns"])
    draws = np.random.default_rng(0).choice(scores, (RESAMPLES, len(scores))).mean(axis=1)
    low, high = np.percentile(draws, (2.5, 97.5))
    quartiles = np.percentile(scores, (25, 50, 75)).tolist()
    numbers = {"games": len(scores), "mean": scores.mean(), "low": low, "high": high, "std": scores.std()}
    extremes = {"lowest": scores.min(), "highest": scores.max(), "length": found["mean_length"]}
    rounded = {name: round(float(value), 2) for name, value in (numbers | extremes).items()}
    return rounded | {"different": len(np.unique(scores)), "quartiles": quartiles, "notes": found["notes"]}


def describe(runs_dir: Path, member: Path) -> dict:
    """How far a seed is and what it scores."""
    rows, evals = runlog.read_rows(member), runlog.read_rows(member, runlog.EVALS)
    games = [(row["charts/games"], row["charts/game_score"]) for row in rows[-NEWEST:] if row.get("charts/games")]
    count = sum(games_of for games_of, _ in games)
    return {
        "step": rows[-1]["step"] if rows else 0,
        "training_score": sum(games_of * score for games_of, score in games) / count if count else None,
        "evaluation": evals[-1]["eval/episodic_return"] if evals and is_over(member) else None,
        **{way: describe_games(games_path(runs_dir, member, way)) for way in WAYS},
        "training_seconds": sum(row.get("seconds", 0.0) for row in runlog.read_rows(member, runlog.TIMING)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="breakout-fast", help="where the run begins")
    parser.add_argument(
        "--runs-dir", type=Path, required=True, help="a folder of its own: what is there is gone on with"
    )
    parser.add_argument("--seeds", type=int, default=2, help="how many, from 1 on, where the run begins")
    parser.add_argument("--seconds", type=float, default=math.inf, help="of this part (default: to the end)")
    parser.add_argument("--games", type=int, default=0, help="whole games each way, once a seed is finished")
    parser.add_argument("--goal", type=float, default=400.0, help="mean score of the evaluation at the end")
    parser.add_argument("more", nargs="*", help="after --: further flags of `courtside train`, where the run begins")
    args = parser.parse_args()
    if not is_finished(run := find_run(args.runs_dir)):
        take_part(args, run)
    run = find_run(args.runs_dir)
    if run is None:
        sys.exit(f"No run was begun; {args.runs_dir / OUTPUT} may tell why.")
    if args.games:
        for member in filter(is_over, members_of(run)):
            play_games(args, member)
    found, parts = {member.name: describe(args.runs_dir, member) for member in members_of(run)}, parts_of(args.runs_dir)
    for name, told in found.items():
        print(f"{name}: {told}")
    print(f"{len(parts)} parts, {sum(parts):,.0f} s: {', '.join(f'{part:,.0f}' for part in parts)}")
    print(json.dumps({"seeds": found, "parts": parts}))
    scores = [told["evaluation"] for told in found.values()]
    sys.exit(int(any(score is None or not score >= args.goal for score in scores)))


if __name__ == "__main__":
    main()
