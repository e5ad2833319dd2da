"""Files of JSON lines that may be growing, damaged or huge, as columns of numbers: all of it where it is small, an even
sample where it is not.

A line that is no record is passed over and counted; half a line at the end is one that is being written, and waits. A file
of any size costs a bounded number of bytes to look at: pieces of it are read at even distances, and since rows are in order
a range of steps is found by halving. No JAX here.
"""

from __future__ import annotations

import os
import re
import threading
from array import array
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Float

from courtside.files import open_plain
from courtside.runs.lines import TAIL_BYTES, Row, as_number, parse

WHOLE_BYTES = 6_000_000
"""A file up to this size is read whole."""
PIECES, PIECE_BYTES = 400, 12_000
"""Of a larger one so many pieces of so many bytes."""
PROBE_BYTES = 65_536
"""Read at a place to find a whole line there; a longer line is not looked for."""
SHORT_BYTES = 16_384
"""The same where a place without a line is no loss."""


MOST_KEPT = 64
"""Files whose columns are kept for the next question."""


MOST_NAMES = 2_000
"""Columns of one file; further names are passed over, so that a hostile file cannot take all memory."""
NAN = array("d", [float("nan")])


class Excerpt(NamedTuple):
    """What was asked for of a file, at one moment."""

    columns: dict[str, Float[np.ndarray, "N"]]
    """NaN where a row does not have a name."""
    names: tuple[str, ...]
    """All that the file has, also those not asked for."""
    count: int
    """Rows."""
    skipped: int
    """Lines that were no records."""
    is_whole: bool
    """Whether all rows are here, or a sample."""


@dataclass
class Columns:
    """Rows of a file, by name; NaN where a row does not have a name."""

    size: int = 0
    """Bytes of the file that were looked at, or passed over, so far."""
    count: int = 0
    """Rows that are here."""
    skipped: int = 0
    """Lines that were no records."""
    is_whole: bool = True
    """Whether all rows are here."""
    values: dict[str, array[float]] = field(default_factory=dict)
    tail: bytes = b""
    """The last bytes that were looked at: a file that has others there was cut and has grown again."""

    def add(self, line: bytes) -> None:
        """One whole line; an empty one is nothing."""
        row = parse(line)
        if row is None:
            self.skipped += bool(line.strip())
            return
        for name, value in row.items():
            self._column(name, value)
        self.count += 1

    def _column(self, name: str, value: Any) -> None:
        if (number := as_number(value)) is None:
            return
        column = self.values.get(name)
        if column is None:
            if len(self.values) >= MOST_NAMES:
                return
            column = self.values[name] = array("d")
        column.extend(NAN * (self.count - len(column)))
        column.append(number)

    def table(self, names: Iterable[str]) -> Excerpt:
        """Copies, since the file may grow on meanwhile; blanks behind the last row that has a name are put in here."""
        columns = {name: np.full(self.count, np.nan) for name in names}
        for name, column in columns.items():
            known = self.values.get(name, NAN[:0])
            column[: len(known)] = known
        return Excerpt(columns, tuple(self.values), self.count, self.skipped, self.is_whole)


class LineFiles:
    """Columns of the files that were asked for last; what a file has grown by is all that is read again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[tuple[int, int], Columns]] = OrderedDict()
        self._lock = threading.Lock()

    def read(self, path: Path, names: Iterable[str]) -> Excerpt:
        """All that a file says of these names now, or an even sample of it; empty where there is no such file."""
        try:
            with open_plain(path) as file, self._lock:
                stat = os.fstat(file.fileno())
                columns = self._find(path, (stat.st_dev, stat.st_ino), stat.st_size)
                if not is_same(file, columns):
                    columns = Columns()
                if stat.st_size > WHOLE_BYTES:
                    columns = columns if columns.size and not _has_grown(columns, stat.st_size) else sample(file)
                elif columns.size < stat.st_size:
                    read_on(file, columns, stat.st_size)
                self._keep(path, (stat.st_dev, stat.st_ino), columns)
                return columns.table(names)
        except OSError:
            return Columns().table(names)

    def _find(self, path: Path, identity: tuple[int, int], size: int) -> Columns:
        """What is kept of a file, if it is still the same and was not cut."""
        was, columns = self._kept.get(path, (None, Columns()))
        return columns if was == identity and columns.size <= size else Columns()

    def _keep(self, path: Path, identity: tuple[int, int], columns: Columns) -> None:
        self._kept[path] = (identity, columns)
        self._kept.move_to_end(path)
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)


def is_same(file: BinaryIO, columns: Columns) -> bool:
    """Whether what is known of a file still stands in it."""
    place = columns.size - len(columns.tail)
    return not columns.tail or os.pread(file.fileno(), len(columns.tail), place) == columns.tail


def _has_grown(columns: Columns, size: int) -> bool:
    """By enough to be looked at again: a sample of a huge file costs more than a few new rows are worth."""
    return columns.is_whole or size > columns.size + max(columns.size // 500, PIECE_BYTES // 4)


def read_on(file: BinaryIO, columns: Columns, size: int) -> None:
    """Add what stands behind the part that is known, up to the last whole line."""
    file.seek(columns.size)
    whole, newline, _ = file.read(size - columns.size).rpartition(b"\n")
    if newline:
        for line in whole.split(b"\n"):
            columns.add(line)
        columns.size += len(whole) + 1
        columns.tail = (whole + newline)[-TAIL_BYTES:]


def sample(file: BinaryIO, first: int = 0, last: int | None = None) -> Columns:
    """Rows from pieces at even distances between two places of a file; the newest ones are among them."""
    size = os.fstat(file.fileno()).st_size if last is None else last
    if size - first <= PIECES * PIECE_BYTES:
        columns = Columns(size=first, is_whole=False)
        read_on(file, columns, size)
        return columns
    columns = Columns(size=size, is_whole=False)
    for start in np.linspace(first, size - PIECE_BYTES, PIECES).astype(np.int64).tolist():
        for line in lines_at(file, start, min(start + PIECE_BYTES, size)):
            columns.add(line)
    return columns


def lines_at(file: BinaryIO, start: int, end: int) -> list[bytes]:
    """The lines that lie wholly between two places."""
    begin = max(start - 1, 0)  # a newline right before the place makes the line there a whole one
    file.seek(begin)
    lines = file.read(end - begin).split(b"\n")[:-1]
    return lines if start == 0 else lines[1:]


def sample_steps(path: Path, first: float, last: float, names: Iterable[str]) -> Excerpt:
    """Rows of a huge file between two steps, as finely as a sample of the whole is coarse."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            begin, end = find_step(file, first, size), find_step(file, last, size, behind=True)
            return sample(file, begin, end).table(names)
    except OSError:
        return Columns().table(names)


