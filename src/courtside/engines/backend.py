"""How JAX is set up for a run: the cache of compiled programs, CPU threads, and what decides the last bit of a result."""

from __future__ import annotations

import contextlib
import os
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import jax

from courtside.algos.nets import cores
from courtside.machine import num_cores
from courtside.settings.config import Config
from courtside.settings.kinds import owner_of

SMALL_MINIBATCH, SMALL_PRODUCT = 1024, 8_000_000
"""With fewer samples, and no layer of more multiplications for all of them, splitting an operation over CPU cores costs more
than it saves (bench/RESULTS.md)."""
MOST_SHARING = 8
"""Cores that share images: each holds the parameters and the rollout too."""


def start(config: Config | None = None, members: int = 1) -> None:
    """Call once, before anything is computed; where JAX is already running its threads stay as they are.

    With several `members` every core becomes a device of its own and computes with one thread: a member keeps one busy.
    For images too, which the cores share (`cores`); one of them alone still splits operations over all threads.
    """
    enable_cache()
    if members > 1:
        _make_devices_of_cores(min(members, num_cores()))
    elif config is not None and _sees_images(config):
        _make_devices_of_cores(num_sharing(config))
    if members > 1 or (config is not None and _is_small(config)):
        os.environ.setdefault("NPROC", "1")
    if config is not None and config.run.deterministic:
        _add_xla_flag("--xla_gpu_deterministic_ops=true")


def _is_small(config: Config) -> bool:
    """Is one core enough for a minibatch? Never for one of images."""
    if _sees_images(config):
        return False
    widest = max((before * after for before, after in pairwise(config.net.hidden_sizes)), default=0)
    return config.minibatch_size < SMALL_MINIBATCH and config.minibatch_size * widest < SMALL_PRODUCT


def _sees_images(config: Config) -> bool:
    """Will there be a CNN, as far as can be told before any world is made?"""
    if config.net.torso != "auto":
        return config.net.torso == "cnn"
    kind = owner_of(config.env.env_id)
    return kind is not None and kind.sees_pixels


def num_sharing(config: Config) -> int:
    """Cores among which images are dealt out: as many as divide a minibatch evenly, and no more than there are threads."""
    threads = os.environ.get("NPROC", "")
    most = min(num_cores(), MOST_SHARING, int(threads) if threads.isdigit() and int(threads) else MOST_SHARING)
    return max(n for n in range(1, most + 1) if config.minibatch_size % n == 0)


def _make_devices_of_cores(count: int) -> None:
    """Where JAX is running already it keeps the devices that it has."""
    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", count)


def _add_xla_flag(flag: str) -> None:
    """Add a flag for the compiler, unless the user has set it."""
    flags = os.environ.get("XLA_FLAGS", "")
    if flag.partition("=")[0] not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {flag}".strip()


def compiler_options(effort: int) -> dict[str, int] | None:
    """How hard the CPU compiler tries, 0 to 3: 2 gives code as fast as 3 in two thirds of the time (bench/RESULTS.md).
    A level that somebody set in XLA_FLAGS holds.

    For a GPU all cores compile parts of one program, which halves the wait; left alone, one core does it.
    """
    platform = jax.default_backend()
    if platform == "cpu":
        level = "xla_backend_optimization_level"
        return None if level in os.environ.get("XLA_FLAGS", "") else {level: effort}
    return {"xla_gpu_force_compilation_parallelism": num_cores()} if platform == "gpu" else None


def enable_cache() -> Path | None:
    """Keep compiled programs in the user's cache folder; a folder that JAX was already told of is left alone.

    `COURTSIDE_CACHE_DIR` names another folder, and turns the cache off where it is empty.
    """
    if told := jax.config.values["jax_compilation_cache_dir"]:
        return Path(told)
    chosen = os.environ.get("COURTSIDE_CACHE_DIR")
    if chosen == "":
        return None
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(chosen) if chosen else home / "courtside" / "programs"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    return folder


def describe_device() -> str:
    """The device that JAX computes on, in words."""
    device = jax.devices()[0]
    return device.device_kind if device.platform != "cpu" else f"CPU, {num_cores()} cores"


def describe_arithmetic(config: Config | None = None) -> dict[str, str]:
    """What must be the same for two runs to agree in the last bit: a sum in another order is another number."""
    flags = os.environ.get("XLA_FLAGS", "")
    found = {"device": describe_device(), "jax": version("jax"), "jaxlib": version("jaxlib"), "XLA_FLAGS": flags}
    shares = config is not None and _sees_images(config)
    return found | ({"number of cores that share images": str(cores.count())} if shares else {})


def arithmetic_change(before: dict[str, str] | None, config: Config | None = None) -> str:
    """One sentence where a run goes on under other arithmetic than it was saved under; empty where nothing changed."""
    here = describe_arithmetic(config)
    changed = [
        f"{name} was {old}, is {here.get(name, 'not told')}"
        for name, old in (before or {}).items()
        if here.get(name) != old
    ]
    if not changed:
        return ""
    return f"The run continues, but not bit for bit: {', '.join(changed)}."
