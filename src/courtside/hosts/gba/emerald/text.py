"""The game's own letters. No JAX here."""

from __future__ import annotations

NEW_LINES = (0xFA, 0xFB, 0xFE)
"""Scroll up, new paragraph, new line."""
RUNS = {
    0x00: " ",
    0x1B: "é",
    0xA1: "0123456789!?.-·…“”‘’♂♀¥,×/",
    0xBB: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    0xD5: "abcdefghijklmnopqrstuvwxyz",
    0xF0: ":",
}
"""Letters that follow each other, by the first one's code."""
LETTERS = {first + i: letter for first, letters in RUNS.items() for i, letter in enumerate(letters)}
LETTERS_AND_LINES = LETTERS | dict.fromkeys(NEW_LINES, "\n")


def decode_text(raw: bytes) -> str | None:
    """Up to the end mark, or all of it where a name fills its place; None where a letter is not one of an English game."""
    return _decode(raw.partition(b"\xff")[0], LETTERS)


def decode_dialogue(raw: bytes) -> str | None:
    """What is said, in lines; None without an end mark, as in a text that is just being written."""
    said, end, _ = raw.partition(b"\xff")
    return _decode(said, LETTERS_AND_LINES) if end else None


def _decode(raw: bytes, letters: dict[int, str]) -> str | None:
    try:
        return "".join([letters[code] for code in raw])
    except KeyError:
        return None
