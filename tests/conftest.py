"""What holds for every test: CPU, checked shapes, no silent broadcasting, one compilation cache, nobody's own cache touched.

All of it must stand before `courtside` is imported for the first time, so it runs as this file is read.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import jaxtyping

QUICK_COMPILER = "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=1"
"""Compiles in half of the time what then runs a little slower: right for tests, where compiling is nearly all."""


def knows(flags: str) -> bool:
    """Whether this version of the compiler has the flags; one that lacks any ends the process."""
    tried = subprocess.run(
        [sys.executable, "-c", "import jax; jax.jit(lambda x: x + 1)(0)"],
        env={**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
    )
    return tried.returncode == 0


def joined(flags: str, more: str) -> str:
    """The flags, and those of `more` that they do not name."""
    named = {flag.partition("=")[0] for flag in flags.split()}
    return " ".join([*flags.split(), *(flag for flag in more.split() if flag.partition("=")[0] not in named)])


# Subprocesses of a test inherit the folder and the flags; workers of pytest-xdist have a folder each, because JAX does not
# lock its cache. Flags that were set outside stay: they say under which arithmetic the tests are to hold.
if "COURTSIDE_TEST_CACHE" not in os.environ:
    os.environ["COURTSIDE_TEST_CACHE"] = tempfile.mkdtemp(prefix="courtside-tests-")
    atexit.register(shutil.rmtree, os.environ["COURTSIDE_TEST_CACHE"], ignore_errors=True)
    flags = joined(os.environ.get("XLA_FLAGS", ""), QUICK_COMPILER)
    if knows(flags):
        os.environ["XLA_FLAGS"] = flags
_CACHE = Path(os.environ["COURTSIDE_TEST_CACHE"]) / os.environ.get("PYTEST_XDIST_WORKER", "alone")

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["COURTSIDE_CACHE_DIR"] = str(_CACHE / "programs")
os.environ["XDG_CACHE_HOME"] = str(_CACHE / "user")
os.environ["XDG_STATE_HOME"] = str(_CACHE / "state")

# With the numeric tower: where a float is asked for, a whole number will do.
jaxtyping.install_import_hook("courtside", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_compilation_cache_dir", os.environ["COURTSIDE_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from courtside.settings import gate  # noqa: E402

settings.register_profile("courtside", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("courtside")


class _Everything(dict[str, gate.Grant]):
    """Of whatever is asked for, somebody said that it may be imported and called."""

    def __contains__(self, target: object) -> bool:
        return True

    def __missing__(self, target: str) -> gate.Grant:
        return gate.Grant(own=True)


# A test that names a module is the person who does, as at a command line.
gate._allowed = _Everything()


@pytest.fixture
def strict_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has named anything yet."""
    monkeypatch.setattr(gate, "_allowed", {})
