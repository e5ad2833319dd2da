import dataclasses
import math

import pytest

from courtside.cli.board import Board
from courtside.runs.events import Compiled, Compiling, Evaluated, Evaluating, Finished, Progress, Started
from courtside.settings.config import Threshold, override
from courtside.settings.presets import find_preset

CONFIG = dataclasses.replace(
    override(find_preset("cartpole"), num_envs=1, num_steps=100, total_timesteps=1050),
    thresholds=(Threshold("charts/episodic_return", ">=", 50.0, 200),),
)


def row(update: int, episodes: int, mean_return: float, **more: float) -> dict[str, float]:
    shown = {"charts/episodes": episodes, "charts/episodic_return": mean_return, "charts/episodic_length": mean_return}
    return {"step": 100 * update, "update": update, **shown, **more}


def progress(*rows: dict[str, float]) -> Progress:
    return Progress(int(rows[-1]["step"]), int(rows[-1]["update"]), list(rows), 1.0, 100.0 * len(rows), 0.25)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def start(update: int = 0, clock: Clock | None = None) -> Board:
    board = Board(clock=clock or Clock())
    board.on(Started(CONFIG, {}, "cpu", update=update))
    return board


def test_thresholds_on_episodes_and_evaluations():
    goals = (Threshold("charts/score", ">=", 0.5, window_episodes=3), Threshold("eval/score", ">=", 2.4))
    board = Board(clock=Clock())
    board.on(Started(dataclasses.replace(CONFIG, thresholds=goals), {}, "cpu"))
    standings = lambda: [standing for _, standing in board.thresholds()]  # noqa: E731
    board.on(progress(row(1, 0, math.nan)))
    assert standings() == ["too early", "too early"]
    board.on(progress(row(2, 3, 1.0, **{"charts/score": 0.75})))
    board.on(Evaluated(200, 2, {"eval/episodic_return": -9.0, "eval/score": 2.0}, True))
    assert standings() == ["holding", "not yet"]
    assert (board.evaluation, board.best) == (2.0, 2.0), "the score that the run is judged by"
    board.on(Evaluated(300, 3, {"eval/episodic_return": -9.0, "eval/score": 2.5}, True))
    assert standings() == ["holding", "holding"]


def test_phases_before_progress():
    board = Board()
    assert board.phase == "loading ..."
    board.on(Started(CONFIG, {}, "cpu"))
    board.on(Compiling(6.4))
    assert board.phase == "compiling ... 6 s"
    board.on(Compiled(6.43))
    assert board.phase == "compiled in 6.4 s"
    assert not board.has_progress


def test_progress_counts_towards_whole_updates():
    board = start()
    board.on(progress(row(1, 1, 10.0), row(2, 1, 20.0)))
    assert (board.step, board.update, board.total_steps, board.share_done) == (200, 2, 1000, 0.2)


def test_time_left_goes_by_the_wall_and_leaves_compiling_out():
    clock = Clock()
    board = start(update=2, clock=clock)
    clock.now += 30.0
    board.on(Compiled(25.0))
    clock.now += 5.0
    board.on(progress(row(3, 1, 10.0)))
    assert board.seconds == pytest.approx(1.0)
    clock.now += 3.0
    board.on(progress(row(4, 1, 10.0)))
    assert board.seconds == pytest.approx(4.0)
    assert board.seconds_left == pytest.approx(12.0)


def test_a_first_chunk_of_a_moment_tells_nothing_of_the_time_left():
    """It is one update, in which programs run for the first time."""
    clock = Clock()
    board = start(clock=clock)
    board.on(Progress(100, 1, [row(1, 1, 1.0)], 0.4, 100.0, None))
    assert board.seconds_left is None
    clock.now += 6.0
    board.on(Progress(300, 3, [row(3, 1, 1.0)], 6.0, 100.0, None))
    assert board.seconds_left == pytest.approx(7 * 3.0)


def test_a_first_chunk_that_took_long_counts():
    clock = Clock()
    board = start(clock=clock)
    board.on(Progress(100, 1, [row(1, 1, 1.0)], 2.0, 100.0, None))
    assert board.seconds_left == pytest.approx(9 * 2.0)
    clock.now += 3.0
    board.on(Progress(200, 2, [row(2, 1, 1.0)], 3.0, 100.0, None))
    assert board.seconds_left == pytest.approx(8 * 2.5)


