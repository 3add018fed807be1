"""Description length of a discretized network with its data, part by part."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gomea_bn.data.columns import Level
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, check_choice, nearest
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.column_graph import ColumnGraph
from gomea_bn.problems.cuts.blanket import CodedColumn, coded_column, joint_codes

if TYPE_CHECKING:
    import pandas as pd


CRITERIA = ("mdl", "bic", "aic")


class Criterion:
    """Costs of parameters, partitions and edges in nats.

    "mdl": (ln n)/2 per parameter, and the codes of partitions, numbers of bins and edges. "bic" and "aic": (ln n)/2 or
    1 per parameter, the `weight`, and nothing else.
    """

    def __init__(self, name: str, n_rows: int) -> None:
        check_choice("criterion", name, CRITERIA)
        self.name = name
        self.n_rows = n_rows
        self.weight = 1.0 if name == "aic" else log(n_rows) / 2
        self.codes_partitions = name == "mdl"
        x = np.arange(n_rows + 1, dtype=np.float64)
        self.x_log_x = np.zeros(n_rows + 1)
        self.x_log_x[1:] = x[1:] * np.log(x[1:])

    def partition(self, n_values: int, n_bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the code length of the choice of thresholds, (m-1) H((k-1)/(m-1)), in the shape of `n_bins`."""
        if not self.codes_partitions or n_values < 2:
            return np.zeros(len(n_bins))
        share = (n_bins - 1) / (n_values - 1)
        inside = (share > 0) & (share < 1)
        p = share[inside]
        length = np.zeros(len(n_bins))
        length[inside] = -(n_values - 1) * (p * np.log(p) + (1 - p) * np.log1p(-p))
        return length

    def cardinality(self, n_bins: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the code length of the number of bins, ln k, in the shape of `n_bins`."""
        return np.log(n_bins) if self.codes_partitions else np.zeros(len(n_bins))


@dataclass(frozen=True, slots=True)
class DescriptionLength:
    """Description length of a network, its bins and the data in nats; the fields are the parts.

    Attributes
    ----------
    partitions : float
        Choice of thresholds: sum of (m-1) H((k-1)/(m-1)) over the variables that are cut or grouped, with m distinct
        values, k bins and the binary entropy H.
    graph : float
        Numbers of bins, and parents: sum over all N variables of ln k + (1 + number of parents) ln N.
    parameters : float
        (ln n)/2 per free probability, or 1 under AIC.
    data : float
        Bins given the network: n sum H(X* | parents*).
    recovery : float
        Values given their bins: n sum H(X | X*).

    Notes
    -----
    Friedman & Goldszmidt (1996). Under BIC and AIC the first two parts are 0.
    """

    partitions: float
    graph: float
    parameters: float
    data: float
    recovery: float

    @property
    def total(self) -> float:
        """Return the sum of the parts."""
        return self.partitions + self.graph + self.parameters + self.data + self.recovery


def total_length(
    variables: Sequence[CodedColumn],
    graph: ColumnGraph,
    criterion: Criterion,
    value_counts: Mapping[int, NDArray[np.int64]] | None = None,
) -> DescriptionLength:
    """Return the description length of variables as bins or levels under a graph.

    `value_counts` has the number of rows of each distinct value of the variables that are cut or grouped.
    """
    phi = criterion.x_log_x
    n_rows, n_variables = criterion.n_rows, len(variables)
    partitions = edges = parameters = data = recovery = 0.0
    for v, (coded, parents) in enumerate(zip(variables, graph.parents)):
        rows, n_numbered, n_all = joint_codes([variables[p] for p in parents], n_rows)
        cells = np.bincount(rows.astype(np.int64) * coded.cardinality + coded.codes)
        data += float(phi[np.bincount(rows, minlength=n_numbered)].sum() - phi[cells].sum())
        parameters += criterion.weight * n_all * (coded.cardinality - 1)
        if criterion.codes_partitions:
            edges += log(coded.cardinality) + (1 + len(parents)) * log(n_variables)
        if (counts := (value_counts or {}).get(v)) is not None:
            partitions += float(criterion.partition(len(counts), np.array([coded.cardinality]))[0])
            recovery += float(phi[np.bincount(coded.codes)].sum() - phi[counts].sum())
    return DescriptionLength(partitions, edges, parameters, data, recovery)


def description_length(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    criterion: str = "mdl",
    level_groups: Mapping[str, Sequence[Sequence[Level]]] | None = None,
) -> DescriptionLength:
    """Return the description length of a table by a network's graph and bins, in nats.

    The lengths of any two networks over the same table can be compared.

    Parameters
    ----------
    network : DiscretizedBayesNet
        Graph and bins; the probabilities are the relative frequencies of the data, not those of the network.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
    criterion : {"mdl", "bic", "aic"}
        Costs other than those of the data; see `Criterion`.
    level_groups : mapping of str to sequence of sequences, optional
        Groups of adjacent levels of discrete columns, as ``MDLDiscretizer.level_groups_``.

    Raises
    ------
    GomeaBnError
        For data or groups that the network does not fit.
    """
    from gomea_bn.discretization.levels import group_cuts
    from gomea_bn.network.rows import table_for

    table = table_for(network, data)
    groups = dict(level_groups or {})
    for name in groups:
        if name not in network.levels:
            raise GomeaBnError(
                f"level_groups: unknown discrete variable {name!r}.{nearest(str(name), network.levels)}"
            )
    variables, value_counts = [], {}
    for v, column in enumerate(table.columns):
        cuts = network.cut_points.get(column.name)
        if column.levels is not None and column.name in groups:
            cuts = group_cuts(column.name, column.levels, groups[column.name])
        variables.append(coded_column(column, cuts))
        if cuts is not None:
            value_counts[v] = np.unique(column.values, return_counts=True)[1]
    graph = ColumnGraph.of(network, table.names)
    return total_length(variables, graph, Criterion(criterion, table.n_rows), value_counts)
