"""What fifty browsers on one run cost its trainer: steps per second with them, beside the same run with nobody looking.

    python bench/watch_crowd.py
    python bench/watch_crowd.py --browsers 200 --rounds 5

Runs take turns, watched and not. A watched one has `courtside watch` in a process of its own, and in another one as many
browsers as asked for, as far as the server sees them: each asks for what the page of a run asks for, as often. That crowd
has the lowest priority, since browsers are on other machines. Figures are medians over the rounds of steps per second after
the first third of the run; beside them how many questions were answered and how long the slowest hundredth took, and what
the server used of a core. The last line is JSON.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import courtside
from watch_cost import Stopwatch
from watch_speed import VISIBLE, Server

PACE = {"run": 4.0, "findings": 4.0, "events": 4.0, "series": 2.0, "knobs": 2.0}
"""Question -> seconds between two of it, as in `static/pages/run.js`."""


async def ask(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> int:
    """One question over a connection that stays open, its answer thrown away."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n".encode())
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    await reader.readexactly(length)
    return int(head.split()[1])


async def browse(address: str, name: str, until: float, waits: list[float], first: float) -> None:
    """What one browser does; `first` is when it is opened."""
    await asyncio.sleep(first)
    where = urlsplit(address)
    reader, writer = await asyncio.open_connection(where.hostname, where.port)
    due = dict.fromkeys(PACE, time.monotonic())
    while time.monotonic() < until:
        question = min(due, key=lambda name: due[name])
        await asyncio.sleep(max(0.0, due[question] - time.monotonic()))
        query = urlencode(
            {"name": name} | ({"metric": VISIBLE, "points": 400} if question == "series" else {}), doseq=True
        )
        begun = time.monotonic()
        status = await ask(reader, writer, f"/api/{question}?{query}")
        assert status == 200, (question, status)
        waits.append(time.monotonic() - begun)
        due[question] = time.monotonic() + PACE[question]
    writer.close()


async def crowd(address: str, name: str, browsers: int, seconds: float) -> list[float]:
    waits: list[float] = []
    until = time.monotonic() + seconds
    await asyncio.gather(*(browse(address, name, until, waits, 2.0 * i / browsers) for i in range(browsers)))
    return waits


def send_crowd(server: Server, runs: Path, browsers: int, seconds: float) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, "--crowd", server.address, str(runs), str(browsers), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def be_crowd(address: str, runs: str, browsers: str, seconds: str) -> None:
    """In a process of its own: waits for the run, then looks at it."""
    os.nice(19)
    while not (found := list(Path(runs).glob("*/metrics.jsonl"))):
        time.sleep(0.05)
    waits = asyncio.run(crowd(address, found[0].parent.name, int(browsers), float(seconds)))
    print(json.dumps({"answers": len(waits), "slow": statistics.quantiles(waits, n=100)[-1]}))


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def train(args: argparse.Namespace, seconds: float | None) -> dict:
    """`seconds`: how long browsers look; None where nobody does."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder), "--knobs") if seconds else None
        lookers = send_crowd(server, Path(folder), args.browsers, seconds) if server and seconds else None
        watch, begun = Stopwatch(), time.monotonic()
        courtside.train(args.preset, view=watch, total_timesteps=args.steps, runs_dir=folder, eval_every=0)
        took, found = time.monotonic() - begun, {"speed": watch.speed()}
        if server and lookers:
            used = cpu_seconds(server.process.pid) / took
            told, _ = lookers.communicate(timeout=120)
            server.close()
            found |= {"server_core": used, **json.loads(told)}
    return found | {"seconds": took}


def main() -> None:
    if sys.argv[1:2] == ["--crowd"]:
        return be_crowd(*sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="redblue")
    parser.add_argument("--steps", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browsers", type=int, default=50)
    args = parser.parse_args()
    seconds = train(args, None)["seconds"]  # compiles, and tells how long one takes
    found: dict[bool, list[dict]] = {False: [], True: []}
    for _ in range(args.rounds):
        for is_watched in (False, True):
            found[is_watched].append(train(args, 0.9 * seconds if is_watched else None))
            print(f"{f'{args.browsers} browsers' if is_watched else 'alone'}: {found[is_watched][-1]}", flush=True)
    alone, watched = (statistics.median(one["speed"] for one in found[key]) for key in (False, True))
    print(
        f"{args.preset}: alone {alone:,.0f} steps/s, with {args.browsers} browsers {watched:,.0f}: {watched / alone:.3f} of it"
    )
    print(json.dumps({"alone": found[False], "watched": found[True], "ratio": watched / alone}))


if __name__ == "__main__":
    main()
