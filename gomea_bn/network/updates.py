"""Networks that take further rows: the sums that tables, shapes and lines are made of grow, graph and cuts stay."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.columns import EMPTY_LEVEL
from gomea_bn.data.content_order import FIXED_SEED, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.data.weights import checked_weights
from gomea_bn.errors import GomeaBnError, Option, check_number, give_warning, wrong_option
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import Conditionals, table_over_rows
from gomea_bn.network.conditionals.family_table import FamilyTable, TableSet
from gomea_bn.network.conditionals.kind import ColumnFacts, Family, FurtherRows, Stack
from gomea_bn.network.conditionals.scales import Columns
from gomea_bn.network.recorded import OF_ROWS, counted_parents, parents_by_gain
from gomea_bn.network.rows import drawn_values, rows_for
from gomea_bn.network.shown_tables import ROWS_OF_TABLES
from gomea_bn.network.tables import (
    MOST_COMPUTED_CELLS,
    PseudoCount,
    family_counts,
    smoothing_of,
    table_of_counts,
)
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.runtime.threads import one_blas_thread
from gomea_bn.texts import counted

_SHARES = np.linspace(0.02, 0.98, 49)
# sum of weights to which float64 can still add a row
_MOST_WEIGHT = 1e15
# a piece never loses all of its probability
_LEAST_FACTOR = 1e-12


def updated_network(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    weight: ArrayLike = 1.0,
    forget: float | None = None,
    unknown: str = "missing",
) -> DiscretizedBayesNet:
    """Return the network with further rows; `DiscretizedBayesNet.update` describes it."""
    is_same = np.ndim(weight) == 0
    if is_same:
        check_number("weight", weight, 0, above=True)
    check_number("forget", forget, 0, above=True, optional=True)
    _check_sums(network)
    rows = rows_for(network, data, unknown=unknown)
    n = rows.n_rows
    weights = checked_weights(np.full(n, weight) if is_same else weight, n, "weight")
    # no sum that overflows
    if (weights / _MOST_WEIGHT).sum() > 1:
        largest = f"{counted(n, 'row')} of up to {weights.max():g}"
        raise wrong_option("weight", f"must sum to at most {_MOST_WEIGHT:g} over all rows, got {largest}.")
    # the level of an empty column is no value
    observed = [~column.is_missing for column in rows.columns if column.levels != (EMPTY_LEVEL,)]
    has_values = np.logical_or.reduce(observed)
    if n_empty := n - int(has_values.sum()):
        give_warning(
            f"{counted(n_empty, 'row')} of {n:,} {'has' if n_empty == 1 else 'have'} no values, and do not count."
        )
        if n_empty == n:
            return network
        rows, weights = rows.take(np.flatnonzero(has_values)), weights[has_values]
    update = _Update(network, rows, weights, np.inf if forget is None else forget)
    n_left = min(update.n_rows().values())
    # number of rows below which sums underflow
    if forget is not None and n_left < 1e-300:
        raise GomeaBnError(
            [
                Option("forget"),
                f" must leave rows to learn from: after {forget:g} rows a row counts half, and former and new rows "
                f"together count as {n_left:.3g}.",
            ],
            ["raise forget", "give the last rows more weight"],
        )
    with one_blas_thread():
        return update.network()


def network_of_all_rows(
    network: DiscretizedBayesNet, table: Table, weights: NDArray[np.float64]
) -> DiscretizedBayesNet:
    """Return the network of a search on some rows with all rows counted by their weights, (n_rows,), in their place.

    What was learned of single rows stays: effects, mixtures, and the coefficients of logits and counts, which had the
    priors that the score integrates, with the scales that they are on; losses of left-out rows, and the probabilities
    of cuts. Constants of logits and counts follow the frequencies and the mean of all rows.
    """
    of_all = _Update(network, table.in_order(network.names), weights, None).network()
    if (known := network.conditionals) is not None and (of_rows := of_all.conditionals) is not None:
        kept = ("log_losses", "cut_probabilities", "cut_intervals")
        of_all = of_all.changed(conditionals=of_rows.changed(**{name: getattr(known, name) for name in kept}))
    return of_all.changed(metadata=network.metadata)


def with_copies(network: DiscretizedBayesNet, table: Table) -> DiscretizedBayesNet:
    """Return the network of a search on the rows of a table without copies, in which all rows count once.

    Effects, mixtures and logits that do not follow the copies get less weight against tables, which do: as little as
    makes the distribution of their column, given the parents of every row, differ by at most .03 from that of the rows.
    A column without tables takes those over its shown bins, unless it follows the copies without them.
    """
    # draws of a row must not depend on where it stands
    table = in_row_order(table)
    counted = network_of_all_rows(network, table, np.ones(table.n_rows))
    known = counted.conditionals
    smooth = {} if known is None else {name: stack for name, stack in known.stacks.items() if stack.smooth}
    if known is None or not smooth:
        return counted
    from gomea_bn.network.inference.completion import completed_table

    # every row about as often
    rows = np.resize(np.arange(table.n_rows), max(table.n_rows, ROWS_OF_TABLES))
    complete = completed_table(counted, table.in_order(network.names), np.random.default_rng(FIXED_SEED))
    values = {column.name: column.values[rows] for column in complete.columns}
    most = {name: stack.smooth_weight for name, stack in smooth.items()}
    if alone := [name for name, weight in most.items() if weight == 1]:
        tables = counted_tables(counted, complete)
        for name in alone:
            members = ((0.5 * weight, fitted) for weight, fitted in smooth[name].members)
            smooth[name] = Stack(((0.5, FamilyTable((tables.of_column(name),))), *members))
    by_tables, by_lines = (
        {
            name: Family(name, stack.with_smooth_weight(weight), counted.families[name].facts)
            for name, stack in smooth.items()
        }
        for weight in (_LEAST_FACTOR, 1 - _LEAST_FACTOR)
    )
    stacks = dict(known.stacks)
    for name, stack in smooth.items():
        points = np.quantile(values[name], _SHARES, method="inverted_cdf")
        below = [
            np.searchsorted(np.sort(drawn), points, side="right") / len(rows)
            for drawn in (
                values[name],
                *(
                    of[name].draw(Columns(values), len(rows), np.random.default_rng(FIXED_SEED))
                    for of in (by_tables, by_lines)
                ),
            )
        ]
        weights = np.linspace(0.0, most[name], 101)
        differences = np.abs(below[1] - below[0] + weights[:, None] * (below[2] - below[1])).max(axis=1)
        # by how much the distribution of a column with a line may differ from that of rows with copies
        is_near = differences <= max(0.03, differences.min() + 0.01)
        stacks[name] = stack.with_smooth_weight(float(weights[is_near][-1]))
    return counted.changed(conditionals=known.changed(stacks=stacks))


def counted_tables(network: DiscretizedBayesNet, rows: Table) -> TableSet:
    """Return tables over the shown bins that are counted from complete rows, by the parents that tables need.

    Of parents whose table would be too large to be counted, those that gain most have one, as many as fit.
    """
    names, cuts = network.names, network.cut_points
    position = {name: v for v, name in enumerate(names)}
    parents = dict(zip(names, counted_parents(network), strict=True))
    by_gain = parents_by_gain(network)
    for name, of_name in parents.items():
        n_cells = network.cardinality(name)
        if n_cells * prod(map(network.cardinality, of_name)) <= MOST_COMPUTED_CELLS:
            continue
        fitting = set()
        for parent in dict.fromkeys([*(parent for parent, _ in by_gain[name]), *of_name]):
            if parent in of_name and n_cells * network.cardinality(parent) <= MOST_COMPUTED_CELLS:
                n_cells *= network.cardinality(parent)
                fitting.add(parent)
        parents[name] = tuple(parent for parent in of_name if parent in fitting)
    codes = [
        bin_codes(column.values, cuts[column.name]) if column.is_continuous else column.values
        for column in rows.columns
    ]
    cards = [network.cardinality(name) for name in names]
    counts = {
        name: family_counts(codes, [position[p] for p in parents[name]], v, cards, name)
        for v, name in enumerate(names)
    }
    tables = {
        name: table_of_counts(of_name, _smoothing(network, (name, *parents[name])))
        for name, of_name in counts.items()
    }
    return TableSet(dict(cuts), parents, tables, counts)


def _smoothing(network: DiscretizedBayesNet, members: tuple[str, ...]) -> PseudoCount:
    """Return the smoothing of a table of some columns of a network."""
    return smoothing_of(network.pseudo_count, network.metadata, network.levels, members)


class _Update:
    """A network, and rows of its variables with weights (n_rows,) that its sums take.

    Missing cells are drawn given the others of their row. A row counts for the family of a column if it has a value of
    the column, or of one that depends on it: no other rows say anything about the family.

    After `forget` rows that count for a family, a row counts half in it. None forgets all former rows.
    """

    def __init__(
        self, network: DiscretizedBayesNet, rows: Table, weights: NDArray[np.float64], forget: float | None
    ) -> None:
        from gomea_bn.network.inference.completion import completed_table

        self._network, self._is_in_place = network, forget is None
        self._complete = completed_table(network, rows, np.random.default_rng(FIXED_SEED))
        self._values = {column.name: column.values for column in self._complete.columns}
        self._columns = Columns(self._values)
        self._former = {name: _n_rows_of(network, name) for name in network.names}
        observed = {column.name: ~column.is_missing for column in rows.columns}
        # rows in which the family of a column has no missing cell
        self._complete_families = {
            name: np.logical_and.reduce([observed[member] for member in (name, *network.parents(name))])
            for name in network.names
        }
        counts = {name: of_name.copy() for name, of_name in observed.items()}
        for name in reversed(network.order):
            for parent in network.parents(name):
                counts[parent] |= counts[name]
        # by column how often former rows and each of the rows count
        self._old: dict[str, float] = {}
        self._weights: dict[str, NDArray[np.float64]] = {}
        for name, is_counted in counts.items():
            n_counted = np.cumsum(is_counted)
            ages = n_counted[-1] - n_counted
            half = np.inf if forget is None else forget
            self._old[name] = 0.0 if forget is None else float(0.5 ** (n_counted[-1] / half))
            self._weights[name] = weights * is_counted * 0.5 ** (ages / half)

    def n_rows(self) -> dict[str, float]:
        """Return how many former and further rows count for the family of every column."""
        return {
            name: self._old[name] * n_former + float(self._weights[name].sum())
            for name, n_former in self._former.items()
        }

    def network(self) -> DiscretizedBayesNet:
        """Return the network with the rows; without former rows, coefficients stay."""
        network, known, former = self._network, self._network.conditionals, self._former
        parts: dict[str, Any] = {
            "shapes": self._shapes(network.shapes, former),
            "metadata": self._metadata(),
        }
        if known is None:
            shown = TableSet.of_network(network, network.counts)
            facts = network.families[network.names[0]].facts
            counted = {
                name: shown.of_column(name).with_rows(name, self._rows_of(name, facts, 0))
                for name in network.names
            }
            tables = {name: of_name.table for name, of_name in counted.items()}
            counts = {name: of_name.counts for name, of_name in counted.items()}
            return network.changed(tables=tables, **parts).changed(counts=counts)
        facts = known.facts(network)
        # what was fitted to former rows stands on their scales
        conditionals = known.changed(
            stacks={
                name: (stack.counted if self._is_in_place else stack.with_rows)(
                    name, self._rows_of(name, facts, known.n_rows)
                )
                for name, stack in known.stacks.items()
            },
            log_losses=self._log_losses(known),
            # of the former rows alone
            cut_probabilities={},
            cut_intervals={},
        )
        updated = network.changed(conditionals=conditionals, **parts)
        n_draws = int(np.clip(parts["metadata"]["n_rows"], 1_000, ROWS_OF_TABLES))
        drawn = drawn_values(updated, n_draws, np.random.default_rng(FIXED_SEED))
        cuts = network.cut_points
        return updated.changed(
            tables={name: table_over_rows(updated, name, cuts, drawn) for name in network.stored_tables}
        )

    def _shapes(self, shapes: Mapping[str, Shape], former: Mapping[str, float]) -> dict[str, Shape]:
        return {
            name: shape_with_rows(
                shape, self._values[name], self._weights[name], self._old[name] * former[name]
            )
            for name, shape in shapes.items()
        }

    def _metadata(self) -> dict[str, Any]:
        # entries of the metadata that are of the former rows
        kept = {
            key: value
            for key, value in self._network.metadata.items()
            if key not in ("score", "data_sha256", *OF_ROWS)
        }
        return {
            **kept,
            "n_rows": round(max(self.n_rows().values())),
            "updates": [*kept.get("updates", ()), self._complete.n_rows],
        }

    def _rows_of(self, name: str, facts: ColumnFacts, n_learned: int) -> FurtherRows:
        """Return the rows with their weights in the family of a column."""
        return FurtherRows(
            self._columns,
            self._weights[name],
            self._old[name],
            self._former[name],
            n_learned,
            facts,
            _smoothing(self._network, (name, *self._network.parents(name))),
            lambda: self._drawn,
        )

    @cached_property
    def _drawn(self) -> Columns:
        """Rows like the former ones."""
        # those that stand for the former rows in logits
        return Columns(drawn_values(self._network, 5_000, np.random.default_rng(FIXED_SEED)))

    def _log_losses(self, known: Conditionals) -> dict[str, tuple[float, float, float]]:
        """Return the moments of the losses with those of the rows under the network that does not know them."""
        terms = self._network.log_density_terms(self._complete.to_frame())
        losses = {}
        for name, (n_rows, mean, deviation) in known.log_losses.items():
            # drawn cells follow the network
            weights, old = self._weights[name] * self._complete_families[name], self._old[name] * n_rows
            of_rows, total = -terms[name], old + float(weights.sum())
            first = old * mean + float(weights @ of_rows)
            second = old * (deviation**2 + mean**2) + float(weights @ of_rows**2)
            if np.isfinite(second) and total > 0:
                variance = max(second / total - (first / total) ** 2, 0.0)
                losses[name] = total, first / total, float(np.sqrt(variance))
        return losses


def shape_with_rows(
    shape: Shape, values: NDArray[np.float64], weights: NDArray[np.float64], former: float
) -> Shape:
    """Return a shape whose groups of pieces and points have the probabilities of former and new rows together.

    The groups are about equally probable, and as many as the cube root of the number of rows: a single piece has too
    few rows to say what is new. Without former rows they are as many as the square root. The density keeps its form
    inside each of them. New values beyond the range belong to the groups at its ends; `former` is the number of former
    rows.
    """
    masses = np.diff(shape.edges) * (shape.left + shape.right) / (2 * (shape.high - shape.low))
    total = former + weights.sum()
    n_groups = round(np.cbrt(total) if former else np.sqrt(total))
    middles = (np.cumsum(masses) - masses / 2) / masses.sum()
    groups = (middles * n_groups).astype(np.int64)
    nearest, is_point = shape.find_points(values)
    pieces = np.clip(np.searchsorted(shape.edges, values, side="left") - 1, 0, len(masses) - 1)
    further = np.bincount(groups[pieces[~is_point]], weights[~is_point], minlength=n_groups)
    of_groups = np.bincount(groups, masses, minlength=n_groups)
    of_points = former * shape.point_masses
    of_points += np.bincount(nearest[is_point], weights[is_point], minlength=len(of_points))
    counts = former * of_groups + further
    total = counts.sum() + of_points.sum()
    least = _LEAST_FACTOR * total
    # a value that is all but forgotten stays possible
    of_points = np.maximum(of_points, least)
    factors = np.maximum(counts, least * of_groups) / np.maximum(of_groups, _LEAST_FACTOR) / total
    points = of_points / total
    between = 1 - float(points.sum())
    # so do the values between points of which no row has one
    # nor do all values between point masses
    least_between = min(float(masses.sum()), 1e-9)
    if between < least_between:
        points *= (1 - least_between) / points.sum()
        between = least_between
    of_pieces = factors[groups] * between / float(factors[groups] @ masses)
    by_value = dict(zip(shape.point_values.tolist(), points.tolist(), strict=True))
    return Shape(shape.edges, shape.left * of_pieces, shape.right * of_pieces, by_value)


def _n_rows_of(network: DiscretizedBayesNet, name: str) -> float:
    """Return how many rows a column was learned from, by what it counts or by what the network says."""
    counts, known = network.families[name].stack.value_counts, network.conditionals
    if counts is not None:
        return float(counts.sum())
    return float(network.metadata.get("n_rows", 0 if known is None else known.n_rows))


def _check_sums(network: DiscretizedBayesNet) -> None:
    """Raise `GomeaBnError` for a network that does not hold what its conditionals were made of."""
    is_known = all(family.stack.takes_rows for family in network.families.values())
    if not is_known:
        raise GomeaBnError(
            "The network does not hold the counts of the rows that it was learned from: it comes from an earlier "
            "version, a file of another program, an intervention or an expert.",
            ["learn it again, or call average_families(network, rows) with these rows"],
        )
