"""Bayesian discretization: the published cuts, densities and numbers of intervals."""

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from published_tables import assert_cuts

from gomea_bn.discretization import BayesianDiscretizer
from gomea_bn.discretization.bayesian.bayesian import _PublishedPasses
from gomea_bn.discretization.structure_search.k2 import k2_scorer
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.problems.cuts.blanket import CodedColumn, ParentSets

AUTO_CUTS = {
    "A": "15.25 17.65 20.9 25.65 28.9",
    "C": "70.5 93.5 109 159.5 259 284.5",
    "D": "71.5 99 127",
    "E": "2115 2480.5 2959.5 3657.5",
    "F": "12.35 13.75 16.05 22.85",
}


def test_published_cuts_of_auto_mpg():
    fitted = published.fitted_auto_mpg()
    assert_cuts(fitted.cut_points_, AUTO_CUTS)
    assert fitted.n_cycles_ == 6
    assert fitted.stopped_by_ == "fixpoint"
    assert list(fitted.costs_) == list("ACDEF")


def test_one_cycle_gives_other_cuts_of_auto_mpg():
    fitted = published.fitted_auto_mpg(max_cycles=1)
    assert fitted.stopped_by_ == "max_cycles"
    assert_cuts(
        fitted.cut_points_,
        {
            "A": "12.5 17.55 20.9 28.9",
            "C": "70.5 93.5 109 159.5 284.5 414.5",
            "D": "71.5 99 127 151 191.5 195.5",
            "E": "2092.5 2513 2959.5 3657.5 4826",
            "F": "10.25 12.35 13.75 16.05",
        },
    )


def test_the_order_of_visits_decides_between_fixpoints():
    fitted = published.fitted_auto_mpg(order=list("FEDCA"))
    assert_cuts(
        fitted.cut_points_, {**AUTO_CUTS, "C": "70.5 106 159.5 259 284.5", "E": "2203.5 2578.5 2959.5 3657.5"}
    )
    assert_cuts(published.fitted_auto_mpg(order=None).cut_points_, AUTO_CUTS)


def test_a_column_is_due_again_when_the_largest_cardinality_has_changed():
    largest = {0: 3, 1: 3, 2: 3}
    # columns 0 and 1 are joined, column 2 is not
    passes = _PublishedPasses([0, 1, 2], ParentSets([(), (0,), ()]), 5, largest.__getitem__)
    visited = []
    for v in passes:
        visited.append((passes.n_passes, v))
        if visited[-1] == (1, 2):
            largest[0] = 4
            passes.note_change(v)
    # the pass without a change counts
    assert visited == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert (passes.n_passes, passes.changed_in_pass) == (2, False)


def test_the_papers_rule_for_the_largest_cardinality_loses_a_published_cut():
    fitted = published.fitted_auto_mpg(cardinality_over="blanket")
    assert_cuts(fitted.cut_points_, {**AUTO_CUTS, "F": "12.35 13.75 16.05"})


def test_published_densities_and_score_of_auto_mpg():
    fitted = published.fitted_auto_mpg()
    network = DiscretizedBayesNet.from_table(
        fitted.table_, published.AUTO_GRAPH, fitted.cut_points_, pseudo_count=0.0
    )
    frame, _ = published.auto_mpg()
    assert network.score(frame) == pytest.approx(-24.606944, abs=5e-7)
    codes = fitted.transform(frame)
    columns = [CodedColumn(codes[name].to_numpy(), int(codes[name].max()) + 1) for name in codes]
    parents = [
        tuple("ABCDEFGH".index(p) for p, c in published.AUTO_GRAPH if c == name) for name in "ABCDEFGH"
    ]
    scorer = k2_scorer(published.LETTERS[:8], columns)
    assert scorer.graph_score(parents) == pytest.approx(-3515.973982, abs=5e-7)


def fitted_published(table, families, **options):
    frame, kinds = table
    edges, order = published.published_graph(families)
    order = [name for name in reversed(order) if kinds[name] == "continuous"]
    return BayesianDiscretizer(kinds=kinds, order=order, **options).fit(frame, network=edges)


WINE_FAMILIES = [
    (8,), (8, 1), (1, 11), (1, 4), (1, 2), (8, 7), (1, 14), (8, 4, 1, 9), (1, 3), (1, 8, 13), (14, 1, 6), (1, 4, 5),
    (1, 12), (8, 6, 10),
]  # fmt: skip
HOUSING_FAMILIES = [
    (5,), (5, 2), (5, 8), (5, 2, 3), (3, 5, 2, 9), (5, 2, 7), (9, 3, 2, 10), (9, 3, 10, 11), (7, 13), (1,), (10, 12),
    (13, 14), (4,), (14, 1, 6),
]  # fmt: skip
WINE_CUTS = {
    "B": "12.745 13.54",
    "C": "1.42 2.235",
    "D": "2.03 2.605 3.07",
    "E": "17.9 23.25",
    "F": "88.5 135",
    "G": "2.105 2.58 3.01",
    "H": ".975 1.885 2.31 3.355",
    "I": ".395",
    "J": "1.185 1.655",
    "K": "3.46 4.85 7.4",
    "L": ".785 1.005 1.295",
    "M": "2.475",
    "N": "476 716 900.5",
}


def test_published_cuts_of_wine():
    fitted = fitted_published(published.wine(), WINE_FAMILIES)
    assert fitted.n_cycles_ == 3
    assert_cuts(fitted.cut_points_, WINE_CUTS)
    blanket = fitted_published(published.wine(), WINE_FAMILIES, cardinality_over="blanket")
    assert 476.0 not in blanket.cut_points_["N"]


def test_published_interval_counts_of_housing():
    fitted = fitted_published(published.housing(), HOUSING_FAMILIES)
    assert fitted.n_cycles_ == 4
    counts = {name: len(cuts) + 1 for name, cuts in fitted.cut_points_.items()}
    assert counts == dict(zip("ABCEFGHJKLMN", (3, 4, 8, 14, 4, 3, 6, 8, 5, 4, 6, 6)))


def test_published_cuts_of_iris():
    fitted = fitted_published(published.iris(), [(5,), (5, 1), (5, 2), (5, 3), (5, 4)])
    assert_cuts(fitted.cut_points_, {"A": "5.45 6.15", "B": "2.95 3.35", "C": "2.45 4.75", "D": ".8 1.75"})


def test_numbers_of_cuts_of_the_papers_synthetic_table():
    # paper: 5.8 cuts of X at n = 500 in the mean, 6 at n = 700; true cuts 2, 3, 4, 4.5, 5, 6
    counts = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        p, q = rng.integers(0, 2, (2, 500))
        low, high = np.array([[2, 1], [4, 4.5]])[p, q], np.array([[6, 3], [5, 7.5]])[p, q]
        table = pd.DataFrame({"p": p, "q": q, "x": rng.uniform(low, high)})
        network = [("p", "x"), ("q", "x")]
        counts.append(len(BayesianDiscretizer().fit(table, network=network).cut_points_["x"]))
    assert 5.2 <= np.mean(counts) <= 6.2
