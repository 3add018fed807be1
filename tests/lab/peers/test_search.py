"""Rows of the comparison with the package `gomea`, which may be absent."""

import math
from pathlib import Path

import numpy as np

from gomea_bn.algorithms.optimisation import evaluate_genotypes
from lab.peers import search


def outcome(evaluations, *, solved=True):
    return search.Outcome(solved, evaluations, evaluations / 100, evaluations / 10)


def test_a_row_without_the_package_has_empty_columns():
    row = search.row_of("case", ([outcome(100.0)], [], []))
    assert len(row) == len(search.COLUMNS)
    assert row == ["case", "1/1", "-", "-", "100", "-", "-", "10", "-", "-", "1.000", "-", "-", "-"]


def test_ratios_are_of_geometric_means_and_bounds_where_a_run_is_unsolved():
    ours, theirs = [outcome(100.0)], [outcome(100.0), outcome(400.0)]
    row = dict(enumerate(search.row_of("case", (ours, theirs, theirs))))
    assert row[5] == "200"
    assert row[6] == "0.50 [0.25, 1.00]"
    assert row[9] == "0.05 [0.03, 0.10]"
    unsolved = [outcome(400.0, solved=False)]
    cells = search.row_of("case", (ours, unsolved, []))
    assert cells[5:7] == ["unsolved", "< 0.25 [0.25, 0.25]"]


def test_tables_of_the_landscape_are_whole_numbers_below_a_million():
    tables = search.nk_tables(8, 3, 1)
    assert tables.shape == (6, 8)
    assert np.array_equal(tables, np.floor(tables))
    assert 0 <= tables.min() <= tables.max() < 1e6


def test_our_run_ends_at_the_optimum(monkeypatch):
    monkeypatch.setattr(search, "HAS_PACKAGE", False)
    case = next(case for case in search.DISCRETE_CASES if case.name == "trap-5 l=100")
    (ours, black, grey), by_defaults = search.run_discrete_case(case, 1)
    assert (black, grey) == ([], [])
    assert ours[0].solved
    assert by_defaults[0].solved
    assert by_defaults[0].evaluations != ours[0].evaluations
    assert math.isfinite(ours[0].full_evaluations)


def test_files_of_a_torus_give_the_weights_of_cut_edges(tmp_path):
    instance, optimum = search._torus_files(4, 9.0, tmp_path)
    sizes, *edges = [line.split() for line in Path(instance).read_text(encoding="ascii").splitlines()]
    assert sizes == ["16", str(len(edges))]
    assert len(edges) == 2 * 16
    assert Path(optimum).read_text(encoding="ascii") == "9\n"
    side = np.random.default_rng(0).integers(0, 2, 16)
    cut = sum(float(w) for a, b, w in edges if side[int(a) - 1] != side[int(b) - 1])
    objectives, _, _ = evaluate_genotypes(search.torus(4, 9.0), side[None])
    assert objectives[0, 0] == -cut


def test_a_formula_holds_for_some_values():
    formula = search.MaxSat(10, 30, 0)
    values = np.array([np.unravel_index(k, (2,) * 10) for k in range(2**10)])
    assert min(formula.evaluate(x) for x in values) == formula.target == -30.0


def test_cases_are_rows_of_one_table(monkeypatch, run_lab):
    monkeypatch.setattr(search, "run_discrete_case", lambda case, _: (([outcome(100.0)], [], []), []))
    printed = run_lab("search-discrete", "--cases", "trap-5 l=100,NK-S1 l=160").splitlines()
    assert [line.split("  ")[0] for line in printed[-2:]] == ["trap-5 l=100", "NK-S1 l=160"]
    assert printed[-3].startswith("problem")
