"""A clock that goes with the frames, put in the place of the machine's clock inside one loaded library.

Some cartridges have a clock, and a core asks the C library for the time to answer for it: games would go on otherwise on
another day. A library calls others through a table of addresses that the loader fills in; ours is written there. This is
for ELF (Linux); elsewhere the machine's clock stays. No JAX here.
"""

from __future__ import annotations

import ctypes as c
import mmap
import struct
import sys
import time
from collections.abc import Callable

import numpy as np

CYCLES_PER_FRAME, CYCLES_PER_SECOND = 280_896, 16_777_216
FIRST_DAY = (2000, 1, 1, 0, 0, 0, 0, 1, 0)
"""Local time at frame 0; cores tell local time too, so that the time zone makes no difference."""
ELF64 = b"\x7fELF\x02\x01"
DYNAMIC = 2
NAMES, SYMBOLS, CALLS, CALLS_SIZE, ENTRIES, ENTRIES_SIZE = 5, 6, 23, 2, 7, 8
"""Entries of the dynamic section: names, symbols, and the two tables of addresses to fill in."""
ROW = 24
READ_WRITE = 3

Asked = c.CFUNCTYPE(c.c_int64, c.POINTER(c.c_int64))


class _Place(c.Structure):
    _fields_ = (("file", c.c_char_p), ("base", c.c_void_p), ("symbol", c.c_char_p), ("address", c.c_void_p))


def time_at(frames: int) -> int:
    """Seconds since 1970 that the clock shows after so many frames."""
    return int(time.mktime(FIRST_DAY)) + frames * CYCLES_PER_FRAME // CYCLES_PER_SECOND


def answer(now: Callable[[], int]) -> c._CFuncPtr:  # type: ignore[name-defined]
    """`now` as the C library's function `time`."""

    def tell(place):
        told = now()
        if place:
            place[0] = told
        return told

    return Asked(tell)


def replace_clock(library: c.CDLL, known: str, function: c._CFuncPtr) -> bool:  # type: ignore[name-defined]
    """Let a library call `function` for `time`; `known` is any function of its own. False where that cannot be done."""
    if not sys.platform.startswith("linux"):
        return False
    system, place = c.CDLL(None), _Place()
    address = c.cast(getattr(library, known), c.c_void_p)
    if not system.dladdr(address, c.byref(place)) or c.string_at(place.base, len(ELF64)) != ELF64:
        return False
    slots = find_slots(place.base, b"time")
    for slot in slots:
        page = slot & -mmap.PAGESIZE
        if system.mprotect(c.c_void_p(page), c.c_size_t(mmap.PAGESIZE), READ_WRITE):
            return False
        c.c_void_p.from_address(slot).value = c.cast(function, c.c_void_p).value
    return bool(slots)


def find_slots(base: int, name: bytes) -> list[int]:
    """Where a library loaded at `base` keeps the address of another's function."""
    entries = _dynamic(base)
    names, symbols = (base + entries[key] if entries[key] < base else entries[key] for key in (NAMES, SYMBOLS))
    found = []
    for table, size in ((CALLS, CALLS_SIZE), (ENTRIES, ENTRIES_SIZE)):
        if table not in entries or not entries.get(size):
            continue
        start = entries[table] if entries[table] >= base else base + entries[table]
        rows = np.frombuffer(c.string_at(start, entries[size]), np.uint64).reshape(-1, 3)
        for offset, info in rows[rows[:, 1] >> 32 != 0, :2].tolist():
            (text,) = struct.unpack("<I", c.string_at(symbols + ROW * (info >> 32), 4))
            if c.string_at(names + text) == name:
                found.append(base + offset)
    return found


def _dynamic(base: int) -> dict[int, int]:
    """The dynamic section of a loaded library, by kind of entry."""
    (headers,) = struct.unpack("<Q", c.string_at(base + 32, 8))
    size, count = struct.unpack("<HH", c.string_at(base + 54, 4))
    for number in range(count):
        kind, _, _, address = struct.unpack("<IIQQ", c.string_at(base + headers + size * number, 24))
        if kind == DYNAMIC:
            return _entries(base + address)
    return {}


def _entries(place: int) -> dict[int, int]:
    found = {}
    while True:
        kind, value = struct.unpack("<qQ", c.string_at(place, 16))
        if kind == 0:
            return found
        found[kind], place = value, place + 16
