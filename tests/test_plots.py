"""Plots: the numbers they show against slow twins, and what the axes then hold; no pixels."""

from __future__ import annotations

import itertools
import math
import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from network_examples import HOSTILE_NAMES, all_states, joint_probability
from network_examples import random_network as small_network

from gomea_bn._marginals import marginal
from gomea_bn._network_layout import network_layout
from gomea_bn.errors import GomeaBnError
from gomea_bn.expert import ExpertNetwork
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT, Front, Objective
from gomea_bn.ground_truth import random_network
from gomea_bn.limits import HistoryEntry
from gomea_bn.metrics import kl_divergence
from gomea_bn.network import DiscretizedBayesNet
from gomea_bn.plots import (
    density_bins,
    edge_marks,
    front_points,
    history_steps,
    plot_density,
    plot_front,
    plot_history,
    plot_network,
)
from gomea_bn.table import read_table

HOSTILE = ["$\\frac{", "a_b^c", "_x", "100% $5 and $6", "v" * 300, "two\nlines", "tab\there\\", "<&>", "$a$"]


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def truth():
    return random_network(6, random_state=4)


@pytest.fixture(scope="module")
def frame(truth):
    return truth.sample(200, random_state=1)


def fitted(frame, edges, n_bins):
    continuous = frame.select_dtypes("number").columns
    cuts = {name: np.quantile(frame[name], np.linspace(0, 1, n_bins + 1))[1:-1] for name in continuous}
    return DiscretizedBayesNet.from_table(read_table(frame), edges, cuts)


@pytest.fixture(scope="module")
def networks(truth, frame):
    return [
        fitted(frame, truth.edges[:count], bins) for count, bins in itertools.product((0, 2, 4), (1, 2, 5))
    ]


@pytest.fixture(scope="module")
def front(networks, frame):
    expert = networks[4]
    values = [
        [-net.score(frame), net.n_parameters, kl_divergence(expert, net, 2000, 0).mean] for net in networks
    ]
    objectives = [MISFIT, COMPLEXITY, EXPERT_DISTANCE]
    return Front(objectives, values, networks, table=read_table(frame), expert=expert)


# layout


def graphs(max_nodes=9):
    def edges(n):
        pairs = [(f"n{i}", f"n{j}") for i in range(n) for j in range(n) if i != j]
        return st.tuples(
            st.just(n), st.lists(st.sampled_from(pairs), max_size=3 * n) if pairs else st.just([])
        )

    return st.integers(1, max_nodes).flatmap(edges)


def rows_of(layout, widths):
    """Return, by layer, the (left, right) borders of all that stands there."""
    rows = {}
    for name, (x, y) in layout["nodes"].items():
        rows.setdefault(y, []).append((x - widths[name] / 2, x + widths[name] / 2))
    for points in layout["bends"].values():
        for x, y in points:
            rows.setdefault(y, []).append((x, x))
    return {y: sorted(row) for y, row in rows.items()}


