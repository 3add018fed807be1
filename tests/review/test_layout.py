"""Where the review page draws variables and edges: apart, within the drawing, and never under one another."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gomea_bn.review.layout import box_sizes, consensus_arcs, layout, line_break
from gomea_bn.review.routes import box_hits, points_on, routes


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
    top = [(x, 0.0, 60.0, 30.0) for x in (80.0, 160.0)]
    bottom = [(x, 200.0, 60.0, 30.0) for x in (0.0, 90.0, 240.0)]
    boxes = np.array([*top, *middle, *bottom])
    pairs = {(0, 4): 1.0, (0, 6): 1.0, (1, 4): 1.0}
    crossings = []
    for curve in routes(boxes, pairs).values():
        points = points_on(curve, 301)
        crossings.append(points[np.argmin(np.abs(points[:, 1] - 100)), 0])
        assert not box_hits(points[None], boxes[2:4], 1.0).any()
    assert np.diff(np.sort(crossings)).min() >= 4.9
