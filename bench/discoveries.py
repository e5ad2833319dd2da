"""What the discoveries about the course's task change: observation faithful or fixed, the ball's repeated reward on or off.

    python bench/discoveries.py --seeds 16 --out discoveries.json --plot docs/images/discoveries.svg
    python bench/discoveries.py --read discoveries.json --plot docs/images/discoveries.svg

Every setting trains with the PPO settings of the preset `redblue`, all seeds vmapped in one program (a minute on a GPU,
long on a CPU), and is judged twice: by the course's thresholds and by the honest ones of `redblue-honest`. Prints a table
in Markdown; the JSON has the curves too. The drawing is in `discoveries_plot.py`. Needs nothing but the engine.
"""

import argparse
import itertools
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import discoveries_plot
import population
from courtside.health.verdict import Verdict
from courtside.settings.config import Config, override
from courtside.settings.presets import find_preset

CURVE_POINTS = 50
LENGTH, RETURN, EPISODES = "charts/episodic_length", "charts/episodic_return", "charts/episodes"


@dataclass(frozen=True)
class Setting:
    """One row of the table."""

    name: str
    observation: str
    encoding: str
    ball_pays: str


OBSERVATIONS = {
    "double-one-hot": "faithful: the course's own array",
    "blurred": "faithful: the same knowledge in small",
    "one-hot": "fixed: encoded once",
    "kinds": "fixed: the same knowledge in small",
}
SETTINGS = tuple(
    Setting(f"{encoding}, ball pays {pays}", told, encoding, pays)
    for pays in ("always", "once")
    for encoding, told in OBSERVATIONS.items()
)


def run(setting: Setting, num_seeds: int, total_timesteps: int | None) -> dict[str, Any]:
    options = (f"encoding={setting.encoding}", f"ball_pays={setting.ball_pays}")
    config = override(find_preset("redblue"), env_options=options)
    if total_timesteps:
        config = override(config, total_timesteps=total_timesteps)
    trained = population.train_all(config, range(1, num_seeds + 1))
    honest = find_preset("redblue-honest").thresholds
    last = max(1, config.thresholds[0].window_steps // config.batch_size)
    return {
        "setting": vars(setting),
        "seeds": num_seeds,
        "steps": config.num_updates * config.batch_size,
        "seconds": trained.seconds,
        "course": summarize(population.judge(config, trained)),
        "honest": summarize(population.judge(config, trained, honest)),
        "return": quartiles(final_means(trained, RETURN, last)),
        "length": quartiles(final_means(trained, LENGTH, last)),
        "curve": make_curve(config, trained),
    }


def summarize(verdicts: list[Verdict]) -> dict[str, Any]:
    """How many seeds pass at the end, and the median of steps until they first did."""
    steps = [float("inf") if v.steps_to_pass is None else v.steps_to_pass for v in verdicts]
    median = statistics.median(steps)
    return {
        "passed": sum(verdict.passed for verdict in verdicts),
        "median_steps_to_pass": None if median == float("inf") else median,
        "steps_to_pass": [verdict.steps_to_pass for verdict in verdicts],
    }


def final_means(trained: population.Trained, metric: str, last: int) -> np.ndarray:
    """Mean over the episodes of the last updates. [seeds]"""
    return mean_over_episodes(trained, metric, slice(-last, None))


def mean_over_episodes(trained: population.Trained, metric: str, where: slice) -> np.ndarray:
    """Each episode counts once; NaN for a seed in which none ended there. [seeds]"""
    episodes = trained.stacked(EPISODES)[:, where]
    paid = np.where(episodes > 0, trained.stacked(metric)[:, where], 0.0) * episodes
    count = episodes.sum(axis=1)
    return np.where(count > 0, paid.sum(axis=1) / np.maximum(count, 1), np.nan)


def quartiles(values: np.ndarray) -> list[float | None]:
    """First quartile, median, third quartile over the seeds that have a value."""
    found = values[np.isfinite(values)]
    return [round(float(q), 4) for q in np.percentile(found, (25, 50, 75))] if len(found) else [None] * 3


def make_curve(config: Config, trained: population.Trained) -> dict[str, list[Any]]:
    """Quartiles of the return along the run."""
    edges = np.linspace(0, config.num_updates, min(CURVE_POINTS, config.num_updates) + 1).astype(int)
    pieces = [slice(first, last) for first, last in itertools.pairwise(edges)]
    return {
        "step": [int(edge) * config.batch_size for edge in edges[1:]],
        "return": [quartiles(mean_over_episodes(trained, RETURN, piece)) for piece in pieces],
        "length": [quartiles(mean_over_episodes(trained, LENGTH, piece)) for piece in pieces],
    }


def row(record: dict[str, Any]) -> str:
    setting, seeds = record["setting"], record["seeds"]
    cells = [f"`{setting['encoding']}` ({setting['observation']})", setting["ball_pays"]]
    for judge in ("course", "honest"):
        median = record[judge]["median_steps_to_pass"]
        cells += [f"{record[judge]['passed']} of {seeds}", "" if median is None else f"{median:,.0f}"]
    cells += [_spread(record["return"], ".2f"), _spread(record["length"], ".0f")]
    return "| " + " | ".join(cells) + " |"


def _spread(three: list[float | None], form: str) -> str:
    if three[1] is None:
        return ""
    low, middle, high = (format(value, form) for value in three)
    return f"{middle} ({low} to {high})"


def print_table(records: list[dict[str, Any]]) -> None:
    heads = ("observation", "ball pays", "pass as the course judges", "median steps", "pass honestly", "median steps")
    heads += ("return at the end", "length at the end")
    print("| " + " | ".join(heads) + " |", "|---" * len(heads) + "|", *map(row, records), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--total-timesteps", type=int, help="another length than the preset's")
    parser.add_argument("--only", default="", help="only settings whose name contains this")
    parser.add_argument("--read", type=Path, help="take the records from this file instead of training")
    parser.add_argument("--out", type=Path, help="write the records here")
    parser.add_argument("--plot", type=Path, help="draw the curves into this SVG file")
    args = parser.parse_args()
    if args.read:
        records = json.loads(args.read.read_text())
    else:
        records = []
        for setting in (setting for setting in SETTINGS if args.only in setting.name):
            records.append(run(setting, args.seeds, args.total_timesteps))
            print(f"{setting.name}: {records[-1]['compile_s']:.0f} + {records[-1]['seconds']:.0f} s", flush=True)
            if args.out:
                args.out.write_text(json.dumps(records, indent=1))
    print_table(records)
    if args.plot:
        args.plot.parent.mkdir(parents=True, exist_ok=True)
        args.plot.write_text(discoveries_plot.draw(records))


if __name__ == "__main__":
    main()
