"""The densities on the page are those of the package, in its data and in its drawing."""

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import averaged_example, lines_of, weight_of
from review_browser import opened
from shaped_examples import point_at_a_cut, shaped_network, shaped_table

from gomea_bn import DiscretizedBayesNet, Front, fit_shape, network_report, read_table, review_page
from gomea_bn.data import Table
from gomea_bn.data.column_summary import column_summary
from gomea_bn.front import COMPLEXITY, MISFIT
from gomea_bn.network.conditionals import Curve
from gomea_bn.network.conditionals.curve import scaled_by_bin
from gomea_bn.plots import marginal_density
from gomea_bn.review import pools

TABLE = shaped_table()
PLAIN = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def shaped_front() -> Front:
    """Return networks with few and many bins; an expert with three bins."""
    networks = [shaped_network(TABLE, n_bins) for n_bins in (1, 4, 12)]
    return Front(
        [MISFIT, COMPLEXITY], [[3.0, 10], [2.0, 20], [1.0, 30]], networks, table=TABLE,
        expert=shaped_network(TABLE, 3),
    )  # fmt: skip


def page_data(page: str) -> dict[str, Any]:
    match = PLAIN.search(page)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


def curve_on_page(data: dict[str, Any], entry: dict[str, Any], position: int) -> Curve:
    """Return the density that the data of a page describe."""
    bins = data["cuts"][position][entry["c"][position]]
    inside = data["curves"][position][bins["s"]]
    curve = Curve(np.array(inside["x"]), np.array(inside["y"]), dict(inside["p"]))
    return scaled_by_bin(
        curve, np.array(bins["at"]), np.array(data["ratios"][position][entry["d"][position]])
    )


def test_the_report_of_a_network_with_conditionals_holds_their_densities():
    averaged = averaged_example()
    data = page_data(network_report(averaged))
    plain = page_data(network_report(averaged.of_tables()))
    assert plain["averaged"] is None
    lines = lines_of(averaged)
    coarseness = data["coarseness"]
    of_conditionals = ("averaged", "coarseness", "effects", "n_parameters")
    assert data | {part: plain[part] for part in of_conditionals} == plain
    assert 0 < coarseness["median"] <= coarseness["most"] < 1
    assert coarseness["n"] == min(len(averaged.edges), 12)
    for name, average in zip(averaged.names, data["averaged"], strict=True):
        if name in averaged.levels:
            assert average is None
            continue
        curve = marginal_density(averaged, name)
        np.testing.assert_allclose(average["x"], curve.values, rtol=1e-8)
        np.testing.assert_allclose(average["y"], curve.densities, rtol=1e-5)
        assert dict(average["p"]) == curve.points
        assert average["copies"] == 3
        assert average["line"] == (weight_of(averaged, name) if name in lines else None)


@pytest.mark.long
def test_the_averaged_density_is_drawn_as_a_dashed_line(browser, tmp_path):
    averaged = averaged_example()
    path = tmp_path / "page.html"
    network_report(averaged, path=path)
    curve = marginal_density(averaged, "b")
    with opened(browser, path) as page:
        page.locator(".node[data-variable='3']").press("Enter")
        (points,) = page.eval_on_selector_all(
            "#histogram polyline.density.averaged",
            "nodes => nodes.map((node) => node.getAttribute('points'))",
        )
        assert len(points.split()) == len(curve.values)
        texts = page.locator("#panel .inside").all_inner_texts()
        dashed = "Dashed: the density averaged over 3 sets of cuts, 40\u00a0% of it by the parents, as "
        assert f"{dashed}effects that depend on each other." in texts


