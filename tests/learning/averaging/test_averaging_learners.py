"""Learners whose density is that of an averaged network: options, missing values, Ctrl-C."""

from __future__ import annotations

import itertools
import pickle
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import QUICK, linear_frame, network_of
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    GomeaBnError,
    average_families,
    refine_boundaries,
)
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.network.averaged.network import AveragedBayesNet


def test_the_learner_has_the_density_of_its_averaged_network() -> None:
    frame, fresh = linear_frame(), linear_frame(300, seed=1)
    plain = BayesNetLearner(**QUICK).fit(frame)
    learner = BayesNetLearner(density="averaged", **QUICK).fit(frame)
    assert learner.network_ == plain.network_
    assert not hasattr(plain, "averaged_")
    averaged = learner.averaged_
    assert averaged == average_families(plain.network_, frame, random_state=1)
    np.testing.assert_array_equal(learner.score_samples(fresh), averaged.log_density(fresh))
    assert learner.score(fresh) == pytest.approx(averaged.score(fresh))
    assert learner.score(fresh) > plain.score(fresh)
    pd.testing.assert_frame_equal(learner.sample(9, 3), averaged.sample(9, 3))
    assert pickle.loads(pickle.dumps(learner)).averaged_ == averaged
    assert learner.get_params()["density"] == "averaged"
    without = BayesNetLearner(density="averaged", line="none", **QUICK).fit(frame).averaged_
    assert without.lines == {}
    assert averaged.lines


def test_the_learner_drops_rows_with_missing_values() -> None:
    frame = linear_frame()
    frame.loc[3, "x"] = np.nan
    learner = BayesNetLearner(density="averaged", missing="drop", **QUICK).fit(frame)
    assert learner.averaged_.n_rows == 199
    densities = learner.score_samples(frame)
    assert np.flatnonzero(np.isnan(densities)).tolist() == [3]
    assert learner.score(frame) == pytest.approx(np.nanmean(densities))


@pytest.mark.filterwarnings("ignore:.*constant")
def test_the_learner_averages_tables_with_a_constant_column() -> None:
    frame = linear_frame(100).assign(k=3.5)
    learner = BayesNetLearner(density="averaged", **QUICK).fit(frame)
    assert learner.averaged_.names == tuple(frame)
    assert np.isfinite(learner.score(frame))
    assert (learner.sample(5, 0)["k"] == 3.5).all()


def test_a_learner_without_an_averaged_network_says_so() -> None:
    frame = linear_frame(60)
    learner = BayesNetLearner(density="averaged", **QUICK)
    with pytest.raises(GomeaBnError, match=r"has not learned a network yet; call fit\(frame\) first"):
        learner.score(frame)
    learner.fit(frame)
    # another fit leaves nothing of the one before
    learner.set_params(density="bins").fit(frame)
    learner.set_params(density="averaged")
    with pytest.raises(GomeaBnError, match=r'no averaged network; call fit\(frame\) with density="averaged"'):
        learner.score(frame)


@pytest.mark.parametrize("option", ["density", "line"])
def test_wrong_options_of_the_learner_are_refused(option: str) -> None:
    with pytest.raises(GomeaBnError, match=f"{option} must be one of"):
        BayesNetLearner(**untyped({option: "best"}), **QUICK).fit(linear_frame(30))


@pytest.mark.parametrize(("option", "value"), [("density", "best"), ("line", "yes")])
def test_wrong_options_are_refused_before_the_table_is_read(option: str, value: str) -> None:
    learner = BayesNetLearner(**untyped({option: value}), **QUICK)
    for model in (learner, BayesNetEnsemble(learner, n_networks=1)):
        with pytest.raises(GomeaBnError, match=f"{option} must be one of .*, got '{value}'"):
            model.fit("no such file.csv")


def interrupted_from(call: int, monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Let the call of `average_families` with a number, counted from 1, end as by Ctrl-C."""
    real, calls = average_families, itertools.count(1)

    def average(*arguments: Any, **options: Any) -> AveragedBayesNet:
        if next(calls) >= call:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(f"gomea_bn.learning.{module}.average_families", average)


def test_ctrl_c_while_families_are_averaged_keeps_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(80)
    plain = BayesNetLearner(**QUICK).fit(frame)
    interrupted_from(1, monkeypatch, "learner")
    learner = BayesNetLearner(density="averaged", **QUICK)
    with pytest.warns(GomeaBnWarning, match="averaging of families was interrupted\\. network_ is complete"):
        assert learner.fit(frame) is learner
    assert learner.network_ == plain.network_
    # all that the search has found is kept
    fitted = {name for name in vars(plain) if name.endswith("_")}
    assert {name for name in vars(learner) if name.endswith("_")} == fitted
    assert learner.stopped_by_ == plain.stopped_by_
    with pytest.raises(GomeaBnError, match="no averaged network"):
        learner.score(frame)
    averaged = average_families(learner.network_, learner.table_)
    assert np.isfinite(averaged.score(frame))


def test_ctrl_c_while_families_are_averaged_keeps_all_networks_of_an_ensemble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = linear_frame(80)
    learner = BayesNetLearner(density="averaged", **QUICK)
    plain = BayesNetEnsemble(learner, n_networks=3, random_state=1).fit(frame)
    interrupted_from(2, monkeypatch, "ensemble")
    ensemble = BayesNetEnsemble(learner, n_networks=3, random_state=1)
    with pytest.warns(GomeaBnWarning, match="averaging of families was interrupted. networks_ is complete"):
        ensemble.fit(frame)
    assert ensemble.networks_ == plain.networks_
    assert ensemble.n_networks_ == 3
    assert ensemble.averaged_ == []
    for call in (ensemble.score, ensemble.log_density):
        with pytest.raises(GomeaBnError, match="no averaged networks, since their averaging was interrupted"):
            call(frame)
    with pytest.raises(GomeaBnError, match="no averaged networks"):
        ensemble.sample(1)
    assert len(ensemble.edge_frequency())


def test_refinement_says_what_to_do_with_an_averaged_network() -> None:
    frame = linear_frame(60)
    averaged = average_families(network_of(frame, [("x", "y")]), frame, n_copies=2)
    with pytest.raises(
        GomeaBnError, match=r"got an AveragedBayesNet\. Refine its attribute network, then average"
    ):
        refine_boundaries(untyped(averaged), frame)
    refined = refine_boundaries(averaged.network, frame).network
    assert average_families(refined, frame, n_copies=2).network == refined
