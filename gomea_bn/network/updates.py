"""Networks that take further rows: the sums that tables, shapes and lines are made of grow, graph and cuts stay."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gomea_bn.data.table import Table, WeightedRows
from gomea_bn.data.weights import checked_weights
from gomea_bn.errors import GomeaBnError, check_number, wrong_option
from gomea_bn.lazy import pd
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import Conditionals, table_over_rows
from gomea_bn.network.conditionals.family import TableSet
from gomea_bn.network.conditionals.family_line import (
    FamilyLine,
    LineScale,
    LineSums,
    ProbabilityScale,
    UnitScale,
    joint_groups,
)
from gomea_bn.network.conditionals.family_logit import FamilyLogit
from gomea_bn.network.conditionals.family_mixture import FamilyMixture
from gomea_bn.network.conditionals.line_density import Columns, FollowedLine
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.rows import drawn_values, rows_for
from gomea_bn.network.tables import PseudoCount, family_counts, table_of_counts
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.texts import counted

# any fixed number: the same rows must give the same network
_SEED = 20240219
# drawn rows that stand for all rows in the tables over the shown bins
_MOST_DRAWS = 20_000
# entries of the metadata that are of the former rows
_OF_FORMER_ROWS = ("score", "data_sha256")
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
    given = rows_for(network, data, unknown=unknown)
    rows = completed_table(network, given, np.random.default_rng(_SEED))
    n = rows.n_rows
    of_rows = checked_weights(np.full(n, weight) if is_same else weight, n, "weight")
    # no sum that overflows
    if (of_rows / _MOST_WEIGHT).sum() > 1:
        largest = f"{counted(n, 'row')} of up to {of_rows.max():g}"
        raise wrong_option("weight", f"must sum to at most {_MOST_WEIGHT:g} over all rows, got {largest}.")
    ages = np.arange(n - 1, -1, -1.0)
    # a former row is as old as all new ones together
    old = 1.0 if forget is None else float(0.5 ** (n / forget))
    weights = of_rows if forget is None else of_rows * 0.5 ** (ages / forget)
    return _Update(network, rows, old, weights).network()


def weighted_network(network: DiscretizedBayesNet, given: WeightedRows) -> DiscretizedBayesNet:
    """Return the network of a search with all rows of a table counted by their weights in place of those searched.

    What was learned of single rows stays: losses of left-out rows, the probabilities of cuts, and the mixture weights.
    """
    rows = completed_table(network, given.table.in_order(network.names), np.random.default_rng(_SEED))
    counted = _Update(network, rows, 0.0, given.weights).network()
    record = {"rows": rows.n_rows, "searched": network.metadata["n_rows"], "sum": float(given.weights.sum())}
    if (known := network.conditionals) is not None and (of_rows := counted.conditionals) is not None:
        kept = ("log_losses", "cut_probabilities", "cut_intervals")
        counted = counted.changed(
            conditionals=of_rows.changed(**{name: getattr(known, name) for name in kept})
        )
    return counted.changed(metadata={**network.metadata, "weights": record})


class _Update:
    """A network, and complete rows of its variables with weights (n_rows,); the former sums count `old` times."""

    def __init__(
        self, network: DiscretizedBayesNet, rows: Table, old: float, weights: NDArray[np.float64]
    ) -> None:
        self._network, self._rows, self._old, self._weights = network, rows, old, weights
        self._values = {column.name: column.values for column in rows.columns}
        self._position = {name: v for v, name in enumerate(network.names)}
        self._smoothing: PseudoCount = "auto" if network.pseudo_count is None else network.pseudo_count

    def network(self) -> DiscretizedBayesNet:
        """Return the network with the rows."""
        network, known = self._network, self._network.conditionals
        former = {name: float(of_name.sum()) for name, of_name in _counts_of(network).items()}
        parts: dict[str, Any] = {
            "shapes": {
                name: shape_with_rows(shape, self._values[name], self._weights, self._old * former[name])
                for name, shape in network.shapes.items()
            },
            "metadata": self._metadata(max(former.values())),
        }
        if known is None:
            parents = {name: network.parents(name) for name in network.names}
            counted = self._tables(TableSet(network.cut_points, parents, network.tables, network.counts))
            return network.changed(tables=counted.tables, **parts).changed(counts=counted.counts)
        conditionals = known.changed(
            copies=[self._tables(copy) for copy in known.copies],
            lines=self._lines(known, former),
            log_losses=self._log_losses(known),
            # of the former rows alone
            cut_probabilities={},
            cut_intervals={},
        )
        updated = network.changed(conditionals=conditionals, **parts)
        n_draws = int(np.clip(parts["metadata"]["n_rows"], 1_000, _MOST_DRAWS))
        drawn = drawn_values(updated, n_draws, np.random.default_rng(_SEED))
        cuts = network.cut_points
        return updated.changed(
            tables={name: table_over_rows(updated, name, cuts, drawn) for name in network.names}
        )

    def _metadata(self, former: float) -> dict[str, Any]:
        kept = {key: value for key, value in self._network.metadata.items() if key not in _OF_FORMER_ROWS}
        return {
            **kept,
            "n_rows": round(self._old * former + float(self._weights.sum())),
            "updates": [*kept.get("updates", ()), self._rows.n_rows],
        }

    def _tables(self, copy: TableSet) -> TableSet:
        """Return tables over the same cuts with the rows added to their counts."""
        names = self._network.names
        codes: list[NDArray[Any]] = [
            bin_codes(self._values[name], copy.cut_points[name])
            if name in copy.cut_points
            else self._values[name]
            for name in names
        ]
        cards = [copy.tables[name].shape[-1] for name in names]
        counts = {}
        for v, name in enumerate(names):
            parents = [self._position[parent] for parent in copy.parents[name]]
            further = family_counts(codes, parents, v, cards, name, self._weights)
            counts[name] = self._old * copy.counts[name] + further
        tables = {name: table_of_counts(of_name, self._smoothing) for name, of_name in counts.items()}
        return TableSet(copy.cut_points, copy.parents, tables, counts)

    def _lines(self, known: Conditionals, former: Mapping[str, float]) -> dict[str, FollowedLine]:
        network = self._network
        of_shapes = {name: ProbabilityScale(shape, known.n_rows) for name, shape in known.scales.items()}
        of_units = {name: UnitScale(*pair, network.support[name]) for name, pair in known.units.items()}
        columns = Columns(self._values)
        lines: dict[str, FollowedLine] = {}
        for name, line in known.lines.items():
            scales: Mapping[str, LineScale] = of_units if line.in_units else of_shapes
            positions = [columns.positions(parent, scales[parent]) for parent in line.parents]
            parents = np.column_stack([np.empty((len(self._weights), 0)), *positions])
            if isinstance(line, FamilyLogit):
                own, *codes = (self._values[column].astype(np.int64) for column in (name, *line.groups))
                share = min(known.n_rows, former[name]) / former[name]
                lines[name] = line.with_rows(self._old, own, parents, codes, share * self._weights)
                continue
            scale = line.own_scale(scales[name]) if isinstance(line, FamilyLine) else scales[name]
            z = columns.positions(name, scale)
            n_levels = [len(network.levels[group]) for group in line.groups]
            groups = joint_groups([self._values[group] for group in line.groups], n_levels, len(z))
            # the line of a longer table was fitted to a sample of its rows
            if isinstance(line, FamilyMixture):
                share = float(line.counts.sum()) / former[name]
                lines[name] = line.with_rows(self._old, z, parents, groups, share * self._weights)
                continue
            sums = line.sums
            assert sums is not None
            share = float(sums.n_rows.sum()) / former[name]
            further = LineSums.of_rows(
                z,
                line.terms.of_rows(parents),
                groups,
                sums.ratios,
                sums.tails,
                sums.widths,
                sums.least_scale,
                share * self._weights,
            )
            lines[name] = line.of_sums(sums.with_rows(self._old, further))
        return lines

    def _log_losses(self, known: Conditionals) -> dict[str, tuple[float, float, float]]:
        """Return the moments of the losses with those of the rows under the network that does not know them."""
        terms = self._network.log_density_terms(self._rows.to_frame())
        losses = {}
        for name, (n_rows, mean, deviation) in known.log_losses.items():
            of_rows, total = -terms[name], self._old * n_rows + float(self._weights.sum())
            first = self._old * n_rows * mean + float(self._weights @ of_rows)
            second = self._old * n_rows * (deviation**2 + mean**2) + float(self._weights @ of_rows**2)
            if np.isfinite(second):
                variance = max(second / total - (first / total) ** 2, 0.0)
                losses[name] = total, first / total, float(np.sqrt(variance))
        return losses


def shape_with_rows(
    shape: Shape, values: NDArray[np.float64], weights: NDArray[np.float64], former: float
) -> Shape:
    """Return a shape whose groups of pieces and points have the probabilities of former and new rows together.

    The groups are about equally probable, and as many as the cube root of the number of rows: a single piece has too
    few rows to say what is new. The density keeps its form inside each of them. New values beyond the range belong to
    the groups at its ends; `former` is the number of former rows.
    """
    masses = np.diff(shape.edges) * (shape.left + shape.right) / (2 * (shape.high - shape.low))
    n_groups = round(np.cbrt(former + weights.sum()))
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
    rest = (1 - points.sum()) / float(factors[groups] @ masses)
    of_pieces = factors[groups] * rest
    by_value = dict(zip(shape.point_values.tolist(), points.tolist(), strict=True))
    return Shape(shape.edges, shape.left * of_pieces, shape.right * of_pieces, by_value)


def _counts_of(network: DiscretizedBayesNet) -> Mapping[str, NDArray[np.float64]]:
    """Return numbers of rows of cells by variable, of the first set of cuts; empty if they are unknown."""
    known = network.conditionals
    return network.counts if known is None else known.copies[0].counts


def _check_sums(network: DiscretizedBayesNet) -> None:
    """Raise `GomeaBnError` for a network that does not hold what its tables and lines were made of."""
    known = network.conditionals
    copies = () if known is None else known.copies
    is_known = bool(_counts_of(network)) and all(copy.counts for copy in copies)
    if known is not None:
        is_known = is_known and not known.set_values
        is_known = is_known and all(
            not isinstance(line, FamilyLine) or line.sums is not None for line in known.lines.values()
        )
    if not is_known:
        raise GomeaBnError(
            "The network does not hold the counts of the rows that it was learned from: it comes from an earlier "
            "version, a file of another program, an intervention or an expert.",
            ["learn it again, or call average_families(network, rows) with these rows"],
        )
