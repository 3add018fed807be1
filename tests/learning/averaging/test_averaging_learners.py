"""Learners of networks with conditionals: options, missing values, Ctrl-C, and what refinement keeps."""

from __future__ import annotations

import itertools
import pickle
import signal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import QUICK, conditionals_of, linear_frame, network_of
from wrong_input import untyped

from gomea_bn import (
    BayesNetEnsemble,
    BayesNetLearner,
    GomeaBnError,
    average_families,
    refine_boundaries,
)
from gomea_bn.errors import GomeaBnWarning
from gomea_bn.learning import Averaged
from gomea_bn.network.bayes_net import DiscretizedBayesNet


def test_the_learned_network_has_conditionals() -> None:
    frame, fresh = linear_frame(), linear_frame(300, seed=1)
    plain = BayesNetLearner(density="bins", **QUICK).fit(frame)
    learner = BayesNetLearner(density=Averaged(prefer="density"), **QUICK).fit(frame)
    network = learner.network_
    assert plain.network_.conditionals is None
    assert network == average_families(plain.network_, frame, random_state=1)
    np.testing.assert_array_equal(learner.score_samples(fresh), network.log_density(fresh))
    assert learner.score(fresh) == pytest.approx(network.score(fresh))
    assert learner.score(fresh) > plain.score(fresh)
    pd.testing.assert_frame_equal(learner.sample(9, 3), network.sample(9, 3))
    assert pickle.loads(pickle.dumps(learner)).network_ == network
    assert BayesNetLearner().get_params()["density"] == "averaged"
    without = BayesNetLearner(density=Averaged(line="none"), **QUICK).fit(frame).network_
    assert conditionals_of(without).lines == {}
    assert conditionals_of(network).lines


def test_tables_of_learned_networks_have_an_axis_for_every_parent() -> None:
    network = BayesNetLearner(**QUICK).fit(linear_frame()).network_
    assert network.edges
    for name, table in network.tables.items():
        cards = [network.cardinality(member) for member in (*network.parents(name), name)]
        assert table.shape == tuple(cards)


def test_the_former_attribute_is_the_network() -> None:
    learner = BayesNetLearner(**QUICK)
    assert not hasattr(learner, "averaged_")
    learner.fit(linear_frame(60))
    with pytest.warns(DeprecationWarning, match="averaged_ is now network_ itself") as caught:
        assert learner.averaged_ is learner.network_
    assert caught[0].filename == __file__
    learner.set_params(density="bins").fit(linear_frame(60))
    assert not hasattr(learner, "averaged_")


def test_the_learner_drops_rows_with_missing_values() -> None:
    frame = linear_frame()
    frame.loc[3, "x"] = np.nan
    learner = BayesNetLearner(missing="drop", **QUICK).fit(frame)
    assert conditionals_of(learner.network_).n_rows == 199
    densities = learner.score_samples(frame)
    assert np.flatnonzero(np.isnan(densities)).tolist() == [3]
    assert learner.score(frame) == pytest.approx(np.nanmean(densities))


@pytest.mark.filterwarnings("ignore:.*constant")
def test_tables_with_a_constant_column_have_conditionals() -> None:
    frame = linear_frame(100).assign(k=3.5)
    learner = BayesNetLearner(**QUICK).fit(frame)
    assert set(conditionals_of(learner.network_).copies[0].tables) == set(frame)
    assert np.isfinite(learner.score(frame))
    assert (learner.sample(5, 0)["k"] == 3.5).all()


def test_a_learner_without_a_network_says_so() -> None:
    with pytest.raises(GomeaBnError, match=r"has not learned a network yet; call fit\(frame\) first"):
        BayesNetLearner(**QUICK).score(linear_frame(60))


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

    def average(*arguments: Any, **options: Any) -> DiscretizedBayesNet:
        if next(calls) >= call:
            signal.raise_signal(signal.SIGINT)
        return real(*arguments, **options)

    monkeypatch.setattr(f"gomea_bn.learning.{module}.average_families", average)


def test_ctrl_c_while_conditionals_are_learned_leaves_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = linear_frame(80)
    plain = BayesNetLearner(density="bins", **QUICK).fit(frame)
    interrupted_from(1, monkeypatch, "learner")
    learner = BayesNetLearner(**QUICK)
    with pytest.warns(
        GomeaBnWarning, match="interrupted\\. network_ has tables alone, counted from the rows"
    ):
        assert learner.fit(frame) is learner
    assert learner.network_ == plain.network_
    # all that the search has found is kept
    fitted = {name for name in vars(plain) if name.endswith("_")}
    assert {name for name in vars(learner) if name.endswith("_")} == fitted
    assert learner.stopped_by_ == plain.stopped_by_
    assert learner.score(frame) == plain.score(frame)
    assert average_families(learner.network_, learner.table_).conditionals is not None


def test_ctrl_c_while_conditionals_are_learned_leaves_all_networks_of_an_ensemble(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = linear_frame(80)
    plain = BayesNetEnsemble(BayesNetLearner(density="bins", **QUICK), n_networks=3, random_state=1).fit(
        frame
    )
    interrupted_from(2, monkeypatch, "ensemble")
    ensemble = BayesNetEnsemble(BayesNetLearner(**QUICK), n_networks=3, random_state=1)
    with pytest.warns(GomeaBnWarning, match="interrupted. networks_ has tables alone, counted from the rows"):
        ensemble.fit(frame)
    assert ensemble.networks_ == plain.networks_
    assert ensemble.n_networks_ == 3
    assert ensemble.score(frame) == plain.score(frame)
    assert len(ensemble.edge_frequency())


@pytest.mark.parametrize("line", ["auto", "none"])
def test_refinement_learns_conditionals_of_the_refined_cuts(line: str) -> None:
    frame = linear_frame(60)
    network = average_families(network_of(frame, [("x", "y")], n_bins=2), frame, n_copies=2, line=line)
    refined = refine_boundaries(network, frame, random_state=3).network
    assert refined == average_families(refined.of_tables(), frame, line=line, random_state=3)
    assert bool(conditionals_of(refined).lines) == (line == "auto")
    plain = refine_boundaries(network.of_tables(), frame, random_state=3).network
    assert plain.conditionals is None
    np.testing.assert_equal(plain.cut_points, refined.cut_points)
