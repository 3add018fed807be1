"""A discretizer inside the learner: rounds, libraries, limits over all rounds, repetition, refusals."""

import signal
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learning_inside import merged_library
from processor_time import at_most, work_for
from shaped_examples import shaped_table
from sklearn.base import clone

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    ParetoBayesNetLearner,
)
from gomea_bn.discretization import (
    MDLP,
    BayesianDiscretizer,
    Discretizer,
    EqualWidth,
    KMeans,
    MDLDiscretizer,
    MDLNetwork,
)
from gomea_bn.discretization.proposals import PROPOSERS, proposer, proposers
from gomea_bn.learning.cuts import RefinementSession
from gomea_bn.problems.cuts import Policy, policy_library, without_narrow_bins
from gomea_bn.simulation import random_network

QUICK: dict[str, Any] = {"max_evaluations": 6000, "random_state": 1}
EDGES = {"x": [0.21, 0.47], "y": [0.33, 0.86]}


@dataclass(eq=False, repr=False, kw_only=True)
class Known(Discretizer):
    """Proposes given cuts, whatever the data; keeps what it was asked for."""

    cuts: dict
    seen: list | None = None
    action: Callable | None = None

    def _find_cuts(self, task):
        if self.seen is not None:
            self.seen.append(task)
        if self.action is not None:
            self.action(task)
        return {v: np.array(self.cuts.get(task.table.names[v], [])) for v in task.movable}


@pytest.fixture(scope="module")
def steps():
    """Return 900 rows in which y's bin follows x's, with bins that no quantile or equal width meets."""
    rng = np.random.default_rng(5)
    x = rng.choice(3, 900, p=[0.2, 0.5, 0.3])
    y = np.where(rng.random(900) < 0.85, x, rng.integers(0, 3, 900))
    frame = pd.DataFrame()
    for name, codes in (("x", x), ("y", y)):
        edges = np.array([0.0, *EDGES[name], 1.0])
        frame[name] = edges[codes] + rng.random(900) * np.diff(edges)[codes]
    frame["c"] = np.where(y > 0, "high", "low")
    return frame


@pytest.fixture(scope="module")
def sampled():
    return random_network(5, rows="dirichlet", random_state=8).sample(500, random_state=9)


def total_score(learner, frame):
    """Return density-bic of a learned network with uniform bins, whose tables with pseudo_count 0 maximise it."""
    assert not learner.network_.shapes
    raw = DiscretizedBayesNet.from_table(
        learner.table_, learner.network_.edges, learner.network_.cut_points, pseudo_count=0.0
    )
    scale = sum(np.log(high - low) for low, high in raw.support.values())
    return raw.log_density(frame).sum() + len(frame) * scale - np.log(len(frame)) / 2 * raw.n_parameters


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PROPOSERS)
def test_every_discretizer_can_be_named(sampled, name):
    learner = BayesNetLearner(name, shape="uniform", **QUICK).fit(sampled)
    assert learner.n_eval_ == 6000
    assert learner.stopped_by_ == "max_evaluations"
    assert learner.score_ == pytest.approx(total_score(learner, sampled), abs=1e-8)
    if name not in ("equal-frequency", "equal-width"):
        assert learner.statistics_["discretizer_runs"] >= 1
        assert (
            learner.score_
            >= BayesNetLearner("equal-frequency", shape="uniform", max_evaluations=48, random_state=1)
            .fit(sampled)
            .score_
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["bayesian", "mdl"])
@pytest.mark.parametrize("shape", ["auto", "marginal"])
def test_discretizers_propose_cuts_of_columns_with_shapes(name, shape):
    table = shaped_table(300)
    learner = BayesNetLearner(name, shape=shape, **QUICK).fit(table)
    assert learner.statistics_["discretizer_runs"] >= 1
    assert learner.statistics_["policies_entered"] > 0
    network = learner.network_
    assert len(network.edges) > 0
    assert "rain" in network.shapes
    # the score by the session of a refinement, which knows nothing of rounds
    session = RefinementSession(network, table, "density-bic", "bic", None)
    assert learner.score_ == pytest.approx(session.score(session.network_cuts), abs=1e-7)
    objectives = [entry.objective for entry in learner.history_]
    assert objectives == sorted(set(objectives), reverse=True)
    alone = BayesNetLearner("equal-frequency", shape=shape, max_evaluations=40, random_state=1).fit(table)
    assert learner.score_ >= alone.score_


