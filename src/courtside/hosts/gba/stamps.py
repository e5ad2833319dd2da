"""Saved states as bytes: what the emulator needs to go on, with a stamp that says which core and ROM they are of. No JAX here."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import asdict, dataclass

from courtside.errors import CheckpointError

MAGIC = b"courtside gba 1\n"
LEVEL = 1
"""Of compression: most of the memory is empty, and the fastest finds that out too."""

CONSOLE_SIZE = 0x61000
"""Bytes of the console itself in a state of mGBA; newer versions put a table of further items behind it."""
ITEM = struct.Struct("<IiQ")
"""A row of that table: what it is, size, place. Zero ends it."""
SAVE_DATA, IGNORED = 2, 0x7FFFFFFF


@dataclass(frozen=True)
class Stamp:
    """Whose state it is."""

    core: str
    rom_sha1: str


@dataclass(frozen=True)
class Saved:
    """What a state is made of."""

    frames: int
    """That the cartridge's clock has counted."""
    console: bytes
    picture: bytes
    save_ram: bytes


def pack(stamp: Stamp, saved: Saved) -> bytes:
    """A state for a file; `unpack` reads it back."""
    parts = (saved.console, saved.picture, saved.save_ram)
    record = {**asdict(stamp), "frames": saved.frames, "sizes": [len(part) for part in parts]}
    head = json.dumps(record).encode()
    return MAGIC + len(head).to_bytes(4, "little") + head + zlib.compress(b"".join(parts), LEVEL)


def unpack(state: bytes, stamp: Stamp) -> Saved:
    """What `pack` was given, if it is of the same core and ROM."""
    if not state.startswith(MAGIC):
        raise CheckpointError(
            "These bytes are no saved state of the GBA emulator made by this version of courtside; give one that was."
        )
    try:
        start = len(MAGIC) + 4
        end = start + int.from_bytes(state[start - 4 : start], "little")
        head = json.loads(state[start:end])
        found, frames, sizes = Stamp(head["core"], head["rom_sha1"]), int(head["frames"]), head["sizes"]
        _require_same(found, stamp)
        plain, (console, picture, save_ram) = zlib.decompress(state[end:]), sizes
        if len(plain) != console + picture + save_ram:
            raise ValueError("sizes differ")
        return Saved(frames, plain[:console], plain[console : console + picture], plain[console + picture :])
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise CheckpointError("A saved state of the GBA emulator is damaged; take another one.") from error


def _require_same(found: Stamp, expected: Stamp) -> None:
    if found.rom_sha1 != expected.rom_sha1:
        raise CheckpointError(
            f"The saved state is of the ROM with SHA-1 {found.rom_sha1}, this one has {expected.rom_sha1}; load it with the "
            "ROM that it was made with."
        )
    if found.core != expected.core:
        raise CheckpointError(
            f"The saved state is of the emulator core {found.core}, this one is {expected.core}; load it with the core that "
            "it was made with."
        )


def without_save(console: bytes) -> bytes:
    """A core's state with the save RAM in it made unknown: a core would load that to where nobody can reach it."""
    changed = bytearray(console)
    for row in range(CONSOLE_SIZE, len(console) - ITEM.size + 1, ITEM.size):
        kind, size, place = ITEM.unpack_from(console, row)
        if kind == 0:
            break
        if kind == SAVE_DATA and size > 0 and place + size <= len(console):
            ITEM.pack_into(changed, row, IGNORED, size, place)
            changed[place : place + size] = bytes(size)
    return bytes(changed)
