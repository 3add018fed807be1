import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inference_examples import slow_joint
from network_examples import one_column, with_parts
from oracles import all_dags
from shaped_examples import point_at_a_cut

from gomea_bn import DiscretizedBayesNet, GomeaBnError, Shape, read_table
from gomea_bn.metrics import distances as metrics
from gomea_bn.simulation import random_network

NAMES = ["a", "b", "c", "d"]


def random_dag(n: int, density: float, rng: np.random.Generator) -> np.ndarray:
    upper = np.triu(rng.random((n, n)) < density, 1)
    order = rng.permutation(n)
    return upper[np.ix_(order, order)].astype(np.int8)


def edges_of(adjacency: np.ndarray) -> list[tuple[str, str]]:
    return [(f"v{i}", f"v{j}") for i, j in np.argwhere(adjacency)]


def equivalence_key(dag: np.ndarray) -> tuple[bytes, frozenset]:
    """Skeleton and v-structures, which define Markov equivalence (Verma and Pearl 1990)."""
    skeleton = dag | dag.T
    colliders = frozenset(
        (min(a, b), c, max(a, b))
        for c in range(len(dag))
        for a, b in itertools.combinations(np.flatnonzero(dag[:, c]), 2)
        if not skeleton[a, b]
    )
    return skeleton.tobytes(), colliders


def with_tables(network: DiscretizedBayesNet, edges, rng: np.random.Generator) -> DiscretizedBayesNet:
    """The same variables and cut points, other edges and tables."""
    tables = {}
    for name in network.names:
        parents = [p for p in network.names if (p, name) in edges]
        raw = rng.random([network.cardinality(v) for v in (*parents, name)]) + 0.1
        tables[name] = raw / raw.sum(axis=-1, keepdims=True)
    return with_parts(network, edges=edges, tables=tables)


@pytest.mark.parametrize(("n", "n_dags"), [(2, 3), (3, 25), (4, 543)])
def test_cpdag_is_the_union_of_all_markov_equivalent_graphs(n, n_dags):
    graphs = all_dags(n)
    dags = np.zeros((len(graphs), n, n), np.int8)
    for dag, edges in zip(dags, graphs, strict=True):
        for edge in edges:
            dag[edge] = 1
    assert len(dags) == n_dags
    union: dict[tuple, np.ndarray] = {}
    for dag in dags:
        key = equivalence_key(dag)
        union[key] = union.get(key, 0) | dag
    for dag in dags:
        np.testing.assert_array_equal(metrics.cpdag(dag), union[equivalence_key(dag)])


@pytest.mark.parametrize("density", [0.3, 0.6, 0.9])
def test_cpdag_is_the_union_over_covered_edge_reversals(density):
    """Reversing covered edges reaches exactly the equivalent graphs (Chickering 1995)."""
    rng = np.random.default_rng(11)
    for _ in range(15):
        dag = random_dag(6, density, rng)
        reached, ahead, union = {dag.tobytes()}, [dag], dag.copy()
        while ahead:
            graph = ahead.pop()
            for i, j in np.argwhere(graph):
                rest = graph[:, j].copy()
                rest[i] = 0
                if (graph[:, i] == rest).all():
                    other = graph.copy()
                    other[i, j], other[j, i] = 0, 1
                    if other.tobytes() not in reached:
                        reached.add(other.tobytes())
                        ahead.append(other)
                        union |= other
        np.testing.assert_array_equal(metrics.cpdag(dag), union)


@pytest.mark.parametrize("density", [0.15, 0.3])  # pyAgrum 3.3 errs on some graphs above 0.6
def test_cpdag_and_shd_equal_pyagrums_essential_graphs(density):
    import pyagrum

    rng = np.random.default_rng(7)

    def essential(dag: np.ndarray) -> np.ndarray:
        graph = pyagrum.BayesNet()
        for i in range(len(dag)):
            graph.add(f"v{i}", 2)
        for i, j in np.argwhere(dag):
            graph.addArc(int(i), int(j))
        marks = np.zeros_like(dag)
        pattern = pyagrum.EssentialGraph(graph)
        for i, j in pattern.arcs():
            marks[i, j] = 1
        for i, j in pattern.edges():
            marks[i, j] = marks[j, i] = 1
        return marks

    names = [f"v{i}" for i in range(9)]
    for _ in range(30):
        first, second = random_dag(9, density, rng), random_dag(9, density, rng)
        first_essential, second_essential = essential(first), essential(second)
        np.testing.assert_array_equal(metrics.cpdag(first), first_essential)
        different = sum(
            (first_essential[i, j], first_essential[j, i]) != (second_essential[i, j], second_essential[j, i])
            for i, j in itertools.combinations(range(9), 2)
        )
        assert metrics.shd(edges_of(first), edges_of(second), names) == different


