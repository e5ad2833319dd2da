"""Letters of the game."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from image import CODES, encode_text

from courtside.hosts.gba.emerald.text import decode_dialogue, decode_text


@given(st.text("".join(CODES), max_size=10))
def test_a_name_is_read_as_it_was_written(name):
    assert decode_text(encode_text(name, 10)) == name


def test_nothing_after_the_end_is_read():
    assert decode_text(encode_text("MAY", 4) + b"\x40\xbb") == "MAY"


def test_letters_beyond_the_alphabet_are_known():
    assert decode_text(b"\xc8\xc3\xbe\xc9\xcc\xbb\xc8\xb6\xff") == "NIDORAN♀"
    assert decode_text(b"\xca\xc9\xc5\x1b\xb4\xe7\xff") == "POKé’s"


@pytest.mark.parametrize("code", [0x40, 0xF8, 0xFC, 0xFE])
def test_an_unknown_letter_makes_the_name_unknown(code):
    assert decode_text(bytes([0xBB, code, 0xFF])) is None


def test_what_is_said_has_lines_and_an_end():
    assert decode_dialogue(b"\xc2\xdd\xfe\xd5\xfb\xd6\xff\xd7") == "Hi\na\nb"
    assert decode_dialogue(b"\xc2\xdd") is None
