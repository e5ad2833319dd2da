"""A record and some arrays as bytes, small and without pickle: how the state of a game goes into a checkpoint."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from courtside.errors import CheckpointError

LEVEL = 1
"""Of compression: screens are mostly alike, and the fastest finds that out too."""


def pack(record: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The record (JSON data) with its arrays; `unpack` reads it back."""
    shapes = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    head = json.dumps({"record": dict(record), "arrays": shapes}).encode()
    body = b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())
    return zlib.compress(len(head).to_bytes(4, "little") + head + body, LEVEL)


def unpack(text: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `pack` was given; the arrays can be written to."""
    try:
        plain = zlib.decompress(text)
        offset = 4 + int.from_bytes(plain[:4], "little")
        head, arrays = json.loads(plain[4:offset]), {}
        for name, (dtype, shape) in head["arrays"].items():
            count = int(np.prod(shape))
            arrays[name] = np.frombuffer(plain, dtype, count, offset).reshape(shape).copy()
            offset += arrays[name].nbytes
        return head["record"], arrays
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"The saved state of a game is damaged ({error}); resume from another checkpoint."
        ) from error
