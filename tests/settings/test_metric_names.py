"""What metrics are means over, and what is left blank where nothing ended."""

import dataclasses

from courtside.settings.config import Config, Threshold
from courtside.settings.metric_names import GAME_SCORE, RETURN, blank_untold, count_of, is_per_episode, score_metric


def test_episodes_and_games_are_blank_each_for_itself():
    row = {"charts/episodes": 3, "charts/games": 0, RETURN: 2.0, GAME_SCORE: float("nan"), "losses/entropy": 1.0}
    assert blank_untold(row) == row | {GAME_SCORE: None}
    told = row | {"charts/episodes": 0, "charts/games": 1, GAME_SCORE: 40.0}
    assert blank_untold(told) == told | {RETURN: None}
    assert blank_untold({RETURN: 2.0}) == {RETURN: 2.0}


def test_what_tells_of_games_weighs_games():
    assert [count_of(name) for name in (RETURN, GAME_SCORE)] == ["charts/episodes", "charts/games"]
    assert is_per_episode(GAME_SCORE)
    assert not is_per_episode("charts/games")


def test_a_run_that_is_judged_by_whole_games_is_told_by_them():
    config = dataclasses.replace(Config(), thresholds=(Threshold(GAME_SCORE, ">=", 400.0, 100_000),))
    assert (score_metric(config), score_metric(Config())) == (GAME_SCORE, RETURN)
