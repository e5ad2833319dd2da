"""Findings in plain words: whole pages for `courtside doctor`, single lines for the live view and the end of a run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from courtside.health.findings import Finding, to_json, weight
from courtside.settings.numbers import count

WIDTH = 100
"""Longest line of a page."""
LABEL = 9
"""Columns that the word before a paragraph takes."""
SURE = ((0.9, "almost certain"), (0.7, "likely"), (0.5, "more likely than not"), (0.0, "a suspicion"))
"""Smallest confidence -> how it is said."""
ALL_MEMBERS = "seed-sensitivity"
"""The one kind that is about the members together and not about one of them."""


@dataclass(frozen=True)
class FindingGroup:
    """One kind of finding, over the members of a population that have it; a single run is one member."""

    kind: str
    findings: tuple[Finding, ...]
    members: tuple[int, ...]
    """Numbers of the members, in the order of `findings`."""
    num_members: int

    @property
    def sick(self) -> bool:
        return any(finding.sick for finding in self.findings)

    @property
    def example(self) -> int:
        """Where the clearest of the findings stands in the list."""
        return max(range(len(self.findings)), key=lambda i: weight(self.findings[i]))


def group(findings: Sequence[Sequence[Finding]]) -> list[FindingGroup]:
    """Findings of each member -> one group per kind, what is wrong first.

    Among those it is the sum over members of 1/place, the place being that in the member's own list: what comes first
    in many members comes first here.
    """
    by_kind: dict[str, list[tuple[int, int, Finding]]] = {}
    for member, listed in enumerate(findings):
        for place, finding in enumerate(listed, start=1):
            by_kind.setdefault(finding.kind, []).append((member, place, finding))
    groups = {
        kind: FindingGroup(kind, tuple(row[2] for row in rows), tuple(row[0] for row in rows), len(findings))
        for kind, rows in by_kind.items()
    }
    height = {kind: sum(1 / place for _, place, _ in rows) for kind, rows in by_kind.items()}
    return sorted(groups.values(), key=lambda one: (not one.sick, -height[one.kind]))


def page_of(kind: str) -> str:
    """Where a kind of finding is explained."""
    return f"docs/health/{kind}.md"


def confidence_words(confidence: float) -> str:
    words = next(words for least, words in SURE if confidence >= least)
    return f"{words} ({100 * confidence:.0f}%)"


def short_line(finding: Finding) -> str:
    """`since step 120,000: entropy collapse (docs/health/entropy-collapse.md)`."""
    since = "the whole run" if finding.since_step is None else f"since step {count(finding.since_step)}"
    mark = "" if finding.sick else "worth knowing, "
    return f"{mark}{since}: {_small(finding.title)} ({page_of(finding.kind)})"


def gone_line(finding: Finding) -> str:
    """What is said of a finding that a run has got over while it was watched."""
    return f"no longer seen: {_small(finding.title)}"


def short_group_line(group: FindingGroup) -> str:
    """The same for a population: how many members, and since when at the earliest."""
    return f"{_who(group)}: {short_line(_earliest(group))}"


def _earliest(group: FindingGroup) -> Finding:
    return min(group.findings, key=lambda finding: finding.since_step or 0)


def page(groups: Sequence[FindingGroup]) -> list[str]:
    """Everything about all findings: what is wrong, then what is worth knowing."""
    lines: list[str] = []
    for number, one in enumerate(groups, start=1):
        if not one.sick and (number == 1 or groups[number - 2].sick):
            lines += ["", "Worth knowing:"]
        lines += ["", *group_lines(number, one)]
    return lines


def group_lines(number: int, group: FindingGroup) -> list[str]:
    """One finding as a paragraph; of several members the clearest one gives the evidence."""
    finding, is_population = group.findings[group.example], group.num_members > 1
    lines = [f"{number}. {_headline(group)}"]
    if is_population and group.kind != ALL_MEMBERS:
        lines += _labelled("members", [", ".join(f"{member:02}" for member in group.members)])
    whose = f"In member {group.members[group.example]:02}: " if is_population and group.kind != ALL_MEMBERS else ""
    lines += _labelled("seen", [f"{'' if i else whose}{text}" for i, text in enumerate(finding.evidence)])
    lines += _labelled("cause", [finding.cause])
    lines += _labelled("do", [finding.remedy])
    lines += _labelled("sure", [confidence_words(finding.confidence)])
    return lines + _labelled("more", [page_of(group.kind)])


def _headline(group: FindingGroup) -> str:
    """`Entropy collapse, since step 120,000 (update 234)`, with the number of members before it."""
    finding = group.findings[group.example]
    if group.num_members > 1:
        return f"{_who(group)}: {_small(finding.title)}{_since(_earliest(group), group)}"
    return f"{finding.title[:1].upper()}{finding.title[1:]}{_since(finding, group)}"


def _since(finding: Finding, group: FindingGroup) -> str:
    if finding.since_step is None:
        return ""
    if len(group.findings) > 1:
        return f", since step {count(finding.since_step)} at the earliest"
    update = "" if finding.since_update is None else f" (update {count(finding.since_update)})"
    return f", since step {count(finding.since_step)}{update}"


def _who(group: FindingGroup) -> str:
    if group.kind == ALL_MEMBERS:
        return f"All {group.num_members} members together"
    noun = "member" if group.num_members == 1 else "members"
    return f"{len(group.members)} of {group.num_members} {noun}"


def _labelled(label: str, paragraphs: Iterable[str]) -> list[str]:
    """Paragraphs set in behind a word in the margin."""
    margin = " " * 3
    indent = margin + " " * LABEL
    lines = [line for text in paragraphs for line in textwrap.wrap(text, WIDTH - len(indent), break_on_hyphens=False)]
    return [f"{margin}{'' if i else label:<{LABEL}}{line}" for i, line in enumerate(lines)]


def _small(title: str) -> str:
    """A title inside a sentence; what is written in capitals throughout (KL, NaN) stays so."""
    first = title.split(" ", 1)[0]
    return title if first[1:] != first[1:].lower() else title[:1].lower() + title[1:]


def group_json(group: FindingGroup) -> dict[str, Any]:
    """A group as data: the clearest finding, the members that have one, and the page."""
    record = {**to_json(group.findings[group.example]), "page": page_of(group.kind)}
    if group.num_members == 1:
        return record
    each = [
        {"member": member, **to_json(finding)} for member, finding in zip(group.members, group.findings, strict=True)
    ]
    return {**record, "sick": group.sick, "members": list(group.members), "each": each}
