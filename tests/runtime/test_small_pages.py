"""Arrays that take memory page by page."""

import sys
from pathlib import Path

import numpy as np
import pytest

from gomea_bn.runtime.small_pages import zeros_by_pages


@pytest.mark.parametrize("shape", [(3, 5), (0, 7), (3, 1 << 22)])
def test_arrays_are_zeros_that_can_be_written(shape):
    zeros = zeros_by_pages(shape, np.uint8)
    assert zeros.shape == shape
    assert zeros.dtype == np.uint8
    assert zeros.flags.c_contiguous
    assert not zeros.any()
    zeros[1:, -1] = 7
    assert zeros.sum() == 7 * max(shape[0] - 1, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the memory of the process from /proc")
def test_only_written_parts_take_memory():
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1])

    before = resident()
    zeros = zeros_by_pages((64, 1 << 21), np.uint8)
    zeros[:, 0] = 1
    # pages of 2 MiB would be 32,768 pages of 4 KiB
    assert resident() - before < 4_000
    assert zeros.sum() == 64
