"""Gymnasium knows our worlds whichever package is imported first, and importing ours stays cheap."""

from __future__ import annotations

import os
import subprocess
import sys

import gymnasium
import pytest

from courtside.settings import worlds
from waiting import PATIENCE


def run(code: str) -> str:
    """Run in a fresh interpreter that has imported neither package."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "imports",
    [
        "import courtside, gymnasium",
        "import gymnasium, courtside",
        # Asking where a package is must not use up the hook that waits for it to load.
        "import courtside, importlib.util; importlib.util.find_spec('gymnasium'); import gymnasium",
    ],
)
def test_worlds_are_listed_in_either_order_of_import(imports):
    code = "print('courtside/redblue-v0' in gymnasium.registry, 'jax' in sys.modules, 'Watcher' in str(sys.meta_path))"
    assert run(f"import sys; {imports}; {code}") == "True False False"


def test_a_world_can_be_made_by_naming_the_package():
    code = "import gymnasium; print(gymnasium.make('courtside:courtside/cartpole-v0').observation_space.shape)"
    assert run(code) == "(4,)"


def test_importing_courtside_loads_nothing_heavy():
    assert run("import courtside, sys; print([m for m in ('gymnasium', 'jax', 'numpy') if m in sys.modules])") == "[]"


@pytest.mark.parametrize("missing", ["gymnasium", "pettingzoo"])
def test_without_the_packages_one_sentence_names_the_extra(missing):
    code = f"""
import sys; sys.modules[{missing!r}] = None
import courtside
from courtside.errors import ConfigError
try:
    courtside.parallel_env("redblue")
except ConfigError as error:
    print(error)
"""
    assert run(code) == 'PettingZoo is not installed; type: pip install "courtside[pettingzoo]"'


def test_every_world_is_listed_under_its_own_name():
    assert {f"courtside/{entry.name}-v0" for entry in worlds.ENVS} <= set(gymnasium.registry)
