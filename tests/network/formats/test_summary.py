"""The text summary of a network: its bins, what is inside them, and what its cuts gain."""

from typing import Any

import numpy as np
import pytest
from averaged_examples import averaged_example, tables_of
from network_examples import network_with, one_column, rain_and_height

from gomea_bn import GomeaBnError, Shape
from gomea_bn.network.conditionals import Conditionals


def test_the_summary_names_edges_and_bins():
    text = rain_and_height().summary()
    assert "2 variables (1 continuous, 1 discrete), 1 edge, 3 bins, 5 free parameters" in text
    assert "rain → height" in text
    assert "3 bins  [0, 1] (1, 2.5] (2.5, 4]" in text
    assert "2 levels  no yes" in text
    assert "given rain" in text
    # a discrete variable has nothing inside
    assert text.count("uniform inside") == 1


def test_the_summary_names_shapes_and_points():
    network = rain_and_height(shapes={"height": Shape([0.0, 4.0], [0.5], [0.51], {0.0: 0.49, 2.0: 0.005})})
    lines = [line.strip() for line in network.summary().splitlines()]
    assert "shape of its column inside; 0 in 49 % of rows, 2 in 0.5 % of rows" in lines
    assert "uniform inside" not in lines
    without_points = rain_and_height(shapes={"height": Shape([0.0, 4.0], [1.0], [1.0])}).summary()
    assert "shape of its column inside\n" in without_points


def test_the_summary_writes_dates_and_large_numbers_in_full():
    visit = "visit [days since 1970-01-01]"
    network = network_with(
        [visit, "income"],
        [],
        cut_points={visit: [19_478.0], "income": [54_321.4, 54_400.0]},
        support={visit: (19_358.0, 20_060.0), "income": (0.0, 1_234_567.8)},
        tables={visit: [0.5, 0.5], "income": [0.5, 0.25, 0.25]},
    )
    text = network.summary()
    assert "[2023-01-01, 2023-05-01] (2023-05-01, 2024-12-03]" in text
    assert "[0, 54321.4] (54321.4, 54400] (54400, 1234568]" in text


def test_the_summary_names_the_gains_of_cuts():
    network = rain_and_height()
    text = network.summary({"height": np.array([12.34, -0.04])})
    assert "nats gained by cuts: 12.3 at 1, 0.0 at 2.5\n" in text
    # the score would be higher without a cut
    lost = network.summary({"height": np.array([12.34, -0.4])})
    assert "nats gained by cuts: 12.3 at 1, 0.4 lost at 2.5\n" in lost
    assert "nats" not in network.summary()
    assert "nats" not in network.summary({})
    with pytest.raises(
        GomeaBnError, match=r"cut_gains\['height'\] must have one number for each of 2 cuts, got 1"
    ):
        network.summary({"height": np.array([1.0])})


def test_the_summary_of_many_bins_is_cut():
    support, cuts = (0.0, 10.0), np.arange(1.0, 10.0)
    text = one_column(cuts, support, np.full(10, 0.1)).summary({"x": cuts})
    assert "(5, 6] …\n" in text
    assert text.endswith("6.0 at 6 …")


def test_the_summary_names_lines_and_certain_cuts():
    averaged = averaged_example()
    paragraphs = averaged.summary().split("\n")
    n_cuts = len(averaged.cut_points["b"])
    start = next(k for k, line in enumerate(paragraphs) if line.startswith("b "))
    details = [line.strip() for line in paragraphs[start + 1 : start + 6]]
    shares = np.linspace(0.3, 0.95, n_cuts)
    assert details[0] == "uniform inside"
    assert details[1].startswith(f"probability of a cut: {100 * shares[0]:.0f} % at ")
    assert details[1].count(" % at ") == n_cuts
    cuts = averaged.cut_points["b"].tolist()
    first, last = cuts[0], cuts[-1]
    assert details[2].startswith(f"cut {first:.4g}, 90 % between {first - 0.1:.4g} and {first + 0.2:.4g}")
    assert details[2].endswith(f"cut {last:.4g}, 90 % between {last - 0.1:.4g} and {min(last + 0.2, 7):.4g}")
    assert details[2].count("; ") == n_cuts - 1
    assert details[3] == "40 % effects that depend on each other, 60 % bins"
    assert details[4] == "given a, g, p"
    text = averaged.summary()
    assert "70 % effects that depend on each other, 30 % bins" in text
    # discrete variables have neither
    assert text.count("probability of a cut") == 4
    # apart from these lines it is the summary of the network
    added = ("effects that depend", "probability of a cut", "90 % between", "parents explain")
    first, *rest = [line for line in paragraphs if not any(text in line for text in added)]
    assert first.endswith(f"{averaged.n_parameters} free parameters")
    assert rest == averaged.of_tables().summary().split("\n")[1:]


