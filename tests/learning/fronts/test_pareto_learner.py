"""The learner of fronts as its users call it: objectives, the expert, limits, knowledge, errors, repetition."""

import copy
import json
import pickle
import signal
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from front_checks import PUBLISHED_FRONT, check_distances, check_networks
from mo_oracles import dominates
from oracles import all_dags
from sklearn.base import clone
from sklearn.datasets import load_iris
from wrong_input import untyped

from gomea_bn import (
    MOGOMEA,
    DiscretizedBayesNet,
    ExpertKnowledge,
    ExpertNetwork,
    GomeaBnError,
    simulated_expert,
)
from gomea_bn.front import COMPLEXITY, EXPERT_DISTANCE, MISFIT
from gomea_bn.learning import OwnObjective, ParetoBayesNetLearner
from gomea_bn.problems.cuts import policy_library, table_shapes
from gomea_bn.simulation import random_network

QUICK: dict[str, Any] = {
    **PUBLISHED_FRONT,
    "max_evaluations": 3000,
    "random_state": 1,
    "expert_sample_size": 256,
}


@pytest.fixture(scope="module")
def fitted(mixed, expert):
    return ParetoBayesNetLearner(expert=expert, **QUICK).fit(mixed)


@pytest.mark.long
def test_the_front_describes_itself(mixed, expert, fitted):
    front = fitted.front_
    assert front.objectives == (MISFIT, COMPLEXITY, EXPERT_DISTANCE)
    assert len(front) > 20
    check_networks(fitted, mixed)
    assert front.table is fitted.table_
    assert front.expert is fitted.expert_
    shapes = {name: c.shape for name, c in table_shapes(fitted.table_).items()}
    # its variables stand in the order of the search
    assert fitted.expert_.in_order(fitted.table_.names) == expert.fitted(fitted.table_, shapes=shapes)
    assert list(fitted.feature_names_in_) == list(mixed.columns)
    assert fitted.n_features_in_ == 5
    assert (fitted.n_eval_, fitted.stopped_by_) == (3000, "max_evaluations")
    assert 0 < fitted.n_eval_full_ <= fitted.n_eval_
    assert 0 <= fitted.time_to_best_ <= fitted.fit_seconds_
    assert fitted.history_[-1].archive_size == len(front)
    assert {"families_scored", "cache_hits"} <= set(fitted.statistics_)
    network = front.knee().network
    assert network.metadata["seed"] == fitted.seed_ == 1
    assert network.metadata["data_sha256"] == front.record["data_sha256"]
    # what the data say strongly is in most networks
    frequencies = front.edge_frequency()
    assert len(frequencies) > 3
    assert any({"a", "b"} == set(edge) for edge in front.best("misfit").network.edges)


@pytest.mark.long
def test_the_distance_is_over_the_families_of_what_the_expert_mentions(fitted):
    check_distances(fitted, ("a", "b", "d"))


def test_objectives_and_limits_have_defaults(mixed, expert):
    alone = ParetoBayesNetLearner(**QUICK).fit(mixed)
    assert alone.front_.objectives == (MISFIT, COMPLEXITY)
    assert alone.expert_ is None
    assert alone.front_.expert is None
    assert alone.front_.record["parameters"]["max_complexity"] == 240
    check_networks(alone, mixed)
    # the expert still says how complex networks may be where the distance is no objective
    with_expert = ParetoBayesNetLearner(expert=expert, objectives=["complexity", "misfit"], **QUICK).fit(
        mixed
    )
    assert with_expert.front_.names == ("complexity", "misfit")
    assert with_expert.front_.record["parameters"]["max_complexity"] == 10 * with_expert.expert_.n_parameters
    check_networks(with_expert, mixed)
    few_rows = ParetoBayesNetLearner(**QUICK).fit(mixed[["a", "d"]].iloc[:10])
    # ten times the two parameters of two columns of two states each
    assert few_rows.front_.record["parameters"]["max_complexity"] == 20


