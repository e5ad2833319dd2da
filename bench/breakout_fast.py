"""Breakout to the end of its plan: wall time and score of whole games, several seeds, in parts where need be.

    python bench/breakout_fast.py --runs-dir runs/breakout-fast
    python bench/breakout_fast.py --runs-dir runs/breakout-fast --seconds 480        # the same command again goes on
    python bench/breakout_fast.py --runs-dir runs/breakout-fast -- --num-workers 8   # two at a time on 16 cores

Meant for a machine with a GPU and many cores. It is `courtside train breakout-fast --seeds 2`, a process for each seed. After
`--seconds` it is stopped as Ctrl-C stops it, and the same command resumes it, bit for bit; an evaluation that has begun is
played to its end first. Prints how far each seed is, the score of the whole games in the newest updates of its training, and
once it is finished that of its last evaluation; then the seconds that all parts took, starts, compiling and evaluation
included. Exit status 0 once every seed is finished and has reached `--goal`, 1 until then. The last line is JSON.
"""

import argparse
import contextlib
import json
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from courtside import runlog
from courtside.population.processes import STOPPED

PARTS, OUTPUT = "parts.json", "output.txt"
NEWEST = 70
"""Updates whose games make a score."""


def find_run(runs_dir: Path) -> Path | None:
    """The population, if it was begun."""
    return next(iter(runlog.list_runs(runs_dir)), None)


def members_of(run: Path) -> list[Path]:
    return sorted((run / "members").iterdir())


def is_finished(run: Path | None) -> bool:
    return run is not None and all((member / runlog.VERDICT).exists() for member in members_of(run))


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


def describe(member: Path) -> dict:
    """How far a seed is and what it scores."""
    rows, evals = runlog.read_rows(member), runlog.read_rows(member, runlog.EVALS)
    games = [(row["charts/games"], row["charts/game_score"]) for row in rows[-NEWEST:] if row.get("charts/games")]
    count = sum(games_of for games_of, _ in games)
    return {
        "step": rows[-1]["step"] if rows else 0,
        "training_score": sum(games_of * score for games_of, score in games) / count if count else None,
        "evaluation": evals[-1]["eval/episodic_return"] if evals and (member / runlog.VERDICT).exists() else None,
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
    parser.add_argument("--goal", type=float, default=400.0, help="mean score of the evaluation at the end")
    parser.add_argument("more", nargs="*", help="after --: further flags of `courtside train`, where the run begins")
    args = parser.parse_args()
    if not is_finished(run := find_run(args.runs_dir)):
        take_part(args, run)
    run = find_run(args.runs_dir)
    if run is None:
        sys.exit(f"No run was begun; {args.runs_dir / OUTPUT} may tell why.")
    found, parts = {member.name: describe(member) for member in members_of(run)}, parts_of(args.runs_dir)
    for name, told in found.items():
        print(f"{name}: {told}")
    print(f"{len(parts)} parts, {sum(parts):,.0f} s: {', '.join(f'{part:,.0f}' for part in parts)}")
    print(json.dumps({"seeds": found, "parts": parts}))
    scores = [told["evaluation"] for told in found.values()]
    sys.exit(int(any(score is None or not score >= args.goal for score in scores)))


if __name__ == "__main__":
    main()
