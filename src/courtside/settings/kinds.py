"""Kinds of envs outside JAX, each a folder of `hosts`; its names and options need no emulator and are loaded when asked for."""

from __future__ import annotations

import importlib
from typing import Any

FOLDERS = {"atari": "courtside.hosts.atari", "gba": "courtside.hosts.gba"}


class Part:
    """One file of a kind, imported when something in it is first wanted."""

    def __init__(self, kind: str, name: str) -> None:
        self._target = f"{FOLDERS[kind]}.{name}"

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._target), name)


atari_ids, atari_options = Part("atari", "ids"), Part("atari", "options")
gba_ids, gba_options = Part("gba", "ids"), Part("gba", "options")
