import math
import subprocess
import sys
import tempfile
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pyagrum
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from network_examples import (
    HOSTILE_LEVELS,
    HOSTILE_NAMES,
    one_column,
    slow_code,
    small_network,
)
from pgmpy.inference import VariableElimination

from gomea_bn import DiscretizedBayesNet, GomeaBnError, GomeaBnWarning

HOSTILE = small_network(2, names=HOSTILE_NAMES, levels=HOSTILE_LEVELS)
NETWORKS = [*(small_network(seed, 5) for seed in range(6)), HOSTILE]


@pytest.mark.parametrize("network", NETWORKS)
def test_networkx_has_the_graph_and_the_bins(network):
    graph = network.to_networkx()
    assert isinstance(graph, networkx.DiGraph)
    assert list(graph.nodes) == list(network.names)
    assert set(graph.edges) == set(network.edges)
    for name, data in graph.nodes(data=True):
        assert data["cardinality"] == network.cardinality(name)
        if name in network.cut_points:
            assert data["cut_points"] == network.cut_points[name].tolist()
            assert data["support"] == network.support[name]
        else:
            assert data["levels"] == network.levels[name]


@pytest.mark.parametrize("network", NETWORKS)
def test_pyagrum_has_the_same_probabilities_and_bins(network):
    model = network.to_pyagrum()
    assert set(model.names()) == set(network.names)
    for name in network.names:
        variable, tensor = model.variable(name), model.cpt(name)
        axes = [*network.parents(name), name]
        table = np.array(tensor.toarray()).transpose(
            [list(reversed(tensor.names)).index(axis) for axis in axes]
        )
        np.testing.assert_array_equal(table, network.tables[name])
        if name in network.cut_points:
            low, high = network.support[name]
            assert list(variable.ticks()) == [low, *np.nextafter(network.cut_points[name], np.inf), high]
        else:
            assert len(set(variable.labels())) == len(network.levels[name])
    joint = pyagrum.LazyPropagation(model)
    joint.makeInference()
    for name in network.names[:5]:
        expected = network.query(name).to_numpy()
        np.testing.assert_allclose(joint.posterior(name).toarray().ravel(), expected, atol=1e-12)


def network_with_cuts(cuts, support):
    """Return a network of one variable with the given cuts."""
    n_bins = len(cuts) + 1
    return one_column(cuts, support, np.full(n_bins, 1 / n_bins))


FINITE = st.floats(-1e300, 1e300)


@st.composite
def cuts_and_values(draw):
    """Return increasing cuts, a support, and values at, next to and between cuts and ends, and outside the support."""
    points = sorted(draw(st.sets(FINITE | st.integers(-50, 50).map(float), min_size=3, max_size=9)))
    if draw(st.booleans()):  # a cut next to the maximum
        points.append(math.nextafter(points[-1], math.inf))
    neighbours = [math.nextafter(point, end) for point in points for end in (-math.inf, math.inf)]
    outside = [points[0] - abs(points[0]) - 1.0, points[-1] + abs(points[-1]) + 1.0]
    values = [*points, *neighbours, *outside, *draw(st.lists(FINITE, max_size=5))]
    return points[1:-1], (points[0], points[-1]), values


@given(cuts_and_values())
def test_every_value_has_the_same_bin_in_pyagrum(case):
    cuts, support, values = case
    network = network_with_cuts(cuts, support)
    model = network.to_pyagrum()
    for value in values:
        assert model.variable("x").index(repr(value)) == slow_code(network, "x", value)


@pytest.mark.parametrize("ending", ["bifxml", "jgum", "bgum", "pkl"])
@given(case=cuts_and_values())
@settings(max_examples=25)
def test_every_value_has_the_same_bin_in_files_of_pyagrum(ending, case):
    cuts, support, values = case
    network = network_with_cuts(cuts, support)
    with tempfile.TemporaryDirectory() as folder:
        pyagrum.saveBN(network.to_pyagrum(), f"{folder}/network.{ending}")
        model = pyagrum.loadBN(f"{folder}/network.{ending}")
    for value in values:
        assert model.variable("x").index(repr(value)) == slow_code(network, "x", value)


def test_evidence_equal_to_a_cut_gives_the_same_answer_in_pyagrum():
    network = DiscretizedBayesNet(
        ["Age", "ill"], [("Age", "ill")], cut_points={"Age": [30.0, 40.0]}, support={"Age": (18.0, 90.0)},
        levels={"ill": ["no", "yes"]},
        tables={"Age": [0.2, 0.3, 0.5], "ill": [[0.774, 0.226], [0.522, 0.478], [0.1, 0.9]]},
    )  # fmt: skip
    engine = pyagrum.LazyPropagation(network.to_pyagrum())
    for value in (30, 30.1, 40, 40.1):
        engine.setEvidence({"Age": str(value)})
        engine.makeInference()
        expected = network.query("ill", {"Age": value}).to_numpy()
        np.testing.assert_allclose(engine.posterior("ill").toarray(), expected, atol=1e-12)


