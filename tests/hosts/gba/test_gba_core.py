"""The emulator itself, with ROMs of our own: keys in, picture and memory out, states that go on exactly."""

from __future__ import annotations

import _ctypes
import os
import re
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from homebrew import assemble, busy, cartridge, catch, quest, word

from courtside.errors import CheckpointError, ConfigError, EnvContractError
from courtside.hosts.gba import core, stamps
from courtside.hosts.gba.core import Emulator, find_core, key_mask
from courtside.machine import resident_mb
from waiting import PATIENCE

RIGHT, LEFT = key_mask("right"), key_mask("LEFT")
SHARED = """
    mov r11, #0x04000000
    mov r10, #0x02000000
    mov r0, #8
    strh r0, [r11, #4]
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1]
frame:
    add r1, r11, #0x200
    mov r0, #1
    strh r0, [r1, #2]
    add r1, r11, #0x300
    mov r0, #0
    strb r0, [r1, #1]
"""
COLOURS = """
    mov r11, #0x04000000
    ldr r0, =0x0403
    strh r0, [r11]
    mov r1, #0x06000000     @ the second line
    ldr r0, =0x03E0001F
    str r0, [r1, #480]
    ldr r0, =0x00107C00
    str r0, [r1, #484]
stay:
    b stay
    .pool
"""
SAVER = f"""{SHARED}
    mov r1, #0x0E000000     @ save RAM: one more each frame
    ldrb r0, [r1]
    add r0, r0, #1
    strb r0, [r1]
    b frame
    .byte {", ".join(str(letter) for letter in b"SRAM_V113")}
    .pool
"""
CLOCK = f"""{SHARED}
    ldr r1, =0x080000C4     @ the clock's wires: 1 pulse, 2 data, 4 selected
    mov r0, #1
    strh r0, [r1, #4]
    mov r0, #7
    strh r0, [r1, #2]
    mov r0, #1
    strh r0, [r1]
    mov r0, #5
    strh r0, [r1]
    mov r2, #0xA6           @ "tell date and time", lowest bit first
    mov r3, #8
ask:
    and r0, r2, #1
    mov r0, r0, lsl #1
    orr r0, r0, #4
    strh r0, [r1]
    orr r0, r0, #1
    strh r0, [r1]
    mov r2, r2, lsr #1
    subs r3, r3, #1
    bne ask
    mov r0, #5
    strh r0, [r1, #2]
    mov r6, r10
    mov r4, #7              @ year, month, day, day of the week, hour, minute, second
told:
    mov r2, #0
    mov r3, #8
bit:
    mov r0, #4
    strh r0, [r1]
    mov r0, #5
    strh r0, [r1]
    ldrh r0, [r1]
    mov r0, r0, lsr #1
    and r0, r0, #1
    mov r2, r2, lsr #1
    orr r2, r2, r0, lsl #7
    subs r3, r3, #1
    bne bit
    strb r2, [r6], #1
    subs r4, r4, #1
    bne told
    mov r0, #0
    strh r0, [r1]
    b frame
    .pool
"""
REPLAY = """
import sys
from hashlib import sha256
from pathlib import Path
from courtside.hosts.gba.core import Emulator

rom, state = map(Path, sys.argv[1:])
with Emulator(rom) as emulator:
    emulator.load_state(state.read_bytes())
    for keys in (16, 16, 32, 0, 16):
        emulator.run(25, keys)
    assert "jax" not in sys.modules
    print(sha256(emulator.screen().tobytes() + emulator.save_state()).hexdigest())
"""


@pytest.fixture(scope="module")
def rom() -> bytes:
    return catch.build()


@pytest.fixture
def emulator(rom):
    with Emulator(rom) as made:
        made.run(30)
        yield made


def white(screen: np.ndarray) -> tuple[list[int], list[int]]:
    """First and last row and column of what is white."""
    rows, columns = np.nonzero((screen == 255).all(axis=-1))
    return [rows.min(), rows.max()], [columns.min(), columns.max()]


def test_keys_move_what_the_screen_shows_upright(emulator):
    assert white(emulator.screen()) == ([144, 159], [96, 143])
    emulator.run(40, LEFT)
    assert white(emulator.screen()) == ([144, 159], [0, 47])
    emulator.run(200, RIGHT)
    assert white(emulator.screen()) == ([144, 159], [192, 239])
    assert word(emulator, catch.PADDLE) == 13


def test_colours_are_red_green_blue_and_full():
    with Emulator(cartridge("COLOURS", "CSLE", assemble(COLOURS))) as emulator:
        assert not emulator.screen().any(), "black before the first frame"
        emulator.run(2)
        assert emulator.screen()[1, :4].tolist() == [[255, 0, 0], [0, 255, 0], [0, 0, 255], [132, 0, 0]]


