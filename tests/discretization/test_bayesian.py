"""Bayesian discretization: brute force, a slow programme, invariances, time, and the published cuts and densities."""

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from processor_time import at_most
from published_tables import assert_cuts

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.discretization import LDBN, BayesianDiscretizer
from gomea_bn.discretization.bayesian.bayesian import BayesianCuts
from gomea_bn.discretization.structure_search import coded_scorer
from gomea_bn.problems.cuts import CodedColumn, CodedFamily, CutColumn, Neighbourhood


def coded(codes, cardinality=None):
    codes = np.asarray(codes, np.int32)
    return CodedColumn(codes, int(codes.max()) + 1 if cardinality is None else cardinality)


def around(parents=(), families=()):
    return Neighbourhood(tuple(parents), tuple(CodedFamily(child, tuple(s)) for child, s in families))


def slow_cost(values, cuts, neighbours, largest):
    """The objective as printed: binomial coefficients and factorials, interval by interval."""
    distinct = sorted(set(values))
    span = distinct[-1] - distinct[0]
    total = 0.0
    for cut in cuts:
        low = max(u for u in distinct if u < cut)
        high = min(u for u in distinct if u > cut)
        total -= math.log(1 - math.exp(-largest * (high - low) / span))
    edges = [-math.inf, *cuts, math.inf]
    for low, high in itertools.pairwise(edges):
        rows = [i for i, x in enumerate(values) if low < x <= high]
        inside = [values[i] for i in rows]
        total += largest * (max(inside) - min(inside)) / span
        if neighbours.parents:
            parent_states = [tuple(int(p.codes[i]) for p in neighbours.parents) for i in rows]
            total += slow_block(parent_states, math.prod(p.cardinality for p in neighbours.parents))
        for family in neighbours.families:
            by_spouses = {}
            for i in rows:
                key = tuple(int(s.codes[i]) for s in family.spouses)
                by_spouses.setdefault(key, []).append(int(family.child.codes[i]))
            total += sum(
                slow_block(parent_states, family.child.cardinality) for parent_states in by_spouses.values()
            )
    return total


def slow_block(values, size):
    """ln of the number of count vectors plus ln of the number of ways to reach these counts."""
    counts = [values.count(v) for v in set(values)]
    ways = math.factorial(len(values)) // math.prod(math.factorial(c) for c in counts)
    return math.log(math.comb(len(values) + size - 1, size - 1)) + math.log(ways)


