"""Measured bands: how a preset's runs spread over many seeds of the untouched code, and what an edited one is held against.

A band is a JSON file in `bands/` beside this module, one per preset, made by `bench/bands.py`. A run is cut into spans of
updates, and each metric becomes one number per span. The first part of the run is kept seed by seed, because a test needs
the single seeds; of the whole run only quantiles are kept. Numbers have four digits, measured and stored alike.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from jaxtyping import Float

from courtside.errors import ConfigError
from courtside.settings import config as configs
from courtside.settings.config import Config
from courtside.settings.metric_names import LEARNING_STEPS, count_of, is_of_learning, is_per_episode

FORMAT = 1
FOLDER = "bands"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
FIRST_POINTS, WHOLE_POINTS = 16, 20
FIRST_SHARE, FIRST_STEPS = 0.25, 200_000
"""The first part is this share of the plan, and about this many environment steps at most."""

METRICS = (
    "charts/episodic_return", "charts/episodic_length", "losses/entropy", "losses/approx_kl", "losses/clipfrac",
    "losses/explained_variance", "losses/value_loss", "losses/policy_loss", "losses/grad_norm", "charts/score",
    "losses/critic_loss", "losses/actor_loss", "losses/td_error", "losses/critic_grad_norm", "losses/actor_grad_norm",
    "losses/value_std", "losses/target_mean", "losses/target_gap", "health/mass_first", "health/mass_last",
    "health/noise_effect", "charts/noise_scale", "replay/age",
)  # fmt: skip
"""What is compared, of what the algorithm and the world have; each agent's return comes on top where there are several."""

Columns = Mapping[str, np.ndarray]
"""One array per metric, one entry per update."""


@dataclass(frozen=True)
class Band:
    """How the seeds of a preset spread."""

    preset: str
    settings: dict[str, Any]
    """What decides the course of a run: the preset's settings when the band was made."""
    seeds: tuple[int, ...]
    ends: tuple[int, ...]
    """The update that each span of the first part ends with."""
    first: dict[str, Float[np.ndarray, "seeds points"]]
    """Metric -> one number per seed and span; NaN where the metric had no value."""
    whole_ends: tuple[int, ...]
    whole: dict[str, list[list[float | None]]]
    """Metric -> the QUANTILES over the seeds, one list per span of the whole run."""
    steps_to_pass: tuple[int | None, ...]
    """Environment steps at which each seed first passed its verdict; None where it never did."""
    made: dict[str, Any]
    """When, by which command, on what and with which versions."""


def first_ends(config: Config) -> tuple[int, ...]:
    """Where the spans of the first part end: short ones at the start, where a run changes fastest."""
    wanted = min(FIRST_SHARE * config.num_updates, FIRST_STEPS / config.batch_size)
    last = min(config.num_updates, max(FIRST_POINTS, round(wanted)))
    edges = np.arange(1, FIRST_POINTS + 1) / FIRST_POINTS
    return tuple(np.unique(np.ceil(last * edges**1.5 - 1e-9).astype(int)).tolist())


def whole_ends(config: Config) -> tuple[int, ...]:
    """Where the spans of the whole run end: all alike."""
    edges = np.arange(1, WHOLE_POINTS + 1) / WHOLE_POINTS
    return tuple(np.unique(np.ceil(config.num_updates * edges - 1e-9).astype(int)).tolist())


def measured_names(columns: Columns) -> list[str]:
    """The metrics that are compared, of those which a run logs."""
    agents = [name for name in columns if name.startswith("agents/") and name.endswith("/episodic_return")]
    return [name for name in METRICS if name in columns] + agents


def measure(columns: Columns, ends: Sequence[int]) -> dict[str, Float[np.ndarray, "points"]]:
    """One number per metric and span: its mean, over the episodes that ended where it is a metric of episodes, over the
    updates that learned where it is one of gradient steps."""
    return {
        name: _span_means(np.asarray(columns[name], np.float64), _weight(columns, name), ends)
        for name in measured_names(columns)
    }


