"""What stays and what moves among repeated networks."""

import json

import numpy as np
import pytest

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.learning import stability


def network(edges, **cuts):
    """Return a network over a, b and c with given edges and cuts on [0, 10]."""
    names = ["a", "b", "c"]
    cut_points = {name: cuts.get(name, [5.0]) for name in names}
    cards = {name: len(cut_points[name]) + 1 for name in names}
    tables = {}
    for name in names:
        parents = [parent for parent in names if (parent, name) in edges]
        tables[name] = np.full([*(cards[parent] for parent in parents), cards[name]], 1 / cards[name])
    support = dict.fromkeys(names, (0.0, 10.0))
    return DiscretizedBayesNet(names, edges, cut_points=cut_points, support=support, levels={}, tables=tables)


def example():
    chosen = network([("a", "b"), ("b", "c")], a=[2.0, 8.0])
    repeated = [
        network([("a", "b")], a=[1.0, 2.1, 7.9]),
        network([("b", "a"), ("c", "a")], a=[1.5, 8.0]),
        network([("a", "b"), ("c", "a")], a=[9.0]),
        network([("a", "b"), ("b", "c")], a=[2.0, 8.5]),
    ]
    return stability(chosen, repeated)


def test_edges_have_the_shares_of_the_repeated_networks():
    found = {(edge.parent, edge.child): edge for edge in example().edges}
    assert set(found) == {("a", "b"), ("b", "c"), ("c", "a")}
    first = found["a", "b"]
    assert (first.arc, first.adjacent, first.in_network, first.reversible) == (0.75, 1.0, True, True)
    assert (found["b", "c"].adjacent, found["b", "c"].in_network) == (0.25, True)
    assert (found["c", "a"].arc, found["c", "a"].in_network) == (0.5, False)
    assert [edge.adjacent for edge in example().edges] == [1.0, 0.5, 0.25]


def test_cuts_are_matched_to_the_nearest_cut_of_the_network():
    column = example().columns[0]
    assert (column.name, column.n_bins, column.n_bins_repeated) == ("a", 3, (4, 3, 2, 3))
    low, high = column.cuts
    assert (low.cut, low.share, low.low, low.high) == (2.0, 0.75, 1.5, 2.1)
    assert (high.cut, high.share, high.low, high.high) == (8.0, 1.0, 7.9, 9.0)


def test_words_and_values_say_what_stays_and_what_moves(tmp_path):
    result = example()
    text = str(result)
    assert "Learned again 4 times" in text
    assert (
        "Stable: 1 edge in at least 90 % of the networks.\n    a → b: in 100 %; in this direction in 75 %"
        in text
    )
    assert "Unstable: 1 edge in fewer.\n    b → c: in 25 %" in text
    assert "but not by this one: 1 edge.\n    c → a: in 50 %" in text
    assert "a: 3 bins, 2 to 4 when repeated; cuts 2 (75 %, 1.5 to 2.1), 8 (100 %, 7.9 to 9)." in text
    assert "b: 2 bins, always 2 when repeated" in text
    stored = json.loads(result.to_json(tmp_path / "stability.json"))
    assert stored["summary"] == {
        "n_networks": 4,
        "edges that stay": 1,
        "edges that come and go": 1,
        "edges found only by repeats": 1,
        "columns with another number of bins": 1,
    }
    assert stored["columns"][0]["cuts"][1]["high"] == 9.0


def test_edges_that_only_repeats_have_do_not_stay():
    result = stability(network([]), [network([("a", "b")])] * 2)
    assert (result.staying, result.moving) == ([], [])
    assert [(edge.parent, edge.child) for edge in result.missing] == [("a", "b")]


def test_a_column_without_cuts_is_described():
    alone = network([], a=[])
    text = str(stability(alone, [network([], a=[4.0]), alone]))
    assert "a: 1 bin, 1 to 2 when repeated." in text


def test_other_variables_are_refused():
    with pytest.raises(GomeaBnError, match="at least one network"):
        stability(network([]), [])
    other = DiscretizedBayesNet(
        ["z"], [], cut_points={}, support={}, levels={"z": ("u", "v")}, tables={"z": np.full(2, 0.5)}
    )
    with pytest.raises(GomeaBnError, match=r"repeated\[0\] must have the variables"):
        stability(network([]), [other])
