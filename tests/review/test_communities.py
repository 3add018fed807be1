"""Communities of wide networks, and their drawing side by side."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from network_examples import simple_network
from review_browser import opened

from gomea_bn import DiscretizedBayesNet, network_report
from gomea_bn.review.drawings import Drawings, communities


def in_cliques(sizes: list[int]) -> np.ndarray:
    """Return the strength of pairs inside cliques, and one weak pair from each clique to the next."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    strength = (labels[:, None] == labels).astype(float)
    np.fill_diagonal(strength, 0.0)
    for first in np.cumsum(sizes)[:-1]:
        strength[first - 1, first] = strength[first, first - 1] = 0.5
    return strength


def wide_network() -> DiscretizedBayesNet:
    """Return three chains of nine columns, joined by single edges, and one column that stands alone."""
    names = [f"c{number}" for number in range(28)]
    edges = [(names[at - 1], names[at]) for at in range(1, 27)]
    edges += [(names[at - 2], names[at]) for at in range(2, 27) if at % 9 > 1]
    return simple_network(dict.fromkeys(names, 2), edges)


def test_cliques_are_found_whatever_the_order_of_the_nodes():
    sizes = [7, 5, 4]
    order = np.random.default_rng(1).permutation(sum(sizes))
    found = communities(in_cliques(sizes)[np.ix_(order, order)])
    labels = np.repeat(np.arange(3), sizes)[order]
    assert [len(group) for group in found] == sizes
    assert all(len(set(labels[group])) == 1 for group in found)


@pytest.mark.parametrize("strength", [np.zeros((5, 5)), 1.0 - np.eye(6)])
def test_a_graph_without_edges_and_a_clique_have_no_communities(strength):
    assert communities(strength) == []


@pytest.mark.parametrize(("weight", "n_found"), [(0.25, 4), (1.0, 0)])
def test_communities_that_many_edges_join_are_none(weight, n_found):
    # four cliques of four, which have 24 pairs, in a ring of 12 further pairs
    labels = np.repeat(np.arange(4), 4)
    strength = (labels[:, None] == labels).astype(float)
    np.fill_diagonal(strength, 0.0)
    for clique in range(4):
        for member in range(3):
            i, j = 4 * clique + member, (4 * clique + 4 + member) % 16
            strength[i, j] = strength[j, i] = weight
    assert len(communities(strength)) == n_found


@given(st.integers(2, 30), st.integers(0, 1000))
def test_communities_hold_joined_nodes_once(n, seed):
    upper = np.triu(np.random.default_rng(seed).random((n, n)) < 2 / n, 1)
    found = communities((upper | upper.T).astype(float))
    members = [node for group in found for node in group]
    assert len(members) == len(set(members))
    if found:
        assert set(members) == set(np.flatnonzero((upper | upper.T).any(axis=0)).tolist())


def test_a_drawing_of_communities_keeps_boxes_apart_and_its_own_edges():
    network = wide_network()
    groups = [list(range(first, first + 9)) for first in (0, 9, 18)]
    # a column that no edge joins stands aside, whatever its community is in other networks
    drawings = Drawings(network.names, (680.0, 610.0), [*groups[:2], [*groups[2], 27]])
    entry = drawings.entries[drawings.add(network) or 0]
    assert entry["g"] == groups
    assert {(i, j) for i, j, *_ in entry["e"]} == {
        (network.names.index(parent), network.names.index(child))
        for parent, child in network.edges
        if network.names.index(parent) // 9 == network.names.index(child) // 9
    }
    for i in range(28):
        for j in range(i):
            assert entry["r"][i] != entry["r"][j] or abs(entry["x"][i] - entry["x"][j]) >= 50
    assert entry["t"] == sorted(set(entry["t"]))


@pytest.mark.long
def test_a_wide_page_has_a_field_per_community_and_small_boxes_aside(browser, tmp_path):
    network_report(wide_network(), None, tmp_path / "page.html")
    with opened(browser, tmp_path / "page.html", viewport={"width": 1440, "height": 900}) as page:
        assert page.locator("#graph .group").count() >= 3
        assert page.locator("#graph .edge").count() == len(wide_network().edges)
        assert page.locator("#graph .edge.between").count() >= 2
        assert page.locator(".node.small").evaluate_all("all => all.map(one => one.dataset.variable)") == [
            "27"
        ]
        page.fill("#find", "c14")
        page.press("#find", "Enter")
        assert page.locator(".node.chosen").get_attribute("data-variable") == "14"
