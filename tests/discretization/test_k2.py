"""K2, alone against a slow twin and coupled with Bayesian discretization against published results."""

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import slow_score_of_codes
from processor_time import at_most
from published_tables import assert_cuts

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.discretization import K2, LDBN, EqualFrequency
from gomea_bn.simulation import random_network


def slow_k2(columns, cardinalities, order, max_indegree):
    """Parents by column and the total score."""
    families, total = {}, 0.0
    for position, child in enumerate(order):
        parents: list[int] = []
        score = slow_score_of_codes(columns, cardinalities, child, parents, "k2")
        while len(parents) < max_indegree:
            options = [
                (
                    slow_score_of_codes(columns, cardinalities, child, [*parents, new], "k2"),
                    -order.index(new),
                    new,
                )
                for new in order[:position]
                if new not in parents
            ]
            if not options or not max(options)[0] > score + 1e-9:
                break
            # compiled and plain sums break ties of equal scores differently
            assume(sum(option[0] > max(options)[0] - 1e-9 for option in options) == 1)
            score, _, new = max(options)
            parents.append(new)
        families[child], total = sorted(parents), total + score
    return families, total


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_k2_finds_what_a_slow_twin_finds(seed, max_indegree):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    columns = [rng.integers(0, 3, n)]
    for _ in range(4):
        noise = rng.random(n) < 0.25
        columns.append(np.where(noise, rng.integers(0, 3, n), columns[int(rng.integers(len(columns)))]))
    frame = pd.DataFrame(dict(zip("abcde", columns)))
    order = rng.permutation(5).tolist()
    fitted = K2(order=["abcde"[v] for v in order], max_indegree=max_indegree).fit(frame)
    cards = [frame[name].nunique() for name in frame]
    expected, total = slow_k2(frame.to_numpy().T, cards, order, max_indegree)
    assert fitted.score_ == pytest.approx(total, abs=1e-8)
    assert {
        v: sorted("abcde".index(p) for p, c in fitted.edges_ if c == "abcde"[v]) for v in order
    } == expected


def test_k2_with_the_true_order_finds_a_true_structure():
    truth = random_network(6, random_state=5, discrete_fraction=1.0)
    frame = truth.sample(20_000, 1)
    names = list(truth.names)
    order = []
    while len(order) < len(names):
        order += [v for v in names if v not in order and set(truth.parents(v)) <= set(order)]
    fitted = K2(order=order).fit(frame)
    assert set(fitted.edges_) <= set(truth.edges)
    assert len(fitted.edges_) >= 0.7 * len(truth.edges)


@pytest.fixture
def binned():
    frame, kinds = published.auto_mpg()
    return EqualFrequency(n_bins=4, kinds=kinds).fit_transform(frame)


def test_restarts_keep_the_best_order_and_repeat_by_seed(binned):
    fitted = K2(n_restarts=20, random_state=1).fit(binned)
    assert fitted.n_restarts_ == 20
    assert fitted.stopped_by_ == "n_restarts"
    assert sorted(fitted.order_) == sorted(binned)
    position = {name: k for k, name in enumerate(fitted.order_)}
    assert all(position[parent] < position[child] for parent, child in fitted.edges_)
    assert K2(order=fitted.order_).fit(binned).score_ == fitted.score_
    assert K2(n_restarts=20, random_state=1).fit(binned).edges_ == fitted.edges_
    scores = [K2(n_restarts=k, random_state=1).fit(binned).score_ for k in range(1, 8)]
    assert scores == np.maximum.accumulate(scores).tolist()
    assert fitted.score_ > scores[0]
    assert fitted.network_.edges == fitted.edges_
    assert fitted.network_.levels["B"] == tuple(sorted(set(binned["B"])))
    assert fitted.feature_names_in_.tolist() == list(binned)


def test_the_parent_cap_holds(binned):
    for most in (0, 1, 2):
        fitted = K2(max_indegree=most, n_restarts=3, random_state=0).fit(binned)
        assert max(len(fitted.network_.parents(name)) for name in binned) == most


def test_text_bools_tables_and_columns_of_one_value_are_levels():
    frame = pd.DataFrame({"t": list("ab") * 20, "f": [True, False] * 20, "one": 3.0})
    fitted = K2(order=["t", "f", "one"]).fit(frame)
    assert fitted.edges_ == [("t", "f")]
    assert fitted.network_.levels["one"] == (3.0,)
    assert K2(order=["t", "f"]).fit(read_table(frame[["t", "f"]])).edges_ == [("t", "f")]
    unseen = frame.assign(t=pd.Categorical(frame["t"], ["a", "b", "c"]))
    assert K2(order=["t", "f", "one"]).fit(unseen).network_.levels["t"] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame({"x": np.arange(60.0)}), "'x' has 60 distinct values, more than 50; K2 learns from discretized"),
        (pd.DataFrame({"x": [1.0, np.nan]}), r"'x' has missing or infinite values in row 1"),
        (pd.DataFrame({"x": []}), "needs rows and columns"),
        (read_table(pd.DataFrame({"x": np.arange(60.0)})), "'x' is continuous"),
        (3, "must be a Table, a frame of pandas"),
    ],
)  # fmt: skip
def test_columns_that_are_not_discretized_are_refused(frame, message):
    with pytest.raises(GomeaBnError, match=message):
        K2().fit(frame)


