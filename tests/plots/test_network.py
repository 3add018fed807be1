"""Drawings of networks: what they hold, and that nothing covers or crosses a variable's box."""

import itertools
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from network_examples import simple_network, small_network
from wrong_input import untyped

from gomea_bn import ExpertNetwork, GomeaBnError
from gomea_bn.plots import edge_marks, plot_network
from gomea_bn.simulation import random_network


def two_networks():
    cuts = {name: [0.5] for name in "abcd"}
    graphs = [("a", "b"), ("b", "c"), ("a", "d")], [("a", "b"), ("c", "b"), ("c", "d")]
    return tuple(simple_network({}, edges, cuts=cuts) for edges in graphs)


def test_edges_are_marked_against_a_reference():
    network, reference = two_networks()
    expected = {("a", "b"): "common", ("b", "c"): "reversed", ("a", "d"): "added", ("c", "d"): "missing"}
    assert edge_marks(network, reference) == expected
    assert edge_marks(network, reference.edges) == expected
    assert edge_marks(network, ExpertNetwork.from_edges(reference.edges)) == expected
    with pytest.raises(GomeaBnError, match="unknown variable 'bb'"):
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


def test_edges_are_as_thick_as_they_are_probable():
    network = random_network(4, law="ide-cozman", random_state=1)
    parent, child = network.edges[0]
    pairs = [[child, parent, 0.125, 0.625]]
    ax = plot_network(network.with_metadata(edge_probabilities={"pairs": pairs}))
    texts = [text.get_text() for text in ax.texts]
    assert texts.count("0.75") == 1
    assert texts.count("0.00") == len(network.edges) - 1
    widths = [arrow.get_linewidth() for arrow in arrows(ax)]
    assert widths[0] > 3 * widths[1]
    assert "0.75" not in [text.get_text() for text in plot_network(network, reference=network).texts]


def network_drawings():
    twenty = random_network(20, random_state=2)
    other = random_network(20, random_state=5)
    dense = random_network(12, law="ide-cozman", random_state=1)
    return {"twenty": (twenty, None), "compared": (twenty, other), "dense": (dense, None), "empty": (
        small_network(1, 7, max_parents=0), None)}  # fmt: skip


@pytest.mark.sample(1)
@pytest.mark.parametrize("case", ["twenty", "compared", "dense", "empty"])
@pytest.mark.parametrize("size", [None, (11.0, 5.0), (4.0, 7.0)])
def test_boxes_stand_apart_and_no_edge_passes_under_one(case, size):
    network, reference = network_drawings()[case]
    ax = plt.subplots(figsize=size)[1] if size else None
    ax = plot_network(network, reference=reference, ax=ax)
    extents = dict(zip(network.names, box_extents(ax), strict=True))
    frame = ax.get_window_extent()
    for box, other in itertools.combinations(extents.values(), 2):
        assert not box.overlaps(other)
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
    given_axes = plt.subplots(figsize=size, layout="constrained")[1] if size else None
    ax: Any = plot_network(network, reference=reference, ax=given_axes)
    extents = box_extents(ax)
    renderer = ax.figure.canvas.get_renderer()
    for position, text in enumerate(ax.texts):
        inner, outer = text.get_window_extent(renderer), extents[position // 2].padded(1)
        assert outer.x0 <= inner.x0
        assert inner.x1 <= outer.x1
        assert outer.y0 <= inner.y0
        assert inner.y1 <= outer.y1
    legend = ax.get_legend().get_window_extent(renderer)
    assert not any(legend.overlaps(extent) for extent in extents)
    assert ax.get_window_extent().x0 <= legend.x0
    assert legend.x1 <= ax.get_window_extent().x1


def test_figures_without_pyplot_will_do():
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(4, 3))
    ax = plot_network(random_network(6, random_state=4), ax=figure.subfigures(1, 2)[0].subplots())
    figure.draw_without_rendering()
    assert len(boxes(ax)) == 6
    assert plt.get_fignums() == []


def test_new_figures_are_as_large_as_the_network_needs():
    small, large = (plot_network(random_network(n, random_state=1)) for n in (4, 20))
    small_size, large_size = (untyped(ax.figure).get_size_inches() for ax in (small, large))
    assert (small_size < large_size).all()
    sizes = {text.get_fontsize() for text in small.texts[::2]} | {
        text.get_fontsize() for text in large.texts[::2]
    }
    assert sizes == {matplotlib.rcParams["font.size"]}


def test_every_time_of_a_network_with_lags_has_a_band_that_holds_its_boxes():
    names = ["x (2 before)", "x (1 before)", "y (1 before)", "x", "y"]
    edges = [("x (2 before)", "x (1 before)"), ("x (2 before)", "y"), ("x (1 before)", "x"), ("x", "y")]
    ax = plot_network(simple_network({}, edges, cuts={name: [0.5] for name in names}))
    bands = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    titles = [text.get_text().strip() for text in ax.texts]
    assert [title for title in titles if title.endswith("before") or title == "now"] == [
        "2 before",
        "1 before",
        "now",
    ]
    ends = [sorted((band.get_y(), band.get_y() + band.get_height())) for band in bands]
    assert len(ends) == 3
    assert all(above[1] < below[0] for above, below in itertools.pairwise(ends))
    held = [
        sum(top <= box.get_y() <= box.get_y() + box.get_height() <= bottom for box in boxes(ax))
        for top, bottom in ends
    ]
    assert held == [1, 2, 2]
    plt.close("all")
