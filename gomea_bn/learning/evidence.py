"""The rows that a search learns from, and those that its network counts in the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.content_order import counted_rows
from gomea_bn.data.groups import record_of_groups
from gomea_bn.data.table import Table
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.runtime.interrupts import delayed_interrupts
from gomea_bn.runtime.phases import COMPARISON, begin_phase

SECONDS_OF_COUNT = 2e-5
"""Seconds that a count of all rows after the search takes for a value."""


@dataclass(frozen=True, eq=False)
class RowEvidence:
    """The rows of a table that a search learns from, and those that its network counts in the end.

    Both are the same in most tables. A search leaves out copies of rows, rows of the same group, and repeats rows by
    their weights. Its network counts every row of the table, by its weight.

    Attributes
    ----------
    given : Table
        The table, whose `all_rows` are the rows with their weights if these or groups decide how rows count.
    searched : Table
        Rows of the table that a search learns from.
    """

    given: Table
    searched: Table

    @classmethod
    def of(cls, table: Table, *, without_copies: bool = False) -> Self:
        """Return the evidence of a table, from which a search may leave out copies of rows."""
        positions = counted_rows(table) if without_copies else None
        return cls(table, table if positions is None else table.take(positions))

    @property
    def has_copies(self) -> bool:
        """Whether the table has copies of rows that the search leaves out."""
        return self.searched is not self.given

    @property
    def n_counted(self) -> int:
        """Number of rows that the network counts after the search; 0 if these are the rows searched."""
        if self.given.all_rows is not None:
            return self.given.all_rows.table.n_rows
        return self.given.n_rows if self.has_copies else 0

    @property
    def final(self) -> tuple[Table, NDArray[np.float64] | None, int | None]:
        """Rows that the network counts in the end, their weights, and the number of rows that they are evidence like.

        Rows without weights, float64 (n_rows,), count alike. Without a number it is that of the weights.
        """
        given = self.given
        if given.all_rows is not None:
            n_evidence = None if given.groups is None else given.n_rows
            return given.all_rows.table, given.all_rows.weights, n_evidence
        return given, None, self.searched.n_rows if self.has_copies else None

    def network(self, network: DiscretizedBayesNet) -> DiscretizedBayesNet:
        """Return the network of a search with every row counted, and with a record of how rows count."""
        given = self.given
        record: dict[str, Any] = {}
        if given.groups is not None:
            record["groups"] = record_of_groups(given)
        if given.censoring is not None:
            record["censoring"] = given.censoring._asdict()
        with delayed_interrupts():
            if self.has_copies:
                from gomea_bn.network.updates import with_copies

                n_evidence = self.searched.n_rows
                begin_phase("Counting all rows", COMPARISON)
                network = with_copies(network, given)
                copies = {"rows": given.n_rows, "evidence": n_evidence}
                record |= {"n_rows": given.n_rows, "copies": copies}
            elif (final := given.all_rows) is not None:
                if given.groups is None:
                    sizes = {"rows": final.table.n_rows, "searched": network.metadata["n_rows"]}
                    record["weights"] = {**sizes, "sum": float(final.weights.sum())}
                from gomea_bn.network.updates import network_of_all_rows

                network = network_of_all_rows(network, final.table, final.weights)
        return network.with_metadata(**record) if record else network
