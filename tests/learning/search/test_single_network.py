"""The search for a single network as a part of a front: its network, its mark, repetition, limits."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from learning_inside import check_front_learning, front_problem
from mo_oracles import dominates
from sklearn.base import clone

from gomea_bn import (
    BayesNetLearner,
    ExpertNetwork,
    Front,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    read_front,
    read_table,
    simulated_expert,
    write_front,
)
from gomea_bn.front.folder import front_table
from gomea_bn.learning.fronts.search import limits_of_single
from gomea_bn.plots import front_points
from gomea_bn.problems import brute_force_front
from gomea_bn.runtime import Limits
from gomea_bn.simulation import random_network

QUICK: dict[str, Any] = {"max_evaluations": 4000, "max_seconds": None, "random_state": 1}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Return 150 rows of a chain with a level and a column of its own."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=150)
    b = a + rng.normal(scale=0.3, size=150)
    return pd.DataFrame({"a": a, "b": b, "c": np.where(b > 0.2, "high", "low"), "d": rng.random(150)})


@pytest.fixture(scope="module")
def learner(frame: pd.DataFrame) -> ParetoBayesNetLearner:
    return ParetoBayesNetLearner(**QUICK).fit(frame)


def test_the_front_holds_the_network_that_the_learner_finds(frame: pd.DataFrame) -> None:
    alone = BayesNetLearner(**{**QUICK, "max_evaluations": 2000}, curves="none", density="bins").fit(frame)
    learner = ParetoBayesNetLearner(**QUICK, curves="none").fit(frame)
    front = learner.front_
    assert front.single is not None
    network = front.single.network
    assert network == alone.network_
    assert front.record["single_network"]["score"] == pytest.approx(alone.score_)
    assert front.record["single_network"]["n_eval"] == learner.n_eval_single_ == alone.n_eval_ == 2000
    assert learner.n_eval_ == 4000
    assert front.single.objectives["complexity"] == network.n_parameters
    assert len(front) > 5
    others = [tuple(row) for i, row in enumerate(front.values.tolist()) if i != front.single.index]
    assert not any(dominates(f, g) for f in others for g in others)


def test_the_network_has_the_curves_and_the_shown_cuts_of_the_learner(
    frame: pd.DataFrame, learner: ParetoBayesNetLearner
) -> None:
    alone = BayesNetLearner(**{**QUICK, "max_evaluations": 2000}, prefer="density")
    alone.fit(frame)
    assert learner.front_.single is not None
    network = learner.front_.single.network
    assert set(network.edges) == set(alone.network_.edges) == {("b", "a"), ("b", "c")}
    assert "a" in network.metadata["curves"].keys() & alone.network_.metadata["curves"].keys()
    assert network.cut_points["a"].tolist() == alone.network_.cut_points["a"].tolist() != []
    # whose tables would need far more numbers
    assert learner.front_.single.objectives["complexity"] < 30
    assert network.score(frame) == pytest.approx(alone.network_.score(frame), abs=0.05)


def test_the_mark_goes_with_the_front(
    frame: pd.DataFrame, learner: ParetoBayesNetLearner, tmp_path: Any
) -> None:
    front = learner.front_
    assert front.single is not None
    table = front_table(front)
    assert np.flatnonzero(table["single"]).tolist() == [front.single.index]
    write_front(tmp_path / "front", front)
    again = read_front(tmp_path / "front")
    assert again.single is not None
    assert again.single.index == front.single.index
    thinned = front.thin(3)
    assert thinned.single is not None
    assert thinned.single.network == front.single.network
    # a part of a front may lack it
    networks = [front.network(0), front.network(1)]
    record = {"thinned_from": {"n_networks": len(front), "indices": [0, 1]}, **front.record}
    record["single_network"] = {"id": 7}
    assert Front(front.objectives, front.values[:2], networks, record=record).single is None


def test_without_its_share_there_is_none(frame: pd.DataFrame) -> None:
    learner = ParetoBayesNetLearner(single_share=0.0, **QUICK).fit(frame)
    assert learner.front_.single is None
    assert learner.n_eval_single_ == 0
    assert "single" not in front_table(learner.front_).columns


@pytest.mark.parametrize("share", [float("nan"), float("inf"), 1.0])
def test_a_command_refuses_a_share_as_the_learner_does(frame: pd.DataFrame, share: float) -> None:
    learner = ParetoBayesNetLearner(single_share=share, max_evaluations=20)
    with pytest.raises(GomeaBnError, match="single_share must be"):
        check_front_learning(learner, read_table(frame))


@pytest.mark.sample(1)
@pytest.mark.parametrize("seconds", [0.4, 1.5])
def test_a_front_that_a_clock_ended_is_repeated_by_its_evaluations(
    frame: pd.DataFrame, seconds: float
) -> None:
    timed = ParetoBayesNetLearner(max_seconds=seconds, patience=None, random_state=2).fit(frame)
    assert timed.stopped_by_ == "max_seconds"
    again = clone(timed).set_params(**timed.front_.record["repeat"]).fit(frame)
    assert again.front_.run_hash == timed.front_.run_hash
    assert (again.n_eval_, again.n_eval_single_) == (timed.n_eval_, timed.n_eval_single_)
    assert again.front_.single is not None
    assert timed.front_.single is not None
    assert again.front_.single.index == timed.front_.single.index


def test_a_callback_that_ends_the_first_search_leaves_its_network(frame: pd.DataFrame) -> None:
    learner = ParetoBayesNetLearner(callback=lambda progress: progress.n_eval > 20, random_state=1).fit(frame)
    assert learner.stopped_by_ == "callback"
    assert learner.front_.single is not None


def test_a_network_beyond_the_limit_is_left_out(frame: pd.DataFrame) -> None:
    with pytest.warns(GomeaBnWarning, match=r"more than the limit of 4, so the front lacks it\."):
        learner = ParetoBayesNetLearner(max_complexity=4, **QUICK).fit(frame)
    assert learner.front_.single is None
    assert learner.front_.record["single_network"]["id"] is None
    assert learner.front_.values[:, 1].max() <= 4


@pytest.mark.parametrize("discretizer", ["equal-frequency", "equal-width"])
def test_grids_have_a_single_network_of_the_same_grids(frame: pd.DataFrame, discretizer: str) -> None:
    front = ParetoBayesNetLearner(discretizer, max_bins=5, **QUICK).fit(frame).front_
    alone = BayesNetLearner(
        discretizer, max_bins=5, curves="none", density="bins", **{**QUICK, "max_evaluations": 1000}
    ).fit(frame)
    assert front.single is not None
    assert front.single.network == alone.network_


def test_the_limits_are_shared() -> None:
    limits = Limits(max_seconds=8, max_evaluations=1000, max_generations=10)
    assert limits_of_single(limits, 0.25, None) == Limits(2.0, 250, 2, patience=10.0)
    assert limits_of_single(limits, 0.25, 300) == Limits(8, 300, None, patience=10.0)
    assert limits_of_single(Limits(max_evaluations=3, patience=2.0), 0.5, None) == Limits(
        max_evaluations=1, patience=2.0
    )
    for share, evaluations in ((0.0, None), (0.5, 0), (0.0005, None)):
        assert limits_of_single(limits, share, evaluations) is None


def test_the_first_search_cannot_have_all_evaluations(frame: pd.DataFrame) -> None:
    with pytest.raises(
        GomeaBnError, match="single_evaluations must be below 4,000, the limit of both searches"
    ):
        ParetoBayesNetLearner(**QUICK, single_evaluations=4000).fit(frame)


def rounded_front(values: Any) -> list[tuple[float, ...]]:
    """The nondominated points after rounding, since equal sums in another order differ in their last bits."""
    points = sorted({tuple(row) for row in np.round(values, 9).tolist()})
    return [point for point in points if not any(dominates(other, point) for other in points)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_the_whole_front_over_all_graphs_of_four_columns_is_found(seed: int) -> None:
    truth = random_network(4, random_state=seed)
    table = read_table(truth.sample(200, random_state=seed))
    cuts = {c.name: np.quantile(c.values, [0.3, 0.7]) for c in table.columns if c.is_continuous}
    expert = simulated_expert(truth, table=table, random_state=seed)
    learner = ParetoBayesNetLearner(
        expert=expert,
        cut_points=cuts,
        max_complexity=1000,
        expert_sample_size=256,
        **{**QUICK, "max_evaluations": 20_000},
    ).fit(table)
    ordered = table.in_order(learner.expert_.names)
    problem = front_problem(learner, ordered, learner.front_.names, learner.expert_, learner.seed_)
    assert problem.n_variables == 6
    true_front = rounded_front(brute_force_front(problem))
    assert len(true_front) > 4
    assert rounded_front(learner.front_.values) == true_front


def test_distances_of_all_networks_are_those_of_their_tables(frame: pd.DataFrame) -> None:
    learner = ParetoBayesNetLearner(
        expert=ExpertNetwork.from_edges([("a", "b")]), pseudo_count=1.0, expert_sample_size=512, **QUICK
    ).fit(frame)
    front = learner.front_
    assert front.single is not None
    assert front.expert is not None
    for candidate in front:
        points = front_points(front, truth=candidate.network, objectives=["expert_distance"])
        expected = candidate.objectives["expert_distance"]
        assert points.iloc[-1]["expert_distance"] == pytest.approx(expected, abs=1e-9)
