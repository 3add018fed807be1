"""The drawing on the review page: where variables and edges stand, zoomed, moved, and saved as a picture."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page, expect
from review_browser import hidden_nodes, name_size, opened
from review_examples import example_front, learned_table, random_candidate

from gomea_bn import DiscretizedBayesNet, Front, network_report, read_table, review_page
from gomea_bn.plots import network_layout
from gomea_bn.plots.network import NetworkSketch
from gomea_bn.review import drawings
from gomea_bn.review.drawings import Drawings
from gomea_bn.review.layout import box_sizes, consensus_arcs, layout, line_break
from gomea_bn.review.routes import box_hits, points_on, routes

pytestmark = pytest.mark.filterwarnings("error")

MARGIN = 10.0


def learned(n_variables: int, seed: int):
    table = learned_table(n_variables, 100, seed)
    rng = np.random.default_rng(seed)
    return random_candidate(table, rng, rng.permutation(n_variables))


def dense_candidate(table, n_edges: int, seed: int) -> DiscretizedBayesNet:
    """Return a network with a number of edges, at most four into each node."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(table.names))
    pairs = [(i, j) for j in range(len(order)) for i in range(j)]
    edges = []
    n_parents = [0] * len(order)
    for at in rng.permutation(len(pairs)):
        i, j = pairs[at]
        if len(edges) < n_edges and n_parents[j] < 4:
            edges.append((table.names[order[i]], table.names[order[j]]))
            n_parents[j] += 1
    cuts = {
        column.name: [float(np.median(column.values))] for column in table.columns if column.is_continuous
    }
    return DiscretizedBayesNet.from_table(table, edges, cuts)


def scale(page: Page) -> float:
    return float(page.locator("body").get_attribute("data-scale"))


@pytest.fixture
def report(shown):
    network = learned(9, 3)
    with shown(network) as page:
        yield page, network


def test_equal_graphs_share_a_drawing_and_the_time_is_limited(monkeypatch):
    first, second = learned(6, 1), learned(6, 2)
    pages = Drawings(first.names, (600.0, 600.0))
    assert [pages.add(network) for network in (first, second, first)] == [0, 1, 0]
    monkeypatch.setattr(drawings, "_MOST_LAID_OUT", 6 + len(first.edges))
    limited = Drawings(first.names, (600.0, 600.0))
    assert [limited.add(network) for network in (first, second, first)] == [0, None, 0]


def test_a_drawing_that_is_too_wide_for_its_frame_gets_more_rows():
    network = learned(40, 4)
    wide = Drawings(network.names, (3000.0, 600.0))
    narrow = Drawings(network.names, (420.0, 900.0))
    for pages in (wide, narrow):
        pages.add(network)
    assert narrow.entries[0]["w"] < wide.entries[0]["w"]
    assert len(narrow.entries[0]["t"]) > len(wide.entries[0]["t"])


@pytest.mark.long
def test_boxes_and_edges_lie_where_the_layout_of_plots_puts_them(report):
    page, network = report
    sizes = {name: tuple(size) for name, size in zip(network.names, box_sizes(network.names).tolist())}
    widths = {name: size[0] for name, size in sizes.items()}
    layout = network_layout(network.names, sorted(network.edges), widths=widths, gap=drawings._GAP)
    sketch = NetworkSketch(layout, sizes, drawings._ROW_GAPS)
    stretch = page.locator("#graph").evaluate("one => [one.dataset.wider, one.dataset.higher].map(Number)")
    assert max(stretch) > 1
    sketch.stretch(*stretch)
    nodes = page.locator(".node").evaluate_all("all => all.map(one => one.getAttribute('transform'))")
    for name, transform in zip(network.names, nodes):
        centre = [float(number) - MARGIN for number in re.findall(r"[\d.]+", transform)]
        assert centre == pytest.approx(sketch.points[name], abs=0.3)
    for parent, child in network.edges:
        key = f"{network.names.index(parent)},{network.names.index(child)}"
        path = page.locator(f".edge[data-edge='{key}'] path:not(.touch)").get_attribute("d")
        drawn = np.array([float(number) for number in re.findall(r"-?[\d.]+", path)]).reshape(-1, 2) - MARGIN
        track = sketch.path((parent, child))
        # the track has two equal points at each box, and two for every row between
        assert drawn[0] == pytest.approx(track[0], abs=0.3)
        assert drawn[-1][0] == pytest.approx(track[-1][0], abs=0.3)
        for position, point in enumerate(track[2:-2]):
            assert drawn[3 + 3 * position] == pytest.approx(point, abs=0.3)


