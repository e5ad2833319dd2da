"""What each metric means in plain words, for the charts of a page. No JAX here.

docs/metrics.md is the source; `python -m courtside.dash.glossary docs/metrics.md` writes its tables to `glossary.json` beside
this file, since the docs are not installed. A test holds one beside the other.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from courtside import files

FILE = Path(__file__).with_name("glossary.json")
REPLAY = "Of a replay"
"""Section of the docs whose words hold where a run has a replay."""
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_NAME = re.compile(r"`([^`]+/[^`]+)`")


class Word(NamedTuple):
    """One metric explained."""

    name: str
    section: str
    meaning: str
    good: str = ""
    """How it looks in a healthy run."""
    bad: str = ""
    """What it tells where it does not."""


def parse(text: str) -> list[Word]:
    """The words of every table whose first column is headed `name`."""
    words, section, head = [], "", None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        plain = _LINK.sub(r"\1", line).replace("`", "").strip().strip("|")
        cells = [cell.strip() for cell in plain.split("|")] if line.startswith("|") else None
        if cells is None or head is None:
            head = cells
        elif head[0] == "name" and not set(line) <= set("|- "):
            names = _NAME.findall(line.split("|")[1])
            row = dict(zip(head, cells, strict=False))
            explained = (row.get("meaning", ""), row.get("healthy", ""), row.get("when not", ""))
            words += [Word(name, section, *explained) for name in names]
    return words


@cache
def read() -> tuple[Word, ...]:
    return tuple(Word(**record) for record in json.loads(FILE.read_text()))


def explain(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Name -> meaning, good and bad, of all that are known."""
    names = list(names)
    has_replay = any(name.startswith("replay/") for name in names)
    words = sorted(read(), key=lambda word: (word.section == REPLAY) == has_replay)
    by_name = {word.name: word for word in words}
    entries = {name: by_name[pattern] for name in names if (pattern := find_pattern(name, by_name)) is not None}
    return {name: {"meaning": word.meaning, "good": word.good, "bad": word.bad} for name, word in entries.items()}


def find_pattern(name: str, entries: Iterable[str]) -> str | None:
    """The entry that explains a metric: its own, that of all agents' (`losses/red_0/entropy`), or one for any name."""
    group, _, rest = name.partition("/")
    agents_own = f"{group}/{rest.rpartition('/')[2]}"
    general = {"agents": f"agents/<name>/{rest.rpartition('/')[2]}", "env": "env/<name>"}.get(group, "")
    return next((entry for entry in (name, agents_own, general) if entry in entries), None)


def main(args: list[str]) -> None:
    files.write_json(FILE, [word._asdict() for word in parse(Path(args[0]).read_text())])


if __name__ == "__main__":
    main(sys.argv[1:])
