"""Small networks for a question: a class of two levels follows a logit of columns that are chosen one after another.

A table over many columns has many parameters, and tables of children count twice what their columns share. A logit has
a parameter per column. It is grown by forward selection: of all that may enter it, what the score test (Rao, "Large
sample tests of statistical hypotheses concerning several parameters", 1948) expects to gain most.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from gomea_bn.data.columns import Column
from gomea_bn.data.content_order import FIXED_SEED, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.learning.averaging.effects_fit import design_of_terms
from gomea_bn.learning.averaging.line_scales import line_scale
from gomea_bn.learning.averaging.logit_fit import RIDGE, LogitRows, fitted_logit
from gomea_bn.learning.averaging.stacks import Member, mixture_weight
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import Conditionals, table_over_rows
from gomea_bn.network.conditionals.family_table import TableSet
from gomea_bn.network.conditionals.kind import ColumnFacts, Fitted, log_mixture
from gomea_bn.network.conditionals.scales import Columns, ProbabilityScale
from gomea_bn.network.conditionals.terms import Terms, broken_line, indicators
from gomea_bn.network.tables import PseudoCount, table_and_left_out_cells
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.cuts.shape_fit import table_shapes

# place on the scale of a parent at which its line may bend
_KNOT = 0.0
# gain of a parameter that counts, in nats of all rows
_LEAST_GAIN = 1.0
# prior precision of the coefficients of standardised terms in the score test
_PRECISION = 1.0
# rows of a level that may have an amount of its own
_FEWEST_ROWS = 5
# parameters of a logit, and rows for each of them
_MOST_PARAMETERS = 60
_ROWS_OF_PARAMETER = 10
# pieces of the normal distribution of a scale in units, up to some standard deviations
_N_PIECES, _FARTHEST = 60, 3.5
# rows that terms are chosen and fitted on, and numbers in memory for them
_MOST_ROWS, _MOST_NUMBERS = 20_000, 10**7
# cells of the shown table of the target up to which continuous parents have two bins, and most cells of it
_CELLS_OF_CUTS, _MOST_CELLS = 64, 2**14


@dataclass(frozen=True)
class LogitNetwork:
    """A network whose target follows a logit, its left-out loss in nats per row, and the logit's free parameters."""

    network: DiscretizedBayesNet
    loss: float
    n_parameters: int


class _Term(NamedTuple):
    """What may enter a logit: the line of a column on its normal scale or in units, a knot, or one of its levels."""

    name: str
    in_units: bool = False
    knot: float | None = None
    level: int | None = None


def _names(terms: Iterable[_Term]) -> set[str]:
    return {term.name for term in terms}


def _in_units(terms: Iterable[_Term]) -> dict[str, bool]:
    """Return whether the scale of a continuous column of terms is in units, by name."""
    return {term.name: term.in_units for term in terms if term.level is None}


