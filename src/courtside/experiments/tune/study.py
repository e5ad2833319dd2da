"""Optuna: it suggests settings and keeps the trials, in one SQLite file that its own dashboard reads.

A batch is asked for in memory, from the trials that are finished, with a sampler made anew from (seed, stage, batch): a
search that was killed asks for the same settings again. All settings of a batch share one shape where that can be, so that
they train in one program: the first batches try one shape each, later ones the shape that the sampler likes best.
"""

from __future__ import annotations

import math
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from courtside.errors import CheckpointError, ConfigError
from courtside.experiments.tune.objective import Score
from courtside.experiments.tune.space import Range, Space, drawn_value, from_json, round_settings, shapes
from courtside.experiments.tune.trials import STUDY, Search, Settings, Stage, Trial, read_search

NAME = "courtside"
CURVE_POINTS = 5
"""Points of each trial's learning curve that are kept in the study."""


def load_optuna() -> Any:
    """Optuna, silenced; one sentence where it is not installed."""
    try:
        import optuna
    except ImportError as error:
        raise ConfigError('A search needs Optuna, which is not installed: pip install "courtside[tune]".') from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def distributions(space: Space) -> dict[str, Any]:
    """The space as Optuna has it."""
    return {part.study_name: _distribution(part) for part in space}


def _distribution(part: Any) -> Any:
    kinds = load_optuna().distributions
    if not isinstance(part, Range):
        return kinds.CategoricalDistribution(part.values)
    if part.whole:
        return kinds.IntDistribution(int(part.low), int(part.high), log=part.log)
    if part.from_one:
        return kinds.FloatDistribution(1 - part.high, 1 - part.low, log=True)
    return kinds.FloatDistribution(part.low, part.high, log=part.log)


# --- asking --------------------------------------------------------------------------------------------------------


