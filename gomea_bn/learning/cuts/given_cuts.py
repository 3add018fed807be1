"""Graphs and cuts that a user gives: shapes of the columns, and tables counted from a table in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from gomea_bn.data.cells import MOST_BOUNDARIES, Coding, CountPlan, View, observed_counts
from gomea_bn.data.sources import AVAILABLE, MISSING_CHOICES, treatment_in_reading
from gomea_bn.data.table import Table, read_table
from gomea_bn.errors import GomeaBnError, check_choice, pairs_in
from gomea_bn.learning.averaging.families import average_families
from gomea_bn.learning.checks import checked_network
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.learning.fit import RowEvidence
from gomea_bn.learning.improvement import SourceFiles, check_complete
from gomea_bn.learning.learning_problem import scored_variables, scoring_of
from gomea_bn.learning.many_rows import about_sample, drawn_sample, opened_counter, print_nothing
from gomea_bn.learning.options import LearningOptions, rows_that_count
from gomea_bn.learning.parameters import NetworkParameters
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.conditionals.conditionals import Conditionals
from gomea_bn.network.conditionals.family_table import TableSet
from gomea_bn.network.counting import network_of_counts, parts_without_tables
from gomea_bn.network.counting_pieces import completes_pieces
from gomea_bn.network.tables import PseudoCount, check_table_size
from gomea_bn.problems.cuts.policies import equal_frequency_cuts
from gomea_bn.problems.cuts.shape import Shape
from gomea_bn.problems.family_scorer import FamilyScorer
from gomea_bn.problems.scores import score_record

# bins from which the search of cuts starts
_FIRST_BINS = 3


def _as_learned(
    table: Table, cut_points: Mapping[str, Sequence[float]], shape: str
) -> tuple[dict[str, Shape], dict[str, Any]]:
    """Return the shapes that a learner would give to columns with these cuts, by name, and its record of the score.

    `cut_points` has all continuous columns; `shape` is that of `BayesNetLearner`. An unknown shape, and cuts that do
    not fit their column, raise `GomeaBnError`.
    """
    options = LearningOptions.of(NetworkParameters(), cut_points=cut_points, shape=shape, curves="none")
    if shape == "uniform":
        return {}, {}
    method, rule = scoring_of(table, options)
    variables, _ = scored_variables(table, options)
    scorer = FamilyScorer(variables, method, rule)
    shapes = {
        variable.name: variable.shape.shape
        for v, variable in enumerate(variables)
        if variable.shape is not None and scorer.is_shaped[scorer.view(v, 0)]
    }
    # what says how tables are smoothed
    record = score_record(method, rule, options.penalty)
    return shapes, {name: record[name] for name in ("centred", "equivalent") if name in record}


def network_of_graph(
    table: Table,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, Sequence[float]],
    *,
    pseudo_count: PseudoCount = "auto",
    shape: str = "auto",
) -> DiscretizedBayesNet:
    """Return the network of a graph, whose continuous columns without cut points get some.

    Shapes of columns and the smoothing of tables are those of `BayesNetLearner`. If all continuous columns have cut
    points, tables are counted, as by `DiscretizedBayesNet.from_table`. Otherwise the columns without start with three
    equal-frequency bins, and `refine_boundaries` finds number and places of their cuts by the score "density-bd".
    Unless all cuts are given, `average_families` learns conditional densities, and the network is compared with the
    rows (`DiscretizedBayesNet.checks`). Of a table with groups as many rows of each are learned from as count as
    independent ones, and the tables count all rows, as by `BayesNetLearner`. Options are those of `BayesNetLearner`;
    errors are those of these functions.
    """
    evidence = RowEvidence.of(rows_that_count(table))
    network = _network_of_rows(evidence.searched, edges, cut_points, pseudo_count, shape)
    rows, weights, n_evidence = evidence.final
    return checked_network(evidence.network(network), rows, 0, weights, n_evidence)


def _network_of_rows(
    table: Table,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, Sequence[float]],
    pseudo_count: PseudoCount,
    shape: str,
) -> DiscretizedBayesNet:
    """Return the network of a graph learned from rows that all count; see `network_of_graph`."""
    open_columns = [
        column.name for column in table.columns if column.is_continuous and column.name not in cut_points
    ]
    observed = {column.name: column.observed for column in table.columns}
    first = {name: equal_frequency_cuts(observed[name], _FIRST_BINS).tolist() for name in open_columns}
    cuts = {**cut_points, **first}
    shapes, record = _as_learned(table, cuts, shape)
    searched = {"shape": shape, "fixed_cut_points": list(cut_points)} if open_columns else {}
    counted = DiscretizedBayesNet.from_table(
        table,
        edges,
        cuts,
        pseudo_count=pseudo_count,
        shapes=shapes,
        metadata=record | searched | {"n_rows": table.n_rows},
    )
    if cuts and not open_columns:
        return counted
    if open_columns:
        refined = refine_boundaries(counted, table, "dp", "free", scoring_method="density-bd").network
        return average_families(refined, table)
    if table.n_missing:
        # expected counts are nearer than those of completed rows
        tables = TableSet.of_network(counted, counted.counts)
        return counted.changed(conditionals=Conditionals.of_tables([tables], n_rows=table.n_rows))
    return average_families(counted, table)


def network_from_pieces(
    source: Any,
    edges: Iterable[tuple[str, str]],
    cut_points: Mapping[str, ArrayLike],
    *,
    table_of: Callable[[pd.DataFrame], Table] | None = None,
    missing: str = AVAILABLE,
    pseudo_count: PseudoCount = "auto",
    shape: str = "auto",
    sample_rows: int = 200_000,
    n_jobs: int | None = None,
    announce: Callable[[str], object] = print_nothing,
) -> DiscretizedBayesNet:
    """Return the network of a graph and bins, with probability tables counted from all rows of a table in pieces.

    `source` is one of `pieces_of`. `table_of` returns the table of a sample of the rows, a frame, and treats missing
    values as `missing` says; its columns are those of the network. By default it is `read_table`. Shapes are fitted to
    the sample. `edges`, `cut_points` and `pseudo_count` are those of `DiscretizedBayesNet.from_table`, and other
    options those of `BayesNetLearner`. `announce` receives a line on every step.

    Raises `GomeaBnError` for cut points or edges that do not fit the table, unreadable files, files that change
    meanwhile, and missing values unless they are dropped or `missing` is "available".
    """
    check_choice("missing", missing, MISSING_CHOICES)
    if table_of is None:
        table_of = partial(read_table, missing=treatment_in_reading(missing))
    files = SourceFiles(source)
    with opened_counter(source, None, n_jobs) as counter:
        sample, n_rows = drawn_sample(counter, sample_rows, 0)
        announce(f"{n_rows:,} rows; shapes and levels come from {len(sample.rows):,} of them.")
        with about_sample(len(sample.rows), n_rows, sample.named):
            table = table_of(sample.rows)
        # all rows give texts in the forms that those of the sample have
        forms, decimal = dict(table.reading.forms), table.reading.decimal
        counter.pieces = [piece.in_forms(forms, decimal) for piece in counter.pieces]
        cuts = {name: np.asarray(values, np.float64) for name, values in cut_points.items()}
        edges = pairs_in("edges", edges)
        shapes, record = _as_learned(table, {name: c.tolist() for name, c in cuts.items()}, shape)
        parents, parts = parts_without_tables(
            table, edges, cuts, pseudo_count=pseudo_count, shapes=shapes, metadata=record
        )
        cardinality = [
            len(parts["cut_points"][column.name]) + 1 if column.levels is None else len(column.levels)
            for column in table.columns
        ]
        for v, name in enumerate(table.names):
            if cardinality[v] > MOST_BOUNDARIES + 1:
                raise GomeaBnError(
                    f"Column {name!r} has {cardinality[v]} bins or levels; a table in pieces can have at most "
                    f"{MOST_BOUNDARIES + 1}."
                )
        for v, name in enumerate(table.names):
            check_table_size([cardinality[member] for member in (*parents[v], v)], name)
        coding = Coding(
            table.names,
            parts["cut_points"],
            parts["levels"],
            drops_missing=missing == "drop",
            na_values=table.reading.na_values,
        )
        coded = counter.code(coding)
        if missing == "error":
            check_complete(table, coded.n_missing)
        announce(f"All {coded.n_rows:,} rows read.")
        # dropped rows have no missing values to complete
        n_missing = coded.n_missing if missing == AVAILABLE else np.zeros_like(coded.n_missing)
        views = [
            View.of_codes(v, np.arange(n_codes), n_codes, has_missing=bool(n_missing[v]))
            for v, n_codes in enumerate(cardinality)
        ]
        families = [[*(views[p] for p in of_child), views[v]] for v, of_child in enumerate(parents)]
        plan = CountPlan(families)
        counts = [
            observed_counts(of_family, family, range(len(family))).astype(np.float64)
            for of_family, family in zip(plan.tables(counter.count(plan.count)), families, strict=True)
        ]
        parts["metadata"] = record | {"n_rows": coded.n_rows}
        completed = completes_pieces(views, chain(*parents), coded.n_rows, counter.total, announce)
        network = network_of_counts(DiscretizedBayesNet, table.names, edges, counts, parts, completed)
    files.check_unchanged()
    return network