def test_cpdag_equals_pgmpys():
    from pgmpy.base import DAG

    rng = np.random.default_rng(3)
    for _ in range(20):
        dag = random_dag(7, 0.35, rng)
        graph = DAG()
        graph.add_nodes_from(range(7))
        graph.add_edges_from([(int(i), int(j)) for i, j in np.argwhere(dag)])
        pattern = graph.to_pdag()
        expected = np.zeros((7, 7), dtype=np.int8)
        for i, j in pattern.directed_edges:
            expected[i, j] = 1
        for i, j in pattern.undirected_edges:
            expected[i, j] = expected[j, i] = 1
        np.testing.assert_array_equal(metrics.cpdag(dag), expected)


def test_accuracy_and_sensitivity_ignore_directions():
    truth = [("a", "b"), ("b", "c"), ("c", "d")]
    learned = [("b", "a"), ("b", "c"), ("a", "d")]
    assert metrics.accuracy(truth, learned, NAMES) == pytest.approx(4 / 6)  # c-d missed, a-d invented
    assert metrics.sensitivity(truth, learned, NAMES) == pytest.approx(2 / 3)
    assert metrics.sensitivity(learned, [], NAMES) == 0.0
    assert metrics.accuracy([], [], NAMES) == 1.0
    assert math.isnan(metrics.sensitivity([], truth, NAMES))
    assert math.isnan(metrics.accuracy([], [], ["a"]))


@pytest.mark.parametrize(
    ("learned", "distance", "tpr", "fpr"),
    [
        ([("a", "c"), ("b", "c"), ("c", "d")], 0, 1.0, 0.0),
        ([("a", "c"), ("b", "c"), ("d", "c")], 1, 2 / 3, 1 / 9),  # c -> d reversed
        ([("a", "c"), ("b", "c")], 1, 2 / 3, 0.0),  # c -> d missed
        ([("c", "a"), ("c", "b"), ("c", "d")], 3, 1.0, 3 / 9),  # nothing compelled: three undirected edges
        ([("a", "c"), ("b", "c"), ("c", "d"), ("a", "b")], 4, 1.0, 5 / 9),  # a-b hides the v-structure
        ([], 3, 0.0, 0.0),
    ],
)
def test_hand_made_distances_to_a_collider_with_a_tail(learned, distance, tpr, fpr):
    truth = [("a", "c"), ("b", "c"), ("c", "d")]
    assert metrics.shd(truth, learned, NAMES) == distance
    assert metrics.cpdag_tpr_fpr(truth, learned, NAMES) == pytest.approx((tpr, fpr))


def test_a_directed_edge_where_the_truth_leaves_it_open_is_one_missed_arc():
    truth = [("a", "b"), ("b", "c")]
    learned = [("a", "b"), ("c", "b")]
    assert metrics.shd(truth, learned, NAMES) == 2
    assert metrics.cpdag_tpr_fpr(truth, learned, NAMES) == pytest.approx((2 / 4, 0.0))


def test_rates_without_a_denominator_are_nan():
    tpr, fpr = metrics.cpdag_tpr_fpr([], [("a", "b")], NAMES)
    assert math.isnan(tpr)
    assert fpr == pytest.approx(2 / 12)
    tpr, fpr = metrics.cpdag_tpr_fpr([("a", "b")], [], ["a", "b"])
    assert tpr == 0.0
    assert math.isnan(fpr)


@given(st.integers(2, 8), st.floats(0, 1), st.integers(0, 2**32))
@settings(max_examples=60)
def test_distances_are_symmetric_zero_on_equivalents_and_blind_to_order(n, density, seed):
    rng = np.random.default_rng(seed)
    first, second = random_dag(n, density, rng), random_dag(n, density, rng)
    names = [f"v{i}" for i in range(n)]
    distance = metrics.shd(edges_of(first), edges_of(second), names)
    assert distance == metrics.shd(edges_of(second), edges_of(first), names[::-1])
    assert (distance == 0) == (equivalence_key(first) == equivalence_key(second))
    assert metrics.accuracy(edges_of(first), edges_of(first), names) == 1.0
    pattern = metrics.cpdag(first)
    np.testing.assert_array_equal(pattern | pattern.T, first | first.T)
    assert (pattern >= first).all()