def test_cuts_that_score_best_are_in_the_network(steps):
    learner = BayesNetLearner(Known(cuts=EDGES), **QUICK).fit(steps)
    assert {name: cuts.tolist() for name, cuts in learner.network_.cut_points.items()} == EDGES
    alone = BayesNetLearner("equal-frequency", **QUICK).fit(steps)
    assert learner.score_ > alone.score_ + 20
    assert learner.statistics_["policies_entered"] == 2
    assert learner.statistics_["rounds"] == 2


def test_cuts_that_score_worse_are_not(steps):
    learner = BayesNetLearner(Known(cuts={"x": [0.999], "y": [0.001]}), max_seconds=None, random_state=1).fit(
        steps
    )
    assert learner.stopped_by_ == "done"
    assert learner.statistics_["policies_entered"] == 2
    assert not {0.999, 0.001} & {cut for cuts in learner.network_.cut_points.values() for cut in cuts}
    objectives = [entry.objective for entry in learner.history_]
    assert objectives == sorted(set(objectives), reverse=True)


def test_the_search_begins_as_with_equal_frequency(sampled):
    reports = []
    learner = BayesNetLearner("bayesian", callback=reports.append, **QUICK).fit(sampled)
    alone = BayesNetLearner("equal-frequency", **QUICK).fit(sampled)
    n_eval = max(r.n_eval for r in reports if "policies_entered" not in r.statistics)
    assert 0 < n_eval < 1000
    first, same = (
        [(e.n_eval, e.objective) for e in learner_run.history_ if e.n_eval <= n_eval]
        for learner_run in (learner, alone)
    )
    assert first == same != []


def test_the_discretizer_sees_the_best_network_so_far(steps):
    seen = []
    learner = BayesNetLearner(Known(cuts=EDGES, seen=seen), max_seconds=None, random_state=1).fit(steps)
    assert len(seen) == learner.statistics_["discretizer_runs"] > 1
    requests = [(task.graph.parents, tuple(map(tuple, task.known_cuts.values()))) for task in seen]
    assert len(set(requests)) == len(requests)
    # a discretizer has the columns in the order of the search
    names = seen[-1].table.names
    final = learner.network_.in_order(names)
    assert seen[-1].graph.parents == tuple(
        tuple(names.index(parent) for parent in final.parents(name)) for name in names
    )
    assert [seen[-1].known_cuts[names.index(name)].tolist() for name in "xy"] == [EDGES["x"], EDGES["y"]]


def test_a_discretizer_that_looks_at_no_graph_is_asked_once(sampled):
    learner = BayesNetLearner(EqualWidth(n_bins=3), **QUICK).fit(sampled)
    assert learner.statistics_["discretizer_runs"] == 1
    assert learner.statistics_["rounds"] == 2


def test_density_bd_charges_the_chosen_cuts(steps):
    expected = [("x", "y"), ("y", "c")]
    others = [(a, b) for a in steps for b in steps if a != b and (a, b) not in expected]
    rules = ExpertKnowledge(required_edges=expected, forbidden_edges=others)
    options = {"knowledge": rules, "scoring_method": "density-bd", **QUICK}
    fitted = BayesNetLearner(Known(cuts=EDGES), **options).fit(steps)
    fixed = BayesNetLearner(cut_points=EDGES, curves="none", **options).fit(steps)
    assert fitted.network_.edges == fixed.network_.edges == expected
    price = sum(2 * 0.5 * np.log(steps[name].nunique() - 1) for name in EDGES)
    assert fixed.score_ - fitted.score_ == pytest.approx(price, abs=1e-8)


def test_counts_and_history_run_over_all_rounds(sampled):
    reports = []
    learner = BayesNetLearner("bayesian", max_seconds=None, random_state=2, callback=reports.append).fit(
        sampled
    )
    assert learner.stopped_by_ == "done"
    assert learner.statistics_["rounds"] > 1
    for name in ("n_eval", "n_generations", "seconds"):
        values = [getattr(report, name) for report in reports]
        assert values == sorted(values)
    assert reports[-1].n_eval == learner.n_eval_
    assert reports[-1].n_generations == learner.n_generations_
    assert reports[-1].best == learner.history_[-1].objective == -learner.score_
    assert [r.best for r in reports] == sorted((r.best for r in reports), reverse=True)
    for name in ("n_eval", "seconds"):
        values = [getattr(entry, name) for entry in learner.history_]
        assert values == sorted(values)
    objectives = [entry.objective for entry in learner.history_]
    assert objectives == sorted(set(objectives), reverse=True)
    assert learner.time_to_best_ == learner.history_[-1].seconds <= learner.fit_seconds_
    assert 0 < learner.n_eval_full_ <= learner.n_eval_


