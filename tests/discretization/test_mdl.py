"""MDL bins: against plain Python, brute force, published cuts, exploded data; what a fit ends in and refuses."""

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import published_tables
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdl_oracles import slow_information, slow_partition
from processor_time import at_most
from table_examples import copied_codes

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.discretization import MDLDiscretizer, description_length
from gomea_bn.discretization.mdl.description_length import Criterion
from gomea_bn.discretization.mdl.search import SEARCHES, ThresholdProblem
from gomea_bn.problems.cuts import CodedColumn, CodedFamily, CutColumn, Neighbourhood
from gomea_bn.simulation import random_network

Rows = Sequence[Sequence[int]]


@dataclass
class Example:
    """A variable, discrete neighbours, and who is parent, child, spouse."""

    values: list[float]
    discrete: list[list[int]]
    levels: list[int]
    parents: list[int]
    children: list[tuple[int, list[int]]]

    @property
    def middles(self) -> list[float]:
        distinct = sorted(set(self.values))
        return [a + (b - a) / 2 for a, b in itertools.pairwise(distinct)]

    def problem(self, criterion: str = "mdl") -> ThresholdProblem:
        coded = [CodedColumn(np.array(c, np.int32), r) for c, r in zip(self.discrete, self.levels)]
        families = tuple(
            CodedFamily(coded[c], tuple(coded[s] for s in spouses)) for c, spouses in self.children
        )
        around = Neighbourhood(tuple(coded[p] for p in self.parents), families)
        return ThresholdProblem(
            CutColumn.of_values(np.array(self.values)), around, Criterion(criterion, len(self.values))
        )

    def length(self, cuts: Sequence[float], criterion: str = "mdl") -> float:
        """Equation 14, term by term."""
        n, m, k = len(self.values), len(set(self.values)), len(cuts) + 1
        weight = 1.0 if criterion == "aic" else math.log(n) / 2
        bins = [sum(value > cut for cut in cuts) for value in self.values]
        pa = list(zip(*(self.discrete[p] for p in self.parents))) if self.parents else [()] * n
        total = weight * math.prod(self.levels[p] for p in self.parents) * (k - 1) - slow_information(
            bins, pa
        )
        for child, spouses in self.children:
            total += weight * k * math.prod(self.levels[s] for s in spouses) * (self.levels[child] - 1)
            rows = list(zip(bins, *(self.discrete[s] for s in spouses)))
            total -= slow_information(self.discrete[child], rows)
        return total + (slow_partition(m, k) + math.log(k) if criterion == "mdl" else 0.0)

    def slow_search(self, search: str) -> list[float]:
        """The searches from their definitions, every length counted again."""
        cuts = self.middles
        if search == "exact":
            every = [list(c) for k in range(len(cuts) + 1) for c in itertools.combinations(cuts, k)]
            return min(every, key=self.length)
        if search == "single-threshold":
            full = self.length(cuts)
            return [cut for cut in cuts if self.length([c for c in cuts if c != cut]) > full]
        if search == "split":
            current: list[float] = []
            while rest := [c for c in cuts if c not in current]:
                best = min((sorted([*current, c]) for c in rest), key=self.length)
                if self.length(best) >= self.length(current):
                    break
                current = best
            return current
        path = [cuts]
        while path[-1]:  # the length's other terms are the same for all that have as many cuts
            path.append(min(([c for c in path[-1] if c != cut] for cut in path[-1]), key=self.length))
        return min(path, key=self.length)


@st.composite
def examples(draw: st.DrawFn, *, max_rows: int = 24, max_values: int = 8) -> Example:
    n = draw(st.integers(2, max_rows))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = generator.integers(0, draw(st.integers(2, max_values)), n) / 2
    if len(set(values.tolist())) < 2:
        values[0], values[1] = 0.0, 1.0
    levels = [int(r) for r in generator.integers(1, 4, 5)]
    follow = generator.random(5) < 0.7
    discrete = [
        (
            (
                np.where(generator.random(n) < 0.8, values * 2, generator.integers(0, 9, n))
                if f
                else generator.integers(0, 9, n)
            )
            % r
        )
        .astype(int)
        .tolist()
        for f, r in zip(follow, levels)
    ]
    parents = draw(st.sampled_from([[], [0], [0, 1]]))
    families: list[list[tuple[int, list[int]]]]
    families = [[], [(2, [])], [(2, [3])], [(2, [3]), (4, [])], [(2, [0, 3])]]
    children = draw(st.sampled_from(families))
    return Example(values.tolist(), discrete, levels, parents, children)


