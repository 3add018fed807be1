"""The baselines: equal width and frequency as in the learner, k-means as in scikit-learn, MDLP against a slow twin."""

import builtins
import itertools
import math
import warnings

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import slow_entropy
from processor_time import at_most
from published_tables import assert_cuts
from sklearn.preprocessing import KBinsDiscretizer
from threadpoolctl import threadpool_info, threadpool_limits

from gomea_bn import GomeaBnError
from gomea_bn.discretization import MDLP, EqualFrequency, EqualWidth, KMeans, discretizer
from gomea_bn.problems.cuts import policy_library


def slow_mdlp(values, classes):
    """Cuts by the published rule, set by set in plain Python."""
    distinct = sorted(set(values))
    options = []
    for low, high in itertools.pairwise(distinct):
        left = [c for x, c in zip(values, classes) if x <= low]
        right = [c for x, c in zip(values, classes) if x > low]
        expected = (len(left) * slow_entropy(left) + len(right) * slow_entropy(right)) / len(values)
        options.append((expected, (low + high) / 2, left, right))
    if not options:
        return []
    expected, cut, left, right = min(options, key=lambda option: (round(option[0], 12), option[1]))
    k, k1, k2 = len(set(classes)), len(set(left)), len(set(right))
    delta = math.log2(3**k - 2) - (
        k * slow_entropy(classes) - k1 * slow_entropy(left) - k2 * slow_entropy(right)
    )
    if slow_entropy(classes) - expected <= (math.log2(len(values) - 1) + delta) / len(values):
        return []
    below = [(x, c) for x, c in zip(values, classes) if x < cut]
    above = [(x, c) for x, c in zip(values, classes) if x > cut]
    return [*slow_mdlp(*zip(*below)), cut, *slow_mdlp(*zip(*above))]


@pytest.mark.parametrize(("kind", "name"), [(EqualWidth, "equal-width"), (EqualFrequency, "equal-frequency")])
def test_bins_are_those_of_the_learners_libraries(kind, name):
    frame, kinds = published.auto_mpg()
    for n_bins in (1, 2, 5, 9):
        cut_points = kind(n_bins=n_bins, kinds=kinds).fit(frame).cut_points_
        assert set(cut_points) == {name for name, kind in kinds.items() if kind == "continuous"}
        for column, cuts in cut_points.items():
            library = policy_library(frame[column].to_numpy(), name, max(n_bins, 2))
            expected = {policy.n_bins: policy.cut_points.tolist() for policy in library} | {1: []}
            assert cuts.tolist() == expected[len(cuts) + 1]
            if kind is EqualWidth:
                assert len(cuts) == n_bins - 1


def test_k_means_cuts_are_scikit_learns():
    frame, kinds = published.iris()
    cut_points = KMeans(n_bins=4, kinds=kinds).fit(frame).cut_points_
    assert len(cut_points) == 4
    for column, cuts in cut_points.items():
        binning = KBinsDiscretizer(n_bins=4, encode="ordinal", strategy="kmeans", random_state=0)
        np.testing.assert_allclose(cuts, binning.fit(frame[[column]].to_numpy()).bin_edges_[0][1:-1])


def test_k_means_takes_no_more_bins_than_values():
    frame = pd.DataFrame({"x": [0.5, 1.5, 1.5, 7.5] * 5, "y": np.arange(20.0)})
    fitted = KMeans(n_bins=6).fit(frame)
    np.testing.assert_allclose(fitted.cut_points_["x"], [1.0, 4.5])
    assert len(fitted.cut_points_["y"]) == 5
    assert KMeans(n_bins=1).fit(frame).cut_points_["x"].tolist() == []


def test_k_means_runs_on_one_thread(monkeypatch):
    seen = []
    plain = KMeans._cut

    def cut(self, values, task):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return plain(self, values, task)

    monkeypatch.setattr(KMeans, "_cut", cut)
    with threadpool_limits(2):
        KMeans().fit(pd.DataFrame({"x": np.arange(30.0)}))
    assert seen
    assert set(seen) == {1}


def test_k_means_takes_any_seed():
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=50)})
    cuts = [KMeans(random_state=seed).fit(frame).cut_points_["x"].tolist() for seed in (3, 2**80 + 3)]
    assert cuts[0] == cuts[1]


@pytest.mark.parametrize("exponent", [-1000, -320, 1000])
def test_k_means_knows_no_units(exponent):
    values = np.random.default_rng(0).normal(size=200)
    plain = KMeans(n_bins=4).fit(pd.DataFrame({"x": values})).cut_points_["x"]
    assert len(plain) == 3
    cuts = KMeans(n_bins=4).fit(pd.DataFrame({"x": np.ldexp(values, exponent)})).cut_points_["x"]
    np.testing.assert_array_equal(cuts, np.ldexp(plain, exponent))


