"""Line files that grow: each whole line is read once, and what a file has grown by is all that is read after. No JAX here."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, BinaryIO

from courtside.files import open_plain
from courtside.settings.metric_names import EPISODES, GAMES

TAIL_BYTES = 200


MOST_STEPS = 1e18


SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
"""Numbers that JSON cannot write."""

Row = dict[str, Any]


def parse(line: bytes) -> Row | None:
    """The record in a line; None where it is none, or does not say which update it is of."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and all(_is_count(row.get(name)) for name in ("step", "update")) else None


def parse_numbers(line: bytes, names: Collection[str] | None = None) -> Row | None:
    """The same with numbers alone, all or those of some names; what can only be counted is a finite number, or nothing."""
    row = parse(line)
    if row is None:
        return None
    numbers = {name: as_number(value) for name, value in row.items() if names is None or name in names}
    for name in (EPISODES, GAMES):
        if not math.isfinite(numbers.get(name) or 0.0):
            numbers[name] = None
    return numbers | {name: int(row[name]) for name in ("step", "update")}


def _is_count(value: Any) -> bool:
    """Whether it can number a step or an update."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_STEPS


def as_number(value: Any) -> float | None:
    """A JSON value as a number; None where it is none."""
    if isinstance(value, str):
        return SPECIAL.get(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return SPECIAL["Infinity"]


BLOCK_BYTES = 262_144

Parse = Callable[[bytes], Row | None]


class Follower:
    """How far one line file has been gone through."""

    def __init__(self, path: Path, parse: Parse = parse_numbers) -> None:
        self.path, self._parse = path, parse
        self.skipped = 0
        """Lines that were no records."""
        self._size, self._tail = 0, b""
        self._identity: tuple[int, int] | None = None

    def begins_anew(self, file: BinaryIO) -> bool:
        """Whether what was read so far does not count any more, because the file is another one, or was cut and has grown again."""
        stat = os.fstat(file.fileno())
        identity, was = (stat.st_dev, stat.st_ino), self._identity
        before = os.pread(file.fileno(), len(self._tail), self._size - len(self._tail))
        if identity == was and before == self._tail:
            return False
        self.skipped, self._size, self._tail, self._identity = 0, 0, b"", identity
        return was is not None

    def measure(self, file: BinaryIO, most: float) -> int:
        """How far the file goes now; an OSError where that is more than it may have."""
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise OSError(f"{self.path} is too large to be one of ours")
        return size

    def next_rows(self, file: BinaryIO, end: float = math.inf) -> list[Row] | None:
        """Those of the next block; None where no whole line is left up to `end`."""
        block = os.pread(file.fileno(), int(min(BLOCK_BYTES, max(0, end - self._size))), self._size)
        whole, newline, _ = block.rpartition(b"\n")
        if not newline:
            if len(block) < BLOCK_BYTES:
                return None
            whole = block  # a line longer than all of ours: no row, and not worth its memory
        lines = whole.split(b"\n")
        rows = [row for line in lines if line.strip() and (row := self._parse(line)) is not None]
        self.skipped += sum(bool(line.strip()) for line in lines) - len(rows)
        self._size += len(whole) + len(newline)
        self._tail = (whole + newline)[-TAIL_BYTES:]
        return rows

    def read_on(self, most: float = math.inf) -> tuple[list[Row], bool]:
        """All rows since the last look, and whether the file is not the one that was looked at then."""
        try:
            with open_plain(self.path) as file:
                is_other = self.begins_anew(file)
                end = self.measure(file, most)
                return [row for rows in iter(lambda: self.next_rows(file, end), None) for row in rows], is_other
        except FileNotFoundError:
            return [], self.has_begun

    @property
    def has_begun(self) -> bool:
        return self._identity is not None
