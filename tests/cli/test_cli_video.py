"""`courtside eval --video`: the film shows the first of the very episodes that were scored."""

import json
import sys

import av
import pytest

from courtside.cli import main

BLINK = '''
import gymnasium, numpy as np

class Blink(gymnasium.Env):
    """Three steps of one red picture, brighter with every step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 5}
    observation_space = gymnasium.spaces.Box(0, 3, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, render_mode=None):
        self.time = 0

    def _see(self):
        return np.full(1, self.time, np.float32)

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self._see(), {}

    def step(self, action):
        self.time += 1
        return self._see(), 1.0, self.time == 3, False, {}

    def render(self):
        return np.full((40, 120, 3), (min(80 * self.time, 240), 0, 0), np.uint8)

class Gamble(Blink):
    def step(self, action):
        self.time += 1
        return self._see() / 20, 1.0, bool(action == 1), self.time == 60, {}

class Moody(Gamble):
    """Its seed means nothing."""

    played = 0

    def step(self, action):
        Moody.played += 1
        return *super().step(action)[:1], float(Moody.played), True, False, {}

class Plain(Blink):
    def __init__(self):
        self.time = 0
'''


def frames_of(path) -> list:
    with av.open(str(path)) as container:
        return [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]


def evaluate(capsys, *args: str) -> tuple[int, str, str]:
    status = main(["eval", *args])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_first_episodes_of_an_evaluation_are_filmed(tmp_path, capsys):
    small = ["--num-envs", "4", "--num-steps", "32", "--total-timesteps", "1280", "--hidden-sizes", "8"]
    assert main(["train", "cartpole", "--runs-dir", str(tmp_path / "runs"), "--cuda", "False", *small]) == 0
    capsys.readouterr()
    film, run = tmp_path / "out.gif", next((tmp_path / "runs").iterdir())
    args = [str(run), "--episodes", "5", "--video", str(film), "--video-episodes", "2", "--json"]
    status, page, _ = evaluate(capsys, *args)
    found = json.loads(page)
    assert (status, found["video"]) == (0, str(film))
    # CartPole pays 1 a step, so a return is a length; a frame more for the first state, and the last one stays a second.
    assert len(frames_of(film)) == sum(found["returns"][:2]) + 2 * (1 + 49)
    assert found["returns"][:2] != found["returns"][2:4]
    assert evaluate(capsys, *args[:-1])[1].endswith(f"video       {film}\n")


@pytest.fixture
def blink_run(tmp_path, monkeypatch):
    (tmp_path / "blink_env.py").write_text(BLINK)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield lambda name: _train(tmp_path, name)
    sys.modules.pop("blink_env", None)


def _train(folder, name: str) -> str:
    small = [
        "--num-envs",
        "2",
        "--num-steps",
        "8",
        "--total-timesteps",
        "16",
        "--hidden-sizes",
        "4",
        "--workers",
        "serial",
    ]
    assert main(["train", "--env-id", f"blink_env:{name}", "--runs-dir", str(folder / name), *small]) == 0
    return str(next((folder / name).iterdir()))


def test_a_gymnasium_env_draws_its_own_pictures(blink_run, tmp_path, capsys):
    run = blink_run("Blink")
    assert evaluate(capsys, run, "--episodes", "3", "--video", "out.gif", "--video-episodes", "2")[0] == 0
    frames = frames_of(tmp_path / "out.gif")
    assert [int(frame[0, 0, 0]) for frame in frames[:4]] == [0, 80, 160, 240]
    assert len(frames) == 2 * (4 + 4)


def test_drawn_actions_are_filmed_as_they_were_scored(blink_run, tmp_path, capsys):
    """Each step goes on with a chance of about a half. 16 envs play, so the last two films are of another round."""
    args = ["--episodes", "20", "--video", "out.gif", "--video-episodes", "18", "--sampled", "--json"]
    run = blink_run("Gamble")
    capsys.readouterr()
    status, page, errors = evaluate(capsys, run, *args)
    returns = json.loads(page)["returns"]
    assert (status, errors) == (0, "")
    assert len(set(returns)) > 2
    lengths, length = [], 0
    for frame in frames_of(tmp_path / "out.gif"):
        if frame[0, 0, 0] == 0 and length:
            lengths.append(length)
            length = 0
        length += 1
    assert [*lengths, length] == [score + 1 + 4 for score in returns[:18]]


def test_an_env_that_plays_otherwise_for_the_camera_is_noted(blink_run, capsys):
    run = blink_run("Moody")
    capsys.readouterr()
    status, _, errors = evaluate(capsys, run, "--episodes", "2", "--video", "out.gif")
    assert status == 0
    assert errors.startswith("note: The film shows other episodes than those scored")


def test_a_gymnasium_env_without_pictures_is_refused(blink_run, tmp_path, capsys):
    status, _, sentence = evaluate(capsys, blink_run("Plain"), "--video", "out.gif")
    assert status == 2
    assert "blink_env:Plain cannot be filmed" in sentence
    assert not (tmp_path / "out.gif").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--video", "out.avi"], "ends in '.avi'; name it .mp4 or .gif."),
        (["--video", "nowhere/out.gif"], "is not there; make it first."),
        (["--video-episodes", "0"], "--video-episodes is '0'"),
    ],
)
def test_bad_films_are_refused_before_anything_is_played(args, words, capsys):
    status, _, sentence = evaluate(capsys, "no-such-run", *args)
    assert status == 2
    assert words in sentence
