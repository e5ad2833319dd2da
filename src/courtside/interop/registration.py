"""Gymnasium's list of envs gets every world of ours as `courtside/<name>-v0`, as soon as both packages are imported.

`import courtside` neither waits for Gymnasium nor loads it: where it is already there the worlds are listed at once,
otherwise when it has been imported. No JAX here.
"""

from __future__ import annotations

import sys
from typing import Any

WATCHED = "gymnasium"


def announce_worlds() -> None:
    """List the worlds now if Gymnasium is loaded, else once it is."""
    if WATCHED in sys.modules and hasattr(sys.modules[WATCHED], "registry"):
        register_worlds()
    elif not any(isinstance(finder, Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, Watcher())


def register_worlds() -> None:
    """Name every world to Gymnasium; what is listed already stays."""
    from gymnasium.envs.registration import register
    from gymnasium.envs.registration import registry as listed

    from courtside.settings import worlds

    for entry in worlds.ENVS:
        env_id = f"courtside/{entry.name}-v0"
        if env_id not in listed:
            register(
                env_id,
                entry_point="courtside.interop.gymnasium_env:WorldEnv",
                vector_entry_point="courtside.interop.vector_env:WorldVectorEnv",
                kwargs={"world": entry.name},
            )


class Watcher:
    """An import hook for one package: finds it as Python would, and lists the worlds after it has loaded."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != WATCHED:
            return None
        finders = (finder for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in finders)), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module
            spec.loader.exec_module = lambda module: self._load(load, module)
        return spec

    def _load(self, load: Any, module: Any) -> None:
        load(module)
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        register_worlds()
