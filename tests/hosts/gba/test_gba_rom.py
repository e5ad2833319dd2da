"""ROM files: what their header says, and in which words others are refused."""

from __future__ import annotations

from hashlib import sha1

import pytest
from homebrew import catch

from courtside.errors import ConfigError
from courtside.hosts.gba.rom import RomInfo, identify, require

EMERALD = {"sha1s": ("f3ae0881",), "code": "BPEE"}


@pytest.fixture
def rom_file(tmp_path):
    path = tmp_path / "catch.gba"
    path.write_bytes(catch.build())
    return path


def test_a_rom_tells_who_it_is(rom_file):
    told = identify(rom_file)
    assert told == RomInfo("CATCH", "CSCE", 0, sha1(catch.build()).hexdigest(), 1024)
    require(told, "catch", sha1s=(told.sha1,), code="CSCE")
    require(told, "any game")


def change(path, at: int, data: bytes) -> None:
    rom = bytearray(path.read_bytes())
    rom[at : at + len(data)] = data
    path.write_bytes(rom)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda path: path.unlink(), "cannot be read: there is no such file"),
        (lambda path: (path.unlink(), path.mkdir()), "cannot be read: a folder of that name"),
        (lambda path: path.write_bytes(b""), "it has 0 bytes"),
        (lambda path: path.write_bytes(bytes(1000)), "does not begin with a branch"),
        (lambda path: change(path, 0, b"PK"), "zip archive: unpack it"),
        (lambda path: change(path, 0xA0, b"MATCH"), "has checksum 0x.. where 0x.. is right"),
        (lambda path: path.write_bytes(catch.build().ljust((32 << 20) + 1)), "a cartridge has 33,554,432 at most"),
    ],
)
def test_what_is_no_rom_is_refused(rom_file, spoil, words):
    spoil(rom_file)
    with pytest.raises(ConfigError, match=words):
        identify(rom_file)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            RomInfo("POKEMON RUBY", "AXVE", 0, "12ab", 1),
            r"This ROM is POKEMON RUBY \(AXVE, .*needs code BPEE.* another game",
        ),
        (RomInfo("POKEMON EMER", "BPEE", 1, "12ab", 1), r"It is revision 1 of the right game: give revision 0"),
        (RomInfo("POKEMON EMER", "BPEE", 0, "12ab", 1), r"SHA-1 12ab\); emerald needs .*SHA-1 f3ae0881.* badly dumped"),
    ],
)
def test_another_rom_than_asked_for_is_told_apart(found, words):
    with pytest.raises(ConfigError, match=words):
        require(found, "emerald", **EMERALD)


def test_without_a_hash_the_code_decides():
    with pytest.raises(ConfigError, match="needs code BPEE"):
        require(RomInfo("", "", 0, "12ab", 1), "emerald", code="BPEE")
