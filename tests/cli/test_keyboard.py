"""Playing a world by keys: what a key does, what the screen says, what is kept for a recording."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from courtside.cli import keyboard
from courtside.envs.classic import CartPole, MountainCar, Pendulum
from courtside.envs.probe import TwoAgents
from courtside.errors import ConfigError


@pytest.fixture(scope="module")
def table():
    return keyboard.set_up(CartPole(), 7, "balance a pole on a cart")


def run(table, keys: str) -> keyboard.Game:
    return keyboard.run(table, keyboard.split_keys(keys), lambda game: None)


def test_keys_have_names():
    assert keyboard.split_keys("wA \t\x1b[A\x1bOD\x1b[3~1") == ["w", "a", "space", "tab", "up", "left", "1"]


def test_arrows_letters_and_digits_are_actions(table):
    assert [table.bindings[key] for key in ("left", "a", "0", "right", "s", "1")] == [0, 0, 0, 1, 1, 1]
    left, digits = run(table, "\x1b[Dds"), run(table, "01")
    np.testing.assert_array_equal(left.state, digits.state)
    assert left.reward.shape == (2, 1)


def test_the_world_is_stepped_as_it_steps_itself(table):
    game, state = run(table, "0110"), run(table, "").state
    for action in (0, 1, 1, 0):
        state, _ = CartPole().step(state, jnp.array([action]), jax.random.key(0))
    np.testing.assert_allclose(game.state, state, rtol=1e-5)


def test_an_episode_ends_and_further_keys_do_nothing_until_a_restart(table):
    game = run(table, "1" * 30)
    assert game.ending == "terminated"
    assert len(game.reward) < 15
    assert f"ended by itself after {len(game.reward)} steps" in keyboard.screen(table, game, False)
    again = run(table, "1" * 30 + "r0")
    assert (again.number, len(again.reward), again.ending) == (1, 1, "")
    first, second = keyboard.episodes(again)
    assert (len(first.rewards), first.ending, len(second.rewards), second.ending) == (
        len(game.reward),
        "terminated",
        1,
        "",
    )
    assert first.states.shape == (len(first.rewards) + 1, 4)
    assert not np.array_equal(first.states[0], second.states[0])


def test_the_time_limit_of_the_world_ends_it_too():
    table = keyboard.set_up(MountainCar(), 0)
    game = run(table, "1" * 250)
    assert (game.ending, len(game.reward)) == ("time limit", 200)


def test_q_quits_and_ctrl_c_does_too(table):
    assert len(run(table, "00q00").reward) == 2

    def keys():
        yield "0"
        raise KeyboardInterrupt

    assert len(keyboard.run(table, keys(), lambda game: None).reward) == 1


def test_the_screen_says_what_there_is_to_know(table):
    lines = keyboard.screen(table, run(table, "0"), False).splitlines()
    assert lines[0] == "cartpole: balance a pole on a cart"
    assert lines[2].startswith("sees  [")
    assert lines[4] == "step 1 | reward 1"
    assert lines[-1] == "←/a left, →/s right, r restart, q quit"


def test_tab_moves_another_agent_while_the_others_stand_still():
    table = keyboard.set_up(TwoAgents(), 0)
    assert "You move agent_1." in keyboard.screen(table, run(table, "\t"), False)
    assert "Tab next agent" in keyboard.screen(table, run(table, ""), False)
    first, second = run(table, "1").reward, run(table, "\t1").reward
    start = run(table, "")
    for reward, joint in ((first, [1, 0]), (second, [0, 1])):
        _, timestep = TwoAgents().step(start.state, jnp.array(joint), jax.random.key(0))
        np.testing.assert_array_equal(reward[0], timestep.reward)


def test_continuous_worlds_cannot_be_played():
    with pytest.raises(ConfigError, match="pendulum cannot be played with keys"):
        keyboard.set_up(Pendulum(), 0)
