"""A search as it would end, made up from a known truth: the score depends on the learning rate and a little on gamma."""

import json
import math
from pathlib import Path

import numpy as np

from courtside.experiments.tune.curves import make_curve
from courtside.experiments.tune.space import changes, default_space, round_settings
from courtside.experiments.tune.space import to_json as space_to_json
from courtside.experiments.tune.trials import FinalRow, Search, Stage, Trial
from courtside.settings.config import Config, override, to_json
from courtside.settings.presets import find_preset

BASE = find_preset("redblue")
SPACE = default_space(BASE)
FINAL_SEEDS = tuple(range(900, 916))


def truth(settings: dict) -> float:
    """Best at a learning rate of 1e-3 and gamma of 0.95."""
    rate = (math.log10(settings["learning_rate"]) + 3) ** 2
    far = (math.log10(1 - settings["gamma"]) - math.log10(0.05)) ** 2
    return 2.0 * math.exp(-2.0 * rate - 0.5 * far)


def draw(generator: np.random.Generator) -> dict:
    drawn = {}
    for part in SPACE:
        if hasattr(part, "values"):
            drawn[part.name] = part.values[generator.integers(len(part.values))]
        elif part.from_one:
            drawn[part.study_name] = math.exp(generator.uniform(math.log(1 - part.high), math.log(1 - part.low)))
        elif part.log:
            drawn[part.name] = math.exp(generator.uniform(math.log(part.low), math.log(part.high)))
        else:
            drawn[part.name] = generator.uniform(part.low, part.high + part.whole * 0.999)
    return round_settings(SPACE, drawn)


def make_trials(count: int) -> tuple[Trial, ...]:
    """Three stages, each with the best eighth of the one before."""
    generator = np.random.default_rng(1)
    trials = [make_trial(i, 1, draw(generator), generator) for i in range(count)]
    stage, field = 1, trials
    while stage < 3 and len(field) >= 8:
        stage += 1
        best = sorted(field, key=lambda trial: -trial.score)[: len(field) // 8]
        field = [
            make_trial(len(trials) + i, stage, t.settings, generator, t.number if t.origin is None else t.origin)
            for i, t in enumerate(best)
        ]
        trials += field
    return tuple(trials)


def make_trial(number: int, stage: int, settings: dict, generator, origin: int | None = None) -> Trial:
    score = float(np.clip(truth(settings) + 0.08 * generator.normal(), 0.0, 2.1))
    seeds = tuple(range(1, 2**stage + 1))
    share = round(min(1.0, score / 2) * len(seeds)) / len(seeds)
    steps = 300_000 * stage
    return Trial(
        number, stage, settings, seeds, score, share, min(1.0, score / 2), 0.6 * steps if share else None, steps, origin
    )


def make_search(trials: tuple[Trial, ...], **changed) -> Search:
    winner = max((trial for trial in trials if trial.stage == 3), key=lambda trial: trial.score)
    student = {"learning_rate": 3e-4, "gamma": 0.98, "num_envs": 8, "num_steps": 128, "target_kl": 0.02}
    finals = (
        make_final("winner", winner.settings, 16),
        make_final("preset", {}, 15),
        make_final("student", student, 2),
    )
    known = {
        "config": to_json(BASE), "space": space_to_json(SPACE), "asked": {"trials": len(trials), "seed": 1}, "compare": {},
        "device": "a made-up chip", "stages": (Stage(1, 256, 300_000, 2, 64), Stage(2, 32, 600_000, 4, 32)),
        "final_seeds": FINAL_SEEDS, "seconds": 123.4, "winner": winner.number, "finals": finals, "finished": True,
    }  # fmt: skip
    return Search(**json_shaped(known | changed))


def json_shaped(known: dict) -> dict:
    """Configs as they come from a file."""
    return known | {"config": json.loads(json.dumps(known["config"]))}


def config_of(settings: dict) -> Config:
    return override(BASE, **changes(BASE, settings))


def make_final(name: str, settings: dict, passed: int) -> FinalRow:
    steps = tuple(700_000 + 10_000 * i if i < passed else None for i in range(16))
    return FinalRow(
        name, settings, json.loads(json.dumps(to_json(config_of(settings)))), FINAL_SEEDS,
        tuple(i < passed for i in range(16)), steps, tuple(2.4 if i < passed else None for i in range(16)),
        passed / 8, passed / 16, passed / 16, 1_500_000,
    )  # fmt: skip


def make_curves(search: Search):
    """Learning curves that rise at another speed in each row."""
    generator = np.random.default_rng(2)
    return [make_curve(row.name, config_of(row.settings), seeds_of(row, generator)) for row in search.finals]


def seeds_of(row: FinalRow, generator: np.random.Generator) -> list[dict[str, np.ndarray]]:
    updates = config_of(row.settings).num_updates
    time = np.linspace(0, 1, updates)
    return [_columns(time * row.pass_share * generator.uniform(0.7, 1.1), generator) for _ in row.seeds]


def _columns(progress: np.ndarray, generator: np.random.Generator) -> dict[str, np.ndarray]:
    risen = 1 / (1 + np.exp(-14 * (progress - 0.35))) + 0.03 * generator.normal(size=progress.size)
    episodes = np.where(risen > 0.05, 40 * np.clip(risen, 0, 1), generator.integers(0, 2, progress.size)).astype(
        np.int32
    )
    return {
        "charts/episodes": episodes,
        "charts/episodic_return": (2.6 * risen).astype(np.float32),
        "charts/episodic_length": (1000 - 970 * np.clip(risen, 0, 1)).astype(np.float32),
        "losses/explained_variance": (risen - 900 * np.exp(-60 * progress)).astype(np.float32),
        "losses/entropy": (1.9 - 1.7 * risen).astype(np.float32),
    }


def made_up(folder: Path, count: int = 256, **changed):
    from courtside.experiments.tune.report import from_trials

    trials = make_trials(count)
    return from_trials(folder, make_search(trials, **changed), trials)
