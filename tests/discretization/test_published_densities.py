"""Densities that the Bayesian and the MDL discretizer reach on the papers' tables, in and out of sample.

The protocol is that of Chen, Wheeler & Kochenderfer (2017): ten folds of a random permutation, cuts and tables from the
training folds alone, one added to every count, bins between the training rows' minimum and maximum, values outside in
the end bins; nats a row in the original units. The graphs are the published ones.
"""

import math

import numpy as np
import pandas as pd
import published_tables as published
import pytest
from published_tables import (
    AUTO_FAMILIES,
    HOUSING_FAMILIES,
    IRIS_FAMILIES,
    K2_FAMILIES,
    WINE_FAMILIES,
    family_edges,
)

from gomea_bn.discretization import LDBN, BayesianDiscretizer, MDLDiscretizer


def log_densities(families, cuts, train, test, added):
    """Return the discrete and the width part of every test row's log density, straight from counts."""
    bins, widths = {}, np.zeros(len(test))
    for name in train:
        if name not in cuts:
            levels = sorted(set(train[name]) | set(test[name]))
            bins[name] = [rows[name].map(levels.index).tolist() for rows in (train, test)]
            continue
        bins[name] = [np.searchsorted(cuts[name], rows[name]).tolist() for rows in (train, test)]
        edges = np.array([train[name].min(), *cuts[name], train[name].max()])
        widths -= np.log(np.diff(edges)[bins[name][1]])
    discrete = np.zeros(len(test))
    for family in families:
        child = family[-1]
        counts, totals = {}, {}
        for row in zip(*(bins[name][0] for name in family)):
            counts[row] = counts.get(row, 0) + 1
            totals[row[:-1]] = totals.get(row[:-1], 0) + 1
        size = len(set(bins[child][0])) if child not in cuts else len(cuts[child]) + 1
        for i, row in enumerate(zip(*(bins[name][1] for name in family))):
            share = (counts.get(row, 0) + added) / (totals.get(row[:-1], 0) + added * size)
            discrete[i] += math.log(share)
    return discrete, widths


def held_out(learn, table, n_seeds=3):
    """Return the mean log density of rows held out in ten folds, over some permutations.

    `learn` takes the training rows and the kinds of the columns, and returns families and cuts.
    """
    frame, kinds = table
    size = round(len(frame) / 10)
    total = 0.0
    for seed in range(n_seeds):
        order = np.random.default_rng(seed).permutation(len(frame))
        for k in range(10):
            fold = order[k * size : (k + 1) * size] if k < 9 else order[k * size :]
            train, test = frame.drop(index=fold), frame.iloc[fold]
            families, cuts = learn(train, kinds)
            total += sum(float(part.sum()) for part in log_densities(families, cuts, train, test, 1))
    return total / len(frame) / n_seeds


def bayesian(families):
    return lambda train, kinds: (families, published.fitted((train, kinds), families).cut_points_)


def mdl(families, variant="corrected"):
    def learn(train, kinds):
        fitted = MDLDiscretizer(kinds=kinds, max_bins=255, variant=variant)
        return families, fitted.fit(train, network=family_edges(families)).cut_points_

    return learn


def ldbn(train, kinds):
    fitted = LDBN(kinds=kinds, order=list("BCEAGDFH"), max_indegree=2, max_cycles=5).fit(train)
    return ["".join(fitted.network_.parents(name)) + name for name in train], fitted.cut_points_


def test_densities_of_auto_mpg_in_sample():
    frame, fitted = published.auto_mpg()[0], published.fitted_auto_mpg()
    discrete, widths = log_densities(AUTO_FAMILIES, fitted.cut_points_, frame, frame, 0)
    assert discrete.mean() == pytest.approx(-7.451040, abs=5e-7)
    assert widths.mean() == pytest.approx(-17.155904, abs=5e-7)
    smoothed = log_densities(AUTO_FAMILIES, fitted.cut_points_, frame, frame, 1)
    assert sum(smoothed).mean() == pytest.approx(-25.144190, abs=5e-7)


# a mean moves with the permutation by about .05, on Housing .1; ln 3 less for the classes, Iris has -3.35 in the paper
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("table", "learn", "expected"),
    [
        (published.auto_mpg, bayesian(AUTO_FAMILIES), -26.04),
        (published.auto_mpg, bayesian(K2_FAMILIES), -25.98),
        (published.auto_mpg, ldbn, -25.98),
        (published.wine, bayesian(WINE_FAMILIES), -19.94),
        (published.housing, bayesian(HOUSING_FAMILIES), -31.40),
        (published.iris, bayesian(IRIS_FAMILIES), -3.35),
    ],
)
def test_held_out_densities_of_the_bayesian_discretizer(table, learn, expected):
    assert held_out(learn, table()) == pytest.approx(expected, abs=0.2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "families", "corrected", "as_published"),
    [
        (published.auto_mpg, AUTO_FAMILIES, -27.47, -30.40),
        (published.wine, WINE_FAMILIES, -21.54, -23.65),
        (published.housing, HOUSING_FAMILIES, -37.27, -43.21),
        (published.iris, IRIS_FAMILIES, -3.58, None),
    ],
)
def test_held_out_densities_of_mdl(table, families, corrected, as_published):
    assert held_out(mdl(families), table(), 1) == pytest.approx(corrected, abs=0.1)
    if as_published is not None:
        densities = held_out(mdl(families, "published"), table(), 1)
        assert densities == pytest.approx(as_published, abs=0.05)


def synthetic(n, seed):
    """Return rows of the papers' synthetic table; cuts are at 2, 3, 4, 4.5, 5 and 6."""
    rng = np.random.default_rng(seed)
    p, q = rng.integers(0, 2, (2, n))
    low, high = np.array([[2, 1], [4, 4.5]])[p, q], np.array([[6, 3], [5, 7.5]])[p, q]
    return pd.DataFrame({"p": p, "q": q, "x": rng.uniform(low, high)})


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("n", "bayesian_cuts", "mdl_cuts", "density"),
    [
        (150, 3.33, 2.43, -1.023),
        (300, 4.50, 3.40, -0.928),
        (500, 5.67, 4.87, -0.864),
        (700, 5.90, 5.50, -0.846),
    ],
)
def test_cuts_and_densities_of_the_synthetic_table(n, bayesian_cuts, mdl_cuts, density):
    network = [("p", "x"), ("q", "x")]
    counts, densities = [], []
    for seed in range(20):
        train = synthetic(n, seed)
        fits = [
            kind().fit(train, network=network).cut_points_ for kind in (BayesianDiscretizer, MDLDiscretizer)
        ]
        counts.append([len(cuts["x"]) for cuts in fits])
        test = synthetic(1000, 1000 + seed)
        discrete, widths = log_densities(["pqx"], fits[0], train, test, 1)
        densities.append((discrete + widths).mean())
    means = np.mean(counts, axis=0)
    assert means[0] == pytest.approx(bayesian_cuts, abs=0.5)
    assert means[1] == pytest.approx(mdl_cuts, abs=0.6)
    assert np.mean(densities) == pytest.approx(density, abs=0.03)
