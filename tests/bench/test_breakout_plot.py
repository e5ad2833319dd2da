"""The curve of a log that Stable-Baselines3's monitors wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import breakout_plot


def write_monitor(folder: Path, env: int, games: list[tuple[float, float]]) -> None:
    """Score and steps of each game of one env, as frames of the emulator."""
    rows = [f"{score},{steps * breakout_plot.FRAMES + breakout_plot.IDLE_FRAMES},1.5" for score, steps in games]
    (folder / f"{env}.monitor.csv").write_text("\n".join(['#{"env_id": "Breakout"}', "r,l,t", *rows, ""]))


def test_games_of_all_envs_are_put_in_order_of_the_steps_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(breakout_plot, "GAMES", 2)
    write_monitor(tmp_path, 0, [(2.0, 100), (6.0, 300)])
    write_monitor(tmp_path, 1, [(4.0, 250)])
    # Two envs: their games end at steps 200, 800 and 500 of the run.
    assert breakout_plot.zoo_curve(tmp_path) == [(500, 3.0), (800, 5.0)]


def test_frames_between_two_lives_are_no_steps(tmp_path: Path):
    assert breakout_plot.IDLE_FRAMES == 15.5 + 5 * 8 + 4 * 4
    write_monitor(tmp_path, 0, [(1.0, 10)] * 3)
    assert breakout_plot.games_of(tmp_path / "0.monitor.csv", 8)[:, 0].tolist() == [80, 160, 240]
