"""A picture as a PNG file, with nothing but zlib: eight bits each of red, green and blue."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEVEL = 3
"""Of compression: screens have few colours, and more effort takes longer than it is worth."""


def encode_png(picture: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """The whole file."""
    height, width = picture.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, colours, no interlace
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the byte before each row says that it is stored as it is
    rows[:, 1:] = picture.reshape(height, -1)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), LEVEL)), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, content) for kind, content in parts)


def _chunk(kind: bytes, content: bytes) -> bytes:
    """Length, kind, content, checksum of both."""
    checksum = zlib.crc32(content, zlib.crc32(kind))
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)
