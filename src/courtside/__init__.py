"""courtside: train reinforcement-learning agents fast, and be told in plain words whether it is working.

`courtside.train(...)`, `courtside.load(run).policy(obs)`, `courtside.evaluate(...)` and `courtside.diagnose(run)` are in `courtside.api`,
`courtside.parallel_env(name)` is in `courtside.adapters`; they are loaded when first used, so that `import courtside`
costs nothing. Gymnasium knows every world as `courtside/<name>-v0` once both packages are imported, in either order.
"""

from __future__ import annotations

from courtside import search_path as search_path  # before anything that a file in a run folder could stand in for

# isort: split
from typing import TYPE_CHECKING, Any

from courtside.adapters.registration import announce_worlds
from courtside.gate import makes_env as makes_env

if TYPE_CHECKING:
    from courtside.adapters.parallel import parallel_env as parallel_env
    from courtside.api import diagnose as diagnose
    from courtside.api import evaluate as evaluate
    from courtside.api import load as load
    from courtside.api import train as train

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    if name not in ("train", "load", "evaluate", "diagnose", "parallel_env"):
        raise AttributeError(f"module 'courtside' has no attribute {name!r}")
    import importlib

    if name == "parallel_env":
        return importlib.import_module("courtside.adapters.parallel").parallel_env
    api = importlib.import_module("courtside.api")
    return getattr(api, name) if name in ("load", "diagnose") else importlib.import_module(f"courtside.{name}")


announce_worlds()
