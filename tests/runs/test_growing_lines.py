"""A line file that grows, is cut, or is another one."""

from __future__ import annotations

import os

import pytest

from courtside.runs.lines import BLOCK_BYTES, Follower


def line(update):
    return b'{"step": %d, "update": %d}\n' % (10 * update, update)


def read(follower, **more):
    """The updates of all rows that are new, and whether it began anew."""
    with open(follower.path, "rb") as file:
        begins = follower.begins_anew(file)
        blocks = iter(lambda: follower.next_rows(file, **more), None)
        return [row["update"] for rows in blocks for row in rows], begins


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b"".join(map(line, range(1, 11))))
    return path


def test_rows_come_once(path):
    follower = Follower(path)
    assert read(follower) == (list(range(1, 11)), False)
    assert read(follower) == ([], False)
    with open(path, "ab") as file:
        file.write(line(11) + line(12)[:5])
    assert read(follower) == ([11], False)


@pytest.mark.parametrize("regrown", [5, 9, 10, 30])
def test_a_file_that_was_cut_in_place_and_grew_again_begins_anew(path, regrown):
    """Shorter, as long, or longer than it was; the very same file each time."""
    follower = Follower(path)
    read(follower)
    with open(path, "r+b") as file:
        file.truncate(len(line(1)) * 3)
        file.seek(0, os.SEEK_END)
        file.write(b"".join(line(update + 100) for update in range(4, regrown + 1)))
    assert read(follower) == ([1, 2, 3, *range(104, regrown + 101)], True)


def test_another_file_of_that_name_begins_anew(path):
    follower = Follower(path)
    read(follower)
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)
    assert read(follower) == (list(range(1, 11)), True)


def test_no_further_than_asked_for(path):
    follower, first = Follower(path), len(line(1))
    assert read(follower, end=3 * first + 2)[0] == [1, 2, 3]
    assert read(follower)[0] == list(range(4, 11))


def test_what_is_no_record_is_counted_and_an_endless_line_passed_over(path):
    path.write_bytes(line(1) + b"\n{half\n" + b"x" * (2 * BLOCK_BYTES) + b"\n" + line(2))
    follower = Follower(path)
    assert read(follower)[0] == [1, 2]
    assert follower.skipped >= 2


def test_a_file_that_is_too_large_is_refused(path):
    with open(path, "rb") as file:
        assert Follower(path).measure(file, 10_000) == path.stat().st_size
        with pytest.raises(OSError, match="too large"):
            Follower(path).measure(file, 100)
