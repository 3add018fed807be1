"""Tables of a network with conditionals that are computed when asked, budgets of cells, and what tables lose."""

import json
import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from averaged_examples import EDGES, averaged_example, conditionals_of, copy_with, linear_frame, network_of
from conditional_oracles import random_conditionals_network
from learning_inside import of_families
from network_examples import network_with

from gomea_bn import DiscretizedBayesNet, GomeaBnError, GomeaBnWarning, average_families
from gomea_bn.network import shown_tables
from gomea_bn.network.compilation import table_loss
from gomea_bn.network.conditionals import Conditionals, FamilyEffects, FamilyTable, Stack, TableSet
from gomea_bn.network.conditionals.kinds import KINDS

N = 200_000


def without_tables(network: DiscretizedBayesNet, *kept: str) -> DiscretizedBayesNet:
    """Return a network that holds some tables alone."""
    return network.changed(tables={name: network.stored_tables[name] for name in kept})


def frequencies(network: DiscretizedBayesNet, name: str, parents: tuple[str, ...]) -> tuple[Any, Any]:
    """Return frequencies of the bins of a variable given those of parents in drawn rows, and numbers of rows."""
    codes = network.discretize(network.sample(N, 1, values="numbers"))
    shape = tuple(network.cardinality(member) for member in (*parents, name))
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes[member].to_numpy() for member in (*parents, name)), 1)
    totals = counts.sum(axis=-1, keepdims=True)
    return counts / np.maximum(totals, 1), totals


@pytest.mark.parametrize("kind", [None, *KINDS], ids=lambda kind: "tables" if kind is None else kind.__name__)
def test_computed_tables_are_the_frequencies_of_draws(kind):
    network = without_tables(random_conditionals_network(7, kind))
    assert network.stored_tables == {}
    for name in network.names:
        expected, totals = frequencies(network, name, network.parents(name))
        table = network.tables[name]
        assert table.shape == expected.shape
        np.testing.assert_allclose(table.sum(axis=-1), 1.0)
        is_known = np.broadcast_to(totals > 2000, table.shape)
        # 20,000 rows decide how parents are distributed in a cell
        errors = 5 * np.sqrt(0.25 / np.maximum(totals, 1) + 0.25 / np.maximum(totals / 10, 1))
        assert (np.abs(table - expected) < errors)[is_known].all()


def test_some_parents_have_the_frequencies_of_draws():
    network = averaged_example()
    for parents in (("a",), ("p", "g"), ()):
        frame = network.table("b", parents)
        ordered = tuple(parent for parent in network.parents("b") if parent in parents)
        expected, totals = frequencies(network, "b", ordered)
        assert list(frame.columns) == list(network.bin_labels("b"))
        assert list(frame.index.names) == [*ordered] or not ordered
        errors = 5 * np.sqrt(0.25 / np.maximum(totals, 1) + 0.25 / np.maximum(totals / 10, 1))
        found = frame.to_numpy().reshape(expected.shape)
        assert (np.abs(found - expected) < np.broadcast_to(errors, found.shape)).all()
    # all of them, over the shown bins, are what the network holds
    np.testing.assert_array_equal(
        network.table("b"), network.tables["b"].reshape(-1, network.cardinality("b"))
    )
    # in other cells
    frame = network.table("c", cells={"c": 3, "b": [5.5, 6.0]})
    assert frame.shape == (3, 3)
    assert frame.index[1] == "(5.5, 6]"
    assert copy_with(1).table("d").shape == (copy_with(1).cardinality("c"), 3)


