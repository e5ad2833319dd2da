"""What a search says: one line for each thing that is settled, in a pipe as on a terminal."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from courtside.cli import tune_view
from courtside.experiments.tune import news, session, space
from courtside.experiments.tune.trials import FinalRow, Search, Stage, Trial
from courtside.runs.events import Notice
from courtside.settings.config import to_json
from courtside.settings.presets import find_preset

CONFIG = find_preset("redblue")
SPACE = space.make_space(CONFIG)
STAGES = (Stage(1, 256, 300_000, 2, 32), Stage(2, 4, 1_500_000, 1, 4))
SEARCH = Search(to_json(CONFIG), space.to_json(SPACE), {"seed": 1}, {"own": {}}, stages=STAGES, final_seeds=(1, 2))
TRIAL = Trial(7, 1, {"gamma": 0.95}, (1, 2), 1.25, 0.5, 0.75, 250_000.0, 300_000, 7)
ROW = FinalRow("winner", {}, {}, (1, 2), (True, False), (5, None), (1.0, 2.0), 1.0, 0.5, 0.75, 100)
EVENTS = [
    Notice("something"),
    news.Opened(Path("runs/tune-redblue"), SPACE),
    news.Planned(SEARCH, 1000, 3),
    news.BatchBegun(1, 1, 8, 64),
    news.Worked(500, 1000, 100.0),
    news.BatchEnded(1, 1, 8, TRIAL, 32),
    news.Replanned(STAGES[0]),
    news.RowEnded(ROW),
]
EXPECTED = [
    "note: something",
    "Search folder: runs/tune-redblue",
    "gamma            0.9 to 0.99, log scale of 1 - x",
    "num_envs         64, 32",
    "2 shapes",
    "stage 1: 256 settings x 300,000 steps x 2 seeds, in 8 batches",
    "stage 2: 4 settings x 1,500,000 steps x 1 seed",
    "final round: the winner, the preset, own on 2 fresh seeds",
    "3 trials are done already",
    "stage 1, batch 1 of 8: 32 settings done; best: trial 7, score 1.250, passes 50% (gamma 0.95)",
    "the budget is running out",
    "final round, winner: 1 of 2 seeds pass, worst tenth 0.7500",
]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_every_line_is_said(is_terminal, monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=120)
    with tune_view.make_view(console) as view:
        for event in EVENTS:
            view.on(event)
    page = console.file.getvalue()
    assert [line for line in EXPECTED if line not in page] == []
    assert " 50% | steps/s 100 | ETA 0:05" in page
    assert ("\x1b[" in page) == is_terminal


def test_a_stopped_search_says_how_to_go_on():
    console = Console(file=io.StringIO(), width=80)
    result = session.SearchResult(Path("runs/tune redblue"), SEARCH, "SIGINT")
    tune_view.print_closing(console, result)
    assert "courtside tune 'runs/tune redblue'" in console.file.getvalue()
    assert tune_view.exit_status(result) == 130
