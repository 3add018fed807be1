"""Conditional densities: averages over sets of cuts drawn from their posterior, and lines that predict better."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log, prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, check_choice, check_integer
from gomea_bn.learning.averaging.line_fit import (
    FittedLine,
    LineRows,
    RepeatedValues,
    best_line,
    least_scale,
    line_scale,
    log_steps,
    mixture_gain,
    mixture_weight,
    transform_of,
)
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.learning.options import seed_of
from gomea_bn.learning.reported_scores import recorded_method
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.basis import joint_groups
from gomea_bn.network.conditionals.conditionals import (
    CUT_INTERVAL,
    Conditionals,
    around_cuts,
    table_over_rows,
)
from gomea_bn.network.conditionals.family import TableSet, log_mixture
from gomea_bn.network.conditionals.kind import Fitted
from gomea_bn.network.conditionals.scales import (
    Columns,
    LineScale,
    ProbabilityScale,
    TransformedScale,
    UnitScale,
)
from gomea_bn.network.effects import MOST_SHOWN_CELLS
from gomea_bn.network.recorded import counted_parents
from gomea_bn.network.rows import table_for
from gomea_bn.network.tables import (
    bin_widths,
    family_counts,
    family_index,
    table_and_left_out_cells,
    table_of_counts,
)
from gomea_bn.problems.cuts.blanket import CodedColumn
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import (
    CutLimits,
    CutPosterior,
    CutProblem,
    IntervalScore,
    PricedIntervals,
    log_sum_exp,
)
from gomea_bn.problems.cuts.policies import bin_codes
from gomea_bn.problems.cuts.shape import ColumnShape, Shape
from gomea_bn.problems.cuts.shape_fit import fit_shape, share_shapes, table_shapes
from gomea_bn.problems.kernels.transforms import MOST_OF_TRANSFORM
from gomea_bn.runtime.threads import in_spare_threads, one_blas_thread

N_COPIES = 20
# scales that lines are tried on; transformed ones follow
_ON_SHAPES, _IN_UNITS = 0, 1
# for shaped bins: the same rows chose the graph, and dependence that is smooth has no sharp cuts
_POWER = 0.25
# cost of a cut of shaped bins, as a multiple of ln(distinct values - 1)
_CUT_COST = 0.25
_MOST_BINS = 15
# fillings of missing values by draws
_N_COMPLETIONS = 3
ROWS_OF_LINES = 20_000
"""Rows of a longer table that lines and shown tables are learned from."""
# most cells of a drawn table per row of data, unless the network's own table has more
_CELLS_PER_ROW = 8
# gain of a line that counts, in nats of all rows
_LEAST_GAIN = 2.0
LINES = ("auto", "single", "none")
"""Values of the option `line`."""


def average_families(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    n_copies: int = N_COPIES,
    line: str = "auto",
    random_state: Any = 0,
) -> DiscretizedBayesNet:
    """Return a network with conditional densities learned from its rows: the same graph and shown bins.

    Parameters
    ----------
    network : DiscretizedBayesNet
        A learned network. Its tables are replaced by those that are computed from the conditionals.
    data : DataFrame, Table, or path of a CSV, TSV or Parquet file
        Rows that the network was learned from. Missing values are drawn from the network given the observed values of
        their rows, and then twice from the network with the conditionals so far.
    n_copies : int
        Number of sets of cuts, at least 1. Beyond 20,000 rows there are fewer, since the cuts become sure, and lines
        are learned from 20,000 random rows; beyond 50,000 rows there is one set, the shown one.
    line : {"auto", "single", "none"}
        Whether a column with continuous parents may also follow a line, or a mixture of lines. "auto": with the weight
        under which left-out rows are most likely, 0 if neither helps. "single": no mixtures, which take most of the
        time.
    random_state : int, numpy Generator, RandomState or None
        Seed of the cuts.

    Returns
    -------
    DiscretizedBayesNet
        The network with `conditionals`.

    Raises
    ------
    GomeaBnError
        For data that the network does not fit, and for invalid options.

    Notes
    -----
    The cuts of a column are drawn from their posterior given the graph and the bins of all other columns, by forward
    filtering and backward sampling in the dynamic programme of the optimal cuts. Cuts that a user has fixed stay. For a
    column that has a shape inside its bins the likelihood has the power 1/4, since its true cuts are rarely sharp. The
    tables of every copy are counted and smoothed as those of the network.

    The weight of a line maximises the likelihood of the rows under the mixture of bins and line. Every row is left out
    of the tables and of the line that predict it, but the cuts come from all rows.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from gomea_bn import BayesNetLearner
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> frame = pd.DataFrame({"x": x, "y": x + np.random.default_rng(1).normal(scale=0.1, size=300)})
    >>> network = BayesNetLearner(max_evaluations=500, random_state=1).fit(frame).network_
    >>> averaged = average_families(network, frame)
    >>> averaged.score(frame) >= network.of_tables().score(frame)
    True
    """
    if not isinstance(network, DiscretizedBayesNet):
        raise GomeaBnError(f"network must be a DiscretizedBayesNet, got {type(network).__name__}.")
    check_integer("n_copies", n_copies, 1)
    check_choice("line", line, LINES)
    generator = np.random.default_rng(seed_of(random_state))
    table = table_for(network, data, allow_missing=True)
    rows = in_row_order(in_column_order(table))
    ordered = network.in_order(rows.names)
    of_tables, table = ordered.of_tables(), rows
    if rows.n_missing:
        from gomea_bn.network.inference.completion import completed_table

        averaged = ordered
        # tables fill gaps without the lines, so conditionals fill them again
        for _ in range(_N_COMPLETIONS - 1 if ordered.conditionals is None else 0):
            table = completed_table(averaged, rows, generator)
            share_shapes(table, rows)
            averaging = Averaging(of_tables, table)
            averaged = averaging.network_of(*averaging.copies([averaging.session.network_cuts]), line)
        table = completed_table(averaged, rows, generator)
        share_shapes(table, rows)
    _check_ranges(ordered, table)
    return _averaged(of_tables, table, n_copies, line, generator).in_order(network.names)


def with_lines(
    network: DiscretizedBayesNet, tables: TableSet, rows: Table, *, line: str = "auto"
) -> DiscretizedBayesNet:
    """Return a network of many rows with conditionals: given tables, and lines that are learned from some of the rows.

    The tables over the shown bins are counted from all rows; one row more or less does not change them. `rows` are
    complete ones, from which lines, their weights and the shown tables are learned.
    """
    by_tables = network.changed(conditionals=Conditionals([tables], n_rows=rows.n_rows))
    left_out = by_tables.log_density_terms(rows.to_frame())
    return Averaging(network, rows).network_of([tables], left_out, line)


def _averaged(
    network: DiscretizedBayesNet, table: Table, n_copies: int, line: str, generator: np.random.Generator
) -> DiscretizedBayesNet:
    """Return the network of `average_families` for complete rows."""
    n_rows = table.n_rows
    some = np.sort(generator.permutation(n_rows)[:ROWS_OF_LINES]) if n_rows > ROWS_OF_LINES else None
    if some is not None and n_rows > MANY_ROWS:
        return with_lines(network, _counted_tables(network, table), table.take(some), line=line)
    averaging = Averaging(network, table, table_shapes(table) if network.shapes else None)
    # the more rows, the surer the cuts
    n_sets = max(round(n_copies * min(ROWS_OF_LINES / n_rows, 1.0)), 1)
    copies, left_out = averaging.copies(averaging.drawn_cuts(n_sets, generator))
    probabilities, intervals = averaging.sureness_of_cuts()
    if some is not None:
        averaging = Averaging(network, table.take(some))
        left_out = {name: of_name[some] for name, of_name in left_out.items()}
    return averaging.network_of(
        copies, left_out, line, cut_probabilities=probabilities, cut_intervals=intervals
    )


def _counted_tables(network: DiscretizedBayesNet, table: Table) -> TableSet:
    """Return tables over the shown bins that are counted from rows, by the parents that tables need."""
    names, cuts = network.names, network.cut_points
    position = {name: v for v, name in enumerate(names)}
    parents = dict(zip(names, counted_parents(network), strict=True))
    codes = [
        bin_codes(column.values, cuts[column.name]) if column.is_continuous else column.values
        for column in table.columns
    ]
    cards = [network.cardinality(name) for name in names]
    smoothing = "auto" if network.pseudo_count is None else network.pseudo_count
    counts = {
        name: family_counts(codes, [position[p] for p in parents[name]], v, cards, name)
        for v, name in enumerate(names)
    }
    tables = {name: table_of_counts(of_name, smoothing) for name, of_name in counts.items()}
    return TableSet(dict(cuts), parents, tables, counts)


def average_of_blanket(
    network: DiscretizedBayesNet, table: Table, target: str, *, n_copies: int, line: str, random_state: int
) -> DiscretizedBayesNet:
    """Return the network of a variable and its Markov blanket with conditionals, for predictions of it alone.

    Only the families of the variable and of its children are those of the network, since no other ones say anything
    about it. Nothing is computed of how sure the cuts are, and the tables over the shown bins stay. Parameters are
    those of `average_families`.
    """
    generator = np.random.default_rng(random_state)
    if table.n_missing:
        from gomea_bn.network.inference.completion import completed_table

        table = completed_table(network, table, generator)
    part = _of_blanket(network, target)
    columns = tuple(column for column in table.columns if column.name in part.names)
    averaging = Averaging(part, in_row_order(replace(table, columns=columns)))
    copies, left_out = averaging.copies(averaging.drawn_cuts(n_copies, generator))
    return averaging.with_conditionals(copies, left_out, line)


def _of_blanket(network: DiscretizedBayesNet, target: str) -> DiscretizedBayesNet:
    """Return the network of a variable and its Markov blanket; tables of other families are uniform."""
    children = network.children(target)
    names = [name for name in network.names if name in (target, *children, *network.markov_blanket(target))]
    families = (target, *children)
    return DiscretizedBayesNet(
        names,
        [edge for edge in network.edges if edge[1] in families],
        cut_points={name: cuts for name, cuts in network.cut_points.items() if name in names},
        support={name: ends for name, ends in network.support.items() if name in names},
        levels={name: levels for name, levels in network.levels.items() if name in names},
        tables={
            name: network.tables[name]
            if name in families
            else np.full(network.cardinality(name), 1 / network.cardinality(name))
            for name in names
        },
        shapes={name: shape for name, shape in network.shapes.items() if name in names},
        pseudo_count=network.pseudo_count,
        metadata=network.metadata,
    )


def interrupted_averaging(attribute: str) -> GomeaBnWarning:
    """Return the warning that Ctrl-C ended the averaging of what a fitted attribute holds."""
    return GomeaBnWarning(
        [
            "The averaging of families was interrupted. ",
            Option(attribute),
            " has tables alone, counted from the rows.",
        ],
        ["learn again for averages"],
    )


class Averaging:
    """A network, its rows, and what averages of its families are made of.

    `fitted` has the shapes of columns that were fitted to these rows. On average a shape gives the rows that it knows
    more log density than new ones, by its number of parameters over that of the rows, which losses of left-out rows
    include.
    """

    def __init__(
        self, network: DiscretizedBayesNet, table: Table, fitted: Mapping[str, ColumnShape] | None = None
    ) -> None:
        self.network = network
        self.table = table
        self._optimism = {name: shape.n_parameters / table.n_rows for name, shape in (fitted or {}).items()}
        self.session = RefinementSession(
            network, table, recorded_method(network.metadata, "density-bd"), None, None, "dirichlet"
        )
        # cuts have a price under the Dirichlet prior alone
        self.score = IntervalScore(self.session.method, self.session.rule)
        self.coded = self.session.coded(self.session.network_cuts)
        self.columns = {v: SortedColumn(table.columns[v].values) for v in self.session.network_cuts}
        self.pseudo_count = "auto" if network.pseudo_count is None else network.pseudo_count
        self._columns = Columns({column.name: column.values for column in table.columns})
        self._priced: dict[int, PricedIntervals] = {}

    def network_of(
        self, copies: list[TableSet], left_out: dict[str, NDArray[np.float64]], line: str, **of_cuts: Any
    ) -> DiscretizedBayesNet:
        """Return the network with conditionals, and with those tables over the shown bins that people read.

        Larger ones are computed when they are asked for.
        `left_out` has the log density of every row under the tables, float64 (n_rows,) by variable, as of `copies`, and
        `of_cuts` the probabilities and intervals of the shown cuts.
        """
        network = self.with_conditionals(copies, left_out, line, **of_cuts)
        rows = {column.name: column.values for column in self.table.columns}
        cuts = network.cut_points
        sizes = {
            name: prod(map(network.cardinality, (name, *network.parents(name)))) for name in network.names
        }
        small = [name for name, size in sizes.items() if size <= MOST_SHOWN_CELLS]
        tables = in_spare_threads(lambda name: table_over_rows(network, name, cuts, rows), small)
        return network.changed(tables=dict(zip(small, tables, strict=True)))

    def with_conditionals(
        self, copies: list[TableSet], left_out: dict[str, NDArray[np.float64]], line: str, **of_cuts: Any
    ) -> DiscretizedBayesNet:
        """Return the network with conditionals, and the tables over the shown bins that it had."""
        # lines are regressions of few coefficients, whose products of matrices do not pay for threads
        with one_blas_thread():
            lines, scales, units = self.lines(left_out, line) if line != "none" else ({}, {}, {})
        losses = {
            name: (len(logs), -float(logs.mean()) + self._optimism.get(name, 0.0), float(logs.std()))
            for name, logs in left_out.items()
            if np.isfinite(logs).all()
        }
        conditionals = Conditionals(
            copies,
            lines=lines,
            scales=scales,
            units=units,
            n_rows=self.table.n_rows,
            log_losses=losses,
            **of_cuts,
        )
        return self.network.changed(conditionals=conditionals)

    def drawn_cuts(self, n: int, generator: np.random.Generator) -> list[dict[int, NDArray[np.float64]]]:
        """Return `n` sets of cuts of all continuous variables."""
        sets: list[dict[int, NDArray[np.float64]]] = [dict(self.session.network_cuts) for _ in range(n)]

        def posterior(v: int) -> CutPosterior:
            is_shaped = self.network.names[v] in self.network.shapes
            power, cut_cost = (_POWER, _CUT_COST) if is_shaped else (1.0, None)
            return CutPosterior(self._intervals(v), power=power, cut_cost=cut_cost)

        movable = [v for v in self.session.network_cuts if v in self.session.movable]
        # the generator draws for one variable after another
        for v, of_variable in zip(movable, in_spare_threads(posterior, movable), strict=True):
            for chosen, drawn in zip(sets, of_variable.draw(n, generator), strict=True):
                chosen[v] = drawn
        return sets

    def sureness_of_cuts(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Return the probability that each cut of the network is near, and its interval, by continuous variable."""

        def sureness(v: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            cuts = self.session.network_cuts[v]
            if v not in self.session.movable:
                return np.ones(len(cuts)), np.column_stack([cuts, cuts])
            posterior, support = CutPosterior(self._intervals(v)), self.network.support[names[v]]
            ends = zip(*around_cuts(cuts, support), strict=True)
            near = np.array([posterior.probability_between(low, high) for low, high in ends])
            return near, _intervals_of_cuts(posterior, len(cuts), support)

        names, columns = self.network.names, list(self.session.network_cuts)
        of_columns = dict(zip(columns, in_spare_threads(sureness, columns), strict=True))
        return {names[v]: p for v, (p, _) in of_columns.items()}, {
            names[v]: intervals for v, (_, intervals) in of_columns.items()
        }

    def _intervals(self, v: int) -> PricedIntervals:
        """Return the priced intervals of a variable given the network's bins of all others, computed once."""
        if v in self._priced:
            return self._priced[v]
        name, n_bins = self.network.names[v], len(self.session.network_cuts[v]) + 1
        shape, shaped = self.session.shapes.get(v), name in self.network.shapes
        if shape is not None:
            shape = replace(shape, may_be_uniform=not shaped, may_be_shaped=shaped)
        graph = self.session.graph
        around = graph.neighbourhood(v, self.coded)
        largest = max(len(graph.parents[member]) + 1 for member in (v, *graph.children[v]))
        # tables stay small although the cuts of several members grow together
        affordable = int((_CELLS_PER_ROW * self.table.n_rows) ** (1 / largest))
        limits = CutLimits(1, max(n_bins, min(_MOST_BINS, affordable)))
        self._priced[v] = PricedIntervals(
            CutProblem(self.columns[v], around, self.score, shape),
            limits,
            shaped=shaped,
            incumbent=self.session.network_cuts[v],
        )
        return self._priced[v]

    def copies(
        self, sets: list[dict[int, NDArray[np.float64]]]
    ) -> tuple[list[TableSet], dict[str, NDArray[np.float64]]]:
        """Return the tables over every set of cuts, and the log density of every row by variable under their average.

        Every row is left out of the tables for its own density.
        """
        names, parents = self.network.names, self.session.graph.parents
        coded = [self.session.coded(cuts) for cuts in sets]
        families = in_spare_threads(lambda v: self.tables_of(v, parents[v], sets, coded), range(len(names)))
        of_names = {names[v]: tuple(names[p] for p in of_v) for v, of_v in enumerate(parents)}
        copies = [
            TableSet(
                {names[v]: of_v for v, of_v in cuts.items()},
                of_names,
                {name: tables[k] for name, (tables, _, _) in zip(names, families, strict=True)},
                {name: counts[k] for name, (_, counts, _) in zip(names, families, strict=True)},
            )
            for k, cuts in enumerate(sets)
        ]
        return copies, {name: left_out for name, (_, _, left_out) in zip(names, families, strict=True)}

    def tables_of(
        self,
        v: int,
        parents: Sequence[int],
        sets: Sequence[dict[int, NDArray[np.float64]]],
        coded: Sequence[list[CodedColumn]],
    ) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]], NDArray[np.float64]]:
        """Return tables and counts of a variable by set of cuts, and the log density of left-out rows by their average.

        `parents` are those in the tables, and `coded` has all variables under every set of cuts.
        """
        name, members = self.network.names[v], (*parents, v)
        shape = self.network.shapes.get(name)
        inside = 0.0 if shape is None else shape.log_density(self.table.columns[v].values)
        tables, counts, terms = [], [], []
        for cuts, columns in zip(sets, coded, strict=True):
            codes = [np.asarray(columns[m].codes, np.int32) for m in members]
            cards = [columns[m].cardinality for m in members]
            family = range(len(parents)), len(parents)
            of_set = family_counts(codes, *family, cards, name)
            table, of_cells = table_and_left_out_cells(of_set, self.pseudo_count)
            predicted = of_cells.ravel()[family_index(codes, *family, cards)]
            tables.append(table)
            counts.append(of_set)
            with np.errstate(divide="ignore"):
                terms.append(np.log(predicted) + inside - self._log_sizes(v, cuts, columns))
        return tables, counts, log_sum_exp(np.array(terms)) - np.log(len(terms))

    def _log_sizes(
        self, v: int, cuts: dict[int, NDArray[np.float64]], coded: list[CodedColumn]
    ) -> NDArray[np.float64] | float:
        """Return ln of the width of every row's bin, or of its probability under the shape; 0 for a discrete one."""
        name = self.network.names[v]
        if v not in cuts:
            return 0.0
        if name in self.network.shapes:
            sizes = self.network.shapes[name].bin_masses(cuts[v])
        else:
            sizes = bin_widths(cuts[v], self.network.support[name])
        return np.asarray(np.log(sizes)[coded[v].codes], np.float64)

    def lines(
        self, left_out: dict[str, NDArray[np.float64]], line: str
    ) -> tuple[dict[str, Fitted], dict[str, Shape], dict[str, tuple[float, float]]]:
        """Return the lines that predict better than bins alone, and the scales of the columns in them.

        Every line is on probability scales or in own units, whichever predicts left-out rows better. `left_out` has the
        log density of every row under the bins, float64 (n_rows,) by variable; those of columns with lines are replaced
        by the log density under the mixture. Scales are distributions on probability scales, and (centre, spread) in
        own units.
        """
        lines: dict[str, Fitted] = {}
        members: dict[bool, set[str]] = {False: set(), True: set()}
        names = self.network.names
        # made by the calling thread, which has the spare ones
        scales = self._line_shapes
        found_lines = in_spare_threads(
            lambda name: self.line_of(name, self.network.parents(name), left_out[name], line), names
        )
        for name, found in zip(names, found_lines, strict=True):
            if found is not None:
                lines[name], left_out[name] = found
                members[lines[name].in_units] |= {name, *lines[name].parents} & set(self._line_shapes)
        return (
            lines,
            {name: shape for name, shape in scales.items() if name in members[False]},
            {
                name: (scale.centre, scale.spread)
                for name, scale in self._in_own.items()
                if name in members[True]
            },
        )

    @cached_property
    def _line_shapes(self) -> dict[str, Shape]:
        """Distributions of the continuous columns on the probability scales of lines."""
        fitted = table_shapes(self.table)

        def scale(name: str) -> Shape:
            values, shape = self._columns[name], self.network.shapes.get(name) or fitted[name].shape
            if name not in self.network.shapes and shape.points:
                # all rows of uniform bins have a density, and a line no probabilities
                shape = fit_shape(values, ()).shape
            return line_scale(values, shape)

        return dict(zip(fitted, in_spare_threads(scale, fitted), strict=True))

    @cached_property
    def _on_shapes(self) -> dict[str, ProbabilityScale]:
        return {name: ProbabilityScale(shape, self.table.n_rows) for name, shape in self._line_shapes.items()}

    @cached_property
    def _in_own(self) -> dict[str, UnitScale]:
        """Scales of the continuous columns in own units: the mean is 0, and the standard deviation 1."""
        scales = {}
        for name in self._line_shapes:
            values = self._columns[name]
            # squares of very large or small values would overflow or vanish
            unit = float(np.abs(values).max()) or 1.0
            centre, spread = float((values / unit).mean()) * unit, float((values / unit).std()) * unit
            scales[name] = UnitScale(centre, spread or 1.0, self.network.support[name])
        return scales

    def line_of(
        self, name: str, all_parents: Sequence[str], left_out: NDArray[np.float64], line: str
    ) -> tuple[Fitted, NDArray[np.float64]] | None:
        """Return the line of a column with given parents, and the log density of left-out rows of its mixture.

        None if no line predicts better than tables alone, whose log density of every row is given. `line` is "auto" or
        "single", as of `average_families`.
        """
        parents = tuple(parent for parent in all_parents if parent in self._line_shapes)
        discrete = tuple(parent for parent in all_parents if parent in self.network.levels)
        if name in self.network.levels and all_parents and self._line_shapes:
            return self._logit_of(name, parents, discrete, left_out)
        if name not in self._line_shapes or not parents:
            return None
        from gomea_bn.learning.averaging.mixture_fit import fitted_mixture

        has_points = bool(self._line_shapes[name].points)
        repeated = RepeatedValues(self._columns[name], self._on_shapes[name], left_out)
        kinds: tuple[Mapping[str, LineScale], ...] = (self._on_shapes, self._in_own)
        of_kinds = [
            self._line_rows(name, parents, discrete, scales) for scales in kinds[: 1 if has_points else 2]
        ]
        lines = [best_line(rows, left_out - slope) for rows, slope in of_kinds]
        transform = None if has_points or lines[0] is None else transform_of(of_kinds[0][0], lines[0])
        if transform is not None:
            moved = TransformedScale(self._on_shapes[name], *transform)
            of_kinds.append(self._line_rows(name, parents, discrete, {**self._on_shapes, name: moved}))
            rows, slope = of_kinds[-1]
            lines.append(best_line(rows, left_out - slope))
        means = [
            -np.inf if fitted is None else float((fitted.left_out + slope).mean())
            for fitted, (_, slope) in zip(lines, of_kinds, strict=True)
        ]
        if transform is not None:
            # the transformation knows the rows that are left out
            means[-1] -= MOST_OF_TRANSFORM / self.table.n_rows
        # repeats gain least from a mixture in own units
        honest = [
            k
            for k, (fitted, (_, slope)) in enumerate(zip(lines, of_kinds, strict=True))
            if fitted is None or not repeated.gain(fitted.left_out + slope)
        ] or [min(len(lines) - 1, _IN_UNITS)]
        kind = max(honest, key=means.__getitem__)
        # mixtures have no transformation, and a single line does not know which scale they need
        of_mixtures = [k for k in honest if k <= _IN_UNITS] or [_ON_SHAPES]
        of_mixtures.sort(key=means.__getitem__, reverse=True)
        best, chosen, known, weight, gain = None, kind, left_out, 0.0, 0.0
        for may_be_several in (False, True) if line == "auto" else (False,):
            for k in of_mixtures if may_be_several else [kind]:
                rows, slope = of_kinds[k]
                fitted = fitted_mixture(rows, left_out - slope, known - slope) if may_be_several else lines[k]
                if fitted is None or repeated.gain(logs := fitted.left_out + slope):
                    continue
                of_fitted = mixture_weight(left_out, logs)
                of_logs = mixture_gain(left_out, logs, of_fitted)
                if of_logs > gain + _LEAST_GAIN:
                    best, weight, gain, chosen = fitted, of_fitted, of_logs, k
                    known = log_mixture(left_out, logs, weight)
        if best is None:
            return None
        options: dict[str, Any] = {"in_units": chosen == _IN_UNITS}
        if isinstance(best, FittedLine):
            options["transform"] = transform if chosen > _IN_UNITS else None
        return best.of_family(weight, parents, discrete, of_kinds[chosen][0], **options), known

    def _logit_of(
        self, name: str, parents: tuple[str, ...], discrete: tuple[str, ...], left_out: NDArray[np.float64]
    ) -> tuple[Fitted, NDArray[np.float64]] | None:
        """Return the logit of a discrete column, and the log probability of left-out rows; None as of `line_of`."""
        from gomea_bn.learning.averaging.logit_fit import LogitRows, best_logit

        columns, network = self._columns, self.network
        positions = [columns.positions(parent, self._on_shapes[parent]) for parent in parents]
        rows = LogitRows(
            np.asarray(columns[name], np.int64),
            network.cardinality(name),
            np.column_stack([np.empty((self.table.n_rows, 0)), *positions]),
            [np.asarray(columns[parent], np.int64) for parent in discrete],
            [network.cardinality(parent) for parent in discrete],
        )
        if (fitted := best_logit(rows)) is None:
            return None
        weight = mixture_weight(left_out, fitted.left_out)
        if mixture_gain(left_out, fitted.left_out, weight) <= _LEAST_GAIN:
            return None
        return fitted.of_family(weight, parents, discrete), log_mixture(left_out, fitted.left_out, weight)

    def _line_rows(
        self, name: str, parents: tuple[str, ...], discrete: tuple[str, ...], scales: Mapping[str, LineScale]
    ) -> tuple[LineRows, NDArray[np.float64]]:
        """Return the rows of a column and its parents on some scales, and the log slope of its own at every row."""
        columns, n_levels = self._columns, [self.network.cardinality(parent) for parent in discrete]
        groups = joint_groups([columns[parent] for parent in discrete], n_levels, self.table.n_rows)
        scale, values = scales[name], columns[name]
        z = columns.positions(name, scale)
        positions = np.column_stack([columns.positions(parent, scales[parent]) for parent in parents])
        ends = scale.ends_of_points(values)
        steps = log_steps(values, scale)
        least = least_scale(steps)
        of_rows = steps.max(axis=1)
        if ends is not None:
            # a probability gains nothing from a narrow component
            of_rows = np.where(ends.is_point, log(least), of_rows)
        rows = LineRows(z, positions, groups, prod(n_levels), scale, least, ends, of_rows)
        return rows, scale.log_slope(values, z)