@settings(max_examples=60)
@given(examples(), st.sampled_from(["mdl", "bic", "aic"]))
def test_the_local_length_is_equation_14(example, criterion):
    problem = example.problem(criterion)
    for cuts in ([], example.middles[:1], example.middles[::2], example.middles):
        assert problem.value(np.array(cuts)) == pytest.approx(example.length(cuts, criterion), abs=1e-8)


@settings(max_examples=60)
@given(examples())
def test_every_search_finds_what_its_plain_form_finds(example):
    """Lengths are compared, since ties may be broken either way; the exact one is brute force."""
    problem = example.problem()
    best = example.length(example.slow_search("exact"))
    for search in SEARCHES:
        result = problem.find(search)
        assert result is not None
        assert result.value == pytest.approx(example.length(result.cut_points.tolist()), abs=1e-8)
        assert result.value >= best - 1e-8
        if search == "exact":
            assert result.value == pytest.approx(best, abs=1e-8)


@pytest.mark.parametrize("search", ["merge", "split", "single-threshold"])
@pytest.mark.parametrize("seed", range(6))
def test_greedy_searches_take_the_plain_steps(search, seed):
    """Without ties: values, neighbours and counts are random enough for distinct losses."""
    generator = np.random.default_rng(seed)
    n = 60
    values = generator.integers(0, 14, n).astype(float)
    parent = np.where(generator.random(n) < 0.9, values > 6, generator.random(n) < 0.5).astype(int)
    spouse = generator.integers(0, 3, n)
    child = np.where(
        generator.random(n) < 0.85, (values > 3).astype(int) + spouse // 2, generator.integers(0, 3, n)
    )
    example = Example(
        values.tolist(), [parent.tolist(), spouse.tolist(), child.tolist()], [2, 3, 3], [0], [(2, [1])]
    )
    result = example.problem().find(search)
    assert result is not None
    assert result.cut_points.tolist() == example.slow_search(search)


