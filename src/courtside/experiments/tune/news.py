"""What happens during a search, as plain records: `search.run` yields them, the terminal shows them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from courtside.experiments.tune.space import Space
from courtside.experiments.tune.trials import FinalRow, Search, Stage, Trial
from courtside.runs.events import Notice


@dataclass(frozen=True)
class Opened:
    """A new search has its folder."""

    run_dir: Path
    space: Space


@dataclass(frozen=True)
class Measuring:
    """The first program is being compiled, and its speed measured."""


@dataclass(frozen=True)
class Planned:
    """The plan is decided, or was read from a search that goes on."""

    search: Search
    work: int
    """Environment steps in all, the final round included."""
    trials_done: int = 0


@dataclass(frozen=True)
class Replanned:
    """A stage was cut because the budget is running out."""

    stage: Stage


@dataclass(frozen=True)
class BatchBegun:
    stage: int
    """0 in the final round."""
    batch: int
    """From 1 on."""
    num_batches: int
    members: int
    """Runs of this batch: settings x seeds."""


@dataclass(frozen=True)
class Worked:
    """A chunk is done."""

    steps_done: int
    """Of the whole search."""
    steps_planned: int
    speed: float
    """Environment steps per second, all members together."""


@dataclass(frozen=True)
class BatchEnded:
    stage: int
    batch: int
    num_batches: int
    best: Trial
    """The best of this stage so far."""
    num_trials: int
    """Finished in this stage so far."""


@dataclass(frozen=True)
class RowEnded:
    """One row of the final round is done."""

    row: FinalRow


@dataclass(frozen=True)
class SearchEnded:
    """The search is over."""

    search: Search


News = Opened | Measuring | Planned | Replanned | BatchBegun | Worked | BatchEnded | RowEnded | SearchEnded


@runtime_checkable
class Viewer(Protocol):
    """Whoever shows a search to a person."""

    def on(self, event: News | Notice) -> None: ...
