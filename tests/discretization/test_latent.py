"""Bins against a latent variable: cuts against a slow twin and MDLP, published behaviour, invariances, interface."""

import math
import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from processor_time import at_most

from gomea_bn import DiscretizedBayesNet, GomeaBnError, read_table
from gomea_bn.discretization import MDLP, LatentDiscretizer
from gomea_bn.discretization.latent import latent
from gomea_bn.discretization.latent.kernels import best_class_cut
from gomea_bn.discretization.latent.latent import ClassCuts


def slow_entropy(rows):
    shares = [sum(column) / len(rows) for column in zip(*rows)]
    return -sum(p * math.log2(p) for p in shares if p > 0)


def slow_cuts(pairs):
    """Cuts by the published rule, set by set in plain Python."""
    options = []
    for low, high in pairwise(sorted({x for x, _ in pairs})):
        left = [r for x, r in pairs if x <= low]
        right = [r for x, r in pairs if x > low]
        after = (len(left) * slow_entropy(left) + len(right) * slow_entropy(right)) / len(pairs)
        options.append((round(after, 10), low, high))
    if not options:
        return []
    after, low, high = min(options)
    whole, left, right = (
        [r for x, r in pairs if keep(x)] for keep in (lambda x: True, lambda x: x <= low, lambda x: x > low)
    )
    k = len(pairs[0][1])
    gain = slow_entropy(whole) - after
    delta = math.log2(3**k - 2) - k * (slow_entropy(whole) - slow_entropy(left) - slow_entropy(right))
    if gain <= max((math.log2(len(pairs) - 1) + delta) / len(pairs), 1e-9):  # less is rounding
        return []
    below, above = [p for p in pairs if p[0] <= low], [p for p in pairs if p[0] > low]
    return [*slow_cuts(below), (low + high) / 2, *slow_cuts(above)]