@pytest.mark.sample(2)
@pytest.mark.parametrize("limit", [1, 47, 48, 49, 200, 1500])
def test_the_evaluation_limit_is_exact_in_any_round(sampled, limit):
    learner = BayesNetLearner("bayesian", shape="uniform", max_evaluations=limit, random_state=3).fit(sampled)
    assert learner.n_eval_ == limit
    assert learner.score_ == pytest.approx(total_score(learner, sampled), abs=1e-8)


def test_the_generation_limit_counts_over_rounds(sampled):
    learner = BayesNetLearner(
        "bayesian", max_seconds=None, max_generations=30, patience=None, random_state=3
    ).fit(sampled)
    assert learner.stopped_by_ == "max_generations"
    assert learner.n_generations_ == 30
    assert learner.statistics_["rounds"] > 1


def test_one_seed_gives_one_network_at_any_number_of_threads(sampled):
    runs = [
        BayesNetLearner("bayesian", max_evaluations=40_000, random_state=4, n_jobs=n).fit(sampled)
        for n in (1, 2, 3)
    ]
    for run in runs[1:]:
        assert run.network_ == runs[0].network_
        assert run.statistics_["rounds"] == runs[0].statistics_["rounds"] > 1
        assert [(e.n_eval, e.objective) for e in run.history_] == [
            (e.n_eval, e.objective) for e in runs[0].history_
        ]


def test_a_run_that_a_clock_ended_repeats_from_its_evaluations(sampled):
    timed = BayesNetLearner("bayesian", max_seconds=0.3, patience=None, random_state=5).fit(sampled)
    assert timed.stopped_by_ == "max_seconds"
    again = BayesNetLearner(
        "bayesian", max_seconds=None, patience=None, max_evaluations=timed.n_eval_, random_state=timed.seed_
    ).fit(sampled)
    # the clock may also cut short what follows the search
    assert again.network_.edges == timed.network_.edges
    for name, cuts in timed.network_.cut_points.items():
        np.testing.assert_array_equal(again.network_.cut_points[name], cuts)
    assert again.score_ == timed.score_


def wait_for_the_clock(task):
    while not task.expired:
        work_for(0.001)


def test_what_a_discretizer_has_when_the_clock_ends_it_counts(steps):
    slow = Known(cuts=EDGES, action=wait_for_the_clock)
    with pytest.warns(UserWarning, match=r"The time limit ended the discretizer in ([12]) of \1 runs"):
        learner = BayesNetLearner(slow, max_seconds=1.5, patience=None, random_state=1).fit(steps)
    assert learner.stopped_by_ == "max_seconds"
    assert {name: cuts.tolist() for name, cuts in learner.network_.cut_points.items()} == EDGES
    counts = {name: learner.statistics_[f"discretizer_{name}"] for name in ("runs", "cut_short")}
    assert counts["runs"] == counts["cut_short"] >= 1
    assert learner.score_ == pytest.approx(total_score(learner, steps), abs=1e-8)


