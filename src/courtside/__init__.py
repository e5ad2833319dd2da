"""courtside: train reinforcement-learning agents fast, and be told in plain words whether it is working.

`courtside.train(...)`, `courtside.resume(run)`, `courtside.load(run).policy(obs)`, `courtside.evaluate(...)` and
`courtside.diagnose(run)` are in `courtside.api`,
`courtside.parallel_env(name)` is in `courtside.interop`; they are loaded when first used, so that `import courtside`
costs nothing. Gymnasium knows every world as `courtside/<name>-v0` once both packages are imported, in either order.
"""

from __future__ import annotations

from courtside import search_path as search_path  # before anything that a file in a run folder could stand in for

# isort: split
import importlib
from typing import TYPE_CHECKING, Any

from courtside.interop.registration import announce_worlds
from courtside.settings.gate import makes_env as makes_env

if TYPE_CHECKING:
    from courtside.api import diagnose, evaluate, load, resume, train
    from courtside.interop.parallel import parallel_env

__version__ = "0.1.0"

LAZY = {
    "train": "courtside.api",
    "resume": "courtside.api",
    "load": "courtside.api",
    "evaluate": "courtside.api",
    "diagnose": "courtside.api",
    "parallel_env": "courtside.interop.parallel",
}
"""Name -> the module that it is loaded from when it is first used."""

__all__ = ["diagnose", "evaluate", "load", "makes_env", "parallel_env", "resume", "train"]


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module 'courtside' has no attribute {name!r}")
    return getattr(importlib.import_module(LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY})


announce_worlds()
