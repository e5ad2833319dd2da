"""A run as the detectors see it: columns of numbers, one entry per update, and the settings that made them.

What a row does not tell is NaN in its column, so every column of a history is equally long. No JAX here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from courtside.errors import CheckpointError
from courtside.runs import runlog
from courtside.runs.members import FOLDER, member_dirs
from courtside.settings.config import Config
from courtside.settings.turns import config_at

Row = Mapping[str, Any]


@dataclass(frozen=True)
class History:
    """Rows turned into columns."""

    steps: Int[np.ndarray, "U"]
    """Environment steps done at the end of each row."""
    updates: Int[np.ndarray, "U"]
    columns: dict[str, Float[np.ndarray, "U"]] = field(default_factory=dict)
    """Values by name; NaN where a row has none."""

    def __len__(self) -> int:
        return len(self.updates)

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __getitem__(self, name: str) -> Float[np.ndarray, "U"]:
        """A column; NaN throughout where nothing of that name was logged."""
        column = self.columns.get(name)
        return np.full(len(self), np.nan) if column is None else column

    def upto(self, count: int) -> History:
        """The first `count` rows."""
        columns = {name: column[:count] for name, column in self.columns.items()}
        return History(self.steps[:count], self.updates[:count], columns)


@dataclass(frozen=True)
class Case:
    """All that a diagnosis may look at."""

    config: Config
    history: History
    evals: History
    timing: History
    others: tuple[History, ...] = ()
    """Histories of the other members of the population, for what only shows between seeds."""
    finished: bool = False
    """All planned updates are done."""


def make_history(rows: Iterable[Row]) -> History:
    """Columns of rows that have `step` and `update`; text and blanks become NaN."""
    rows = list(rows)
    names = sorted({name for row in rows for name in row} - {"step", "update"})
    columns = {name: np.array([_number(row.get(name)) for row in rows], np.float64) for name in names}
    steps, updates = (np.array([int(row[name]) for row in rows], np.int64) for name in ("step", "update"))
    return History(steps, updates, columns)


def from_columns(columns: Mapping[str, np.ndarray], batch_size: int, first_update: int = 0) -> History:
    """A history from what a population brings home: one array per metric, one entry per update."""
    length = len(next(iter(columns.values()), ()))
    updates = first_update + 1 + np.arange(length, dtype=np.int64)
    return History(updates * batch_size, updates, {n: np.asarray(c, np.float64) for n, c in columns.items()})


def make_case(
    config: Config,
    rows: History | Iterable[Row],
    evals: History | Iterable[Row] = (),
    timing: History | Iterable[Row] = (),
    others: Sequence[History] = (),
    finished: bool | None = None,
) -> Case:
    """A case from rows or ready histories; whether it is finished follows from the last update unless told.

    Its settings are those in force at its end, where some were turned on the way.
    """
    history, evals, timing = (x if isinstance(x, History) else make_history(x) for x in (rows, evals, timing))
    last = int(history.updates[-1]) if len(history) else 0
    done, config = last >= config.num_updates and last > 0, config_at(config, last)
    return Case(config, history, evals, timing, tuple(others), done if finished is None else finished)


def read_columns(run_dir: Path, name: str = runlog.METRICS) -> History:
    """One line file of a run folder as columns, or the reason why it is none."""
    try:
        return make_history(runlog.read_rows(run_dir, name))
    except (OSError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise CheckpointError(
            f"{run_dir / name} cannot be read as rows of numbers with `step` and `update` "
            f"({type(error).__name__}: {error}); it was changed by hand or damaged, so put back a copy of it."
        ) from error


def read_case(run_dir: str | Path, siblings: bool = True) -> Case:
    """The case of a run folder, also of one that is still being written; a member sees its siblings."""
    run_dir = Path(run_dir)
    config = runlog.read_config(run_dir)
    case = make_case(
        config,
        read_columns(run_dir, runlog.METRICS),
        read_columns(run_dir, runlog.EVALS),
        read_columns(run_dir, runlog.TIMING),
        finished=True if (run_dir / runlog.VERDICT).exists() else None,  # a score may have ended it before its plan
    )
    if not siblings or run_dir.parent.name != FOLDER:
        return case
    folders = (folder for folder in member_dirs(run_dir.parent.parent) if folder.name != run_dir.name)
    return replace(case, others=tuple(read_columns(folder) for folder in folders))


def read_cases(run_dir: str | Path) -> list[Case]:
    """The cases of all members of a population, each seeing the others; a single run is a population of one."""
    folders = member_dirs(run_dir)
    if not folders:
        return [read_case(run_dir)]
    cases = [read_case(folder, siblings=False) for folder in folders]
    histories = [case.history for case in cases]
    return [replace(case, others=(*histories[:i], *histories[i + 1 :])) for i, case in enumerate(cases)]


def _number(value: Any) -> float:
    """The value as a number; NaN for a blank."""
    return np.nan if value is None or isinstance(value, str) else float(value)
