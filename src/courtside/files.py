"""Files of a run, opened by somebody who does not trust them, as the page: plain files only, no links, nothing that could block, and no more
of them than was asked for. No JAX here.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import stat
from pathlib import Path
from typing import Any, BinaryIO

from courtside.errors import CheckpointError

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


TEMPORARY = ".tmp"

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would grow past the size limit set for this process",
    errno.EACCES: "there is no permission to write there",
    errno.EPERM: "there is no permission to write there",
    errno.EROFS: "the disk is mounted read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
    errno.EEXIST: "a file of that name is in the way",
    errno.ENOENT: "the folder is gone",
    errno.EISDIR: "a folder of that name is in the way",
    errno.ELOOP: "it is a link to another place",
    errno.ENAMETOOLONG: "the name is too long for this disk",
}
_CANNOT_SYNC = (errno.EINVAL, errno.ENOTSUP)
"""What pipes and devices answer; they need no sync either."""
_REMEDIES = {
    errno.ENOSPC: "Free some space",
    errno.EDQUOT: "Free some space",
    errno.EFBIG: "Raise the limit (ulimit -f)",
}


def explain(error: OSError) -> str:
    """What the system refused, in plain words."""
    return _REASONS.get(error.errno or 0) or (error.strerror or str(error)).lower()


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data`: after any crash the old content or the new is there, never a mixture.

    The rename is atomic only for what is on disk already, hence the sync before it; the sync of the folder after it makes
    the new name itself survive a power cut.
    """
    temporary = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise write_error(path, error) from error


def make_folder(path: Path) -> None:
    """Create a folder and those above it, where they are missing."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from error


def write_json(path: Path, record: Any) -> None:
    """Write `record` for people and programs: indented, valid JSON, whole or not at all."""
    write_bytes(path, (json.dumps(json_ready(record), indent=2) + "\n").encode())


def json_ready(value: Any) -> Any:
    """The same data with "NaN", "Infinity" and "-Infinity" as text, since JSON has no numbers for them."""
    if isinstance(value, dict):
        return {k: json_ready(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(v) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def write_error(path: Path, error: OSError) -> CheckpointError:
    """One sentence for a write that failed."""
    remedy = _REMEDIES.get(error.errno or 0, "Mend that")
    return CheckpointError(
        f"Could not write {path}: {explain(error)}. {remedy} and go on with `courtside resume`; "
        "what was saved before is intact."
    )


def remove_leftovers(folder: Path) -> None:
    """Delete temporary files that a killed process left behind."""
    for leftover in folder.glob(f".*{TEMPORARY}"):
        leftover.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open a folder; its rename needs no such help
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _open_itself(path: str, flags: int) -> int:
    """No link to a file is followed, nor one to where none is yet: a run from elsewhere could lead anywhere by one."""
    if os.path.islink(path) and (os.path.isfile(path) or not os.path.exists(path)):
        raise OSError(errno.ELOOP, "a link")
    return os.open(path, flags, 0o666)


class AppendFile:
    """A file that grows by whole pieces; readers see each piece as soon as the call returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = open(path, "ab", buffering=0, opener=_open_itself)  # noqa: SIM115 (closed by close())
        except OSError as error:
            raise write_error(path, error) from error

    def append_lines(self, lines: list[str]) -> None:
        self.append("".join(line + "\n" for line in lines).encode())

    def append(self, data: bytes) -> None:
        """Write all of it or nothing: what a full disk cut off is taken back."""
        rest = memoryview(data)
        start = os.fstat(self._file.fileno()).st_size
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            with contextlib.suppress(OSError):
                self._file.truncate(start)
            raise write_error(self.path, error) from error

    def sync(self) -> None:
        """Make sure that a power cut does not lose what was appended."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            if error.errno not in _CANNOT_SYNC:
                raise write_error(self.path, error) from error

    def close(self) -> None:
        self._file.close()
