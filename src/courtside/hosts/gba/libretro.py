"""A libretro core through ctypes: its structures, its callbacks and a library of its own for each instance. No JAX here.

A core keeps all it knows in globals, and loading one file twice gives the same globals, so that every instance loads a copy.
"""

from __future__ import annotations

import contextlib
import ctypes as c
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from courtside.errors import ConfigError
from courtside.files import explain
from courtside.hosts.gba import clock

API_VERSION = 1
SAVE_RAM = 0
"""The number under which a core tells its save RAM."""
SPRITES = 0x07000000
GET_VARIABLE, GET_VARIABLE_UPDATE, SET_PIXEL_FORMAT, SET_MEMORY_MAPS = 15, 17, 10, 36
"""What a core asks of us or tells us; everything else is answered with "not here"."""
PLAIN = 0xFFFF
"""Mask that takes the mark "experimental" from such a number."""
RGB565 = 2
SKIPPING_VERSIONS = ("0.7.",)
"""Versions whose option mgba_frameskip is a number, read anew whenever it changes."""
NUM_KEYS = 16
ORDER = (8, 0, 2, 3, 7, 6, 4, 5, 11, 10)
"""Libretro's number of each key, in the order of the console's own bits: A B Select Start Right Left Up Down R L."""

_Environment = c.CFUNCTYPE(c.c_bool, c.c_uint, c.c_void_p)
_Video = c.CFUNCTYPE(None, c.c_void_p, c.c_uint, c.c_uint, c.c_size_t)
_Sample = c.CFUNCTYPE(None, c.c_int16, c.c_int16)
_Samples = c.CFUNCTYPE(c.c_size_t, c.c_void_p, c.c_size_t)
_Poll = c.CFUNCTYPE(None)
_Key = c.CFUNCTYPE(c.c_int16, c.c_uint, c.c_uint, c.c_uint, c.c_uint)


class _Game(c.Structure):
    _fields_ = (("path", c.c_char_p), ("data", c.c_char_p), ("size", c.c_size_t), ("meta", c.c_char_p))


class _Region(c.Structure):
    _fields_ = (
        ("flags", c.c_uint64), ("pointer", c.c_void_p), ("offset", c.c_size_t), ("start", c.c_size_t),
        ("select", c.c_size_t), ("disconnect", c.c_size_t), ("size", c.c_size_t), ("space", c.c_char_p),
    )  # fmt: skip


class _Map(c.Structure):
    _fields_ = (("regions", c.POINTER(_Region)), ("count", c.c_uint))


class _Variable(c.Structure):
    _fields_ = (("name", c.c_char_p), ("value", c.c_char_p))


class _System(c.Structure):
    _fields_ = (
        ("name", c.c_char_p), ("version", c.c_char_p), ("extensions", c.c_char_p),
        ("needs_path", c.c_bool), ("blocks_extraction", c.c_bool),
    )  # fmt: skip


@dataclass(frozen=True)
class Region:
    """A piece of the console's memory and where it lies in ours."""

    start: int
    size: int
    pointer: int


@dataclass(frozen=True)
class Picture:
    """Where the core draws: 16 bits a pixel, `pitch` bytes a row."""

    pointer: int
    width: int
    height: int
    pitch: int


