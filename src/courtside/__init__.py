"""courtside: train reinforcement-learning agents fast, and be told in plain words whether it is working.

`courtside.train(...)`, `courtside.load(run).policy(obs)` and `courtside.evaluate(...)` are in `courtside.api`; they are
loaded when first used, so that `import courtside` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from courtside.api import evaluate as evaluate
    from courtside.api import load as load
    from courtside.api import train as train

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in ("train", "load", "evaluate"):
        raise AttributeError(f"module 'courtside' has no attribute {name!r}")
    import importlib

    api = importlib.import_module("courtside.api")
    return api.load if name == "load" else importlib.import_module(f"courtside.{name}")
