"""The atlas of saved states: what is kept, what is started from, and that a resumed run starts from the same."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys

import numpy as np
import pytest
from homebrew import quest
from hypothesis import given
from hypothesis import strategies as st

from courtside.errors import ConfigError
from courtside.hosts.gba import atlas as module
from courtside.hosts.gba.atlas import Atlas, AtlasSettings, Entry, choose_kept, list_entries, place_key
from courtside.hosts.gba.core import Emulator, key_mask
from courtside.hosts.gba.emerald.memory import read_state

SMALL = AtlasSettings(capacity_mb=12 * module.SLOT / module.MB, num_envs=2, settle=3, grace=12)
"""Room for six states that are kept and six new ones: an env may store one every six steps."""


def entries(max_size=30):
    one = st.builds(Entry, st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 50), st.integers(0, 3))
    return st.lists(one, unique=True, max_size=max_size)


def drop_one_by_one(kept, slots):
    """The rule as it is told: the least useful of the fullest place goes first."""
    kept = sorted(kept)
    while len(kept) > slots:
        sizes = {place: sum(entry.place == place for entry in kept) for place in "abc"}
        fullest = max(sizes, key=lambda place: (sizes[place], place))
        kept.remove(next(entry for entry in kept if entry.place == fullest))
    return kept


@given(entries(), st.integers(1, 12))
def test_the_least_useful_of_the_fullest_place_goes_first(found, slots):
    assert choose_kept(found, slots) == drop_one_by_one(found, slots)


@given(entries(), entries(), st.integers(1, 12))
def test_it_does_not_matter_when_what_is_left_out_is_deleted(old, new, slots):
    new = [entry for entry in new if entry not in old]
    assert choose_kept(choose_kept(old, slots) + new, slots) == choose_kept(old + new, slots)


def test_a_state_of_the_game_is_started_from(tmp_path):
    """Stored by one env in the second map, loaded by another."""
    walker, other = (Atlas(tmp_path, SMALL, env) for env in (0, 1))
    with Emulator(quest.build()) as emulator:
        emulator.run(16)
        for key in ("right", "right", "right", "down", None, None, None, None):
            emulator.run(quest.FRAMES_PER_MOVE, key_mask(key) if key else 0)
        state = read_state(emulator.read)
        assert state is not None
        walker.store(place_key(state.map_group, state.map_num), state.badges.bit_count(), 8, emulator.save_state())
        emulator.reset()
        assert other.sample(np.random.default_rng(0), 10) is None, "not all may have written theirs"
        start = other.sample(np.random.default_rng(0), 11)
        assert start is not None
        assert start.entry == ("0-0", 0, 8, 0)
        emulator.load_state(start.state)
        assert emulator.save_state() == start.state
        assert (again := read_state(emulator.read)) is not None
        assert (again.map_num, again.x, again.y) == (state.map_num, state.x, state.y) == (0, -2, 0)
    assert len(start.state) < module.SLOT


def play(folder, steps, saved=None):
    """Two envs that store and start at random; what each started from by step, and their saved states by step."""
    envs = [Atlas(folder, SMALL, env) for env in (0, 1)]
    rngs = [np.random.default_rng(env) for env in (0, 1)]
    for env, rng, (record, numbers) in zip(envs, rngs, saved or (), strict=False):
        env.load(json.loads(record))
        rng.bit_generator.state = numbers
    log, states = [], {}
    for step in steps:
        states[step] = [(json.dumps(a.save()), r.bit_generator.state) for a, r in zip(envs, rngs, strict=True)]
        for atlas, rng in zip(envs, rngs, strict=True):
            if rng.random() < 0.5:
                place, progress = "abc"[rng.integers(3)], int(rng.integers(2))
                atlas.store(place, progress, step, f"{place} {progress} {step} {atlas.env}".encode())
            if rng.random() < 0.3 and (start := atlas.sample(rng, step)) is not None:
                atlas.note_return(start.entry.place, float(rng.normal()))
                log.append((step, atlas.env, start.state))
        assert all(atlas.take_trouble() is None for atlas in envs)
    return log, states


def test_a_resumed_run_starts_from_the_same_states(tmp_path):
    straight, states = play(tmp_path / "a", range(150))
    assert len({state for _, _, state in straight}) > 10
    for killed, resumed in itertools.pairwise((0, 60, 120)):
        _, states = play(tmp_path / "b", range(killed, resumed + 8), states[killed] if killed else None)
        assert [*states][-1] == resumed + 7, "eight steps are lost by the kill"
    tail, _ = play(tmp_path / "b", range(120, 150), states[120])
    assert tail == [entry for entry in straight if entry[0] >= 120]


def test_the_folder_never_takes_more_than_it_may(tmp_path):
    """Every env stores whenever it may, as large a state as there can be."""
    settings = AtlasSettings(capacity_mb=16 * 1e-3, num_envs=3, settle=1, grace=20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "SLOT", 1_000)
        envs, most = [Atlas(tmp_path, settings, env) for env in range(3)], 0
        for step in range(200):
            for atlas in envs:
                atlas.store(f"{step % 7}-0", step // 50, step, bytes(1_000))
            most = max(most, sum(path.stat().st_size for path in tmp_path.glob("*/*.state")))
    assert 8_000 < most <= 16_000


WRITER = """
import sys
from pathlib import Path
from courtside.hosts.gba.atlas import Atlas, AtlasSettings
env = int(sys.argv[2])
atlas = Atlas(Path(sys.argv[1]), AtlasSettings(capacity_mb=8, num_envs=3, settle=1, grace=15), env)
for step in range(40):
    atlas.store(f"{step % 3}-{env % 2}", step // 20, step, bytes([env]) * 1000)
    assert atlas.take_trouble() is None
"""


def test_processes_share_a_folder(tmp_path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(env)]) for env in range(3)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    atlas = Atlas(tmp_path, AtlasSettings(capacity_mb=8, num_envs=3, settle=1, grace=15), 0)
    atlas.tidy(1_000)
    left = list_entries(tmp_path)
    assert len(left) == 10
    assert sum(entry.progress for entry in left) == 6, "all of the furthest"
    assert {entry.env for entry in left} == {0, 1, 2}
    index = json.loads((tmp_path / module.INDEX).read_text())
    assert index["states"] == [{"file": entry.file, **entry._asdict()} for entry in left]
    assert sum(index["places"].values()) == 10
    assert all((tmp_path / entry.file).read_bytes() == bytes([entry.env]) * 1000 for entry in left)


def test_a_full_disk_is_told_once_and_training_goes_on(tmp_path):
    atlas = Atlas(tmp_path, SMALL, 0)
    atlas.store("0-9", 0, 1, b"fine")
    file = tmp_path / Entry("0-9", 0, 7, 0).file
    file.with_name(f".{file.name}.tmp").symlink_to("/dev/full")
    atlas.store("0-9", 0, 7, b"too much")
    trouble = atlas.take_trouble()
    assert trouble is not None
    assert "the disk is full. Training goes on, and this env stores no more" in trouble
    atlas.store("0-9", 0, 13, b"not tried")
    assert atlas.take_trouble() is None
    assert [entry.step for entry in list_entries(tmp_path)] == [1]
    assert atlas.sample(np.random.default_rng(0), 9) is not None


def test_a_state_that_is_gone_is_told_and_the_game_begins_anew(tmp_path):
    atlas = Atlas(tmp_path, SMALL, 0)
    atlas.store("0-9", 0, 1, b"x")
    (tmp_path / Entry("0-9", 0, 1, 0).file).unlink()
    (tmp_path / Entry("0-9", 0, 1, 0).file).symlink_to("nowhere")
    assert atlas.sample(np.random.default_rng(0), 9) is None
    assert "starts from the beginning" in (atlas.take_trouble() or "")


def test_places_where_returns_change_are_started_from_more_often(tmp_path):
    atlas = Atlas(tmp_path, AtlasSettings(choose_by="progress", floor=0.3, window=2), 0)
    places = ("flat", "rising", "new")
    assert atlas.chances(places).tolist() == [1 / 3] * 3
    for earned in (5.0, 0.0, 0.0, 2.0, 2.0):
        atlas.note_return("flat", 1.0)
        atlas.note_return("rising", earned)
    chances = atlas.chances(places)
    assert chances.tolist() == pytest.approx([0.1, 0.45, 0.45]), "the new place counts as the best"
    again = Atlas(tmp_path, atlas.settings, 1)
    again.load(json.loads(json.dumps(atlas.save())))
    assert again.chances(places).tolist() == chances.tolist()
    assert Atlas(tmp_path, AtlasSettings(), 2).chances(places).tolist() == [1 / 3] * 3


@pytest.mark.parametrize("wrong", [{"capacity_mb": 0.1}, {"floor": 1.5}, {"settle": 10, "grace": 5}])
def test_settings_that_cannot_work_are_refused(tmp_path, wrong):
    with pytest.raises(ConfigError):
        Atlas(tmp_path, AtlasSettings(**wrong), 0)


def test_a_place_is_no_path(tmp_path):
    with pytest.raises(ConfigError, match=r"not '\.\./x' and 0"):
        Atlas(tmp_path, SMALL, 0).store("../x", 0, 1, b"")
