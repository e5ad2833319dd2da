"""`courtside.train` is a module, the loop, and can be called like the function of the Python API; so is `evaluate`."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _CallableModule(ModuleType):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = self.__name__.rpartition(".")[2]
        return getattr(importlib.import_module("courtside.api"), name)(*args, **kwargs)


def make_callable(module_name: str) -> None:
    """Let calls of the module go to the function of its name in `courtside.api`."""
    sys.modules[module_name].__class__ = _CallableModule
