"""A strip of text under a frame, in a pixel font of three by five dots."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Bool, UInt8

from courtside.runs.video import Frame

GLYPHS = {
    "A": "25755", "B": "65656", "C": "34443", "D": "65556", "E": "74647", "F": "74644", "G": "34553", "H": "55755",
    "I": "72227", "J": "11152", "K": "55655", "L": "44447", "M": "57755", "N": "65555", "O": "25552", "P": "65644",
    "Q": "25563", "R": "65655", "S": "34216", "T": "72222", "U": "55557", "V": "55552", "W": "55775", "X": "55255",
    "Y": "55222", "Z": "71247", "0": "75557", "1": "26227", "2": "71747", "3": "71317", "4": "55711", "5": "74717",
    "6": "74757", "7": "71122", "8": "75757", "9": "75717", ".": "00002", ",": "00024", ":": "02020", "-": "00700",
    "+": "02720", "/": "11244", "_": "00007", "%": "51245", "=": "07070", "(": "12221", ")": "42224", "'": "22000",
    " ": "00000",
}  # fmt: skip
"""Five rows a letter, each an octal digit whose bits are the dots from left to right."""
UNKNOWN = "75557"
ADVANCE, LEADING = 4, 8
"""Dots from one letter to the next, and from one line to the next."""
MARGIN = 2
INK, GROUND = 220, 28
WIDE = 400
"""Frames from this width on have letters half as large again."""


def caption_frame(frame: Frame, parts: tuple[str, ...], lines: int) -> Frame:
    """The frame with `parts` below it on a strip of `lines` lines; parts are never broken, those too many are left out."""
    width, scale = frame.shape[1], _scale(frame.shape[1])
    strip = np.full(((lines * LEADING + MARGIN) * scale, width, 3), GROUND, np.uint8)
    for number, line in enumerate(lay_out(parts, width)[:lines]):
        write_line(strip, line, (MARGIN + number * LEADING) * scale, MARGIN * scale, scale)
    return np.concatenate([frame, strip])


def write_line(
    picture: Frame, text: str, top: int, left: int, scale: int, colour: tuple[int, int, int] = (INK, INK, INK)
) -> None:
    """Put a line of text into a picture, its upper left dot at this pixel; what reaches beyond the picture is cut off."""
    place = picture[top:, left:]
    dots = np.repeat(np.repeat(_dots(text), scale, axis=0), scale, axis=1)[: place.shape[0], : place.shape[1]]
    place[: dots.shape[0], : dots.shape[1]][dots] = colour


def lay_out(parts: tuple[str, ...], width: int) -> list[str]:
    """Fill lines with parts, two spaces between them, as many to a line as fit."""
    room, lines = (width // _scale(width) - 2 * MARGIN + 1) // ADVANCE, [""]
    for part in parts:
        longer = f"{lines[-1]}  {part}" if lines[-1] else part
        if len(longer) <= room or not lines[-1]:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def _scale(width: int) -> int:
    return 3 if width >= WIDE else 2


@functools.lru_cache(maxsize=64)
def _dots(text: str) -> Bool[np.ndarray, "5 n"]:
    return np.concatenate([_glyph(letter) for letter in text.upper()] or [_glyph(" ")], axis=1)


def _glyph(letter: str) -> Bool[np.ndarray, "5 4"]:
    """With the gap that follows it."""
    rows: UInt8[np.ndarray, "5"] = np.array([int(row) for row in GLYPHS.get(letter, UNKNOWN)], np.uint8)
    return (rows[:, None] << 1 >> np.arange(3, -1, -1, dtype=np.uint8) & 1).astype(bool)
