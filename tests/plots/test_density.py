"""Plots of one variable: densities of bins, probabilities of levels, and the data next to them."""

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, tables_of
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from network_examples import one_column
from plot_examples import binned_network
from shaped_examples import shaped_network, shaped_table
from wrong_input import untyped

from gomea_bn import ExpertNetwork, GomeaBnError, Shape, read_table
from gomea_bn.network.conditionals import Conditionals
from gomea_bn.network.marginals import level_probabilities
from gomea_bn.plots import density_bins, marginal_density, plot_density
from gomea_bn.plots.axes import apart, density_label, draw_levels, new_axes, size_in_points


def test_densities_are_marginals_over_bin_widths(truth, frame):
    expert = binned_network(frame, [], 3)
    assert len(truth.cut_points) == 5
    for name in truth.cut_points:
        bins = density_bins(truth, name, table=frame, expert=expert)
        assert set(bins["source"]) == {"network", "data", "expert"}
        for source, part in bins.groupby("source"):
            assert (part["density"] * (part["high"] - part["low"])).sum() == pytest.approx(1), source
        of_network = bins[bins["source"] == "network"]
        np.testing.assert_array_equal(of_network["high"].iloc[:-1], truth.cut_points[name])
        np.testing.assert_allclose(
            of_network["density"] * (of_network["high"] - of_network["low"]),
            truth.query(name).to_numpy(),
            atol=1e-12,
        )
        assert set(of_network["how"]) == {"exact"}
        data = bins[bins["source"] == "data"]
        for low, high, density in data[["low", "high", "density"]].itertuples(index=False):
            inside = ((frame[name] > low) & (frame[name] <= high)).sum() + (frame[name] == low).sum() * (
                low == data["low"].iloc[0]
            )
            assert density == pytest.approx(inside / len(frame) / (high - low))


def test_probabilities_of_levels_come_with_the_data_s_shares(truth, frame):
    (name,) = truth.levels
    bins = density_bins(truth, name, table=read_table(frame), expert=truth)
    of_network, data, expert = (bins[bins["source"] == source] for source in ("network", "data", "expert"))
    assert list(of_network["level"]) == list(truth.levels[name])
    np.testing.assert_allclose(of_network["probability"], truth.query(name).to_numpy(), atol=1e-12)
    np.testing.assert_array_equal(expert["probability"], of_network["probability"])
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
    assert set(density_bins(truth, name, expert=ExpertNetwork.from_network(truth))["how"]) == {"exact"}


def test_density_plots_draw_these_numbers(truth, frame):
    name = next(iter(truth.cut_points))
    expert = binned_network(frame, [], 3)
    ax: Any = plot_density(truth, name, table=frame, expert=expert)
    bins = density_bins(truth, name, table=frame, expert=expert)
    stairs = [patch.get_data() for patch in ax.patches]
    for drawn, source in zip(stairs, ["data", "network", "expert"], strict=True):
        part = bins[bins["source"] == source]
        np.testing.assert_array_equal(drawn.values, part["density"])
        np.testing.assert_array_equal(drawn.edges, [*part["low"], part["high"].iloc[-1]])
    marks = [[segment[0][0] for segment in lines.get_segments()] for lines in ax.collections]
    np.testing.assert_array_equal(marks[0], truth.cut_points[name])
    np.testing.assert_array_equal(marks[1], expert.cut_points[name])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["data", f"network ({truth.cardinality(name)} bins)", "expert (3 bins)"]
    assert ax.get_xlabel() == name
    assert ax.get_ylabel() == "Density"
    untyped(ax.figure).draw_without_rendering()
    below = ax.transData.inverted().transform(ax.get_legend().get_window_extent())[0, 1]
    assert below >= bins["density"].max()


def test_bars_stand_for_levels(truth, frame):
    (name,) = truth.levels
    ax = plot_density(truth, name, table=frame)
    bins = density_bins(truth, name, table=frame)
    heights = [[bar.get_height() for bar in container] for container in ax.containers]
    for drawn, source in zip(heights, ["data", "network"], strict=True):
        np.testing.assert_array_equal(drawn, bins.loc[bins["source"] == source, "probability"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == list(truth.levels[name])
    assert ax.get_ylabel() == "Probability"
    lefts = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for box in ax.containers for bar in box)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in itertools.pairwise(lefts))


def test_densities_name_what_is_wrong(truth, frame):
    name, (level,) = next(iter(truth.cut_points)), truth.levels
    with pytest.raises(GomeaBnError, match="Unknown variable 'X99'"):
        density_bins(truth, "X99")
    with pytest.raises(GomeaBnError, match=f"column '{name}'"):
        density_bins(truth, name, table=frame.drop(columns=name))
    with pytest.raises(GomeaBnError, match=f"column '{name}'"):
        density_bins(truth, name, table=read_table(frame.drop(columns=name)))
    with pytest.raises(GomeaBnError, match="at least one row"):
        density_bins(truth, name, table=frame.iloc[:0])
    with pytest.raises(GomeaBnError, match="unknown level 'new'"):
        density_bins(truth, level, table=frame.assign(**{level: "new"}))
    odd = ExpertNetwork.from_edges([], names=truth.names, cut_points={level: [0.5]})
    with pytest.raises(GomeaBnError, match=f"'{level}' is discrete in the network, but not in the expert's"):
        density_bins(truth, level, expert=odd)