@pytest.mark.parametrize("learner", [K2, LDBN])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": ["a"]}, "every column once; it lacks 'b'"),
        ({"order": ["a", "b", "b"]}, "every column once; duplicate 'b'"),
        ({"order": 5}, "unknown column 5"),
        ({"max_seconds": 10**400}, "max_seconds must be"),
        ({"order": ["a", "bb"]}, r"unknown column 'bb'.*Did you mean"),
        ({"max_indegree": -1}, "max_indegree must be .*got -1"),
        ({"n_restarts": 0}, "n_restarts must be .*got 0"),
        ({"random_state": -1}, "random_state must be .*got -1"),
        ({"max_seconds": 0}, "max_seconds must be .*got 0"),
    ],
)
def test_options_out_of_range_are_refused(learner, options, message):
    frame = pd.DataFrame({"a": list("xy") * 10, "b": list("uuvv") * 5})
    with pytest.raises(GomeaBnError, match=message):
        learner(**options).fit(frame)


def test_max_levels_is_at_most_what_codes_hold():
    with pytest.raises(GomeaBnError, match="max_levels must be an integer from 1 to 255"):
        K2(max_levels=256).fit(pd.DataFrame({"a": [0, 1]}))


def test_the_deadline_of_k2_holds():
    frame = pd.DataFrame(np.random.default_rng(0).integers(0, 3, (20_000, 12)))
    K2(max_seconds=0.01).fit(frame.head(50))  # compiles
    with at_most(4):
        fitted = K2(n_restarts=10**18, max_seconds=0.3, random_state=0).fit(frame)
    assert fitted.stopped_by_ == "max_seconds"
    assert fitted.n_restarts_ < 10**6


@pytest.mark.parametrize(
    ("options", "score", "cuts", "edges", "density"),
    [
        (
            {"order": list("BCEAGDFH"), "max_indegree": 2, "max_cycles": 5},
            3115.1223569901704,
            {
                "A": "17.25 20.9 26.2",
                "C": "93.5 106 134.5 159.5 169.5 259 284.5",
                "D": "71.5 115.5 127",
                "E": "2217 2959.5 3657.5",
                "F": "13.45 16.05 22.85 24.15",
            },
            "BA EA BC BD CD BE CE DF EF AG BG BH CH",
            -24.657864,
        ),
        (
            {"order": list("BEAHGCDF"), "max_indegree": 6, "max_cycles": 10},
            2537.88150081386,
            {
                "A": "17.55 23.95",
                "C": "134.5 159.5 169.5 259 264.5",
                "D": "115.5",
                "E": "2764.5 3030 3923.5",
                "F": "14.05",
            },
            None,
            None,
        ),
    ],
)
def test_published_structures_and_cuts_of_auto_mpg_with_k2(options, score, cuts, edges, density):
    frame, kinds = published.auto_mpg()
    fitted = LDBN(kinds=kinds, **options).fit(frame)
    assert -fitted.score_ == pytest.approx(score, rel=1e-12)
    assert_cuts(fitted.cut_points_, cuts)
    assert fitted.network_.edges == fitted.edges_
    if edges is not None:
        assert fitted.edges_ == [tuple(edge) for edge in edges.split()]
    if density is not None:
        network = DiscretizedBayesNet.from_table(
            fitted.table_, fitted.edges_, fitted.cut_points_, pseudo_count=0.0
        )
        assert network.score(frame) == pytest.approx(density, abs=5e-7)


@pytest.mark.long
def test_k2_scores_of_auto_mpg_under_the_papers_rule_and_of_wine_and_housing():
    frame, kinds = published.auto_mpg()
    first = LDBN(
        kinds=kinds, order=list("BCEAGDFH"), max_indegree=2, max_cycles=5, cardinality_over="blanket"
    ).fit(frame)
    assert -first.score_ == pytest.approx(3099.2528, abs=5e-5)
    frame, kinds = published.wine()
    order = [published.LETTERS[i - 1] for i in (3, 4, 10, 12, 9, 14, 7, 2, 13, 1, 8, 5, 6, 11)]
    fitted = LDBN(kinds=kinds, order=order, max_indegree=13).fit(frame)
    assert -fitted.score_ == pytest.approx(1323.531721723849, rel=1e-12)
    frame, kinds = published.housing()
    order = [published.LETTERS[i - 1] for i in (2, 7, 12, 14, 6, 4, 3, 13, 8, 1, 10, 5, 11, 9)]
    fitted = LDBN(kinds=kinds, order=order, max_indegree=3).fit(frame)
    assert -fitted.score_ == pytest.approx(6544.756622389348, rel=1e-12)
    counts = {name: len(cuts) + 1 for name, cuts in fitted.cut_points_.items()}
    assert counts == dict(zip("ABCEFGHJKLMN", (9, 5, 14, 22, 4, 2, 3, 19, 19, 1, 3, 4)))


@pytest.mark.long
def test_ldbn_tries_random_orders_repeats_by_seed_and_takes_no_graph():
    frame, kinds = published.auto_mpg()
    first = LDBN(kinds=kinds, n_restarts=4, random_state=3, max_indegree=2).fit(frame)
    again = LDBN(kinds=kinds, n_restarts=4, random_state=3, max_indegree=2).fit(frame)
    assert first.n_restarts_ == 4
    assert first.stopped_by_ == "n_restarts"
    assert first.network_ == again.network_
    alone = LDBN(kinds=kinds, order=first.order_, max_indegree=2).fit(frame)
    assert alone.score_ == first.score_
    assert alone.n_restarts_ == 1
    assert first.score_ >= LDBN(kinds=kinds, n_restarts=1, random_state=3, max_indegree=2).fit(frame).score_
    assert max(len(first.network_.parents(name)) for name in first.network_.names) <= 2
    with pytest.raises(GomeaBnError, match="LDBN learns the graph itself"):
        first.fit(frame, network=[("A", "B")])