def test_labels_in_pyagrum_show_the_cuts(tmp_path):
    model = network_with_cuts([1.5, 30.0], (0.0, 99.0)).to_pyagrum()
    labels = ("(0;1.5000000000000002[", "[1.5000000000000002;30.000000000000004[", "[30.000000000000004;99)")
    assert model.variable("x").labels() == labels
    pyagrum.saveBN(model, str(tmp_path / "x.xdsl"))
    read = pyagrum.loadBN(str(tmp_path / "x.xdsl"))
    assert read.variable("x").labels() == labels
    pyagrum.saveBN(model, str(tmp_path / "x.bif"), allowModificationWhenSaving=True)
    read = pyagrum.loadBN(str(tmp_path / "x.bif"))
    assert read.variable("x").labels() == (
        "_0_1_5000000000000002_",
        "_1_5000000000000002_30_000000000000004_",
        "_30_000000000000004_99_",
    )


@pytest.mark.parametrize("network", NETWORKS)
def test_pgmpy_has_the_same_probabilities_and_states(network):
    model = network.to_pgmpy()
    assert model.check_model()
    assert list(model.nodes()) == list(network.names)
    assert set(model.edges()) == set(network.edges)
    for name in network.names:
        table = model.get_cpds(name)
        states = network.bin_labels(name) if name in network.cut_points else network.levels[name]
        assert table.state_names[name] == list(states)
        factor = table.to_factor()
        axes = [factor.variables.index(axis) for axis in (*network.parents(name), name)]
        np.testing.assert_array_equal(factor.values.transpose(axes), network.tables[name])


def evidence_value(network, name, code):
    if name in network.levels:
        return network.levels[name][code]
    edges = [network.support[name][0], *network.cut_points[name].tolist(), network.support[name][1]]
    return edges[code + 1]  # the upper end belongs to the bin


def test_query_equals_pgmpys_on_hostile_names():
    model = VariableElimination(HOSTILE.to_pgmpy())
    observed = HOSTILE.names[3]
    state = HOSTILE.bin_labels(observed)[0] if observed in HOSTILE.cut_points else HOSTILE.levels[observed][0]
    for target in (HOSTILE.names[0], HOSTILE.names[10], HOSTILE.names[-1]):
        answer = HOSTILE.query(target, {observed: evidence_value(HOSTILE, observed, 0)}).to_numpy()
        expected = model.query([target], evidence={observed: state}, show_progress=False).values
        np.testing.assert_allclose(answer, expected, atol=1e-12)


@pytest.fixture
def network():
    tables: dict[str, Any] = {
        "x": [0.5, 0.5, 0.0],
        "day": [[1, 0], [0.5, 0.5], [0, 1]],
        "flag": [[0.3, 0.7], [0, 1]],
    }
    return DiscretizedBayesNet(
        ["x", "day", "flag"], [("x", "day"), ("day", "flag")], cut_points={"x": [1.0, 2.0]},
        support={"x": (0.0, 3.0)}, levels={"day": ["mon", "tue"], "flag": [True, False]}, tables=tables,
    )  # fmt: skip


def test_query_is_indexed_by_bins_or_levels(network):
    bins = network.query("x", {"day": "tue"})
    assert isinstance(bins.index, pd.IntervalIndex)
    assert bins[1.5] == pytest.approx(1.0)
    assert bins[1.0] == 0.0  # a cut belongs to the lower bin
    days = network.query("day", {"x": 1.0})
    assert days["mon"] == 1.0
    with pytest.warns(GomeaBnWarning, match=r"nearest bin: 1 value of 'x' \(support 0 to 3\)"):
        assert network.query("day", {"x": -50})["mon"] == 1.0
    assert network.query("day", {"x": np.float32(1.5)})["mon"] == 0.5
    assert network.query("flag", {"day": "tue"}).index.tolist() == [True, False]


@pytest.mark.parametrize(
    ("method", "library"),
    [("to_networkx", "networkx"), ("to_pyagrum", "pyagrum"), ("to_pgmpy", "pgmpy.models")],
)
def test_a_library_that_is_missing_is_named(network, monkeypatch, method, library):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(GomeaBnError, match=r"pip install 'gomea-bn\[interop\]'"):
        getattr(network, method)()


def test_a_query_needs_no_optional_library(network, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyagrum", None)
    assert network.query("x").tolist() == pytest.approx([0.5, 0.5, 0.0])


def test_heavy_libraries_are_loaded_only_when_asked_for():
    code = (
        "import sys, gomea_bn.network.bayes_net, gomea_bn.data.table;"
        "import gomea_bn.network.inference, gomea_bn.network.formats.discrete;"
        "heavy = ('pandas', 'pyagrum', 'pgmpy', 'networkx', 'sklearn');"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
