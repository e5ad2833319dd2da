"""How JAX is set up for a run."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from courtside.engines import backend
from courtside.settings.config import Config, override


def run_python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints; JAX is set up once per process, so each case needs its own."""
    told = {
        name: value
        for name, value in os.environ.items()
        if name not in ("NPROC", "XLA_FLAGS", "JAX_COMPILATION_CACHE_DIR")
    }
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=told | environment
    )
    return done.stdout.strip()


START = """
import os, jax
from courtside.engines import backend
from courtside.settings.config import Config, override
backend.start(override(Config(), num_envs={num_envs}))
print(os.environ.get("NPROC"), jax.config.values["jax_compilation_cache_dir"])
"""


def test_small_minibatches_run_on_one_thread_and_large_ones_on_all():
    assert run_python(START.format(num_envs=4), COURTSIDE_CACHE_DIR="").startswith("1 ")
    assert run_python(START.format(num_envs=64), COURTSIDE_CACHE_DIR="").startswith("None ")
    assert run_python(START.format(num_envs="4, hidden_sizes=(350, 250)"), COURTSIDE_CACHE_DIR="").startswith("None ")
    assert run_python(START.format(num_envs=4), COURTSIDE_CACHE_DIR="", NPROC="2").startswith("2 ")


@pytest.mark.parametrize(
    ("changes", "threads", "expected"),
    [
        ({"torso": "cnn"}, "", 2),
        ({"torso": "cnn"}, "1", 1),
        ({"torso": "cnn", "num_envs": 3, "num_steps": 5, "num_minibatches": 5}, "", 3),
        ({"torso": "cnn", "num_envs": 1, "num_steps": 5, "num_minibatches": 1}, "", 1),
    ],
)
def test_cores_that_share_images_divide_a_minibatch(monkeypatch, changes, threads, expected):
    monkeypatch.setattr(backend, "num_cores", lambda: 3 if expected == 3 else 2)
    monkeypatch.setenv("NPROC", threads)
    assert backend.num_sharing(override(Config(), **changes)) == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [("torso='cnn'", True), ("env_id='atari:breakout'", True), ("env_id='BreakoutNoFrameskip-v4'", True), ("", False)],
)
def test_cores_become_devices_for_images(settings, expected):
    settings = f"num_envs=4, {settings}"
    config = f"override(Config(), {settings})"
    code = START.format(num_envs=settings.removeprefix("num_envs="))
    code += f"print(jax.local_device_count(), backend.num_sharing({config}))"
    devices, most = run_python(code, COURTSIDE_CACHE_DIR="").splitlines()[-1].split()
    assert devices == (most if expected else "1")


def test_gpu_operations_are_deterministic_unless_told_otherwise():
    code = (
        START.replace("num_envs={num_envs}", "deterministic={deterministic}") + "print(os.environ.get('XLA_FLAGS', ''))"
    )
    assert run_python(code.format(deterministic=True)).endswith("--xla_gpu_deterministic_ops=true")
    assert "deterministic" not in run_python(code.format(deterministic=False)).splitlines()[-1]
    told = run_python(code.format(deterministic=True), XLA_FLAGS="--xla_gpu_deterministic_ops=false")
    assert told.endswith("\n--xla_gpu_deterministic_ops=false")


def test_cache_folder(tmp_path):
    assert run_python(START.format(num_envs=4), COURTSIDE_CACHE_DIR="").endswith(" None")
    assert run_python(START.format(num_envs=4), COURTSIDE_CACHE_DIR=str(tmp_path)).endswith(f" {tmp_path}")
    told = run_python(START.format(num_envs=4), JAX_COMPILATION_CACHE_DIR="mine", COURTSIDE_CACHE_DIR=str(tmp_path))
    assert told.endswith(" mine")


def test_change_of_arithmetic_is_said():
    here = backend.describe_arithmetic()
    assert backend.arithmetic_change(here) == ""
    assert backend.arithmetic_change(None) == ""
    sentence = backend.arithmetic_change(here | {"jax": "0.0.1"})
    assert "not bit for bit" in sentence
    assert "jax was 0.0.1" in sentence


@pytest.mark.parametrize("name", ["device", "jax", "jaxlib"])
def test_arithmetic_names_what_decides_the_last_bit(name):
    assert backend.describe_arithmetic()[name]


def test_images_are_never_left_to_one_core():
    is_small = lambda **changes: backend._is_small(override(Config(), num_envs=8, **changes))  # noqa: E731
    assert is_small(env_id="cartpole")
    assert not is_small(env_id="atari:breakout")
    assert not is_small(env_id="BreakoutNoFrameskip-v4")
    assert not is_small(env_id="gym:CarRacing-v3", torso="cnn")
    assert is_small(env_id="atari:breakout", torso="mlp")


def test_a_level_of_the_compiler_that_was_set_outside_holds(monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert backend.compiler_options(2) == {"xla_backend_optimization_level": 2}
    monkeypatch.setenv("XLA_FLAGS", "--xla_foo=1 --xla_backend_optimization_level=0")
    assert backend.compiler_options(2) is None
