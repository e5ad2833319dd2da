"""How quickly the page of `courtside watch` gets its answers: many runs, one run, a huge run, a population that trains.

    python bench/watch_speed.py
    python bench/watch_speed.py --rows 1000000
    python bench/watch_speed.py --only population --members 64 --member-rows 4000

Makes run folders as training writes them, starts the real server in a process of its own, and asks it over loopback as a browser
would: the list of `--runs` runs with 1,000 rows each, the first time and again; all that the page of one run asks for when it
opens; the same of a run with `--rows` rows; a population of `--members`, when it opens and whenever each of them has ten more
rows. Medians of `--rounds` fresh servers; memory is the server's peak. The last line is JSON.
"""

import argparse
import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

from courtside.runs import runlog
from courtside.settings.config import Config, override
from courtside.settings.presets import PRESETS

METRICS = [
    "charts/episodic_return", "charts/episodic_length", "charts/episodes", "charts/truncated", "charts/reward",
    "charts/learning_rate", "losses/policy_loss", "losses/value_loss", "losses/entropy", "losses/approx_kl",
    "losses/old_approx_kl", "losses/clipfrac", "losses/explained_variance", "losses/grad_norm", "losses/value_mean",
    "losses/return_mean", "losses/return_std", "losses/param_norm", "health/obs_abs_max", "health/obs_std",
    "health/obs_constant", "health/action_at_bound", "health/first_bad",
]  # fmt: skip
PAGE_SECONDS = 3.1
"""A page asks for a population again after three."""
VISIBLE = METRICS[:8]
"""Charts that are in sight when a page opens."""


def make_run(folder: Path, num_rows: int, config: Config = PRESETS["cartpole"][1]) -> None:
    """A folder as training writes it."""
    folder.mkdir(parents=True)
    runlog.write_config(folder, config)
    write_rows(folder, config, 1, num_rows)


def write_rows(folder: Path, config: Config, first: int, last: int) -> None:
    """What training logs of so many updates."""
    drawn = random.Random(0)
    noise = [{name: drawn.random() for name in METRICS} for _ in range(200)]
    with open(folder / runlog.METRICS, "a") as metrics, open(folder / runlog.TIMING, "a") as timing:
        for update in range(first, last + 1):
            now = {"step": update * config.batch_size, "update": update}
            metrics.write(runlog.encode_row(now | noise[update % 200] | {"charts/episodes": 3}) + "\n")
            timing.write(json.dumps(now | {"seconds": 0.01, "steps_per_second": 1e5, "rollout_share": 0.4}) + "\n")


class Population:
    """Members of `redblue`, with its four thresholds, that can be trained on."""

    def __init__(self, folder: Path, num_members: int, num_rows: int) -> None:
        self.folder, self.num_rows = folder, num_rows
        self.config = override(PRESETS["redblue"][1], total_timesteps=10**9)
        self.members = [folder / "members" / f"{i:02d}" for i in range(num_members)]
        for seed, member in enumerate(self.members, start=1):
            make_run(member, num_rows, override(self.config, seed=seed))
        runlog.write_config(folder, override(self.config, seeds=num_members))

    def train_on(self, num_rows: int) -> None:
        for member in self.members:
            write_rows(member, self.config, self.num_rows + 1, self.num_rows + num_rows)
        self.num_rows += num_rows


class Server:
    """`courtside watch` in a process of its own."""

    def __init__(self, runs: Path, *flags: str) -> None:
        command = [sys.executable, "-m", "courtside", "watch", str(runs), "--port", "0", "--no-open", *flags]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = next(word for word in self.process.stdout.readline().split() if word.startswith("http"))
        self.ask("static/page.html")

    def ask(self, path: str, **query: str | list[str]) -> bytes:
        with urllib.request.urlopen(f"{self.address}{path}?{urlencode(query, doseq=True)}") as answer:
            return answer.read()

    def timed(self, *questions: tuple[str, dict]) -> float:
        """Milliseconds until all are answered, one after the other."""
        begun = time.perf_counter()
        for path, query in questions:
            self.ask(path, **query)
        return 1000 * (time.perf_counter() - begun)

    def peak_mb(self) -> float:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1000

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def opening(name: str) -> list[tuple[str, dict]]:
    """What the page of a run asks for when it opens."""
    series = {"metric": VISIBLE, "points": "400"}
    return [(f"api/{question}", {"name": name} | more) for question, more in (("run", {}), ("findings", {}), ("events", {}), ("series", series))]  # fmt: skip


def measure(runs: Path, name: str) -> dict[str, float]:
    server = Server(runs)
    try:
        opened = server.timed(*opening(name))
        again = server.timed(*opening(name))
        return {"opens": opened, "opens again": again, "peak MB": server.peak_mb()}
    finally:
        server.close()


def measure_list(runs: Path) -> dict[str, float]:
    server = Server(runs)
    try:
        first = server.timed(("api/runs", {}))
        return {"lists": first, "lists again": server.timed(("api/runs", {})), "peak MB": server.peak_mb()}
    finally:
        server.close()


def measure_population(population: Population) -> dict[str, float]:
    server = Server(population.folder.parent)
    question = ("api/population", {"name": population.folder.name})
    try:
        opened, followed = server.timed(question), []
        for _ in range(3):
            population.train_on(10)
            time.sleep(PAGE_SECONDS)
            followed.append(server.timed(question))
        return {"opens": opened, "follows": statistics.median(followed), "peak MB": server.peak_mb()}
    finally:
        server.close()


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(found[name] for found in rounds) for name in rounds[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--members", type=int, default=16, help="of a population")
    parser.add_argument("--member-rows", type=int, default=2_000, help="rows of each of them")
    parser.add_argument("--only", choices=["population"], help="leave the rest out")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    found = {} if args.only else measure_runs(args)
    with tempfile.TemporaryDirectory() as folder:
        crowd = Population(Path(folder, "crowd-20260101-000000-000000"), args.members, args.member_rows)
        told = medians([measure_population(crowd) for _ in range(args.rounds)])
        found[f"a population of {args.members} with {args.member_rows:,} rows each"] = told
    for name, figures in found.items():
        told = ", ".join(f"{what} {value:,.0f}{'' if 'MB' in what else ' ms'}" for what, value in figures.items())
        print(f"{name}: {told}")
    print(json.dumps(found))


def measure_runs(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Single runs, many and huge ones."""
    with tempfile.TemporaryDirectory() as folder:
        many, huge = Path(folder, "many"), Path(folder, "huge")
        make_run(many / "run-20260101-000000-000000", 1_000)
        for i in range(1, args.runs):
            shutil.copytree(many / "run-20260101-000000-000000", many / f"run-20260101-000000-{i:06x}")
        make_run(huge / "huge", args.rows)
        size = (huge / "huge" / runlog.METRICS).stat().st_size / 1e6
        return {
            f"{args.runs} runs": medians([measure_list(many) for _ in range(args.rounds)]),
            "one run of 1,000 rows": medians([measure(many, "run-20260101-000000-000000") for _ in range(args.rounds)]),
            f"one run of {args.rows:,} rows ({size:,.0f} MB)": medians(
                [measure(huge, "huge") for _ in range(args.rounds)]
            ),
        }


if __name__ == "__main__":
    main()
