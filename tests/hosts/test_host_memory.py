"""Memory as the system counts it."""

import mmap
import os

import numpy as np

from courtside.machine import available_mb, own_share_mb, resident_mb


def test_forty_mb_are_seen():
    before = resident_mb(), own_share_mb(os.getpid())
    ballast = np.frombuffer(
        mmap.mmap(-1, 40 << 20), np.uint8
    )  # pages of its own: an array may lie in what was free already
    ballast[:] = 1
    assert 35 < resident_mb() - before[0] < 50
    assert 35 < own_share_mb(os.getpid()) - before[1] < 50
    assert ballast[-1] == 1


def test_this_machine_has_memory_left():
    left = available_mb()
    assert left is None or left > 50


def test_a_process_that_is_gone_holds_nothing():
    assert resident_mb(2**22 + 1) == 0.0
