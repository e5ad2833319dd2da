"""Playing through the command line: a real terminal (a pty) for the keys, and `--keys` for scripts."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time

import av
import pytest

from courtside.cli import main
from waiting import PATIENCE

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


class Player:
    """A person at a terminal in which `courtside play` runs."""

    def __init__(self, *args: str) -> None:
        self.terminal, other = pty.openpty()
        self.before = termios.tcgetattr(self.terminal)
        command = [sys.executable, "-m", "courtside", "play", *args]
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True)
        os.close(other)
        self.page = ""

    def press(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def wait_for(self, words: str) -> None:
        """Read until the words are on the screen."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.page:
            assert time.monotonic() < deadline, self.page
            if select.select([self.terminal], [], [], 0.5)[0]:
                self.page += os.read(self.terminal, 65536).decode(errors="replace")

    def leave(self) -> int:
        """The exit status; the terminal must be as it was."""
        self.wait_for(LEAVE)
        status = self.process.wait(PATIENCE)
        assert termios.tcgetattr(self.terminal) == self.before
        assert self.page.index(ENTER) < self.page.index(LEAVE)
        os.close(self.terminal)
        return status


def test_a_person_plays_in_a_terminal():
    player = Player("cartpole")
    player.wait_for("step 0 | reward 0")
    player.press("\x1b[D")
    player.wait_for("step 1 | reward 1")
    player.press("a1\x1bOC")
    player.wait_for("step 4 | reward 4")
    player.press("q")
    player.wait_for("episode 1: step 4, reward 4, not finished")
    assert player.leave() == 0


def test_a_terminal_is_given_back_while_the_player_pauses_and_when_it_is_stopped():
    player = Player("probe-two-agents")
    player.wait_for("You move agent_0.")
    player.process.send_signal(signal.SIGTSTP)
    player.wait_for(LEAVE)
    _, status = os.waitpid(player.process.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status)
    assert termios.tcgetattr(player.terminal) == player.before
    player.page = ""
    player.process.send_signal(signal.SIGCONT)
    player.wait_for("You move agent_0.")
    player.process.send_signal(signal.SIGTERM)
    assert player.leave() == 143


def play(capsys, *args: str) -> tuple[int, str, str]:
    status = main(["play", *args])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_keys_from_a_script_show_the_last_screen(capsys):
    status, page, _ = play(capsys, "cartpole", "--keys", "01r11", "--seed", "3")
    assert status == 0
    assert page.splitlines()[0] == "cartpole: balance a pole on a cart"
    assert page.splitlines()[-2:] == [
        "episode 1: step 2, reward 2, not finished",
        "episode 2: step 2, reward 2, not finished",
    ]
    assert play(capsys, "cartpole", "--keys", "01r11", "--seed", "3")[1] == page
    assert play(capsys, "cartpole", "--keys", "01r11", "--seed", "4")[1] != page


def test_what_was_played_is_recorded(capsys, tmp_path):
    status, page, _ = play(capsys, "acrobot", "--keys", "02010r2", "--record", str(tmp_path / "out.mp4"))
    assert status == 0
    num_frames = 6 + 14 + 2 + 14
    assert page.endswith(f"{num_frames} frames in {tmp_path / 'out.mp4'}\n")
    with av.open(str(tmp_path / "out.mp4")) as container:
        assert sum(1 for _ in container.decode(video=0)) == num_frames


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["cartpole"], "needs a terminal to read keys from"),
        (["cartpol", "--keys", "0"], "Did you mean cartpole"),
        (["pendulum", "--keys", "0"], "pendulum cannot be played with keys"),
        (["gym:CartPole-v1", "--keys", "0"], "is stepped outside JAX"),
        (["cartpole", "--keys", "0", "--record", "out.avi"], "ends in '.avi'; name it .mp4 or .gif."),
        (["probe-action", "--keys", "0", "--record", "out.gif"], "probe-action cannot be drawn"),
        (["cartpole", "--keys", "0", "--env-options", "size=3"], "size"),
        (["cartpole", "--seed", "-1"], "--seed is '-1'"),
    ],
)  # fmt: skip
def test_refusals(capsys, args, words):
    status, _, sentence = play(capsys, *args)
    assert status == 2
    assert words in sentence
    assert sentence.count("\n") == 1


def test_a_key_that_means_nothing_is_refused_and_the_keys_are_told(capsys):
    assert main(["play", "empty-5x5", "--keys", "wwx"]) == 2
    found = capsys.readouterr().err
    assert "'x'" in found
    assert "forward" in found
