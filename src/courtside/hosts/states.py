"""Saved states or pictures of several envs as one piece of bytes, to go through a socket or into a checkpoint. No JAX here."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

HEAD = np.dtype("<i8")


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
