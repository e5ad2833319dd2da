"""What happens during a run, as plain records: `loop.run` yields them, terminal, log, checkpoint and verdict consume them.

A consumer must be done with `state` before it asks for the next event: its buffers are reused by the next chunk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from courtside.settings.config import Config


@dataclass(frozen=True)
class Started:
    """Everything is checked and sized; nothing is compiled yet."""

    config: Config
    memory_mb: dict[str, float]
    """What will be held in memory, by part: envs, rollout, network, ..."""
    device: str
    notes: tuple[str, ...] = ()
    """What the user should know: names resolved, episodes that restart after a resume, ..."""
    update: int = 0
    """Updates already done: above 0 when a run continues."""
    best_score: float | None = None
    """Best evaluation so far of a run that continues."""
    disk_mb: dict[str, float] = field(default_factory=dict)
    """What the states that are kept will take on disk, by part: checkpoints, snapshots, ..."""


@dataclass(frozen=True)
class Compiling:
    """Sent about ten times a second while the program is compiled."""

    seconds: float


@dataclass(frozen=True)
class Compiled:
    seconds: float


@dataclass(frozen=True)
class Progress:
    """One chunk of updates is done."""

    step: int
    update: int
    rows: list[dict[str, Any]]
    """One record of metrics per update: `step`, `update`, `charts/...`, `losses/...`."""
    seconds: float
    steps_per_second: float
    rollout_share: float | None
    """Share of the time spent in the Rollout Phase, the rest being the Learning Phase; None before it is known."""


@dataclass(frozen=True)
class Turned:
    """A setting has another value from the next update on (`turns`)."""

    step: int
    update: int
    text: str


@dataclass(frozen=True)
class Evaluating:
    """An evaluation begins; whole games may take a minute."""

    step: int
    update: int
    episodes: int


@dataclass(frozen=True)
class Evaluated:
    """The policy of this very moment was evaluated."""

    step: int
    update: int
    metrics: dict[str, float]
    """`eval/episodic_return`, `eval/episodic_length`, ..."""
    is_best: bool
    state: Any = field(repr=False, default=None)
    seed: int | None = None
    """`courtside eval --seed` with it plays the same episodes again."""


@dataclass(frozen=True)
class Settled:
    """Nothing is pending: a run that goes on from this state is the same run."""

    step: int
    update: int
    state: Any = field(repr=False, default=None)
    is_last: bool = False
    """Training ends here."""


@dataclass(frozen=True)
class Notice:
    """Something the user should know now: a worker was restarted, memory is short, ..."""

    text: str


@dataclass(frozen=True)
class MembersProgress:
    """One chunk of updates is done by every member of a population."""

    step: int
    """Of one member: all have made the same number."""
    update: int
    rows: list[list[dict[str, Any]]]
    """One list of records for each member, each as in `Progress`."""
    seconds: float
    steps_per_second: float
    """Of all members together."""
    rollout_share: float | None


@dataclass(frozen=True)
class MembersEvaluated:
    """Every member of a population was evaluated."""

    step: int
    update: int
    metrics: list[dict[str, float]]
    is_best: list[bool]
    seeds: list[int]
    """Of each member's evaluation, as in `Evaluated`."""
    state: Any = field(repr=False, default=None)


@dataclass(frozen=True)
class Standing:
    """How many members of a population pass at this moment, and have passed at some."""

    passing: int
    passed_once: int
    members: int


@dataclass(frozen=True)
class Racing:
    """An insured run tries remedies; sent before each runner. A run that is left here races again when it is resumed."""

    done: int
    """Runners that have arrived."""
    planned: int


@dataclass(frozen=True)
class Rewound:
    """An insured run went back to an earlier moment: what was logged after it is undone."""

    step: int
    update: int
    state: Any = field(repr=False)
    rows: list[dict[str, Any]] = field(repr=False)
    """What remains of the history: metrics and evaluations up to that moment."""
    number: int
    """How many times it went back, this time included."""
    account: dict[str, Any] = field(repr=False)
    """What the insurance did so far (`health.insurance.Account`)."""


@dataclass(frozen=True)
class Finished:
    """All planned updates are done, or the score that ends the run is reached."""

    step: int
    update: int
    seconds: float


Event = (
    Started | Compiling | Compiled | Progress | Evaluating | Evaluated | Settled | Notice | Turned | Standing | Racing
    | Rewound | Finished
)  # fmt: skip
MembersEvent = Event | MembersProgress | MembersEvaluated
