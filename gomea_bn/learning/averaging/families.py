"""Conditional densities: averages over sets of cuts drawn from their posterior, and lines that predict better."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log, prod
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gomea_bn.data.columns import MANY_ROWS
from gomea_bn.data.content_order import in_column_order, in_row_order
from gomea_bn.data.table import Table
from gomea_bn.errors import GomeaBnError, GomeaBnWarning, Option, check_choice, check_integer
from gomea_bn.learning.averaging.effects_fit import design_of_model, fitted_effects, own_scales
from gomea_bn.learning.averaging.line_scales import (
    LineRows,
    RepeatedValues,
    least_scale,
    line_scale,
    log_steps,
)
from gomea_bn.learning.averaging.odds_fit import odds_of_families
from gomea_bn.learning.averaging.stacks import Member, best_choice, best_stack
from gomea_bn.learning.averaging.target_fit import (
    TargetRules,
    chosen_parents,
    fitted_target,
)
from gomea_bn.learning.cut_cycle import RefinementSession
from gomea_bn.learning.options import seed_of
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import (
    INTERVAL,
    Conditionals,
    around_cuts,
    table_over_rows,
)
from gomea_bn.network.conditionals.family_mixture import FamilyMixture
from gomea_bn.network.conditionals.family_table import CutTable, FamilyTable, TableSet
from gomea_bn.network.conditionals.kind import ColumnFacts, Stack, joint_groups, log_mixture
from gomea_bn.network.conditionals.scales import (
    Columns,
    LineScale,
    ProbabilityScale,
    UnitScale,
)
from gomea_bn.network.recorded import FEWER_CELLS, TARGET, recorded_target
from gomea_bn.network.rows import evidence_for
from gomea_bn.network.tables import (
    MOST_SHOWN_CELLS,
    bin_widths,
    family_counts,
    family_index,
    smoothing_of,
    table_and_left_out_cells,
)
from gomea_bn.problems.column_functions import ColumnFunctions
from gomea_bn.problems.curve_models import CurveModel, beats_table, best_curve_model
from gomea_bn.problems.curves import CurveSizes, sizes_and_functions
from gomea_bn.problems.cuts.blanket import CodedColumn, Cuts
from gomea_bn.problems.cuts.cut_column import ScoredVariable
from gomea_bn.problems.cuts.cut_posterior import MOST_DRAWN_BINS, CutPosterior
from gomea_bn.problems.cuts.interval_dp import CutLimits, log_sum_exp
from gomea_bn.problems.cuts.shape import ColumnShape, Shape
from gomea_bn.problems.cuts.shape_fit import fit_shape, share_shapes, table_shapes
from gomea_bn.problems.scores import recorded_method
from gomea_bn.runtime.fit_clock import (
    EFFECTS,
    GAPS,
    MIXTURES,
    NO_LIMIT,
    ODDS,
    PARENTS,
    ROWS,
    SETS_OF_CUTS,
    SURENESS,
    FitClock,
    never,
)
from gomea_bn.runtime.kernel_progress import search_clock
from gomea_bn.runtime.phases import begin_part
from gomea_bn.runtime.threads import in_spare_threads, one_blas_thread

T = TypeVar("T")
R = TypeVar("R")

N_COPIES = 20
# scales that lines are tried on; transformed ones follow
_ON_SHAPES, _IN_UNITS = 0, 1
# for shaped bins: the same rows chose the graph, and dependence that is smooth has no sharp cuts
_POWER = 0.17
# cost of a cut of shaped bins, as a multiple of ln(distinct values - 1)
_CUT_COST = 0.25
# fillings of missing values by draws
_N_COMPLETIONS = 3
ROWS_OF_LINES = 20_000
"""Rows of a longer table that lines and shown tables are learned from."""
# rows from which threads that work at the same time pay for conditionals
_ROWS_WORTH_THREADS = 4_000
# most cells of a drawn table per row of data, unless the network's own table has more
_CELLS_PER_ROW = 8
# density of a left-out row that fewer sets of cuts may cost, in nats, and numbers of sets
_MOST_LOSS_OF_SETS = 0.005
_FEW_SETS = (1, 2, 5, 10)
# gain of left-out rows that a further number must be worth, in nats of all rows
_PRICE = 1.0
# seconds of effects for a row of a column and of an edge, of the mixture of a column for a row, and of odds per second
# of effects; fewest rows of effects
_SECONDS_OF_EFFECTS, _SECONDS_OF_MIXTURE, _SHARE_OF_ODDS = 6.5e-6, 3e-5, 0.75
_FEWEST_ROWS_OF_EFFECTS = 1_000
# seconds that a column takes after its effects in any case, and the share of the limit and the seconds by which effects
# may exceed it, since a column without them is far from the rows
_SECONDS_AFTER_EFFECTS, _MOST_EXCESS, _EXCESS_SECONDS = 4e-3, 0.05, 0.3
# share of the seconds of effects without which there is one set of cuts
_SHARE_BEFORE_SETS = 0.5
# share of the seconds left that conditionals which complete rows may take
_SHARE_OF_COMPLETION = 0.3
# share of the seconds left that widths and products of the effects on a target may take
_SHARE_OF_WIDTHS = 0.4
LINES = ("auto", "single", "none")
"""Values of the option `line`."""
PREFERENCES = ("simple", "density")
"""Values of the option `prefer`."""


def average_families(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    *,
    n_copies: int = N_COPIES,
    line: str = "auto",
    prefer: str = "simple",
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
        Most sets of cuts of a column, at least 1. Beyond 20,000 rows there are fewer, since the cuts become sure, and
        effects are learned from 20,000 random rows; beyond 50,000 rows there is one set, the shown one. A column has as
        few of them as cost at most .005 nats of a left-out row.
    line : {"auto", "single", "none"}
        Whether a column may follow effects of its parents, or a mixture of lines. "single": no mixtures, which take
        most of the time. "none": tables alone.
    prefer : {"simple", "density"}
        What of tables, effects and mixtures a column follows. "simple": what the score chose, tables or effects, unless
        left-out rows gain more than a nat in all for every further number of another choice. "density":
        what left-out rows are likeliest under.
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
    column that has a shape inside its bins the likelihood has the power .17, since its true cuts are rarely sharp. The
    tables of every copy are counted and smoothed as those of the network.

    The weight of a line maximises the likelihood of the rows under the mixture of bins and line. Every row is left out
    of the tables and of the line that predict it, but the cuts come from all rows. A column without parents that has a
    shape keeps it alone, unless tables over drawn cuts predict left-out rows better by as much as another choice must.

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
    check_choice("prefer", prefer, PREFERENCES)
    return average_in_time(network, data, n_copies, line, prefer, random_state, NO_LIMIT)


def average_in_time(
    network: DiscretizedBayesNet,
    data: pd.DataFrame | Table | str | os.PathLike[str],
    n_copies: int,
    line: str,
    prefer: str,
    random_state: Any,
    clock: FitClock,
) -> DiscretizedBayesNet:
    """Return the network of `average_families`, apart from what the clock cuts short.

    Mixtures go first, then odds, then how sure cuts are, then all sets of cuts but the shown ones, and last some of the
    rows that effects are learned from.
    """
    generator = np.random.default_rng(seed_of(random_state))
    table = evidence_for(network, data, allow_missing=True)
    rows = in_row_order(in_column_order(table))
    ordered = network.in_order(rows.names)
    of_tables, table = ordered.of_tables(), rows
    if rows.n_missing:
        from gomea_bn.network.inference.completion import completed_table

        averaged = ordered
        # tables fill gaps without the lines, so conditionals fill them again
        seconds = seconds_of_effects(ordered, rows.n_rows)
        for _ in range(_N_COMPLETIONS - 1 if ordered.conditionals is None else 0):
            # the conditionals of the last completion follow
            if clock.before(2 * seconds).late(GAPS)():
                break
            began = search_clock()
            of_gaps = clock.part(_SHARE_OF_COMPLETION)
            begin_part("Drawing missing cells")
            table = completed_table(averaged, rows, generator, of_gaps.late(GAPS))
            share_shapes(table, rows)
            averaging = Averaging(of_tables, table)
            of_cuts = averaging.tables([averaging.session.network_cuts])
            averaged = averaging.network_of(of_cuts, line, prefer, clock.part(_SHARE_OF_COMPLETION))
            seconds = max(seconds, search_clock() - began)
        table = completed_table(averaged, rows, generator, clock.part(_SHARE_OF_COMPLETION).late(GAPS))
        share_shapes(table, rows)
    _check_ranges(ordered, table)
    return _averaged(of_tables, table, n_copies, line, prefer, generator, clock).in_order(network.names)


def with_lines(
    network: DiscretizedBayesNet,
    tables: TableSet,
    rows: Table,
    *,
    line: str = "auto",
    prefer: str = "simple",
    clock: FitClock = NO_LIMIT,
) -> DiscretizedBayesNet:
    """Return a network of many rows with conditionals: given tables, and others that are learned from some of the rows.

    The tables over the shown bins are counted from all rows; one row more or less does not change them. `rows` are
    complete ones, from which effects, weights and the shown tables are learned.
    """
    by_tables = network.changed(conditionals=Conditionals.of_tables([tables], n_rows=rows.n_rows))
    left_out = by_tables.log_density_terms(rows.to_frame())
    members = {name: Member(FamilyTable((tables.of_column(name),)), left_out[name]) for name in network.names}
    return Averaging(network, rows).network_of(members, line, prefer, clock)


def _averaged(
    network: DiscretizedBayesNet,
    table: Table,
    n_copies: int,
    line: str,
    prefer: str,
    generator: np.random.Generator,
    clock: FitClock,
) -> DiscretizedBayesNet:
    """Return the network of `average_families` for complete rows."""
    n_rows = table.n_rows
    n_most = min(n_rows, ROWS_OF_LINES)
    seconds = seconds_of_effects(network, 1) * n_most
    some = generator.permutation(n_rows)[:n_most] if n_rows > n_most else np.arange(n_rows)

    def rows_in_time() -> NDArray[np.int64]:
        n_some = n_most if line == "none" else rows_of_lines(network, n_most, clock)
        return np.sort(some if n_some == n_most else generator.permutation(some)[:n_some])

    if n_rows > MANY_ROWS:
        from gomea_bn.network.updates import counted_tables

        counted = counted_tables(network, table)
        return with_lines(network, counted, table.take(rows_in_time()), line=line, prefer=prefer, clock=clock)
    averaging = Averaging(network, table, table_shapes(table) if network.shapes else None)
    if clock.before(_SHARE_BEFORE_SETS * seconds).late(SETS_OF_CUTS)():
        sets = [averaging.session.network_cuts]
    else:
        # the more rows, the surer the cuts
        n_sets = max(round(n_copies * min(ROWS_OF_LINES / n_rows, 1.0)), 1)
        begin_part("Drawing sets of cuts")
        sets = averaging.drawn_cuts(n_sets, generator)
    members = averaging.tables(sets)
    of_cuts = {}
    if not clock.before(seconds).late(SURENESS)():
        probabilities, intervals = averaging.sureness_of_cuts()
        of_cuts = {"cut_probabilities": probabilities, "cut_intervals": intervals}
    chosen = rows_in_time()
    if len(chosen) < n_rows:
        averaging = Averaging(network, table.take(chosen))
        members = {
            name: replace(member, left_out=member.left_out[chosen]) for name, member in members.items()
        }
    return averaging.network_of(members, line, prefer, clock, **of_cuts)


def with_target(
    network: DiscretizedBayesNet,
    rows: Table,
    target: str,
    rules: TargetRules,
    *,
    line: str,
    prefer: str,
    random_state: int,
    clock: FitClock = NO_LIMIT,
) -> DiscretizedBayesNet:
    """Return a network with conditionals whose target has the parents that left-out rows need, and follows these.

    Missing cells are drawn from the network, and count nothing when parents are chosen; the draws that the target is
    fitted to come from networks in which it has its parents. All other columns follow what they did. The metadata have
    the "target", and the nats that every parent adds for left-out rows ("parents").
    """
    rows = in_row_order(in_column_order(rows))
    base = network.in_order(rows.names).with_metadata(**{TARGET: target})
    known = {column.name: ~column.is_missing for column in rows.columns}
    generator, found, chosen = np.random.default_rng(random_state), base, None
    longest = 0.0
    for _ in range(_N_COMPLETIONS if rows.n_missing else 1):
        if chosen is not None and clock.before(longest).late(GAPS)():
            break
        began = search_clock()
        table = rows
        if rows.n_missing:
            from gomea_bn.network.inference.completion import completed_table

            of_gaps = clock.part(_SHARE_OF_COMPLETION)
            table = completed_table(found, rows, generator, of_gaps.late(GAPS))
            share_shapes(table, rows)
        averaging = Averaging(base.of_tables(), table, known=base.conditionals)
        # products of matrices that do not pay for threads
        with one_blas_thread():
            if chosen is None:
                chosen = averaging.chosen_parents(target, known, rules, clock)
            found = averaging.followed(base, target, chosen, line, prefer, clock)
        longest = max(longest, search_clock() - began)
    return found.in_order(network.names)


def rows_of_lines(network: DiscretizedBayesNet, n_rows: int, clock: FitClock) -> int:
    """Return how many of some rows effects and mixtures of a network are learned from: fewer where seconds are few."""
    n_most = min(n_rows, ROWS_OF_LINES)
    return clock.affordable(n_most, seconds_of_effects(network, 1), _FEWEST_ROWS_OF_EFFECTS, ROWS)


def seconds_of_effects(network: DiscretizedBayesNet, n_rows: int) -> float:
    """Return about the seconds that effects of the columns of a network take, which are learned from some rows."""
    n_parts = len(network.names) + len(network.edges)
    return _SECONDS_OF_EFFECTS * n_parts * min(n_rows, ROWS_OF_LINES)


def interrupted_averaging(attribute: str, target: str | None = None) -> GomeaBnWarning:
    """Return the warning that Ctrl-C ended the averaging of a fitted attribute, before a target has got its parents."""
    return GomeaBnWarning(
        [
            "The averaging of families was interrupted. ",
            Option(attribute),
            " has tables alone, counted from the rows.",
            *([] if target is None else [f" The parents of {target!r} are not chosen."]),
        ],
        ["learn again for averages"],
    )


@dataclass(frozen=True)
class _Curves:
    """The functions of the columns of a table, and models and effects of families, each of which is made once."""

    sizes: CurveSizes
    functions: Mapping[str, ColumnFunctions]
    # by the measures inside the bins of the last column, and the names
    models: dict[tuple[Any, ...], CurveModel | None] = field(default_factory=dict)
    # with the model and the shapes, by all that they depend on besides the rows
    effects: dict[tuple[Any, ...], tuple[Member | None, object]] = field(default_factory=dict)

    def model(self, family: Sequence[ScoredVariable]) -> CurveModel | None:
        """Return the model of the last variable of a family given all others, whatever its cuts."""
        shape, names = family[-1].shape, [variable.name for variable in family]
        key = (None if shape is None else shape.measures, *names)
        if key not in self.models:
            functions = [self.functions[name] for name in names]
            self.models[key] = best_curve_model(family, self.sizes, functions)
        return self.models[key]


# networks of the same rows share families; by whether columns in their own units are functions
_curves_of_tables: WeakKeyDictionary[Table, dict[bool, _Curves | None]] = WeakKeyDictionary()


class Averaging:
    """A network, its rows, and what averages of its families are made of.

    `fitted` has the shapes of columns that were fitted to these rows. On average a shape gives the rows that it knows
    more log density than new ones, by its number of parameters over that of the rows, which losses of left-out rows
    include. Columns have the scales that are `known`.
    """

    def __init__(
        self,
        network: DiscretizedBayesNet,
        table: Table,
        fitted: Mapping[str, ColumnShape] | None = None,
        known: Conditionals | None = None,
    ) -> None:
        self.network = network
        self._known = known
        self.table = table
        self._optimism = {name: shape.n_parameters / table.n_rows for name, shape in (fitted or {}).items()}
        self.session = RefinementSession(
            network, table, recorded_method(network.metadata, "density-bd"), None, None, "dirichlet"
        )
        self.coded = self.session.coded(self.session.network_cuts)
        self._columns = Columns({column.name: column.values for column in table.columns})
        self._posteriors: dict[int, CutPosterior] = {}
        self._longest_mixture = 0.0
        self._target = recorded_target(network)

    def of_each(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return what a function returns for every item, of many rows from spare threads.

        NumPy gives the lock of the interpreter away in every operation on some hundred values, and waking a thread that
        waits for it takes longer than the operation.
        """
        if self.table.n_rows < _ROWS_WORTH_THREADS:
            return list(map(function, items))
        return in_spare_threads(function, items)

    def network_of(
        self,
        tables: Mapping[str, Member],
        line: str,
        prefer: str,
        clock: FitClock = NO_LIMIT,
        **of_cuts: Any,
    ) -> DiscretizedBayesNet:
        """Return the network with conditionals, and with those tables over the shown bins that people read.

        Larger ones are computed when they are asked for. `tables` are those of every column, as of the method `tables`,
        and `of_cuts` the probabilities and intervals of the shown cuts.
        """
        network = self.with_conditionals(
            tables, line, prefer, may_have_odds=line != "none", clock=clock, **of_cuts
        )
        rows = {column.name: column.values for column in self.table.columns}
        cuts = network.cut_points
        sizes = {
            name: prod(map(network.cardinality, (name, *network.parents(name)))) for name in network.names
        }
        small = [name for name, size in sizes.items() if size <= MOST_SHOWN_CELLS]
        shown = in_spare_threads(lambda name: table_over_rows(network, name, cuts, rows), small)
        return network.changed(tables=dict(zip(small, shown, strict=True)))

    def with_conditionals(
        self,
        tables: Mapping[str, Member],
        line: str,
        prefer: str,
        *,
        may_have_odds: bool = False,
        clock: FitClock = NO_LIMIT,
        **of_cuts: Any,
    ) -> DiscretizedBayesNet:
        """Return the network with conditionals, and the tables over the shown bins that it had.

        Mixtures have the time that the clock leaves after effects and odds.
        """
        network, names = self.network, self.network.names
        # made by the calling thread, which has the spare ones
        if line != "none" and self._time_of_effects(clock).left > 0:
            _ = self._on_shapes, self._in_own, self._curves
        # regressions of few coefficients, whose products of matrices do not pay for threads
        with one_blas_thread():
            began = search_clock()
            # those go without effects last which gain most by them
            gains = network.metadata.get("curves", {})
            order = sorted(names, key=lambda name: -gains.get(name, {}).get("nats", 0.0))
            one_done = begin_part("Fitting the effects of columns", len(names))

            def members_of(name: str) -> list[Member]:
                found = self.members_of(name, network.parents(name), tables[name], line, clock)
                one_done()
                return found

            members = self.of_each(members_of, order)
            plain = dict(zip(order, members, strict=True))
            # odds take about as long as effects, of fewer columns
            of_odds = _SHARE_OF_ODDS * (search_clock() - began) if may_have_odds else 0.0
            of_mixtures = clock.before(of_odds)
            one_stacked = begin_part("Choosing what columns follow", len(names))

            def stacked(name: str) -> tuple[Stack, NDArray[np.float64]]:
                found = self._stacked(
                    name, network.parents(name), plain[name], tables[name], line, prefer, of_mixtures
                )
                one_stacked()
                return found

            found = in_spare_threads(stacked, names)
        of_columns = dict(zip(names, found, strict=True))
        with_conditionals = self._with_stacks(of_columns, **of_cuts)
        if not may_have_odds:
            return with_conditionals
        begin_part("Fitting the odds of cells")
        with one_blas_thread():
            odds = odds_of_families(with_conditionals, self.table, _price(prefer), clock.late(ODDS))
        if not odds:
            return with_conditionals
        further = {name: (stack, of_columns[name][1] + gains) for name, (stack, gains) in odds.items()}
        return self._with_stacks(of_columns | further, **of_cuts)

    def _with_stacks(
        self, of_columns: Mapping[str, tuple[Stack, NDArray[np.float64]]], **of_cuts: Any
    ) -> DiscretizedBayesNet:
        """Return the network with what every column follows, given also the log densities of left-out rows."""
        network, names = self.network, self.network.names
        stacks = {name: stack for name, (stack, _) in of_columns.items()}
        needed = {key for name, stack in stacks.items() for key in stack.scaled(name)}
        losses = {
            name: (len(logs), -float(logs.mean()) + self._optimism.get(name, 0.0), float(logs.std()))
            for name, (_, logs) in of_columns.items()
            if np.isfinite(logs).all()
        }
        conditionals = Conditionals(
            stacks,
            scales={name: self._line_shapes[name] for name in names if (False, name) in needed},
            units={
                name: (self._in_own[name].centre, self._in_own[name].spread)
                for name in names
                if (True, name) in needed
            },
            n_rows=self.table.n_rows,
            log_losses=losses,
            **of_cuts,
        )
        return network.changed(conditionals=conditionals)

    def chosen_parents(
        self, target: str, known: Mapping[str, NDArray[np.bool_]], rules: TargetRules, clock: FitClock
    ) -> dict[str, float]:
        """Return the parents of a target under which left-out rows lose least, as of `chosen_parents`."""
        return chosen_parents(target, self.table, known, self._on_shapes, rules, clock)

    def followed(
        self,
        base: DiscretizedBayesNet,
        target: str,
        chosen: Mapping[str, float],
        line: str,
        prefer: str,
        clock: FitClock,
    ) -> DiscretizedBayesNet:
        """Return a network with conditionals whose target follows chosen parents in place of those that it had."""
        assert base.conditionals is not None
        network, known, v = self.network, base.conditionals, self.network.names.index(target)
        parents = [name for name in network.names if name in chosen]
        tables = self.tables_of(v, (), [self.session.network_cuts], [self.coded])
        stack, left_out = self.stack_of(target, parents, tables, line, prefer, clock)
        needed = stack.scaled(target)
        losses = dict(known.log_losses)
        losses.pop(target, None)
        if np.isfinite(left_out).all():
            losses[target] = (len(left_out), -float(left_out.mean()), float(left_out.std()))
        conditionals = Conditionals(
            {**known.stacks, target: stack},
            scales={**{n: self._line_shapes[n] for in_units, n in needed if not in_units}, **known.scales},
            units={
                **{n: (self._in_own[n].centre, self._in_own[n].spread) for in_units, n in needed if in_units},
                **known.units,
            },
            n_rows=known.n_rows,
            log_losses=losses,
            cut_probabilities=known.cut_probabilities,
            cut_intervals=known.cut_intervals,
        )
        metadata, gains = dict(base.metadata), [list(entry) for entry in chosen.items()]
        metadata["parents"] = {**metadata.get("parents", {}), target: gains}
        edges = [edge for edge in base.edges if edge[1] != target] + [(name, target) for name in parents]
        shown = {name: table for name, table in base.stored_tables.items() if name != target}
        found = DiscretizedBayesNet(
            base.names,
            edges,
            cut_points=base.cut_points,
            support=base.support,
            levels=base.levels,
            tables=shown,
            shapes=base.shapes,
            conditionals=conditionals,
            pseudo_count=base.pseudo_count,
            value_kinds=base.value_kinds,
            metadata=metadata,
        )
        if prod(map(found.cardinality, (target, *parents))) > MOST_SHOWN_CELLS:
            return found
        rows = {column.name: column.values for column in self.table.columns}
        return found.changed(tables={**shown, target: table_over_rows(found, target, found.cut_points, rows)})

    def drawn_cuts(self, n: int, generator: np.random.Generator) -> list[dict[int, NDArray[np.float64]]]:
        """Return `n` sets of cuts of all continuous variables."""
        sets: list[dict[int, NDArray[np.float64]]] = [dict(self.session.network_cuts) for _ in range(n)]

        def posterior(v: int) -> CutPosterior:
            is_shaped = self.network.names[v] in self.network.shapes
            return self._posterior(v).with_power(_POWER, _CUT_COST) if is_shaped else self._posterior(v)

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
            posterior, support = self._posterior(v), self.network.support[names[v]]
            ends = zip(*around_cuts(cuts, support), strict=True)
            near = np.array([posterior.probability_between(low, high) for low, high in ends])
            return near, _intervals_of_cuts(posterior, len(cuts), support)

        names, columns = self.network.names, list(self.session.network_cuts)
        of_columns = dict(zip(columns, map(sureness, columns), strict=True))
        return {names[v]: p for v, (p, _) in of_columns.items()}, {
            names[v]: intervals for v, (_, intervals) in of_columns.items()
        }

    def _posterior(self, v: int) -> CutPosterior:
        """Return the posterior of a variable's cuts given the network's bins of all others, computed once."""
        if v in self._posteriors:
            return self._posteriors[v]
        name, n_bins = self.network.names[v], len(self.session.network_cuts[v]) + 1
        shape, shaped = self.session.shapes.get(v), name in self.network.shapes
        if shape is not None:
            shape = replace(shape, may_be_uniform=not shaped, may_be_shaped=shaped)
        graph = self.session.graph
        around = graph.neighbourhood(v, self.coded)
        largest = max(len(graph.parents[member]) + 1 for member in (v, *graph.children[v]))
        # tables stay small although the cuts of several members grow together
        affordable = int((_CELLS_PER_ROW * self.table.n_rows) ** (1 / largest))
        limits = CutLimits(1, max(n_bins, min(MOST_DRAWN_BINS, affordable)))
        self._posteriors[v] = CutPosterior(
            self.session.cut_problem(v, around),
            limits,
            shaped=shaped,
            incumbent=self.session.network_cuts[v],
        )
        return self._posteriors[v]

    def tables(self, sets: Sequence[Cuts]) -> dict[str, Member]:
        """Return the tables of every column over sets of cuts, with the log density of every row left out of them."""
        names, parents = self.network.names, self.session.graph.parents
        coded = [self.session.coded(cuts) for cuts in sets]
        members = [self.tables_of(v, parents[v], sets, coded) for v in range(len(names))]
        return dict(zip(names, members, strict=True))

    def tables_of(
        self, v: int, parents: Sequence[int], sets: Sequence[Cuts], coded: Sequence[list[CodedColumn]]
    ) -> Member:
        """Return the tables of a variable over the first sets of cuts, as many as pay.

        `parents` are those in the tables, and `coded` has all variables under every set of cuts.
        """
        names = self.network.names
        name, members = names[v], (*parents, v)
        shape = self.network.shapes.get(name)
        inside = 0.0 if shape is None else shape.log_density(self.table.columns[v].values)
        smoothing = smoothing_of(
            self.network.pseudo_count, self.network.metadata, self.network.levels, [names[m] for m in members]
        )
        tables, terms = [], []
        # sets have cuts in common, above all of few values
        of_cuts: dict[tuple[bytes, ...], tuple[CutTable, NDArray[np.float64]]] = {}
        for cuts, columns in zip(sets, coded, strict=True):
            key = tuple(cuts[m].tobytes() for m in members if m in cuts)
            if key not in of_cuts:
                codes = [np.asarray(columns[m].codes, np.int32) for m in members]
                cards = [columns[m].cardinality for m in members]
                family = range(len(parents)), len(parents)
                of_set = family_counts(codes, *family, cards, name)
                table, of_cells = table_and_left_out_cells(of_set, smoothing)
                predicted = of_cells.ravel()[family_index(codes, *family, cards)]
                of_parents = {names[p]: cuts[p] for p in parents if p in cuts}
                counted = CutTable(tuple(names[p] for p in parents), cuts.get(v), of_parents, table, of_set)
                with np.errstate(divide="ignore"):
                    of_cuts[key] = counted, np.log(predicted) + inside - self._log_sizes(v, cuts, columns)
            tables.append(of_cuts[key][0])
            terms.append(of_cuts[key][1])
        n_sets, left_out = len(sets), log_sum_exp(np.array(terms)) - np.log(len(terms))
        for n_fewer in _FEW_SETS:
            if n_fewer >= len(sets):
                break
            of_fewer = log_sum_exp(np.array(terms[:n_fewer])) - np.log(n_fewer)
            if np.isfinite(of_fewer).all() and (left_out - of_fewer).mean() <= _MOST_LOSS_OF_SETS:
                n_sets, left_out = n_fewer, of_fewer
                break
        return Member(FamilyTable(tuple(tables[:n_sets])), left_out)

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

    @cached_property
    def _line_shapes(self) -> dict[str, Shape]:
        """Distributions of the continuous columns on the probability scales of lines."""
        fitted = table_shapes(self.table)

        def scale(name: str) -> Shape:
            if self._known is not None and name in self._known.scales:
                return self._known.scales[name]
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
    def _n_levels(self) -> dict[str, int]:
        """Numbers of levels of the discrete columns."""
        return {name: self.network.cardinality(name) for name in self.network.levels}

    @cached_property
    def _in_own(self) -> dict[str, UnitScale]:
        """Scales of the continuous columns in own units: the mean is 0, and the standard deviation 1."""
        scales = {}
        for name in self._line_shapes:
            if self._known is not None and name in self._known.units:
                scales[name] = UnitScale(*self._known.units[name], self.network.support[name])
                continue
            values = self._columns[name]
            # squares of very large or small values would overflow or vanish
            unit = float(np.abs(values).max()) or 1.0
            centre, spread = float((values / unit).mean()) * unit, float((values / unit).std()) * unit
            scales[name] = UnitScale(centre, spread or 1.0, self.network.support[name])
        return scales

    @cached_property
    def _curves(self) -> _Curves | None:
        """The functions of the columns of the table; None if no column may follow them."""
        if not self._line_shapes:
            return None
        of_table = _curves_of_tables.setdefault(self.table, {})
        # as the search had them
        has_units = self.network.metadata.get("shape") != "marginal"
        if has_units not in of_table:
            sizes, functions = sizes_and_functions(self._scored, has_units=has_units)
            names = [variable.name for variable in self._scored]
            known = None if sizes is None else _Curves(sizes, dict(zip(names, functions, strict=True)))
            of_table[has_units] = known
        return of_table[has_units]

    @cached_property
    def _scored(self) -> list[ScoredVariable]:
        """The columns with the network's cuts, as they are scored; those of uniform bins get shapes, for curves."""
        variables = self.session.scored_variables(self.session.network_cuts)
        fitted = {} if self.network.shapes else table_shapes(self.table)
        return [replace(v, shape=fitted[v.name]) if v.name in fitted else v for v in variables]

    def stack_of(
        self,
        name: str,
        parents: Sequence[str],
        tables: Member,
        line: str,
        prefer: str,
        clock: FitClock = NO_LIMIT,
    ) -> tuple[Stack, NDArray[np.float64]]:
        """Return what a column with given parents follows, and the log density of every row left out of it.

        `line` and `prefer` are as of `average_families`.
        """
        members = self.members_of(name, parents, tables, line, clock)
        return self._stacked(name, parents, members, tables, line, prefer, clock)

    def members_of(
        self, name: str, parents: Sequence[str], tables: Member, line: str, clock: FitClock
    ) -> list[Member]:
        """Return what a column with given parents may follow apart from mixtures, what the score chose first."""
        if name == self._target and name in self.network.levels:
            is_late = clock.part(_SHARE_OF_WIDTHS).late(PARENTS)
            ordered = {column.name for column in self.table.columns if column.has_order}
            member = fitted_target(
                name, parents, self._columns, self._on_shapes, self._n_levels, ordered, is_late
            )
            if member is not None:
                return [member]
        effects, is_scored, model = None, False, None
        # a target has no tables of its parents
        is_late = never if name == self._target else self._time_of_effects(clock).late(EFFECTS)
        if line != "none" and parents and not is_late() and self._curves is not None:
            model, is_scored = self._model(name, parents)
            effects = None if model is None else self._effects(name, parents, model, tables)
        members = [tables] if effects is None else [effects, tables] if is_scored else [tables, effects]
        if not parents and name in self.network.shapes and self._may_cut(name):
            members.insert(0, self._shape_alone(name, tables))
        return members

    def _stacked(
        self,
        name: str,
        parents: Sequence[str],
        members: Sequence[Member],
        tables: Member,
        line: str,
        prefer: str,
        clock: FitClock,
    ) -> tuple[Stack, NDArray[np.float64]]:
        """Return what `stack_of` returns, given what the column may follow apart from mixtures."""
        price = _price(prefer)
        if line == "auto" and name in self._line_shapes and self._has_lines(parents):
            seconds = max(self._longest_mixture, _SECONDS_OF_MIXTURE * self.table.n_rows)
            if not clock.before(seconds).late(MIXTURES)():
                began = search_clock()
                members = [*members, *self._mixtures(name, parents, members, price)]
                self._longest_mixture = max(self._longest_mixture, search_clock() - began)
        stack, left_out = best_stack(members, price)
        if (
            name not in self._line_shapes
            or not self._ends_inside(name)
            or len(stack.smooth) < len(stack.members)
        ):
            return stack, left_out
        # values beyond the scale of the rows have tables alone
        weight = 1 / (self.table.n_rows + 1)
        shares = ((weight, tables.fitted), *((w * (1 - weight), fitted) for w, fitted in stack.members))
        return Stack(shares), log_mixture(left_out, tables.left_out, weight)

    def _time_of_effects(self, clock: FitClock) -> FitClock:
        """Return the clock of effects, which leave time for what all columns need after them."""
        if clock.max_seconds is None:
            return clock
        after = _SECONDS_AFTER_EFFECTS * len(self.network.names)
        return clock.before(after - _MOST_EXCESS * clock.max_seconds - _EXCESS_SECONDS)

    def _may_cut(self, name: str) -> bool:
        """Return whether no user has fixed the cuts of a column."""
        return self.network.names.index(name) in self.session.movable

    def _shape_alone(self, name: str, tables: Member) -> Member:
        """Return a column without parents in one bin, with the rows of its tables."""
        assert isinstance(tables.fitted, FamilyTable)
        counts = tables.fitted.tables[0].counts
        n_rows = float(self.table.n_rows) if counts is None else float(counts.sum())
        alone = CutTable((), np.empty(0), {}, np.ones(1), np.array([n_rows]))
        return Member(FamilyTable((alone,)), self.network.shapes[name].log_density(self._columns[name]))

    def _ends_inside(self, name: str) -> bool:
        """Return whether the range of a column reaches beyond its probability scale."""
        low, high = self.network.support[name]
        shape = self._line_shapes[name]
        return bool(low < shape.low or high > shape.high)

    def _model(self, name: str, parents: Sequence[str]) -> tuple[CurveModel | None, bool]:
        """Return how a column follows its parents under the score, and whether that was chosen, not a table."""
        assert self._curves is not None
        variables = {variable.name: variable for variable in self._scored}
        family = [variables[member] for member in self.network.names if member in parents] + [variables[name]]
        model = self._curves.model(family)
        if model is None:
            return None, False
        record = self.network.metadata.get("curves")
        of_column = record.get(name) if isinstance(record, Mapping) else None
        has_fewer_cells = isinstance(of_column, Mapping) and of_column.get(FEWER_CELLS) is True
        if has_fewer_cells and set(parents) == set(self.network.parents(name)):
            return model, True
        # the score of uniform bins knows tables alone
        if not self.network.shapes:
            return model, False
        return model, beats_table(model, family, self.session.method, self.session.rule)

    def _effects(self, name: str, parents: Sequence[str], model: CurveModel, tables: Member) -> Member | None:
        """Return the sum of effects, the logit, or the counts, of a model, from networks of the same rows if known."""
        assert self._curves is not None
        known = self._curves.effects
        repeated = None
        if name not in self.network.levels and not model.of_counts:
            repeated = RepeatedValues(self._columns[name], self._on_shapes[name], tables.left_out)
        if self._known is not None:
            # scales of another table
            return self._fitted_effects(name, parents, model, repeated)
        family = (name, *(member for member in self.network.names if member in parents))
        shapes = [self.network.shapes.get(member) for member in family]
        key = (*family, id(model), *map(id, shapes), None if repeated is None else repeated.of_tables)
        if key not in known:
            known[key] = self._fitted_effects(name, parents, model, repeated), (model, shapes)
        return known[key][0]

    def _fitted_effects(
        self, name: str, parents: Sequence[str], model: CurveModel, repeated: RepeatedValues | None
    ) -> Member | None:
        network, columns, scales = self.network, self._columns, self._on_shapes
        ordered = [member for member in network.names if member in parents]
        continuous = tuple(parent for parent in ordered if parent in scales)
        discrete = tuple(parent for parent in ordered if parent in network.levels)
        n_levels = self._n_levels
        assert self._curves is not None
        by_units: dict[bool, Mapping[str, LineScale]] = {False: scales, True: self._in_own}
        design = design_of_model(
            model, ordered, columns, by_units, self._curves.functions, self._curves.sizes
        )
        places = {parent: columns.positions(parent, scales[parent]) for parent in continuous}
        if name in network.levels:
            from gomea_bn.learning.averaging.logit_fit import LogitRows, fitted_logit

            rows = LogitRows(
                np.asarray(columns[name], np.int64), n_levels[name], design, model.of_levels, model.in_order
            )
            return fitted_logit(rows, continuous, discrete, places)
        if model.of_counts:
            from gomea_bn.learning.averaging.logit_fit import fitted_counts

            facts = ColumnFacts(network.support, network.shapes, n_levels, by_units)
            return fitted_counts(design, name, continuous, discrete, columns, places, facts)
        assert repeated is not None
        return fitted_effects(
            design,
            continuous,
            discrete,
            columns,
            places,
            n_levels,
            own_scales(model, columns[name], scales[name], self._in_own[name]),
            repeated,
        )

    def _has_lines(self, parents: Sequence[str]) -> bool:
        """Return whether a parent is one that lines may follow."""
        return any(parent in self._line_shapes for parent in parents)

    def _mixtures(
        self, name: str, all_parents: Sequence[str], members: Sequence[Member], price: float
    ) -> Iterator[Member]:
        """Yield the mixtures of lines of a column on its probability scale and in its own units that may pay.

        Of many rows, some decide on which of the scales there is a mixture. One that would not be chosen next to the
        members so far is not fitted to all rows.
        """
        from gomea_bn.learning.averaging.mixture_fit import gain_of_some_rows, judged_mixture

        numbers = [member.fitted.n_parameters for member in members]
        of_members = [member.left_out for member in members]
        _, _, known = best_choice(numbers, of_members, price)
        parents = tuple(parent for parent in all_parents if parent in self._line_shapes)
        discrete = tuple(parent for parent in all_parents if parent in self.network.levels)
        scales: tuple[Mapping[str, LineScale], ...] = (self._on_shapes, self._in_own)
        # a probability has no units
        scales = scales[: 1 if self._line_shapes[name].points else 2]
        lines = [self._line_rows(name, parents, discrete, of_columns) for of_columns in scales]
        gains = [gain_of_some_rows(rows, known - slope, price) for rows, slope in lines]
        most = max((gain for gain in gains if gain is not None), default=0.0)
        repeated = RepeatedValues(self._columns[name], self._on_shapes[name], known)
        for in_units, ((rows, slope), gain) in enumerate(zip(lines, gains, strict=True)):
            judged = judged_mixture(rows, price) if gain == most else None
            if judged is None or repeated.gain(logs := judged.left_out + slope):
                continue
            chosen, _, _ = best_choice([*numbers, judged.n_parameters], [*of_members, logs], price)
            if len(members) in chosen:
                family = FamilyMixture(parents, discrete, *judged.fitted(rows), bool(in_units))
                yield Member(family, logs)

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


def _price(prefer: str) -> float:
    """Return what left-out rows must gain by a further number, in nats."""
    return _PRICE if prefer == "simple" else 0.0


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
    """Return the central interval of probability `INTERVAL` of every cut, float64 (n_cuts, 2).

    A candidate stands for the values that are nearer to it than to other candidates. Where the limits on bins allow no
    such number of cuts, nothing is known but the support.
    """
    places = posterior.places(n_cuts + 1)
    if places is None or n_cuts == 0:
        return np.tile(np.array(support), (n_cuts, 1))
    lows, highs = around_cuts(posterior.candidates, support)
    cumulated = np.cumsum(places, axis=1) / places.sum(axis=1, keepdims=True)
    tail = (1 - INTERVAL) / 2
    first = (cumulated >= tail).argmax(axis=1)
    last = (cumulated >= 1 - tail).argmax(axis=1)
    return np.column_stack([lows[first], highs[last]])
