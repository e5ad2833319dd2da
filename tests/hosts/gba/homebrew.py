"""Our own ROMs for tests: `from homebrew import catch, quest`, then `catch.build()`."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from courtside.hosts.gba.core import Emulator

sys.path.insert(0, str(Path(__file__).parent / "roms"))

import busy
import catch
import quest
import quest_player
from assembler import assemble, cartridge

__all__ = ["assemble", "busy", "cartridge", "catch", "quest", "quest_player", "word"]


def word(emulator: Emulator, address: int) -> int:
    return struct.unpack("<I", emulator.read(address, 4))[0]