@settings(max_examples=40, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_layouts_keep_everything_apart_and_give_edges_a_bend_per_layer(graph, random):
    n, edges = graph
    names = [f"n{i}" for i in range(n)]
    widths = {name: random.choice([0.0, 1.0, 2.5]) for name in names}
    layout = network_layout(names, edges, widths=widths, gap=0.25)
    assert list(layout["nodes"]) == names
    assert list(layout["bends"]) == list(dict.fromkeys(edges))
    for row in rows_of(layout, widths).values():
        assert row[0][0] >= -1e-7
        for (_, right), (left, _) in itertools.pairwise(row):
            assert left - right >= 0.25 - 1e-7
    for (parent, child), points in layout["bends"].items():
        start, end = layout["nodes"][parent][1], layout["nodes"][child][1]
        step = 1 if end > start else -1
        assert start != end
        assert [y for _, y in points] == [float(y) for y in range(int(start) + step, int(end), step)]
    assert layout == network_layout(names, edges, widths=widths, gap=0.25)


def least_total_length(n, edges):
    return min(
        sum(layers[j] - layers[i] for i, j in edges)
        for layers in itertools.product(range(n), repeat=n)
        if all(layers[j] > layers[i] for i, j in edges)
    )


@pytest.mark.parametrize("seed", range(12))
def test_parents_stand_above_children_at_the_least_total_length(seed):
    rng = np.random.default_rng(seed)
    n = 5
    edges = [(i, j) for i, j in itertools.combinations(range(n), 2) if rng.random() < 0.5]
    layout = network_layout(range(n), edges)
    depth = {node: y for node, (_, y) in layout["nodes"].items()}
    assert all(depth[i] < depth[j] for i, j in edges)
    assert sum(depth[j] - depth[i] for i, j in edges) == least_total_length(n, edges)


def crossings(layout):
    chains = [[layout["nodes"][a], *points, layout["nodes"][b]] for (a, b), points in layout["bends"].items()]
    pieces = [pair for chain in chains for pair in itertools.pairwise(chain)]
    return sum(
        (one[0][0] - other[0][0]) * (one[1][0] - other[1][0]) < -1e-9
        for one, other in itertools.combinations(pieces, 2)
        if one[0][1] == other[0][1]
    )


def test_trees_are_drawn_without_crossings_and_parents_in_the_middle():
    edges = [(f"n{(i - 1) // 2}", f"n{i}") for i in range(1, 15)]
    shuffled = [edges[i] for i in np.random.default_rng(1).permutation(len(edges))]
    layout = network_layout(sorted({name for edge in edges for name in edge}), shuffled)
    assert crossings(layout) == 0
    x = {name: point[0] for name, point in layout["nodes"].items()}
    for i in range(7):
        assert x[f"n{i}"] == pytest.approx((x[f"n{2 * i + 1}"] + x[f"n{2 * i + 2}"]) / 2)


def moved(layout, stop, x):
    """Return the layout with one node or bend at another x; a stop is a name, or an edge and a place in it."""
    nodes, bends = dict(layout["nodes"]), {edge: list(points) for edge, points in layout["bends"].items()}
    if stop in nodes:
        nodes[stop] = (x, nodes[stop][1])
    else:
        edge, place = stop
        bends[edge][place] = (x, bends[edge][place][1])
    return {"nodes": nodes, "bends": bends}


@pytest.mark.parametrize("seed", [1, 2])
def test_no_swap_of_neighbours_saves_a_crossing(seed):
    network = random_network(11, law="ide-cozman", random_state=seed)
    layout = network_layout(network.names, network.edges)
    count = crossings(layout)
    stops = [(y, x, name) for name, (x, y) in layout["nodes"].items()]
    stops += [
        (y, x, (edge, place))
        for edge, points in layout["bends"].items()
        for place, (x, y) in enumerate(points)
    ]
    stops.sort(key=lambda stop: stop[:2])
    for (upper, left_x, left), (lower, right_x, right) in itertools.pairwise(stops):
        if upper == lower:
            assert crossings(moved(moved(layout, left, right_x), right, left_x)) >= count


def test_edges_mostly_run_straight_through_the_layers_they_pass():
    network = random_network(20, law="ide-cozman", random_state=3)
    layout = network_layout(network.names, network.edges)
    inner = [pair for points in layout["bends"].values() for pair in itertools.pairwise(points)]
    straight = sum(abs(one[0] - other[0]) < 1e-6 for one, other in inner)
    assert len(inner) > 100
    assert straight > 0.75 * len(inner)


def test_long_edges_run_straight_through_the_layers():
    names = list("abcdef")
    layout = network_layout(names, [*itertools.pairwise(names), ("a", "f")])
    points = layout["bends"]["a", "f"]
    assert [y for _, y in points] == [1.0, 2.0, 3.0, 4.0]
    assert len({round(x, 6) for x, _ in points}) == 1


def test_the_edge_that_closes_a_cycle_points_upwards():
    layout = network_layout("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    assert [layout["nodes"][name][1] for name in "abc"] == [0.0, 1.0, 2.0]
    assert [y for _, y in layout["bends"]["c", "a"]] == [1.0]


def test_nodes_without_edges_stand_in_rows_below():
    names = [f"n{i}" for i in range(11)]
    layout = network_layout(names, [("n3", "n4")])
    alone = {layout["nodes"][name][1] for name in names if name not in ("n3", "n4")}
    assert alone == {2.0, 3.0, 4.0}
    assert {y for _, y in network_layout(names, [])["nodes"].values()} == {0.0, 1.0, 2.0}


def test_layouts_name_what_is_wrong():
    with pytest.raises(GomeaBnError, match=r"no node 'agee'\. Did you mean 'age'\?"):
        network_layout(["age", "bmi"], [("agee", "bmi")])
    with pytest.raises(GomeaBnError, match="joins a node to itself"):
        network_layout(["age"], [("age", "age")])
    with pytest.raises(GomeaBnError, match=r"widths\['b'\] must be a finite number of at least 0, got none"):
        network_layout(["a", "b"], [("a", "b")], widths={"a": 1})
    with pytest.raises(GomeaBnError, match=r"widths\['a'\] .* got nan"):
        network_layout(["a"], [], widths={"a": math.nan})


# marginals


@pytest.mark.parametrize("seed", range(8))
def test_marginals_are_sums_over_all_states(seed):
    network = small_network(seed, 5, levels=[("only",), ("lo", "hi"), (0, 1, 2)])
    for name in network.names:
        expected = np.zeros(network.cardinality(name))
        for codes in all_states(network):
            expected[codes[name]] += joint_probability(network, codes)
        found = marginal(network, name)
        assert found.is_exact
        np.testing.assert_allclose(found.probabilities, expected, atol=1e-12)


def test_marginals_agree_with_pyagrum_on_twenty_variables():
    network = random_network(20, random_state=2)
    for name in network.names:
        np.testing.assert_allclose(
            marginal(network, name).probabilities, network.query(name).to_numpy(), atol=1e-12
        )


def test_a_sample_stands_in_where_tables_would_grow_too_large():
    network = random_network(12, random_state=3)
    name = max(network.names, key=lambda one: len(network.parents(one)))
    exact, sampled = marginal(network, name), marginal(network, name, max_cells=3)
    assert exact.is_exact
    assert not sampled.is_exact
    np.testing.assert_allclose(sampled.probabilities, exact.probabilities, atol=0.01)
    assert sampled.probabilities.sum() == pytest.approx(1)
    again = marginal(network, name, max_cells=3)
    np.testing.assert_array_equal(sampled.probabilities, again.probabilities)
    with pytest.raises(GomeaBnError, match="no variable"):
        marginal(network, "nobody")


# network


def two_networks():
    names = ["a", "b", "c", "d"]
    cuts, support = {name: [0.5] for name in names}, dict.fromkeys(names, (0.0, 1.0))

    def build(edges):
        parents = {name: sum(child == name for _, child in edges) for name in names}
        tables = {name: np.full([2] * (parents[name] + 1), 0.5) for name in names}
        return DiscretizedBayesNet(names, edges, cut_points=cuts, support=support, levels={}, tables=tables)

    return build([("a", "b"), ("b", "c"), ("a", "d")]), build([("a", "b"), ("c", "b"), ("c", "d")])


def test_edges_are_marked_against_a_reference():
    network, reference = two_networks()
    expected = {
        ("a", "b"): "common",
        ("b", "c"): "reversed",
        ("a", "d"): "added",
        ("c", "d"): "missing",
    }
    assert edge_marks(network, reference) == expected
    assert edge_marks(network, reference.edges) == expected
    assert edge_marks(network, ExpertNetwork.from_edges(reference.edges)) == expected
    with pytest.raises(GomeaBnError, match="no variable 'bb'"):
        edge_marks(network, [("a", "bb")])


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def boxes(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyBboxPatch)]


def box_extents(ax):
    ax.figure.draw_without_rendering()
    return [box.get_window_extent() for box in boxes(ax)]


def track(ax, arrow):
    """Return points along an arrow's line, in pixels."""
    path = arrow._path_original.interpolated(1)
    points = [bezier(step) for bezier, _ in path.iter_bezier() for step in np.linspace(0, 1, 40)]
    return ax.transData.transform(np.vstack(points))


def test_a_drawing_holds_names_counts_and_marked_edges():
    network, reference = two_networks()
    ax = plot_network(network, reference=reference)
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["a", "2 bins", "b", "2 bins", "c", "2 bins", "d", "2 bins"]
    legend = ax.get_legend()
    labels = [text.get_text() for text in legend.get_texts()]
    assert labels == ["common (1)", "reversed (1)", "added (1)", "missing (1)"]
    styles = {(arrow.get_edgecolor(), str(arrow.get_linestyle())) for arrow in arrows(ax)}
    assert len(styles) == 4
    assert len({dashes for _, dashes in styles}) == 4
    keyed = [line.get_color() for line in legend.get_lines()]
    drawn = [matplotlib.colors.to_hex(arrow.get_edgecolor()) for arrow in arrows(ax)]
    assert drawn == keyed
    assert {"#0072b2", "#d55e00"} < set(drawn)
    assert plot_network(network).get_legend() is None


def test_a_drawing_tells_discrete_from_continuous():
    network = small_network(3, 6)
    ax = plot_network(network)
    counts = [text.get_text() for text in ax.texts][1::2]
    assert counts == [
        f"{network.cardinality(name)} {'bin' if name in network.cut_points else 'level'}"
        + ("s" if network.cardinality(name) != 1 else "")
        for name in network.names
    ]
    rounded = [type(box.get_boxstyle()).__name__ == "Round" for box in boxes(ax)]
    assert rounded == [name in network.cut_points for name in network.names]


def network_drawings():
    twenty = random_network(20, random_state=2)
    other = random_network(20, random_state=5)
    dense = random_network(12, law="ide-cozman", random_state=1)
    return {"twenty": (twenty, None), "compared": (twenty, other), "dense": (dense, None), "empty": (
        small_network(1, 7, max_parents=0), None)}  # fmt: skip


@pytest.mark.parametrize("case", ["twenty", "compared", "dense", "empty"])
@pytest.mark.parametrize("size", [None, (11.0, 5.0), (4.0, 7.0)])
def test_boxes_stand_apart_and_no_edge_passes_under_one(case, size):
    network, reference = network_drawings()[case]
    ax = plt.subplots(figsize=size)[1] if size else None
    ax = plot_network(network, reference=reference, ax=ax)
    extents = dict(zip(network.names, box_extents(ax), strict=True))
    frame = ax.get_window_extent()
    for one, other in itertools.combinations(extents.values(), 2):
        assert not one.overlaps(other)
    for extent in extents.values():
        assert frame.x0 <= extent.x0 < extent.x1 <= frame.x1
        assert frame.y0 <= extent.y0 < extent.y1 <= frame.y1
    edges = network.edges if reference is None else list(edge_marks(network, reference))
    assert len(arrows(ax)) == len(edges)
    for (parent, child), arrow in zip(edges, arrows(ax), strict=True):
        points = track(ax, arrow)
        for name, extent in extents.items():
            grown = extent.padded(1.0 if name not in (parent, child) else -0.1)
            assert not any(grown.contains(x, y) for x, y in points), (parent, child, name)
        for (x, y), name in ((points[0], parent), (points[-1], child)):
            assert extents[name].padded(0.5).contains(x, y)


@pytest.mark.parametrize("size", [None, (5.0, 4.0)])
def test_texts_stay_in_their_boxes_and_above_the_legend(size):
    network, reference = random_network(20, random_state=2), random_network(20, random_state=7)
    ax = plt.subplots(figsize=size, layout="constrained")[1] if size else None
    ax = plot_network(network, reference=reference, ax=ax)
    extents = box_extents(ax)
    renderer = ax.figure.canvas.get_renderer()
    for place, text in enumerate(ax.texts):
        inner, outer = text.get_window_extent(renderer), extents[place // 2].padded(1)
        assert outer.x0 <= inner.x0
        assert inner.x1 <= outer.x1
        assert outer.y0 <= inner.y0
        assert inner.y1 <= outer.y1
    legend = ax.get_legend().get_window_extent(renderer)
    assert not any(legend.overlaps(extent) for extent in extents)
    assert ax.get_window_extent().x0 <= legend.x0
    assert legend.x1 <= ax.get_window_extent().x1


# densities


def test_densities_are_marginals_over_bin_widths(truth, frame):
    expert = fitted(frame, [], 3)
    for name in truth.cut_points:
        bins = density_bins(truth, name, table=frame, expert=expert)
        assert set(bins["source"]) == {"network", "data", "expert"}
        for source, part in bins.groupby("source"):
            assert (part["density"] * (part["high"] - part["low"])).sum() == pytest.approx(1), source
        own = bins[bins["source"] == "network"]
        np.testing.assert_array_equal(own["high"].iloc[:-1], truth.cut_points[name])
        np.testing.assert_allclose(
            own["density"] * (own["high"] - own["low"]), truth.query(name).to_numpy(), atol=1e-12
        )
        assert set(own["how"]) == {"exact"}
        data = bins[bins["source"] == "data"]
        for low, high, density in data[["low", "high", "density"]].itertuples(index=False):
            inside = ((frame[name] > low) & (frame[name] <= high)).sum() + (frame[name] == low).sum() * (
                low == data["low"].iloc[0]
            )
            assert density == pytest.approx(inside / len(frame) / (high - low))


def test_probabilities_of_levels_come_with_the_data_s_shares(truth, frame):
    (name,) = truth.levels
    bins = density_bins(truth, name, table=read_table(frame), expert=truth)
    own, data, expert = (bins[bins["source"] == source] for source in ("network", "data", "expert"))
    assert list(own["level"]) == list(truth.levels[name])
    np.testing.assert_allclose(own["probability"], truth.query(name).to_numpy(), atol=1e-12)
    np.testing.assert_array_equal(expert["probability"], own["probability"])
    for level, share in zip(data["level"], data["probability"], strict=True):
        assert share == pytest.approx((frame[name] == level).mean())
    pd.testing.assert_frame_equal(bins, density_bins(truth, name, table=frame, expert=truth))


def test_an_expert_may_give_bins_without_tables_or_nothing(truth):
    name = next(iter(truth.cut_points))
    expert = ExpertNetwork.from_edges([], names=truth.names, cut_points={name: [0.2, 0.6]})
    bins = density_bins(truth, name, expert=expert)
    part = bins[bins["source"] == "expert"]
    assert part["low"].tolist() == [-math.inf, 0.2, 0.6]
    assert part["high"].tolist() == [0.2, 0.6, math.inf]
    assert part["density"].isna().all()
    assert set(part["how"]) == {"bins only"}
    ax = plot_density(truth, name, expert=expert)
    assert [text.get_text() for text in ax.get_legend().get_texts()][1] == "expert (3 bins, no tables)"
    silent = ExpertNetwork.from_edges([], names=truth.names)
    assert set(density_bins(truth, name, expert=silent)["source"]) == {"network"}
    whole = ExpertNetwork.from_network(truth)
    assert set(density_bins(truth, name, expert=whole)["how"]) == {"exact"}


def test_density_plots_draw_these_numbers(truth, frame):
    name = next(iter(truth.cut_points))
    expert = fitted(frame, [], 3)
    ax = plot_density(truth, name, table=frame, expert=expert)
    bins = density_bins(truth, name, table=frame, expert=expert)
    stairs = [patch.get_data() for patch in ax.patches]
    for found, source in zip(stairs, ["data", "network", "expert"], strict=True):
        part = bins[bins["source"] == source]
        np.testing.assert_array_equal(found.values, part["density"])
        np.testing.assert_array_equal(found.edges, [*part["low"], part["high"].iloc[-1]])
    marks = [[segment[0][0] for segment in lines.get_segments()] for lines in ax.collections]
    np.testing.assert_array_equal(marks[0], truth.cut_points[name])
    np.testing.assert_array_equal(marks[1], expert.cut_points[name])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["data", f"network ({truth.cardinality(name)} bins)", "expert (3 bins)"]
    assert ax.get_xlabel() == name
    assert ax.get_ylabel() == "Density [per unit]"
    ax.figure.draw_without_rendering()
    below = ax.transData.inverted().transform(ax.get_legend().get_window_extent())[0, 1]
    assert below >= bins["density"].max()


def test_bars_stand_for_levels(truth, frame):
    (name,) = truth.levels
    ax = plot_density(truth, name, table=frame)
    bins = density_bins(truth, name, table=frame)
    heights = [[bar.get_height() for bar in container] for container in ax.containers]
    for found, source in zip(heights, ["data", "network"], strict=True):
        np.testing.assert_array_equal(found, bins.loc[bins["source"] == source, "probability"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(truth.levels[name])
    assert ax.get_ylabel() == "Probability"
    lefts = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for box in ax.containers for bar in box)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(lefts))


def test_densities_name_what_is_wrong(truth, frame):
    name, (level,) = next(iter(truth.cut_points)), truth.levels
    with pytest.raises(GomeaBnError, match="no variable 'X99'"):
        density_bins(truth, "X99")
    with pytest.raises(GomeaBnError, match=f"no column '{name}'"):
        density_bins(truth, name, table=frame.drop(columns=name))
    with pytest.raises(GomeaBnError, match=f"no column '{name}'"):
        density_bins(truth, name, table=read_table(frame.drop(columns=name)))
    with pytest.raises(GomeaBnError, match="at least one row"):
        density_bins(truth, name, table=frame.iloc[:0])
    with pytest.raises(GomeaBnError, match="unknown level 'new'"):
        density_bins(truth, level, table=frame.assign(**{level: "new"}))
    odd = ExpertNetwork.from_edges([], names=truth.names, cut_points={level: [0.5]})
    with pytest.raises(GomeaBnError, match=f"'{level}' is discrete in the network, but not in the expert's"):
        density_bins(truth, level, expert=odd)


# fronts


def test_front_points_are_the_front_then_the_expert_and_the_truth(front, truth, frame):
    points = front_points(front, expert=True, truth=truth)
    assert list(points.columns) == ["source", "id", "misfit", "complexity", "expert_distance"]
    assert list(points["source"]) == ["front"] * len(front) + ["expert", "truth"]
    own = points[points["source"] == "front"]
    np.testing.assert_array_equal(own[list(front.names)], front.values)
    assert own["id"].tolist() == list(range(len(front)))
    expert, other = points.iloc[-2], points.iloc[-1]
    assert points["id"].isna().tolist() == [False] * len(front) + [True, True]
    assert expert["misfit"] == pytest.approx(-front.expert.log_density(frame).mean())
    assert expert["complexity"] == front.expert.n_parameters
    assert expert["expert_distance"] == 0
    assert other["misfit"] == pytest.approx(-truth.log_density(frame).mean())
    assert other["complexity"] == truth.n_parameters
    distance = kl_divergence(front.expert, truth, 200_000, random_state=9)
    assert other["expert_distance"] == pytest.approx(distance.mean, abs=8 * distance.standard_error)
    again = front_points(front, expert=True, truth=truth)
    pd.testing.assert_frame_equal(points, again)


def test_the_front_s_own_network_falls_on_its_point(front, networks):
    points = front_points(front, expert=networks[0], objectives=["complexity", "misfit"])
    row = points.iloc[-1]
    hits = points[points["source"] == "front"]
    assert ((hits["misfit"] - row["misfit"]).abs() < 1e-12).any()
    assert row["complexity"] == networks[0].n_parameters


def test_an_expert_s_statement_is_fitted_to_the_front_s_table(front, truth):
    statement = ExpertNetwork.from_edges(truth.edges[:2], names=truth.names)
    points = front_points(front, expert=statement)
    assert points.iloc[-1]["complexity"] == statement.fitted(front.table).n_parameters


def test_a_front_of_two_objectives_is_a_scatter(front, truth):
    ax = plot_front(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    points = front_points(front, expert=True, truth=truth, objectives=["misfit", "complexity"])
    for dots, source in zip(ax.collections, ["front", "expert", "truth"], strict=True):
        np.testing.assert_array_equal(
            dots.get_offsets(), points.loc[points["source"] == source, ["misfit", "complexity"]]
        )
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"front ({len(front)} networks)", "expert's network", "truth"]
    assert ax.get_xlabel() == "Misfit [nats per row]   ← fits the data better"
    assert ax.get_ylabel() == "Complexity [free parameters]   ← simpler"
    paths = [dots.get_paths()[0].vertices.tolist() for dots in ax.collections]
    assert all(one != other for one, other in itertools.combinations(paths, 2))


def test_a_front_of_three_objectives_is_a_solid_scatter(front):
    ax = plot_front(front, expert=True)
    found = np.column_stack([np.asarray(part) for part in ax.collections[0]._offsets3d])
    np.testing.assert_array_equal(found, front.values)
    assert ax.get_xlabel() == "Misfit [nats per row]\nlower: fits the data better"
    assert ax.get_zlabel() == "Distance to the expert [nats]\nlower: closer to the expert's network"
    own = plt.figure().add_subplot(projection="3d")
    assert plot_front(front, ax=own) is own


def test_fronts_name_what_is_wrong(front, truth, networks):
    with pytest.raises(GomeaBnError, match=r"drawn over 2 or 3 objectives, got 1; the front has misfit"):
        plot_front(front, objectives=["misfit"])
    extra = [Objective(f"o{i}", f"O{i}", "units", "smaller") for i in range(4)]
    wide = Front(extra, np.eye(4), networks[:4], table=front.table)
    with pytest.raises(GomeaBnError, match=r"got 4; .* Choose with objectives="):
        plot_front(wide)
    with pytest.raises(GomeaBnError, match="value of the truth's network in the objective 'o0' is not known"):
        front_points(wide, truth=truth)
    with pytest.raises(GomeaBnError, match=r"no objective 'misfitt'.* Did you mean 'misfit'\?"):
        plot_front(front, objectives=["misfitt", "complexity"])
    with pytest.raises(GomeaBnError, match="each objective once"):
        plot_front(front, objectives=["misfit", "misfit"])
    with pytest.raises(GomeaBnError, match="single text"):
        plot_front(front, objectives="misfit")
    with pytest.raises(GomeaBnError, match="3 objectives need axes of 3 dimensions"):
        plot_front(front, ax=plt.figure().add_subplot())
    with pytest.raises(GomeaBnError, match="2 objectives need axes of 2 dimensions"):
        plot_front(front, objectives=front.names[:2], ax=plt.figure().add_subplot(projection="3d"))
    bare = Front(front.objectives, front.values, networks)
    with pytest.raises(GomeaBnError, match="this front has none; pass a network"):
        front_points(bare, expert=True)
    with pytest.raises(GomeaBnError, match="this front holds none; leave truth out"):
        front_points(bare, truth=truth)
    without = Front(front.objectives, front.values, networks, table=front.table)
    with pytest.raises(GomeaBnError, match="needs a front with an expert"):
        front_points(without, truth=truth)


# histories


class Learner:
    """What `plot_history` reads from a learner after `fit`."""

    def __init__(self, entries, n_eval, seconds):
        self.history_, self.n_eval_, self.fit_seconds_ = entries, n_eval, seconds
        self.score_ = -entries[-1].objective


def entries(*steps):
    return [HistoryEntry(seconds, n_eval, objective, 8) for seconds, n_eval, objective in steps]


FIRST = entries((0.1, 10, 50.0), (0.2, 30, 40.0))
SECOND = entries((0.3, 20, 45.0))


def test_histories_of_learners_are_scores_up_to_the_end():
    steps = history_steps([Learner(FIRST, 90, 1.5), Learner(SECOND, 20, 0.3)])
    expected = [
        ("run 1", 10, 0.1, -50.0, "score"),
        ("run 1", 30, 0.2, -40.0, "score"),
        ("run 1", 90, 1.5, -40.0, "score"),
        ("run 2", 20, 0.3, -45.0, "score"),
    ]
    assert list(steps.itertuples(index=False, name=None)) == expected


def test_lists_and_mixtures_of_runs_are_objectives():
    steps = history_steps({"own": Learner(FIRST, 30, 0.2), "_other": SECOND})
    assert steps["value"].tolist() == [50.0, 40.0, 45.0]
    assert set(steps["quantity"]) == {"objective"}
    assert steps["run"].tolist() == ["own", "own", "_other"]
    assert history_steps(FIRST)["run"].tolist() == ["run 1", "run 1"]


@pytest.mark.parametrize("x", ["evaluations", "seconds"])
def test_history_plots_draw_steps(x):
    runs = {"$a": Learner(FIRST, 90, 1.5), "_b": Learner(SECOND, 40, 0.7)}
    ax = plot_history(runs, x=x)
    steps = history_steps(runs)
    assert len(ax.lines) == 2
    for line, (_, run) in zip(ax.lines, steps.groupby("run", sort=False), strict=True):
        assert line.get_drawstyle() == "steps-post"
        np.testing.assert_array_equal(line.get_xdata(), run["n_eval" if x == "evaluations" else "seconds"])
        np.testing.assert_array_equal(line.get_ydata(), run["value"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["$a", "_b"]
    assert ax.get_xlabel() == ("Evaluations" if x == "evaluations" else "Time [seconds]")
    assert ax.get_ylabel() == "Best score [nats], higher is better"
    assert len({(line.get_color(), line.get_linestyle()) for line in ax.lines}) == 2
    ax.figure.draw_without_rendering()


def test_many_unnamed_runs_look_alike_and_one_needs_no_legend():
    many = plot_history([FIRST] * 9)
    assert len({line.get_color() for line in many.lines}) == 1
    assert many.get_legend() is None
    assert plot_history(FIRST).get_legend() is None
    assert plot_history(FIRST).get_ylabel() == "Best objective, lower is better"


def test_a_run_of_a_learner_can_be_plotted(frame):
    from gomea_bn.estimator import BayesNetLearner

    learner = BayesNetLearner(max_evaluations=300, random_state=1).fit(frame)
    steps = history_steps(learner)
    assert steps["value"].iloc[-1] == learner.score_
    assert steps["n_eval"].iloc[-1] == learner.n_eval_
    assert steps["value"].is_monotonic_increasing
    with pytest.raises(
        GomeaBnError, match=r"'run 1' must be a fitted learner.*got BayesNetLearner; call fit"
    ):
        plot_history(BayesNetLearner())


def test_histories_name_what_is_wrong():
    with pytest.raises(GomeaBnError, match="x must be 'evaluations' or 'seconds', got 'generations'"):
        plot_history(FIRST, x="generations")
    with pytest.raises(GomeaBnError, match="history of 'run 1' is empty"):
        plot_history([])
    with pytest.raises(GomeaBnError, match="at least one run"):
        plot_history({})


# manners


def hostile_network():
    edges = list(itertools.pairwise(HOSTILE))
    cards = dict.fromkeys(HOSTILE, 2) | {HOSTILE[0]: len(HOSTILE)}
    parents = dict.fromkeys(HOSTILE, ()) | {child: (parent,) for parent, child in edges}
    continuous = HOSTILE[1:]
    return DiscretizedBayesNet(
        HOSTILE,
        edges,
        cut_points={name: [0.5] for name in continuous},
        support=dict.fromkeys(continuous, (0.0, 1.0)),
        levels={HOSTILE[0]: HOSTILE},
        tables={
            name: np.full([cards[one] for one in (*parents[name], name)], 1 / cards[name]) for name in HOSTILE
        },
    )


def test_hostile_names_are_drawn_as_they_are():
    network = hostile_network()
    with warnings.catch_warnings(), matplotlib.rc_context({"text.parse_math": True}):
        warnings.simplefilter("error")
        drawings = [
            plot_network(network, reference=network.edges[1:]),
            plot_density(network, HOSTILE[0]),
            plot_density(network, HOSTILE[1]),
            plot_history(dict.fromkeys(HOSTILE, FIRST)),
        ]
        for ax in drawings:
            ax.figure.canvas.draw()
    titles = [text.get_text() for text in drawings[0].texts][::2]
    for name, title in zip(HOSTILE, titles, strict=True):
        if name in ("$\\frac{", "a_b^c", "_x", "100% $5 and $6", "two\nlines", "<&>", "$a$"):
            assert title == name
    assert titles[HOSTILE.index("tab\there\\")] == "tab\\there\\"
    long = titles[HOSTILE.index("v" * 300)].replace("\n", "")
    assert len(long) == 48
    assert set(long) == {"v", "…"}
    assert drawings[2].get_xlabel() == "a_b^c"
    named = [*drawings[0].texts, drawings[2].xaxis.label, *drawings[1].get_xticklabels()]
    named += drawings[3].get_legend().get_texts()
    assert len(named) > 30
    assert not any(text.get_parse_math() or text.get_usetex() for text in named)


def test_the_shared_hostile_names_can_be_drawn():
    network = small_network(5, names=HOSTILE_NAMES)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        plot_network(network).figure.canvas.draw()
        for name in network.names[:6]:
            plot_density(network, name).figure.canvas.draw()


def test_given_axes_are_used_and_nothing_global_changes(front, truth, frame):
    figure, axs = plt.subplots(2, 2, figsize=(10, 8))
    settings_before, open_before = dict(matplotlib.rcParams), plt.get_fignums()
    current = plt.gca()
    name = next(iter(truth.cut_points))
    for draw, ax in zip(
        [
            lambda ax: plot_network(truth, reference=front.expert, ax=ax),
            lambda ax: plot_density(truth, name, table=frame, ax=ax),
            lambda ax: plot_front(front, objectives=front.names[:2], ax=ax),
            lambda ax: plot_history(FIRST, ax=ax),
        ],
        axs.flat,
        strict=True,
    ):
        assert draw(ax) is ax
    assert plt.get_fignums() == open_before
    assert plt.gca() is current
    assert dict(matplotlib.rcParams) == settings_before
    assert figure.axes == list(axs.flat)


def test_figures_without_pyplot_will_do(truth):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    ax = plot_network(truth, ax=figure.subfigures(1, 2)[0].subplots())
    figure.draw_without_rendering()
    assert len(boxes(ax)) == 6
    assert plt.get_fignums() == []


def test_new_figures_are_as_large_as_the_network_needs():
    small, large = (plot_network(random_network(n, random_state=1)) for n in (4, 20))
    assert (small.figure.get_size_inches() < large.figure.get_size_inches()).all()
    sizes = {text.get_fontsize() for text in small.texts[::2]} | {
        text.get_fontsize() for text in large.texts[::2]
    }
    assert sizes == {matplotlib.rcParams["font.size"]}
