"""Cells of tall columns: their rows, and what is made from them instead of from all values."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from gomea_bn import read_table
from gomea_bn.learning import table_shapes as of_tables
from gomea_bn.learning.learning_options import LearningOptions
from gomea_bn.learning.learning_problem import learning_problem, scored_variables
from gomea_bn.problems.cuts import quantile_cells as of_cells
from gomea_bn.problems.cuts import shape_fit
from gomea_bn.problems.cuts.first_cuts import first_cuts
from gomea_bn.problems.cuts.interval_counts import SortedColumn
from gomea_bn.problems.cuts.interval_dp import CutLimits
from gomea_bn.problems.cuts.policies import bin_codes, equal_frequency_cuts, fill_bin_codes, policy_library
from gomea_bn.problems.cuts.quantile_cells import quantile_cells
from gomea_bn.problems.cuts.shape_fit import fit_shape, fit_shape_of_cells
from gomea_bn.problems.scoring import curves
from gomea_bn.problems.scoring.family_scorer import FamilyScorer
from gomea_bn.problems.scoring.scores import score_rule, scoring_method

N_ROWS = 20_000


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    normal = rng.normal(size=N_ROWS)
    return {
        "normal": normal,
        "far from 0": 1e9 + normal,
        "long tails": rng.standard_cauchy(N_ROWS),
        "rounded": np.round(normal, 1),
        "integers": rng.integers(0, 12, N_ROWS).astype(float),
        "point mass": np.where(rng.random(N_ROWS) < 0.4, 0.0, np.exp(normal)),
        "two values": np.where(normal > 1, 5.0, -5.0),
        "huge": normal * 1e300,
    }


COLUMNS = columns()


@pytest.fixture
def few_cells(monkeypatch):
    monkeypatch.setattr(of_cells, "MOST_CELLS", 200)


@pytest.fixture
def tall_is_short(monkeypatch):
    for module in (of_tables, shape_fit):
        monkeypatch.setattr(module, "TALL_TABLE", 1_000)


@pytest.mark.parametrize("name", COLUMNS)
def test_cells_count_rows_and_distinct_values_between_their_cuts(name, few_cells):
    values = COLUMNS[name]
    cells = quantile_cells(np.sort(values))
    cell_of = np.searchsorted(cells.cuts, values, side="left")
    assert np.bincount(cell_of, minlength=len(cells.middles)).tolist() == cells.counts.tolist()
    distinct = np.searchsorted(cells.cuts, np.unique(values), side="left")
    assert np.bincount(distinct).tolist() == np.diff(cells.distinct_below).tolist()
    assert np.searchsorted(cells.cuts, cells.middles, side="left").tolist() == list(range(len(cells.middles)))
    assert (cells.low, cells.high) == (values.min(), values.max())
    for cell, middle in enumerate(cells.middles.tolist()):
        assert middle == np.quantile(values[cell_of == cell], 0.5, method="lower")


def test_a_frequent_value_has_a_cell_of_its_own(few_cells):
    cells = quantile_cells(np.sort(COLUMNS["point mass"]))
    position = cells.middles.tolist().index(0.0)
    assert cells.counts[position] == (COLUMNS["point mass"] == 0).sum()
    assert np.diff(cells.distinct_below)[position] == 1


def test_numbers_of_distinct_values_are_exact_at_the_ends_of_cells(few_cells):
    cells = quantile_cells(np.sort(COLUMNS["rounded"]))
    assert cells.distinct_up_to(cells.below).tolist() == cells.distinct_below.tolist()


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_from_comparisons_are_those_of_a_search(name, monkeypatch):
    monkeypatch.setattr("gomea_bn.problems.cuts.policies._ROWS_IN_CACHE", 512)
    values = COLUMNS[name]
    cuts = np.unique(np.quantile(values, [0.1, 0.3, 0.5, 0.95]))
    codes = np.empty(len(values), np.uint8)
    above = fill_bin_codes(values, cuts, codes)
    assert codes.tolist() == bin_codes(values, cuts).tolist()
    assert above.tolist() == [(values > cut).sum() for cut in cuts]


@pytest.mark.parametrize("name", ["normal", "rounded", "point mass"])
def test_first_cuts_between_cells_have_nearly_equal_numbers_of_rows(name):
    values = COLUMNS[name]
    ascending = np.sort(values)
    policies = policy_library(values, "equal-frequency", 8, quantile_cells(ascending), (2, 4, 8, 16))
    for n_bins, policy in zip((2, 4, 8), policies, strict=True):
        rows = np.searchsorted(ascending, policy.cut_points)
        exact = np.searchsorted(ascending, equal_frequency_cuts(values, n_bins))
        assert np.abs(rows - exact).max() < N_ROWS / 200


@pytest.mark.parametrize("name", ["normal", "long tails", "rounded", "point mass"])
def test_a_shape_of_cells_is_as_good_as_that_of_all_values(name):
    values = COLUMNS[name]
    of_values = fit_shape(values)
    of_column = fit_shape_of_cells(values, quantile_cells(np.sort(values)))
    assert of_column.shape.points == of_values.shape.points
    assert of_column.resolution == pytest.approx(of_values.resolution, rel=0.02)
    assert of_column.log_likelihood == pytest.approx(of_values.log_likelihood, abs=0.01 * N_ROWS)
    densities = (fitted.shape.log_density(values).mean() for fitted in (of_column, of_values))
    assert next(densities) == pytest.approx(next(densities), abs=0.01)


def test_two_values_have_the_shape_of_all_values(tall_is_short):
    assert fit_shape(COLUMNS["two values"]).shape.low == -5.0


def tall_table(n_rows: int = 4_000, with_gaps: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(size=n_rows)
    y = np.sin(x) + 0.2 * rng.normal(size=n_rows)
    frame = pd.DataFrame({"x": x, "y": y, "z": np.exp(y + x), "k": np.where(x > 0.5, "a", "b")})
    if with_gaps:
        frame.loc[rng.random(n_rows) < 0.2, "y"] = np.nan
    return frame


def test_curves_of_cells_score_parents_as_curves_of_all_rows(tall_is_short):
    table = read_table(tall_table())
    variables, _ = scored_variables(table, LearningOptions(max_bins=15))
    assert [variable.cells is not None for variable in variables] == [True, True, True, False]
    of_column = curves.curve_data(variables)
    of_rows = curves.curve_data([replace(variable, cells=None) for variable in variables])
    assert of_column.first.tolist() == of_rows.first.tolist()
    assert of_column.alone == pytest.approx(of_rows.alone, abs=3.0)
    for parent in range(4):
        for child in range(3):
            for target in range(2):
                of_both = [_log_residual(data, parent, child, target) for data in (of_column, of_rows)]
                assert of_both[0] == pytest.approx(of_both[1], abs=1e-3)


def _log_residual(data, parent, child, target):
    functions = slice(data.first[parent], data.first[parent + 1])
    products = data.products[functions, functions] + np.eye(functions.stop - functions.start)
    with_target = data.with_targets[functions, child, target]
    return np.log(data.squares[child, target] - with_target @ np.linalg.solve(products, with_target))


def test_the_number_of_threads_does_not_change_curves(tall_is_short, monkeypatch):
    variables, _ = scored_variables(read_table(tall_table()), LearningOptions(max_bins=15))
    both = []
    for n_threads in (1, 3):
        monkeypatch.setattr("gomea_bn.runtime.threads.thread_count", lambda _n, n=n_threads: n)
        both.append(curves.curve_data(variables))
    assert (both[0].products == both[1].products).all()
    assert (both[0].with_targets == both[1].with_targets).all()


@pytest.mark.parametrize("with_gaps", [False, True])
def test_a_tall_column_has_the_codes_and_constants_of_a_sorted_one(with_gaps, tall_is_short):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read_table(tall_table(with_gaps=with_gaps), missing="keep")
    variables, _ = scored_variables(table, LearningOptions(max_bins=15))
    method = scoring_method("density-bd")
    rule = score_rule(method, table.n_rows)
    tall = FamilyScorer(variables, method, rule)
    short = FamilyScorer([replace(variable, cells=None) for variable in variables], method, rule)
    assert (tall.rows.codes == short.rows.codes).all()
    assert tall.rows.constant == pytest.approx(short.rows.constant, rel=1e-12)
    assert tall.is_shaped.tolist() == short.is_shaped.tolist()


def test_a_tall_table_begins_with_few_policies(tall_is_short):
    problem = learning_problem(read_table(tall_table()), LearningOptions(max_bins=15, curves="auto"))
    for variable in problem.scorer.variables[:3]:
        assert 3 <= len(variable.policies) <= 8
        assert {2, 4, 8} <= {policy.n_bins for policy in variable.policies}


@pytest.mark.parametrize("shape", ["auto", "marginal"])
def test_first_cuts_of_a_tall_table_lie_inside_its_columns(shape, tall_is_short):
    table = read_table(tall_table())
    variables, _ = scored_variables(table, LearningOptions(max_bins=15, shape=shape))
    proposed = first_cuts(variables, scoring_method("density-bd"), CutLimits(1, 15))
    assert set(proposed) == {0, 1, 2}
    for v, of_column in proposed.items():
        values = table.columns[v].values
        assert of_column
        for cuts in of_column:
            assert (np.diff(cuts) > 0).all()
            assert values.min() < cuts[0]
            assert cuts[-1] < values.max()


def test_late_first_cuts_are_quantiles_alone():
    table = read_table(tall_table())
    variables, _ = scored_variables(table, LearningOptions(max_bins=15))
    method, limits = scoring_method("density-bd"), CutLimits(1, 15)
    late = first_cuts(variables, method, limits, lambda: True)
    assert all(len(of_column) == 1 for of_column in late.values())
    assert all(len(of_column) > 1 for of_column in first_cuts(variables, method, limits).values())


def test_cuts_that_the_deadline_ended_are_not_kept(monkeypatch):
    monkeypatch.setattr("gomea_bn.learning.learning_problem.TALL_TABLE", 0)
    table, options = read_table(tall_table()), LearningOptions(max_bins=15)
    late = learning_problem(table, options, deadline=0.0)
    assert all(len(of_column) == 1 for of_column in late.first_cuts.values())
    assert any(len(of_column) > 1 for of_column in learning_problem(table, options).first_cuts.values())


@pytest.mark.parametrize("name", COLUMNS)
def test_tall_columns_are_sorted_as_others(name, monkeypatch):
    order = SortedColumn(COLUMNS[name]).order
    monkeypatch.setattr("gomea_bn.problems.cuts.interval_counts.TALL_TABLE", 1_000)
    assert SortedColumn(COLUMNS[name]).order.tolist() == order.tolist()