@pytest.mark.sample(1)
@pytest.mark.parametrize("n_variables", [20, 40])
def test_a_laptop_shows_all_of_a_network_with_readable_names(browser, tmp_path, n_variables):
    network_report(learned(n_variables, 5), None, tmp_path / "page.html")
    review_page(example_front(n_networks=3, n_variables=20), tmp_path / "front.html")
    size = {"width": 1440, "height": 900}
    for file in ("page.html", "front.html"):
        with opened(browser, tmp_path / file, viewport=size) as page:
            assert name_size(page) >= 11
            assert hidden_nodes(page) == 0
            frame, drawn = page.evaluate(
                """() => [document.getElementById("graph-frame"), document.getElementById("graph").firstChild]
                  .map(one => one.getBoundingClientRect()).map(({width, height}) => [width, height])"""
            )
            assert max(drawn[0] / frame[0], drawn[1] / frame[1]) > 0.75


@pytest.mark.long
def test_a_laptop_shows_all_of_dense_networks_of_a_front(shown):
    table = learned_table(40, 100, 5)
    networks = [dense_candidate(table, number, seed) for seed, number in enumerate((42, 60, 80, 100))]
    values = [[float(position), -float(position)] for position in range(len(networks))]
    front = Front(example_front(n_networks=2).objectives[:2], values, networks, table=table)
    with shown(front, viewport={"width": 1440, "height": 900}) as page:
        for position in range(len(networks)):
            page.evaluate("position => { location.hash = `network=${position}` }", position)
            page.wait_for_selector(f"body[data-selected='{position}']")
            assert name_size(page) >= 11
            assert hidden_nodes(page) == 0
            expect(page.locator("#part-note")).to_be_hidden()


@pytest.mark.long
def test_the_drawing_zooms_and_moves_by_buttons_keys_wheel_and_pointer(report):
    page, _ = report
    start = scale(page)
    page.click("#zoom-in")
    assert scale(page) == pytest.approx(1.25 * start)
    expect(page.locator("#part-note")).to_be_visible()
    page.keyboard.press("-")
    assert scale(page) == pytest.approx(start)
    frame = page.locator("#graph-frame").bounding_box()
    page.mouse.move(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] - 5)
    page.mouse.wheel(0, -300)
    page.wait_for_function("start => Number(document.body.dataset.scale) > 1.3 * start", arg=start)
    box = page.locator("#graph").get_attribute("viewBox")
    page.keyboard.press("Shift+ArrowRight")
    moved = page.locator("#graph").get_attribute("viewBox")
    assert float(moved.split()[0]) - float(box.split()[0]) == pytest.approx(80 / scale(page), abs=0.1)
    page.mouse.down()
    page.mouse.move(frame["x"] + frame["width"] / 2 + 50, frame["y"] + frame["height"] - 5, steps=3)
    page.mouse.up()
    assert float(page.locator("#graph").get_attribute("viewBox").split()[0]) < float(moved.split()[0])
    assert page.locator(".node.chosen").count() == 0
    page.keyboard.press("0")
    assert hidden_nodes(page) == 0
    for _ in range(6):
        page.keyboard.press("+")
    page.locator(".node").last.focus()
    assert page.locator(".node").last.evaluate(
        """one => { const [a, b] = [one, document.getElementById("graph-frame")].map(e => e.getBoundingClientRect());
          return a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom }"""
    )


@pytest.mark.long
def test_panels_fold_and_the_look_fills_the_screen(page):
    wide = page.locator("#graph-frame").bounding_box()["width"]
    page.click("#fold-choose")
    page.keyboard.press("]")
    expect(page.locator("#choose")).to_be_hidden()
    expect(page.locator("#inspect")).to_be_hidden()
    assert page.locator("#fold-inspect").get_attribute("aria-expanded") == "false"
    assert page.locator("#graph-frame").bounding_box()["width"] > wide + 400
    expect(page).to_have_url(re.compile("folded=choose%2Cinspect"))
    page.reload()
    page.wait_for_selector("body[data-ready='1']")
    expect(page.locator("#choose")).to_be_hidden()
    page.keyboard.press("f")
    page.wait_for_selector("#full-screen[aria-pressed=true]")
    page.keyboard.press("f")
    page.wait_for_selector("#full-screen[aria-pressed=false]")