def test_the_data_of_a_page_hold_the_marginal_densities():
    front = shaped_front()
    data = page_data(review_page(front))
    for number, entry in zip(data["ids"], data["networks"], strict=True):
        network = front[number].network
        for position, name in enumerate(network.names):
            expected = marginal_density(network, name)
            drawn = curve_on_page(data, entry, position)
            np.testing.assert_allclose(drawn.values, expected.values, rtol=1e-8, atol=1e-9)
            np.testing.assert_allclose(drawn.densities, expected.densities, rtol=1e-4)
            assert list(drawn.points) == list(expected.points)
            np.testing.assert_allclose(list(drawn.points.values()), list(expected.points.values()), rtol=1e-4)
    # all networks have the same shapes, which are stored once
    assert [len(curves) for curves in data["curves"]] == [1, 1, 1, 1]


def test_networks_share_a_density_only_if_their_bins_have_the_same_probabilities():
    network = shaped_network(TABLE, 4)
    other = DiscretizedBayesNet.from_table(
        TABLE,
        network.edges,
        network.cut_points,
        pseudo_count=1.0,
        shapes={name: shape for name, shape in network.shapes.items() if name != "tail"},
    )
    front = Front([MISFIT, COMPLEXITY], [[1.0, 2], [2.0, 1]], [network, other], table=TABLE)
    first, second = page_data(review_page(front))["networks"]
    for position, name in enumerate(network.names):
        assert (first["d"][position] == second["d"][position]) == (name != "tail")
        assert (first["c"][position] == second["c"][position]) == (name != "tail")


def test_a_density_depends_on_the_tables_of_all_ancestors():
    networks = [point_at_a_cut(lower) for lower in (0.3, 0.6)]
    front = Front([MISFIT, COMPLEXITY], [[1.0, 2], [2.0, 1]], networks)
    data = page_data(review_page(front))
    assert data["networks"][0]["f"][1] == data["networks"][1]["f"][1]
    for number, entry in zip(data["ids"], data["networks"], strict=True):
        expected = marginal_density(networks[number], "y")
        np.testing.assert_allclose(curve_on_page(data, entry, 1).densities, expected.densities, rtol=1e-5)


def test_a_sample_stands_in_where_tables_would_grow_too_large(monkeypatch):
    network = shaped_network(TABLE, 4)
    monkeypatch.setattr(pools, "_MOST_CELLS", 1)
    data = page_data(network_report(network, TABLE))
    for position, name in enumerate(network.names):
        drawn = curve_on_page(data, data["networks"][0], position)
        expected = marginal_density(network, name)
        assert np.trapezoid(drawn.densities, drawn.values) + sum(drawn.points.values()) == pytest.approx(
            1, abs=1e-4
        )
        np.testing.assert_allclose(drawn.densities, expected.densities, rtol=0.05)


