"""One small run, trained through the command line itself, for all tests that need a run folder."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import pytest

from courtside.cli import main

SMALL = ("--num-envs", "4", "--num-steps", "32", "--hidden-sizes", "8", "--eval-episodes", "4")


class Run(NamedTuple):
    path: Path
    page: str
    """What `courtside train` printed."""
    status: int


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    runs, page = tmp_path_factory.mktemp("runs"), io.StringIO()
    with contextlib.redirect_stdout(page):
        status = main(
            ["train", "cartpole", "--runs-dir", str(runs), "--total-timesteps", "1280", "--cuda", "False", *SMALL]
        )
    return Run(next(runs.iterdir()), page.getvalue(), status)