@pytest.mark.parametrize("n_bins", [1, 4, 12])
def test_a_variable_with_a_shape_is_drawn_as_a_line_with_its_bins(n_bins):
    table = shaped_table()
    network = shaped_network(table, n_bins)
    ax: Any = plot_density(network, "cause", table=table, expert=shaped_network(table, 3))
    of_network, of_expert = (line.get_xydata() for line in ax.lines)
    curve = marginal_density(network, "cause")
    np.testing.assert_array_equal(of_network[1:-1], np.column_stack([curve.values, curve.densities]))
    assert of_network[[0, -1], 1].tolist() == [0, 0]
    expected = marginal_density(shaped_network(table, 3), "cause")
    np.testing.assert_array_equal(of_expert[1:-1, 1], expected.densities)
    cuts = [segment[0][0] for segment in ax.collections[0].get_segments()]
    np.testing.assert_array_equal(cuts, network.cut_points["cause"])
    # the data alone are steps
    assert len(ax.patches) == 1
    assert ax.get_ylim()[1] > max(curve.densities.max(), ax.patches[0].get_data().values.max())


def test_point_masses_are_stems_and_not_in_the_histogram():
    table = shaped_table()
    network = shaped_network(table, 4)
    values = table.columns[1].values
    ax: Any = plot_density(network, "rain", table=table)
    curve = marginal_density(network, "rain")
    data = density_bins(network, "rain", table=table)
    data = data[data["source"] == "data"]
    highest = max(curve.densities.max(), data["density"].max())
    (mass,) = curve.points.values()
    (stem,) = ax.collections[-1].get_segments()
    np.testing.assert_allclose(stem, [[0, 0], [0, mass * highest]])
    _, dot, share = (line.get_xydata()[-1] for line in ax.lines)
    np.testing.assert_allclose(dot, [0, mass * highest])
    np.testing.assert_allclose(share, [0, (values == 0).mean() * highest])
    assert ax.get_legend().get_texts()[-1].get_text() == f"{100 * mass:.0f} % at 0"
    area = (data["density"] * (data["high"] - data["low"])).sum()
    assert area == pytest.approx((values != 0).mean())
    untyped(ax.figure).draw_without_rendering()
    only_zeros = density_bins(network, "rain", table=table.to_frame().assign(rain=0.0))
    assert set(only_zeros["source"]) == {"network"}


def test_a_variable_without_a_shape_stays_a_step_function():
    table = shaped_table()
    ax = plot_density(shaped_network(table, 3), "flat", table=table)
    assert len(ax.lines) == 0
    assert len(ax.patches) == 2


def test_the_density_of_a_bin_below_every_range_is_finite():
    network = one_column([5e-311, 0.5], (0.0, 1.0), [0.25, 0.25, 0.5])
    with np.errstate(over="raise"):
        bins = density_bins(network, "x")
    assert np.isfinite(bins["density"]).all()
    assert bins["density"].tolist()[1:] == [0.5, 1.0]
    low, high = plot_density(network, "x").get_ylim()
    assert low == 0
    assert high < np.inf


@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e100])
@pytest.mark.parametrize("shaped", [True, False])
def test_densities_of_extreme_ranges_fill_the_axes(scale, shaped):
    plain, extreme = (
        one_column(
            [0.25 * of],
            (-0.5 * of, 0.5 * of),
            [0.75, 0.25],
            shapes={"x": Shape([-0.5 * of, 0.5 * of], [0.4], [1.0], {0.0: 0.3})} if shaped else {},
        )
        for of in (1.0, scale)
    )
    values = np.linspace(-0.4, 0.4, 200)
    axes = [
        plot_density(network, "x", table=pd.DataFrame({"x": values * of}))
        for network, of in ((plain, 1.0), (extreme, scale))
    ]
    unit = 1.0 if scale == 1e100 else scale
    assert axes[1].get_xlim() == pytest.approx(np.array(axes[0].get_xlim()) * scale / unit)
    # the label of the axis takes part of the height
    heights = np.array(axes[0].get_ylim()) / scale * unit
    assert axes[1].get_ylim() == pytest.approx(heights, rel=0.03, abs=0)
    names = ("x", "Density") if unit == 1 else (f"x [{unit:g}]", f"Density per {unit:g}")
    assert (axes[1].get_xlabel(), axes[1].get_ylabel()) == names
    legends = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes]
    assert legends[0] == legends[1]