def offset_table(offset: float, scale: float) -> Table:
    """Return rows of a column that is far from 0, and of a child."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    return read_table(pd.DataFrame({"x": offset + scale * x, "y": x + 0.3 * rng.normal(size=300)}))


def offset_network(table: Table, *, shaped: bool = True) -> DiscretizedBayesNet:
    """Return a network of `offset_table` with four bins of each column."""
    cuts = {column.name: np.sort(column.values)[[74, 150, 224]] for column in table.columns}
    shapes = {column.name: fit_shape(column.values).shape for column in table.columns} if shaped else {}
    return DiscretizedBayesNet.from_table(table, [("x", "y")], cuts, shapes=shapes)


@pytest.mark.parametrize(("offset", "scale"), [(1e9, 1e-3), (-1e9, 1e-3), (1e15, 1.0), (0.0, 1e-300)])
@pytest.mark.parametrize("shaped", [True, False])
def test_positions_on_the_page_are_exact_for_the_range(offset, scale, shaped):
    table = offset_table(offset, scale)
    network = offset_network(table, shaped=shaped)
    data = page_data(network_report(network, table))
    low, high = network.support["x"]
    expected = marginal_density(network, "x")
    drawn = curve_on_page(data, data["networks"][0], 0)
    np.testing.assert_allclose(
        (drawn.values - low) / (high - low), (expected.values - low) / (high - low), atol=1e-8
    )
    edges = np.array(data["variables"][0]["histogram"]["edges"])
    exact = column_summary(table)[0]["histogram"]["edges"]
    np.testing.assert_allclose(
        (edges - low) / (high - low), (np.array(exact) - low) / (high - low), atol=1e-8
    )


def test_bins_far_from_zero_are_drawn_and_named_apart(shown):
    table = offset_table(1e9, 1e-3)
    with shown(offset_network(table), table=table) as page:
        page.locator(".node[data-variable='0']").press("Enter")
        width = float(page.locator("#histogram").get_attribute("width"))
        points = page.locator("#histogram polyline.density.this").get_attribute("points")
        drawn = np.array([pair.split(",") for pair in points.split()], dtype=float)
        assert np.ptp(drawn[:, 0]) > 0.9 * width
        assert len(np.unique(drawn[:, 0])) > 30
        heights = page.locator("#histogram rect.bar").evaluate_all(
            "bars => bars.map(bar => Number(bar.getAttribute('height')))"
        )
        assert sum(height > 5 for height in heights) > 10
        ends = page.locator("#histogram text.muted").all_text_contents()
        low, high = (float(text.replace(",", "")) for text in ends)
        assert (high - low) == pytest.approx(np.ptp(table.columns[0].values), rel=0.01)
        page.click("summary:text('Bins as a table')")
        names = page.locator("#panel details table").first.locator("tbody th").all_inner_texts()
        assert len(set(names)) == len(names) == 4
        first = float(names[0].removeprefix("≤ ").replace(",", ""))
        assert first == pytest.approx(np.sort(table.columns[0].values)[74], abs=2e-4)


def test_cuts_between_integers_keep_their_decimal(shown):
    rng = np.random.default_rng(2)
    table = read_table(pd.DataFrame({"x": rng.integers(0, 400, 300), "y": rng.normal(size=300)}))
    network = DiscretizedBayesNet.from_table(table, [], {"x": [4.5, 6.5, 123.25], "y": [0.123456]})
    expected = [["≤ 4.5", "4.5 \u2013 6.5", "6.5 \u2013 123.3", "> 123.3"], ["≤ 0.1235", "> 0.1235"]]
    with shown(network, table=table) as page:
        for position, texts in enumerate(expected):
            page.locator(f".node[data-variable='{position}']").press("Enter")
            page.click("summary:text('Bins as a table')")
            rows = page.locator("#panel details table").first.locator("tbody th")
            assert rows.all_inner_texts() == texts


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_bins", [1, 4, 12])
def test_the_drawing_shows_the_density_the_stems_and_the_rows(browser, tmp_path, n_bins):
    network = shaped_network(TABLE, n_bins)
    network_report(network, TABLE, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        for position, name in enumerate(network.names):
            page.locator(f".node[data-variable='{position}']").press("Enter")
            assert page.locator(".variable-name").inner_text() == name
            points = page.locator("#histogram polyline.density.this").get_attribute("points")
            drawn = np.array([pair.split(",") for pair in points.split()], dtype=float)
            curve = marginal_density(network, name)
            width = float(page.locator("#histogram").get_attribute("width"))
            edges = column_summary(TABLE)[position]["histogram"]["edges"]
            low, high = min(edges[0], curve.values[0]), max(edges[-1], curve.values[-1])
            x = 4 + (curve.values - low) / (high - low) * (width - 8)
            np.testing.assert_allclose(drawn[:, 0], x, atol=0.02)
            tall = float(page.locator("#histogram line.axis").get_attribute("y1"))
            heights = tall - drawn[:, 1]
            assert heights.min() >= 0
            scale = heights.max() / curve.densities.max()
            np.testing.assert_allclose(heights, curve.densities * scale, atol=0.02)
            stems = page.locator("#histogram line.stem.this")
            assert stems.count() == len(curve.points)
            for mass in curve.points.values():
                top = float(stems.first.get_attribute("y1"))
                assert (tall - top) / (tall - 6) == pytest.approx(mass, abs=1e-3)
            # the bars are on the scale of the density, without the rows at point masses
            bars = page.locator("#histogram rect.bar").evaluate_all(
                "bars => bars.map(bar => Number(bar.getAttribute('height')))"
            )
            area = sum(bars) / scale * (edges[1] - edges[0])
            assert area == pytest.approx(1 - (TABLE.columns[position].values == 0).mean(), abs=1e-4)


@pytest.mark.long
def test_the_page_says_what_is_inside_the_bins(browser, tmp_path, monkeypatch):
    network = shaped_network(TABLE, 4)
    network_report(network, TABLE, tmp_path / "page.html")
    share = round(100 * (TABLE.columns[1].values == 0).mean())
    expected = {
        "cause": "Inside the bins: shape of its column.",
        "rain": f"Inside the bins: shape of its column; 0 in {share}\u00a0% of rows.",
        "flat": "Inside the bins: uniform.",
    }
    with opened(browser, tmp_path / "page.html") as page:
        for name, text in expected.items():
            page.locator(f".node[data-variable='{network.names.index(name)}']").press("Enter")
            assert page.locator(".inside").all_inner_texts() == [text]
    monkeypatch.setattr(pools, "_MOST_CELLS", 1)
    monkeypatch.setattr(pools, "_MOST_SAMPLED", 0)
    network_report(network, TABLE, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html") as page:
        page.locator(f".node[data-variable='{network.names.index('rain')}']").press("Enter")
        assert page.locator("#histogram polyline").count() == 0
        assert page.locator("#histogram rect.bar").count() > 5
        assert "its density takes too long to compute" in page.locator(".inside").inner_text()


def test_the_expert_s_density_is_drawn_too(shown):
    with shown(shaped_front(), "#network=2") as page:
        page.locator(".node[data-variable='0']").press("Enter")
        assert page.locator("#histogram polyline").count() == 2
        assert page.locator("#histogram polyline").last.get_attribute("class") == "density this"
        assert page.locator("#histogram line.cut.yours").count() == 2 * 2


def test_the_stem_of_a_point_at_a_cut_is_that_of_the_lower_bin(shown):
    network = point_at_a_cut()
    with shown(network) as page:
        page.locator(".node[data-variable='0']").press("Enter")
        tall = float(page.locator("#histogram line.axis").get_attribute("y1"))
        top = float(page.locator("#histogram line.stem").get_attribute("y1"))
        (mass,) = marginal_density(network, "x").points.values()
        assert (tall - top) / (tall - 6) == pytest.approx(mass, abs=1e-3)


@pytest.mark.long
def test_stems_of_a_column_of_few_values_fill_the_drawing(shown):
    counts = np.repeat(np.arange(8.0), [40, 60, 50, 30, 20, 10, 6, 6])
    shape = fit_shape(counts).shape
    assert shape.has_few_values
    table = read_table(pd.DataFrame({"x": counts}), kinds={"x": "continuous"})
    network = DiscretizedBayesNet.from_table(table, [], {"x": [1.5, 3.5]}, shapes={"x": shape})
    with shown(network, table=table) as page:
        page.locator(".node[data-variable='0']").press("Enter")
        tall = float(page.locator("#histogram line.axis").get_attribute("y1"))
        stems = page.locator("#histogram line.stem")
        masses = marginal_density(network, "x").points
        assert stems.count() == len(masses)
        heights = [
            (tall - float(stems.nth(k).get_attribute("y1"))) / (tall - 6) for k in range(stems.count())
        ]
        assert heights == pytest.approx([mass / (60 / 222) for mass in masses.values()], abs=2e-3)
        line = page.locator("#histogram polyline.density").get_attribute("points")
        assert {float(point.split(",")[1]) for point in line.split()} == {tall}
