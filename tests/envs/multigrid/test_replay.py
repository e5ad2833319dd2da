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
    broken = replay.Trace(trace.path, trace.meta, trace.arrays | {field: wrong})
    difference = replay.replay(broken)
    step = 3 if len(wrong) > trace.num_steps else 4
    assert (difference.step, difference.field) == (step, field)


def test_the_command_says_ok_or_where_it_differs(tmp_path, capsys):
    arrays = dict(np.load(DUEL))
    arrays["reward"] = arrays["reward"] + 0.5
    np.savez(tmp_path / "wrong.npz", **arrays)
    assert replay.main([str(DUEL)]) == 0
    assert replay.main([str(DUEL), str(tmp_path / "wrong.npz")]) == 1
    lines = capsys.readouterr().out.splitlines()
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
