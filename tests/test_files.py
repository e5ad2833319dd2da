"""Atomic writes and line files, under real limits: a size limit, a tiny disk, a device that is always full."""

from __future__ import annotations

import errno
import functools
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

from courtside import files
from courtside.errors import CheckpointError
from waiting import PATIENCE


def run_python(code: str, *arguments: str) -> str:
    """Run code in a process of its own, so that its limits end with it."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_write_replaces_the_whole_file(tmp_path):
    path = tmp_path / "a.bin"
    files.write_bytes(path, b"long old content")
    files.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


LIMITED = """
import resource, sys
from pathlib import Path
from courtside import files
from courtside.errors import CheckpointError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    files.write_bytes(Path(sys.argv[1]), b"x" * 1500)
except CheckpointError as error:
    print(error)
"""


def test_a_write_cut_short_leaves_the_old_file_and_nothing_else(tmp_path):
    """The system takes the first 1000 bytes and refuses the rest: a short write, then an error."""
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    message = run_python(LIMITED, str(path))
    assert "size limit" in message
    assert "a.bin" in message
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


TINY_DISK = """
import os, subprocess, sys
from pathlib import Path
from courtside import files
from courtside.errors import CheckpointError
disk = Path(sys.argv[1])
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
    print("no mount"); sys.exit()
files.write_bytes(disk / "a.bin", b"old")
try:
    files.write_bytes(disk / "a.bin", b"x" * 200_000)
except CheckpointError as error:
    print(error)
print(sorted(os.listdir(disk)), (disk / "a.bin").read_bytes())
"""


def test_full_disk(tmp_path):
    command = ["unshare", "-rm", sys.executable, "-c", TINY_DISK, str(tmp_path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode or "no mount" in done.stdout:
        pytest.skip("no private mount allowed here")
    assert "the disk is full" in done.stdout
    assert "['a.bin'] b'old'" in done.stdout


def test_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"a file of that name is in the way|is a file, not a folder"):
        files.make_folder(tmp_path / "file")
    with pytest.raises(CheckpointError, match="a part of the path is a file"):
        files.write_bytes(tmp_path / "file" / "a.bin", b"x")


def test_missing_folder(tmp_path):
    with pytest.raises(CheckpointError, match="the folder is gone"):
        files.write_bytes(tmp_path / "none" / "a.bin", b"x")


def test_an_unknown_refusal_is_explained_in_the_systems_words():
    assert files.explain(OSError(errno.EIO, os.strerror(errno.EIO))) == os.strerror(errno.EIO).lower()


def test_json_is_valid_whatever_the_numbers(tmp_path):
    path = tmp_path / "a.json"
    files.write_json(path, {"a": [1.5, math.nan], "b": (math.inf, -math.inf), "c": None})
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == {
        "a": [1.5, "NaN"],
        "b": ["Infinity", "-Infinity"],
        "c": None,
    }


def test_leftovers_of_a_killed_process_go(tmp_path):
    (tmp_path / f".a.bin{files.TEMPORARY}").write_bytes(b"half")
    (tmp_path / "a.bin").write_bytes(b"whole")
    files.remove_leftovers(tmp_path)
    assert names(tmp_path) == ["a.bin"]


def test_lines_are_there_at_once_and_kept_on_reopen(tmp_path):
    path = tmp_path / "a.jsonl"
    file = files.AppendFile(path)
    file.append_lines(["one", "two"])
    assert path.read_text() == "one\ntwo\n"
    file.sync()
    file.close()
    file = files.AppendFile(path)
    file.append_lines(["three"])
    file.append_lines([])
    file.close()
    assert path.read_text() == "one\ntwo\nthree\n"


LIMITED_LINES = """
import resource, sys
from pathlib import Path
from courtside import files
from courtside.errors import CheckpointError
file = files.AppendFile(Path(sys.argv[1]))
file.append_lines(["x" * 600])
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    file.append_lines(["y" * 600])
except CheckpointError as error:
    print(error)
"""


def test_a_line_cut_short_is_taken_back(tmp_path):
    path = tmp_path / "a.jsonl"
    assert "size limit" in run_python(LIMITED_LINES, str(path))
    assert path.read_text() == "x" * 600 + "\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_appending_to_a_full_disk(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("/dev/full")
    file = files.AppendFile(tmp_path / "a.jsonl")
    with pytest.raises(CheckpointError, match=r"the disk is full\. Free some space"):
        file.append_lines(["one"])
    file.close()


def test_a_sync_that_loses_data_is_an_error_and_one_that_cannot_be_is_none(tmp_path, monkeypatch):
    file = files.AppendFile(tmp_path / "a.jsonl")
    for number in (errno.EIO, errno.ENOSPC):
        monkeypatch.setattr(os, "fsync", functools.partial(refuse, number))
        with pytest.raises(CheckpointError, match=r"Could not write .*a\.jsonl"):
            file.sync()
    for number in (errno.EINVAL, errno.ENOTSUP):
        monkeypatch.setattr(os, "fsync", functools.partial(refuse, number))
        file.sync()
    file.close()


def refuse(number, _descriptor):
    raise OSError(number, os.strerror(number))


def test_no_line_is_led_out_of_a_run_folder_by_a_link(tmp_path):
    outside = tmp_path / "mine.txt"
    outside.write_text("mine")
    (tmp_path / "events.jsonl").symlink_to(outside)
    with pytest.raises(CheckpointError, match="it is a link to another place"):
        files.AppendFile(tmp_path / "events.jsonl")
    assert outside.read_text() == "mine"