def test_k_means_leaves_no_bin_without_rows():
    values = np.concatenate(([1e300], np.random.default_rng(0).normal(size=60)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cuts = KMeans().fit(pd.DataFrame({"x": values})).cut_points_["x"]
    assert np.bincount(np.searchsorted(cuts, values)).min() > 0
    # scikit-learn's centres leave one of these clusters without rows
    spread = np.array([1.29, 0.0031, 0.0011, 0.3147, 88212.4, 4.006, 45.36])
    cuts = KMeans(n_bins=7).fit(pd.DataFrame({"x": spread})).cut_points_["x"]
    assert np.bincount(np.searchsorted(cuts, spread), minlength=len(cuts) + 1).min() > 0


def test_k_means_does_not_cut_between_neighbouring_floats_at_one_of_them():
    for low in (1.0, 1.0 - 2**-53, 3.0):
        frame = pd.DataFrame({"x": [low, np.nextafter(low, 4)] * 10})
        assert KMeans(n_bins=2).fit(frame).cut_points_["x"].tolist() == []


def test_without_scikit_learn_the_error_names_what_to_install(monkeypatch):
    real = builtins.__import__

    def missing(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    frame = pd.DataFrame({"x": np.arange(20.0)})
    with pytest.raises(
        GomeaBnError, match=r"scikit-learn; install it with: pip install 'gomea-bn\[interop\]'"
    ):
        KMeans().fit(frame)
    assert EqualWidth().fit(frame).cut_points_["x"].size == 4


def test_mdlp_cuts_of_iris():
    # as the R package discretization prints them
    frame, kinds = published.iris()
    expected = {"A": "5.55 6.15", "B": "2.95 3.35", "C": "2.45 4.75", "D": ".8 1.75"}
    assert_cuts(MDLP(kinds=kinds).fit(frame, "E").cut_points_, expected)
    assert_cuts(MDLP().fit(frame.drop(columns="E"), frame["E"]).cut_points_, expected)
    assert_cuts(MDLP().fit(frame.drop(columns="E"), frame["E"].map("class {}".format)).cut_points_, expected)


@settings(max_examples=80)
@given(st.integers(2, 60), st.integers(1, 4), st.integers(2, 20), st.integers(0, 2**32 - 1))
def test_mdlp_finds_what_a_slow_twin_finds(n, n_classes, n_values, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values, n) / 2
    classes = np.minimum(values.astype(int) // 2 + (rng.random(n) < 0.2), n_classes - 1)
    if len(set(values)) < 2:
        values[0] = -1.0
    cuts = MDLP(kinds={"x": "continuous"}).fit(pd.DataFrame({"x": values}), classes).cut_points_["x"]
    assert cuts.tolist() == slow_mdlp(values.tolist(), classes.tolist())


def test_mdlp_splits_again_and_does_not_see_monotone_changes_of_scale():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=2000)
    y = np.digitize(x, [0.2, 0.5, 0.7]) % 2
    cuts = MDLP().fit(pd.DataFrame({"x": x}), y).cut_points_["x"]
    np.testing.assert_allclose(cuts, [0.2, 0.5, 0.7], atol=0.005)
    stretched = MDLP().fit(pd.DataFrame({"x": np.exp(5 * x)}), y)
    codes = MDLP().fit(pd.DataFrame({"x": x}), y).transform(pd.DataFrame({"x": x}))
    assert stretched.transform(pd.DataFrame({"x": np.exp(5 * x)})).equals(codes)
    order = rng.permutation(2000)
    assert MDLP().fit(pd.DataFrame({"x": x[order]}), y[order]).cut_points_["x"].tolist() == cuts.tolist()


def test_mdlp_needs_classes():
    frame, kinds = published.iris()
    with pytest.raises(GomeaBnError, match="MDLP needs classes: fit"):
        MDLP(kinds=kinds).fit(frame)
    with pytest.raises(GomeaBnError, match="60 distinct values, but MDLP needs classes, at most 50"):
        MDLP().fit(pd.DataFrame({"x": np.arange(60.0)}), np.arange(60))
    assert MDLP(kinds=kinds).fit(frame, np.zeros(150)).cut_points_["A"].tolist() == []


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["equal-width", "equal-frequency", "k-means", "mdlp"])
def test_few_rows_ties_many_rows_and_deadlines(name):
    for n in range(2, 11):
        frame = pd.DataFrame({"x": np.arange(n) + 0.5, "y": ([0.5, 0.25] * n)[:n]})
        fitted = discretizer(name).fit(frame, np.arange(n) % 2)
        assert fitted.transform(frame).shape == (n, 2)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50_000, 2)))
    classes = (frame[0] + rng.normal(size=50_000) > 0).to_numpy()
    discretizer(name).compile()
    with at_most(10):
        fitted = discretizer(name).fit(frame, classes)
    assert len(fitted.cut_points_["0"]) >= 1
    stopped = discretizer(name, max_seconds=1e-9).fit(frame, classes)
    assert stopped.stopped_by_ == "max_seconds"
    assert stopped.cut_points_["0"].tolist() == []
