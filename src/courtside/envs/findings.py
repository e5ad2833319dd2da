"""What a check of a world finds: faults in plain sentences, notes, and the order in which checks run. No JAX here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Fault:
    """One broken rule."""

    found: str
    expected: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found[:1].upper()}{self.found[1:]}; expected {self.expected}. {self.remedy}"


class Check(NamedTuple):
    """One rule of the contract."""

    name: str
    about: str
    run: Callable[[Any], Iterable[Fault | str]]
    """Faults, and notes as plain text."""
    is_foundation: bool = True
    """Whether the later checks make no sense where this one fails."""


@dataclass(frozen=True)
class CheckResult:
    """What one check found; passed where there are no faults and it was not skipped."""

    name: str
    about: str
    faults: tuple[Fault, ...] = ()
    notes: tuple[str, ...] = ()
    skipped: bool = False

    @property
    def passed(self) -> bool:
        return not self.faults and not self.skipped


def run_in_order(checks: Sequence[Check], trial: Any) -> list[CheckResult]:
    """All checks on one trial, those after a failed foundation marked as skipped."""
    results: list[CheckResult] = []
    blocked = False
    for check in checks:
        result = CheckResult(check.name, check.about, skipped=True) if blocked else _run(check, trial)
        results.append(result)
        blocked = blocked or (check.is_foundation and bool(result.faults))
    return results


def _run(check: Check, trial: Any) -> CheckResult:
    """An exception is a fault too: any of the user's code may raise."""
    try:
        outcomes = list(check.run(trial))
    except Exception as error:
        outcomes = [Fault(f"it raised {one_line(error)}", "no error", "Mend that first; see docs/environments.md.")]
    faults = tuple(f for f in outcomes if isinstance(f, Fault))
    return CheckResult(check.name, check.about, faults, tuple(n for n in outcomes if isinstance(n, str)))


def one_line(error: Exception, limit: int = 200) -> str:
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= limit else text[:limit] + " ..."
