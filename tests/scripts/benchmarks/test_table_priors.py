"""Scores of probability tables in the comparison of priors, and the search that maximises them."""

import itertools
from math import comb, exp, lgamma, log

import numpy as np
import pytest
import table_priors
from table_priors import PRIORS, GreedySearch, TablePrior, is_acyclic, regret

COUNTS = np.array([[3, 0, 2], [1, 4, 1]])


def test_uniform_cells_are_the_product_of_predictions_row_by_row():
    expected = 0.0
    for row in COUNTS:
        seen = np.zeros(3)
        for code in np.repeat(np.arange(3), row):
            expected += log((seen[code] + 1) / (seen.sum() + 3))
            seen[code] += 1
    assert table_priors.uniform_cells(COUNTS, 2.0) == pytest.approx(expected)


def test_a_prior_of_own_frequencies_has_the_weight_of_one_per_cell():
    shares = COUNTS.sum(axis=0) / COUNTS.sum()
    expected = sum(
        lgamma(3)
        - lgamma(3 + row.sum())
        + sum(lgamma(3 * f + c) - lgamma(3 * f) for f, c in zip(shares, row))
        for row in COUNTS
    )
    assert table_priors.own_frequencies(COUNTS, 2.0) == pytest.approx(expected)


def test_bds_spreads_its_prior_over_the_configurations_that_occur():
    assert table_priors.bds(COUNTS, 8.0, 5.0) == pytest.approx(table_priors.bdeu(COUNTS, 2.0, 5.0))
    assert table_priors.bds(COUNTS, 8.0, 5.0) != pytest.approx(table_priors.bdeu(COUNTS, 8.0, 5.0))


@pytest.mark.parametrize(("n_cells", "error"), [(2, 0.1), (10, 0.02), (100, 0.003)])
@pytest.mark.parametrize("n_rows", [20, 500])
def test_the_regret_is_close_to_its_recurrence(n_rows, n_cells, error):
    # Kontkanen and Myllymaki (2007): C(K + 2) = C(K + 1) + n / K C(K)
    terms = (
        comb(n_rows, k) * exp(sum(c * log(c / n_rows) for c in (k, n_rows - k) if c))
        for k in range(n_rows + 1)
    )
    before, last = 1.0, sum(terms)
    for k in range(1, n_cells - 1):
        before, last = last, last + n_rows / k * before
    assert regret(n_rows, n_cells) == pytest.approx(log(last), abs=error)


def test_qnml_without_parents_is_the_likelihood_minus_the_regret():
    counts = COUNTS.sum(axis=0, keepdims=True)
    likelihood = sum(c * log(c / counts.sum()) for c in counts[0])
    assert table_priors.qnml(counts, 1.0) == pytest.approx(likelihood - regret(11, 3))


@pytest.mark.parametrize("label", ["uniform cells", "BDeu(10)", "qNML, no edge cost"])
def test_greedy_search_ends_where_no_change_of_an_edge_gains(label):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 3, 200)
    second = np.where(rng.random(200) < 0.6, first, rng.integers(0, 3, 200))
    third = (first + second + (rng.random(200) < 0.2)) % 2
    codes, n_bins = np.array([first, second, third]), np.array([3, 3, 2])
    search = GreedySearch(codes, n_bins, PRIORS[label])
    subsets = [
        [frozenset(s) for size in range(3) for s in itertools.combinations(set(range(3)) - {v}, size)]
        for v in range(3)
    ]
    graphs = [graph for graph in itertools.product(*subsets) if is_acyclic(graph)]
    assert len(graphs) == 25

    def score(graph):
        return sum(search.family_score(v, parents) for v, parents in enumerate(graph))

    best = search.best([(frozenset(),) * 3])
    assert is_acyclic(best)
    neighbours = [
        graph
        for graph in graphs
        if sum(len(old ^ new) for old, new in zip(best, graph)) == 1
        or any(
            b in best[a] and graph[a] == best[a] - {b} and graph[b] == best[b] | {a} and graph[c] == best[c]
            for a, b, c in itertools.permutations(range(3))
        )
    ]
    assert len(neighbours) > 2
    assert score(best) >= max(map(score, neighbours)) - 1e-9
    assert score(search.best(graphs)) == pytest.approx(max(map(score, graphs)))


def test_edges_cost_their_share():
    codes = np.random.default_rng(0).integers(0, 2, (4, 50))
    charged, free = (
        GreedySearch(codes, np.full(4, 2), TablePrior(table_priors.uniform_cells, cost))
        for cost in (0.5, 0.0)
    )
    parents = frozenset({1, 2})
    assert free.family_score(0, parents) - charged.family_score(0, parents) == pytest.approx(log(3))


def test_a_comparison_prints_every_prior(capsys, monkeypatch):
    monkeypatch.setattr(table_priors, "TEST_ROWS", 200)
    arguments = "x --laws bells --rows 120 --graphs 1 --seconds 0.3"
    monkeypatch.setattr("sys.argv", arguments.split())
    table_priors.main()
    output = capsys.readouterr().out
    assert "Law 'bells', 120 rows, graphs of seeds 200 to 200" in output
    assert all(f"\n{label} " in output for label in PRIORS)
