"""Games behind a host: rows of bytes, whole games beside episodes, notices, the commands."""

from __future__ import annotations

import numpy as np

from courtside.cli import main
from courtside.hosts.env_host import Plan, make_host
from courtside.settings.config import EnvConfig

SERIAL = Plan("serial", 1, "")


def test_a_host_tells_bytes_and_whole_games():
    host = make_host("atari:breakout[noop_max=0]", 2, EnvConfig(), SERIAL, packed=True)
    features = host.reset(1)
    assert (features.shape, features.dtype) == ((2, 1, 84 * 84 * 4), np.uint8)
    ended, games = 0, []
    for t in range(400):
        step = host.step(np.array([[2 + t % 2], [0]]))
        ended += int(step.ended[1])
        games += [(step.games.score[1], step.games.length[1])] if step.games.ended[1] else []
        if games:
            break
    host.close()
    assert ended == 5  # lives
    assert games[0] == (step.games.score[1], t + 1)


def test_evaluations_play_whole_games_and_say_where_one_was_cut():
    host = make_host(
        "atari:breakout[fire_reset=false,idle_limit=5]", 2, EnvConfig(), SERIAL, packed=True, for_evaluation=True
    )
    host.reset(1)
    steps = [host.step(np.zeros((2, 1), int)) for _ in range(5)]
    notices = host.notices()
    host.close()
    assert steps[-1].games is None
    assert steps[-1].truncated.all()
    assert len(notices) == 2
    assert "no point and no lost life in 5 steps" in notices[1]
    assert "the ball was never fired" in notices[1]
    assert notices[1].endswith("(2 times)")


def test_a_ball_that_is_always_fired_is_not_said_to_wait():
    host = make_host("atari:breakout[idle_limit=1]", 1, EnvConfig(), SERIAL, packed=True, for_evaluation=True)
    host.reset(1)
    host.step(np.zeros((1, 1), int))
    (notice,) = [told for told in host.notices() if "was cut" in told]
    host.close()
    assert notice.endswith("(the option idle_limit).")


def test_the_emulator_of_an_evaluation_rests_once_its_game_is_over():
    env_id = "atari:breakout[fire_reset=false,idle_limit=5]"
    host = make_host(env_id, 2, EnvConfig(), SERIAL, packed=True, for_evaluation=True)
    ends = []
    for seed in (1, 2):
        host.reset(seed)
        ends += [int(host.step(np.zeros((2, 1), int)).ended.sum()) for _ in range(12)]
    host.close()
    assert ends == [0, 0, 0, 0, 2, *[0] * 7] * 2


def test_commands_know_games(capsys):
    assert main(["envs", "atari:breakout"]) == 0
    page = capsys.readouterr().out
    assert "NOOP, FIRE, RIGHT, LEFT" in page
    assert "noop_max" in page
    assert main(["envs", "atari"]) == 0
    assert "space_invaders" in capsys.readouterr().out
    assert main(["check", "atari:pong", "--steps", "30", "--env-options", "stack=2"]) == 0
    assert "keeps the contract" in capsys.readouterr().out
