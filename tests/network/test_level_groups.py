"""Groups of levels that go with about the same values of a column."""

import re
from itertools import combinations, pairwise
from math import lgamma

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, network_report
from gomea_bn.network.effects import MOST_GROUPS, level_groups


def as_sets(groups):
    return {frozenset(group.tolist()) for group in groups}


def test_wards_that_differ_stand_out_and_others_are_one_group():
    counts = np.full(40, 120.0)
    rates = np.full(40, 0.13)
    rates[[7, 23]] = 0.26
    groups = level_groups(np.column_stack([1 - rates, rates]), counts)
    assert as_sets(groups) == {frozenset({7, 23}), frozenset(range(40)) - {7, 23}}
    few_rows = level_groups(np.column_stack([1 - rates, rates]), counts / 10)
    assert len(few_rows) == 1


def slow_score(sums, centre):
    """Log probability of counts under a Dirichlet prior of one row."""
    parts = [lgamma(s + c) - lgamma(c) for s, c in zip(sums, centre, strict=True)]
    return sum(parts) + lgamma(sum(centre)) - lgamma(sum(sums) + sum(centre))


@pytest.mark.parametrize("seed", range(6))
def test_the_groups_are_the_best_runs_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    counts = rng.integers(20, 200, 9).astype(float)
    rates = rng.choice([0.1, 0.3, 0.6], 9) + rng.normal(scale=0.02, size=9)
    means = np.column_stack([1 - rates, rates])
    centre = counts @ means / counts.sum()
    order = np.argsort(rates)

    def score(cuts):
        ends = [0, *cuts, 9]
        runs = [order[a:b] for a, b in pairwise(ends)]
        sums = [counts[run] @ means[run] for run in runs]
        prior = sum(lgamma(len(run)) for run in runs)
        return prior + sum(slow_score(of_run, centre) for of_run in sums), as_sets(runs)

    best = max(
        (score(cuts) for size in range(MOST_GROUPS) for cuts in combinations(range(1, 9), size)),
        key=lambda scored: scored[0],
    )
    assert as_sets(level_groups(means, counts)) == best[1]


@pytest.mark.parametrize("variance", [None, 2.0])
def test_the_order_of_levels_has_no_effect(variance):
    rng = np.random.default_rng(1)
    counts = rng.integers(5, 50, 12).astype(float)
    means = rng.dirichlet(np.ones(3), 12) if variance is None else rng.normal(size=(12, 1)) * 3
    groups = level_groups(means, counts, variance)
    order = rng.permutation(12)
    again = level_groups(means[order], counts[order], variance)
    assert as_sets(groups) == {frozenset(order[group].tolist()) for group in again}
    assert sorted(np.concatenate(groups).tolist()) == list(range(12))


def test_numbers_group_by_their_means():
    means = np.array([5.0, 1, 5.1, 1.1, 0.9, 5, 1, 1, 1, 1])[:, None]
    assert as_sets(level_groups(means, np.full(10, 50.0), 1.0)) == {
        frozenset({0, 2, 5}),
        frozenset({1, 3, 4, 6, 7, 8, 9}),
    }


def test_the_summary_names_groups_of_many_levels():
    rng = np.random.default_rng(0)
    ward = rng.integers(0, 20, 6000)
    ill = rng.random(6000) < np.where(np.isin(ward, [3, 17]), 0.4, 0.1)
    frame = pd.DataFrame({"ward": [f"w{k}" for k in ward], "ill": np.where(ill, "yes", "no")})
    network = DiscretizedBayesNet.from_table(frame, [("ward", "ill")], {})
    (effect,) = network.column_effects("ill").effects
    assert [set(labels) for labels, _ in effect.groups] == [
        {"w3", "w17"},
        {f"w{k}" for k in range(20)} - {"w3", "w17"},
    ]
    text = network.summary()
    assert "differs by ward (100 % of the effects; 4" in text
    assert " at w17, w3; 1" in text
    assert " % at the other 18)" in text
    few = frame[frame["ward"].isin([f"w{k}" for k in range(8)])]
    network = DiscretizedBayesNet.from_table(few, [("ward", "ill")], {})
    assert network.column_effects("ill").effects[0].groups == ()


def test_an_explanation_names_groups_of_many_levels():
    rng = np.random.default_rng(2)
    ward = rng.integers(0, 20, 6000)
    is_high = np.isin(ward, [3, 17])
    frame = pd.DataFrame(
        {
            "floor": [f"w{number:02}" for number in ward],
            "ill": np.where(rng.random(6000) < np.where(is_high, 0.4, 0.1), "yes", "no"),
            "days": rng.normal(size=6000) + 5 * is_high,
        }
    )
    edges, cuts = [("floor", "ill"), ("floor", "days")], {"days": [-1.0, 0.0, 1.0, 2.0, 4.0, 5.0, 6.0]}
    network = DiscretizedBayesNet.from_table(frame, edges, cuts)
    of_level, of_mean = network.explain("ill", state="yes"), network.explain("days")
    direction = str(of_level.drivers.loc["floor", "direction"])
    said = re.fullmatch(r"is (\d+) % at w03, w17; (\d+) % at the other 18", direction)
    assert said is not None
    rates = [100 * (frame["ill"][mask] == "yes").mean() for mask in (is_high, ~is_high)]
    assert [float(text) for text in said.groups()] == pytest.approx(rates, abs=2)
    assert f"; it {direction}." in "\n".join(of_level.sentences)
    direction = str(of_mean.drivers.loc["floor", "direction"])
    assert direction.startswith("is ")
    assert " at w03, w17; " in direction
    assert direction.endswith(" at the other 18")
    # levels that are alike, and few levels, have no groups
    alike = DiscretizedBayesNet.from_table(frame, [], cuts).explain("ill", state="yes")
    assert alike.drivers.loc["floor", "direction"] == "stays"
    assert str(network.explain("days").drivers.loc["ill", "direction"]).startswith("is highest at")


def test_the_levels_of_a_column_have_groups_by_its_first_parent():
    rng = np.random.default_rng(4)
    is_old = rng.random(4000) < 0.3
    age = np.where(is_old, rng.normal(75, 5, 4000), rng.normal(50, 5, 4000))
    ward = np.where(
        is_old, rng.choice([2, 9], 4000), rng.choice([k for k in range(12) if k not in (2, 9)], 4000)
    )
    frame = pd.DataFrame({"age": age, "floor": [f"w{number:02}" for number in ward]})
    network = DiscretizedBayesNet.from_table(frame, [("age", "floor")], {"age": [55.0, 65.0]})
    said = re.search(r"age is ([\d.]+) at w02, w09; ([\d.]+) at the other 10", network.summary())
    assert said is not None
    # values are even inside the bins
    assert [float(text) for text in said.groups()] == pytest.approx([75, 50], abs=5)
    coarse = frame.assign(age=np.where(age > 62, "old", "young"))
    of_levels = DiscretizedBayesNet.from_table(coarse, [("age", "floor")], {})
    # the page has the words of the summary
    for text in (of_levels.summary(), network_report(of_levels)):
        assert re.search(r"age is young 9\d % at the other 10; young 0\.\d % at w02, w09", text)
    independent = frame.assign(floor=rng.permutation(frame["floor"]))
    alike = DiscretizedBayesNet.from_table(independent, [("age", "floor")], {"age": [55.0, 65.0]})
    assert "at the other" not in alike.summary()
    assert "age is" not in alike.summary()