def test_memory_is_read_written_and_seen_as_it_is(emulator):
    view, before = emulator.region(catch.STATE + 1000), word(emulator, catch.FRAMES)
    emulator.write(catch.SCORE, (77).to_bytes(4, "little"))
    emulator.run(5)
    assert word(emulator, catch.SCORE) == 77 == view[0]
    assert view.size == 256 * 1024
    assert int.from_bytes(view[20:24].tobytes(), "little") == word(emulator, catch.FRAMES) == before + 5
    assert emulator.read(core.ROM + 0xA0, 5) == b"CATCH"
    assert emulator.region(0x03007000).size == 32 * 1024


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.read(0x0203FFFE, 4), "4 bytes from 0x0203FFFE are not in the console's memory"),
        (lambda e: e.read(0x0A000000 - 4, 4), "not in the console's memory"),
        (lambda e: e.read(0x20000000, 1), "not in the console's memory"),
        (lambda e: e.read(0x02000000, -1), "not in the console's memory"),
        (lambda e: e.write(0x08000000, b"x"), "0x08000000 cannot be written to"),
        (lambda e: e.write(0x06000000, b"x"), "0x06000000 cannot be written to"),
        (lambda e: e.run(0), "was to run 0 frames"),
        (lambda e: e.run(1, 1 << 10), "with keys 1024"),
        (lambda e: (e.close(), e.close(), e.screen()), "was closed"),
    ],
)
def test_what_cannot_be_is_said(emulator, call, words):
    with pytest.raises(EnvContractError, match=words):
        call(emulator)


def test_frames_that_are_not_drawn_change_nothing(rom):
    seen = []
    for pieces in ([25] * 4, [1] * 100, [2, 3, 20, 75], [100]):
        with Emulator(rom) as emulator:
            for frames in pieces:
                emulator.run(frames, RIGHT)
            seen.append((emulator.screen().tobytes(), emulator.save_state()))
    assert len(set(seen)) == 1


def test_a_state_goes_on_exactly_here_and_in_another_process(emulator, rom, tmp_path):
    state, seen = emulator.save_state(), []
    picture = emulator.screen()
    for _ in range(2):
        for keys in (16, 16, 32, 0, 16):
            emulator.run(25, keys)
        seen.append(sha256(emulator.screen().tobytes() + emulator.save_state()).hexdigest())
        emulator.load_state(state)
        np.testing.assert_array_equal(emulator.screen(), picture)
    (tmp_path / "catch.gba").write_bytes(rom)
    (tmp_path / "state").write_bytes(state)
    command = [sys.executable, "-c", REPLAY, str(tmp_path / "catch.gba"), str(tmp_path / "state")]
    seen.append(subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE).stdout.strip())
    assert len(set(seen)) == 1


@pytest.mark.parametrize("game", [busy, quest])
def test_a_picture_after_loading_is_that_of_the_game_that_went_on(game):
    with Emulator(game.build()) as emulator, Emulator(game.build()) as other:
        emulator.run(30)
        state = emulator.save_state()
        emulator.run(3)
        picture = emulator.screen()
        for loaded, frames in ((emulator, 1), (emulator, 60), (other, 1)):
            loaded.run(frames, RIGHT)
            loaded.load_state(state)
            loaded.run(3)
            np.testing.assert_array_equal(loaded.screen(), picture)


def test_instances_do_not_disturb_each_other(rom):
    with Emulator(rom) as first, Emulator(rom) as second, Emulator(quest.build()) as third:
        for _ in range(20):
            first.run(4, LEFT)
            second.run(4, RIGHT)
            third.run(4)
        assert (word(first, catch.PADDLE), word(second, catch.PADDLE)) == (1, 13)
        assert third.read(quest.MAIN + 4, 4) == quest.OVERWORLD.to_bytes(4, "little")


def test_closing_gives_the_memory_back():
    rom = quest.build()

    def once() -> float:
        with Emulator(rom) as emulator:
            emulator.run(5)
            emulator.load_state(emulator.save_state())
            assert emulator.region(core.ROM).any()  # the whole ROM is in memory
        return resident_mb(os.getpid())

    before = max(once() for _ in range(3))
    assert [once() for _ in range(8)][-1] < before + 6, "less than two of the ROM's size"