@pytest.mark.parametrize("max_bins", [1, 2, 3])
def test_the_most_bins_hold_in_every_search(max_bins):
    generator = np.random.default_rng(5)
    values = np.repeat(np.arange(8.0), 40)
    child = (values // 2 + (generator.random(len(values)) < 0.1)).astype(int) % 4
    example = Example(values.tolist(), [child.tolist()], [4], [], [(0, [])])
    every = [c for k in range(max_bins) for c in itertools.combinations(example.middles, k)]
    for search in SEARCHES:
        result = example.problem().find(search, max_bins=max_bins)
        assert result is not None
        assert len(result.cut_points) < max_bins
        if search == "exact":
            assert result.value == pytest.approx(min(map(example.length, every)), abs=1e-8)


def test_a_grid_is_refined_down_to_neighbouring_values():
    values = np.random.default_rng(2).random(3000)
    child = (values > 0.3).astype(np.int32) + (values > 0.71)
    around = Neighbourhood((), (CodedFamily(CodedColumn(child, 3), ()),))
    problem = ThresholdProblem(CutColumn.of_values(values), around, Criterion("mdl", len(values)))
    coarse, fine = (problem.find(n_cells=n) for n in (12, 5000))
    assert coarse is not None
    assert fine is not None
    assert coarse.cut_points.tolist() == fine.cut_points.tolist()
    assert coarse.value == fine.value
    for cut, truth in zip(fine.cut_points, (0.3, 0.71)):
        assert values[values <= truth].max() < cut < values[values > truth].min()


MPG = (published_tables.auto_mpg, published_tables.AUTO_FAMILIES)
WINE = (published_tables.wine, published_tables.WINE_FAMILIES)
HOUSING = (published_tables.housing, published_tables.HOUSING_FAMILIES)


def published(case: tuple[Any, ...], variant: str) -> dict[str, list[float]]:
    load, families = case
    frame, kinds = load()
    learner = MDLDiscretizer(kinds=kinds, variant=variant, max_bins=255)
    fitted = learner.fit(frame, network=published_tables.family_edges(families))
    assert fitted.stopped_by_ == "fixpoint"
    return {name: np.round(cuts, 6).tolist() for name, cuts in fitted.cut_points_.items() if len(cuts)}


def test_published_cuts_of_auto_mpg_are_found():
    """A graph and cuts behind Chen, Wheeler & Kochenderfer (2017): their MDL finds nothing, the corrected one this."""
    assert published(MPG, "published") == {}
    assert published(MPG, "corrected") == {
        "C": [159.5, 264.5], "D": [70.5, 99.0, 123.5], "E": [2959.5], "F": [13.75, 16.05],
    }  # fmt: skip


def test_published_cuts_of_wine_are_found():
    assert published(WINE, "published") == {
        "B": [12.78], "C": [1.42, 2.235], "E": [17.9], "I": [0.395], "K": [3.46, 7.55], "L": [0.785],
        "M": [2.115, 2.505],
    }  # fmt: skip
    assert published(WINE, "corrected") == {
        "B": [12.78], "C": [1.42, 2.235], "D": [2.03], "E": [17.9], "F": [88.5], "G": [2.12],
        "H": [1.235, 2.1], "J": [1.245, 1.645], "K": [3.46, 7.55], "L": [0.785], "M": [2.505], "N": [755.0],
    }  # fmt: skip


def test_published_cuts_of_housing_are_found():
    assert {name: len(cuts) + 1 for name, cuts in published(HOUSING, "published").items()} == {"K": 7}


@pytest.mark.parametrize("as_target", [False, True])
def test_iris_has_the_same_cuts_by_target_and_by_naive_bayes(as_target):
    frame, kinds = published_tables.iris()
    if as_target:
        fitted = MDLDiscretizer().fit(frame.drop(columns="E"), frame["E"])
    else:
        fitted = MDLDiscretizer(kinds=kinds).fit(frame, network=[("E", name) for name in "ABCD"])
    cuts = {name: np.round(values, 6).tolist() for name, values in fitted.cut_points_.items()}
    assert cuts == {"A": [5.45, 6.15], "B": [2.95, 3.35], "C": [2.45, 4.75], "D": [0.8, 1.75]}


def exploded(n_rows: int, seed: int, n_fine: int = 5) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """A chain A -> B -> C of four values, each value then drawn as one of `n_fine` neighbouring ones."""
    generator = np.random.default_rng(seed)
    codes = copied_codes(generator, n_rows, 4, 0.6)
    fine = {name: v * n_fine + generator.integers(0, n_fine, n_rows) for name, v in zip("ABC", codes)}
    return pd.DataFrame(fine), [("A", "B"), ("B", "C")]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("seed", range(3))
def test_exploded_levels_are_put_together_again(search, seed):
    frame, edges = exploded(4000, seed)
    kinds = dict.fromkeys("ABC", "discrete")
    learner = MDLDiscretizer(search, kinds=kinds, aggregate_levels="ordered", start_bins=3)
    fitted = learner.fit(frame, network=edges)
    expected = tuple(tuple(range(5 * k, 5 * k + 5)) for k in range(4))
    assert fitted.level_groups_ == dict.fromkeys("ABC", expected)
    assert fitted.cut_points_ == {}
    assert (fitted.transform(frame).to_numpy() == frame.to_numpy() // 5).all()


@pytest.mark.parametrize("search", SEARCHES)
def test_exploded_numbers_are_cut_where_they_were_joined(search):
    frame, edges = exploded(4000, 7)
    learner = MDLDiscretizer(search, kinds=dict.fromkeys("ABC", "continuous"), start_bins=3)
    fitted = learner.fit(frame, network=edges)
    assert sorted(fitted.cut_points_) == list("ABC")
    for cuts in fitted.cut_points_.values():
        assert cuts.tolist() == [4.5, 9.5, 14.5]


@pytest.mark.parametrize(
    ("n_rows", "n_levels", "why"), [(4000, 2, "none is removed"), (4000, 6, "all are removed")]
)
def test_the_single_threshold_rule_warns_where_it_is_degenerate(n_rows, n_levels, why):
    x = np.random.default_rng(0).random(n_rows)
    y = np.minimum((x * n_levels).astype(int), n_levels - 1)
    frame = pd.DataFrame({"x": x, "y": pd.Categorical(y)})
    with pytest.warns(UserWarning, match=f"'x': .*{why}"):
        MDLDiscretizer("single-threshold").fit(frame, network=[("x", "y")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = MDLDiscretizer("single-threshold", n_cells=30).fit(frame, network=[("x", "y")])
        MDLDiscretizer("merge").fit(frame, network=[("x", "y")])
    assert len(fitted.cut_points_["x"]) >= n_levels - 1


def ordered_frame() -> pd.DataFrame:
    generator = np.random.default_rng(3)
    size = pd.CategoricalDtype(["xs", "s", "m", "l", "xl"], ordered=True)
    codes = generator.integers(0, 4, 600)  # "xl" never occurs
    return pd.DataFrame(
        {
            "size": pd.Categorical.from_codes(codes, dtype=size),
            "count": codes // 2 * 10,
            "colour": np.array(["red", "green", "blue"])[generator.integers(0, 3, 600)],
            "fits": codes >= 2,
        }
    )


EDGES = [("size", "fits"), ("colour", "size"), ("count", "size")]


def test_only_ordered_levels_are_grouped():
    frame = ordered_frame()
    before = frame.copy()
    fitted = MDLDiscretizer(aggregate_levels="ordered").fit(frame, network=EDGES)
    assert fitted.level_groups_ == {"size": (("xs", "s"), ("m", "l", "xl"))}
    codes = fitted.transform(frame)
    assert (codes["size"] == (frame["size"].cat.codes >= 2)).all()
    assert codes["colour"].tolist() == [["blue", "green", "red"].index(c) for c in frame["colour"]]
    assert MDLDiscretizer().fit(frame, network=EDGES).level_groups_ == {}
    named = MDLDiscretizer(aggregate_levels=["count"]).fit(frame, network=EDGES)
    assert named.level_groups_ == {"count": ((0,), (10,))}
    pd.testing.assert_frame_equal(frame, before)
    whole = MDLDiscretizer(aggregate_levels=["count"]).fit(read_table(frame), network=EDGES)
    assert whole.level_groups_ == named.level_groups_


@pytest.mark.parametrize(
    ("grouping", "message"),
    [
        (["colour"], "levels of column 'colour' have no order.*ordered=True"),
        (["colours"], "unknown column 'colours'. Did you mean 'colour'"),
        (["x"], "'x' is continuous"),
        ("sorted", "aggregate_levels must be None, 'ordered' or a list"),
        (3, "aggregate_levels must be None, 'ordered' or a list"),
    ],
)
def test_levels_without_order_are_refused(grouping, message):
    frame = ordered_frame().assign(x=np.linspace(0, 1, 600))
    with pytest.raises(GomeaBnError, match=message):
        MDLDiscretizer(aggregate_levels=grouping).fit(frame, network=EDGES)


def slow_total(
    codes: Sequence[Sequence[int]],
    cards: Sequence[int],
    values: Sequence[Any],
    parents: Sequence[Sequence[int]],
) -> float:
    """The whole description, from entropies; `values` is None for a variable that is not cut."""
    n, total = len(codes[0]), 0.0
    for v, members in enumerate(parents):
        rows = list(zip(*(codes[p] for p in members))) if members else [()] * n
        total += math.log(cards[v]) + (1 + len(members)) * math.log(len(codes))
        total += math.log(n) / 2 * math.prod(cards[p] for p in members) * (cards[v] - 1)
        pairs, whole = Counter(zip(rows, codes[v])), Counter(rows)
        total -= math.fsum(count * math.log(count / whole[row]) for (row, _), count in pairs.items())
        if values[v] is not None:
            inside, size = Counter(zip(codes[v], values[v])), Counter(codes[v])
            total += slow_partition(len(set(values[v])), cards[v])
            total -= math.fsum(count * math.log(count / size[code]) for (code, _), count in inside.items())
    return total


def test_the_whole_length_is_that_of_its_parts():
    truth = random_network(5, random_state=4)
    frame = truth.sample(300, random_state=1)
    kinds = dict.fromkeys(truth.cut_points, "continuous")
    fitted = MDLDiscretizer(kinds=kinds, start_bins=3, max_cycles=1).fit(frame, network=truth.edges)
    codes = fitted.transform(frame)
    names = truth.names
    cards = [
        len(fitted.cut_points_[name]) + 1 if name in kinds else len(fitted.levels_[name]) for name in names
    ]
    slow = slow_total(
        [codes[name].tolist() for name in names],
        cards,
        [frame[name].tolist() if name in kinds else None for name in names],
        [[names.index(p) for p in truth.parents(name)] for name in names],
    )
    assert fitted.description_length_.total == pytest.approx(slow, rel=1e-12)
    assert fitted.history_[-1].objective == pytest.approx(slow, rel=1e-12)
    network = DiscretizedBayesNet.from_table(fitted.table_, truth.edges, fitted.cut_points_)
    assert description_length(network, frame) == fitted.description_length_
    bic = description_length(network, frame, criterion="bic")
    assert (bic.partitions, bic.graph) == (0.0, 0.0)
    assert bic.recovery == fitted.description_length_.recovery


def test_the_whole_length_counts_groups_of_levels():
    frame = ordered_frame()
    fitted = MDLDiscretizer(aggregate_levels="ordered").fit(frame, network=EDGES)
    network = DiscretizedBayesNet.from_table(fitted.table_, EDGES, {})
    grouped = description_length(network, frame, level_groups=fitted.level_groups_)
    assert grouped == fitted.description_length_
    assert grouped.total < description_length(network, frame).total
    for groups, message in (
        ({"size": [["s"], ["xs", "m", "l", "xl"]]}, "must hold its levels"),
        ({"siz": [["s"]]}, "unknown discrete variable 'siz'. Did you mean 'size'"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            description_length(network, frame, level_groups=groups)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 60), st.sampled_from(SEARCHES), st.sampled_from([None, 4]))
def test_the_description_never_grows_and_ends_in_a_fixpoint(seed, n_rows, search, n_cells):
    truth = random_network(5, random_state=seed)
    frame = truth.sample(n_rows, random_state=seed)
    frame["tied"] = (frame[next(iter(truth.cut_points))] * 3).round() * 2 + np.arange(n_rows) % 2
    discrete = [c for c in truth.levels if frame[c].nunique() > 1]
    frame = frame[[*truth.cut_points, *discrete, "tied"]]
    edges = [(a, b) for a, b in truth.edges if a in frame and b in frame] + [
        ("tied", next(iter(truth.cut_points)))
    ]
    kinds = {"tied": "continuous"}
    options: dict[str, Any] = {"kinds": kinds, "n_cells": n_cells}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = MDLDiscretizer(search, **options).fit(frame, network=edges)
        again = MDLDiscretizer(search, start="network", **options).fit(
            frame, network=DiscretizedBayesNet.from_table(fitted.table_, edges, fitted.cut_points_)
        )
    lengths = [entry.objective for entry in fitted.history_]
    assert all(b <= a for a, b in itertools.pairwise(lengths))
    assert fitted.description_length_.total == pytest.approx(lengths[-1], rel=1e-9)
    assert fitted.stopped_by_ == "fixpoint"
    for name, cuts in fitted.cut_points_.items():
        assert ((cuts > frame[name].min()) & (cuts < frame[name].max())).all()
    if search == "exact" and n_cells is not None:
        # the grids of a coarse search are laid around the cuts it starts from, so a new start may find better ones
        assert again.history_[-1].objective <= lengths[-1] * (1 + 1e-12)
        return
    assert len(again.history_) == 1
    assert {name: cuts.tolist() for name, cuts in again.cut_points_.items()} == {
        name: cuts.tolist() for name, cuts in fitted.cut_points_.items()
    }


def test_the_exact_search_ends_lower_than_the_greedy_ones_on_one_column():
    for seed in range(20):
        generator = np.random.default_rng(seed)
        x = generator.random(150)
        y = np.where(generator.random(150) < 0.8, (x * 8).astype(int) % 3, generator.integers(0, 3, 150))
        frame = pd.DataFrame({"x": x, "y": pd.Categorical(y)})
        lengths = {
            search: MDLDiscretizer(search, n_cells=150)
            .fit(frame, network=[("x", "y")])
            .description_length_.total
            for search in ("exact", "merge", "split")
        }
        assert lengths["exact"] <= min(lengths.values()) + 1e-9


def test_fixed_cuts_and_start_cuts_come_from_the_network():
    truth = random_network(4, random_state=2)
    frame = truth.sample(400, random_state=2)
    name = next(iter(truth.cut_points))
    table = read_table(frame, kinds=dict.fromkeys(truth.cut_points, "continuous"))
    network = DiscretizedBayesNet.from_table(
        table, truth.edges, truth.cut_points, metadata={"fixed_cut_points": [name]}
    )
    fitted = MDLDiscretizer().fit(frame, network=network)
    assert np.array_equal(fitted.cut_points_[name], truth.cut_points[name])


def test_columns_without_neighbours_get_one_bin_and_a_warning():
    frame = pd.DataFrame({"x": np.arange(30.0), "y": np.arange(30.0) ** 2})
    for search in SEARCHES:
        with pytest.warns(UserWarning, match="No column has a neighbour"):
            fitted = MDLDiscretizer(search).fit(frame)
        assert [len(cuts) for cuts in fitted.cut_points_.values()] == [0, 0]
        assert (fitted.transform(frame) == 0).all(axis=None)


@pytest.mark.parametrize("search", SEARCHES)
def test_tiny_and_tied_tables_are_cut(search):
    two = pd.DataFrame({"x": [0.5, 1.5], "y": ["a", "b"]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert len(MDLDiscretizer(search).fit(two, network=[("x", "y")]).cut_points_["x"]) <= 1
    near = np.nextafter(1.0, 2.0)
    tied = pd.DataFrame(
        {"x": [1.0] * 50 + [near] * 50 + [2.0] * 50, "y": list("a" * 50 + "b" * 50 + "a" * 50)}
    )
    fitted = MDLDiscretizer(search).fit(tied, network=[("x", "y")])
    assert fitted.cut_points_["x"].tolist() in ([near], [1.5])  # no float lies between the first two values


@pytest.mark.sample(2)
@pytest.mark.parametrize("search", SEARCHES)
def test_fifty_thousand_rows_take_seconds(search):
    truth = random_network(5, random_state=1)
    frame = truth.sample(50_000, random_state=1)
    MDLDiscretizer().compile()
    with at_most(8), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fitted = MDLDiscretizer(search).fit(frame, network=truth.edges)
    assert list(fitted.cut_points_) == list(truth.cut_points)
    if search != "single-threshold":
        assert {name: len(cuts) for name, cuts in fitted.cut_points_.items()} == {
            name: len(cuts) for name, cuts in truth.cut_points.items()
        }


def test_the_deadline_holds():
    truth = random_network(12, random_state=1)
    frame = truth.sample(50_000, random_state=1)
    whole = MDLDiscretizer(n_cells=3000, max_seconds=0.4)
    whole.compile()
    with at_most(1.5):
        fitted = whole.fit(frame, network=truth.edges)
    assert fitted.stopped_by_ == "max_seconds"
    lengths = [entry.objective for entry in fitted.history_]
    assert lengths == sorted(lengths, reverse=True)


def test_cycles_may_be_limited_and_ordered():
    truth = random_network(6, random_state=3)
    frame = truth.sample(500, random_state=3)
    fitted = MDLDiscretizer(max_cycles=1).fit(frame, network=truth.edges)
    assert (fitted.n_cycles_, fitted.stopped_by_) == (1, "max_cycles")
    names = list(truth.cut_points)
    assert MDLDiscretizer(order=names[::-1]).fit(frame, network=truth.edges).stopped_by_ == "fixpoint"
    for order, message in (
        (names[1:], "order must name every column that is cut or grouped once; it lacks"),
        (["X99"], "'X99' is not a column that is cut or grouped"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            MDLDiscretizer(order=order).fit(frame, network=truth.edges)
