"""Tables of families: the one that people read, and probabilities of rows that are left out."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.marginals import MOST_SHOWN_CELLS, shown_parents, shown_table
from gomea_bn.network.recorded import known_text, ordered_parents
from gomea_bn.network.tables import (
    family_counts,
    fitted_smoothing,
    smoothed,
    smoothed_and_left_out,
    table_and_left_out,
    table_of_counts,
)


def random_codes(seed: int, n_rows: int, cards: list[int]) -> list[NDArray[np.int32]]:
    """Return columns that depend on the first one."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, card, n_rows) for card in cards]
    same = rng.random((len(cards), n_rows)) < 0.5
    return [np.where(same[v], columns[0] % card, columns[v]).astype(np.int32) for v, card in enumerate(cards)]


@given(
    st.integers(0, 10_000),
    st.integers(2, 25),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.3, 1.0, 5.0]),
)
@settings(max_examples=60)
def test_probabilities_of_left_out_rows_are_those_of_tables_without_them(seed, n_rows, cards, pseudo_count):
    codes = random_codes(seed, n_rows, cards)
    child = len(cards) - 1
    parents = list(range(child))
    table, left_out = table_and_left_out(codes, parents, child, cards, pseudo_count, "x")
    np.testing.assert_array_equal(
        table, table_of_counts(family_counts(codes, parents, child, cards, "x"), pseudo_count), strict=True
    )
    assert left_out.shape == (n_rows,)
    for row in range(n_rows):
        others = [np.delete(column, row) for column in codes]
        without = table_of_counts(family_counts(others, parents, child, cards, "x"), pseudo_count)
        cell = tuple(int(column[row]) for column in codes)
        assert left_out[row] == pytest.approx(without[cell], rel=1e-12, abs=0)


def test_without_pseudo_counts_a_row_alone_in_its_cell_is_impossible_and_one_alone_in_its_table_row_is_even():
    parent, child = np.array([0, 0, 0, 1], np.int32), np.array([0, 0, 1, 2], np.int32)
    _, left_out = table_and_left_out([parent, child], [0], 1, [2, 3], 0.0, "x")
    assert left_out.tolist() == pytest.approx([0.5, 0.5, 0.0, 1 / 3])


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 3), (3, 1, 2), (2, 3, 2), (2, 2, 2, 2)])
@pytest.mark.parametrize("seed", range(4))
def test_probabilities_of_left_out_rows_have_the_smoothing_of_all_rows(shape, seed):
    counts = np.random.default_rng(seed).integers(0, 4, shape).astype(np.float64)
    smoothing = fitted_smoothing(counts)
    table, left_out = smoothed_and_left_out(counts)
    np.testing.assert_array_equal(table, smoothed(counts, smoothing), strict=True)
    assert left_out.shape == counts.shape
    for cell, count in np.ndenumerate(counts):
        if count == 0:
            assert left_out[cell] == 0
            continue
        without = counts.copy()
        without[cell] -= 1
        assert left_out[cell] == pytest.approx(smoothed(without, smoothing)[cell], rel=1e-10)


def test_automatic_smoothing_gives_every_row_the_probability_of_its_cell():
    cards = [2, 3, 4]
    codes = random_codes(1, 60, cards)
    table, left_out = table_and_left_out(codes, [0, 1], 2, cards, "auto", "x")
    counts = np.zeros(cards)
    np.add.at(counts, tuple(codes), 1)
    whole, of_cells = smoothed_and_left_out(counts)
    np.testing.assert_array_equal(table, whole)
    np.testing.assert_array_equal(left_out, of_cells[tuple(codes)])
    assert (left_out > 0).all()
    # a row helps its own cell
    assert (left_out < table[tuple(codes)]).all()


@pytest.mark.parametrize("pseudo_count", [1.0, "auto"])
def test_huge_tables_are_refused(pseudo_count):
    codes = [np.zeros(5, np.int32)] * 31
    with pytest.raises(GomeaBnError, match=r"The table of 'x' with 30 parents would have .* cells"):
        table_and_left_out(codes, list(range(30)), 30, [2] * 31, pseudo_count, "x")


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