def _check_ranges(network: DiscretizedBayesNet, table: Table) -> None:
    """Raise `GomeaBnError` for values outside the support of the network, where no cut may lie."""
    for name, (low, high) in network.support.items():
        values = table.columns[network.names.index(name)].values
        if values.min() < low or values.max() > high:
            raise GomeaBnError(
                f"Column '{name}' has values from {values.min():g} to {values.max():g}, and the network's range is "
                f"from {low:g} to {high:g}; give the rows that the network was learned from."
            )


def _intervals_of_cuts(
    posterior: CutPosterior, n_cuts: int, support: tuple[float, float]
) -> NDArray[np.float64]:
    """Return the central interval of probability `CUT_INTERVAL` of every cut, float64 (n_cuts, 2).

    A candidate stands for the values that are nearer to it than to other candidates. Where the limits on bins allow no
    such number of cuts, nothing is known but the support.
    """
    places = posterior.places(n_cuts + 1)
    if places is None or n_cuts == 0:
        return np.tile(np.array(support), (n_cuts, 1))
    lows, highs = around_cuts(posterior.candidates, support)
    cumulated = np.cumsum(places, axis=1) / places.sum(axis=1, keepdims=True)
    tail = (1 - CUT_INTERVAL) / 2
    first = (cumulated >= tail).argmax(axis=1)
    last = (cumulated >= 1 - tail).argmax(axis=1)
    return np.column_stack([lows[first], highs[last]])