class Core:
    """One loaded core: keys go in, frames are run, and its memory, picture and state can be reached."""

    def __init__(self, path: Path) -> None:
        self.regions: dict[int, Region] = {}
        self.picture: Picture | None = None
        self.pixel_format = -1
        self._held, self._skip, self._is_skip_new = [0] * NUM_KEYS, b"0", False
        self._library = _load_copy(path)
        self._callbacks = self._connect(path)
        self.frames = 0
        """Run so far, by the cartridge's clock."""
        self._clock = clock.answer(lambda: clock.time_at(self.frames))
        self.has_steady_clock = clock.replace_clock(self._library, "retro_run", self._clock)
        self._library.retro_init()
        told = _System()
        self._library.retro_get_system_info(c.byref(told))
        self.version = f"{told.name.decode()} {told.version.decode()}"
        self._can_skip = told.version.decode().startswith(SKIPPING_VERSIONS)

    def _connect(self, path: Path) -> tuple[Any, ...]:
        """Tell the core our functions; ctypes needs them kept alive."""
        library, api = self._library, getattr(self._library, "retro_api_version", None)
        if api is None or api() != API_VERSION:
            raise ConfigError(
                f"{path} is no libretro core of version {API_VERSION}; name an mGBA core built for libretro."
            )
        sizes, flags = ("retro_get_memory_size", "retro_serialize_size"), ("retro_load_game", "retro_serialize")
        for names, kind in ((sizes, c.c_size_t), ((*flags, "retro_unserialize"), c.c_bool)):
            for name in names:
                getattr(library, name).restype = kind
        library.retro_get_memory_data.restype = c.c_void_p
        library.retro_serialize.argtypes = library.retro_unserialize.argtypes = (c.c_void_p, c.c_size_t)
        held = self._held
        callbacks = {
            "environment": _Environment(self._answer),
            "video_refresh": _Video(self._show),
            "audio_sample": _Sample(lambda left, right: None),
            "audio_sample_batch": _Samples(lambda samples, count: count),
            "input_poll": _Poll(lambda: None),
            "input_state": _Key(lambda port, device, index, key: held[key]),
        }
        for name, callback in callbacks.items():
            getattr(library, f"retro_set_{name}")(callback)
        return tuple(callbacks.values())

    def _answer(self, command, data):
        """What the core asks or tells at any time; each frame, whether a setting is new."""
        if command == GET_VARIABLE_UPDATE:
            if not self._is_skip_new:
                return False
            c.cast(data, c.POINTER(c.c_bool))[0] = True
            self._is_skip_new = False
            return True
        command &= PLAIN
        if command == GET_VARIABLE:
            variable = c.cast(data, c.POINTER(_Variable))[0]
            if variable.name != b"mgba_frameskip":
                return False
            variable.value = self._skip
        elif command == SET_PIXEL_FORMAT:
            self.pixel_format = c.cast(data, c.POINTER(c.c_int))[0]
        elif command == SET_MEMORY_MAPS:
            self._take_map(c.cast(data, c.POINTER(_Map))[0])
        else:
            return False
        return True

    def _take_map(self, told: _Map) -> None:
        found = (told.regions[i] for i in range(told.count))
        self.regions = {
            region.start: Region(region.start, region.size, region.pointer + region.offset)
            for region in found
            if region.pointer and region.size
        }

    def _show(self, pointer, width, height, pitch):
        if pointer and self.picture is None:
            self.picture = Picture(pointer, width, height, pitch)

    def load(self, path: Path | None, data: bytes | None) -> bool:
        """Put in a cartridge. A file is mapped, so that many instances share its pages; bytes are copied."""
        game = _Game(os.fsencode(path) if path else None, data, len(data or b""), None)
        return self._library.retro_load_game(c.byref(game))

    def run(self, frames: int, keys: int) -> None:
        """Run frames with the same keys held. Only the first and the last are drawn, where the core can leave out others.

        A core counts frames that it leaves out from one that it drew, so that the first is drawn for nothing: it makes each
        call begin alike, whatever came before.
        """
        for bit, number in enumerate(ORDER):
            self._held[number] = keys >> bit & 1
        run = self._library.retro_run
        with told_interrupts():
            if self._can_skip and frames > 2:
                self._leave_out(frames - 2)
                self.frames += 1
                run()
                self._leave_out(0)
                frames -= 1
            for _ in range(frames):
                self.frames += 1
                run()

    def _leave_out(self, frames: int) -> None:
        self._skip, self._is_skip_new = str(frames).encode(), True

    def save_ram(self) -> Region | None:
        """What a battery keeps; None where the cartridge has nothing of the kind."""
        size = self._library.retro_get_memory_size(SAVE_RAM)
        pointer = self._library.retro_get_memory_data(SAVE_RAM)
        return Region(0x0E000000, size, pointer) if pointer and size else None

    def serialize(self) -> bytes | None:
        """The core's own state, whose size can change while a game runs; None where it gives none."""
        size = self._library.retro_serialize_size()
        state = c.create_string_buffer(size)
        return state.raw if self._library.retro_serialize(state, size) else None

    def unserialize(self, state: bytes) -> bool:
        """Take such a state. The table of sprites is spoiled before, since a core that finds the same one forgets to draw them."""
        sprites = self.regions.get(SPRITES)
        if sprites is not None:
            c.memmove(sprites.pointer, bytes(i * 151 & 0xFF for i in range(sprites.size)), sprites.size)
        return self._library.retro_unserialize(state, len(state))

    def reset(self) -> None:
        """Off and on again; the clock begins anew, so that every start is alike."""
        self.frames = 0
        self._library.retro_reset()

    def close(self, *, has_game: bool) -> None:
        """Let go of the memory, the library's own included."""
        if has_game:
            self._library.retro_unload_game()
        self._library.retro_deinit()
        self.regions, self.picture = {}, None
        _unload(self._library)


def _load_copy(path: Path) -> c.CDLL:
    """Load a copy of a library that is deleted at once: what is loaded stays, and a killed process leaves nothing behind."""
    name = ""
    try:
        descriptor, name = tempfile.mkstemp(prefix="courtside-", suffix=path.suffix)
        os.close(descriptor)
        shutil.copyfile(path, name)
        return _load(path, name)
    except OSError as error:
        raise ConfigError(
            f"The emulator core {path} could not be copied to {tempfile.gettempdir()}: {explain(error)}. Mend that, or let "
            "TMPDIR name another folder."
        ) from error
    finally:
        if name:
            os.unlink(name)


def _load(path: Path, name: str) -> c.CDLL:
    try:
        return c.CDLL(name)
    except OSError as error:
        why = str(error).replace(f"{name}: ", "")
        raise ConfigError(
            f"The emulator core {path} could not be loaded: {why}. It must be built for this machine, and "
            f"{tempfile.gettempdir()} must allow programs (TMPDIR names another folder)."
        ) from error


def _unload(library: c.CDLL) -> None:
    if os.name != "nt":
        import _ctypes

        _ctypes.dlclose(library._handle)


@contextlib.contextmanager
def told_interrupts() -> Iterator[None]:
    """Raise afterwards what arises inside callbacks, Ctrl-C above all, which ctypes would print and forget."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    raised: list[BaseException] = []
    before = sys.unraisablehook

    def keep(told: Any) -> None:
        is_ours = "ctypes callback" in (told.err_msg or "")
        raised.append(told.exc_value) if is_ours else before(told)

    sys.unraisablehook = keep
    try:
        yield
    finally:
        sys.unraisablehook = before
    if raised:
        raise raised[0]
