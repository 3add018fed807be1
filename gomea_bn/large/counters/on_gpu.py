"""Counts of families over all rows on an NVIDIA GPU."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.files.separated import first_line
from gomea_bn.errors import GomeaBnError, Option, Setting
from gomea_bn.large.cells import CodedPiece, Coding
from gomea_bn.large.counters.local import LocalCounter
from gomea_bn.large.counters.plan import Coded, CountPlan, OfPiece
from gomea_bn.large.survey import Sampled

__all__ = ["GpuCounter", "usable_cuda"]

# share of the free memory of the GPU for cells; tables and pieces that are sent again need the rest
_SHARE_OF_CELLS = 0.75
# bytes of cells that are sent at once
_BATCH_BYTES = 2**26
# largest number of blocks of rows of a launch, by the limits of CUDA
_MOST_BLOCKS = 65_535
# rows that a block of threads counts: a GPU needs many such blocks, while `cells.BLOCK_ROWS` is large for few passes
_ROWS_OF_THREADS = 65_536
# threads that share these rows
_THREADS = 512
# largest number of tables of a narrow family in shared memory
_MOST_TABLES = 16


def usable_cuda() -> Any:
    """Return the module `numba.cuda`.

    Raises
    ------
    GomeaBnError
        If numba-cuda is not installed, or there is no GPU that can be used.
    """
    needs_extra = GomeaBnError([Option("device", "gpu"), ' needs numba-cuda: pip install "gomea-bn[gpu]".'])
    try:
        cuda = import_module("numba.cuda")
    except ImportError:
        raise needs_extra from None
    if not cuda.is_available():
        # numba alone has parts of it, which need an installed CUDA
        if find_spec("numba_cuda") is None:
            raise needs_extra
        error = cuda.cuda_error()
        reason = "." if error is None else f": {first_line(error)}"
        raise GomeaBnError(
            [Option("device", "gpu"), f" needs an NVIDIA GPU and its driver, and none can be used{reason}"]
        )
    return cuda


@dataclass(frozen=True)
class _Batch:
    """Blocks of rows on the GPU; the attributes are arguments of `add_family_counts`."""

    cells: Any
    block_starts: Any
    block_rows: Any
    n_blocks: int


class GpuCounter:
    """Counts on an NVIDIA GPU; threads of this process read and code the rows.

    The GPU keeps the cells of as many pieces as fit into its memory. Those of all others are sent to it in every pass.

    Parameters
    ----------
    local : LocalCounter
        Reads and codes the rows, and keeps all cells in memory or files.
    most_bytes : float, optional
        Largest number of bytes of cells that stay on the GPU; by default a share of its free memory.
    batch_bytes : int
        Largest number of bytes that are sent at once; the rows of a single block of threads may take more.
    n_threads : int
        Number of threads of a block, which share `rows_of_threads` rows.
    rows_of_threads : int
        Largest number of rows that a block of threads counts.

    Raises
    ------
    GomeaBnError
        See `usable_cuda`.
    """

    def __init__(
        self,
        local: LocalCounter,
        *,
        most_bytes: float | None = None,
        batch_bytes: int = _BATCH_BYTES,
        n_threads: int = _THREADS,
        rows_of_threads: int = _ROWS_OF_THREADS,
    ) -> None:
        self._cuda = usable_cuda()
        self._local = local
        with _clear_errors():
            free = self._cuda.current_context().get_memory_info().free
        self._most_bytes = _SHARE_OF_CELLS * free if most_bytes is None else most_bytes
        self._batch_bytes = batch_bytes
        self._n_threads = n_threads
        self._rows_of_threads = rows_of_threads
        self._resident: list[_Batch] = []
        self._streamed: list[CodedPiece] = []

    def sizes(self) -> list[int]:
        """Return the number of rows of every piece."""
        return self._local.sizes()

    def survey(self, positions: Sequence[NDArray[np.int64]]) -> list[Sampled]:
        """Return the sampled rows of every piece; see `FamilyCounter`."""
        return self._local.survey(positions)

    def code(self, coding: Coding) -> Coded:
        """Read all rows, and send to the GPU the cells that fit; see `FamilyCounter`."""
        self._resident, self._streamed = [], []
        coded = self._local.code(coding)
        resident: list[CodedPiece] = []
        n_bytes = 0
        for piece in self._local.coded_pieces:
            is_resident = n_bytes + piece.n_bytes <= self._most_bytes
            (resident if is_resident else self._streamed).append(piece)
            n_bytes += piece.n_bytes * is_resident
        with _clear_errors():
            self._resident = list(self._sent(resident))
        return coded

    def count(self, plan: CountPlan) -> NDArray[np.int64]:
        """Return the counts of a plan over all rows; see `FamilyCounter`."""
        from gomea_bn.large.counters.cuda_kernels import add_family_counts

        totals = np.zeros(plan.n_cells, np.int64)
        n_families = len(plan.shapes)
        if not n_families:
            return totals
        arguments = _kernel_arguments(plan)
        with _clear_errors(), warnings.catch_warnings():
            # few rows and families cannot fill a GPU
            warnings.filterwarnings("ignore", message="Grid size")
            on_gpu = [self._cuda.to_device(array) for array in (*arguments, totals)]
            for batch in chain(self._resident, self._sent(self._streamed)):
                add_family_counts[(n_families, batch.n_blocks), self._n_threads](
                    batch.cells, batch.block_starts, batch.block_rows, *on_gpu
                )
            return np.asarray(on_gpu[-1].copy_to_host(), np.int64)

    def total(self, of_piece: OfPiece) -> NDArray[np.int64]:
        """Return the sum of an array over the cells of all pieces, computed by threads; see `FamilyCounter`."""
        return self._local.total(of_piece)

    def _sent(self, pieces: Sequence[CodedPiece]) -> Iterator[_Batch]:
        """Send the cells of pieces to the GPU, a batch of blocks of `rows_of_threads` rows at a time."""
        total = sum(piece.n_bytes for piece in pieces)
        if not total:
            return
        n_bytes = min(total, max(self._batch_bytes, self._rows_of_threads * pieces[0].n_columns))
        # memory that is never paged out is sent several times as fast
        space = self._cuda.pinned_array(n_bytes, np.uint8)
        starts: list[int] = []
        rows: list[int] = []
        end = 0
        for piece in pieces:
            for block in self._of_threads(piece):
                if end + block.size > n_bytes or len(starts) == _MOST_BLOCKS:
                    yield self._batch(space[:end], starts, rows)
                    starts, rows, end = [], [], 0
                space[end : end + block.size] = block.ravel()
                starts.append(end)
                rows.append(block.shape[1])
                end += block.size
        if starts:
            yield self._batch(space[:end], starts, rows)

    def _of_threads(self, piece: CodedPiece) -> Iterator[NDArray[np.uint8]]:
        """Give the cells of a piece, uint8 (n_columns, n_rows), in blocks of at most `rows_of_threads` rows."""
        for block in piece.blocks():
            for first in range(0, block.shape[1], self._rows_of_threads):
                yield block[:, first : first + self._rows_of_threads]

    def _batch(self, cells: NDArray[np.uint8], starts: Sequence[int], rows: Sequence[int]) -> _Batch:
        """Return a copy of some blocks on the GPU; `cells` can be filled again afterwards."""
        return _Batch(
            self._cuda.to_device(cells),
            self._cuda.to_device(np.array(starts, np.int64)),
            self._cuda.to_device(np.array(rows, np.int64)),
            len(rows),
        )


def _kernel_arguments(plan: CountPlan) -> tuple[NDArray[Any], ...]:
    """Return the arguments of `add_family_counts` that tell of the families, from `columns` to `n_tables`.

    Views of a single code are left out, since they change no place in a table.

    Raises
    ------
    GomeaBnError
        For a family of more than `MOST_MEMBERS` other views.
    """
    from gomea_bn.large.counters.cuda_kernels import MOST_MEMBERS, MOST_SHARED_CELLS

    varies = plan.cardinality[plan.members] > 1
    starts = np.concatenate(([0], np.cumsum(varies)))[plan.starts].astype(np.int64)
    most = int(np.diff(starts).max())
    if most > MOST_MEMBERS:
        raise GomeaBnError(
            f"A GPU counts families of at most {MOST_MEMBERS} columns, got one of {most}.",
            [Setting("device", "cpu")],
        )
    n_tables = np.minimum(MOST_SHARED_CELLS // np.diff(plan.first_cell), _MOST_TABLES)
    return (
        plan.columns,
        plan.lookups,
        plan.cardinality,
        plan.members[varies],
        starts,
        plan.first_cell,
        n_tables,
    )


@contextmanager
def _clear_errors() -> Iterator[None]:
    """Turn errors of the GPU, such as too little memory or a kernel that does not compile, into `GomeaBnError`."""
    try:
        yield
    except (GomeaBnError, OSError):
        # files of cells have nothing to do with the GPU
        raise
    except Exception as error:
        # driver, compiler and linker are libraries whose errors have no class in common
        raise GomeaBnError(
            f"Counting on the GPU has failed: {first_line(error)}", [Setting("device", "cpu")]
        ) from error