def test_networks_and_edge_lists_mix():
    network = random_network(6, random_state=4)
    assert metrics.shd(network, network.edges) == 0
    assert metrics.accuracy(network.edges, network) == 1.0
    assert metrics.sensitivity(network, iter(network.edges[1:])) == pytest.approx(
        (len(network.edges) - 1) / len(network.edges)
    )
    assert metrics.cpdag_tpr_fpr(network, network) == (1.0, 0.0)


def test_bad_graphs_are_refused_by_name():
    with pytest.raises(GomeaBnError, match=r"cycle a → b → c → a|cycle b → c → a → b|cycle c → a → b → c"):
        metrics.shd([], [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")], NAMES)
    with pytest.raises(GomeaBnError, match="cycle"):
        metrics.cpdag([[1]])
    with pytest.raises(GomeaBnError, match=r"shape \(2, 3\)"):
        metrics.cpdag(np.zeros((2, 3)))
    with pytest.raises(GomeaBnError, match="unknown variable 'e'"):
        metrics.accuracy([], [("a", "e")], NAMES)
    with pytest.raises(GomeaBnError, match="names="):
        metrics.accuracy([("a", "b")], [])
    with pytest.raises(GomeaBnError, match="only one has X3"):
        metrics.shd(random_network(3, random_state=1), random_network(2, random_state=1))


@pytest.mark.parametrize("seed", range(4))
def test_divergence_equals_exact_enumeration_on_shared_bins(seed):
    rng = np.random.default_rng(seed)
    truth = random_network(4, discrete_fraction=0.5, random_state=seed)
    other_edges = [(b, a) for a, b in truth.edges] if seed % 2 else truth.edges[1:]
    learned = with_tables(truth, other_edges, rng)
    p, q = (slow_joint(network, {}, list(truth.names)) for network in (truth, learned))
    exact = float((p * np.log(p / q)).sum())
    estimate = metrics.kl_divergence(truth, learned, n_rows=40_000, random_state=seed)
    assert exact > 0.01
    assert float(estimate) == estimate.mean
    assert 0 < estimate.standard_error < 0.02
    assert abs(estimate.mean - exact) < 4 * estimate.standard_error
    deviation = math.sqrt(float((p * (np.log(p / q) - exact) ** 2).sum()))
    assert estimate.standard_error == pytest.approx(deviation / math.sqrt(40_000), rel=0.1)


def test_divergence_counts_bin_widths():
    """Uniform on [0, 1] in one bin against a half that holds a quarter: the integral by hand."""
    one_bin = one_column([], (0, 1), [1.0])
    two_bins = one_column([0.5], (0, 1), [0.25, 0.75])
    exact = -0.5 * (math.log(0.5) + math.log(1.5))
    estimate = metrics.kl_divergence(one_bin, two_bins, random_state=0)
    assert estimate.mean == pytest.approx(exact, abs=4 * estimate.standard_error)


def test_divergence_from_itself_is_zero_and_its_seed_decides():
    truth, other = random_network(5, random_state=1), random_network(5, random_state=1, rows="constant")
    assert metrics.kl_divergence(truth, truth, n_rows=500, random_state=1) == (0.0, 0.0)
    first = metrics.kl_divergence(truth, other, n_rows=500, random_state=1)
    assert first == metrics.kl_divergence(truth, other, n_rows=500, random_state=1)
    assert first != metrics.kl_divergence(truth, other, n_rows=500, random_state=2)


def test_divergence_refuses_an_empty_cell_and_too_few_rows():
    truth = random_network(2, discrete_fraction=0, random_state=1)
    tables = {name: np.eye(truth.cardinality(name))[0] for name in truth.names}
    support, cuts = truth.support, truth.cut_points
    certain = with_parts(truth, edges=[], cut_points=cuts, support=support, levels={}, tables=tables)
    with pytest.raises(GomeaBnError, match=r"not finite.*pseudo_count"):
        metrics.kl_divergence(truth, certain, n_rows=100, random_state=0)
    held_out = metrics.held_out_log_density(certain, truth.sample(100, random_state=0))
    assert held_out.mean == -math.inf
    assert math.isnan(held_out.standard_error)
    with pytest.raises(GomeaBnError, match="n_rows"):
        metrics.kl_divergence(truth, truth, n_rows=1)


def test_smoothed_tables_give_a_finite_divergence_outside_the_training_range():
    truth = random_network(5, random_state=2)
    table = read_table(truth.sample(20, random_state=1))
    learned = DiscretizedBayesNet.from_table(
        table, truth.edges, {c.name: truth.cut_points[c.name] for c in table.columns if c.is_continuous}
    )
    estimate = metrics.kl_divergence(truth, learned, n_rows=5000, random_state=3)
    assert 0 < estimate.mean < 10


def test_divergence_counts_shapes_and_point_masses():
    # the bins share their probabilities, so that the shape cancels
    truth = point_at_a_cut(0.3)
    assert metrics.kl_divergence(truth, point_at_a_cut(0.6), 40_000, 1).mean == pytest.approx(
        0.3 * math.log(0.3 / 0.6) + 0.7 * math.log(0.7 / 0.4), abs=0.02
    )
    uniform = with_parts(truth, levels={})
    with pytest.raises(
        GomeaBnError, match=r"'x' has a point mass at 4 in the true network, but none in the learned.*shape="
    ):
        metrics.kl_divergence(truth, uniform, 100, 1)
    low, high = truth.support["x"]
    with_other_shape = with_parts(truth, levels={}, shapes={"x": Shape([low, high], [1.0], [1.0])})
    with pytest.raises(
        GomeaBnError, match=r"none in the learned one\. Make the variable discrete by its kind"
    ):
        metrics.kl_divergence(truth, with_other_shape, 100, 1)
    # the lower bin of the shape: 0.4 at the point, and a density from 0.05 to 0.058 on [0, 4]
    shape = truth.shapes["x"]
    below, above = shape.bin_masses(truth.cut_points["x"])
    values = (np.arange(100_000) + 0.5) / 10_000
    density = np.exp(shape.log_density(values))
    inside = np.where(values <= 4, density / below, density / above)
    p = np.where(values <= 4, 0.3 / 4, 0.7 / 6)
    q = np.where(values <= 4, 0.3, 0.7) * inside
    exact = float((p * np.log(p / q)).sum() / 10_000)
    assert exact > 0.3
    estimate = metrics.kl_divergence(uniform, truth, 40_000, 2)
    assert estimate.mean == pytest.approx(exact, abs=5 * estimate.standard_error)


def test_held_out_log_density_is_the_mean_over_rows():
    network = random_network(4, random_state=5)
    frame = network.sample(200, random_state=6)
    values = network.log_density(frame)
    mean, standard_error = metrics.held_out_log_density(network, frame)
    assert mean == pytest.approx(values.mean())
    assert standard_error == pytest.approx(values.std(ddof=1) / math.sqrt(200))
    with pytest.raises(GomeaBnError, match="at least 2 rows"):
        metrics.held_out_log_density(network, frame.iloc[:1])


def test_histogram_baseline_is_smoothed_numpy_histograms():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=300), "kind": rng.choice(["p", "q"], size=300)})
    network = metrics.histogram_baseline(read_table(frame), n_bins=8, pseudo_count=2.0)
    assert network.edges == []
    assert network.cardinality("kind") == 2
    counts, edges = np.histogram(frame["x"], bins=8)
    np.testing.assert_allclose(network.cut_points["x"], edges[1:-1])
    np.testing.assert_allclose(network.tables["x"], (counts + 2 / 8) / 302)
    row = frame.iloc[[0]]
    column = min(int(np.searchsorted(edges, row["x"].iloc[0])) - 1, 7)
    share = ((frame["kind"] == row["kind"].iloc[0]).sum() + 1) / 302
    expected = math.log(network.tables["x"][column] / (edges[1] - edges[0])) + math.log(share)
    assert network.log_density(row)[0] == pytest.approx(expected)
    with pytest.raises(GomeaBnError, match="n_bins"):
        metrics.histogram_baseline(read_table(frame), n_bins=0)


def test_histogram_baseline_merges_bins_that_floats_cannot_tell_apart():
    x = 1e15 + np.tile([0.0, 0.125, 0.25], 5)
    network = metrics.histogram_baseline(read_table(pd.DataFrame({"x": x})), n_bins=10)
    np.testing.assert_array_equal(network.cut_points["x"], [1e15 + 0.125])


def test_a_good_network_beats_the_baseline_on_held_out_rows():
    truth = random_network(6, rows="dirichlet", random_state=8)
    train, test = truth.sample(2000, random_state=1), truth.sample(2000, random_state=2)
    baseline = metrics.histogram_baseline(read_table(train))
    assert metrics.held_out_log_density(truth, test).mean > metrics.held_out_log_density(baseline, test).mean
