"""The elitist archive of a search for several objectives, with an adaptive grid that bounds its size."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, is_integer
from gomea_bn.operators.kernels.archive import (
    ADDITIONS,
    BLOCK_SIZE,
    BLOCKS,
    MEMBERS,
    REFUSED_FULL,
    Archive,
    merge,
    offer_rows,
    refill,
)

__all__ = ["ElitistArchive", "new_archive"]

# the grid goes on above, and off below, these shares of the wanted size
_TOO_MANY, _TOO_FEW = 1.25, 0.75
_FINEST = 2**25


def new_archive(capacity: int, n_variables: int, n_objectives: int) -> Archive:
    """Return an empty archive for at most `capacity` members."""
    slots = 1 << int(2 * capacity).bit_length()
    n_blocks = max(8, capacity // 4)
    return Archive(
        np.zeros(4, np.int64),
        np.zeros((capacity, n_variables), np.int16),
        np.zeros((capacity, n_objectives)),
        np.zeros(capacity, np.uint64),
        np.zeros(capacity, np.uint64),
        np.full(slots, -1, np.int32),
        np.full(slots, -1, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros(capacity, np.int32),
        np.zeros((n_blocks, BLOCK_SIZE), np.int32),
        np.zeros(n_blocks, np.int32),
        np.zeros((n_blocks, n_objectives)),
        np.zeros((n_blocks, n_objectives)),
        np.zeros(n_objectives),
        np.zeros(n_objectives, np.int64),
    )


class ElitistArchive:
    """Keeps the nondominated among all solutions that it is offered; everything is minimised.

    Parameters
    ----------
    n_variables, n_objectives : int
    size : int
        Wanted number of members. Above 1.25 times as many a grid goes on, of boxes with one member each, so wide that
        about 0.75 to 1 times as many remain; it goes off below 0.75 times as many (Luong et al. 2014). The member with
        the least value of an objective always stays.

    Notes
    -----
    Objectives are compared after rounding to 41 bits (about 12 digits), so that two sums of the same terms are equal;
    there is no absolute tolerance. A genotype that is a member already is recognised by its 64-bit key. In a box that
    is taken, the newcomer replaces the member if it lies farther, in Hamming distance, from the other members of the
    same block (at most 64 members that lie close in objective space; the published code compares with all).

    A solution is compared with the members of those blocks only whose bounding box allows dominance.
    """

    def __init__(self, n_variables: int, n_objectives: int, size: int = 10_000) -> None:
        for name, value in (("n_objectives", n_objectives), ("size", size)):
            if not is_integer(value) or value < 1:
                raise GomeaBnError(f"{name} must be an integer of at least 1, got {value!r}.")
        self.size = int(size)
        self.data = new_archive(min(256, 2 * self.size + 2), n_variables, n_objectives)
        self._work = np.zeros(n_objectives)

    def __len__(self) -> int:
        return int(self.data.counts[MEMBERS])

    @property
    def additions(self) -> int:
        """How many solutions were added so far, those included that were dominated later."""
        return int(self.data.counts[ADDITIONS])

    @property
    def refused(self) -> int:
        """How many new solutions found no room between two calls of `reserve`."""
        return int(self.data.counts[REFUSED_FULL])

    @property
    def genotypes(self) -> NDArray[np.int16]:
        """Genotypes of the members, shape (len, n_variables); a view."""
        return self.data.genotypes[: len(self)]

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Objectives of the members, shape (len, n_objectives); a view."""
        return self.data.objectives[: len(self)]

    def offer(self, genotypes: ArrayLike, objectives: ArrayLike) -> int:
        """Offer feasible solutions in order; returns how many were added.

        Parameters
        ----------
        genotypes : array_like of int, shape (k, n_variables)
        objectives : array_like of float, shape (k, n_objectives)
        """
        genes = np.ascontiguousarray(genotypes, dtype=np.int16)
        values = np.ascontiguousarray(objectives, dtype=np.float64)
        if np.isnan(values).any():
            raise GomeaBnError("An archive cannot compare objectives that are nan.")
        self.reserve(len(genes))
        return offer_rows(self.data, genes, values, self._work)

    def take(self, found: Archive) -> int:
        """Offer the members of another archive in order; returns how many were added."""
        self.reserve(int(found.counts[MEMBERS]))
        return merge(self.data, found, self._work)

    def reserve(self, n_more: int) -> None:
        """Make room for `n_more` further members."""
        wanted = len(self) + n_more
        if wanted > len(self.data.keys):
            self._refill(np.arange(len(self)), max(wanted, 2 * len(self.data.keys)))

    def adapt(self) -> None:
        """Widen the grid if there are too many members, drop it if there are too few."""
        n = len(self)
        if n < _TOO_FEW * self.size and self.data.widths.any():
            self.data.widths[:] = 0.0
            self._refill(np.arange(n), len(self.data.keys))
        if n <= _TOO_MANY * self.size:
            return
        values = self.objectives
        ranges = np.ptp(values, axis=0)
        # the extreme members come first, so that each keeps its box
        first = np.unique(self.data.best)
        order = np.concatenate((first, np.setdiff1d(np.arange(n), first)))
        coarse, fine = 1, _FINEST
        kept, widths = order, ranges
        for _ in range(_FINEST.bit_length()):
            parts = (coarse + fine) // 2
            trial_widths = ranges / parts
            with np.errstate(divide="ignore", invalid="ignore"):
                cells = np.where(trial_widths > 0, np.floor(values[order] / trial_widths), 0.0)
            trial = np.unique(cells, axis=0, return_index=True)[1]
            if len(trial) <= _TOO_FEW * self.size:
                coarse = parts
            else:
                fine = parts
            if len(trial) <= self.size:
                kept, widths = order[np.sort(trial)], trial_widths
        kept = np.concatenate((first, kept[~np.isin(kept, first)]))
        self.data.widths[:] = widths
        self._refill(kept, len(self.data.keys))

    def _refill(self, members: NDArray[np.int64], capacity: int) -> None:
        former = self.data
        self.data = new_archive(capacity, former.genotypes.shape[1], former.objectives.shape[1])
        self.data.widths[:] = former.widths
        refill(self.data, former, members, self._work)
        self.data.counts[ADDITIONS:] = former.counts[ADDITIONS:]

    @property
    def n_blocks(self) -> int:
        """Number of blocks that the members are in."""
        return int(self.data.counts[BLOCKS])