@pytest.mark.long
def test_a_slow_discretizer_leaves_the_search_most_of_the_time(steps):
    waits = []

    def wait(task):
        began = perf_counter()
        wait_for_the_clock(task)
        waits.append(perf_counter() - began)

    slow = Known(cuts=EDGES, action=wait)
    with pytest.warns(UserWarning, match="another network"):
        learner = BayesNetLearner(slow, max_seconds=1.5, patience=None, random_state=1).fit(steps)
    assert learner.stopped_by_ == "max_seconds"
    assert 1 <= len(waits) <= 3
    # a third of the time, then a third of what is left after as much time for the search
    assert sum(waits) < 0.6 * learner.fit_seconds_
    assert learner.n_eval_ > 1000


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["latent", "mgcd"])
def test_slow_methods_propose_within_the_time(name):
    rng = np.random.default_rng(0)
    walk = rng.normal(size=(20_000, 8)).cumsum(axis=1)
    frame = pd.DataFrame(walk, columns=list("abcdefgh"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BayesNetLearner(name, max_evaluations=50, random_state=0).fit(frame.head(100))  # compiles
        with at_most(6):
            learner = BayesNetLearner(name, density="bins", max_seconds=3.0, random_state=0, n_jobs=1).fit(
                frame
            )
    assert learner.statistics_["policies_entered"] > 0


def test_k_means_enters_with_every_number_of_bins(steps):
    learner = BayesNetLearner("k-means", max_bins=6, **QUICK).fit(steps)
    assert learner.statistics_["policies_entered"] == 2 * 5
    with_object = BayesNetLearner(KMeans(n_bins=4), max_bins=6, **QUICK).fit(steps)
    assert with_object.statistics_["policies_entered"] == 2
    numbers = [method.get_params()["n_bins"] for method in proposers("k-means", max_bins=4, random_state=3)]
    assert numbers == [2, 3, 4]
    (method,) = proposers(KMeans(n_bins=9), max_bins=4)
    assert method.get_params()["n_bins"] == 9


def test_a_limit_of_the_discretizer_itself_ends_only_its_own_run(steps):
    slow = Known(cuts=EDGES, action=wait_for_the_clock, max_seconds=0.05)
    learner = BayesNetLearner(slow, max_evaluations=2000, random_state=1).fit(steps)
    assert learner.stopped_by_ == "max_evaluations"
    assert learner.statistics_["policies_entered"] == 2


def test_an_interrupt_of_the_discretizer_keeps_the_best_so_far(steps):
    former = signal.getsignal(signal.SIGINT)
    interrupting = Known(cuts=EDGES, action=lambda task: signal.raise_signal(signal.SIGINT))
    learner = BayesNetLearner(interrupting, shape="uniform", **QUICK).fit(steps)
    assert learner.stopped_by_ == "interrupt"
    assert learner.statistics_["policies_entered"] == 0
    assert learner.score_ == pytest.approx(total_score(learner, steps), abs=1e-8)
    assert signal.getsignal(signal.SIGINT) is former


def test_an_interrupt_or_a_callback_in_a_later_round_ends_the_run(steps):
    def interrupt(progress):
        if "policies_entered" in progress.statistics:
            signal.raise_signal(signal.SIGINT)

    for reason, callback in (
        ("interrupt", interrupt),
        ("callback", lambda p: "policies_entered" in p.statistics),
    ):
        learner = BayesNetLearner(Known(cuts=EDGES), callback=callback, **QUICK).fit(steps)
        assert learner.stopped_by_ == reason
        assert learner.statistics_["rounds"] == 2
        assert learner.n_eval_ < 6000


def test_cuts_that_the_user_fixed_stay_fixed(steps):
    seen = []
    learner = BayesNetLearner(Known(cuts=EDGES, seen=seen), cut_points={"x": [0.5]}, **QUICK).fit(steps)
    assert learner.network_.cut_points["x"].tolist() == [0.5]
    assert learner.network_.cut_points["y"].tolist() == EDGES["y"]
    for task in seen:
        places = {name: v for v, name in enumerate(task.table.names)}
        assert task.movable == (places["y"],)
        assert task.known_cuts[places["x"]].tolist() == [0.5]
    both = BayesNetLearner("bayesian", cut_points=EDGES, **QUICK).fit(steps)
    assert both.network_ == BayesNetLearner("equal-frequency", cut_points=EDGES, **QUICK).fit(steps).network_
    assert both.statistics_["discretizer_runs"] == 0


def test_a_table_without_continuous_columns_is_learned_as_ever(steps):
    frame = pd.DataFrame({"c": steps["c"], "d": np.digitize(steps["y"], EDGES["y"]).astype(str)})
    learner = BayesNetLearner("bayesian", scoring_method="bic", **QUICK).fit(frame)
    plain = BayesNetLearner(scoring_method="bic", **QUICK).fit(frame)
    assert learner.network_ == plain.network_
    assert learner.statistics_["rounds"] == 1


def test_a_single_discrete_column_ends_the_search():
    frame = pd.DataFrame({"level": ["a", "b"] * 10})
    learner = BayesNetLearner("k-means", max_evaluations=20, max_seconds=None, random_state=1).fit(frame)
    assert (learner.n_eval_, learner.network_.edges) == (20, [])


def test_more_bins_than_max_bins_are_left_out_with_a_warning(steps):
    for n_bins in (5, 9):
        many = Known(cuts={"x": np.linspace(0.1, 0.9, n_bins - 1).tolist(), "y": EDGES["y"]})
        with pytest.warns(UserWarning, match=f"cut 'x' into {n_bins} bins, more than the limit of 4"):
            learner = BayesNetLearner(many, max_bins=4, **QUICK).fit(steps)
        assert max(map(len, learner.network_.cut_points.values())) <= 3
        assert learner.network_.cut_points["y"].tolist() == EDGES["y"]


def test_knowledge_holds_for_proposed_cuts(steps):
    fine = Known(cuts={name: np.linspace(0.05, 0.95, 13).tolist() for name in EDGES})
    rules = ExpertKnowledge(required_edges=[("c", "x")], forbidden_edges=[("x", "y")], max_table_cells=20)
    learner = BayesNetLearner(fine, knowledge=rules, **QUICK).fit(steps)
    assert ("c", "x") in learner.network_.edges
    assert ("x", "y") not in learner.network_.edges
    assert max(table.size for table in learner.network_.tables.values()) <= 20


def test_an_empty_graph_does_not_warn(steps):
    forbidden = [(a, b) for a in steps for b in steps if a != b]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner = BayesNetLearner(
            "mdl", knowledge=ExpertKnowledge(forbidden_edges=forbidden), max_evaluations=500, random_state=1
        ).fit(steps)
    assert learner.network_.edges == []


def test_parameters_and_clones(steps):
    discretizer = BayesianDiscretizer(max_cycles=3)
    learner = BayesNetLearner(discretizer, **QUICK)
    assert learner.get_params()["discretizer"] is discretizer
    copy = clone(learner)
    assert copy.discretizer is not discretizer
    assert copy.discretizer.get_params() == discretizer.get_params()
    learner.fit(steps)
    assert not hasattr(discretizer, "cut_points_")
    assert discretizer.max_seconds is None
    assert copy.fit(steps).network_ == learner.network_


def test_options_of_the_learner_reach_the_discretizer():
    assert proposer("mdl", max_bins=7).get_params()["max_bins"] == 7
    assert proposer(MDLDiscretizer(max_bins=9), max_bins=7).get_params()["max_bins"] == 9
    assert proposer(KMeans(random_state=None), random_state=5).get_params()["random_state"] == 5
    assert proposer(KMeans(random_state=3), random_state=5).get_params()["random_state"] == 3


@pytest.mark.parametrize(
    ("discretizer", "message"),
    [
        ("baysian", "discretizer must be one of .* got 'baysian'. Did you mean 'bayesian'"),
        ("mdlp", "needs classes"),
        (MDLP(), "needs classes"),
        (MDLNetwork(), "MDLNetwork learns a graph of its own"),
        (MDLDiscretizer(aggregate_levels="ordered"), "aggregate_levels"),
        (BayesianDiscretizer(max_cycles=0), "max_cycles must be"),
        (BayesianDiscretizer, "must be one of"),
        (None, "must be one of"),
        ({"bayesian": 1}, "must be one of"),
    ],
)
def test_what_cannot_propose_is_refused(steps, discretizer, message):
    with pytest.raises(GomeaBnError, match=message):
        BayesNetLearner(discretizer, **QUICK).fit(steps)


@pytest.mark.parametrize("discretizer", ["bayesian", BayesianDiscretizer(), ["equal-width"]])
def test_a_front_takes_no_other_discretizer(steps, discretizer):
    with pytest.raises(GomeaBnError, match=r"'equal-width', 'optimal' for a front"):
        ParetoBayesNetLearner(discretizer, max_evaluations=100).fit(steps)


def test_libraries_merge_equal_cuts_and_stay_in_order():
    values = np.random.default_rng(0).normal(size=100)
    library = policy_library(values, "equal-frequency", 6)
    merged = merged_library(library, [library[2].cut_points.copy(), np.array([0.1, 0.2]), np.empty(0)])
    assert len(merged) == len(library) + 2
    counts = [policy.n_bins for policy in merged]
    assert counts == sorted(counts)
    assert counts[0] == 1
    fixed = Policy(np.array([0.5]), chosen=False)
    assert merged_library([fixed], [np.array([0.5])]) == (fixed,)


@settings(max_examples=200)
@given(st.lists(st.floats(0.001, 0.999), max_size=30, unique=True), st.floats(0, 0.5))
def test_no_bin_is_narrower_than_the_floor(cuts, floor):
    given_cuts = np.sort(np.array(cuts, float))
    wide_cuts = without_narrow_bins(given_cuts, (0.0, 1.0), floor)
    assert set(wide_cuts.tolist()) <= set(given_cuts.tolist())
    widths = np.diff(np.concatenate(([0.0], wide_cuts, [1.0])))
    assert (widths >= floor).all()
    if (np.diff(np.concatenate(([0.0], given_cuts, [1.0]))) >= floor).all():
        assert wide_cuts.tolist() == given_cuts.tolist()