def test_no_time_is_left_at_the_end_of_a_run_of_one_chunk():
    board = start()
    board.on(Progress(1000, 10, [row(10, 1, 1.0)], 0.1, 100.0, None))
    assert board.seconds_left == 0.0


def test_speed_is_that_of_the_last_seconds():
    board = start()
    for update in range(1, 4):
        board.on(Progress(100 * update, update, [row(update, 1, 1.0)], 1.0, 100.0, None))
    assert board.steps_per_second == pytest.approx(100.0)
    for update in range(4, 8):
        board.on(Progress(100 * update, update, [row(update, 1, 1.0)], 0.5, 400.0, None))
    board.on(Progress(800, 8, [row(8, 1, 1.0)], 1.0, 400.0, None))
    assert board.steps_per_second == pytest.approx(400.0)


def test_return_is_the_mean_over_episodes_and_stays_while_none_ends():
    board = start()
    assert board.metrics["return"] is None
    board.on(progress(row(1, 1, 10.0), row(2, 3, 20.0), row(3, 0, math.nan)))
    assert board.metrics["return"] == pytest.approx(17.5)
    board.on(progress(row(4, 0, math.nan)))
    assert board.metrics["return"] == pytest.approx(17.5)


def test_the_score_of_whole_games_comes_first_and_weighs_games():
    board = start()
    games = [row(1, 9, 1.0, **{"charts/games": 1, "charts/game_score": 10.0})]
    games += [row(2, 0, math.nan, **{"charts/games": 3, "charts/game_score": 50.0})]
    board.on(progress(*games))
    assert next(iter(board.metrics.items())) == ("game_score", 40.0)
    board.on(progress(row(3, 9, 1.0, **{"charts/games": 0, "charts/game_score": math.nan})))
    assert board.metrics["game_score"] == 40.0


def test_losses_are_those_of_the_last_update():
    board = start()
    board.on(progress(row(1, 0, math.nan, **{"losses/entropy": 0.7}), row(2, 0, math.nan, **{"losses/entropy": 0.6})))
    assert board.metrics["entropy"] == 0.6
    board.on(progress(row(3, 0, math.nan, **{"losses/entropy": math.nan})))
    assert board.metrics["entropy"] is None


def test_best_is_kept_while_evaluations_get_worse():
    board = start()
    board.on(Evaluated(100, 1, {"eval/episodic_return": 30.0}, True))
    board.on(Evaluated(200, 2, {"eval/episodic_return": 20.0}, False))
    assert (board.evaluation, board.best) == (20.0, 30.0)


def test_an_evaluation_is_slow_until_the_last_one_was_quick():
    clock = Clock()
    board = start(clock=clock)
    announced = []
    for seconds in (0.1, 5.0, 0.2):
        board.on(Evaluating(100, 1, 60))
        announced.append(board.slow_evaluation is not None)
        clock.now += seconds
        board.on(Evaluated(100, 1, {"eval/episodic_return": 30.0}, True))
        assert board.slow_evaluation is None
    assert announced == [True, False, True], "the first may take long, the others what the one before took"


@pytest.mark.parametrize(("every", "expected"), [(0, False), (300, False), (600, False), (1000, True)])
def test_time_left_holds_no_evaluation_where_the_only_one_is_at_the_end(every, expected):
    board = Board()
    board.on(Started(override(CONFIG, eval_every=every), {}, "cpu"))
    board.on(progress(row(5, 1, 20.0)))
    assert board.ends_with_evaluation == expected
    board.on(Evaluated(600, 6, {"eval/episodic_return": 30.0}, True))
    assert not board.ends_with_evaluation


def test_standing_of_a_threshold():
    board = start()
    standings = []
    for update, mean in enumerate([60.0, 10.0, 60.0, 60.0], start=1):
        board.on(progress(row(update, 1, mean)))
        standings.append(board.thresholds()[0][1])
    assert standings == ["too early", "not yet", "not yet", "holding"]


def test_resumed_run_waits_until_the_window_is_its_own():
    board = start(update=5)
    assert (board.step, board.update) == (500, 5)
    board.on(progress(row(6, 1, 60.0)))
    assert board.thresholds()[0][1] == "too early"
    board.on(progress(row(7, 1, 60.0)))
    assert board.thresholds()[0][1] == "holding"


def test_finish_sets_the_last_step():
    board = start()
    board.on(Finished(1000, 10, 7.0))
    assert (board.step, board.update, board.share_done) == (1000, 10, 1.0)
