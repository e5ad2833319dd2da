"""What stands beside training, each beside what it should be small to: help, logging, Emerald's rewards.

    python bench/small_costs.py

- `courtside --help`, a process from start to end, beside one that does nothing but start Python.
- Writing the rows of a run (metrics, events, TensorBoard) beside training them: CartPole, 4 envs, rollouts of 128.
- A step of Emerald's rewards, six Pokemon and full boxes, on the way over a whole map, beside the 25 frames of its game that lead
  to it (the tests' ROM `busy`, no real cartridge).

Medians over the rounds, which take turns. The last line is JSON.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts" / "gba"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts" / "emerald"))
from homebrew import busy
from plain_state import make_pokemon, make_state

from courtside.hosts.gba.core import Emulator
from courtside.hosts.gba.emerald.rewards import make_rewards
from courtside.runs.runlog import RunLog
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset
from courtside.training import loop

FRAMES_PER_STEP = 25


def seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def help_cost() -> tuple[float, float]:
    """Of the help page, and of Python alone."""
    commands = ["-m", "courtside", "--help"], ["-c", "pass"]
    told, bare = (
        seconds(lambda c=c: subprocess.run([sys.executable, *c], check=True, capture_output=True)) for c in commands
    )
    return told, bare


def plain_config(folder: str) -> Config:
    shape = {"num_envs": 4, "num_steps": 128, "total_timesteps": 200_000, "eval_every": 0}
    return override(find_preset("cartpole"), **shape, runs_dir=folder)


def logging_cost() -> tuple[float, float]:
    """Of the log, and of the training whose rows it writes; seconds of a thousand updates."""
    with tempfile.TemporaryDirectory() as folder:
        config = plain_config(folder)
        log, spent, trained, rows = RunLog.create(config), 0.0, 0.0, 0
        for event in loop.run(config):
            took = seconds(lambda event=event: log.on(event))
            if isinstance(event, loop.Progress):
                spent, trained, rows = spent + took, trained + event.seconds, rows + len(event.rows)
        log.close()
    return 1000 * spent / rows, 1000 * trained / rows


def rewards_cost() -> tuple[float, float]:
    """Of a step's rewards, and of the frames before it."""
    model = make_rewards(gained=lambda pokemon: pokemon.experience)
    party, boxes = tuple(make_pokemon(number=n) for n in range(6)), tuple(make_pokemon() for _ in range(420))
    places = [(x, y) for x in range(0, 40, 2) for y in range(0, 40, 2)]
    states = [make_state(x=x, y=y, party=party, boxes=boxes) for x, y in places]
    paid = statistics.median(seconds(lambda s=s: model.step(s)) for s in states)
    emulator = Emulator(busy.build())
    emulator.run(FRAMES_PER_STEP)
    return paid, statistics.median(seconds(lambda: emulator.run(FRAMES_PER_STEP)) for _ in range(20))


PARTS: dict[str, Callable[[], tuple[float, float]]] = {
    "help, beside starting Python": help_cost,
    "logging of 1,000 updates, beside training them": logging_cost,
    "Emerald's rewards of a step, beside its frames": rewards_cost,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rounds = [{name: measure() for name, measure in PARTS.items()} for _ in range(args.rounds)]
    print("| what | ms | beside, ms | ratio |\n|---|---|---|---|")
    for name in PARTS:
        ours, other = (1000 * statistics.median(found[name][i] for found in rounds) for i in range(2))
        print(f"| {name} | {ours:.3g} | {other:.3g} | {ours / other:.3g} |")
    print(json.dumps(rounds))


if __name__ == "__main__":
    main()
