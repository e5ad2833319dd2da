"""What it costs a run to be watched: steps per second with the page's wall open, beside the same run with nobody looking.

    python bench/watch_cost.py
    python bench/watch_cost.py --preset breakout --steps 20480 --rounds 3

Runs take turns, watched and not. A watched one has `courtside watch` in a process of its own, and one that asks for the wall, its
picture and the newest curves three times a second, as a browser does that has the wall and the run's page open. A run with
nobody looking leaves no states for the wall either, so that this is measured too. Figures are medians over the rounds of
steps per second after the first third of the run. The last line is JSON.
"""

import argparse
import json
import statistics
import tempfile
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import courtside
from courtside.runs.events import Event, Progress
from courtside.training import wall
from watch_speed import Server

ASK_SECONDS = 0.33


class Stopwatch:
    """Steps and seconds of every chunk."""

    def __init__(self) -> None:
        self.chunks: list[tuple[int, float]] = []

    def on(self, event: Event) -> None:
        if isinstance(event, Progress):
            self.chunks.append((event.step, event.seconds))

    def speed(self) -> float:
        last = self.chunks[-1][0]
        late = [(step, seconds) for step, seconds in self.chunks if step > last / 3]
        return (late[-1][0] - late[0][0]) / sum(seconds for _, seconds in late[1:])


class Looker(threading.Thread):
    """A browser, as far as the server sees it."""

    def __init__(self, server: Server, runs: Path) -> None:
        super().__init__(daemon=True)
        self.server, self.runs, self.over, self.looks = server, runs, threading.Event(), 0

    def run(self) -> None:
        while not self.over.wait(ASK_SECONDS):
            for run in self.runs.glob("*/metrics.jsonl"):
                self.look({"name": run.parent.name})

    def look(self, name: dict[str, str]) -> None:
        try:
            for question in ("wall", "wall.png", "series"):
                query = urlencode(name | {"metric": ["charts/episodic_return", "losses/entropy"]}, doseq=True)
                urllib.request.urlopen(f"{self.server.address}api/{question}?{query}", timeout=60).read()
            self.looks += 1
        except (urllib.error.URLError, OSError):
            pass


def train(args: argparse.Namespace, is_watched: bool) -> dict:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder)) if is_watched else None
        looker = Looker(server, Path(folder)) if server else None
        find_stage = wall.find_stage
        wall.find_stage = find_stage if is_watched else lambda engine, folder: None
        if looker:
            looker.start()
        watch = Stopwatch()
        courtside.train(args.preset, view=watch, total_timesteps=args.steps, runs_dir=folder, eval_every=0)
        wall.find_stage = find_stage
        if looker and server:
            looker.over.set()
            looker.join()
            server.close()
    return {"speed": watch.speed(), "looks": looker.looks if looker else 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="redblue")
    parser.add_argument("--steps", type=int, default=1_500_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    train(args, False)  # compiles
    found: dict[bool, list[dict]] = {False: [], True: []}
    for _ in range(args.rounds):
        for is_watched in (False, True):
            found[is_watched].append(train(args, is_watched))
            print(f"{'watched' if is_watched else 'alone'}: {found[is_watched][-1]}", flush=True)
    alone, watched = (statistics.median(one["speed"] for one in found[key]) for key in (False, True))
    print(f"{args.preset}: alone {alone:,.0f} steps/s, watched {watched:,.0f}: {watched / alone:.3f} of it")
    print(json.dumps({"alone": found[False], "watched": found[True], "ratio": watched / alone}))


if __name__ == "__main__":
    main()