def test_states_of_others_are_refused(emulator):
    state = emulator.save_state()
    with (
        Emulator(quest.build()) as other,
        pytest.raises(CheckpointError, match=f"SHA-1 {emulator.rom_sha1}, this one has"),
    ):
        other.load_state(state)
    saved = stamps.unpack(state, stamps.Stamp(emulator.version, emulator.rom_sha1))
    newer = stamps.pack(stamps.Stamp("mGBA 9.9", emulator.rom_sha1), saved)
    with pytest.raises(CheckpointError, match=f"core mGBA 9.9, this one is {re.escape(emulator.version)}"):
        emulator.load_state(newer)
    for damaged in (state[:-100], state[:-1] + bytes([state[-1] ^ 1]), state[:40]):
        with pytest.raises(CheckpointError, match="damaged"):
            emulator.load_state(damaged)
    with pytest.raises(CheckpointError, match="no saved state"):
        emulator.load_state(b"something else")


def test_save_ram_is_given_kept_and_part_of_a_state():
    rom = cartridge("SAVER", "CSSE", assemble(SAVER))
    with Emulator(rom, save=bytes([70]) + bytes(32767)) as emulator:
        emulator.run(10)
        kept, state = emulator.read(core.SAVE, 1)[0], emulator.save_state()
        assert 75 < kept <= 80
        emulator.run(20)
        emulator.load_state(state)
        assert emulator.read(core.SAVE, 1)[0] == kept
        emulator.run(4)
        assert emulator.read(core.SAVE, 1)[0] == kept + 4
        emulator.reset()
        assert emulator.read(core.SAVE, 1)[0] == kept + 4
    with Emulator(rom) as fresh:
        fresh.load_state(state)
        assert fresh.read(core.SAVE, 1)[0] == kept
    with pytest.raises(ConfigError, match=r"The save has 200,000 bytes, this cartridge holds"):
        Emulator(rom, save=bytes(200_000))


def test_the_save_ram_in_a_newer_cores_state_is_left_to_us():
    end = stamps.CONSOLE_SIZE + 3 * stamps.ITEM.size
    rows = stamps.ITEM.pack(stamps.SAVE_DATA, 4, end) + stamps.ITEM.pack(4, 2, end + 4) + bytes(stamps.ITEM.size)
    console = b"c" * stamps.CONSOLE_SIZE + rows + b"saveck"
    hidden = stamps.without_save(console)
    assert stamps.ITEM.unpack_from(hidden, stamps.CONSOLE_SIZE) == (stamps.IGNORED, 4, end)
    assert hidden.endswith(bytes(4) + b"ck")
    assert hidden[stamps.CONSOLE_SIZE + stamps.ITEM.size : end] == rows[stamps.ITEM.size :]
    assert stamps.without_save(hidden) == hidden
    assert stamps.without_save(b"c" * stamps.CONSOLE_SIZE) == b"c" * stamps.CONSOLE_SIZE


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the machine's clock cannot be replaced")
def test_the_cartridges_clock_goes_with_the_frames():
    with Emulator(cartridge("CLOCK", "BPEE", assemble(CLOCK))) as emulator:
        emulator.run(60)
        assert emulator.has_steady_clock
        assert emulator.read(core.EWRAM, 7).hex() == "00010106000001"  # a Saturday
        state = emulator.save_state()
        emulator.run(3600)
        assert emulator.read(core.EWRAM, 7).hex() == "00010106000101"
        emulator.load_state(state)
        emulator.run(60)
        assert emulator.read(core.EWRAM, 7).hex() == "00010106000002"


def test_an_interrupt_is_not_lost(emulator):
    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            emulator.run(4000)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    before = word(emulator, catch.FRAMES)
    emulator.run(25)
    assert word(emulator, catch.FRAMES) == before + 25


def test_a_core_that_is_missing_or_none_is_told(monkeypatch, tmp_path, rom):
    monkeypatch.delenv("COURTSIDE_GBA_CORE", raising=False)
    monkeypatch.setattr(core, "PACKAGE", "no_such_package")
    with pytest.raises(ConfigError, match=r'pip install "courtside\[emulator\]"'):
        find_core()
    monkeypatch.setenv("COURTSIDE_GBA_CORE", str(tmp_path / "core.so"))
    with pytest.raises(ConfigError, match="that COURTSIDE_GBA_CORE names"):
        Emulator(rom)
    (tmp_path / "core.so").write_text("no library")
    with pytest.raises(ConfigError, match="could not be loaded"):
        Emulator(rom)
    with pytest.raises(ConfigError, match="is no libretro core"):
        Emulator(rom, core=Path(_ctypes.__file__))


def test_keys_have_names():
    assert key_mask("A", "start", "L") == 0b10_0000_1001
    assert key_mask() == 0
    with pytest.raises(ConfigError, match=r"no key Turbo; the keys are A, B, Select"):
        key_mask("Turbo")