def test_the_order_of_columns_files_and_copies_keep_computed_tables():
    network = without_tables(averaged_example(), "a", "g")
    tables = dict(network.tables)
    assert set(network.stored_tables) == {"a", "g"}
    ordered = network.in_order(network.names[::-1])
    for name, table in tables.items():
        parents, others = network.parents(name), ordered.parents(name)
        axes = [*(parents.index(parent) for parent in others), len(parents)]
        np.testing.assert_allclose(ordered.tables[name], table.transpose(axes), atol=1e-12)
    text = network.to_json()
    assert {of["name"] for of in json.loads(text)["variables"] if "table" in of} == {"a", "g"}
    for other in (DiscretizedBayesNet.from_json(text), pickle.loads(pickle.dumps(network))):
        assert other == network
        assert other.stored_tables.keys() == network.stored_tables.keys()
        for name, table in tables.items():
            np.testing.assert_array_equal(other.tables[name], table)
    of_tables = network.of_tables()
    assert of_tables.conditionals is None
    assert all((of_tables.tables[name] == table).all() for name, table in tables.items())
    code = np.searchsorted(network.cut_points["b"], 6.0)
    assert network.do({"b": 6.0}).tables["b"].tolist() == np.eye(network.cardinality("b"))[code].tolist()


def test_columns_without_any_table_are_answered_about():
    """Their cells are placed by drawn rows."""
    networks = [random_conditionals_network(seed, FamilyEffects, alone=True) for seed in range(4)]
    for network in networks:
        bare = without_tables(network)
        given = {"x": float(np.mean(network.support["x"])), "g": "k"}
        for evidence in ({}, given):
            found, expected = (one.query("y", evidence).to_numpy() for one in (bare, network))
            np.testing.assert_allclose(found, expected, atol=0.01)
        rows = network.sample(20, 3, values="numbers").assign(w=np.nan)
        np.testing.assert_allclose(bare.log_density(rows), network.log_density(rows), atol=0.02)


def test_only_conditionals_can_stand_for_tables():
    network = averaged_example()
    with pytest.raises(GomeaBnError, match=r"tables must have an entry for 'b', got none"):
        copy_with(1).changed(tables={n: t for n, t in network.tables.items() if n != "b"})
    text = network.of_tables().to_json().replace('"table"', '"spare"', 1)
    with pytest.raises(GomeaBnError, match="table"):
        DiscretizedBayesNet.from_json(text)
    with pytest.raises(KeyError):
        without_tables(network).tables["v"]


def test_a_table_that_is_too_large_is_refused(monkeypatch):
    network = without_tables(averaged_example())
    monkeypatch.setattr(shown_tables, "MOST_COMPUTED_CELLS", 10)
    with pytest.raises(GomeaBnError, match=r"The table of 'b' .* the limit is 10. Use table\('b', parents\)"):
        network.tables["b"]
    with pytest.raises(GomeaBnError, match="more than max_cells, 5"):
        network.table("b", max_cells=5)
    for parents, cells in ((["c"], None), (["a"], {"p": 3}), (["a"], {"a": [9.0]}), (["a"], {"g": 2})):
        with pytest.raises(GomeaBnError):
            network.table("b", parents, cells=cells)