@pytest.mark.sample(2)
@pytest.mark.parametrize("pseudo_count", [0.5, 2.0])
@pytest.mark.parametrize("shape", ["uniform", "marginal"])
def test_the_whole_front_of_a_small_table_is_found(mixed, pseudo_count, shape):
    frame = mixed[["a", "b", "c"]]
    learner = ParetoBayesNetLearner(
        **{**QUICK, "max_bins": 3, "pseudo_count": pseudo_count}, shape=shape
    ).fit(frame)
    shapes = (
        {name: c.shape for name, c in table_shapes(learner.table_).items()} if shape == "marginal" else {}
    )
    libraries = [policy_library(frame[name].to_numpy(), "equal-frequency", 3) for name in "ab"]
    values = []
    graphs_with_cuts: Any = product(all_dags(3), *libraries)
    for dag, *cuts in graphs_with_cuts:
        network = DiscretizedBayesNet.from_table(
            learner.table_,
            [("abc"[i], "abc"[j]) for i, j in dag],
            {name: policy.cut_points for name, policy in zip("ab", cuts)},
            pseudo_count=pseudo_count,
            shapes=shapes,
        )
        values.append((round(-network.score(frame), 10), float(network.n_parameters)))
    assert len(values) == 25 * 4
    expected = sorted({f for f in values if not any(dominates(g, f) for g in values)})
    assert len(expected) > 4
    assert [(round(a, 10), b) for a, b in learner.front_.values.tolist()] == expected


def test_the_limit_on_parameters_can_be_set(mixed, expert):
    learner = ParetoBayesNetLearner(expert=expert, max_complexity=11.5, **QUICK).fit(mixed)
    assert learner.front_.record["parameters"]["max_complexity"] == 11.5
    check_networks(learner, mixed)
    assert learner.front_.values[:, 1].max() <= 11
    with pytest.raises(
        GomeaBnError, match="at least 7, the number of free parameters without any edge and with the fewest"
    ):
        ParetoBayesNetLearner(max_complexity=6, **QUICK).fit(mixed)
    least = ParetoBayesNetLearner(max_complexity=7, **QUICK).fit(mixed)
    assert least.front_.values[:, 1].tolist() == [7.0]
    knowledge = ExpertKnowledge(required_edges=[("d", "c")])
    with pytest.raises(GomeaBnError, match="No network with at most 7 free parameters was found in 3,000"):
        ParetoBayesNetLearner(max_complexity=7, knowledge=knowledge, **QUICK).fit(mixed)


@pytest.mark.long
def test_an_objective_can_be_a_function(mixed):
    cost = {"a": 5.0, "b": 1.0, "c": 0.5, "d": 3.0, "e": 2.0}

    def price(edges, cut_points):
        assert sorted(cut_points) == ["a", "b", "e"]
        return sum(cost[parent] for parent, _ in edges) + 0.01 * sum(
            len(cuts) for cuts in cut_points.values()
        )

    objective = OwnObjective("price", price, "Price", "euros", "cheaper")
    runs = [
        ParetoBayesNetLearner(objectives=["misfit", objective], n_jobs=threads, **QUICK).fit(mixed)
        for threads in (1, 2)
    ]
    front = runs[0].front_
    assert (front.names, front.objectives[1].label) == (("misfit", "price"), "Price")
    assert front.run_hash == runs[1].front_.run_hash
    assert len(front) > 5
    check_networks(runs[0], mixed)
    for candidate in front:
        expected = price(candidate.network.edges, candidate.network.cut_points)
        assert candidate.objectives["price"] == pytest.approx(expected, rel=1e-11)
    assert front.record["parameters"]["objectives"] == ["misfit", "price"]
    # its name is its label if there is no other
    assert OwnObjective("price", price).shown.label == "price"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.inf, "The objective '.+' returned inf; it must return a finite number"),
        (np.nan, "returned nan"),
        *((answer, "'odd' must return a number, got") for answer in ("much", None, [1.0])),
    ],
)
def test_an_objective_that_is_no_finite_number_ends_the_run(mixed, value, message):
    objective = OwnObjective("odd", lambda edges, cuts: value if len(edges) > 2 else float(len(edges)))
    with pytest.raises(GomeaBnError, match=message):
        ParetoBayesNetLearner(objectives=["misfit", objective], **QUICK).fit(mixed)


def test_errors_of_an_objective_come_through(mixed):
    def broken(edges, cuts):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ParetoBayesNetLearner(objectives=["misfit", OwnObjective("broken", broken)], **QUICK).fit(mixed)


def test_the_expert_may_be_an_object_a_network_or_a_file(mixed, expert, fitted, tmp_path):
    expert.to_json(tmp_path / "expert.json")
    for source, recorded in (
        (copy.deepcopy(expert), True),
        (tmp_path / "expert.json", str(tmp_path / "expert.json")),
        (str(tmp_path / "expert.json"), str(tmp_path / "expert.json")),
    ):
        learner = ParetoBayesNetLearner(expert=source, **QUICK).fit(mixed)
        assert learner.front_.run_hash == fitted.front_.run_hash
        assert learner.front_.record["parameters"]["expert"] == recorded
    whole = ParetoBayesNetLearner(expert=fitted.expert_, **QUICK).fit(mixed)
    again = ExpertNetwork.from_network(fitted.expert_).fitted(whole.table_)
    assert whole.expert_.in_order(whole.table_.names) == again
    assert whole.front_.names == fitted.front_.names
    edges = tmp_path / "edges.csv"
    edges.write_text("parent,child\na,b\nd,a\n")
    from_edges = ParetoBayesNetLearner(expert=edges, **QUICK).fit(mixed)
    assert set(from_edges.expert_.edges) == set(expert.edges)