@pytest.mark.long
def test_the_averaged_density_and_the_certainty_of_cuts_are_drawn():
    averaged = averaged_example()
    rows = averaged.sample(300, random_state=1)
    ax = plot_density(averaged, "b", table=rows)
    curve = marginal_density(averaged, "b")
    np.testing.assert_array_equal(np.asarray(ax.lines[0].get_xdata())[1:-1], curve.values)
    np.testing.assert_array_equal(np.asarray(ax.lines[0].get_ydata())[1:-1], curve.densities)
    bands = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.containers[0]]
    np.testing.assert_allclose(bands, averaged.cut_intervals("b")[["low", "high"]])
    probabilities = averaged.cut_probabilities("b")
    drawn = [(text.get_position()[0], text.get_text()) for text in ax.texts]
    assert drawn == [
        (cut, f"{100 * share:.0f} %")
        for cut, share in probabilities[["cut", "probability"]].itertuples(index=False)
    ]
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    average = "average of 3 sets of cuts, 40 % effects that depend on each other"
    assert texts == ["data", average, "90 % intervals of the cuts"]
    # the probabilities of the bins are those of the curve
    bins = density_bins(averaged, "b", table=rows)
    of_network = bins[bins["source"] == "network"]
    middles = (curve.values[1:] + curve.values[:-1]) / 2
    areas = np.diff(curve.values) * (curve.densities[1:] + curve.densities[:-1]) / 2
    codes = np.searchsorted(averaged.cut_points["b"], middles)
    masses = np.bincount(codes, areas, minlength=averaged.cardinality("b"))
    np.testing.assert_allclose(
        of_network["density"] * (of_network["high"] - of_network["low"]), masses, atol=0.02
    )
    ax.figure.canvas.draw()


def test_unknown_certainty_of_cuts_is_left_out():
    averaged = averaged_example(cut_probabilities=None, cut_intervals=None, lines={})
    ax = plot_density(averaged, "b")
    assert not ax.texts
    assert not ax.containers
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["average of 3 sets of cuts"]


def test_levels_have_their_averaged_probabilities():
    averaged = averaged_example()
    bins = density_bins(averaged, "d")
    np.testing.assert_array_equal(bins["probability"], level_probabilities(averaged, "d")[0])
    assert set(bins["how"]) == {"sampled"}
    assert plot_density(averaged, "d").get_ylabel() == "Probability"


def test_averaged_densities_of_huge_ranges_have_a_unit():
    network = one_column([0], (-1e300, 1e300), [0.5, 0.5])
    of_cuts: dict[str, Any] = {"cut_probabilities": {"x": [0.5]}, "cut_intervals": {"x": [(-1e299, 2e299)]}}
    conditionals = Conditionals.of_tables([tables_of(network)], n_rows=10, **of_cuts)
    ax = plot_density(network.changed(conditionals=conditionals), "x")
    ax.figure.canvas.draw()
    assert "1e+300" in ax.get_xlabel()
    (band,) = ax.containers[0]
    assert (band.get_x(), band.get_width()) == pytest.approx((-0.1, 0.3))


@pytest.mark.parametrize(("n", "length"), [(5, 3), (12, 6), (25, 6), (40, 20), (150, 8)])
def test_names_of_levels_do_not_overlap(n, length):
    ax = new_axes((6.4, 3.8))
    levels = [f"{k:0{length}d}" for k in range(n)]
    draw_levels(ax, levels, [(list(range(n)), [1 / n] * n, {})])
    figure = ax.figure.canvas.figure
    figure.draw_without_rendering()
    texts = ax.get_xticklabels()
    assert {text.get_text() for text in texts} <= set(levels)
    assert len(texts) == n or n > 40
    lines = [text.get_window_extent() for text in texts]
    for first, second in itertools.pairwise(zip(texts, lines, strict=True)):
        angle = math.radians(first[0].get_rotation())
        if 0 < angle < math.pi / 2:
            step = (
                first[0].get_transform().transform((1, 0))[0] - first[0].get_transform().transform((0, 0))[0]
            )
            height = float(first[0].get_fontsize()) * figure.dpi / 72
            assert step * math.sin(angle) >= height
        else:
            assert first[1].x1 <= second[1].x0 + 0.5


@given(st.lists(st.floats(0, 1), max_size=60))
def test_upright_texts_stay_apart_and_near_their_values(values):
    ax = Figure(figsize=(6.4, 3.8)).add_subplot()
    ax.set_xlim(0, 1)
    cuts = np.sort(np.array(values, np.float64))
    places = apart(ax, cuts, 7)
    step = min(1.2 * 7 / size_in_points(ax)[0], 1 / max(len(cuts), 1))
    assert (np.diff(places) >= step - 1e-9).all()
    assert ((places >= -1e-9) & (places <= 1 + 1e-9)).all()
    if (np.diff(cuts) >= step).all() and len(cuts) and cuts[-1] <= 1 - step:
        np.testing.assert_allclose(places, cuts)


def test_densities_of_dates_are_per_day():
    assert density_label("seen [days since 1970-01-01]", 1.0) == "Density per day"
    assert density_label("start [hours]", 1.0) == "Density per hour"
