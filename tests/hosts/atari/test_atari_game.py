"""The game against a slow twin of the reference wrappers, frame by frame; whole games, saved states, idle games."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest
from plain_wrappers import make_plain

from courtside.errors import CheckpointError, ConfigError
from courtside.hosts.atari.calls import build_env as build_game
from courtside.hosts.atari.calls import describe_env
from courtside.hosts.atari.picture import colours
from courtside.hosts.gym.calls import build_env as build_gym_env
from courtside.settings.worlds import find_env


def build_env(env_id):
    return build_game(find_env(env_id))


def play(env, actions):
    """What each step showed, paid and ended, resets included."""
    log = []
    for action in actions:
        obs, reward, terminated, truncated, info = env.step(action)
        log.append((obs.copy(), reward, terminated, truncated, info))
        if terminated or truncated:
            log.append((env.reset().copy(),))
    return log


def same(one, other):
    return all(np.array_equal(a[0], b[0]) and a[1:] == b[1:] for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    ("game", "life_loss", "sticky", "max_frames"),
    [
        ("breakout", True, 0.0, 108_000),
        ("breakout", False, 0.25, 400),
        ("freeway", True, 0.25, 400),
        ("qbert", True, 0.0, 400),
    ],
)
def test_every_step_is_that_of_the_reference_wrappers(game, life_loss, sticky, max_frames):
    twin, raw = make_plain(game, life_loss, sticky, max_frames)
    env = build_env(f"atari:{game}[life_loss={life_loss},sticky={sticky},max_frames={max_frames}]")
    assert np.array_equal(env.reset(7), twin.reset(7))
    ends, games = 0, []
    for t, action in enumerate(np.random.default_rng(7).integers(env.action.n, size=110).tolist()):
        obs, *told, info = env.step(action)
        expected, *promised = twin.step(action)
        assert told == promised, f"step {t}"
        assert np.array_equal(obs, expected), f"step {t}"
        games += [info["game"]] if "game" in info else []
        if told[1] or told[2]:
            ends += 1
            assert np.array_equal(env.reset(), twin.reset()), f"reset after step {t}"
    assert ends >= 1
    assert [score for score, _ in games] == raw.games


def test_a_game_is_told_with_its_own_points_over_all_lives():
    trained, whole = (build_env(f"atari:breakout[{told}]") for told in ("noop_max=0", "noop_max=0,evaluation=true"))
    for env in (trained, whole):
        env.reset(3)
    steps, lives, game = 0, 0, None
    while game is None:
        _, reward, terminated, _, info = trained.step(2 + steps % 2)
        steps, lives, game = steps + 1, lives + terminated, info.get("game")
        assert reward in (0.0, 1.0)
        if terminated:
            trained.reset()
    assert lives == 5
    assert game[1] == steps

    earned, info, ended = 0.0, {}, False
    while not ended:
        _, reward, terminated, truncated, info = whole.step(1)
        earned, ended = earned + reward, terminated or truncated
    assert info["game"][0] == earned


def test_an_evaluation_shows_what_training_showed_in_every_life_of_a_game():
    trained, whole = (build_env(f"atari:breakout[screen_size=36{told}]") for told in ("", ",evaluation=true"))
    assert np.array_equal(trained.reset(4), whole.reset(4))
    lives, ended, earned, rng = 0, False, 0.0, np.random.default_rng(4)
    while not ended:
        action = int(rng.integers(4))
        expected, _, lost, _, info = trained.step(action)
        shown, reward, ended, cut, told = whole.step(action)
        lives, earned = lives + lost, earned + reward
        if lost and not ended:
            expected = trained.reset()
        assert np.array_equal(shown, expected)
        assert not cut
    assert lives == 5
    assert info["game"] == told["game"]
    assert told["game"][0] == earned


def test_the_points_of_an_evaluation_are_not_cut_to_their_sign():
    env = build_env("atari:qbert[evaluation=true]")
    env.reset(0)
    rewards = [env.step(action)[1] for action in np.random.default_rng(0).integers(6, size=60).tolist()]
    assert max(rewards) >= 25


def test_a_saved_state_goes_on_the_same_in_another_emulator():
    first, second = (build_env("atari:breakout[sticky=0.25]") for _ in range(2))
    first.reset(5)
    actions = np.random.default_rng(5).integers(4, size=200).tolist()
    play(first, actions[:90])
    state = first.save_state()
    expected = play(first, actions[90:])
    second.load_state(state)
    assert second.save_state() == state
    assert same(play(second, actions[90:]), expected)
    assert np.array_equal(second.render(), first.render())
    assert len(state) < 40_000


def test_a_game_whose_state_is_not_whole_says_so():
    games = {name: build_env(f"atari:{name}") for name in ("breakout", "tetris")}
    facts = {name: describe_env(f"atari:{name}", env) for name, env in games.items()}
    assert facts["breakout"].can_save
    newer = tuple(map(int, version("ale-py").split(".")[:3])) > (0, 12, 1)
    assert facts["tetris"].can_save == newer


def test_a_saved_state_of_another_game_is_refused():
    one, other = build_env("atari:breakout"), build_env("atari:pong")
    one.reset(0)
    with pytest.raises(CheckpointError, match="breakout"):
        other.load_state(one.save_state())
    with pytest.raises(CheckpointError, match="damaged"):
        one.load_state(b"nothing")


def test_an_evaluation_in_which_nothing_happens_is_cut():
    env = build_env("atari:breakout[evaluation=true,fire_reset=false,idle_limit=6]")
    env.reset(0)
    answers = [env.step(0)[2:] for _ in range(6)]
    assert [truncated for _, truncated, _ in answers] == [False] * 5 + [True]
    assert answers[-1][2] == {"idle": True, "game": (0.0, 6)}


@pytest.mark.parametrize("game", ["breakout", "air_raid"])
def test_colours_are_those_of_the_emulator(game):
    env = build_env(f"atari:{game}")
    env.reset(0)
    for action in np.random.default_rng(0).integers(env.action.n, size=20).tolist():
        env.step(action)
        assert np.array_equal(env.render(), env._ale.getScreenRGB())
    assert len(np.unique(colours(210), axis=0)) > 100


@pytest.mark.parametrize("options", ["max_frames=90", "max_frames=45,grey=false,stack=3,screen_size=40,frame_skip=1"])
def test_games_side_by_side_show_what_each_shows_alone(options):
    alone, beside = ([build_env(f"atari:breakout[{options}]") for _ in range(2)] for _ in range(2))
    display, ends = beside[0].make_display(2), 0
    for i, (one, other) in enumerate(zip(alone, beside, strict=True)):
        other.move_to(display, i)
        assert np.array_equal(one.reset(i), other.reset(i))
    for actions in np.random.default_rng(1).integers(4, size=(40, 2)).tolist():
        answers = [env.play(action) for env, action in zip(beside, actions, strict=True)]
        display.advance()
        for i, (env, action) in enumerate(zip(alone, actions, strict=True)):
            obs, *told = env.step(action)
            assert (told, obs.tobytes()) == ([*answers[i]], display.stacks[i].tobytes())
            if told[1] or told[2]:
                ends += 1
                assert np.array_equal(env.reset(), beside[i].reset())
    assert ends >= 2


def test_options_change_what_is_seen():
    env = build_env("atari:breakout[grey=false,stack=2,screen_size=64,frame_skip=1,full_actions=true]")
    assert env.reset(0).shape == env.observation.shape == (64, 64, 6)
    assert env.action.n == 18
    before = env.reset(0).copy()
    after = env.step(3)[0]
    assert np.array_equal(after[..., :3], before[..., 3:])
    assert not np.array_equal(after[..., 3], after[..., 5])  # bricks are coloured


def test_without_the_emulator_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ale_py", None)
    for build, env_id in ((build_game, "atari:breakout"), (build_gym_env, "gym:ALE/Nowhere-v5")):
        with pytest.raises(ConfigError, match=r'pip install "courtside\[atari\]"'):
            build(find_env(env_id))
