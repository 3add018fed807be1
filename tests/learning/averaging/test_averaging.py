"""Conditionals learned from rows: their tables, their seed, few rows, what is refused."""

import math

import numpy as np
import pandas as pd
import pytest
from averaged_examples import QUICK, conditionals_of, linear_frame, network_of, network_of_tables
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnError, average_families, read_table
from gomea_bn.network.conditionals.cells import table_over_rows
from gomea_bn.network.smoothing import PseudoCount


@pytest.mark.parametrize("pseudo_count", [0.0, 2.0, "auto"])
@pytest.mark.parametrize("shaped", [False, True])
def test_copies_have_the_graph_and_the_counted_tables(pseudo_count: PseudoCount, shaped: bool) -> None:
    frame = linear_frame(120)
    network = network_of(frame, [("x", "y"), ("c", "y")], shaped=shaped, pseudo_count=pseudo_count)
    averaged = average_families(network, frame, n_copies=5)
    known = conditionals_of(averaged)
    assert averaged.edges == network.edges
    np.testing.assert_equal(averaged.cut_points, network.cut_points)
    assert known.n_rows == 120
    assert len(known.copies) == 5
    assert len({tuple(copy.cut_points["y"].tolist()) for copy in known.copies}) > 1
    table_of_rows = read_table(frame)
    for copy in known.copies:
        assert network_of_tables(network, copy) == DiscretizedBayesNet.from_table(
            table_of_rows, network.edges, copy.cut_points, pseudo_count=pseudo_count, shapes=network.shapes
        )
    assert np.isfinite(averaged.score(frame))
    for name, table in averaged.tables.items():
        assert table.shape == network.tables[name].shape
        rows = {column.name: column.values for column in table_of_rows.columns}
        expected = table_over_rows(averaged, name, averaged.cut_points, rows)
        np.testing.assert_allclose(table, expected, rtol=1e-9)


def test_the_seed_decides_the_cuts() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")])
    first, again = (average_families(network, frame, n_copies=3, random_state=7) for _ in range(2))
    assert first == again
    assert first == average_families(network, read_table(frame), n_copies=3, random_state=7)
    assert first != average_families(network, frame, n_copies=3, random_state=8)


@pytest.mark.parametrize("shaped", [False, True])
def test_networks_without_edges_and_with_one_copy(shaped: bool) -> None:
    frame = linear_frame(50)
    averaged = average_families(network_of(frame, [], shaped=shaped), frame, n_copies=1)
    (copy,) = conditionals_of(averaged).copies
    assert conditionals_of(averaged).lines == {}
    assert np.isfinite(averaged.score(frame))
    assert averaged.log_density(frame) == pytest.approx(network_of_tables(averaged, copy).log_density(frame))
    assert DiscretizedBayesNet.from_json(averaged.to_json()) == averaged


@pytest.mark.parametrize("shaped", [False, True])
def test_tables_of_ten_rows(shaped: bool) -> None:
    frame = linear_frame(10)
    for edges in ([("x", "y"), ("c", "y")], [("x", "y"), ("z", "y"), ("y", "c")]):
        averaged = average_families(network_of(frame, edges, n_bins=2, shaped=shaped), frame)
        assert np.isfinite(averaged.log_density(frame)).all()
        assert np.isfinite(averaged.log_density(averaged.sample(200, random_state=0))).all()


def test_discrete_networks_are_their_own_average() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 100)
    frame = pd.DataFrame({"a": a.astype(str), "b": np.where(rng.random(100) < 0.7, a, 0).astype(str)})
    network = BayesNetLearner(scoring_method="bdeu", density="bins", **QUICK).fit(frame).network_
    averaged = average_families(network, frame, n_copies=2)
    assert [network_of_tables(network, copy) for copy in conditionals_of(averaged).copies] == [network] * 2
    for name, computed in averaged.tables.items():
        np.testing.assert_allclose(computed, network.tables[name], rtol=1e-12)
    assert averaged.log_density(frame) == pytest.approx(network.log_density(frame))
    assert averaged.sample(5, random_state=0).shape == (5, 2)
    assert DiscretizedBayesNet.from_json(averaged.to_json()) == averaged


def test_mixed_shapes_and_points() -> None:
    table = shaped_table(200)
    averaged = average_families(shaped_network(table), table, n_copies=4)
    frame = table.to_frame()
    assert np.isfinite(averaged.log_density(frame)).all()
    assert averaged.shapes.keys() == {"cause", "rain", "tail"}


def test_a_wider_support_than_the_rows_is_kept() -> None:
    frame = linear_frame(100)
    network = network_of(frame, [("x", "y")], shaped=False)
    wide = DiscretizedBayesNet(
        network.names,
        network.edges,
        cut_points=network.cut_points,
        support={name: (low - 1, high + 1) for name, (low, high) in network.support.items()},
        levels=network.levels,
        tables=network.tables,
        pseudo_count=network.pseudo_count,
    )
    averaged = average_families(wide, frame)
    assert averaged.support == wide.support
    beyond = frame[:1].assign(y=wide.support["y"][1])
    bins = average_families(wide, frame, line="none").log_density_terms(beyond)["y"]
    share = 1 - conditionals_of(averaged).lines["y"].weight
    assert averaged.log_density_terms(beyond)["y"] == pytest.approx(bins + math.log(share))


def test_wrong_input_is_refused() -> None:
    frame = linear_frame(50)
    network = network_of(frame, [("x", "y")])
    for arguments, options, message in (
        ((5, frame), {}, "network must be a DiscretizedBayesNet, got int"),
        ((network, 5), {}, "A table must be a Table, .* got int"),
        ((network, frame), {"n_copies": 0}, "n_copies must be an integer of at least 1, got 0"),
        ((network, frame), {"line": "yes"}, "line must be one of 'auto', 'none', got 'yes'"),
        ((network, frame), {"random_state": "x"}, "random_state"),
        ((network, frame.drop(columns="y")), {}, "no column 'y'"),
        (
            (network, frame.assign(x=2 * frame["x"])),
            {},
            r"Column 'x' has values from .* to .*, and the network's range is from .*; give the rows",
        ),
    ):
        with pytest.raises(GomeaBnError, match=message):
            average_families(*untyped(arguments), **untyped(options))
