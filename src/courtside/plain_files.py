"""Files of a run, opened by somebody who does not trust them, as the page: plain files only, no links, nothing that could block, and no more
of them than was asked for. No JAX here.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

MOST_RECORD = 4_000_000
"""Bytes of a JSON file of ours; none comes near."""


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; raises OSError where it is a link, a folder, a pipe or a device."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no plain file")
    return open(descriptor, "rb")


def read_bytes(path: Path, most: int) -> bytes:
    """A file's content, if it is not larger than that."""
    with open_plain(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(f"{path} is too large to be one of ours")
        return file.read(most)


def read_record(path: Path) -> dict[str, Any]:
    """A JSON file of ours; empty where there is none, or it is damaged."""
    try:
        record = json.loads(read_bytes(path, MOST_RECORD))
    except (OSError, ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def is_plain_folder(path: Path) -> bool:
    """Whether it is a folder, and not a link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
