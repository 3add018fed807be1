"""Ensembles of networks with shapes: shapes from all rows, and the same point masses in every network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from shaped_examples import shaped_table

from gomea_bn import BayesNetEnsemble, BayesNetLearner, read_table
from gomea_bn.learning import Averaged
from gomea_bn.problems.cuts.shape_fit import table_shapes


@pytest.fixture(scope="module")
def table():
    """Return rows in which one value of "rare" is a point mass of about half of the subsamples only."""
    frame = shaped_table(160).to_frame()
    frame["rare"] = np.random.default_rng(1).normal(size=160)
    frame.loc[:15, "rare"] = 0.5
    table = read_table(frame, kinds=dict.fromkeys(frame.columns, "continuous"))
    assert {name for name, s in table_shapes(table).items() if s.shape.points} == {"rain", "rare"}
    return table


@pytest.mark.parametrize("resampling", ["subsample", "bootstrap"])
def test_shapes_and_point_masses_come_from_all_rows(table, resampling):
    shapes = {name: shape.shape for name, shape in table_shapes(table).items()}
    for shape, n_networks in (("auto", 6), ("marginal", 2)):
        learner = BayesNetLearner(max_evaluations=400, shape=shape)
        ensemble = BayesNetEnsemble(
            learner, n_networks=n_networks, resampling=resampling, random_state=2
        ).fit(table)
        for network in ensemble.networks_:
            assert {"rain", "rare"} <= set(network.shapes)
            assert shape == "auto" or set(network.shapes) == set(table.names)
            assert all(own == shapes[name] for name, own in network.shapes.items())
        assert np.isfinite(ensemble.score(table.to_frame()))


def test_members_of_an_ensemble_with_uniform_bins_have_no_shapes(table):
    learner = BayesNetLearner(max_evaluations=400, shape="uniform")
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=2).fit(table)
    assert not any(network.shapes for network in ensemble.networks_)


def nearly_all_points(n_rows):
    """Return a table whose "x" has only three values besides its point mass."""
    x = np.zeros(n_rows)
    x[:3] = 1.0, 2.5, 3.0
    return pd.DataFrame({"x": x, "y": np.random.default_rng(0).normal(size=n_rows)})


def test_subsamples_in_which_a_shape_cannot_be_fitted_are_drawn_again():
    ensemble = BayesNetEnsemble(
        BayesNetLearner(max_evaluations=200, kinds={"x": "continuous"}), n_networks=8, random_state=0
    ).fit(nearly_all_points(30))
    assert all(network.shapes["x"].points == {0.0: 0.9} for network in ensemble.networks_)


@pytest.mark.parametrize("resampling", ["bootstrap", "subsample"])
def test_draws_without_rows_of_rare_point_masses_are_learned_from(resampling: str) -> None:
    rng = np.random.default_rng(4)
    counts = np.repeat(np.arange(12.0), [5] * 11 + [65])
    frame = pd.DataFrame({"x": counts, "y": counts + rng.normal(size=120)})
    ensemble = BayesNetEnsemble(
        BayesNetLearner(max_evaluations=200), n_networks=6, resampling=resampling, random_state=0
    ).fit(frame)
    # the shape is that of all rows
    assert all(len(network.shapes["x"].points) == 12 for network in ensemble.networks_)
    assert np.isfinite(ensemble.log_density(frame)).all()


@pytest.mark.parametrize("line", ["auto", "none"])
def test_networks_with_conditionals_of_all_rows_make_up_the_density(line: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=150), "z": rng.normal(size=150)})
    learner = BayesNetLearner(
        curves=line,
        density=Averaged(line=line),
        max_seconds=None,
        max_evaluations=600,
        random_state=1,
    )
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    known = [conditionals_of(network) for network in ensemble.networks_]
    assert {each.n_rows for each in known} == {150}
    assert [bool(each.lines) for each in known] == [line == "auto"] * 2
    densities = np.exp([network.log_density(frame) for network in ensemble.networks_])
    assert np.exp(ensemble.log_density(frame)) == pytest.approx(densities.mean(axis=0))
    again = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    assert again.networks_ == ensemble.networks_
    first, second = (each.copies[0].cut_points["x"].tolist() for each in known)
    assert first != second
    drawn = ensemble.sample(4000, random_state=0)
    assert np.corrcoef(drawn["x"], drawn["y"])[0, 1] > 0.8
    ensemble.learner = BayesNetLearner(density="bins", max_seconds=None, max_evaluations=600)
    ensemble.fit(frame)
    assert {network.conditionals for network in ensemble.networks_} == {None}
    assert ensemble.score(frame) == pytest.approx(
        np.mean(np.logaddexp(*(network.log_density(frame) for network in ensemble.networks_)) - np.log(2))
    )
