"""Saved states as bytes, small and without pickle: of one game, and of several envs, to go through a socket or into a checkpoint.

No JAX here.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from courtside.errors import CheckpointError

HEAD = np.dtype("<i8")
LEVEL = 1
"""Of compression: screens are mostly alike, and the fastest finds that out too."""


def join_states(states: Sequence[bytes]) -> bytes:
    """How many, how long each is, then one after the other."""
    head = np.asarray([len(states), *map(len, states)], HEAD)
    return head.tobytes() + b"".join(states)


def split_states(text: bytes) -> list[bytes]:
    """What `join_states` was given."""
    count = int(np.frombuffer(text, HEAD, 1)[0])
    edges = (1 + count) * HEAD.itemsize + np.cumsum([0, *np.frombuffer(text, HEAD, count, HEAD.itemsize)])
    return [text[first:last] for first, last in itertools.pairwise(edges.tolist())]


def join_screens(screens: np.ndarray) -> bytes:
    """Pictures, uint8 [n, H, W, 3], as two states: their shape, and themselves."""
    return join_states([np.asarray(screens.shape, HEAD).tobytes(), screens.tobytes()])


def split_screens(states: Sequence[bytes]) -> np.ndarray:
    """The pictures, from what `split_states` makes of it."""
    shape, pixels = states
    return np.frombuffer(pixels, np.uint8).reshape(np.frombuffer(shape, HEAD))


# --- of one game -----------------------------------------------------------------------------------------------------


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
