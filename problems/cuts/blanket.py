"""Markov blankets as codes: what a search for the cuts of one column sees of the other columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Column
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.runtime.threads import in_spare_threads

R = TypeVar("R")

Cuts = dict[int, NDArray[np.float64]]
"""Inner cuts by position of the column in the table; of a column whose levels are grouped, cuts of its codes."""


@dataclass(frozen=True, slots=True)
class CodedColumn:
    """A column as bins or levels, whether or not each of the `cardinality` ones occurs."""

    codes: NDArray[np.int32] | NDArray[np.uint8]  # (n_rows,), -1 where missing; as a byte 255
    cardinality: int
    has_missing: bool = False
    is_level: bool = False  # whether it is discrete


@dataclass(frozen=True, slots=True)
class CodedFamily:
    """A child of the column that is cut, with the child's other parents.

    `place` is the position of the column among all parents. Of parents with missing values that gain equally little,
    the first is judged first.
    """

    child: CodedColumn
    spouses: tuple[CodedColumn, ...] = ()
    place: int = 0


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The coded Markov blanket of one column: its parents, and the families of its children.

    `centre` is the column itself with its present bins. They decide the order in which parents with missing values are
    judged; without them the column comes last.
    """

    parents: tuple[CodedColumn, ...] = ()
    families: tuple[CodedFamily, ...] = ()
    centre: CodedColumn | None = None

    def most_bins(self, max_table_cells: float) -> int:
        """Return the largest number of bins of the column with which no table around it exceeds the limit; may be 0."""
        tables = [self.parents, *((family.child, *family.spouses) for family in self.families)]
        return min(
            int(max_table_cells // prod(float(column.cardinality) for column in table)) for table in tables
        )


class ParentSets:
    """A directed acyclic graph over columns by position: the parents of every column."""

    parents: tuple[tuple[int, ...], ...]

    def __init__(self, parents: Iterable[Iterable[int]]) -> None:
        self.parents = tuple(map(tuple, parents))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Ascending positions of every column's children."""
        children: list[list[int]] = [[] for _ in self.parents]
        for child, parents in enumerate(self.parents):
            for parent in parents:
                children[parent].append(child)
        return tuple(map(tuple, children))

    def blanket(self, v: int) -> set[int]:
        """Return the positions of a column's Markov blanket: parents, children and the children's other parents."""
        members = {*self.parents[v], *self.children[v]}
        for child in self.children[v]:
            members.update(self.parents[child])
        return members - {v}

    def neighbourhood(self, v: int, coded: Sequence[CodedColumn]) -> Neighbourhood:
        """Return the coded Markov blanket of a column, given the codes of all columns."""
        families = tuple(
            CodedFamily(
                coded[c], tuple(coded[s] for s in self.parents[c] if s != v), self.parents[c].index(v)
            )
            for c in self.children[v]
        )
        return Neighbourhood(tuple(coded[p] for p in self.parents[v]), families)


def coded_bins(values: NDArray[np.float64], cut_points: NDArray[np.float64]) -> CodedColumn:
    """Return the bin of every value as int32 codes, -1 for NaN; a value equal to a cut goes to the lower bin."""
    codes = bin_codes(values, cut_points).astype(np.int32, copy=False)
    return CodedColumn(codes, len(cut_points) + 1, bool((codes < 0).any()))


def coded_column(column: Column, cuts: NDArray[np.float64] | None) -> CodedColumn:
    """Return a column of a table as codes under its cuts; without cuts its levels, which cuts of codes group."""
    if cuts is not None:
        return coded_bins(np.asarray(column.values, np.float64), cuts)
    return CodedColumn(column.values, len(column.levels or ()), column.n_missing > 0, is_level=True)


def coded_columns(columns: Iterable[Column], cuts: Cuts) -> list[CodedColumn]:
    """Return the columns of a table as codes under the cuts of the continuous ones."""
    return [
        coded_column(column, cuts[v] if column.is_continuous else None) for v, column in enumerate(columns)
    ]


def joint_codes(columns: Sequence[CodedColumn], n_rows: int) -> tuple[NDArray[np.int32], int, float]:
    """Return one code per row for the joint configuration of columns, the number of codes, and that of configurations.

    Where the configurations outnumber the rows by far, only those that occur are numbered.
    """
    n_configurations = float(np.prod([float(column.cardinality) for column in columns]))
    joint = np.zeros(n_rows, np.int64)
    n_numbered = 1
    for column in columns:
        joint = joint * column.cardinality + column.codes
        n_numbered *= column.cardinality
        if n_numbered > 2 * n_rows + 1024:
            distinct, joint = np.unique(joint, return_inverse=True)
            n_numbered = len(distinct)
    return joint.astype(np.int32), n_numbered, n_configurations


class DueColumns:
    """Passes over columns that are cut one at a time, each given the bins of all others.

    Every column is due at first. It is due again once the cuts of one of its `relatives` have changed, such as its
    Markov blanket, since nothing else has an influence on its best cuts; `is_also_due` names columns that are due for
    another reason when their turn comes. Iterating yields due columns in order, pass after pass, until none is due or
    `is_over`; `solved` does so with the answers of a function. With `to_unchanged` the passes end with a whole pass
    without a change, as in published methods that count it. `n_passes` counts the passes that have begun;
    `changed_in_pass` says whether the present one has changed any cuts.
    """

    def __init__(
        self,
        order: Sequence[int],
        relatives: Callable[[int], set[int]],
        max_passes: int | None = None,
        *,
        is_over: Callable[[], bool] = lambda: False,
        is_also_due: Callable[[int], bool] = lambda v: False,
        to_unchanged: bool = False,
    ) -> None:
        self.order = tuple(order)
        self.relatives = relatives
        self.max_passes = max_passes
        self.is_over = is_over
        self.is_also_due = is_also_due
        self.to_unchanged = to_unchanged
        self.n_passes = 0
        self.changed_in_pass = False
        self._due = set(self.order)

    def __iter__(self) -> Iterator[int]:
        for _ in self._passes():
            for v in self.order:
                if self.is_over():
                    return
                if self.is_due(v):
                    self._due.discard(v)
                    yield v

    def solved(self, solve: Callable[[int], R]) -> Iterator[tuple[int, R]]:
        """Give due columns in order, pass after pass, each with what `solve` returns given all changes before.

        Columns without relatives among those that are still before them are solved together, in `in_spare_threads`, and
        the results are those of one after another. A column that is due stays so until its turn.
        """
        for _ in self._passes():
            solved: dict[int, R] = {}
            for k, v in enumerate(self.order):
                if not self.is_due(v):
                    continue
                if v not in solved:
                    ready: list[int] = []
                    before: set[int] = set()
                    for w in self.order[k:]:
                        if w not in solved and self.is_due(w) and not self.relatives(w) & before:
                            ready.append(w)
                        before.add(w)
                    solved.update(zip(ready, in_spare_threads(solve, ready), strict=True))
                self._due.discard(v)
                yield v, solved.pop(v)

    def _passes(self) -> Iterator[None]:
        while self.needs_pass() and (self.max_passes is None or self.n_passes < self.max_passes):
            self.n_passes += 1
            self.changed_in_pass = False
            yield

    def note_change(self, v: int) -> None:
        """Make the relatives of a column due, whose cuts have changed."""
        self.changed_in_pass = True
        self._due |= self.relatives(v) & set(self.order)

    def is_due(self, v: int) -> bool:
        """Return whether a column is visited in this pass."""
        # asked at every turn: the reason may be that something has changed since the last one
        return self.is_also_due(v) or v in self._due

    def needs_pass(self) -> bool:
        """Return whether another pass follows."""
        return self.n_passes == 0 or self.changed_in_pass if self.to_unchanged else bool(self._due)
