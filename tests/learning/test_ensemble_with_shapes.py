"""Ensembles of networks with shapes: shapes from all rows, and the same point masses in every network."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from shaped_examples import shaped_table

from gomea_bn import BayesNetEnsemble, BayesNetLearner, GomeaBnError, read_table
from gomea_bn.data.row_order import in_row_order
from gomea_bn.learning.table_shapes import table_shapes


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


def test_columns_that_lose_a_point_mass_in_every_draw_are_named(monkeypatch):
    frame = pd.DataFrame({"x": [*np.arange(1.0, 11.0), *np.zeros(30)], "y": np.arange(40) % 7 / 7})
    others = np.flatnonzero(in_row_order(read_table(frame)).columns[0].values)
    monkeypatch.setattr("gomea_bn.learning.ensemble._drawn_rows", lambda *arguments: others)
    with pytest.raises(GomeaBnError, match=r"column 'x' was .* without a value that is frequent"):
        BayesNetEnsemble(
            BayesNetLearner(max_evaluations=200, kinds={"x": "continuous"}), n_networks=1, random_state=0
        ).fit(frame)


@pytest.mark.parametrize("line", ["auto", "none"])
def test_averaged_networks_of_all_rows_make_up_the_density(line: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": x + 0.1 * rng.normal(size=150), "z": rng.normal(size=150)})
    learner = BayesNetLearner(
        density="averaged",
        curves=line,
        line=line,
        max_seconds=None,
        max_evaluations=600,
        random_state=1,
    )
    ensemble = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    networks = [averaged.network for averaged in ensemble.averaged_]
    assert networks == ensemble.networks_
    assert {averaged.n_rows for averaged in ensemble.averaged_} == {150}
    assert [bool(averaged.lines) for averaged in ensemble.averaged_] == [line == "auto"] * 2
    densities = np.exp([averaged.log_density(frame) for averaged in ensemble.averaged_])
    assert np.exp(ensemble.log_density(frame)) == pytest.approx(densities.mean(axis=0))
    again = BayesNetEnsemble(learner, n_networks=2, random_state=3).fit(frame)
    assert again.averaged_ == ensemble.averaged_
    assert ensemble.averaged_[0].copies[0].cut_points["x"].tolist() != (
        ensemble.averaged_[1].copies[0].cut_points["x"].tolist()
    )
    drawn = ensemble.sample(4000, random_state=0)
    assert np.corrcoef(drawn["x"], drawn["y"])[0, 1] > 0.8
    ensemble.learner = BayesNetLearner(max_seconds=None, max_evaluations=600)
    ensemble.fit(frame)
    assert not hasattr(ensemble, "averaged_")
    assert ensemble.score(frame) == pytest.approx(
        np.mean(np.logaddexp(*(network.log_density(frame) for network in ensemble.networks_)) - np.log(2))
    )
