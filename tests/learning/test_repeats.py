"""What stays and what moves among repeated networks."""

import json

import pytest
from network_examples import simple_network

from gomea_bn import GomeaBnError
from gomea_bn.learning import stability
from gomea_bn.network.recorded import recorded_stability
from gomea_bn.review.page_data import network_data


def network(edges, **cuts):
    """Return a network over a, b and c with given edges and cuts on [0, 10]."""
    return simple_network({}, edges, cuts={"a": [5.0], "b": [5.0], "c": [5.0], **cuts})


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
    assert result.paragraphs() == [
        "Learned again 4 times, each time from random 63 % of the rows and with a new seed. What the network shares "
        'with at least 90 % of these networks "stays". Fewer rows show less, so that what comes and goes may be weak '
        "rather than wrong.",
        "1 of the network's 2 edges stays, in either direction: a → b (100 % of the repeats, 75 % of them in this "
        "direction, which the rows "
        "leave open).",
        "1 of the network's 2 edges comes and goes, and should be called tentative: b → c (25 % of the repeats).",
        "At least half of the repeats have 1 edge that this network lacks, perhaps in place of edges that "
        "come and go: c → a (50 % of the repeats).",
        "The same number of bins in all repeats: b (2), c (2).",
        "Another number of bins in some repeats: a (3 here, 2 to 4 in the repeats).",
        "Cuts that stay, and where they lie: a at 8 (7.9 to 9), b at 5 (5), c at 5 (5).",
        "Cuts that come and go: a at 2 (1.5 to 2.1) in 75 % of the repeats.",
    ]
    assert str(result) == "\n".join(result.paragraphs())
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


def test_a_cut_nearer_to_the_end_of_the_column_is_another_one():
    column = stability(
        network([]), [network([], a=[2.4]), network([], a=[2.6]), network([], a=[9.0])]
    ).columns[0]
    assert (column.cuts[0].share, column.cuts[0].low, column.cuts[0].high) == (1 / 3, 2.6, 2.6)


def test_rare_directions_and_edges_of_no_repeat_are_said_so():
    chosen = network([("a", "b"), ("b", "c")], a=[1.0])
    text = str(stability(chosen, [network([("b", "a")], a=[8.0])] * 2 + [network([("a", "b")], a=[8.0])]))
    assert "a → b (100 % of the repeats, only 33 % of them in this direction" in text
    assert "b → c (no repeat)" in text
    assert "a at 1 in no repeat" in text


def test_a_column_without_cuts_is_described():
    alone = network([], a=[])
    text = str(stability(alone, [network([], a=[4.0]), alone]))
    assert "a (1 here, 1 to 2 in the repeats)" in text
    assert "The network has no edges." in text


def test_other_variables_are_refused():
    with pytest.raises(GomeaBnError, match="at least one network"):
        stability(network([]), [])
    with pytest.raises(GomeaBnError, match=r"repeated\[0\] must have the variables"):
        stability(network([]), [simple_network({"z": 2}, [])])


@pytest.mark.long
def test_a_network_carries_the_words_to_its_page():
    result = example()
    recorded = result.recorded_network(network([("a", "b")]))
    assert recorded_stability(recorded) == result.paragraphs()
    assert recorded_stability(network([])) == []
    for damaged in (3, "text", [1, None]):
        assert recorded_stability(network([]).with_metadata(stability_in_words=damaged)) == []
    data = network_data(recorded, None, recorded.metadata, None)
    assert data["stability"] == result.paragraphs()
    assert all("stability" not in name for name, _ in data["facts"])
