"""The GBA emulator: frames per second of one core beside the bare library's, and memory of many instances.

    python bench/gba_speed.py

One env step of ours is 25 frames, and then the picture as RGB and a read of 64 bytes, or nothing. The bare core runs the
same frames through ctypes with nothing around it and reads nothing, once drawing all frames and once leaving 24 of 25 out;
ours leaves out 23 where it can. Nobody presses a key. All run in one process in turns; a figure is the median over the rounds
of frames per second of the processor's time.

The ROMs are those of the tests: `quest` sleeps most of a frame, `busy` fills the screen with layers and sprites. Memory is of a
process that opens instances and runs each, beyond what it held before; `padded` is `quest` filled up to 16 MiB. Then `--workers`
processes with a game each, as a run has them, Python and all. Resident
memory (RSS) counts a ROM's file once for each instance, the proportional share (PSS) once in all. The last line is JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from turns import PEERS

sys.path.insert(0, str(PEERS))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts" / "gba"))
import gba_bare
from homebrew import busy, quest

from courtside.hosts.env_host import Plan, make_host
from courtside.hosts.gba.core import Emulator, find_core
from courtside.hosts.gba.options import give
from courtside.machine import own_share_mb, resident_mb
from courtside.settings.config import EnvConfig
from courtside.settings.worlds import find_env

FRAMES_PER_STEP = 25
OURS, OURS_ALONE = "courtside, with picture and memory", "courtside, frames alone"
BARE, BARE_SKIPPING = "bare core", "bare core, 24 of 25 frames not drawn"
ORDER = (OURS, OURS_ALONE, BARE, BARE_SKIPPING)
COUNTS = (1, 8, 24)
PADDED = 16 << 20

Step = Callable[[], None]


def our_step(rom: bytes, looks: bool) -> Step:
    emulator = Emulator(rom)

    def step() -> None:
        emulator.run(FRAMES_PER_STEP)
        if looks:
            emulator.screen()
            emulator.read(0x02000000, 64)

    return step


def bare_step(rom: bytes, left_out: int) -> Step:
    run = gba_bare.load(find_core(), rom, left_out)

    def step() -> None:
        for _ in range(FRAMES_PER_STEP):
            run()

    return step


def rate(step: Step, seconds: float) -> float:
    """Frames per second of this process's work."""
    start, count = time.process_time(), 0
    while (passed := time.process_time() - start) < seconds:
        step()
        count += 1
    return count * FRAMES_PER_STEP / passed


def speeds(rom: bytes, args: argparse.Namespace) -> dict[str, float]:
    """The median rate of each way to run a ROM."""
    steps = {
        OURS: our_step(rom, True),
        OURS_ALONE: our_step(rom, False),
        BARE: bare_step(rom, 0),
        BARE_SKIPPING: bare_step(rom, FRAMES_PER_STEP - 1),
    }
    rates: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        rate(step, 0.2)
    for _ in range(args.rounds):
        for name, step in steps.items():
            rates[name].append(rate(step, args.seconds))
    return {name: statistics.median(found) for name, found in rates.items()}


def hold(rom: str, count: int) -> None:
    """Open instances of a ROM's file, run each, and print what they take."""
    before = resident_mb(), own_share_mb(os.getpid())
    instances = [Emulator(Path(rom)) for _ in range(count)]
    for emulator in instances:
        emulator.run(100)
        emulator.screen()
        emulator.load_state(emulator.save_state())
        emulator.region(0x08000000).max()
    print(
        json.dumps(
            {"before": before[0], "rss": resident_mb() - before[0], "pss": own_share_mb(os.getpid()) - before[1]}
        )
    )


def memory(folder: Path) -> list[dict]:
    """What instances of a small and of a large ROM take, in processes of their own."""
    plain = quest.build()
    rows = []
    for name, rom in (("quest, 4 MiB", plain), ("padded, 16 MiB", plain.ljust(PADDED, b"\1"))):
        path = folder / f"{len(rom)}.gba"
        path.write_bytes(rom)
        for count in COUNTS:
            command = [sys.executable, __file__, "--hold", str(path), "--count", str(count)]
            told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            rows.append({"rom": name, "instances": count, **told})
    return rows


def workers_memory(folder: Path, count: int) -> dict:
    """What so many worker processes take, each with one game of 16 MiB, as a run of the real game has them."""
    rom = folder / "workers.gba"
    rom.write_bytes(quest.build().ljust(PADDED, b"\1"))
    source = give(find_env("gba:games:QUEST"), {"rom": rom})
    host = make_host(source, count, EnvConfig(worker_timeout=300.0), Plan("processes", count, ""), packed=True)
    host.reset(0)
    for _ in range(50):
        host.step(np.zeros((count, 1), int))
    pids = [worker.process.pid for worker in host._crew._workers]
    rss = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") for pid in pids)
    found = {"workers": count, "rss": rss / 1e6, "pss": host.memory_mb()}
    host.close()
    return found


def show(rates: dict[str, dict[str, float]], rows: list[dict], workers: dict) -> None:
    print("| frames per second of one core |", " | ".join(rates), "|\n|---" + "|---" * len(rates) + "|")
    for name in ORDER:
        print(f"| {name} |", " | ".join(f"{found[name]:,.0f}" for found in rates.values()), "|")
    for other in (BARE, BARE_SKIPPING):
        for ours in (OURS, OURS_ALONE):
            ratios = " | ".join(f"{found[ours] / found[other]:.2f}" for found in rates.values())
            print(f"| {ours}, to {other} | {ratios} |")
    print("\n| ROM | instances | RSS, MB | PSS, MB | PSS of one, MB |\n|---|---|---|---|---|")
    for row in rows:
        one = row["pss"] / row["instances"]
        print(f"| {row['rom']} | {row['instances']} | {row['rss']:.1f} | {row['pss']:.1f} | {one:.1f} |")
    print(f"\n{workers['workers']} worker processes: {workers['rss']:,.0f} MB RSS, {workers['pss']:,.0f} MB PSS")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="length of one window, in the processor's time")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=24, help="processes whose memory is told together")
    parser.add_argument("--hold", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=1, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.hold:
        hold(args.hold, args.count)
        return
    rates = {name: speeds(rom, args) for name, rom in (("quest", quest.build()), ("busy", busy.build()))}
    with tempfile.TemporaryDirectory() as folder:
        rows, workers = memory(Path(folder)), workers_memory(Path(folder), args.workers)
    show(rates, rows, workers)
    print(json.dumps({"rates": rates, "memory": rows, "workers": workers}))


if __name__ == "__main__":
    main()