class _Design:
    """Complete rows of a class of two levels and of the columns that may enter a logit of it.

    Columns with `fixed_cuts` are shown with these.
    """

    def __init__(
        self,
        rows: Table,
        target: str,
        may_enter: Iterable[str],
        fixed_cuts: Mapping[str, NDArray[np.float64]],
    ) -> None:
        self.rows, self.target, self.fixed_cuts = rows, target, fixed_cuts
        columns = {column.name: column for column in rows.columns}
        self.n_rows = rows.n_rows
        self.of_target = np.asarray(columns[target].values, np.int64)
        self.columns: dict[str, Column] = {
            name: columns[name] for name in may_enter if not columns[name].is_constant
        }
        shapes = table_shapes(rows)
        # by name and whether it is in units
        self.scales: dict[tuple[str, bool], Shape] = {}
        for name, column in self.columns.items():
            if column.is_continuous:
                self.scales[name, False] = line_scale(column.values, shapes[name].shape)
                if (of_units := _normal_shape(column.values)) is not None:
                    self.scales[name, True] = of_units
        self.probability_scales = {
            key: ProbabilityScale(shape, self.n_rows) for key, shape in self.scales.items()
        }
        self.values = Columns({column.name: column.values for column in rows.columns})
        self.n_levels = {column.name: len(column.levels) for column in rows.columns if column.levels}

    def cardinality(self, name: str) -> int:
        """Return the levels of a column, or the bins that a continuous one is shown with at least."""
        levels = self.columns[name].levels
        return len(self.fixed_cuts.get(name, ())) + 1 if levels is None else len(levels)

    def first_terms(self) -> Iterator[_Term]:
        """Yield the terms that a logit without any may get."""
        for name, column in self.columns.items():
            if column.levels is None:
                yield from (
                    _Term(name, in_units) for in_units in (False, True) if (name, in_units) in self.scales
                )
                continue
            counts = np.bincount(column.values, minlength=len(column.levels))
            for level in np.flatnonzero(np.minimum(counts, self.n_rows - counts) >= _FEWEST_ROWS).tolist():
                yield _Term(name, level=level)

    def function(self, term: _Term) -> NDArray[np.float64] | None:
        """Return the function of a term at every row, standardised; None if it is the same in all rows."""
        if term.level is not None:
            values = (self.columns[term.name].values == term.level).astype(np.float64)
        else:
            values = self.values.positions(term.name, self.probability_scales[term.name, term.in_units])
            if term.knot is not None:
                values = np.maximum(values - term.knot, 0.0)
        deviation = float(values.std())
        return (values - values.mean()) / deviation if deviation > 0 else None

    def scales_of(self, terms: Iterable[_Term]) -> dict[str, ProbabilityScale]:
        """Return the scales of the continuous columns of terms."""
        return {name: self.probability_scales[name, in_units] for name, in_units in _in_units(terms).items()}

    def fitted(self, chosen: Sequence[_Term]) -> tuple[Member, NDArray[np.float64]]:
        """Return the logit of terms, and the probability of the second level in every row, float64 (n_rows,).

        Levels without an amount of their own have one together.
        """
        continuous, discrete = self.parents(chosen)
        scales, functions = self.scales_of(chosen), []
        for name in continuous:
            scale = scales[name]
            knots = np.array(sorted(t.knot for t in chosen if t.name == name and t.knot is not None))
            line = broken_line(name, np.concatenate([[scale.low], knots, [scale.high]]), in_units=False)
            ends = line.knots[1:-1]
            functions.append(line.combined(np.column_stack([ends, np.maximum(ends[:, None] - knots, 0.0)])))
        for name in discrete:
            own = sorted(t.level for t in chosen if t.name == name and t.level is not None)
            n_levels = self.n_levels[name]
            amounts = np.zeros((n_levels, len(own) + 1))
            amounts[:, 0] = 1.0
            amounts[own, 0] = 0.0
            amounts[own, np.arange(1, len(own) + 1)] = 1.0
            functions.append(indicators([name], [n_levels]).combined(amounts))
        terms = Terms(tuple(functions))
        precisions = np.full(terms.n_terms, _PRECISION)
        design = design_of_terms(terms, precisions, self.values, {False: scales}, self.n_levels)
        places = {name: self.values.positions(name, scales[name]) for name in continuous}
        member = fitted_logit(LogitRows(self.of_target, 2, design), continuous, discrete, places)
        assert member is not None
        density = member.fitted.given(self.target, self.facts(chosen))
        return member, density.masses(None, self.values)[:, 1]

    def facts(self, chosen: Iterable[_Term]) -> ColumnFacts:
        """Return what the density of a logit needs to know of the columns."""
        return ColumnFacts({}, {}, self.n_levels, {False: self.scales_of(chosen), True: {}})

    def parents(self, chosen: Iterable[_Term]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the continuous and the discrete columns of terms in column order."""
        names = _names(chosen)
        ordered = [name for name in self.rows.names if name in names]
        discrete = tuple(name for name in ordered if self.columns[name].levels is not None)
        return tuple(name for name in ordered if name not in discrete), discrete


def _normal_shape(values: NDArray[np.float64]) -> Shape | None:
    """Return a normal distribution with mean and deviation of a column, on whose scale the column is in its units.

    None where numbers are too coarse or too large for it.
    """
    unit = float(np.abs(values).max())
    z = np.linspace(-_FARTHEST, _FARTHEST, _N_PIECES + 1)
    with np.errstate(over="ignore"):
        edges = ((values / unit).mean() + (values / unit).std() * z) * unit
        is_usable = np.isfinite(edges[-1] - edges[0]) and (np.diff(edges) > 0).all()
    if not is_usable:
        return None
    heights = np.exp(-(z**2) / 2)
    heights /= ((heights[1:] + heights[:-1]) / 2).mean()
    return Shape(edges, heights[:-1], heights[1:])


def _choices(
    design: _Design, most_parents: float, most_parameters: float
) -> Iterator[tuple[tuple[_Term, ...], Member]]:
    """Yield the terms of ever larger logits within the limits, in the order of their choice, and their fits."""
    y = design.of_target.astype(np.float64)
    functions = {term: f for term in design.first_terms() if (f := design.function(term)) is not None}
    chosen: tuple[_Term, ...] = ()
    inside, p = np.ones((design.n_rows, 1)), np.full(design.n_rows, y.mean())
    most = min(_MOST_PARAMETERS, design.n_rows / _ROWS_OF_PARAMETER, most_parameters) - 1
    n_cells = 2.0
    while len(chosen) + 1 <= most:
        names = _names(chosen)
        functions = {
            term: function
            for term, function in functions.items()
            if term.name in names
            or (len(names) < most_parents and n_cells * design.cardinality(term.name) <= _MOST_CELLS)
        }
        if not functions:
            return
        variances = p * (1 - p)
        weighted = inside * variances[:, None]
        of_functions = np.column_stack(list(functions.values()))
        crossed = weighted.T @ of_functions
        explained = scipy.linalg.solve(
            weighted.T @ inside + RIDGE * np.eye(len(crossed)), crossed, assume_a="pos"
        )
        left = variances @ of_functions**2 - np.einsum("ij,ij->j", crossed, explained)
        gains = (of_functions.T @ (y - p)) ** 2 / (2 * (left + _PRECISION))
        best = int(gains.argmax())
        if gains[best] < _LEAST_GAIN:
            return
        term = list(functions)[best]
        if term.name not in names:
            n_cells *= design.cardinality(term.name)
        chosen = (*chosen, term)
        inside = np.column_stack([inside, functions[term]])
        # a column keeps the scale of its line
        functions = {
            other: function
            for other, function in functions.items()
            if other != term and (term.level is not None or other.name != term.name or other.knot is not None)
        }
        if term.level is None and term.knot is None:
            bend = term._replace(knot=_KNOT)
            if (bent := design.function(bend)) is not None:
                functions[bend] = bent
        fitted, p = design.fitted(chosen)
        yield chosen, fitted


def logit_networks(
    rows: Table,
    target: str,
    may_enter: Iterable[str],
    *,
    most_parents: float = np.inf,
    most_parameters: float = np.inf,
    fixed_cuts: Mapping[str, NDArray[np.float64]],
    shapes: Mapping[str, Shape],
    pseudo_count: PseudoCount,
    edge_cost: float,
) -> list[LogitNetwork]:
    """Return networks of complete rows whose target, of two levels, follows a logit of ever more parents.

    They are learned from at most 20,000 of the rows. Parents are of the columns that `may_enter`. Parameters are the
    intercept, the coefficients, and the amounts of levels, apart from the one that all other levels of their column
    share. The loss has every row left out of the logit, to first order, and the cost of every edge in nats of all rows.
    Columns have the `shapes`, and those with `fixed_cuts` these.
    """
    n_rows = min(_MOST_ROWS, max(_MOST_NUMBERS // len(rows.names), 1))
    if rows.n_rows > n_rows:
        some = np.random.default_rng(FIXED_SEED).permutation(rows.n_rows)[:n_rows]
        rows = in_row_order(rows).take(np.sort(some))
    design = _Design(rows, target, may_enter, fixed_cuts)
    counts = np.bincount(design.of_target, minlength=2).astype(np.float64)
    without = np.log(table_and_left_out_cells(counts, pseudo_count)[1][design.of_target])
    no_cuts = {column.name: np.empty(0) for column in rows.columns if column.is_continuous}
    found = []
    for chosen, fitted in _choices(design, most_parents, most_parameters):
        cuts = {**no_cuts, **fixed_cuts, **_shown_cuts(design, chosen)}
        alone = DiscretizedBayesNet.from_table(rows, [], cuts, pseudo_count=pseudo_count, shapes=shapes)
        weight = mixture_weight(without, fitted.left_out)
        loss = -float(log_mixture(without, fitted.left_out, weight).mean())
        network = _network_of(alone, design, chosen, fitted.fitted, weight)
        loss += edge_cost * len(_names(chosen)) / rows.n_rows
        found.append(LogitNetwork(network, loss, len(chosen) + 1))
    return found


def _shown_cuts(design: _Design, chosen: Sequence[_Term]) -> dict[str, NDArray[np.float64]]:
    """Return the cuts of the first continuous parents, each into two bins that a reader of the table sees."""
    names = list(dict.fromkeys(term.name for term in chosen))
    size, cuts = 2 * prod(map(design.cardinality, names)), {}
    for name in names:
        column = design.columns[name]
        if column.levels is None and name not in design.fixed_cuts and 2 * size <= _CELLS_OF_CUTS:
            cuts[name] = equal_frequency_cuts(column.values, 2)
            size *= len(cuts[name]) + 1
    return cuts


def _network_of(
    alone: DiscretizedBayesNet, design: _Design, chosen: Sequence[_Term], fitted: Fitted, weight: float
) -> DiscretizedBayesNet:
    """Return a network without edges with those of a logit, which has a weight next to the frequencies of the class."""
    target, parents = design.target, design.parents(chosen)
    in_units, names = _in_units(chosen), _names(chosen)
    conditionals = Conditionals.of_tables(
        [TableSet.of_network(alone, alone.counts)],
        {target: (weight, fitted)},
        scales={name: design.scales[name, in_units[name]] for name in parents[0]},
        n_rows=design.n_rows,
    )
    ordered = [name for name in alone.names if name in names]
    tables = {**alone.tables, target: np.full((*map(alone.cardinality, ordered), 2), 0.5)}
    network = DiscretizedBayesNet(
        alone.names,
        [(name, target) for name in ordered],
        cut_points=alone.cut_points,
        support=alone.support,
        levels=alone.levels,
        tables=tables,
        shapes=alone.shapes,
        conditionals=conditionals,
        pseudo_count=alone.pseudo_count,
        value_kinds=alone.value_kinds,
    )
    values = {column.name: column.values for column in design.rows.columns}
    return network.changed(
        tables={**tables, target: table_over_rows(network, target, alone.cut_points, values)}
    )