def soft_rows(n, n_classes, n_values, seed):
    """Values with ties, and memberships that follow them with some noise."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values, n) / 2
    values[0] = -1.0
    centres = np.linspace(0, n_values / 2, n_classes)
    logs = -((values[:, None] - centres) ** 2) * rng.uniform(0.1, 2) + rng.normal(
        size=(n, n_classes)
    ) * rng.uniform(0, 2)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return values, shares / shares.sum(axis=1, keepdims=True)


@settings(max_examples=120)
@given(st.integers(2, 90), st.integers(1, 5), st.integers(1, 30), st.integers(0, 2**32 - 1))
@example(31, 3, 11, 4229824685)  # a cut just above its price
def test_cuts_are_those_of_a_slow_twin(n, n_classes, n_values, seed):
    values, memberships = soft_rows(n, n_classes, n_values, seed)
    cutter = ClassCuts(values, memberships)
    cuts = cutter.find()
    pairs = list(zip(values.tolist(), memberships.tolist()))
    assert cuts.tolist() == slow_cuts(pairs)
    edges = [-math.inf, *cuts, math.inf]
    bins = [[r for x, r in pairs if low < x <= high] for low, high in pairwise(edges)]
    entropy = sum(len(rows) * slow_entropy(rows) for rows in bins) / n
    assert cutter.expected_entropy(cuts) == pytest.approx(entropy, abs=1e-9)


@settings(max_examples=80)
@given(st.integers(3, 60), st.integers(1, 5), st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_the_best_cut_of_a_block_is_the_best_of_all(n, n_classes, n_values, seed):
    values, memberships = soft_rows(n, n_classes, n_values, seed)
    cutter = ClassCuts(values, memberships)
    n_distinct = cutter.column.n_distinct
    for low, high in ((0, n_distinct), (n_distinct // 3, n_distinct)):
        if high - low < 2:
            continue
        index, total = best_class_cut(cutter.below, cutter.rows_below, low, high)
        costs = []
        for i in range(low + 1, high):
            blocks = [
                memberships[
                    (values >= cutter.column.greatest[a]) & (values <= cutter.column.greatest[b - 1])
                ].tolist()
                for a, b in ((low, i), (i, high))
            ]
            costs.append(sum(len(rows) * slow_entropy(rows) for rows in blocks) * math.log(2))
        assert total == pytest.approx(min(costs), abs=1e-7)
        assert costs[index - low - 1] == pytest.approx(min(costs), abs=1e-7)


def test_bin_limits_keep_the_cuts_of_largest_gain():
    values, memberships = soft_rows(400, 4, 60, 3)
    cutter = ClassCuts(values, memberships)
    all_cuts = cutter.find()
    assert len(all_cuts) >= 3
    former: set[float] = set()
    for max_bins in range(1, len(all_cuts) + 3):
        cuts = cutter.find(max_bins=max_bins)
        assert len(cuts) == min(max_bins - 1, len(all_cuts))
        assert former <= set(cuts) <= set(all_cuts)
        former = set(cuts)
    shares = np.array([[0.75, 0.25, 0, 0], [0.25, 0.75, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    blocks = ClassCuts(np.arange(500.0), np.repeat(shares, [200, 200, 50, 50], axis=0))
    assert blocks.find().tolist() == [199.5, 399.5, 449.5]
    assert blocks.find(max_bins=3).tolist() == [399.5, 449.5]  # worth 100 bits, 199.5 only 75
    rng = np.random.default_rng(0)
    weak = ClassCuts(rng.normal(size=60), rng.dirichlet([5, 5], 60))
    assert weak.find().tolist() == []
    single = ClassCuts(rng.normal(size=60), np.ones((60, 1)))
    assert single.find().tolist() == []  # one class: nothing to tell apart


def level_table(n, sigma, seed, *, flipped=0.1, n_columns=6):
    """Columns around 0, 1, 2 that follow one hidden three-valued state."""
    rng = np.random.default_rng(seed)
    h = rng.integers(0, 3, n)
    return pd.DataFrame(
        {
            f"x{i}": np.where(rng.random(n) < flipped, rng.integers(0, 3, n), h) + rng.normal(0, sigma, n)
            for i in range(n_columns)
        }
    )


def test_three_levels_give_two_cuts_at_250_rows_and_more_at_3000():
    small, large = [], []
    for seed in range(3):
        small += LatentDiscretizer(3).fit(level_table(250, 0.25, seed)).cut_points_.values()
        large += LatentDiscretizer(3).fit(level_table(3000, 0.25, seed)).cut_points_.values()
    assert np.median([len(cuts) for cuts in small]) == 2
    assert all(2 <= len(cuts) <= 3 for cuts in small)
    assert all(3 <= len(cuts) <= 6 for cuts in large)
    for cuts, near in [(c, 0.3) for c in small] + [(c, 0.1) for c in large]:
        assert min(abs(cuts - 0.5)) < near
        assert min(abs(cuts - 1.5)) < near


def test_cuts_of_iris_set_the_species_apart():
    frame, kinds = published.iris()
    fitted = LatentDiscretizer(kinds=kinds).fit(frame)
    assert fitted.bic_[fitted.n_classes_] == max(fitted.bic_.values())
    for name, gap in (("C", (1.9, 3.0)), ("D", (0.6, 1.0))):  # between setosa and the others
        assert any(gap[0] < cut < gap[1] for cut in fitted.cut_points_[name])
    codes = fitted.transform(frame)
    species = frame["E"].to_numpy()
    for name, least in (("C", 0.9), ("D", 0.9)):
        majority = pd.crosstab(codes[name], species).max(axis=1).sum() / len(frame)
        assert majority >= least


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    h = rng.integers(0, 3, 300)
    return pd.DataFrame(
        {
            "x": 5.0 * h + rng.normal(size=300),
            "noise": rng.normal(size=300),
            "y": -4.0 * h + rng.normal(size=300),
            "k": np.array(list("uvw"))[h],
        }
    )


def test_a_fit_has_cuts_classes_and_what_the_bins_tell(frame):
    before = frame.copy(deep=True)
    fitted = LatentDiscretizer().fit(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert fitted.n_classes_ == fitted.mixture_.n_classes == 3
    # the classes are those of k, nearly without doubt, so that the cuts are those of MDLP for k
    by_class = MDLP().fit(frame, "k").cut_points_
    assert fitted.cut_points_["x"].tolist() == by_class["x"].tolist()
    assert fitted.cut_points_["y"].tolist() == by_class["y"].tolist()
    assert fitted.cut_points_["noise"].tolist() == []
    assert list(fitted.class_entropy_) == ["x", "noise", "y"]
    weights = fitted.mixture_.weights
    assert fitted.class_entropy_["noise"] == pytest.approx(-(weights @ np.log2(weights)), abs=1e-4)
    assert fitted.class_entropy_["x"] < 0.2
    assert fitted.stopped_by_ == "fixpoint"
    codes = fitted.transform(frame)
    assert codes.dtypes.unique().tolist() == [np.int32]
    assert codes["x"].max() == 2


def test_new_rows_get_class_probabilities(frame):
    fitted = LatentDiscretizer().fit(frame)
    whole = fitted.class_probabilities(frame)
    np.testing.assert_allclose(whole.to_numpy()[fitted.mixture_.table.order], fitted.mixture_.memberships())
    purity = pd.crosstab(whole.to_numpy().argmax(axis=1), frame["k"]).max(axis=1).sum()
    assert purity == len(frame)
    new = pd.DataFrame({"k": ["u", "w"], "x": [0.0, 10.0], "noise": 0.0, "y": [0.0, -8.0]}, index=["r", "s"])
    shares = fitted.class_probabilities(new)
    assert shares.index.tolist() == ["r", "s"]
    assert shares.shape == (2, 3)
    assert (shares.max(axis=1) > 0.999).all()
    assert shares.loc["r"].idxmax() != shares.loc["s"].idxmax()
    with pytest.raises(GomeaBnError, match="no column 'y'"):
        fitted.class_probabilities(new.drop(columns="y"))
    with pytest.raises(GomeaBnError, match=r"call fit\(frame\) first"):
        LatentDiscretizer().class_probabilities(new)
    unseen = pd.Series(pd.Categorical(frame["k"], categories=["u", "v", "w", "z"]))
    spare = LatentDiscretizer().fit(frame.assign(k=unseen))
    assert spare.class_probabilities(new.assign(k="z")).sum(axis=1).tolist() == pytest.approx([1, 1])


def test_a_graph_has_no_influence_but_a_network_decides_kinds_and_fixed_cuts(frame):
    plain = LatentDiscretizer().fit(frame)
    for edges in ([("k", "x"), ("x", "y")], []):
        again = LatentDiscretizer().fit(frame, network=edges)
        assert {n: c.tolist() for n, c in again.cut_points_.items()} == {
            n: c.tolist() for n, c in plain.cut_points_.items()
        }
    cuts = {"x": [1.0, 2.0], "noise": [], "y": [0.0]}
    network = DiscretizedBayesNet.from_table(
        read_table(frame), [("k", "x")], cuts, metadata={"fixed_cut_points": ["x"]}
    )
    fixed = LatentDiscretizer().fit(frame, network=network)
    assert fixed.cut_points_["x"].tolist() == [1.0, 2.0]
    assert fixed.cut_points_["y"].tolist() == plain.cut_points_["y"].tolist()
    assert list(fixed.class_entropy_) == ["noise", "y"]
    with_y = LatentDiscretizer().fit(frame, "k")
    assert with_y.cut_points_["y"].tolist() == plain.cut_points_["y"].tolist()


def test_content_order_and_units_do_not_matter(frame):
    first = LatentDiscretizer().fit(frame)
    shuffled = LatentDiscretizer().fit(frame.sample(frac=1, random_state=3))
    assert {n: c.tolist() for n, c in shuffled.cut_points_.items()} == {
        n: c.tolist() for n, c in first.cut_points_.items()
    }
    doubled = LatentDiscretizer().fit(frame.assign(x=frame["x"] * 2048))
    assert doubled.cut_points_["x"].tolist() == (first.cut_points_["x"] * 2048).tolist()
    assert doubled.cut_points_["y"].tolist() == first.cut_points_["y"].tolist()
    moved = LatentDiscretizer().fit(frame.assign(x=frame["x"] / 7 - 100))
    np.testing.assert_allclose(moved.cut_points_["x"], first.cut_points_["x"] / 7 - 100)
    assert moved.transform(frame.assign(x=frame["x"] / 7 - 100)).equals(first.transform(frame))


def test_a_table_of_one_column_is_cut_between_the_parts_of_its_density():
    rng = np.random.default_rng(1)
    two = pd.DataFrame({"x": np.concatenate((rng.normal(0, 1, 150), rng.normal(8, 1, 150)))})
    gap = two["x"].iloc[:150].max(), two["x"].iloc[150:].min()
    assert LatentDiscretizer().fit(two).cut_points_["x"] == pytest.approx([sum(gap) / 2])
    unimodal = LatentDiscretizer().fit(pd.DataFrame({"x": rng.normal(size=300)}))
    assert unimodal.n_classes_ == 1
    assert unimodal.cut_points_["x"].tolist() == []
    assert unimodal.class_entropy_ == {"x": 0.0}


def test_discrete_columns_alone_can_make_the_classes():
    rng = np.random.default_rng(2)
    h = rng.integers(0, 2, 600)
    columns = {name: np.where(rng.random(600) < 0.05, 1 - h, h).astype(str) for name in "abcd"}
    columns["many"] = (25 * h + rng.integers(0, 25, 600)).astype(str)
    fitted = LatentDiscretizer().fit(pd.DataFrame({**columns, "x": h + rng.uniform(0, 1, 600)}))
    assert fitted.n_classes_ == 2
    assert fitted.cut_points_["x"] == pytest.approx([1.0], abs=0.02)
    none = LatentDiscretizer().fit(pd.DataFrame(columns))
    assert none.cut_points_ == {}
    assert none.n_classes_ == 2


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_few_rows_and_tied_values_are_cut(n):
    frame = pd.DataFrame({"x": np.arange(n) + 0.5, "y": ([0.5, 0.25] * n)[:n], "k": (["u", "v"] * n)[:n]})
    for options in ({}, {"n_classes": n}):
        fitted = LatentDiscretizer(**options).fit(frame)
        assert fitted.transform(frame).shape == (n, 3)
        assert len(fitted.cut_points_["y"]) <= 1
    with pytest.raises(GomeaBnError, match=f"n_classes must be at most the number of rows, {n}, got {n + 1}"):
        LatentDiscretizer(n + 1).fit(frame)


def test_neighbouring_floats_are_not_cut():
    low = 1.0
    frame = pd.DataFrame({"x": [low, np.nextafter(low, 2)] * 30, "k": ["u", "v"] * 30})
    fitted = LatentDiscretizer(2).fit(frame)
    assert fitted.cut_points_["x"].tolist() == []  # no number between them leaves both bins a width


def test_many_rows_take_seconds_and_deadlines_hold():
    rng = np.random.default_rng(0)
    h = rng.integers(0, 3, 50_000)
    frame = pd.DataFrame({f"x{i}": (i + 2) * h + rng.gamma(2.0, size=50_000) for i in range(5)})
    frame["k"] = (h + rng.integers(0, 2, 50_000)).astype(str)
    LatentDiscretizer().compile()
    with at_most(15):
        fitted = LatentDiscretizer(max_classes=4).fit(frame)
    assert len(fitted.cut_points_) == 5
    assert all(len(cuts) >= 2 for cuts in fitted.cut_points_.values())
    with at_most(1.5):
        short = LatentDiscretizer(max_seconds=0.5).fit(frame)
    assert short.stopped_by_ == "max_seconds"
    none = LatentDiscretizer(max_seconds=1e-9).fit(frame)
    assert none.stopped_by_ == "max_seconds"
    assert none.n_classes_ == 0
    assert none.mixture_ is None
    assert all(cuts.tolist() == [] for cuts in none.cut_points_.values())
    with pytest.raises(GomeaBnError, match="enough max_seconds"):
        none.class_probabilities(frame)


def test_limits_of_em_are_reported(frame, monkeypatch):
    for name, value in (("_MAX_ITERATIONS", 1), ("EM_TOLERANCE", 0.0), ("_START_ROWS", 50)):
        monkeypatch.setattr(latent, name, value)
    stopped = LatentDiscretizer(3, n_restarts=1).fit(frame)
    assert stopped.stopped_by_ == "max_iterations"
    assert not stopped.mixture_.converged


@pytest.mark.long
def test_real_tables_fit_without_warnings():
    for frame, kinds in (published.wine(), published.auto_mpg(), published.housing()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = LatentDiscretizer(kinds=kinds).fit(frame)
        for name, cuts in fitted.cut_points_.items():
            assert (np.diff(cuts) > 0).all()
            assert frame[name].min() < cuts.min(initial=np.inf)
            assert cuts.max(initial=-np.inf) < frame[name].max()
        assert fitted.n_classes_ >= 3