def _weight(columns: Columns, name: str) -> np.ndarray | None:
    """How much each update counts; None where all count alike."""
    if is_per_episode(name):
        return np.asarray(columns[count_of(name)], np.float64)
    if LEARNING_STEPS in columns and is_of_learning(name):
        return (np.asarray(columns[LEARNING_STEPS]) > 0).astype(np.float64)
    return None


def _span_means(values: np.ndarray, weight: np.ndarray | None, ends: Sequence[int]) -> np.ndarray:
    weight = np.ones_like(values) if weight is None else weight
    means = []
    for first, last in zip((0, *ends), ends, strict=False):
        counted = weight[first:last] > 0
        value, count = values[first:last][counted], weight[first:last][counted]
        means.append(float(np.sum(value * count) / np.sum(count)) if count.size else np.nan)
    return four_digits(np.asarray(means))


def four_digits(values: np.ndarray) -> np.ndarray:
    """Rounded to four significant digits, as a band keeps its numbers."""
    return np.asarray([float(f"{value:.4g}") for value in values.ravel()]).reshape(values.shape)


def fresh_seeds(band: Band, count: int, first: int = 1) -> list[int]:
    """Seeds that the band was not made of, from `first` upwards."""
    candidates = (seed for seed in range(first, first + count + len(band.seeds)) if seed not in band.seeds)
    return [seed for seed, _ in zip(candidates, range(count), strict=False)]


def settings_of(config: Config) -> dict[str, Any]:
    """The settings that decide the course of a run, as JSON data."""
    record = json.loads(json.dumps(configs.to_json(config)))
    return {name: record[name] for name in ("env", "net", config.family)} | {
        "run": {"total_timesteps": config.run.total_timesteps, "algo": config.run.algo}
    }


def settings_changes(band: Band, config: Config) -> list[str]:
    """What the preset says now and said otherwise when the band was made; settings that only one of them knows are left out."""
    now = settings_of(config)
    return [
        f"{name} was {before}, is {now[group][name]}"
        for group, values in band.settings.items()
        for name, before in values.items()
        if name in now.get(group, {}) and now[group][name] != before
    ]


def band_names() -> list[str]:
    """The presets that have a band."""
    folder = resources.files("courtside.settings.presets") / FOLDER
    if not folder.is_dir():
        return []
    return sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))


def find_band(preset: str) -> Band:
    """The band of a preset, or an error that names those which have one."""
    if preset not in band_names():
        raise ConfigError(
            f"The preset {preset!r} has no measured band to be held against; "
            f"these have one: {', '.join(band_names()) or 'none'}. `python bench/bands.py {preset}` makes it."
        )
    text = (resources.files("courtside.settings.presets") / FOLDER / f"{preset}.json").read_text()
    return from_json(json.loads(text))


def to_json(band: Band) -> dict[str, Any]:
    """The band as JSON data: numbers that are not there are null."""
    fields = {field.name: getattr(band, field.name) for field in dataclasses.fields(band)}
    first = {name: [[_or_null(x) for x in row] for row in rows.tolist()] for name, rows in band.first.items()}
    return {"format": FORMAT} | fields | {"first": first}


def _or_null(value: float) -> float | int | None:
    """Whole numbers without their `.0`, which would be a sixth of the file."""
    if not np.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < 1e6 else value


def from_json(record: dict[str, Any]) -> Band:
    """Read back what `to_json` wrote."""
    if record.get("format") != FORMAT:
        raise ConfigError(
            f"The band is of format {record.get('format')!r}, this version reads {FORMAT}; make it anew with bench/bands.py."
        )
    return Band(
        preset=record["preset"], settings=record["settings"], seeds=tuple(record["seeds"]), ends=tuple(record["ends"]),
        first={name: np.asarray(rows, np.float64) for name, rows in record["first"].items()},
        whole_ends=tuple(record["whole_ends"]), whole=record["whole"], steps_to_pass=tuple(record["steps_to_pass"]),
        made=record["made"],
    )  # fmt: skip
