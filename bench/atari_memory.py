"""Memory of training on real Breakout: `courtside train breakout` with 8, 32 and 128 envs, all of its processes together.

    python bench/atari_memory.py

Each run goes on for `--seconds` and `--updates` at least, so that its rollout is full and has been learned from, and is
stopped as Ctrl-C stops it. Resident memory (RSS) counts what processes share once for each of them; the proportional share
(PSS) counts it once in all. Both are sums over all processes at one moment, the highest of all moments that were looked at.
`main, highest` is what the system itself noted of the process that learns, short peaks included. The last line is JSON.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from turns import PEERS

sys.path.insert(0, str(PEERS))
from atari_task import family

from courtside.machine import own_share_mb, resident_mb

GLANCE = 0.3
"""Seconds between two looks."""
PATIENCE = 900.0
"""Seconds after which a run that has not come far enough is given up."""


def parents() -> dict[int, int]:
    """Every process's parent."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:  # ended meanwhile
            continue
    return found


def highest_mb(pid: int) -> float:
    """The most that a process ever had in memory."""
    try:
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0.0
    return int(found.group(1)) / 1024 if found else 0.0


def num_updates(runs_dir: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in runs_dir.glob("*/metrics.jsonl"))


def watch(process: subprocess.Popen, runs_dir: Path, args: argparse.Namespace) -> dict[str, float]:
    """Look again and again until the run has come far enough; the highest of everything seen."""
    seen = {"rss_mb": 0.0, "pss_mb": 0.0, "main_mb": 0.0, "processes": 0.0}
    start = time.monotonic()
    while process.poll() is None:
        pids = family(process.pid, parents())
        now = (sum(map(resident_mb, pids)), sum(map(own_share_mb, pids)), highest_mb(process.pid), len(pids))
        seen = {name: max(most, value) for (name, most), value in zip(seen.items(), now, strict=True)}
        passed = time.monotonic() - start
        if passed > PATIENCE or (passed >= args.seconds and num_updates(runs_dir) >= args.updates):
            break
        time.sleep(GLANCE)
    return seen


def measure(num_envs: int, args: argparse.Namespace) -> dict:
    """One run; where it fails the bench stops and says why."""
    with tempfile.TemporaryDirectory() as folder:
        runs_dir, told = Path(folder) / "runs", Path(folder) / "told"
        flags = ["--num-envs", str(num_envs), "--eval-every", "0", "--seed", "1", "--runs-dir", str(runs_dir)]
        command = [sys.executable, "-m", "courtside", "train", args.preset, *flags]
        with told.open("w") as out:
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
            seen = watch(process, runs_dir, args)
            failed = process.poll() is not None
            process.send_signal(signal.SIGINT)
            process.wait()
        if failed or num_updates(runs_dir) < args.updates:
            sys.exit(f"{' '.join(command)} did not come far enough:\n{told.read_text()[-2000:]}")
        announced = re.search(r"^memory: .*$", told.read_text(), re.MULTILINE)
        return {"num_envs": num_envs, "announced": announced.group() if announced else "", **seen}


def table(rows: list[dict]) -> list[str]:
    lines = ["| envs | processes | peak RSS, MB | peak PSS, MB | main, highest, MB |", "|---" * 5 + "|"]
    for row in rows:
        numbers = " | ".join(f"{row[name]:,.0f}" for name in ("processes", "rss_mb", "pss_mb", "main_mb"))
        lines.append(f"| {row['num_envs']} | {numbers} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--preset", default="breakout")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--updates", type=int, default=2)
    args = parser.parse_args()
    rows = []
    for num_envs in args.num_envs:
        rows.append(measure(num_envs, args))
        print(f"{num_envs} envs: announced {rows[-1]['announced']}", file=sys.stderr, flush=True)
    print(*table(rows), sep="\n")
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
