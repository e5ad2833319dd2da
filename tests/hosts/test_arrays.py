"""The shared block: arrays do not overlap, parts are views, both sides see the same numbers."""

from dataclasses import fields
from itertools import pairwise

import numpy as np

from courtside.hosts.arrays import ALIGNMENT, make_arrays, num_bytes

LAYOUT = 5, 3, ((2,), np.dtype(np.float32))


def test_arrays_fill_the_block_without_overlap():
    block = np.zeros(num_bytes(*LAYOUT), np.uint8)
    arrays = make_arrays(*LAYOUT, block)
    spans = []
    for field in fields(arrays):
        array = getattr(arrays, field.name)
        start = array.ctypes.data - block.ctypes.data
        assert start % ALIGNMENT == 0
        spans.append((start, start + array.nbytes))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert spans[-1][1] <= block.size


def test_both_sides_of_a_block_see_the_same_and_parts_are_views():
    block = np.zeros(num_bytes(*LAYOUT), np.uint8)
    ours, theirs = make_arrays(*LAYOUT, block), make_arrays(*LAYOUT, block).part(2, 4)
    theirs.features[0] = 7
    theirs.steps[1] = 9
    assert ours.features[:, 0].tolist() == [0, 0, 7, 0, 0]
    assert ours.steps.tolist() == [0, 0, 0, 9, 0]
    assert (theirs.action.shape, theirs.ended.shape) == ((2, 2), (2,))
