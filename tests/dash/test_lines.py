"""Line files: all rows of a small one, a sample of a huge one, whatever else stands in them."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from courtside.dash import lines
from courtside.dash.lines import LineFiles, pick_rows, read_newest, sample_steps
from courtside.runs.lines import parse


def encode(count, first=1, pad=""):
    return b"".join(json.dumps({"step": 10 * i, "update": i, "x": i / 2, "pad": pad}).encode() + b"\n" for i in range(first, first + count))  # fmt: skip


def test_a_file_that_grows_is_read_on_from_where_it_was(tmp_path, monkeypatch):
    path, files = tmp_path / "metrics.jsonl", LineFiles()
    path.write_bytes(encode(3) + b'{"step": 40, "upd')
    table = files.read(path, ("update", "x", "absent"))
    assert table.columns["update"].tolist() == [1, 2, 3]
    assert np.isnan(table.columns["absent"]).all()
    assert (table.count, table.skipped, table.is_whole) == (3, 0, True)
    read = []
    monkeypatch.setattr(lines, "parse", lambda line: read.append(line) or parse(line))
    path.write_bytes(encode(5))
    assert files.read(path, ("x",)).columns["x"].tolist() == [0.5, 1, 1.5, 2, 2.5]
    assert len(read) == 2, "what is known is not read again"
    path.write_bytes(encode(2))
    assert files.read(path, ("x",)).count == 2, "a run that went back"
    path.unlink()
    assert files.read(path, ("x",)).count == 0


def test_a_new_column_and_one_that_ends_have_blanks(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": 1, "update": 1, "a": 1}, {"step": 2, "update": 2, "b": "NaN"}, {"step": 3, "update": 3, "b": None}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = LineFiles().read(path, ("a", "b")).columns
    assert columns["a"].tolist()[0] == 1
    assert np.isnan(columns["a"][1:]).all()
    assert np.isnan(columns["b"]).all()


WRONG = [
    b"",
    b"{",
    b"[1, 2]",
    b"null",
    b'{"step": "1", "update": 1}',
    b'{"update": 1}',
    b"\xff\xfe",
    b'{"step":' * 5000,
]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_line_that_is_no_row_is_passed_over_and_counted(wrong, tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode(1) + wrong + b"\n" + encode(1, first=2))
    table = LineFiles().read(path, ("update",))
    assert table.columns["update"].tolist() == [1, 2]
    assert table.skipped == bool(wrong)


@given(st.binary(max_size=200))
def test_no_bytes_break_it(tmp_path_factory, garbage):
    path = tmp_path_factory.mktemp("garbage") / "metrics.jsonl"
    path.write_bytes(garbage + b"\n" + encode(2))
    assert LineFiles().read(path, ("update",)).columns["update"].tolist()[-2:] == [1, 2]
    assert read_newest(path)["update"] == 2
    assert pick_rows(path, 10)[-1]["update"] == 2


@pytest.fixture
def huge(tmp_path, monkeypatch):
    """40,000 rows of 100 bytes, huge as far as the reader is concerned."""
    monkeypatch.setattr(lines, "WHOLE_BYTES", 100_000)
    monkeypatch.setattr(lines, "PIECES", 50)
    monkeypatch.setattr(lines, "PIECE_BYTES", 500)
    monkeypatch.setattr(lines, "PROBE_BYTES", 1_000)
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(encode(40_000, pad="p" * 40))
    return path


def test_of_a_huge_file_a_sample_is_read_from_end_to_end(huge):
    table = LineFiles().read(huge, ("update", "x"))
    updates = table.columns["update"]
    assert not table.is_whole
    assert 100 < table.count < 500
    assert (updates[0], updates[-1]) == (1, 40_000)
    assert (np.diff(updates) > 0).all()
    assert np.diff(updates).max() < 1_000
    assert table.skipped == 0
    np.testing.assert_array_equal(table.columns["x"], updates / 2)


def test_a_stretch_of_it_is_read_more_finely(huge):
    updates = sample_steps(huge, 100_000, 101_000, ("update",)).columns["update"]
    inside = updates[(updates >= 10_000) & (updates <= 10_100)]
    assert inside.size == 101
    assert updates.size < 500


def test_a_thumbnail_has_the_first_and_the_newest_row(huge):
    rows = pick_rows(huge, 20)
    assert 15 <= len(rows) <= 20
    assert rows[0]["update"] == 1
    assert rows[-1]["update"] == 40_000 == read_newest(huge)["update"]


def test_a_file_that_was_cut_and_has_grown_again_is_read_anew(tmp_path):
    path, files = tmp_path / "metrics.jsonl", LineFiles()
    path.write_bytes(encode(5))
    files.read(path, ("x",))
    with open(path, "r+b") as file:  # the same file, as after a run went back and trained on
        file.truncate()
        file.write(encode(9, first=100))
    assert files.read(path, ("update",)).columns["update"].tolist() == list(range(100, 109))


def test_many_names_in_one_row_cost_nothing_in_the_others(tmp_path):
    path = tmp_path / "metrics.jsonl"
    wide = {"step": 1, "update": 1} | {f"m{i}": i for i in range(1_500)}
    path.write_bytes(json.dumps(wide).encode() + b"\n" + encode(3_000, first=2))
    files = LineFiles()
    assert files.read(path, ("m7", "x")).columns["m7"][0] == 7
    kept = next(iter(files._kept.values()))[1]
    assert sum(map(len, kept.values.values())) < 20_000


def test_many_files_are_not_all_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_KEPT", 3)
    files = LineFiles()
    for i in range(6):
        path = tmp_path / f"{i}.jsonl"
        path.write_bytes(encode(1))
        files.read(path, ("x",))
    assert len(files._kept) == 3


def test_a_file_with_endless_names_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "MOST_NAMES", 5)
    path = tmp_path / "metrics.jsonl"
    path.write_text(json.dumps({"step": 1, "update": 1} | {f"m{i}": i for i in range(50)}) + "\n")
    assert len(LineFiles().read(path, ()).names) == 5
