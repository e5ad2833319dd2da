"""What a detector says about a run: a finding is what, since when, the evidence, the likely cause and the remedy.

`kind` is also the name of the page that explains it, `docs/health/<kind>.md`. No JAX here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from courtside.health.history import History

NEWS = "reward-exploit"
"""Shown while the run goes on even where nothing is wrong: it changes what the return means."""


@dataclass(frozen=True)
class Finding:
    """One thing that a run shows."""

    kind: str
    """Short name, also that of its page in docs/health."""
    title: str
    """The same in a few words."""
    since_step: int | None
    """Environment step at which it began; None where it concerns the whole run."""
    since_update: int | None
    evidence: tuple[str, ...]
    """Sentences with the numbers that show it."""
    cause: str
    """What most likely lies behind it."""
    remedy: str
    """What to type."""
    confidence: float
    """How sure this is, 0 to 1."""
    severity: float
    """How much it matters if true, 0 to 1."""
    sick: bool
    """True where something is wrong; False where it is worth knowing."""


def make_finding(
    kind: str,
    history: History,
    row: int | None,
    evidence: Iterable[str],
    *,
    cause: str,
    remedy: str,
    confidence: float,
    severity: float,
    sick: bool = True,
) -> Finding:
    """A finding that began at a row of the history; None where it concerns the whole run. `diagnose` gives it its title."""
    step, update = (None, None) if row is None else (int(history.steps[row]), int(history.updates[row]))
    confidence = round(min(max(confidence, 0.0), 1.0), 2)
    return Finding(kind, "", step, update, tuple(evidence), cause, remedy, confidence, severity, sick)


def weight(finding: Finding) -> float:
    """How far up the list a finding belongs."""
    return finding.severity * finding.confidence


def is_news(finding: Finding) -> bool:
    """Whether it is worth a line while the run goes on and at its end."""
    return finding.sick or finding.kind == NEWS


def number(value: float) -> str:
    """A number as evidence shows it: three digits, thousands grouped."""
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def to_json(finding: Finding) -> dict[str, Any]:
    """The finding as data, for `--json`."""
    return asdict(finding)
