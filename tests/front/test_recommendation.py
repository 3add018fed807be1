"""The network of a front to look at first."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from review_examples import example_front

from gomea_bn.front.front import COMPLEXITY, MISFIT, Front
from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.review.page import review_page

LEFT_OUT = {"parameters": {"misfit": "left-out"}}


def left_out_front(gap: float, *, keep_table: bool = True) -> Front:
    """Return a front of three networks; the second is simpler than the best by misfit, which is ahead by `gap`."""
    example = example_front(n_networks=3, keep_table=keep_table, expert=False, n_objectives=2)
    values = np.array([[1.0, 300.0], [1.0 + gap, 60.0], [9.0, 10.0]])
    networks = [candidate.network for candidate in example]
    record = {"seed": 1, "n_rows": 200, **LEFT_OUT}
    return Front([MISFIT, COMPLEXITY], values, networks, table=example.table, record=record)


def standard_error(front: Front) -> float:
    """Return the standard error of the mean log density of the best network, row by row."""
    rows = front.table.to_frame()
    logs = [front[0].network.log_density(rows.iloc[[row]])[0] for row in range(len(rows))]
    mean = sum(logs) / len(logs)
    return float(np.sqrt(sum((one - mean) ** 2 for one in logs)) / len(logs))


def test_the_simplest_network_within_one_standard_error_is_recommended():
    error = standard_error(left_out_front(0.1))
    for gap, chosen in ((0.99 * error, 1), (1.01 * error, 0)):
        recommendation = left_out_front(gap).recommended()
        assert recommendation.candidate.index == chosen
    assert f"standard error is {error:.2g}." in left_out_front(0.99 * error).recommended().detail
    assert recommendation.reason == "The best fit."


@pytest.mark.parametrize(("gap", "chosen"), [(0.07, 1), (0.072, 0)])
def test_without_rows_a_row_deviates_by_a_nat(gap, chosen):
    # 1 / sqrt(200) is 0.0707
    assert left_out_front(gap, keep_table=False).recommended().candidate.index == chosen


def test_misfits_in_sample_have_the_knee():
    front = example_front()
    assert front.recommended().candidate.index == front.knee().index


def test_a_network_that_answers_exactly_is_preferred():
    names = [f"r{k}" for k in range(9)]
    pairs = list(combinations(names, 2))
    levels = {name: tuple(range(8)) for name in names} | {f"{a}{b}": (0, 1) for a, b in pairs}
    every = list(levels)

    def network(edges):
        shapes = {n: (*(len(levels[a]) for a in every if (a, n) in edges), len(levels[n])) for n in every}
        tables = {name: np.full(shape, 1 / shape[-1]) for name, shape in shapes.items()}
        return DiscretizedBayesNet(every, edges, cut_points={}, support={}, levels=levels, tables=tables)

    tangled = network([(one, f"{a}{b}") for a, b in pairs for one in (a, b)])
    record = {"n_rows": 10, **LEFT_OUT}
    front = Front([MISFIT, COMPLEXITY], [[1.0, 50.0], [1.1, 10.0]], [network([]), tangled], record=record)
    assert front.recommended().candidate.index == 0
    alone = Front([MISFIT, COMPLEXITY], [[1.1, 10.0]], [tangled], record=record)
    assert alone.recommended().reason == "The best fit; its answers are estimates."


def test_a_thinned_front_and_its_page_keep_the_recommended_network():
    front = example_front(n_networks=12, record=LEFT_OUT)
    assert front.recommended().candidate.index in front.thin(3).original_index
    assert front.recommended().reason in review_page(front, max_networks=3)
