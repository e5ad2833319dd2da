"""Measure the bands that `courtside verify` holds an edited code against: each preset, whole, over many seeds.

    python bench/bands.py                      every preset; meant for a GPU (minutes there)
    python bench/bands.py cartpole pendulum    some of them
    python bench/bands.py cartpole --seeds 8 --out /tmp/bands

Run it on code that is known to be sound, since whatever it does becomes the measure. The seeds begin at 10,001, far from
those that people train with. Needs nothing but the engine: JAX, Equinox, Optax, safetensors, Rich and NumPy.
"""

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import jax
import numpy as np

from courtside import __version__, files
from courtside.engines import backend
from courtside.experiments import bands
from courtside.experiments.bands import Band
from courtside.experiments.population.batch import Columns, member_rows, train_members
from courtside.experiments.verify import with_seed
from courtside.health.verdict import VerdictTracker
from courtside.settings.config import Config
from courtside.settings.presets import PRESETS, find_preset

FIRST_SEED = 10_001
MANY, FEWER, LONG = 32, 16, 5_000_000
"""Seeds of a preset, and of one that takes more than LONG steps."""
OUT = Path(__file__).parent.parent / "src" / "courtside" / "presets" / bands.FOLDER


def main() -> None:
    args = read_args()
    # The nets are small: full float32 products cost nothing, and the band must not hang on what a GPU rounds away.
    jax.config.update("jax_default_matmul_precision", "highest")
    files.make_folder(args.out)
    for preset in args.presets or PRESETS:
        start = time.perf_counter()
        band = measure_band(find_preset(preset), args.seeds)
        path = args.out / f"{preset}.json"
        files.write_bytes(path, to_text(band).encode())
        passed = sum(steps is not None for steps in band.steps_to_pass)
        print(
            f"{preset}: {len(band.seeds)} seeds, {passed} passed, {time.perf_counter() - start:.0f} s, "
            f"{path.stat().st_size / 1000:.0f} kB",
            flush=True,
        )


def read_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", metavar="PRESET", nargs="*", help="all of them unless named")
    parser.add_argument("--seeds", type=int, help=f"default: {MANY}, or {FEWER} for more than {LONG:,} steps")
    parser.add_argument("--out", type=Path, default=OUT)
    return parser.parse_args()


def measure_band(config: Config, num_seeds: int | None = None) -> Band:
    """Train all seeds to the end of the plan."""
    count = num_seeds or (FEWER if config.run.total_timesteps > LONG else MANY)
    seeds = range(FIRST_SEED, FIRST_SEED + count)
    start = time.perf_counter()
    columns = train_members([with_seed(config, seed) for seed in seeds], config.num_updates).columns
    return make_band(config, seeds, columns, time.perf_counter() - start)


def make_band(config: Config, seeds: range, columns: list[Columns], seconds: float) -> Band:
    ends, whole_ends = bands.first_ends(config), bands.whole_ends(config)
    first = [bands.measure(one, ends) for one in columns]
    whole = [bands.measure(one, whole_ends) for one in columns]
    names = list(first[0])
    return Band(
        preset=config.preset,
        settings=bands.settings_of(config),
        seeds=tuple(seeds),
        ends=ends,
        first={name: np.stack([one[name] for one in first]) for name in names},
        whole_ends=whole_ends,
        whole={name: quantiles(np.stack([one[name] for one in whole])) for name in names},
        steps_to_pass=tuple(steps_to_pass(config, one) for one in columns),
        made=describe_making(config.preset, len(seeds), seconds),
    )


def quantiles(values: np.ndarray) -> list[list[float | None]]:
    """QUANTILES over the seeds, one list per point; null where not every seed has a value. [seeds, points]"""
    found = bands.four_digits(np.quantile(values, bands.QUANTILES, axis=0).T)
    return [[float(x) if np.isfinite(x) else None for x in point] for point in found]


def steps_to_pass(config: Config, columns: Columns) -> int | None:
    """Until all thresholds held that need no evaluation: these runs have none."""
    thresholds = [threshold for threshold in config.thresholds if not threshold.metric.startswith("eval/")]
    if not thresholds:
        return None
    tracker = VerdictTracker(thresholds)
    tracker.add(member_rows(config, columns))
    return tracker.verdict().steps_to_pass


def describe_making(preset: str, num_seeds: int, seconds: float) -> dict[str, object]:
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "command": f"python bench/bands.py {preset} --seeds {num_seeds}",
        "device": backend.describe_device(),
        "seconds": round(seconds, 1),
        "versions": {
            "courtside": __version__,
            "python": sys.version.split()[0],
            **{name: version(name) for name in ("jax", "jaxlib", "numpy", "optax", "equinox")},
        },
    }


def to_text(band: Band) -> str:
    """JSON with one line per metric: small, and a change can be read in a diff."""
    record = bands.to_json(band)
    parts = []
    for name, value in record.items():
        if name in ("first", "whole"):
            inner = ",\n".join(f"  {json.dumps(key)}: {_compact(rows)}" for key, rows in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {_compact(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


if __name__ == "__main__":
    main()