def slow_optimum(values, neighbours, largest):
    """The same optimum by a programme over all intervals in plain Python, counts in dictionaries."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    groups = [list(g) for _, g in itertools.groupby(order, key=lambda i: values[i])]
    distinct = [values[group[0]] for group in groups]
    m, scale = len(groups), largest / (distinct[-1] - distinct[0])
    size = math.prod(p.cardinality for p in neighbours.parents)
    best, origin = [0.0] + [math.inf] * m, [0] * (m + 1)
    for a in range(m):
        counts: Counter[object] = Counter()
        cost = 0.0
        for b in range(a, m):
            for i in groups[b]:
                blocks = [((-1,), tuple(p.codes[i] for p in neighbours.parents), size)]
                for c, family in enumerate(neighbours.families):
                    row = (c, *(s.codes[i] for s in family.spouses))
                    blocks.append((row, family.child.codes[i], family.child.cardinality))
                for row, cell, cells in blocks:
                    n_row, n_cell = counts[row], counts[row, cell]
                    cost += math.log(n_row + cells) - math.log(n_cell + 1)
                    counts[row], counts[row, cell] = n_row + 1, n_cell + 1
            edge = -math.log(-math.expm1(-scale * (distinct[b + 1] - distinct[b]))) if b < m - 1 else 0.0
            total = best[a] + cost + scale * (distinct[b] - distinct[a]) + edge
            if total < best[b + 1] - 1e-10:
                best[b + 1], origin[b + 1] = total, a
    cuts, edge = [], m
    while (edge := origin[edge]) > 0:
        cuts.append((distinct[edge - 1] + distinct[edge]) / 2)
    return cuts[::-1], best[m]


@st.composite
def examples(draw, max_rows=8):
    """A column with ties, up to two parents, up to two children with up to one spouse, all coded."""
    n = draw(st.integers(2, max_rows))
    values = draw(st.lists(st.integers(0, 6), min_size=n, max_size=n).filter(lambda v: len(set(v)) > 1))

    def column():
        size = draw(st.integers(1, 3))
        return coded(draw(st.lists(st.integers(0, size - 1), min_size=n, max_size=n)), size)

    parents = [column() for _ in range(draw(st.integers(0, 2)))]
    families = [
        (column(), [column() for _ in range(draw(st.integers(0, 1)))]) for _ in range(draw(st.integers(0, 2)))
    ]
    return np.array(values, np.float64) / 2, around(parents, families), draw(st.integers(1, 9))


@pytest.mark.parametrize(
    ("largest", "cost_of_two", "cuts", "cost"),
    [
        (2, 17.362585868, [2.05], 16.810614324),
        (5, None, [2.05, 3.2, 3.9, 4.65], 17.035440641),
        (20, None, [2.05, 3.2, 3.9, 4.65], 15.801965468),
    ],
)
def test_the_published_worked_example_is_reproduced(largest, cost_of_two, cuts, cost):
    x = np.array([1.1, 1.2, 1.2, 2.9, 2.9, 2.9, 3.5, 4.3, 4.3, 5.0])
    parent = coded([0, 0, 0, 1, 1, 0, 0, 0, 1, 1])
    child = coded([0, 0, 1, 0, 1, 1, 1, 1, 0, 0])
    problem = BayesianCuts(CutColumn.of_values(x), around([parent], [(child, [])]), largest)
    optimal_cuts, reached = problem.optimal()
    np.testing.assert_allclose(optimal_cuts, cuts, rtol=1e-12)
    assert reached == pytest.approx(cost, abs=1e-9)
    if cost_of_two is not None:
        assert problem.value(np.array([2.05, 4.65])) == pytest.approx(cost_of_two, abs=1e-9)


@settings(max_examples=150)
@given(examples())
def test_the_optimum_is_that_of_brute_force(example):
    values, neighbours, largest = example
    column = CutColumn.of_values(values)
    problem = BayesianCuts(column, neighbours, largest)
    candidates = column.cuts.tolist()
    costs = {}
    for k in range(len(candidates) + 1):
        for cuts in itertools.combinations(candidates, k):
            costs[cuts] = slow_cost(values.tolist(), cuts, neighbours, largest)
            assert problem.value(np.array(cuts)) == pytest.approx(costs[cuts], abs=1e-9)
    optimal_cuts, cost = problem.optimal()
    assert cost == pytest.approx(min(costs.values()), abs=1e-8)
    assert cost == pytest.approx(costs[tuple(optimal_cuts.tolist())], abs=1e-9)


def busy_example(n, seed, ties=True):
    """Rows where the column matters to two children and depends on two parents."""
    rng = np.random.default_rng(seed)
    p, q, s = rng.integers(0, 3, n), rng.integers(0, 2, n), rng.integers(0, 3, n)
    x = rng.normal(size=n) + p + 0.5 * q
    if ties:
        x = x.round(3)
    first = (x + rng.normal(scale=0.3, size=n) > 1) + 0
    second = (x + s + rng.normal(size=n) > 2) + (x > 2.2)
    return x, around([coded(p), coded(q)], [(coded(first), []), (coded(second), [coded(s), coded(q)])])


@pytest.mark.sample(1)
@pytest.mark.parametrize(("n", "seed"), [(60, 0), (450, 1), (520, 2)])
def test_the_compiled_programme_finds_what_a_slow_one_finds(n, seed):
    # above 400 candidates most sweeps end early, by bounds
    x, neighbours = busy_example(n, seed)
    cuts, cost = slow_optimum(x.tolist(), neighbours, 4)
    optimal_cuts, reached = BayesianCuts(CutColumn.of_values(x), neighbours, 4).optimal()
    assert reached == pytest.approx(cost, abs=1e-7)
    np.testing.assert_allclose(optimal_cuts, cuts, rtol=1e-12)
    assert len(cuts) >= 2


@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(4))
def test_thinned_candidates_come_close_to_the_optimum(seed):
    x, neighbours = busy_example(4000, seed, ties=False)
    problem = BayesianCuts(CutColumn.of_values(x), neighbours, 5)
    exact, least = problem.optimal()
    for n_candidates in (10, 100, 1000):
        cuts, cost = problem.optimal(n_candidates)
        assert problem.value(cuts) == pytest.approx(cost, abs=1e-6)
        assert cost >= least - 1e-6
        if n_candidates > 10:
            assert cost <= least * 1.001
    again, cost = problem.optimal(100, incumbent=exact)
    assert cost == pytest.approx(least, abs=1e-6)
    np.testing.assert_allclose(again, exact)


@pytest.mark.parametrize("seed", range(3))
def test_no_cut_alone_can_be_moved_or_left_out_after_thinning(seed):
    x, neighbours = busy_example(700, seed)
    column = CutColumn.of_values(x)
    problem = BayesianCuts(column, neighbours, 5)
    cuts, cost = problem.optimal(20)
    assert len(cuts) >= 2
    for k in range(len(cuts)):
        others = np.delete(cuts, k)
        assert problem.value(others) >= cost - 1e-6
        low = cuts[k - 1] if k else -np.inf
        high = cuts[k + 1] if k + 1 < len(cuts) else np.inf
        between = column.cuts[(column.cuts > low) & (column.cuts < high)]
        assert min(problem.value(np.sort([*others, cut])) for cut in between) >= cost - 1e-6


def test_moving_cuts_leaves_out_those_that_cost_more_than_they_gain():
    rng = np.random.default_rng(0)
    x = np.arange(60.0)
    problem = BayesianCuts(CutColumn.of_values(x), around([coded(rng.integers(0, 2, 60), 2)]), 2)
    raw = problem._programme(np.arange(59), np.zeros(1, np.uint8))
    assert problem._moved(np.array([20, 40]), raw).tolist() == []


def test_neighbouring_floats_are_never_cut_at_the_minimum():
    x = np.repeat([1.0, np.nextafter(1.0, 2.0)], 30)
    cuts, cost = BayesianCuts(CutColumn.of_values(x), around([], [(coded(x > 1.0, 2), [])]), 5).optimal()
    assert cuts.tolist() == []
    assert np.isfinite(cost)


@settings(max_examples=60)
@given(examples(max_rows=40), st.integers(0, 2**32 - 1))
def test_rows_order_names_of_levels_and_units_do_not_matter(example, seed):
    values, neighbours, largest = example
    cuts, cost = BayesianCuts(CutColumn.of_values(values), neighbours, largest).optimal()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(values))
    renamed = {}

    def moved(column):
        if id(column) not in renamed:
            renamed[id(column)] = CodedColumn(
                rng.permutation(column.cardinality).astype(np.int32)[column.codes][order], column.cardinality
            )
        return renamed[id(column)]

    changed = Neighbourhood(
        tuple(moved(p) for p in neighbours.parents[::-1]),
        tuple(
            CodedFamily(moved(f.child), tuple(moved(s) for s in f.spouses)) for f in neighbours.families[::-1]
        ),
    )
    optimal_cuts, reached = BayesianCuts(CutColumn.of_values(values[order]), changed, largest).optimal()
    assert reached == pytest.approx(cost, abs=1e-8)
    np.testing.assert_array_equal(optimal_cuts, cuts)
    scaled, reached = BayesianCuts(CutColumn.of_values(4.0 * values[order] - 8.0), changed, largest).optimal()
    assert reached == pytest.approx(cost, abs=1e-8)
    np.testing.assert_array_equal(scaled, 4.0 * cuts - 8.0)
    _, mirrored = BayesianCuts(CutColumn.of_values(-values[order]), changed, largest).optimal()
    assert mirrored == pytest.approx(cost, abs=1e-8)


def test_neighbours_of_one_value_cost_nothing():
    x, _ = busy_example(50, 0)
    constant = coded(np.zeros(50), 1)
    bare = BayesianCuts(CutColumn.of_values(x), around(), 3).optimal()
    dressed = BayesianCuts(CutColumn.of_values(x), around([constant], [(constant, [constant])]), 3).optimal()
    assert dressed[1] == bare[1]
    np.testing.assert_array_equal(dressed[0], bare[0])


def test_configurations_of_parents_may_outnumber_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    parents = [coded(rng.integers(0, 250, 300), 250) for _ in range(5)]
    problem = BayesianCuts(CutColumn.of_values(x), around(parents), 250)
    assert problem.value(np.empty(0)) == pytest.approx(
        slow_cost(x.tolist(), [], around(parents), 250), rel=1e-9
    )
    assert math.isfinite(problem.optimal()[1])


@pytest.mark.parametrize("n", range(2, 11))
def test_tables_of_few_rows_are_cut(n):
    rng = np.random.default_rng(n)
    frame = pd.DataFrame({"x": np.arange(n) + 0.5, "y": rng.normal(size=n).round(1), "c": list("ab" * n)[:n]})
    for network in (None, [("x", "y"), ("y", "c")], [("c", "x"), ("c", "y")]):
        fitted = BayesianDiscretizer().fit(frame, network=network)
        assert fitted.transform(frame).shape == (n, 3)
        DiscretizedBayesNet.from_table(fitted.table_, network or [], fitted.cut_points_)
    LDBN(n_restarts=2, random_state=0).fit(frame)


def test_columns_without_neighbours_keep_their_starting_bins():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(size=200), "c": rng.integers(0, 4, 200)})
    fitted = BayesianDiscretizer().fit(frame)
    np.testing.assert_allclose(fitted.cut_points_["x"], [0.25, 0.5, 0.75], atol=0.02)
    assert fitted.costs_ == {}
    assert BayesianDiscretizer().fit(frame[["c"]].assign(d=frame["c"] % 2)).cut_points_ == {}


def test_starts_from_a_network_and_keeps_the_cuts_that_a_user_fixed():
    frame, kinds = published.auto_mpg()
    table = read_table(frame, kinds=kinds)
    cuts = {"A": [20.0], "C": [200.0], "D": [100.0], "E": [3000.0], "F": [15.0]}
    network = DiscretizedBayesNet.from_table(
        table, published.AUTO_GRAPH, cuts, metadata={"fixed_cut_points": ["E"]}
    )
    fitted = BayesianDiscretizer(start="network").fit(frame, network=network)
    assert fitted.cut_points_["E"].tolist() == [3000.0]
    assert fitted.stopped_by_ == "fixpoint"
    assert all(len(fitted.cut_points_[name]) > 1 for name in "ACDF")


@pytest.mark.long
def test_fifty_thousand_rows_take_seconds():
    rng = np.random.default_rng(0)
    n = 50_000
    c = rng.integers(0, 4, n)
    x = rng.normal(size=n) + c
    y = x + rng.normal(scale=0.5, size=n)
    z = rng.normal(size=n) - y
    frame = pd.DataFrame({"c": c, "x": x, "y": y, "z": z, "k": rng.integers(0, 3, n) + (z > 0)})
    network = [("c", "x"), ("x", "y"), ("y", "z"), ("z", "k")]
    BayesianDiscretizer().fit(frame.head(100), network=network)  # compiles
    with at_most(10):
        fitted = BayesianDiscretizer().fit(frame, network=network)
    assert list(fitted.cut_points_) == ["x", "y", "z"]
    assert all(len(cuts) > 3 for cuts in fitted.cut_points_.values())


@pytest.mark.parametrize("learner", [BayesianDiscretizer, LDBN])
def test_deadlines_hold_inside_a_single_column(learner):
    rng = np.random.default_rng(0)
    n = 50_000
    c = rng.integers(0, 4, n)
    frame = pd.DataFrame({"c": c, "x": rng.normal(size=n) + c, "y": rng.normal(size=n) - c})
    learner(max_seconds=0.01).fit(frame.head(100))  # compiles
    options = {"network": [("c", "x"), ("x", "y")]} if learner is BayesianDiscretizer else {}
    with at_most(3):
        fitted = learner(max_candidates=None, max_seconds=0.3).fit(frame, **options)
    assert fitted.stopped_by_ == "max_seconds"
    assert fitted.transform(frame).shape == (n, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cardinality_over": "all"}, "cardinality_over must be .*got 'all'"),
        ({"max_cycles": 0}, "max_cycles must be .*got 0"),
        ({"max_candidates": 5}, "max_candidates must be .*got 5"),
        ({"start": "zero"}, "start must be .*got 'zero'"),
        ({"order": ["A", "C"]}, "every continuous column once; it lacks 'D', 'E', 'F'"),
        ({"order": list("ACDEFF")}, "every continuous column once; duplicate 'F'"),
        ({"order": "FDAEC"}, "order must be a list of column names, got 'FDAEC'"),
        ({"order": 5}, "order must be a list of column names, got 5"),
        ({"order": list("ABCDE")}, "order: 'B' is not a continuous column with free cuts"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(GomeaBnError, match=message):
        published.fitted_auto_mpg(**options)


AUTO_CUTS = {
    "A": "15.25 17.65 20.9 25.65 28.9", "C": "70.5 93.5 109 159.5 259 284.5", "D": "71.5 99 127",
    "E": "2115 2480.5 2959.5 3657.5", "F": "12.35 13.75 16.05 22.85",
}  # fmt: skip


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
    scorer = coded_scorer(published.LETTERS[:8], columns, "k2")
    assert scorer.graph_score(parents) == pytest.approx(-3515.973982, abs=5e-7)


WINE_CUTS = {
    "B": "12.745 13.54", "C": "1.42 2.235", "D": "2.03 2.605 3.07", "E": "17.9 23.25", "F": "88.5 135",
    "G": "2.105 2.58 3.01", "H": ".975 1.885 2.31 3.355", "I": ".395", "J": "1.185 1.655",
    "K": "3.46 4.85 7.4", "L": ".785 1.005 1.295", "M": "2.475", "N": "476 716 900.5",
}  # fmt: skip


def test_published_cuts_of_wine():
    fitted = published.fitted(published.wine(), published.WINE_FAMILIES)
    assert fitted.n_cycles_ == 3
    assert_cuts(fitted.cut_points_, WINE_CUTS)
    blanket = published.fitted(published.wine(), published.WINE_FAMILIES, cardinality_over="blanket")
    assert 476.0 not in blanket.cut_points_["N"]


def test_published_interval_counts_of_housing():
    fitted = published.fitted(published.housing(), published.HOUSING_FAMILIES)
    assert fitted.n_cycles_ == 4
    counts = {name: len(cuts) + 1 for name, cuts in fitted.cut_points_.items()}
    assert counts == dict(zip("ABCEFGHJKLMN", (3, 4, 8, 14, 4, 3, 6, 8, 5, 4, 6, 6)))


def test_published_cuts_of_iris():
    fitted = published.fitted(published.iris(), published.IRIS_FAMILIES)
    assert_cuts(fitted.cut_points_, {"A": "5.45 6.15", "B": "2.95 3.35", "C": "2.45 4.75", "D": ".8 1.75"})
