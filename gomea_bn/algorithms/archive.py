"""The elitist archive of a search for several objectives, whose size an adaptive grid limits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.errors import GomeaBnError, check_integer
from gomea_bn.operators.archive import (
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
from gomea_bn.runtime.checkpoints import filled

# shares of the wanted size above which the grid is switched on, and below which it is switched off
_TOO_MANY, _TOO_FEW = 1.25, 0.75
# largest number of boxes along one objective
_FINEST = 2**25


def new_archive(
    capacity: int, n_variables: int, n_objectives: int, dtype: type[np.generic] = np.int16
) -> Archive:
    """Return an empty archive for at most `capacity` members, whose genes are integers of a type."""
    slots = 1 << int(2 * capacity).bit_length()
    n_blocks = max(8, capacity // 4)
    return Archive(
        counts=np.zeros(4, np.int64),
        genotypes=np.zeros((capacity, n_variables), dtype),
        objectives=np.zeros((capacity, n_objectives)),
        keys=np.zeros(capacity, np.uint64),
        boxes=np.zeros(capacity, np.uint64),
        by_key=np.full(slots, -1, np.int32),
        by_box=np.full(slots, -1, np.int32),
        block_of=np.zeros(capacity, np.int32),
        position=np.zeros(capacity, np.int32),
        blocks=np.zeros((n_blocks, BLOCK_SIZE), np.int32),
        sizes=np.zeros(n_blocks, np.int32),
        low=np.zeros((n_blocks, n_objectives)),
        high=np.zeros((n_blocks, n_objectives)),
        widths=np.zeros(n_objectives),
        best=np.zeros(n_objectives, np.int64),
    )


class ElitistArchive:
    """The nondominated solutions among all offered ones; all objectives are minimised.

    Parameters
    ----------
    n_variables, n_objectives : int
        Numbers of variables and of objectives.
    size : int
        Wanted number of members. A grid with at most one member per box is switched on above 1.25 times this number
        and switched off below 0.75 times this number (Luong et al. 2014). Its boxes are so wide that about 0.75 to 1
        times this number of members remain. The member with the least value of an objective always stays.
    dtype : {numpy.int16, numpy.float64}
        Type of the variables: discrete, or real and mixed.

    Raises
    ------
    GomeaBnError
        For numbers below 1, and another type.

    Notes
    -----
    Objectives are compared after rounding to 41 bits (about 12 digits), so that two sums of the same terms are equal;
    there is no absolute tolerance. Genotypes are compared by 64-bit keys. In an occupied box a new solution replaces
    the member if its Hamming distance from the other members of the same block is larger. A block holds at most 64
    members that are close in objective space; the published code compares with all members.

    A solution is compared only with the members of blocks whose bounding box allows dominance.

    Examples
    --------
    >>> from gomea_bn import ElitistArchive
    >>> archive = ElitistArchive(n_variables=2, n_objectives=2)
    >>> archive.offer([[0, 0], [0, 1], [1, 1]], [[1.0, 3.0], [2.0, 2.0], [3.0, 3.0]])
    2
    >>> archive.objectives.tolist()
    [[1.0, 3.0], [2.0, 2.0]]
    """

    def __init__(
        self, n_variables: int, n_objectives: int, size: int = 10_000, dtype: type[np.generic] = np.int16
    ) -> None:
        check_integer("n_objectives", n_objectives, 1)
        check_integer("size", size, 1)
        if dtype not in (np.int16, np.float64):
            raise GomeaBnError(f"dtype must be numpy.int16 or numpy.float64, got {dtype!r:.80}.")
        self.size, self.dtype = int(size), dtype
        # kernels compare real numbers by their bits
        self._stored: type[np.generic] = np.int16 if dtype == np.int16 else np.int64
        self.data = self._empty(min(256, 2 * self.size + 2), n_variables, n_objectives)
        self._work = np.zeros(n_objectives)

    def __len__(self) -> int:
        return int(self.data.counts[MEMBERS])

    @property
    def additions(self) -> int:
        """Number of solutions added so far, including those that were dominated later."""
        return int(self.data.counts[ADDITIONS])

    @property
    def refused(self) -> int:
        """Number of new solutions for which there was no room between two calls of `reserve`."""
        return int(self.data.counts[REFUSED_FULL])

    @property
    def genotypes(self) -> NDArray[Any]:
        """Genotypes of the members, shape (len, n_variables); a view."""
        return self.data.genotypes[: len(self)].view(self.dtype)

    @property
    def objectives(self) -> NDArray[np.float64]:
        """Objectives of the members, shape (len, n_objectives); a view."""
        return self.data.objectives[: len(self)]

    def offer(self, genotypes: ArrayLike, objectives: ArrayLike) -> int:
        """Offer feasible solutions in order; returns the number of added ones.

        Parameters
        ----------
        genotypes : array_like of shape (k, n_variables)
        objectives : array_like of float, shape (k, n_objectives)

        Raises
        ------
        GomeaBnError
            If an objective is NaN.
        """
        genes: Any = np.array(genotypes, self.dtype, order="C")
        # -0 becomes 0
        genes += 0
        values = np.ascontiguousarray(objectives, dtype=np.float64)
        if np.isnan(values).any():
            row = int(np.isnan(values).any(axis=1).argmax())
            raise GomeaBnError(f"objectives: row {row} has a NaN, which cannot be compared.")
        self.reserve(len(genes))
        return offer_rows(self.data, genes.view(self._stored), values, self._work)

    def take(self, other: Archive) -> int:
        """Offer the members of another archive in order; returns the number of added ones."""
        self.reserve(int(other.counts[MEMBERS]))
        return merge(self.data, other, self._work)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Take in the arrays of `data` of another archive, by name; raises `ValueError` if they do not fit."""
        former = self.data
        capacity = len(saved["keys"])
        shape = former.genotypes.shape[1], former.objectives.shape[1]
        self.data = filled(self._empty(capacity, *shape), saved)

    def _empty(self, capacity: int, n_variables: int, n_objectives: int) -> Archive:
        return new_archive(capacity, n_variables, n_objectives, self._stored)

    def reserve(self, n_more: int) -> None:
        """Make room for `n_more` further members."""
        n_members = len(self) + n_more
        if n_members > len(self.data.keys):
            self._refill(np.arange(len(self)), max(n_members, 2 * len(self.data.keys)))

    def adapt(self) -> None:
        """Widen the grid if there are too many members, switch it off if there are too few."""
        n = len(self)
        if n < _TOO_FEW * self.size and self.data.widths.any():
            self.data.widths[:] = 0.0
            self._refill(np.arange(n), len(self.data.keys))
        if n <= _TOO_MANY * self.size:
            return
        values = self.objectives
        ranges = np.ptp(values, axis=0)
        # extreme members come first, so that each keeps its box
        first = np.unique(self.data.best)
        order = np.concatenate((first, np.setdiff1d(np.arange(n), first)))
        coarse, fine = 1, _FINEST
        remaining, widths = order, ranges
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
                remaining, widths = order[np.sort(trial)], trial_widths
        remaining = np.concatenate((first, remaining[~np.isin(remaining, first)]))
        self.data.widths[:] = widths
        self._refill(remaining, len(self.data.keys))

    def _refill(self, members: NDArray[np.int64], capacity: int) -> None:
        former = self.data
        self.data = self._empty(capacity, former.genotypes.shape[1], former.objectives.shape[1])
        self.data.widths[:] = former.widths
        refill(self.data, former, members, self._work)
        self.data.counts[ADDITIONS:] = former.counts[ADDITIONS:]

    @property
    def n_blocks(self) -> int:
        """Number of blocks of members."""
        return int(self.data.counts[BLOCKS])
