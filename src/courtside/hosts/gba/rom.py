"""Cartridge dumps: what a ROM's header says, and whether it is the one that is asked for. No JAX here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from pathlib import Path

from courtside.errors import ConfigError
from courtside.files import explain

TITLE, CODE, FIXED, REVISION, CHECKSUM, HEADER_END = 0xA0, 0xAC, 0xB2, 0xBC, 0xBD, 0xC0
"""Places in the header."""
FIXED_VALUE = 0x96
"""What every cartridge has at its fixed place."""
MOST_BYTES = 32 * 1024 * 1024
SMALLEST_BYTES = HEADER_END


@dataclass(frozen=True)
class RomInfo:
    """A ROM in a few words."""

    title: str
    code: str
    """Four letters that name the game and its language, BPEE for instance."""
    revision: int
    sha1: str
    size: int

    def describe(self) -> str:
        return f"{self.title or 'no title'} ({self.code or 'no code'}, revision {self.revision}, SHA-1 {self.sha1})"


def identify(path: Path | str) -> RomInfo:
    """Read a ROM's header, or say why this is none."""
    return inspect(read_rom(path), str(path))


def read_rom(path: Path | str) -> bytes:
    """All bytes of a ROM file."""
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise ConfigError(_not_a_rom(str(path), f"it has {size:,} bytes, a cartridge has {MOST_BYTES:,} at most"))
        return path.read_bytes()
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else explain(error)
        raise ConfigError(
            f"The ROM {path} cannot be read: {why}. Give the path of a dump of your own cartridge, a .gba file."
        ) from error


def inspect(rom: bytes, name: str = "The ROM") -> RomInfo:
    """What the header of these bytes says; `name` is what an error calls them."""
    if rom[:2] == b"PK":
        raise ConfigError(_not_a_rom(name, "it is a zip archive: unpack it first"))
    if len(rom) < SMALLEST_BYTES:
        raise ConfigError(_not_a_rom(name, f"it has {len(rom):,} bytes, the header alone has {SMALLEST_BYTES}"))
    if rom[3] != 0xEA or rom[FIXED] != FIXED_VALUE:
        raise ConfigError(_not_a_rom(name, "its header does not begin with a branch, or lacks the byte 0x96 at 0xB2"))
    found, expected = rom[CHECKSUM], header_checksum(rom)
    if found != expected:
        raise ConfigError(_not_a_rom(name, f"its header has checksum 0x{found:02X} where 0x{expected:02X} is right"))
    return RomInfo(_text(rom[TITLE:CODE]), _text(rom[CODE : CODE + 4]), rom[REVISION], sha1(rom).hexdigest(), len(rom))


def header_checksum(rom: bytes) -> int:
    """The byte at 0xBD that the header's other bytes ask for."""
    return -(sum(rom[TITLE:CHECKSUM]) + 0x19) & 0xFF


def require(info: RomInfo, game: str, *, sha1s: Sequence[str] = (), code: str = "", revision: int = 0) -> None:
    """Refuse a ROM that is not the one a game description is about, in words; no hashes ask for no hash, no code for no code."""
    if sha1s and info.sha1 not in sha1s:
        expected = f"code {code}, revision {revision}, " if code else ""
        raise ConfigError(
            f"This ROM is {info.describe()}; {game} needs {expected}SHA-1 {' or '.join(sha1s)}. "
            f"{_guess(info, code, revision)}"
        )
    if not sha1s and code and info.code != code:
        raise ConfigError(f"This ROM is {info.describe()}; {game} needs code {code}. Give the ROM of that game.")


def _guess(info: RomInfo, code: str, revision: int) -> str:
    """What is probably the matter with a ROM of another hash."""
    if code and info.code != code:
        return "It is another game or another language: give the ROM of that game."
    if code and info.revision != revision:
        return f"It is revision {info.revision} of the right game: give revision {revision}."
    return "It is the right game, but changed or badly dumped: give a clean dump."


def _not_a_rom(name: str, why: str) -> str:
    return f"{name} is not a GBA ROM: {why}. Give a dump of your own cartridge, a .gba file."


def _text(field: bytes) -> str:
    return field.split(b"\0")[0].decode("ascii", "replace").strip()