@pytest.mark.long
def test_the_drawing_is_saved_whole_as_svg_and_png(report):
    page, network = report
    page.click("#zoom-in")
    with page.expect_download() as download:
        page.click("#save-svg")
    assert download.value.suggested_filename == "network.svg"
    root = ElementTree.fromstring(Path(download.value.path()).read_text(encoding="utf-8"))
    texts = "".join(root.itertext())
    assert all(name in texts for name in network.names)
    paths = root.findall(".//{http://www.w3.org/2000/svg}path")
    assert len(paths) == len(network.edges)
    assert {path.get("fill") for path in paths} == {"none"}
    assert {path.get("stroke") for path in paths} == {"rgb(0, 114, 178)"}
    width, height = float(root.get("width")), float(root.get("height"))
    with page.expect_download() as download:
        page.click("#save-png")
    picture = Path(download.value.path()).read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    pixels = [int.from_bytes(picture[at : at + 4], "big") for at in (16, 20)]
    assert pixels == pytest.approx([3 * width, 3 * height], abs=3)


@pytest.mark.sample(1)
@pytest.mark.parametrize("width", [390, 1024])
def test_small_screens_start_with_all_of_a_drawing(shown, width):
    with shown(example_front(n_networks=3, n_variables=40), viewport={"width": width, "height": 844}) as page:
        assert hidden_nodes(page) == 0
        expect(page.locator("#overview")).to_be_hidden()
        if width == 390:
            expect(page.locator("#part-note")).to_contain_text("in small letters")
            page.click("#enlarge-drawing")
            expect(page.locator("#enlarge-drawing")).to_be_hidden()
        else:
            page.click("#zoom-in")
        assert name_size(page) >= 11
        expect(page.locator("#part-note")).to_contain_text("drag it, or press Fit")
        expect(page.locator("#overview rect")).to_have_count(41)


@pytest.mark.long
def test_enlarging_starts_at_the_chosen_variable_and_the_map_moves_the_part(browser, tmp_path):
    network = learned(40, 5)
    network_report(network, None, tmp_path / "page.html")
    degrees = [sum(name in edge for edge in network.edges) for name in network.names]
    size = {"width": 390, "height": 844}
    is_inside = """variable => {
      const [frame, box] = [document.getElementById("graph-frame"), document.querySelectorAll(".node")[variable]]
        .map((element) => element.getBoundingClientRect());
      return box.left >= frame.left && box.right <= frame.right
        && box.top >= frame.top && box.bottom <= frame.bottom;
    }"""
    with opened(browser, tmp_path / "page.html", viewport=size) as page:
        page.click("#enlarge-drawing")
        assert page.evaluate(is_inside, degrees.index(max(degrees)))
        for variable in (3, 31):
            page.click("#whole")
            page.locator(f".node[data-variable='{variable}']").dispatch_event("click")
            page.click("#enlarge-drawing")
            assert page.evaluate(is_inside, variable)
        whole, room = (
            [float(number) for number in page.locator(name).get_attribute("viewBox").split()[2:]]
            for name in ("#overview", "#graph")
        )
        map_box = page.locator("#overview").bounding_box()
        # a frame that shows a corner is full of the drawing
        for x, y, corner in (
            (2, 2, [0, 0]),
            (map_box["width"] - 3, map_box["height"] - 3, [whole[0] - room[0], whole[1] - room[1]]),
        ):
            page.click("#overview", position={"x": x, "y": y})
            shown = page.locator("#graph").get_attribute("viewBox").split()[:2]
            assert [float(number) for number in shown] == pytest.approx(corner, abs=0.02)
        page.click("#whole")
        expect(page.locator("#overview")).to_be_hidden()
        # nearly all of the drawing needs no map, which would cover a part of it
        page.hover("#graph-frame")
        page.keyboard.down("Control")
        page.mouse.wheel(0, -30)
        page.keyboard.up("Control")
        expect(page.locator("#part-note")).to_contain_text("A part of the drawing")
        expect(page.locator("#overview")).to_be_hidden()
        page.click("#whole")
        expect(page.locator("#enlarge-drawing")).to_be_visible()