@pytest.mark.long
def test_a_front_next_to_a_simulated_expert():
    truth = random_network(5, random_state=3)
    frame = truth.sample(300, 3)
    learner = ParetoBayesNetLearner(expert=simulated_expert(truth, random_state=4), **QUICK).fit(frame)
    check_networks(learner, frame)
    front = learner.front_
    distances = front.values[:, 2]
    assert front.closest_to_expert().index == int(np.argmin(distances))
    # closest to the expert is nearer than best fit, and fits less well
    closest, best = front.closest_to_expert(), front.best("misfit")
    assert closest.objectives["expert_distance"] < best.objectives["expert_distance"]
    assert closest.objectives["misfit"] > best.objectives["misfit"]


@pytest.mark.parametrize(
    ("expert", "message"),
    [
        (ExpertNetwork.from_edges([("a", "bb")]), "edge 'a' -> 'bb': unknown column 'bb'. Did you mean 'b'"),
        (ExpertNetwork.from_edges([("A", "b")]), "unknown column 'A'. Did you mean 'a'"),
        ([("a", "b")], r"expert must be an ExpertNetwork, a DiscretizedBayesNet, a path or None, got \[\("),
        ("nowhere.json", "nowhere.json"),
        (ExpertNetwork.from_edges([("a", "b")], cut_points={"c": [0.5]}), "'c'"),
        (ExpertNetwork.from_edges([("a", "b")], cut_points={"a": [99.0]}), "'a'"),
    ],
)
def test_an_expert_that_does_not_fit_the_table_is_refused(mixed, expert, message):
    with pytest.raises(GomeaBnError, match=message):
        ParetoBayesNetLearner(expert=expert, **QUICK).fit(mixed)


def test_without_smoothing_an_expert_is_refused(mixed, expert):
    with pytest.raises(GomeaBnError, match="needs pseudo_count above 0"):
        ParetoBayesNetLearner(expert=expert, **{**QUICK, "pseudo_count": 0.0}).fit(mixed)
    learner = ParetoBayesNetLearner(**{**QUICK, "pseudo_count": 0.0}).fit(mixed)
    check_networks(learner, mixed)


def test_knowledge_holds_in_every_network(mixed, expert):
    knowledge = ExpertKnowledge(
        required_edges=[("e", "a")],
        forbidden_edges=[("b", "c"), ("c", "b")],
        temporal_order=[["e"], ["a", "b"]],
        max_indegree=2,
        max_table_cells=40,
    )
    learner = ParetoBayesNetLearner(expert=expert, knowledge=knowledge, **QUICK).fit(mixed)
    assert len(learner.front_) > 5
    for candidate in learner.front_:
        edges = set(candidate.network.edges)
        assert ("e", "a") in edges
        assert not edges & {("b", "c"), ("c", "b"), ("a", "e"), ("b", "e")}
        assert max(len(candidate.network.parents(name)) for name in candidate.network.names) <= 2
        assert max(table.size for table in candidate.network.tables.values()) <= 40
    json.dumps(learner.front_.record, allow_nan=False)
    sparse = ParetoBayesNetLearner(**{**QUICK, "max_indegree": 0}).fit(mixed)
    assert all(candidate.network.edges == [] for candidate in sparse.front_)


@pytest.mark.parametrize("discretizer", ["equal-frequency", "equal-width"])
def test_fixed_cuts_stay_next_to_learned_ones(mixed, discretizer):
    cuts = {"e": [500, 1500.5], "b": []}
    learner = ParetoBayesNetLearner(
        **{**QUICK, "discretizer": discretizer, "max_bins": 4}, cut_points=cuts
    ).fit(mixed)
    check_networks(learner, mixed)
    seen = set()
    for candidate in learner.front_:
        cut_points = candidate.network.cut_points
        assert cut_points["e"].tolist() == [500.0, 1500.5]
        assert cut_points["b"].tolist() == []
        seen.add(len(cut_points["a"]))
    assert len(seen) > 1
    assert max(seen) <= 3
    assert learner.front_.record["parameters"]["cut_points"] == {"e": [500.0, 1500.5], "b": []}


