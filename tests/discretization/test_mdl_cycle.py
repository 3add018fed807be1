"""MDL bins and groups of levels over whole tables: what a fit ends in, and what it refuses."""

import itertools
import math
import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mdl_oracles import slow_partition
from processor_time import at_most

from gomea_bn.data.table import read_table
from gomea_bn.discretization import discretizer
from gomea_bn.discretization.mdl.description_length import description_length
from gomea_bn.discretization.mdl.mdl import MDLDiscretizer
from gomea_bn.discretization.mdl.search import SEARCHES
from gomea_bn.errors import GomeaBnError
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.simulation.random_networks import random_network


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


def test_columns_with_one_value_are_not_cut():
    frame = pd.DataFrame({"x": np.ones(20), "y": np.arange(20.0)})
    with pytest.warns(UserWarning, match="'x' is 1 in"):
        assert list(MDLDiscretizer().fit(frame, network=[("x", "y")]).cut_points_) == ["y"]


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
    other = MDLDiscretizer(order=names[::-1]).fit(frame, network=truth.edges)
    assert other.stopped_by_ == "fixpoint"
    for order, message in (
        (names[1:], "order must name every column that is cut or grouped once; it lacks"),
        (["X99"], "'X99' is not a column that is cut or grouped"),
    ):
        with pytest.raises(GomeaBnError, match=message):
            MDLDiscretizer(order=order).fit(frame, network=truth.edges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"search": "exakt"}, "search must be one of .*Did you mean 'exact'"),
        ({"criterion": "bdeu"}, "criterion must be one of"),
        ({"variant": 1}, "variant must be one of"),
        ({"start": "random"}, "start must be one of"),
        ({"max_bins": 0}, "max_bins must be an integer from 1 to 255"),
        ({"max_bins": 256}, "max_bins must be an integer from 1 to 255"),
        ({"n_cells": 1}, "n_cells must be an integer of at least 2 or None"),
        ({"start_bins": 2.5}, "start_bins must be an integer from 1 to 255 or None"),
        ({"max_cycles": 0}, "max_cycles must be an integer of at least 1 or None"),
        ({"max_seconds": 0}, "max_seconds must be a finite number above 0 or None"),
        ({"variant": "published", "criterion": "bic"}, "variant='published' needs criterion='mdl'"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    frame = pd.DataFrame({"x": np.arange(20.0), "y": np.arange(20.0)})
    with pytest.raises(GomeaBnError, match=message):
        MDLDiscretizer(**options).fit(frame, network=[("x", "y")])


def test_mdl_is_made_by_its_name():
    made = discretizer("mdl", search="merge", n_cells=50)
    assert isinstance(made, MDLDiscretizer)
    assert made.get_params()["n_cells"] == 50
    assert repr(made) == "MDLDiscretizer(search='merge', n_cells=50)"
