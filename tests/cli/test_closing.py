import dataclasses
import io
import math
from pathlib import Path

import pytest
from rich.console import Console

from courtside.cli.closing import exit_status, next_commands, print_closing, verdict_table
from courtside.health.verdict import VerdictTracker
from courtside.settings.config import Threshold, override
from courtside.settings.presets import find_preset
from courtside.training.session import Result
from courtside.training.stopping import ScoreStop

CONFIG = find_preset("cartpole")
RUN = Path("runs") / "my run"


def verdict(mean_return: float):
    tracker = VerdictTracker(CONFIG.thresholds)
    tracker.add({"step": 50_000 * u, "update": u, "charts/episodes": 4, "charts/episodic_return": mean_return} for u in range(1, 6))  # fmt: skip
    return tracker.verdict()


def finished(mean_return: float) -> Result:
    return Result(RUN, verdict(mean_return), True, None, 250_000, 5, 75.0, RUN / "checkpoints" / "x")


def stopped(**changes) -> Result:
    fields = {"verdict": None, "finished": False, "stopped_by": "SIGINT", "step": 512, "update": 1, "seconds": 2.0}
    return Result(run_dir=RUN, **{**fields, "checkpoint": RUN / "checkpoints" / "x", **changes})


def page(result: Result, is_terminal: bool = False) -> str:
    out = io.StringIO()
    terminal = Console(file=out, width=120, force_terminal=is_terminal, color_system=None)
    print_closing(terminal, result, CONFIG)
    return out.getvalue()


def test_pass_in_a_pipe():
    lines = page(finished(480.0)).splitlines()
    assert "Done: 250,000 steps, 5 updates in 1:15." in lines
    assert f"Run folder: {RUN}" in lines
    assert any(line.startswith("PASS: charts/episodic_return held at or above 475") for line in lines)
    assert "Passed after 100,000 steps (2 updates) of 250,000 steps (5 updates)." in lines


@pytest.mark.parametrize("is_terminal", [True, False])
def test_goals_are_told_with_where_they_come_from(is_terminal):
    plain, known = "published", "random play gets 1.43"
    goals = [Threshold("charts/a", ">", 1, source=plain), Threshold("charts/b", "<", 2, source=plain)]
    goals += [Threshold("eval/c", ">=", 4.3, source=known), Threshold("charts/d", ">", 5)]
    result = dataclasses.replace(finished(480.0), verdict=VerdictTracker(goals).verdict())
    lines = page(result, is_terminal).splitlines()
    assert [line for line in lines if line.startswith("Goal")] == [
        "Goals a > 1, b < 2: published.",
        "Goal c >= 4.3: random play gets 1.43.",
    ]


def test_the_time_of_a_resumed_run_is_told_as_that_of_its_last_part():
    lines = page(dataclasses.replace(finished(480.0), first_step=150_000)).splitlines()
    assert "Done: 250,000 steps, 5 updates; the last 100,000 steps, since it was resumed, in 1:15." in lines


@pytest.mark.parametrize(("mean", "words"), [(480.0, ["pass", "480.0", "480.0", "100,000", "2"]), (12.0, ["fail", "12.00", "12.00", "-", "-"])])  # fmt: skip
def test_verdict_is_a_table_on_a_terminal(mean, words):
    lines = page(finished(mean), is_terminal=True).splitlines()
    row = next(line for line in lines if "episodic_return >= 475" in line)
    assert row.split()[3:] == words
    assert any(f"Verdict: {words[0]}" in line for line in lines)


def test_a_run_that_its_score_ended_says_so_and_offers_no_more_steps():
    result = dataclasses.replace(finished(480.0), score_stop=ScoreStop(250_000, 5, 1.0234, 1.0, 100))
    out = io.StringIO()
    print_closing(Console(file=out, width=120), result, override(CONFIG, quit_threshold=1.0, score_cap=2.5))
    lines = out.getvalue().splitlines()
    stop = "the mean score of the last 100 episodes, 1.023, passed --quit-threshold 1.0 at step 250,000."
    assert f"Ended by its score: {stop}" in lines
    assert "Training episodes were cut at a score of 2.5 (--score-cap), evaluations not." in lines
    assert "--total-timesteps" not in out.getvalue()


def test_windows_of_a_verdict_are_named_as_they_are():
    goals = (Threshold("charts/score", ">=", 0.5, window_episodes=100), Threshold("eval/score", ">=", 2.4))
    console = Console(width=100, file=io.StringIO())
    console.print(verdict_table(VerdictTracker(goals).verdict()))
    assert "over the last 100 episodes / the last evaluation" in console.file.getvalue()


def test_stop_says_what_was_saved_and_the_exact_command():
    lines = page(stopped()).splitlines()
    assert "Stopped by Ctrl-C at step 512, update 1; everything up to there is saved." in lines
    assert "  go on:      courtside resume 'runs/my run'" in lines


def test_stop_before_the_first_update_offers_nothing_to_evaluate():
    text = page(stopped(checkpoint=None, step=0, update=0))
    assert "before the first update" in text
    assert "courtside resume" in text
    assert "courtside eval" not in text


def test_commands_are_never_broken_over_lines():
    out = io.StringIO()
    print_closing(Console(file=out, width=30), finished(480.0), CONFIG)
    assert "  train on:   courtside resume 'runs/my run' --total-timesteps 1000000" in out.getvalue().splitlines()


def test_tensorboard_is_only_named_where_it_was_written():
    assert any("tensorboard" in line for line in next_commands(finished(1.0), CONFIG))
    assert not any("tensorboard" in line for line in next_commands(finished(1.0), override(CONFIG, tensorboard=False)))


def test_exit_status():
    strict = override(CONFIG, require_pass=True)
    assert [exit_status(finished(mean), strict) for mean in (480.0, 470.0, math.nan)] == [0, 1, 1]
    assert exit_status(finished(470.0), CONFIG) == 0
    assert [exit_status(stopped(stopped_by=name), strict) for name in ("SIGINT", "SIGTERM")] == [130, 143]


def test_the_table_of_four_thresholds_fits_on_a_narrow_terminal():
    config = find_preset("redblue")
    tracker = VerdictTracker(config.thresholds)
    tracker.add([{"step": 1_000_000, "update": 244, **{t.metric: 0.5 for t in config.thresholds}}])
    console = Console(width=80, file=io.StringIO(), force_terminal=True, no_color=True)
    console.print(verdict_table(tracker.verdict()))
    text = console.file.getvalue()
    assert "over the last 100,000 steps" in text
    for threshold in config.thresholds:
        goal = f"{threshold.metric.partition('/')[2]} {threshold.op} {threshold.value:g}"
        assert any(goal in line and "0.5000" in line for line in text.splitlines())
