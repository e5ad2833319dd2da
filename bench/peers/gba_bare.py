"""The GBA core with as little around it as a libretro core accepts: for the question what our emulator costs beside it.

Only the standard library is imported here. Nothing is read: no picture, no memory.
"""

import ctypes as c
import itertools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

ANSWER = c.CFUNCTYPE(c.c_bool, c.c_uint, c.c_void_p)
VIDEO = c.CFUNCTYPE(None, c.c_void_p, c.c_uint, c.c_uint, c.c_size_t)
SAMPLE, SAMPLES = c.CFUNCTYPE(None, c.c_int16, c.c_int16), c.CFUNCTYPE(c.c_size_t, c.c_void_p, c.c_size_t)
POLL, KEY = c.CFUNCTYPE(None), c.CFUNCTYPE(c.c_int16, c.c_uint, c.c_uint, c.c_uint, c.c_uint)
GET_VARIABLE = 15

_alive = []
"""Callbacks and ROMs that loaded cores use."""
_numbers = itertools.count()


class Game(c.Structure):
    _fields_ = (("path", c.c_char_p), ("data", c.c_char_p), ("size", c.c_size_t), ("meta", c.c_char_p))


class Variable(c.Structure):
    _fields_ = (("name", c.c_char_p), ("value", c.c_char_p))


def load(core: Path, rom: bytes, left_out: int = 0) -> Callable[[], None]:
    """The core's function that runs one frame; `left_out` frames are not drawn after each that is."""

    def answer(command: int, data: int) -> bool:
        if command != GET_VARIABLE:
            return False
        variable = c.cast(data, c.POINTER(Variable))[0]
        if variable.name != b"mgba_frameskip":
            return False
        variable.value = str(left_out).encode()
        return True

    folder = tempfile.mkdtemp()
    copy = Path(folder, f"core{next(_numbers)}.so")
    shutil.copyfile(core, copy)
    library = c.CDLL(str(copy))
    shutil.rmtree(folder)
    callbacks = {
        "environment": ANSWER(answer),
        "video_refresh": VIDEO(lambda pointer, width, height, pitch: None),
        "audio_sample": SAMPLE(lambda left, right: None),
        "audio_sample_batch": SAMPLES(lambda samples, count: count),
        "input_poll": POLL(lambda: None),
        "input_state": KEY(lambda port, device, index, key: 0),
    }
    for name, callback in callbacks.items():
        getattr(library, f"retro_set_{name}")(callback)
    library.retro_init()
    library.retro_load_game.restype = c.c_bool
    if not library.retro_load_game(c.byref(Game(None, rom, len(rom), None))):
        raise SystemExit(f"{core} did not take the ROM")
    _alive.append((library, callbacks, rom))
    return library.retro_run
