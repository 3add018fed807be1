"""The table that people read: at most 200 cells, and the parents that add most first."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gomea_bn.network.bayes_net import DiscretizedBayesNet
from gomea_bn.network.recorded import known_text, ordered_parents
from gomea_bn.network.shown_families import MOST_SHOWN_CELLS, shown_parents, shown_table


def family(
    cards: list[int], gains: list[tuple[str, float]], *, is_discrete: bool = False
) -> DiscretizedBayesNet:
    """Return a child y with parents p0, p1, ... of some numbers of bins; the last number is that of y."""
    names = [*(f"p{k}" for k in range(len(cards) - 1)), "y"]
    rng = np.random.default_rng(sum(cards))
    tables = {name: np.full(card, 1 / card) for name, card in zip(names, cards, strict=True)}
    tables["y"] = rng.dirichlet(np.ones(cards[-1]), size=tuple(cards[:-1]))
    numbers = {} if is_discrete else dict(zip(names, cards, strict=True))
    levels = dict(zip(names, cards, strict=True)) if is_discrete else {}
    return DiscretizedBayesNet(
        names,
        [(name, "y") for name in names[:-1]],
        cut_points={name: np.arange(1.0, card) for name, card in numbers.items()},
        support={name: (0.0, float(card)) for name, card in numbers.items()},
        levels={name: [f"l{k}" for k in range(card)] for name, card in levels.items()},
        tables=tables,
        metadata={"parents": {"y": [list(gain) for gain in gains]}},
    )


@given(st.lists(st.integers(2, 9), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_tables_of_numbers_have_at_most_200_cells(cards, random):
    names = [f"p{k}" for k in range(len(cards) - 1)]
    gains = [(name, 10.0 - k) for k, name in enumerate(random.sample(names, len(names)))]
    network = family(cards, gains)
    shown = shown_parents(network, "y")
    assert list(shown) == [name for name, _ in gains if name in shown]
    assert prod(map(network.cardinality, (*shown, "y"))) <= MOST_SHOWN_CELLS
    counts = np.array([random.randrange(4) for _ in range(prod(cards[:-1]))])
    table, of_rows = shown_table(network, "y", counts)
    assert of_rows.sum() == counts.sum()
    np.testing.assert_allclose(table.sum(axis=-1), 1.0)
    # one configuration at a time
    sums, weights = np.zeros(table.shape), np.zeros(of_rows.shape)
    for place, count in zip(np.ndindex(*cards[:-1]), counts, strict=True):
        at = tuple(place[names.index(name)] for name in shown)
        weight = max(count, 1e-3)
        sums[at] += weight * network.tables["y"][place]
        weights[at] += weight
    np.testing.assert_allclose(table, sums / weights[..., None])


def test_families_of_discrete_columns_show_all_parents():
    network = family([9, 9, 9, 3], [("p2", 5.0), ("p0", 3.0), ("p1", 1.0)], is_discrete=True)
    assert shown_parents(network, "y") == ("p2", "p0", "p1")


def test_parents_without_a_recorded_gain_come_last():
    network = family([2, 2, 2, 2], [("p2", 5.0), ("unknown", 3.0)])
    assert ordered_parents(network, "y") == ("p2", "p0", "p1")
    assert known_text(network, "y") == ""


@pytest.mark.parametrize(
    ("gains", "text"),
    [
        ([90.0, 6.0, 4.0], "1 of 3 parents carries 90 % of what is known of it"),
        ([60.0, 36.0, 4.0], "2 of 3 parents carry 96 % of what is known of it"),
        ([40.0, 30.0, 30.0], ""),
        ([0.0, 0.0, 0.0], ""),
    ],
)
def test_the_text_counts_the_parents_that_carry_nine_tenths(gains, text):
    network = family([2, 2, 2, 2], [(f"p{k}", gain) for k, gain in enumerate(gains)])
    assert known_text(network, "y") == text
    assert ("carr" in network.summary()) == bool(text)
