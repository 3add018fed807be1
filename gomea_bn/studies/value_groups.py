"""Groups of the values of a column, over which rows are counted and a network is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Column
from gomea_bn.network.matched_rows import effective_rows
from gomea_bn.network.tables import value_texts

NOT_KNOWN = "not known"
"""Label of the rows whose cell is missing."""

# groups of about equal size of a continuous column, and levels with a group of their own
_N_QUANTILES, _MOST_LEVELS = 8, 12


@dataclass(frozen=True, eq=False)
class ValueGroups:
    """Groups of the values of a column.

    Attributes
    ----------
    labels : tuple of str
        The groups in words.
    codes : ndarray of shape (n_rows,), int64
        Group of every row, -1 where its cell is missing.
    statements : tuple
        What a network is asked given each group: a level, a set of levels, a number, or a pair of ends.
    typical : tuple
        A value of each group that stands for it in one row: its most frequent level or the median of its rows.
    """

    labels: tuple[str, ...]
    codes: NDArray[np.int64]
    statements: tuple[object, ...]
    typical: tuple[object, ...]

    @property
    def all_labels(self) -> tuple[str, ...]:
        """The labels, and one for missing cells if there are any."""
        return (*self.labels, NOT_KNOWN) if (self.codes < 0).any() else self.labels

    @property
    def all_codes(self) -> NDArray[np.int64]:
        """Positions in `all_labels`, int64 (n_rows,)."""
        return np.where(self.codes < 0, len(self.labels), self.codes)


def groups_of(column: Column) -> ValueGroups:
    """Return the groups of a column: its levels or few values, or eight groups of about as many rows each.

    Of more than twelve levels the eleven most frequent ones have groups of their own.
    """
    if column.levels is not None:
        return _of_levels(column)
    observed = column.observed
    values = np.unique(observed)
    uppers = values
    if len(values) > _N_QUANTILES:
        shares = np.arange(1, _N_QUANTILES + 1) / _N_QUANTILES
        uppers = np.unique(np.quantile(observed, shares, method="inverted_cdf"))
    codes = np.where(column.is_missing, -1, np.searchsorted(uppers, column.values))
    last = np.searchsorted(values, uppers)
    lows = values[np.concatenate(([0], last[:-1] + 1))]
    texts = value_texts(column.name, np.unique(np.concatenate((lows, uppers))).tolist())
    text_of = dict(zip(np.unique(np.concatenate((lows, uppers))).tolist(), texts, strict=True))
    pairs = list(zip(lows.tolist(), uppers.tolist(), strict=True))
    labels = tuple(text_of[a] if a == b else f"{text_of[a]} to {text_of[b]}" for a, b in pairs)
    statements = tuple(a if a == b else (a, b) for a, b in pairs)
    typical = tuple(
        float(np.quantile(column.values[codes == code], 0.5, method="inverted_cdf"))
        for code in range(len(pairs))
    )
    return ValueGroups(labels, codes.astype(np.int64), statements, typical)


def _of_levels(column: Column) -> ValueGroups:
    levels = column.levels or ()
    counts = np.bincount(column.observed, minlength=len(levels))
    seen = np.flatnonzero(counts)
    if len(seen) <= _MOST_LEVELS:
        own, rest = seen, seen[:0]
    else:
        by_size = seen[np.argsort(-counts[seen], kind="stable")]
        own, rest = np.sort(by_size[: _MOST_LEVELS - 1]), by_size[_MOST_LEVELS - 1 :]
    group_of = np.full(len(levels) + 1, -1, np.int64)
    group_of[own] = np.arange(len(own))
    group_of[rest] = len(own)
    labels = [str(levels[code]) for code in own]
    typical = [levels[code] for code in own]
    statements: list[object] = [*typical]
    if len(rest):
        labels.append(f"the other {len(rest)}")
        statements.append({levels[code] for code in rest})
        # the largest first
        typical.append(levels[rest[0]])
    return ValueGroups(tuple(labels), group_of[column.values], tuple(statements), tuple(typical))


def information(
    first: NDArray[np.int64], second: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> float:
    """Return what two codings of the rows tell about each other, in bits; rows with a code below 0 are left out.

    Rows count by their weights, and are as many as these are worth. Chance alone adds about (rows - 1)(columns - 1) /
    2n nats (Miller, "Note on the bias of information estimates", 1955), which are taken off.
    """
    known = (first >= 0) & (second >= 0)
    if not known.any():
        return 0.0
    a, b = (np.unique(codes[known], return_inverse=True)[1] for codes in (first, second))
    of_rows = np.ones(len(a)) if weights is None else weights[known]
    counts = np.bincount(a * (b.max() + 1) + b, of_rows, (a.max() + 1) * (b.max() + 1)).reshape(
        a.max() + 1, -1
    )
    n = effective_rows(of_rows)
    joint = counts / counts.sum()
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    cells = joint > 0
    nats = float((joint[cells] * np.log(joint[cells] / product[cells])).sum())
    nats -= (counts.shape[0] - 1) * (counts.shape[1] - 1) / (2 * n)
    bits: float = max(nats, 0.0) / np.log(2)
    return bits
