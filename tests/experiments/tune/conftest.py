"""A study that was written by hand: one trial done, one that came to nothing, one still running."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from courtside.experiments.tune import space, study
from courtside.experiments.tune.objective import Score
from courtside.experiments.tune.trials import Search, Stage, write_search
from courtside.settings.config import to_json
from courtside.settings.presets import find_preset


@pytest.fixture(scope="session")
def whole_study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run_dir, config = tmp_path_factory.mktemp("study"), find_preset("redblue")
    lines = space.make_space(config, ["num_minibatches=4,8"])
    found = Search(to_json(config), space.to_json(lines), {"seed": 1}, {})
    write_search(run_dir, found)
    settings = study.ask_batch(lines, 1, Stage(1, 64, 1000, 1, 8), 0, [])[:3]
    facts = [{"stage": 1, "seeds": (7, 8), "steps": 1000, "origin": i} for i in range(3)]
    with study.open_book(run_dir, found) as book:
        for _ in range(2):  # a search that was killed in between enters them again
            study.start_trials(book, lines, 0, settings, facts)
            study.finish_trial(book, 0, Score(1.5, 1.0, 0.5, 800.0), [(500, 1.0), (1000, 2.0)])
            study.finish_trial(book, 1, Score(math.nan, 0.0, math.nan, None), [])
    return run_dir
