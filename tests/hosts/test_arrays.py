"""The shared block: arrays do not overlap, parts are views, both sides see the same numbers."""

from itertools import pairwise

import numpy as np

from courtside.hosts.arrays import ALIGNMENT, BlockLayout, make_arrays, num_bytes

LAYOUT = BlockLayout(5, 2, 3, (((2,), np.dtype(np.float32)), ((), np.dtype(np.int32))))


def test_arrays_fill_the_block_without_overlap():
    block = np.zeros(num_bytes(LAYOUT), np.uint8)
    actions, *others = vars(make_arrays(LAYOUT, block)).values()
    spans = []
    for array in [*actions, *others]:
        start = array.ctypes.data - block.ctypes.data
        assert start % ALIGNMENT == 0
        spans.append((start, start + array.nbytes))
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert spans[-1][1] <= block.size


def test_both_sides_of_a_block_see_the_same_and_parts_are_views():
    block = np.zeros(num_bytes(LAYOUT), np.uint8)
    ours, theirs = make_arrays(LAYOUT, block), make_arrays(LAYOUT, block).part(2, 4)
    theirs.features[0, 1] = 7
    theirs.actions[1][1] = 3
    theirs.steps[1] = 9
    assert ours.features[:, 1, 0].tolist() == [0, 0, 7, 0, 0]
    assert ours.actions[1].tolist() == [0, 0, 0, 3, 0]
    assert ours.steps.tolist() == [0, 0, 0, 9, 0]
    assert [action.shape for action in theirs.actions] == [(2, 2), (2,)]
    assert (theirs.reward.shape, theirs.ended.shape) == ((2, 2), (2,))
