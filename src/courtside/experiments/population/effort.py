"""What it took members to pass: environment steps, episodes and wall time; the median and the worst of those that did.

Time is that of the training itself, without compiling, evaluations and saves. Members that are trained side by side share
it: each waits for all. No JAX here.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@runtime_checkable
class Passer(Protocol):
    """What is known of a member."""

    @property
    def steps_to_pass(self) -> int | None: ...
    @property
    def episodes_to_pass(self) -> int | None: ...
    @property
    def seconds_to_pass(self) -> float | None: ...


@dataclass(frozen=True)
class Amount:
    """One kind of effort over the members that passed at some time."""

    median: float
    worst: float


@dataclass(frozen=True)
class Effort:
    """To the first moment at which all thresholds held together."""

    count: int
    """Members that came to pass."""
    steps: Amount
    episodes: Amount
    seconds: Amount | None
    """None where it was not written down."""


def make_effort(members: Sequence[Passer]) -> Effort | None:
    """None where nobody passed at any time."""
    passed = [member for member in members if member.steps_to_pass is not None]
    if not passed:
        return None
    seconds = [member.seconds_to_pass for member in passed if member.seconds_to_pass is not None]
    return Effort(
        count=len(passed),
        steps=_amount([member.steps_to_pass or 0 for member in passed]),
        episodes=_amount([member.episodes_to_pass or 0 for member in passed]),
        seconds=_amount(seconds) if seconds else None,
    )


def _amount(values: Sequence[float]) -> Amount:
    return Amount(float(statistics.median(values)), float(max(values)))


def effort_sentence(effort: Effort | None) -> str:
    """The effort in plain words; empty where nobody passed."""
    if effort is None:
        return ""
    middle, worst = (_words(effort, which) for which in ("median", "worst"))
    return f"To pass took {middle} in the median, at most {worst}."


def _words(effort: Effort, which: str) -> str:
    steps, episodes = (round(getattr(part, which)) for part in (effort.steps, effort.episodes))
    time = "" if effort.seconds is None else f" and {getattr(effort.seconds, which):,.0f} s"
    return f"{steps:,} steps, {episodes:,} episodes{time}"