def find_step(file: BinaryIO, step: float, size: int, behind: bool = False) -> int:
    """Where in a file rows of about this step begin, or with `behind` end; found by halving, as steps rise along it."""
    low, high = 0, size
    while high - low > PROBE_BYTES:
        middle = (low + high) // 2
        row = _row_at(file, middle, size)
        low, high = (middle, high) if row is not None and row["step"] < step else (low, middle)
    return min(high + PROBE_BYTES, size) if behind else low


def _row_at(file: BinaryIO, place: int, size: int) -> Row | None:
    rows = map(parse, lines_at(file, place, min(place + PROBE_BYTES, size)))
    return next((row for row in rows if row is not None), None)


def pick_rows(path: Path, count: int) -> list[Row]:
    """About so many rows at even distances, the first and the newest among them: for a curve the size of a thumb."""
    return [row for row in map(parse, pick_lines(path, count)) if row is not None]


def pick_lines(path: Path, count: int) -> list[bytes]:
    """The same, as they stand in the file."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size <= PROBE_BYTES:
                return _thin(file.read().split(b"\n")[:-1], count)
            places = range(0, size, max(1, -(-size // (count - 1))))
            lines = [line for place in places if (line := _line_at(file.fileno(), place)) is not None]
            return [*lines, *lines_at(file, size - PROBE_BYTES, size)[-1:]]
    except OSError:
        return []


def _thin(lines: list[bytes], count: int) -> list[bytes]:
    if len(lines) <= count:
        return lines
    return [lines[i] for i in np.linspace(0, len(lines) - 1, count).astype(int).tolist()]


def _line_at(descriptor: int, place: int) -> bytes | None:
    """The first whole line behind a place, if it is not too long to be found with one short look."""
    seen = os.pread(descriptor, SHORT_BYTES, max(0, place - 1))
    begin = seen.find(b"\n") + 1 if place else 0
    end = seen.find(b"\n", begin)
    return seen[begin:end] if 0 <= begin < end else None


def pick_points(path: Path, metric: str, count: int) -> list[tuple[float, float]]:
    """Step and value of a metric in about so many rows; those that do not have it are left out. Only what is asked for is read
    out of a line as we write it: a list of hundreds of runs would spend most of its time on the rest."""
    quick = re.compile(rb'"step": (\d+),.*"' + re.escape(metric.encode()) + rb'": (-?[\d.]+(?:[eE][-+]?\d+)?)[,}]')
    pairs = []
    for line in pick_lines(path, count):
        if (match := quick.search(line)) and (value := _float(match[2])) is not None and len(match[1]) < 19:
            pairs.append((float(match[1]), value))
        elif (row := parse(line)) is not None and (value := as_number(row.get(metric))) is not None:
            pairs.append((float(row["step"]), value))
    return pairs


def _float(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def newest_row(file: BinaryIO, size: int) -> Row | None:
    """The last whole row."""
    lines = lines_at(file, max(0, size - PROBE_BYTES), size)
    return next(filter(None, map(parse, reversed(lines))), None)


def read_newest(path: Path) -> Row | None:
    """The last whole row of a file, however large it is."""
    try:
        with open_plain(path) as file:
            return newest_row(file, os.fstat(file.fileno()).st_size)
    except OSError:
        return None
