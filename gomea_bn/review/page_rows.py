"""Numbers of rows that a page sets next to its answers: pairs and triples of columns, over the bins of its tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.matched_rows import LEAST_ROWS, RowSource, TableRows, counted_sets, limit_of_chance
from gomea_bn.network.rows import rows_for


def rows_of_front(
    networks: Sequence[DiscretizedBayesNet], table: Table | None, landmarks: Collection[int]
) -> list[dict[str, Any] | None] | None:
    """Return what `page_rows` returns for the networks of a page; None if the rows are not known.

    Bins differ from network to network. Of more than a few networks those at the positions `landmarks` have rows alone,
    so that the page stays small.
    """
    if table is None:
        return None
    # rows of a longer front are counted for networks with a button alone
    counted = range(len(networks)) if len(networks) <= 8 else landmarks
    # numbers that all of them have
    most = 2**16 // max(len(counted), 1)
    return [
        page_rows(network, network, table, most) if position in counted else None
        for position, network in enumerate(networks)
    ]


def page_rows(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, table: Table | None, most: int | None = None
) -> dict[str, Any] | None:
    """Return numbers of rows by the bins of the tables of a page; None if the rows are not known.

    They are those that the network knows, or else those of the table. "counts" has for every set of columns, as a text
    such as "0,3,5", the weights of rows, of which the last column varies fastest. A row of weight 1 is "evidence" like
    so many rows; fewer than "least" are not compared, nor those of columns with "gaps", by their positions. "limits"
    are the standard errors that chance exceeds in none of 1, 2, 4, ... figures. All sets together have at most as many
    numbers as `most` says, if it is given.
    """
    source: RowSource | None = network.row_source
    if source is None and table is not None:
        source = TableRows(network, rows_for(network, table), is_own=True)
    if source is None:
        return None
    names = network.names
    firsts = [_first_bins(network, tables, name) for name in names]
    counts: dict[str, list[float] | list[int]] = {}
    cards = [network.cardinality(name) for name in names]
    for members in counted_sets(network.adjacency_matrix, cards, source.n_rows, most):
        crossed = source.crossed([names[v] for v in members])
        of_members = [first for v in members if (first := firsts[v]) is not None]
        if crossed is None or len(of_members) < len(members):
            continue
        for axis, first in enumerate(of_members):
            crossed = np.add.reduceat(crossed, first, axis)
        rounded = crossed.ravel().round(2)
        whole = bool((rounded == rounded.round()).all())
        counts[",".join(map(str, members))] = rounded.astype(np.int64).tolist() if whole else rounded.tolist()
    noise = 1.0 if source.is_own else 1.0 + source.n_rows / max(network.metadata.get("n_rows", 0), 1)
    # numbers of figures with a limit, as powers of 2
    return {
        "n": source.n_rows,
        "evidence": source.evidence_of_row / noise,
        "least": LEAST_ROWS,
        "gaps": [v for v, name in enumerate(names) if source.has_gaps([name])],
        "limits": [round(limit_of_chance(2**power), 3) for power in range(18)],
        "counts": counts,
    }


def _first_bins(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, name: str
) -> NDArray[np.int64] | None:
    """Return the first shown bin or level of each bin or level of the tables of a page; None if these cut bins."""
    if name not in network.cut_points:
        return np.arange(network.cardinality(name))
    shown, merged = network.cut_points[name], tables.cut_points[name]
    if not np.isin(merged, shown).all():
        return None
    return np.concatenate(([0], np.searchsorted(shown, merged) + 1))
