import sys

import pytest

from courtside.cli import main

WORLDS = """
import gymnasium, jax.numpy as jnp, numpy as np
from courtside.envs.classic import CartPole

class Flat(CartPole):
    def reset(self, key):
        state, obs = super().reset(key)
        return state, obs[0]

class NoEnd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}
    def step(self, action):
        return np.full(2, 5, np.float32), 0.0, False, False, {}

class Sized(CartPole):
    def __init__(self, size: int = 3):
        if size > 9:
            raise ValueError("too large")

class Needy(CartPole):
    def __init__(self, level): ...

def number():
    return 3

def build():
    return NoEnd()

one_env = NoEnd()
ready = CartPole()
"""


@pytest.fixture
def worlds(tmp_path, monkeypatch):
    """A module of the user's, in the folder where courtside is started."""
    (tmp_path / "my_worlds.py").write_text(WORLDS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("my_worlds", None)


def check(capsys, *args):
    status = main(["check", *args])
    return status, capsys.readouterr()


def test_a_world_of_ours_passes(capsys):
    status, printed = check(capsys, "probe-discount", "--steps", "40")
    assert status == 0
    words = [line.split()[0] for line in printed.out.splitlines() if not line.startswith(" ")]
    assert words == ["ok"] * 13 + ["probe-discount"]
    assert printed.out.endswith("probe-discount keeps the contract: 13 checks passed.\n")


def test_gymnasiums_name_of_our_world_says_which_one_runs(capsys):
    status, printed = check(capsys, "CartPole-v1", "--steps", "40")
    assert status == 0
    assert "runs as our JAX world 'cartpole'" in printed.out


def test_a_gymnasium_env_passes(capsys):
    status, printed = check(capsys, "gym:CartPole-v1", "--steps", "40")
    assert status == 0
    assert "gym:CartPole-v1 keeps the contract" in printed.out


@pytest.mark.usefixtures("worlds")
def test_a_broken_world_of_ones_own_is_told_what_is_wrong(capsys):
    status, printed = check(capsys, "my_worlds:Flat")
    assert status == 1
    assert "wrong  reset" in printed.out
    assert "Obs of reset has shape (4,); expected (1, 4)" in printed.out
    assert "-      step         not run" in printed.out
    assert "my_worlds:Flat breaks the contract: 1 fault." in printed.out


@pytest.mark.usefixtures("worlds")
def test_a_broken_gymnasium_env_of_ones_own_is_told_what_is_wrong(capsys):
    status, printed = check(capsys, "my_worlds:NoEnd", "--steps", "40")
    assert status == 1
    assert "Obs holds [5. 5.] at step 1; expected a value of Box(-1.0, 1.0, (2,), float32)." in printed.out
    assert "note: no episode ended in 40 random steps" in printed.out


@pytest.mark.usefixtures("worlds")
def test_a_function_or_a_ready_world_will_do(capsys):
    assert check(capsys, "my_worlds:ready", "--steps", "40")[0] == 0
    status, printed = check(capsys, "my_worlds:build", "--steps", "40")
    assert status == 1
    assert "expected a value of Box" in printed.out


@pytest.mark.usefixtures("worlds")
def test_options_reach_the_world(capsys):
    assert check(capsys, "--env-options", "size=9", "my_worlds:Sized", "--steps", "40")[0] == 0


@pytest.mark.usefixtures("worlds")
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["cartpol"], "Did you mean cartpole"),
        (["gym:CartPole-v77"], "CartPole"),
        (["no_such_module:World"], "There is no module 'no_such_module'"),
        (["my_worlds:Flt"], "Did you mean Flat"),
        (["my_worlds:Needy"], "must be buildable without arguments"),
        (["my_worlds:number"], "must be a courtside world or a gymnasium.Env"),
        (["my_worlds:one_env"], "name its class, or a function that builds it"),
        ([":X"], "':X' names no module"),
        (["--env-options", "size=9", "cartpole"], "cartpole has no options, but 'size' was given"),
        (["my_worlds:Sized", "--env-options=siz=9"], "Did you mean size?"),
        (["my_worlds:Sized", "--env-options", "size=10"], "could not be built: ValueError: too large"),
        (["gym:CartPole-v1", "--env-options", "a=1"], "takes no options"),
        (["my_worlds:Sized", "--env-options"], "but each must be NAME=VALUE, such as view_size=5"),
        (["cartpole", "--seed", str(10**20)], "whole number from 0 to 4294967295"),
        (["cartpole", "--steps", "0"], "--steps is '0'"),
        (["cartpole", "--stepz", "9"], "Did you mean --steps"),
        ([], "ENV"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence_and_status_2(capsys, args, words):
    status, printed = check(capsys, *args)
    assert status == 2
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert printed.out == ""


def test_help(capsys):
    status, printed = check(capsys, "--help")
    assert status == 0
    assert "module:Class" in printed.out
