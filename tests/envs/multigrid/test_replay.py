"""Recorded episodes of the reference replay exactly; a recording with one changed number does not."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import numpy as np
import pytest

from courtside.envs.multigrid import replay

FILES = sorted((Path(__file__).parent / "traces").glob("*.npz"))
WORLDS = {
    name: list(files) for name, files in itertools.groupby(FILES, key=lambda path: re.sub("__s[0-9]+$", "", path.stem))
}
DUEL = next(path for path in FILES if "stolen-win" in path.stem)


@pytest.mark.parametrize("name", WORLDS)
def test_recorded_episodes_replay_exactly(name):
    assert {path.name: str(replay.replay(replay.load(path))) for path in WORLDS[name]} == dict.fromkeys(
        [path.name for path in WORLDS[name]], "None"
    )


def test_every_quirk_of_the_reference_is_among_the_recordings():
    remarks = (
        "lastwin",
        "paid-again",
        "toggled-twice",
        "misplaced-credit",
        "stolen-win",
        "hit-after-win",
        "killer-unpaid",
    )
    remarks += (
        "opened-but-killed",
        "order-decides",
        "winner-not-actor",
        "victim-picked",
        "shuffled",
        "full",
        "v7",
        "v5",
    )
    assert all(any(remark in path.stem for path in FILES) for remark in remarks)


@pytest.mark.parametrize(
    "field",
    ["grid", "agents", "carried", "image", "direction", "reward", "terminated", "info", "mission"],
)
def test_one_wrong_number_is_found_and_named(field):
    trace = replay.load(DUEL)
    wrong = trace.arrays[field].copy()
    wrong[3:] = ~wrong[3:] if wrong.dtype == bool else wrong[3:] + 1
    broken = replay.Recording(trace.path, trace.meta, trace.arrays | {field: wrong})
    difference = replay.replay(broken)
    step = 3 if len(wrong) > trace.num_steps else 4
    assert (difference.step, difference.field) == (step, field)


def altered(trace, **arrays):
    """The recording with other arrays, None leaving one out."""
    kept = {name: array for name, array in (trace.arrays | arrays).items() if array is not None}
    return replay.Recording(trace.path, trace.meta, kept)


def test_without_an_object_grid_things_must_be_what_the_grid_shows():
    """In a failure at the doors the blue one is shut but looks open, and the recording says so."""
    trace = replay.load(next(path for path in FILES if "object_grid" in np.load(path)))
    assert replay.replay(trace) is None
    first = np.argwhere((trace.arrays["object_grid"] != trace.arrays["grid"]).any((1, 2, 3)))[0, 0]
    difference = replay.replay(altered(trace, object_grid=None))
    assert (difference.step, difference.field) == (first, "object_grid")


def test_only_the_factor_of_a_missing_ball_may_be_unknown():
    trace = replay.load(DUEL)
    assert np.isnan(trace.arrays["ball_discount"]).all()
    reward = trace.arrays["reward"].copy()
    reward[2, 0] = np.nan
    difference = replay.replay(altered(trace, reward=reward))
    assert (difference.step, difference.field) == (3, "reward")


def test_a_recording_without_directions_or_infos_is_refused(tmp_path):
    for name in ("direction", "info"):
        arrays = dict(np.load(DUEL))
        del arrays[name]
        np.savez(tmp_path / "poor.npz", **arrays)
        with pytest.raises(replay.TraceError, match=f"lacks {name}"):
            replay.load(tmp_path / "poor.npz")


@pytest.mark.parametrize("depth", [0, 3])
def test_boxes_deeper_than_a_cell_can_say_are_refused(depth):
    trace = altered(replay.load(DUEL), box_contents=np.array([[7, 2, depth, 6, 0, 0]], np.int8))
    with pytest.raises(replay.TraceError, match=rf"{depth} boxes deep at \(7, 2\)"):
        replay.replay(trace)


@pytest.mark.parametrize(("size", "said"), [(33, "31 is the largest"), (6, "must be odd"), (1, "3 is the smallest")])
def test_a_view_that_cannot_be_is_refused(size, said):
    trace = replay.load(DUEL)
    meta = trace.meta | {"options": trace.meta["options"] | {"agent_view_size": size}}
    with pytest.raises(replay.TraceError, match=said):
        replay.replay(replay.Recording(trace.path, meta, trace.arrays))


def test_the_command_says_ok_or_where_it_differs(tmp_path, capsys):
    arrays = dict(np.load(DUEL))
    arrays["reward"] = arrays["reward"] + 0.5
    np.savez(tmp_path / "wrong.npz", **arrays)
    assert replay.main([str(DUEL)]) == 0
    assert replay.main([str(DUEL), str(tmp_path / "wrong.npz")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert replay.main([str(tmp_path / "wrong.npz"), str(tmp_path / "missing.npz")]) == 1
    assert replay.main([str(tmp_path / "missing.npz"), str(tmp_path / "wrong.npz")]) == 1
    assert [line.endswith(": ok") for line in lines] == [True, True, False]
    assert "step 1: reward[0] is 0.0, the recording has 0.5" in lines[-1]


def test_a_file_that_is_no_recording_is_refused_in_one_sentence(tmp_path, capsys):
    (tmp_path / "text.npz").write_text("hello")
    np.savez(tmp_path / "poor.npz", meta=json.dumps({"options": {}}), grid=np.zeros(3))
    for name in ("text.npz", "poor.npz", "missing.npz"):
        assert replay.main([str(tmp_path / name)]) == 2
        assert name in capsys.readouterr().err
    arrays = dict(np.load(DUEL))
    arrays["meta"] = np.array(json.dumps(json.loads(str(arrays["meta"])) | {"options": {}}))
    np.savez(tmp_path / "bare.npz", **arrays)
    assert replay.main([str(tmp_path / "bare.npz"), str(DUEL)]) == 2
    told = capsys.readouterr()
    assert "has_obstacle" in told.err
    assert told.out.endswith(": ok\n")
    assert replay.main([]) == 2


@pytest.mark.parametrize("kind", ["text", "npy", "missing"])
def test_what_is_no_archive_is_told_in_one_sentence_without_numpys_advice(kind, tmp_path, capsys):
    path = tmp_path / f"bad.{'npy' if kind == 'npy' else 'npz'}"
    if kind == "npy":
        np.save(path, np.zeros(3))
    elif kind == "text":
        path.write_text("x")
    assert replay.main([str(path)]) == 2
    found = "".join(capsys.readouterr())
    assert ("There is no file" if kind == "missing" else "no .npz archive") in found
    assert "pickle" not in found