def test_missing_rows_are_dropped_on_request(mixed, expert, fitted):
    holes = pd.concat([mixed, mixed.iloc[:2]], ignore_index=True)
    holes.loc[240, "a"] = np.nan
    holes.loc[241, "e"] = np.inf
    before = holes.copy()
    with pytest.raises(GomeaBnError, match=r"Column 'a' .*row 240"):
        ParetoBayesNetLearner(expert=expert, missing="error", **QUICK).fit(holes)
    learner = ParetoBayesNetLearner(expert=expert, missing="drop", **QUICK).fit(holes)
    pd.testing.assert_frame_equal(holes, before)
    assert learner.front_.record["dropped_rows"] == [240, 241]
    assert learner.front_.run_hash == fitted.front_.run_hash


def test_tables_of_one_kind_have_a_front(mixed):
    discrete = pd.DataFrame({"b": mixed["b"] > 0, "c": mixed["c"], "d": mixed["d"]})
    learner = ParetoBayesNetLearner(expert=ExpertNetwork.from_edges([("d", "c")]), **QUICK).fit(discrete)
    check_networks(learner, discrete)
    assert all(candidate.network.cut_points == {} for candidate in learner.front_)
    assert {("b", "c"), ("c", "b")} & set(learner.front_.best("misfit").network.edges)
    continuous = load_iris(as_frame=True).data
    learner = ParetoBayesNetLearner(**QUICK).fit(continuous)
    check_networks(learner, continuous)
    values = mixed[["a", "b", "e"]].to_numpy()
    from_array = ParetoBayesNetLearner(**QUICK).fit(values)
    assert list(from_array.feature_names_in_) == ["x0", "x1", "x2"]
    check_networks(from_array, pd.DataFrame(values, columns=["x0", "x1", "x2"]))


def test_a_file_is_learned_like_its_frame_and_silently_off_a_terminal(mixed, expert, fitted, tmp_path, capfd):
    path = tmp_path / "rows.csv"
    mixed.to_csv(path, index=False)
    learner = ParetoBayesNetLearner(expert=expert, verbose=True, **QUICK).fit(path)
    assert capfd.readouterr() == ("", "")
    assert learner.front_.run_hash == fitted.front_.run_hash


@pytest.mark.long
def test_one_seed_gives_one_front(mixed, expert, fitted):
    again = ParetoBayesNetLearner(expert=expert, n_jobs=3, **QUICK).fit(mixed, y="ignored")
    assert again.front_.run_hash == fitted.front_.run_hash
    assert [candidate.network for candidate in again.front_] == [
        candidate.network for candidate in fitted.front_
    ]
    other = ParetoBayesNetLearner(expert=expert, **{**QUICK, "random_state": 2}).fit(mixed)
    assert other.front_.run_hash != fitted.front_.run_hash
    drawn = ParetoBayesNetLearner(**{**QUICK, "random_state": np.random.default_rng(5)}).fit(mixed)
    repeated = ParetoBayesNetLearner(**{**QUICK, "random_state": drawn.seed_}).fit(mixed)
    assert repeated.front_.run_hash == drawn.front_.run_hash


def test_the_record_is_plain_and_repeats_the_run(mixed, expert, tmp_path):
    learner = ParetoBayesNetLearner(
        "equal-width",
        expert=expert,
        knowledge=ExpertKnowledge(forbidden_edges=[("a", "b")]),
        kinds={"d": "discrete"},
        algorithm=MOGOMEA(base_population=6, archive_update="immediate"),
        max_seconds=1.5,
        patience=None,
        random_state=11,
        expert_sample_size=100,
    ).fit(mixed)
    record = learner.front_.record
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["parameters"]["discretizer"] == "equal-width"
    assert record["parameters"]["objectives"] == ["misfit", "complexity", "expert_distance"]
    assert record["parameters"]["kinds"] == {"d": "discrete"}
    assert record["algorithm"]["base_population"] == 6
    assert record["n_rows"] == 240
    assert record["counts"]["n_eval"] == learner.n_eval_
    assert record["stopped_by"] == "max_seconds"
    assert {"versions", "gomea_bn"} & set(record)
    again = clone(learner).set_params(**record["repeat"]).fit(mixed)
    assert again.front_.run_hash == learner.front_.run_hash


