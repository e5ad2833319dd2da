"""A picture as a PNG file, with nothing but zlib: eight bits each of red, green and blue."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from jaxtyping import UInt8

SIGNATURE = b"\x89PNG\r\n\x1a\n"
SHORTEST = 57
"""Bytes of a file without a picture."""
LEVEL = 3
"""Of compression: screens have few colours, and more effort takes longer than it is worth."""


def encode_png(picture: UInt8[np.ndarray, "h w 3"]) -> bytes:
    """The whole file."""
    height, width = picture.shape[:2]
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, colours, no interlace
    rows = np.zeros((height, 1 + 3 * width), np.uint8)  # the byte before each row says that it is stored as it is
    rows[:, 1:] = picture.reshape(height, -1)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes(), LEVEL)), (b"IEND", b""))
    packed = ((kind + content, struct.pack(">I", len(content))) for kind, content in parts)
    return SIGNATURE + b"".join(length + part + struct.pack(">I", zlib.crc32(part)) for part, length in packed)


def decode_png(content: bytes) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a file that `encode_png` wrote; raises ValueError for any other."""
    if not content.startswith(SIGNATURE) or len(content) < SHORTEST or content[24:29] != b"\x08\x02\0\0\0":
        raise ValueError("it is no PNG of ours")
    width, height = struct.unpack(">II", content[16:24])
    size = struct.unpack(">I", content[33:37])[0]
    rows = zlib.decompressobj().decompress(content[41 : 41 + size], height * (1 + 3 * width))
    if len(rows) != height * (1 + 3 * width):
        raise ValueError("it is cut off")
    return np.frombuffer(rows, np.uint8).reshape(height, -1)[:, 1:].reshape(height, width, 3)
