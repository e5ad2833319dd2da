"""Which episodes of a run can be played again for a page: known from the names of its files alone. No JAX here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from courtside.errors import CourtsideError
from courtside.runs.runlog import BEST, CHECKPOINTS
from courtside.settings.config import Config
from courtside.settings.worlds import find_env

EACH = 3
"""Episodes of every policy that can be asked for."""
ID = re.compile(r"(best|last)-([1-9])")
NAMES = {"best": "the best policy", "last": "the newest policy"}


def list_episodes(run: Path, config: Config) -> list[dict[str, Any]]:
    """Some of the best policy and some of the newest; none of worlds that are not ours."""
    if not is_ours(config):
        return []
    folders = {"best": run / BEST, "last": run / CHECKPOINTS}
    there = [which for which in NAMES if any(folders[which].glob("*.safetensors"))]
    return [
        {"id": f"{which}-{i}", "step": None, "return": None, "length": None, "words": f"{NAMES[which]}, episode {i}"}
        for which in there for i in range(1, EACH + 1)
    ]  # fmt: skip


def is_ours(config: Config) -> bool:
    """Whether a run's world is one that we wrote. The settings of a run may name any module, and to look at a run must not run
    code that its folder names."""
    try:
        return find_env(config.env.env_id).kind == "jax"
    except CourtsideError:
        return False