def ask_batch(space: Space, seed: int, stage: Stage, batch: int, finished: Sequence[Trial]) -> list[Settings]:
    """The settings of one batch of the first stage; the same arguments give the same settings."""
    optuna = load_optuna()
    count = min(stage.batch, stage.trials - batch * stage.batch)
    sampler_seed = int(np.random.SeedSequence([seed, stage.number, batch]).generate_state(1)[0])
    study = optuna.create_study(direction="maximize")
    scored = [trial for trial in finished if math.isfinite(trial.score)]
    study.add_trials([_frozen(space, trial.settings, value=trial.score) for trial in scored])
    sampler = optuna.samplers.TPESampler(
        seed=sampler_seed, multivariate=True, constant_liar=True, n_startup_trials=max(4, stage.trials // 4)
    )
    shape = _shape(study, sampler, space, seed, stage, batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler(shape, sampler) if shape else sampler
    trials = [study.ask(distributions(space)) for _ in range(count)]
    return [round_settings(space, trial.params) for trial in trials]


def _shape(study: Any, sampler: Any, space: Space, seed: int, stage: Stage, batch: int) -> Settings:
    """What all settings of a batch share: each shape once, then what the sampler suggests."""
    combinations = shapes(space)
    if not combinations[0]:
        return {}
    num_batches = -(-stage.trials // stage.batch)
    if batch < min(len(combinations), max(1, num_batches // 2)):
        return combinations[int(np.random.default_rng([seed, 0x54A9]).permutation(len(combinations))[batch])]
    study.sampler = sampler
    suggested = study.ask(distributions(space))
    study.tell(suggested, state=load_optuna().trial.TrialState.FAIL)
    return {name: suggested.params[name] for name in combinations[0]}


def _frozen(space: Space, settings: Settings, **facts: Any) -> Any:
    """Settings as a trial of Optuna's."""
    drawn = {part.study_name: drawn_value(part, settings[part.name]) for part in space}
    return load_optuna().trial.create_trial(params=drawn, distributions=distributions(space), **facts)


# --- keeping -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Book:
    """Where the trials are kept, as Optuna's own objects."""

    study: Any
    storage: Any


@contextmanager
def open_book(run_dir: str | Path, search: Search | None = None) -> Iterator[Book]:
    """The study of a search folder; a file of another preset is refused."""
    optuna, path = load_optuna(), Path(run_dir) / STUDY
    search = read_search(run_dir) if search is None else search
    try:
        storage = optuna.storages.RDBStorage(f"sqlite:///{path}", engine_kwargs={"creator": lambda: _connect(path)})
        study = optuna.create_study(storage=storage, study_name=NAME, direction="maximize", load_if_exists=True)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("sqlite3", "sqlalchemy", "optuna", "alembic"):
            raise
        raise CheckpointError(
            f"{path} cannot be read: it is damaged, or not a study of Optuna ({type(error).__name__}). Delete it: "
            "`courtside resume` makes it anew from what lies in stages/."
        ) from error
    try:
        _check_owner(path, study, search)
        yield Book(study, storage)
    finally:
        storage.remove_session()
        storage.engine.dispose()


def _connect(path: Path) -> sqlite3.Connection:
    """Without a sync at every write: a kill loses nothing, and what a power cut spoils is made anew from the stages."""
    connection = sqlite3.connect(path, timeout=60)
    connection.execute("PRAGMA synchronous=OFF")
    return connection


def _check_owner(path: Path, study: Any, search: Search) -> None:
    """Claim a new study for the search's preset, refuse one that belongs to another."""
    owner = study.user_attrs.get("preset")
    names = sorted(part.name for part in from_json(search.space))
    if owner is None:
        study.set_user_attr("preset", search.preset)
        study.set_user_attr("space", names)
    elif owner != search.preset:
        raise ConfigError(
            f"{path} holds a search for the preset {owner!r}, but this search is for {search.preset!r}; "
            "put the right file back, or start a new search."
        )
    elif study.user_attrs.get("space") != names:
        raise ConfigError(
            f"{path} holds a search over {', '.join(study.user_attrs.get('space', []))}, but this one is over "
            f"{', '.join(names)}; put the right file back, or start a new search."
        )


def start_trials(book: Book, space: Space, first: int, settings: Sequence[Settings], facts: Sequence[Settings]) -> None:
    """Enter the trials of a batch as running; those that are there already stay."""
    running = load_optuna().trial.TrialState.RUNNING
    for i in range(len(book.study.get_trials(deepcopy=False)) - first, len(settings)):
        attrs = {"settings": settings[i], **facts[i]}
        book.study.add_trial(_frozen(space, settings[i], state=running, user_attrs=attrs))


def finish_trial(book: Book, number: int, score: Score, curve: Sequence[tuple[int, float]]) -> None:
    """Tell the score of a trial, unless it is told already."""
    states = load_optuna().trial.TrialState
    if book.study.get_trials(deepcopy=False)[number].state.is_finished():
        return
    storage = book.storage
    trial = storage.get_trial_id_from_study_id_trial_number(storage.get_study_id_from_name(NAME), number)
    for step, value in curve:
        storage.set_trial_intermediate_value(trial, step, value)
    for name in ("pass_share", "worst_tenth", "steps_to_pass"):
        storage.set_trial_user_attr(trial, name, getattr(score, name))
    if math.isfinite(score.score):
        storage.set_trial_state_values(trial, states.COMPLETE, [score.score])
    else:
        storage.set_trial_state_values(trial, states.FAIL)


def read_trials(run_dir: str | Path) -> list[Trial]:
    """Every finished trial of a search, in order; those that came to nothing have a score of minus infinity."""
    with open_book(run_dir) as book:
        return list_trials(book)


def list_trials(book: Book) -> list[Trial]:
    return [_trial(frozen) for frozen in book.study.get_trials(deepcopy=False) if frozen.state.is_finished()]


def _trial(frozen: Any) -> Trial:
    attrs = frozen.user_attrs
    alike = ("stage", "settings", "pass_share", "worst_tenth", "steps_to_pass", "steps", "origin")
    score = -math.inf if frozen.value is None else frozen.value
    return Trial(
        number=frozen.number, score=score, seeds=tuple(attrs["seeds"]), **{name: attrs[name] for name in alike}
    )
