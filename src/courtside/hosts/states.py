"""Saved states of several envs as one piece of bytes, to go through a socket or into a checkpoint. No JAX here."""

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
