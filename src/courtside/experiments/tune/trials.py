"""What a search knows, as plain records: the stages it plans, the trials it made, the final round. No JAX, no Optuna.

`search.json` in the run folder is a `Search`; the trials themselves are in Optuna's file (`study.read_trials`).
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from courtside import files
from courtside.errors import CheckpointError
from courtside.settings import config as configs
from courtside.settings.config import Config

FORMAT = 1
SEARCH = "search.json"
STUDY = "study.sqlite3"
STAGES = "stages"
WINNER, PRESET = "winner", "preset"
"""Rows that every final round has."""

Settings = dict[str, Any]
"""Setting -> value, by the flat names of the flags: a number, a text, True or False."""


@dataclass(frozen=True)
class Stage:
    """One round of the search: `trials` settings, each trained for `steps` environment steps with `seeds` seeds."""

    number: int
    """From 1 on."""
    trials: int
    steps: int
    seeds: int
    batch: int
    """Settings asked for together, so that the later batches learn from the earlier ones."""

    @property
    def work(self) -> int:
        """Environment steps in all."""
        return self.trials * self.steps * self.seeds


@dataclass(frozen=True)
class Trial:
    """One setting in one stage, trained with every seed of that stage."""

    number: int
    """In the study; later stages have numbers of their own."""
    stage: int
    settings: Settings
    """What was searched, by name; all else is as in the search's config."""
    seeds: tuple[int, ...]
    score: float
    """What the search maximises, see `objective`; higher is better."""
    pass_share: float
    """Share of the seeds whose verdict is a pass; 0 where there are no thresholds."""
    worst_tenth: float
    """How near the worst tenth of the seeds came to the thresholds, 0 to 1; their return where there are none."""
    steps_to_pass: float | None
    """Median over the seeds that pass; None where none does."""
    steps: int
    """Length of each run."""
    origin: int | None = None
    """Number of the stage-1 trial that brought this setting up; its own in stage 1."""


@dataclass(frozen=True)
class FinalRow:
    """One setting in the final round, on seeds that no stage has seen."""

    name: str
    """`winner`, `preset`, or the name of a file given with --compare."""
    settings: Settings
    """What differs from the search's config."""
    config: dict[str, Any]
    """Every setting, as `config.to_json` writes it."""
    seeds: tuple[int, ...]
    passed: tuple[bool, ...]
    """By seed."""
    steps_to_pass: tuple[int | None, ...]
    """By seed."""
    returns: tuple[float | None, ...]
    """By seed: mean return of the last window."""
    score: float
    pass_share: float
    worst_tenth: float
    steps: int


@dataclass(frozen=True)
class Search:
    """Everything about a search but its trials."""

    config: dict[str, Any]
    """What every trial starts from, as `config.to_json` writes it."""
    space: tuple[Settings, ...]
    """The search space, as `space.to_json` writes it."""
    asked: dict[str, Any]
    """What was typed: budget_seconds, trials, stages, seeds_per_trial, seed."""
    compare: dict[str, Settings]
    """Further rows of the final round: name -> settings."""
    device: str = ""
    width: int = 0
    """Members trained at once; kept, so that a search which goes on elsewhere finds its waves as they were."""
    stages: tuple[Stage, ...] = ()
    """The plan; empty until it is decided."""
    final_seeds: tuple[int, ...] = ()
    """The fresh seeds of the final round."""
    rival_seeds: int = 16
    """How many of them the rows get that the winner is compared with."""
    seconds: float = 0.0
    """Spent so far, over all sittings."""
    winner: int | None = None
    """Number of the trial that won; None before the last stage is over."""
    finals: tuple[FinalRow, ...] = ()
    finished: bool = False

    @property
    def base(self) -> Config:
        return configs.from_json(json.loads(json.dumps(self.config)))

    @property
    def preset(self) -> str:
        return str(self.config.get("preset", "custom"))


def write_search(run_dir: str | Path, search: Search) -> None:
    files.write_json(Path(run_dir) / SEARCH, {"format": FORMAT, **asdict(search)})


def is_search(run_dir: str | Path) -> bool:
    """Whether a run folder is that of a search."""
    return (Path(run_dir) / SEARCH).is_file()


def read_search(run_dir: str | Path) -> Search:
    """What `write_search` wrote, or one sentence why it cannot be read."""
    path = Path(run_dir) / SEARCH
    if not path.exists():
        raise CheckpointError(f"{run_dir} is not the folder of a search: it has no {SEARCH}.")
    try:
        record = json.loads(path.read_text())
        version = int(record.pop("format"))
        if version <= FORMAT:
            return _search(record)
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise CheckpointError(f"{path} cannot be read ({error}); it was changed by hand or damaged.") from error
    raise CheckpointError(
        f"{path} has format {version}, but this courtside reads formats up to {FORMAT}. Update courtside to use this search."
    )


def _search(record: dict[str, Any]) -> Search:
    record["stages"] = tuple(Stage(**stage) for stage in record["stages"])
    for row in record["finals"]:  # what is not a number was written as text
        row |= {name: float(row[name]) for name in ("score", "worst_tenth")}
    record["finals"] = tuple(FinalRow(**_tupled(FinalRow, row)) for row in record["finals"])
    return Search(**_tupled(Search, record))


def _tupled(kind: type, record: dict[str, Any]) -> dict[str, Any]:
    """JSON knows lists only."""
    tuples = {field.name for field in fields(kind) if str(field.type).startswith("tuple")}
    return {name: tuple(value) if name in tuples else value for name, value in record.items()}


def place_of(trial: Trial, winner: int | None) -> tuple[Any, ...]:
    """What trials are ordered by; one whose score is not a number comes last of its stage."""
    score = trial.score if math.isfinite(trial.score) else -math.inf
    return (trial.number != winner, -trial.stage, -score, trial.number)
