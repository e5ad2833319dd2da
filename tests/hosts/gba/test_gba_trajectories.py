"""Recorded episodes: written, kept within bounds, played again to the same end, and filmed with what was earned."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from homebrew import catch, quest, quest_player, word

from courtside.cli import main
from courtside.errors import CheckpointError
from courtside.hosts.gba.core import Emulator
from courtside.hosts.gba.emerald.memory import read_state
from courtside.hosts.gba.emerald.rewards import make_rewards
from courtside.hosts.gba.replay_video import COLOURS, REST, Chart, choose_lines, compose, pace
from courtside.hosts.gba.trajectories import About, Recorder, find_episode, list_episodes, read_trajectory, replay


@pytest.fixture(scope="module")
def rom():
    return quest.build()


@pytest.fixture(scope="module")
def recorded(rom, tmp_path_factory):
    """All badges of the quest, as a folder, and the screens that were seen."""
    folder = tmp_path_factory.mktemp("run")
    with Emulator(rom) as emulator:
        emulator.run(16)
        rewards, screens = make_rewards(), [emulator.screen()]
        rewards.reset(read_state(emulator.read))
        about = About("quest", emulator.rom_sha1, quest.FRAMES_PER_MOVE, rewards.names, {"sticky": 0.0})
        recorder = Recorder(folder / "trajectories", about, 3)
        recorder.begin(emulator.save_state(), rewards.totals)
        for keys in quest_player.all_badges():
            emulator.run(quest.FRAMES_PER_MOVE, keys)
            screens.append(emulator.screen())
            paid = rewards.step(read_state(emulator.read), not screens[-1].any())
            recorder.add(keys >> 4, keys, paid, rewards.totals)
        assert recorder.end(emulator.save_state()) is None
    return folder, np.stack(screens)


@pytest.fixture(scope="module")
def episode(recorded):
    return find_episode(recorded[0])


def test_an_episode_is_a_folder_that_can_be_read(recorded, episode):
    folder, screens = recorded
    assert episode == folder / "trajectories" / "03" / "episode_0000"
    assert sorted(path.name for path in episode.iterdir()) == [
        "final.state", "initial.state", "steps.npz", "trajectory.json",
    ]  # fmt: skip
    told = json.loads((episode / "trajectory.json").read_text())
    assert told["steps"] == len(screens) - 1
    assert told["totals"]["badge_rew"] == 80.0
    trajectory = read_trajectory(episode)
    assert trajectory.keys.tolist() == quest_player.all_badges()
    gained = (trajectory.totals[-1] - trajectory.totals[0]).sum()
    assert gained == pytest.approx(trajectory.rewards.sum(), abs=1e-3)


def test_played_again_it_shows_the_same_and_ends_the_same(recorded, episode, rom):
    shown = list(replay(read_trajectory(episode), rom))
    assert [step for step, _ in shown] == list(range(len(recorded[1])))
    np.testing.assert_array_equal(np.stack([screen for _, screen in shown]), recorded[1])
    some = [step for step, _ in replay(read_trajectory(episode), rom, every=20)]
    assert some == [0, 20, 40, 60, len(recorded[1]) - 1]


def test_another_key_leads_to_another_end(episode, rom):
    trajectory = read_trajectory(episode)
    changed = dataclasses.replace(trajectory, keys=trajectory.keys.copy())
    changed.keys[-1] = 0
    with pytest.raises(CheckpointError, match="ended in another state than the recorded one"):
        list(replay(changed, rom, every=100))


def test_another_rom_is_refused(episode):
    with pytest.raises(CheckpointError, match="load it with the ROM that it was made with"):
        list(replay(read_trajectory(episode), catch.build()))


def test_the_newest_are_kept_and_some_are_left_out(tmp_path):
    """Every second game of catch, three of them, in the folder of one env."""
    with Emulator(catch.build()) as emulator:
        recorder = Recorder(tmp_path, About("catch", emulator.rom_sha1, 8, ("score",)), 0, keep=2, every=2)
        for game in range(6):
            assert recorder.is_next == (game % 2 == 0)
            recorder.begin(emulator.save_state() if recorder.is_next else None, {"score": game})
            for step in range(4):
                emulator.run(8, 16)
                recorder.add(1, 16, 0.5, {"score": float(word(emulator, catch.SCORE)) + step})
            assert recorder.end(emulator.save_state()) is None
        assert [path.name for path in list_episodes(tmp_path / "00")] == ["episode_0001", "episode_0002"]
        assert [path.name for path in (tmp_path / "00").iterdir() if path.name.startswith(".")] == []
        last = read_trajectory(find_episode(tmp_path))
        assert last.totals[0, 0] == 4.0, "the fifth game"
        assert len(list(replay(last, catch.build()))) == 5


def test_a_disk_that_takes_no_more_is_told_once(tmp_path):
    (tmp_path / "00").write_text("in the way")
    recorder = Recorder(tmp_path, About("catch", "", 8), 0)
    for expected in (True, False):
        recorder.begin(b"state", {})
        recorder.add(0, 0, 0.0, {})
        assert bool(recorder.end(b"state")) == expected
    assert not recorder.is_recording


@pytest.mark.parametrize("file", ["steps.npz", "final.state", "trajectory.json"])
def test_damage_is_told(recorded, episode, tmp_path, file):
    for path in episode.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / file).write_bytes(b"{}") if file != "final.state" else (tmp_path / file).unlink()
    with pytest.raises(CheckpointError, match="is damaged"):
        read_trajectory(tmp_path)


def test_what_changed_most_has_colours_and_the_rest_is_added_up():
    steps = np.arange(5.0, dtype=np.float32)[:, None]
    totals = np.concatenate([steps * amount for amount in (0.0, *range(1, 11))], axis=1) + 7
    lines = choose_lines(tuple(f"c{i}" for i in range(11)), totals)
    assert [line.name for line in lines] == ["c10", "c9", "c8", "c7", "c6", "c5", "c4", REST]
    assert lines[0].values.tolist() == [0, 10, 20, 30, 40]
    assert lines[-1].values.tolist() == [0, 6, 12, 18, 24], "1 + 2 + 3 a step"


def test_a_chart_grows_with_the_episode():
    totals = np.array([[0.0], [1.0], [4.0]], np.float32)
    chart = Chart(("badges",), totals, 200)
    early, late = chart.at(0, "step 0"), chart.at(2, "step 2")
    bright = [int((picture[:100] == COLOURS[0]).all(axis=-1).sum()) for picture in (early, late)]
    assert bright[0] < 10 < 100 < bright[1]
    assert early.shape == late.shape == (chart.height, 200, 3)
    assert Chart((), np.zeros((3, 0), np.float32), 200).at(1, "nothing is paid").shape[1] == 200


def test_the_speed_of_a_film():
    assert pace(25, 16.0) == (1, 38)
    assert pace(8, 16.0) == (3, 40)
    assert pace(25, 1.0) == (1, 2)


def test_frames_have_the_screen_above_and_the_chart_below(recorded, episode, rom):
    frames = list(compose(read_trajectory(episode), rom, every=40, linger=3))
    np.testing.assert_array_equal(frames[1][:320:2, :480:2], recorded[1][40])
    assert len(frames) == 3 + 2
    assert len({frame.shape for frame in frames}) == 1


def test_the_command_makes_a_video(recorded, episode, rom, tmp_path, capsys):
    import av

    (tmp_path / "quest.gba").write_bytes(rom)
    video = tmp_path / "quest.mp4"
    assert main(["replay", str(recorded[0]), "--rom", str(tmp_path / "quest.gba"), "--video", str(video)]) == 0
    told = capsys.readouterr().out
    assert "it ended as it was recorded" in told
    assert "badge_rew       80.00" in told
    with av.open(str(video)) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 25 + 39, "every third step and the last, which stays for a second"
    assert np.abs(frames[-1][:320:2, ::2].astype(int) - recorded[1][-1]).mean() < 8


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["{empty}", "--rom", "x.gba"], "no recorded episode"),
        (["{episode}", "--rom", "x.gba"], "there is no such file"),
        (["{episode}", "--rom", "x.gba", "--video", "x.txt"], "name it .mp4 or .gif"),
        (["{episode}", "--rom", "x.gba", "--speed", "0"], "expected a number from 0.1 to 1000"),
        (["{episode}"], "--rom"),
    ],
)
def test_the_command_says_what_is_wrong(episode, tmp_path, capsys, args, words):
    assert main(["replay", *(arg.format(empty=tmp_path, episode=episode) for arg in args)]) == 2
    assert words in capsys.readouterr().err
