"""Work space for counting joint values of genes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gomea_bn.linkage.kernels.tree import CountWork


def count_work(
    genotypes: NDArray[np.int16], alphabet: NDArray[np.int64], stop: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], CountWork]:
    """Return the first row of each gene in the bit sets, shape (l + 1,), and work space for counting its alleles."""
    n, n_genes = genotypes.shape
    offsets = np.concatenate(([0], np.cumsum(alphabet))).astype(np.int64)
    largest = int(alphabet.max())
    x = np.arange(n + 1, dtype=np.float64)
    work = CountWork(
        x_log_x=x * np.log2(np.maximum(x, 1.0)),
        bits=np.zeros((int(offsets[-1]), (n + 63) // 64), np.uint64),
        columns=np.zeros((n_genes, n), np.uint16),
        counts=np.zeros(int(offsets[-1]), np.int64),
        joint=np.zeros(largest * largest, np.int64),
        entropies=np.zeros(n_genes),
        supports=np.zeros(n_genes, np.int64),
        stop=stop,
    )
    return offsets, work