@pytest.mark.parametrize("kept", [("a", "g", "p", "b", "c", "d"), ("a",)])
def test_a_compiled_network_keeps_its_budget(kept):
    network = without_tables(averaged_example(), *kept)
    assert network.compiled() == network.of_tables()
    sizes = sum(table.size for table in network.tables.values())
    for budget in (sizes - 1, sizes // 2, 26):
        compiled = network.compiled(budget)
        assert compiled.conditionals is None
        assert sum(table.size for table in compiled.tables.values()) <= budget
        record = compiled.metadata["compiled"]
        for name in network.cut_points:
            fewer = set(compiled.cut_points[name]) < set(network.cut_points[name])
            assert fewer == (name in record["merged"])
        left_out = [tuple(edge) for edge in record["left_out"]]
        assert sorted([*compiled.edges, *left_out]) == sorted(EDGES)
        for name, table in compiled.tables.items():
            assert table.shape == tuple(compiled.cardinality(n) for n in (*compiled.parents(name), name))
    # the first to go is the parent with the least share
    least = network.column_effects("b").effects[::-1]
    merged = network.compiled(sizes - 1).metadata["compiled"]["merged"]
    assert merged == [next(one.parent for one in least if len(network.cut_points.get(one.parent, ())) > 1)]
    with pytest.raises(GomeaBnError, match="max_cells must be at least"):
        network.compiled(5)
    tables = copy_with(1)
    assert tables.compiled(5) is tables


def test_tables_lose_what_the_densities_say():
    network = averaged_example()
    rows = network.sample(20_000, 3, values="numbers")
    expected = network.log_density(rows) - network.of_tables().log_density(rows)
    nats, _ = table_loss(network, network.of_tables())
    assert nats == pytest.approx(expected.mean(), abs=5 * np.sqrt(2) * expected.std() / np.sqrt(20_000))
    assert nats > 0
    assert table_loss(network, network.compiled(26))[0] > nats
    # tables lose nothing against themselves
    of_tables = network.of_tables()
    assert table_loss(of_tables, of_tables) == (0.0, pytest.approx(0.0, abs=0.002))


def chain() -> DiscretizedBayesNet:
    """Return a -> b -> c, each nearly equal to the one before, with two wide bins and exact tables of eight."""
    names, fine = ("a", "b", "c"), np.arange(1, 8) / 8
    near = np.full((8, 8), 0.01) + 0.92 * np.eye(8)
    copy = TableSet(
        dict.fromkeys(names, fine),
        {"a": (), "b": ("a",), "c": ("b",)},
        {"a": np.full(8, 1 / 8), "b": near, "c": near},
    )
    network = network_with(
        names,
        [("a", "b"), ("b", "c")],
        cut_points={name: [0.3] for name in names},
        support=dict.fromkeys(names, (0.0, 1.0)),
        tables={"a": [0.5, 0.5], "b": np.full((2, 2), 0.5), "c": np.full((2, 2), 0.5)},
    )
    return without_tables(network.changed(conditionals=Conditionals.of_tables([copy], n_rows=100)))


@pytest.mark.parametrize("write", ["to_bif", "to_xdsl", "to_net", "to_pyagrum", "to_pgmpy"])
def test_writers_warn_of_what_tables_lose(write):
    network = chain()
    with pytest.warns(
        GomeaBnWarning, match=r"The tables lose [.\d]+ nats a row. Prob.* differ by up to 0.\d+"
    ):
        getattr(network, write)()
    # tables alone lose nothing
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(network.of_tables(), write)()
        getattr(network.compiled(), write)()


def test_tables_without_parents_lose_nothing_more():
    """A column whose table has none of its parents is the same in all rows."""
    network = chain()
    known = conditionals_of(network)
    [(_, fitted)] = known.stacks["c"].members
    assert isinstance(fitted, FamilyTable)
    table = replace(fitted.tables[0], parents=(), cuts_of_parents={}, table=np.full(8, 1 / 8), counts=None)
    alone = network.changed(
        conditionals=known.changed(stacks={**known.stacks, "c": Stack.of(FamilyTable((table,)))})
    )
    nats, difference = table_loss(alone, alone.of_tables())
    nats_of_whole, difference_of_whole = table_loss(network, network.of_tables())
    assert 0 < nats < nats_of_whole
    assert difference < difference_of_whole


def test_files_within_a_budget_say_what_is_gone():
    network = averaged_example()
    with pytest.warns(GomeaBnWarning, match=r"bins of .* are merged.*Edges are left out: .* → b"):
        text = network.to_bif(max_cells=26)
    with pytest.warns(GomeaBnWarning):
        assert text == network.compiled(26).to_bif() == network.to_bif(max_cells=26)


def test_fits_hold_small_tables_alone(monkeypatch):
    frame = linear_frame(150)
    network = network_of(frame, [("x", "y"), ("c", "y"), ("z", "c")])
    whole = average_families(network, frame, n_copies=2)
    assert set(whole.stored_tables) == set(network.names)
    monkeypatch.setattr(of_families, "MOST_SHOWN_CELLS", 12)
    small = average_families(network, frame, n_copies=2)
    assert (
        set(small.stored_tables)
        == {n for n in network.names if whole.tables[n].size <= 12}
        < set(network.names)
    )
    assert conditionals_of(small) == conditionals_of(whole)
    # drawn rows are distributed about as those of the table
    np.testing.assert_allclose(small.tables["y"], whole.tables["y"], atol=0.25)
