"""What holds for every test: CPU, checked shapes, no silent broadcasting, one compilation cache, nobody's own cache touched.

All of it must stand before `courtside` is imported for the first time, so it runs as this file is read.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jaxtyping

QUICK_COMPILER = (
    "--xla_cpu_use_fusion_emitters=false --xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
)
"""Compiles in a third of the time what then runs a little slower: right for tests, where compiling is nearly all. In one
part, since cutting a program up for several threads costs more than it saves where every core has a worker of its own."""


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


# Subprocesses of a test inherit the folder and the flags. Flags that were set outside stay: they say under which arithmetic
# the tests are to hold.
if "COURTSIDE_TEST_CACHE" not in os.environ:
    os.environ["COURTSIDE_TEST_CACHE"] = tempfile.mkdtemp(prefix="courtside-tests-")
    atexit.register(shutil.rmtree, os.environ["COURTSIDE_TEST_CACHE"], ignore_errors=True)
    if (
        sys.dont_write_bytecode
    ):  # nothing beside the source, then; a process that starts would compile for longer than it runs
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = f"{os.environ['COURTSIDE_TEST_CACHE']}/bytecode"
        sys.dont_write_bytecode = False
    flags = joined(os.environ.get("XLA_FLAGS", ""), QUICK_COMPILER)
    if knows(flags):
        os.environ["XLA_FLAGS"] = flags
_WORKER = os.environ.get("PYTEST_XDIST_WORKER", "alone")
_CACHE = Path(os.environ["COURTSIDE_TEST_CACHE"]) / _WORKER

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["COURTSIDE_CACHE_DIR"] = str(_CACHE / "programs")
os.environ["XDG_CACHE_HOME"] = str(_CACHE / "user")
os.environ["XDG_STATE_HOME"] = str(_CACHE / "state")

# With the numeric tower: where a float is asked for, a whole number will do.
jaxtyping.install_import_hook("courtside", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_compilation_cache_dir", os.environ["COURTSIDE_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)

import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402

from courtside.settings import gate  # noqa: E402

settings.register_profile("courtside", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("courtside")


class _Exchange:
    """Hands programs that this worker compiled to the others: each has a folder of its own, because JAX does not lock its
    cache and a subprocess may be writing there. A program is a link, made once it is whole."""

    def __init__(self) -> None:
        names = {f"gw{i}" for i in range(int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 0)))}
        folders = [_CACHE.parent / name / "programs" for name in sorted(names - {_WORKER})]
        self.own, self.others = _CACHE / "programs", folders
        self.changed, self.handed = 0, set[str]()
        for folder in (self.own, *self.others):
            folder.mkdir(parents=True, exist_ok=True)

    def hand_over(self) -> None:
        changed = self.own.stat().st_mtime_ns
        if not self.others or changed == self.changed:
            return
        entries = [entry for entry in os.scandir(self.own) if entry.name not in self.handed]
        whole = [entry for entry in entries if time.time() - entry.stat().st_mtime > WRITING_SECONDS]
        for entry, folder in itertools.product(whole, self.others):
            with contextlib.suppress(OSError):  # compiled there too
                os.link(entry, folder / entry.name)
        self.handed |= {entry.name for entry in whole}
        self.changed = changed if len(whole) == len(entries) else 0


WRITING_SECONDS = 2.0
_exchange = _Exchange()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    _exchange.hand_over()


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