def test_a_finger_moves_an_enlarged_drawing_and_scrolls_the_page_over_a_whole_one(shown):
    size = {"width": 390, "height": 844}
    with shown(learned(20, 5), viewport=size, has_touch=True) as page:
        frame = page.locator("#graph-frame")
        touch_action = "one => getComputedStyle(one).touchAction"
        assert "pan-y" in frame.evaluate(touch_action)
        page.click("#zoom-in")
        assert "pan-y" not in frame.evaluate(touch_action)
        before = page.locator("#graph").get_attribute("viewBox")
        box = frame.bounding_box()
        session = page.context.new_cdp_session(page)

        def touch(kind, *x):
            points = [{"x": at, "y": box["y"] + 100} for at in x]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", 250)
        touch("touchMove", 245)
        # less than the slack of a finger
        assert page.locator("#graph").get_attribute("viewBox") == before
        touch("touchMove", 210)
        touch("touchMove", 150)
        touch("touchEnd")
        moved = page.locator("#graph").get_attribute("viewBox")
        assert float(moved.split()[0]) - float(before.split()[0]) > 50 / scale(page)


@pytest.mark.long
def test_edges_of_the_expert_alone_avoid_other_boxes(shown):
    with shown(example_front(n_networks=20, n_variables=9)) as page:
        hits = page.locator("#graph .edge.there").evaluate_all(
            """all => all.flatMap((edge) => {
              const ends = edge.dataset.edge.split(",");
              const path = edge.querySelector("path");
              const toScreen = path.getScreenCTM();
              const boxes = [...document.querySelectorAll("#graph .node")].filter((node) =>
                !ends.includes(node.dataset.variable)).map((node) =>
                node.querySelector("rect").getBoundingClientRect());
              const frame = document.getElementById("graph-frame").getBoundingClientRect();
              return Array.from({length: 60}, (_, k) => {
                const point = path.getPointAtLength(path.getTotalLength() * k / 59).matrixTransform(toScreen);
                const isIn = ({left, right, top, bottom}) =>
                  point.x > left && point.x < right && point.y > top && point.y < bottom;
                return boxes.some(isIn) || !isIn(frame);
              });
            })"""
        )
    assert len(hits) > 60
    assert not any(hits)


@pytest.mark.long
def test_keys_bring_a_box_into_view_and_a_pointer_leaves_the_drawing_where_it_is(page):
    for _ in range(8):
        page.click("#zoom-in")
    graph, node = page.locator("#graph"), page.locator("#graph .node").first
    part = graph.get_attribute("viewBox")
    node.dispatch_event("pointerdown", {"button": 0, "isPrimary": True, "pointerId": 1})
    node.focus()
    assert graph.get_attribute("viewBox") == part
    node.dispatch_event("pointerup", {"pointerId": 1})
    node.blur()
    node.focus()
    assert graph.get_attribute("viewBox") != part


@st.composite
def arc_shares(draw):
    n = draw(st.integers(1, 14))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    shares = rng.random((n, n)) * (rng.random((n, n)) < draw(st.floats(0, 0.7)))
    shares /= np.maximum(shares + shares.T, 1.0)  # a network has a pair in one direction only
    np.fill_diagonal(shares, 0.0)
    expert = rng.random((n, n)) < 0.1
    np.fill_diagonal(expert, False)
    return shares, np.triu(expert)


@settings(max_examples=40)
@given(arc_shares())
def test_boxes_stand_apart_and_edges_pass_under_none(drawn):
    shares, expert = drawn
    n = len(shares)
    names = [f"variable {number}" * (1 + number % 3) for number in range(n)]
    drawing = layout(names, shares, expert)
    half = drawing.boxes[:, 2:] / 2
    for i in range(n):
        for j in range(i):
            apart = np.abs(drawing.boxes[i, :2] - drawing.boxes[j, :2]) - half[i] - half[j]
            assert apart.max() > 5
    joined = (shares > 0) | expert
    assert set(drawing.curves) == {
        (i, j) for i in range(n) for j in range(i + 1, n) if joined[i, j] or joined[j, i]
    }
    for (i, j), curve in drawing.curves.items():
        points = points_on(curve, 80)
        others = [number for number in range(n) if number not in (i, j)]
        if others:
            assert not box_hits(points[None], drawing.boxes[others], 1.0).any()
        for end, box in ((curve[0], drawing.boxes[i]), (curve[-1], drawing.boxes[j])):
            beyond = (np.abs(end - box[:2]) - box[2:] / 2).max()
            assert -0.5 < beyond < 8  # ends at the border of its box
        assert points.min() >= 0
        assert points[:, 0].max() <= drawing.width
        assert points[:, 1].max() <= drawing.height