def test_the_summary_leaves_out_what_is_unknown():
    averaged = averaged_example(lines={}, cut_probabilities=None, cut_intervals=None)
    assert averaged.summary().split("\n")[1:] == averaged.of_tables().summary().split("\n")[1:]


def test_the_summary_names_the_probabilities_and_intervals_of_six_cuts():
    cuts = np.arange(1.0, 10.0)
    network = one_column(cuts, (0.0, 10.0), np.full(10, 0.1))

    def summary(**of_cuts: Any) -> str:
        conditionals = Conditionals.of_tables([tables_of(network)], n_rows=10, **of_cuts)
        return network.changed(conditionals=conditionals).summary()

    assert summary(cut_probabilities={"x": cuts / 10}).endswith(
        "probability of a cut: 10 % at 1, 20 % at 2, 30 % at 3, 40 % at 4, 50 % at 5, 60 % at 6 …"
    )
    # cuts that a user has fixed have no width
    ends = np.column_stack([cuts - np.array([0.0, *[0.25] * 8]), cuts])
    assert summary(cut_intervals={"x": ends}).endswith(
        "cut 1, fixed; cut 2, 90 % between 1.75 and 2; cut 3, 90 % between 2.75 and 3; "
        "cut 4, 90 % between 3.75 and 4; cut 5, 90 % between 4.75 and 5; cut 6, 90 % between 5.75 and 6 …"
    )


def test_a_cut_lies_in_its_interval():
    network = one_column(np.array([1.0, 4.0, 7.0]), (0.0, 10.0), np.full(4, 0.25))
    ends = np.array([[0.5, 0.75], [5.0, 6.0], [6.5, 8.0]])
    conditionals = Conditionals.of_tables([tables_of(network)], n_rows=10, cut_intervals={"x": ends})
    network = network.changed(conditionals=conditionals)
    assert network.cut_intervals("x").to_numpy().tolist() == [
        [1.0, 0.5, 1.0],
        [4.0, 4.0, 6.0],
        [7.0, 6.5, 8.0],
    ]
    assert network.summary().endswith(
        "cut 1, at least 90 % between 0.5 and 1; cut 4, at least 90 % between 4 and 6; "
        "cut 7, 90 % between 6.5 and 8"
    )


@pytest.mark.parametrize(
    ("nats", "words"),
    [
        (0.02, "gain 0.02 nats"),
        (-0.3, "lose 0.3 nats"),
        (-4.9e-18, "lose less than 0.001 nats"),
        (0.0, "gain 0 nats"),
    ],
)
def test_what_left_out_edges_gain_is_a_size(nats, words):
    record = {"edges": [["rain", "height"]], "nats": nats, "error": 3e-18}
    text = rain_and_height().with_metadata(left_out_edges=record).summary()
    assert f"left-out rows {words} a row, with a standard error of less than 0.001." in text


@pytest.mark.parametrize(("nats", "words"), [(3.21, "3.2 nats better than"), (0.02, "as good as")])
def test_curves_that_are_no_better_than_a_table_are_as_good(nats, words):
    network = rain_and_height()
    child = network.edges[0][1]
    text = network.with_metadata(curves={child: {"nats": nats, "table_parents": []}}).summary()
    assert f" {words} a table of counts" in text
