"""The compilation cache on disk: a second run of the same settings starts without compiling."""

from __future__ import annotations

import os
from pathlib import Path

import jax


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