@settings(max_examples=60)
@given(arc_shares())
def test_consensus_has_no_cycle_and_ties_in_what_can_be(drawn):
    shares, expert = drawn
    arcs = consensus_arcs(shares, expert)
    n = len(shares)
    matrix = np.zeros((n, n))
    for tail, head in arcs:
        matrix[tail, head] = 1
    assert np.trace(np.linalg.matrix_power(np.eye(n) + matrix, n) - np.eye(n)) == 0
    joined = (shares > 0) | (shares.T > 0) | expert | expert.T

    def components(links):
        reach = np.linalg.matrix_power(np.eye(n) + (links > 0), n) > 0
        return {tuple(row) for row in reach}

    assert components(joined) == components(matrix + matrix.T)


@pytest.mark.parametrize("n", [1, 30, 70])
def test_layout_of_many_variables_stays_compact(n):
    rng = np.random.default_rng(n)
    table_like = np.triu(rng.random((n, n)) < 2.5 / n, 1) * rng.random((n, n))
    drawing = layout([f"X{number}" for number in range(n)], table_like)
    assert drawing.width < 140 * (3 + np.sqrt(1.3 * n))
    assert drawing.height < 84 * (4 + 2 * np.sqrt(n))


def test_boxes_are_as_wide_as_their_longer_line_up_to_a_limit():
    names = ["x", "a longer name", "one_word_after_another", "a" * 100, "a" * 1000, "日本語日本語", "abcdef"]
    widths, heights = box_sizes(names).T
    assert widths[0] < widths[1] < widths[2] < widths[3] == widths[4] == 172
    assert widths[5] > widths[6]
    assert len(set(heights)) == 1
    assert heights[0] > box_sizes(["x"])[0, 1]
    assert box_sizes(["after_another"])[0, 0] < widths[2]


def test_long_names_break_near_their_middle_where_words_end():
    assert line_break("blood_pressure") == len("blood_")
    assert line_break("a b c d e f g h") == len("a b c d ")
    assert line_break("cholesterol") is None
    assert line_break("x" * 40) is None


def test_edges_through_one_gap_keep_lanes_of_their_own():
    middle = [(x, 100.0, 200.0, 30.0) for x in (0.0, 240.0)]  # a gap of 40 around x = 120
    top = [(x, 0.0, 60.0, 30.0) for x in (60.0, 180.0)]
    bottom = [(x, 200.0, 60.0, 30.0) for x in (0.0, 90.0, 240.0)]
    boxes = np.array([*top, *middle, *bottom])
    pairs = {(0, 4): 1.0, (0, 6): 1.0, (1, 4): 1.0}
    crossings = []
    for curve in routes(boxes, pairs).values():
        points = points_on(curve, 301)
        crossings.append(points[np.argmin(np.abs(points[:, 1] - 100)), 0])
        assert not box_hits(points[None], boxes[2:4], 1.0).any()
    assert np.diff(np.sort(crossings)).min() >= 4.9


@pytest.mark.long
def test_a_name_makes_way_for_a_number_of_two_digits(shown):
    names = ["mean_area", "systolic_blood_pressure", "short"]
    values = np.random.default_rng(1).normal(size=(200, 3))
    table = read_table(pd.DataFrame(values, columns=names))
    cuts = {name: np.linspace(-1, 1, n_cuts).tolist() for name, n_cuts in zip(names, (9, 11, 2), strict=True)}
    network = DiscretizedBayesNet.from_table(table, [("mean_area", "short")], cuts)
    with shown(network, table=table) as page:
        boxes = page.locator(".node").evaluate_all(
            """all => all.map((node) => {
              const ends = (one) => { const { left, right } = one.getBoundingClientRect(); return [left, right]; };
              const number = node.querySelector(".bins");
              const names = [...node.querySelectorAll("text:not(.bins)")];
              return [number.textContent, ends(number), names.map(ends), ends(node.querySelector("rect"))];
            })"""
        )
    assert [number for number, *_ in boxes] == ["10", "12", "3"]
    for _, (left, right), lines, (low, high) in boxes:
        assert right < high
        for start, end in lines:
            assert low < start
            assert end < left
