"""Edges that tables leave out: the graph has them, densities, answers and exports do not."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError, average_families
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.expert.distance import draw_expert_sample
from gomea_bn.expert.expert_network import ExpertNetwork
from gomea_bn.learning.cuts.refinement import refine_boundaries
from gomea_bn.network.distributions.marginals import marginal
from gomea_bn.review.page_data import network_data


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 400))
    c = a + b + 0.3 * rng.normal(size=400)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": np.where(c > 0, "high", "low")})


EDGES = [("a", "c"), ("b", "c"), ("a", "d"), ("c", "d")]
CUTS = {"a": [-0.5, 0.5], "b": [0.0], "c": [-1.0, 0.0, 1.0]}


@pytest.fixture(scope="module")
def network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    return DiscretizedBayesNet.from_table(frame, EDGES, CUTS, curve_edges=[("b", "c"), ("a", "d")])


@pytest.fixture(scope="module")
def tables(frame: pd.DataFrame) -> DiscretizedBayesNet:
    """The network that never had the curve edges."""
    return DiscretizedBayesNet.from_table(frame, [("a", "c"), ("c", "d")], CUTS)


def test_the_graph_has_all_edges_and_the_tables_have_the_others(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet
) -> None:
    assert network.edges == sorted(EDGES, key=lambda edge: (edge[1], edge[0]))
    assert network.curve_edges == [("b", "c"), ("a", "d")]
    assert network.parents("c") == ("a", "b")
    assert network.table_parents("c") == ("a",)
    assert network.adjacency_matrix.sum() == 4
    assert not network.d_separated("b", "c")
    assert network.without_curve_edges() == tables
    assert tables.without_curve_edges() is tables
    assert network != tables
    for name, table in tables.tables.items():
        assert np.array_equal(network.tables[name], table)


def test_densities_samples_and_answers_are_those_of_the_tables(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, frame: pd.DataFrame
) -> None:
    assert np.array_equal(network.log_density(frame), tables.log_density(frame))
    assert network.sample(50, 1).equals(tables.sample(50, 1))
    first, second = (each.query("b", {"c": 2.0}).to_numpy() for each in (network, tables))
    assert np.array_equal(first, second)
    assert np.array_equal(marginal(network, "d").probabilities, marginal(tables, "d").probabilities)
    with_gap = frame.head(20).assign(a=np.nan)
    assert np.array_equal(network.log_density(with_gap), tables.log_density(with_gap))


def test_an_intervention_removes_the_curve_edges_of_what_it_sets(network: DiscretizedBayesNet) -> None:
    after = network.do({"c": 0.5})
    assert after.edges == [("a", "d"), ("c", "d")]
    assert after.curve_edges == [("a", "d")]
    with pytest.warns(GomeaBnWarning, match="leave out b → c, so answers .* lack the effect along this edge"):
        network.do({"b": 0.5})


def test_files_and_pickles_keep_curve_edges(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet
) -> None:
    again = DiscretizedBayesNet.from_json(network.to_json())
    assert again == network
    assert again.to_json() == network.to_json()
    assert pickle.loads(pickle.dumps(network)) == network
    assert hash(pickle.loads(pickle.dumps(network))) == hash(network)
    assert "table_parents" not in tables.to_json()


def test_a_file_with_wrong_table_parents_is_an_error(network: DiscretizedBayesNet) -> None:
    content = json.loads(network.to_json())
    content["variables"][2]["table_parents"] = ["d"]
    with pytest.raises(GomeaBnError, match="table_parents must be some of its parents"):
        DiscretizedBayesNet.from_json(json.dumps(content))


@pytest.mark.parametrize("edge", [("c", "a"), ("a", "b")])
def test_a_curve_edge_must_be_an_edge(frame: pd.DataFrame, edge: tuple[str, str]) -> None:
    with pytest.raises(GomeaBnError, match=r"curve_edges: .* is not an edge of the network"):
        DiscretizedBayesNet.from_table(frame, EDGES, CUTS, curve_edges=[edge])


@pytest.mark.parametrize("method", ["to_bif", "to_pyagrum", "to_pgmpy"])
def test_exports_leave_curve_edges_out_and_say_so(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet, method: str
) -> None:
    if method != "to_bif":
        pytest.importorskip(method.removeprefix("to_"))
    with pytest.warns(GomeaBnWarning, match="leaves out 2 edges that only curves need: b → c, a → d"):
        getattr(network, method)()
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        getattr(network.without_curve_edges(), method)()
    if method == "to_bif":
        with pytest.warns(GomeaBnWarning):
            assert network.to_bif() == tables.to_bif()


def test_drawings_mark_curve_edges(network: DiscretizedBayesNet) -> None:
    dot = network.to_dot()
    assert dot.count("style=dashed") == 2
    assert "n1 -> n2 [style=dashed];" in dot
    assert "style" not in network.without_curve_edges().to_dot()
    graph = network.to_networkx()
    assert [edge for *edge, curve in graph.edges(data="curve") if curve] == [["a", "d"], ["b", "c"]]


def test_the_reason_of_a_curve_edge_names_the_curve(network: DiscretizedBayesNet) -> None:
    reasons = network.why(("b", "c"))
    assert reasons.only_curves
    assert reasons.mutual_information == pytest.approx(0.0, abs=1e-12)
    assert "follows a curve of b" in str(reasons)
    assert network.why(("a", "d")).mutual_information > 0.01
    assert not network.why(("a", "c")).only_curves


def test_averages_leave_curve_edges_out_of_tables_and_have_them_in_lines(
    network: DiscretizedBayesNet, frame: pd.DataFrame
) -> None:
    averaged = average_families(network, frame, n_copies=3)
    assert averaged.network is network
    for each in averaged.copies:
        assert each.curve_edges == network.curve_edges
        assert each.tables["c"].ndim == 2
    # the bins see one parent, the line both
    assert averaged.lines["c"].parents == ("a", "b")
    assert averaged.score(frame) > average_families(network, frame, line="none").score(frame) + 0.5
    again = type(averaged).from_json(averaged.to_json())
    assert again == averaged
    assert np.array_equal(again.log_density(frame), averaged.log_density(frame))
    drawn = averaged.sample(2_000, random_state=0)
    assert abs((drawn["c"] - drawn["a"] - drawn["b"]).std() - 0.3) < 0.1


def test_refinement_keeps_curve_edges(network: DiscretizedBayesNet, frame: pd.DataFrame) -> None:
    refined = refine_boundaries(network, frame, max_seconds=5, random_state=1).network
    assert refined.curve_edges == network.curve_edges
    assert refined.edges == network.edges


def test_the_distance_to_an_expert_is_that_of_the_tables(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet
) -> None:
    expert = ExpertNetwork.from_network(network)
    assert set(expert.edges) == set(EDGES)
    samples = [draw_expert_sample(each, n_samples=256, random_state=1) for each in (network, tables)]
    assert samples[0].mean_log_density == samples[1].mean_log_density


def test_the_page_has_the_edges_and_the_tables(
    network: DiscretizedBayesNet, tables: DiscretizedBayesNet
) -> None:
    (entry,), (plain,) = (network_data(each, None, {}, None)["networks"] for each in (network, tables))
    position, n = network.names.index, len(network.names)
    assert entry["e"] == [position(parent) * n + position(child) for parent, child in network.curve_edges]
    # the direction of an edge is open or not by the whole graph
    assert {key: entry[key] for key in "cfd"} == {key: plain[key] for key in "cfd"}


def test_a_plot_explains_its_dashes(network: DiscretizedBayesNet) -> None:
    pytest.importorskip("matplotlib")
    texts = [text.get_text() for text in network.plot().get_legend().get_texts()]
    assert texts == ["in a table (2)", "by a curve (2)"]
    assert network.without_curve_edges().plot().get_legend() is None