def test_an_interrupt_keeps_the_front(mixed, expert):
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 4:
            signal.raise_signal(signal.SIGINT)

    former = signal.getsignal(signal.SIGINT)
    learner = ParetoBayesNetLearner(
        expert=expert,
        callback=interrupt,
        max_evaluations=1_000_000,
        random_state=1,
        expert_sample_size=256,
        **PUBLISHED_FRONT,
    ).fit(mixed)
    assert signal.getsignal(signal.SIGINT) is former
    assert learner.stopped_by_ == "interrupt"
    assert learner.n_generations_ == len(seen) == 4
    assert len(learner.front_) == seen[-1].archive_size
    check_networks(learner, mixed)
    again = ParetoBayesNetLearner(expert=expert, **{**QUICK, "max_evaluations": learner.n_eval_}).fit(mixed)
    assert again.front_.run_hash == learner.front_.run_hash


@pytest.mark.long
def test_parameters_are_those_of_scikit_learn(mixed, expert):
    objective = OwnObjective("edges", lambda edges, cuts: float(len(edges)))
    learner = ParetoBayesNetLearner(
        expert=expert, objectives=["misfit", objective, "expert_distance"], **{**QUICK, "max_bins": 3}
    )
    copied = clone(learner)
    assert copied.get_params().keys() == learner.get_params().keys()
    assert copied.get_params()["expert"] == expert
    assert copied.get_params()["max_bins"] == 3
    assert not hasattr(copied, "front_")
    assert copied.fit(mixed).front_.run_hash == learner.fit(mixed).front_.run_hash
    assert repr(ParetoBayesNetLearner(max_bins=3)) == "ParetoBayesNetLearner(max_bins=3)"
    with pytest.raises(GomeaBnError, match="no parameter 'max_bin'"):
        learner.set_params(max_bin=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objectives": ["misfit"]}, "at least two different ones, got \\['misfit'\\]"),
        ({"objectives": ["misfit", "misfit"]}, "at least two different ones"),
        ({"objectives": "misfit"}, "objectives must be a list of names out of"),
        (
            {"objectives": ["misfit", "misfits"]},
            "objectives must be names out of .*got 'misfits'. Did you mean 'misfit'",
        ),
        ({"objectives": ["misfit", ["complexity"]]}, "objectives must be names out of"),
        (
            {"objectives": ["misfit", "expert_distance"]},
            "'expert_distance' needs the expert's network; pass expert=",
        ),
        (
            {"objectives": ["misfit", OwnObjective("complexity", untyped(len))]},
            "must be text other than .* got 'complexity'",
        ),
        ({"objectives": ["misfit", OwnObjective("price", untyped(3))]}, "'price' must be callable, got 3"),
        (
            {"objectives": ["misfit", OwnObjective(untyped(None), untyped(len))]},
            "must be text other than .* got None",
        ),
        (
            {"objectives": ["misfit", OwnObjective("n_edges", untyped(len))]},
            "must not have the name 'n_edges'",
        ),
        ({"max_complexity": "much"}, "max_complexity must be a finite number above 0 or None, got 'much'"),
        ({"discretizer": "mdl"}, "discretizer must be one of"),
        ({"cut_points": {"z": [0.0]}}, "unknown column 'z'"),
        ({"knowledge": "a -> b"}, "knowledge must be an ExpertKnowledge"),
        ({"algorithm": "MOGOMEA"}, "algorithm must be a MOGOMEA or None"),
        ({"callback": 3}, "callback must be a callable"),
        ({"n_jobs": 0}, "n_jobs must be .*got 0"),
        ({"random_state": -1}, "random_state must be .*got -1"),
        ({"max_seconds": None, "max_evaluations": None, "patience": None}, "Set a limit"),
    ],
)
def test_each_bad_option_is_named(mixed, options, message):
    with pytest.raises(GomeaBnError, match=message):
        ParetoBayesNetLearner(**{**QUICK, **options}).fit(mixed)


def test_a_fitted_learner_and_its_front_can_be_pickled():
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0) ** 2})
    learner = ParetoBayesNetLearner(max_evaluations=300, random_state=1).fit(frame)
    copied = pickle.loads(pickle.dumps(learner))
    assert copied.front_.run_hash == learner.front_.run_hash
    assert copied.front_.knee().network == learner.front_.knee().network


def test_without_an_expert_a_wide_table_leaves_room_for_edges():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 1))
    frame = pd.DataFrame(x + 0.1 * generator.normal(size=(30, 12)))
    learner = ParetoBayesNetLearner(max_evaluations=4000, random_state=1, **PUBLISHED_FRONT).fit(frame)
    assert learner.front_.record["parameters"]["max_complexity"] == 120
    assert learner.front_.best("misfit").network.edges
