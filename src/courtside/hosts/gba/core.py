"""A Game Boy Advance without a window: `Emulator` steps frames, holds keys, and gives picture, memory and states.

It is a front end of our own for mGBA's libretro core, which comes with the package stable-retro; `COURTSIDE_GBA_CORE` names
another. The same state and keys give the same pictures, memory and later states, in any process. No JAX here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
from hashlib import sha1
from pathlib import Path
from types import TracebackType

import numpy as np
from jaxtyping import UInt8, UInt16

from courtside.errors import CheckpointError, ConfigError, EnvContractError
from courtside.hosts.gba import stamps
from courtside.hosts.gba.libretro import RGB565, Core, Picture, Region
from courtside.hosts.gba.rom import inspect, read_rom

HEIGHT, WIDTH = 160, 240
FRAMES_PER_SECOND = 16_777_216 / 280_896
KEYS = ("A", "B", "Select", "Start", "Right", "Left", "Up", "Down", "R", "L")
"""Names of the bits of a key mask, lowest first."""
EWRAM, IWRAM, PALETTE, VRAM, OAM, ROM, SAVE = (
    0x02000000, 0x03000000, 0x05000000, 0x06000000, 0x07000000, 0x08000000, 0x0E000000,
)  # fmt: skip
WRITABLE = (EWRAM, IWRAM, SAVE)
CORE_VARIABLE = "COURTSIDE_GBA_CORE"
PACKAGE, CORE_FILE = "stable_retro", "cores/mgba_libretro"
INSTALL = 'pip install "courtside[emulator]"'
CLOCK_FOOTER = 16
"""Bytes that some emulators put behind a save for its clock."""


def find_core(path: Path | str | None = None) -> Path:
    """The core to load: the one given, else the one that `COURTSIDE_GBA_CORE` names, else that of stable-retro."""
    named = path or os.environ.get(CORE_VARIABLE)
    if named:
        if not Path(named).is_file():
            whose = "given" if path else f"that {CORE_VARIABLE} names"
            raise ConfigError(f"There is no file {named}, the emulator core {whose}; give an mGBA core for libretro.")
        return Path(named)
    spec = importlib.util.find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec else None
    for folder in folders or ():
        for suffix in (".so", ".dylib", ".dll"):
            if (found := Path(folder, CORE_FILE + suffix)).is_file():
                return found
    raise ConfigError(f"No GBA emulator is installed; install one: {INSTALL} (or let {CORE_VARIABLE} name a core).")


def key_mask(*names: str) -> int:
    """The mask of keys by name, in any case."""
    known = {name.lower(): 1 << bit for bit, name in enumerate(KEYS)}
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise ConfigError(f"There is no key {unknown[0]}; the keys are {', '.join(KEYS)}.")
    return sum(known[name] for name in {name.lower() for name in names})


class Emulator:
    """One console with one cartridge.

    A ROM given as a path is mapped, and all instances share its memory; leave the file alone meanwhile. `save` is what the
    cartridge's battery kept. A core that hangs hangs its process: run it in a worker that is watched.
    """

    def __init__(self, rom: bytes | Path, core: Path | None = None, save: bytes | None = None) -> None:
        data = rom if isinstance(rom, bytes) else read_rom(rom)
        inspect(data, "The ROM" if isinstance(rom, bytes) else str(rom))
        self._core, self._is_open, self._has_game = Core(find_core(core)), True, False
        try:
            self._has_game = self._core.load(None, data) if isinstance(rom, bytes) else self._core.load(rom, None)
            self._require_gba()
            self._stamp = stamps.Stamp(self._core.version, sha1(data).hexdigest())
            self._write_save(save)
        except BaseException:
            self.close()
            raise

    def _require_gba(self) -> None:
        if not self._has_game or not {EWRAM, IWRAM, ROM} <= set(self._core.regions):
            raise ConfigError(
                f"The core {self._core.version} did not take this ROM as one of the Game Boy Advance; give an mGBA core."
            )
        if self._core.pixel_format != RGB565:
            raise ConfigError(
                f"The core {self._core.version} draws in pixel format {self._core.pixel_format}, {RGB565} (RGB565) is read "
                "here; take the core of stable-retro."
            )

    @property
    def version(self) -> str:
        """Name and version of the core."""
        return self._core.version

    @property
    def has_steady_clock(self) -> bool:
        """Whether the cartridge's clock goes with the frames; if not, games that have one depend on the day of the run."""
        return self._core.has_steady_clock

    @property
    def rom_sha1(self) -> str:
        return self._stamp.rom_sha1

    def run(self, frames: int = 1, keys: int = 0) -> None:
        """Run so many frames with the keys of the mask held."""
        self._require_open()
        if frames < 1 or not 0 <= keys < 1 << len(KEYS):
            raise EnvContractError(
                f"An emulator was to run {frames} frames with keys {keys}; give 1 frame or more and a mask of {len(KEYS)} bits."
            )
        self._core.run(frames, keys)

    def screen(self) -> UInt8[np.ndarray, "160 240 3"]:
        """The newest picture, red, green and blue from 0 to 255, upright; black before the first frame."""
        return to_rgb(self.pixels())

    def pixels(self) -> UInt16[np.ndarray, "160 240"]:
        """The same picture as the core has it, 5, 6 and 5 bits of red, green and blue: for those who look the rest up."""
        self._require_open()
        picture = self._core.picture
        return np.zeros((HEIGHT, WIDTH), np.uint16) if picture is None else _pixels(picture).copy()

    def region(self, address: int) -> UInt8[np.ndarray, "size"]:
        """The whole region that holds an address, as it is at any moment; no longer good after `reset` or `close`."""
        found = self._find(address)
        array = _view(found.pointer, found.size)
        array.flags.writeable = found.start in WRITABLE
        return array

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the console's memory."""
        region = self._find(address, size)
        return ctypes.string_at(region.pointer + address - region.start, size)

    def write(self, address: int, data: bytes) -> None:
        """Change the console's working memory or save RAM. What is drawn from elsewhere would not notice."""
        region = self._find(address, len(data))
        if region.start not in WRITABLE:
            raise EnvContractError(f"Address 0x{address:08X} cannot be written to; write to EWRAM, IWRAM or save RAM.")
        ctypes.memmove(region.pointer + address - region.start, data, len(data))

    def _find(self, address: int, size: int = 1) -> Region:
        self._require_open()
        start = address & 0xFF000000
        region = self._core.save_ram() if start == SAVE else self._core.regions.get(start)
        if region is None or size < 0 or address - region.start + size > region.size:
            raise EnvContractError(
                f"{size} bytes from 0x{address:08X} are not in the console's memory; regions are "
                f"{', '.join(f'0x{start:08X}' for start in sorted(self._core.regions))}, each from its start to its size."
            )
        return region

    def save_state(self) -> bytes:
        """All that is needed to go on from here: console, picture, save RAM, and a stamp of core and ROM."""
        self._require_open()
        console, save = self._core.serialize(), self._core.save_ram()
        if console is None:
            raise EnvContractError(f"The core {self.version} gives no state; take the core of stable-retro.")
        picture = self.pixels().tobytes()
        save_ram = b"" if save is None else ctypes.string_at(save.pointer, save.size)
        return stamps.pack(
            self._stamp, stamps.Saved(self._core.frames, stamps.without_save(console), picture, save_ram)
        )

    def load_state(self, state: bytes) -> None:
        """Go on from where `save_state` was called, here or in another process."""
        self._require_open()
        saved = stamps.unpack(state, self._stamp)
        if self._core.picture is None:
            self._core.run(1, 0)  # tells where the picture lies
        if not self._core.unserialize(saved.console):
            raise CheckpointError(f"The core {self.version} refused a saved state of its own; take another one.")
        self._core.frames = saved.frames
        self._put_back(saved)

    def _put_back(self, saved: stamps.Saved) -> None:
        save, picture = self._core.save_ram(), self._core.picture
        if save is not None:
            ctypes.memmove(save.pointer, saved.save_ram, min(save.size, len(saved.save_ram)))
        if picture is not None:
            _pixels(picture)[:] = np.frombuffer(saved.picture, np.uint16).reshape(HEIGHT, WIDTH)

    def _write_save(self, save: bytes | None) -> None:
        if save is None:
            return
        region = self._core.save_ram()
        size = 0 if region is None else region.size
        if region is None or not 0 < len(save) <= size + CLOCK_FOOTER:
            raise ConfigError(
                f"The save has {len(save):,} bytes, this cartridge holds {size:,}; give a save file of this game."
            )
        ctypes.memmove(region.pointer, save, min(size, len(save)))

    def reset(self) -> None:
        """Switch the console off and on; save RAM stays, as a battery keeps it."""
        self._require_open()
        self._core.reset()

    def close(self) -> None:
        """Let go of the core and its memory; a second time does nothing."""
        if self._is_open:
            self._is_open = False
            self._core.close(has_game=self._has_game)

    def _require_open(self) -> None:
        if not self._is_open:
            raise EnvContractError("This emulator was closed; make a new one.")

    def __enter__(self) -> Emulator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _view(pointer: int, size: int) -> np.ndarray:
    return np.ctypeslib.as_array(ctypes.cast(pointer, ctypes.POINTER(ctypes.c_uint8)), (size,))


def _pixels(picture: Picture) -> np.ndarray:
    """The core's own picture, uint16 [160, 240]; what is written to it is shown."""
    rows = _view(picture.pointer, picture.height * picture.pitch).reshape(picture.height, picture.pitch)
    return rows.view(np.uint16)[:HEIGHT, :WIDTH]


def to_rgb(pixels: UInt16[np.ndarray, "h w"]) -> UInt8[np.ndarray, "h w 3"]:
    """Red, green and blue of the core's pixels; the console has 5 bits of each, spread so that white is 255."""
    rgb = np.empty((*pixels.shape, 3), np.uint8)
    rgb[..., 0] = pixels >> 8 & 0xF8 | pixels >> 13
    rgb[..., 1] = pixels >> 3 & 0xF8 | pixels >> 8 & 7
    rgb[..., 2] = pixels << 3 & 0xF8 | pixels >> 2 & 7
    return rgb
