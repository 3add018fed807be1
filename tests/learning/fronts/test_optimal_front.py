"""Fronts with optimal cuts: objectives of their networks, repetition, limits, errors of one's own objectives."""

import numpy as np
import pandas as pd
import pytest
from front_checks import PUBLISHED_FRONT, check_distances, check_networks
from learning_inside import front_problem, of_problems
from pricing_examples import keeps_limits

from gomea_bn import MOGOMEA, read_table
from gomea_bn.algorithms.optimisation import evaluate_genotypes
from gomea_bn.learning import OwnObjective, ParetoBayesNetLearner
from gomea_bn.problems import FamilyScorer
from gomea_bn.problems.cuts import CutColumn, CutLimits, CutProblem, Neighbourhood, policy_library


def quick(n_evaluations=2500, **options):
    defaults = {"max_seconds": None, "max_evaluations": n_evaluations, "random_state": 1}
    published = {**PUBLISHED_FRONT, "discretizer": "optimal"}
    return ParetoBayesNetLearner(**{"expert_sample_size": 256, **published, **defaults, **options})


@pytest.fixture(scope="module")
def mixed():
    """Return 200 rows of a chain a -> b -> c with levels, an integer column and a heavy tail."""
    rng = np.random.default_rng(7)
    a = np.where(rng.random(200) < 0.3, rng.uniform(-3, -2, 200), rng.uniform(0, 1, 200))
    frame = pd.DataFrame({"a": a, "b": a + rng.normal(scale=0.2, size=200)})
    frame["c"] = np.where(frame["b"] > 0, "high", "low")
    frame["d"] = rng.integers(0, 4, 200)
    frame["e"] = np.exp(2 * rng.normal(size=200)) * 1000
    return frame


@pytest.fixture(scope="module")
def fitted(mixed, expert):
    return quick(expert=expert).fit(mixed)


def first_cuts(frame):
    """Return all cuts of equal frequency, which the search starts from."""
    libraries = [policy_library(frame[name].to_numpy(), "equal-frequency", 9) for name in "abe"]
    return {tuple(policy.cut_points.tolist()) for library in libraries for policy in library}


def n_priced(learner, frame):
    """Return how many networks of a front have cuts that were priced."""
    first = first_cuts(frame)
    cuts = [candidate.network.cut_points.values() for candidate in learner.front_]
    return sum(
        any(tuple(column_cuts.tolist()) not in first for column_cuts in network_cuts) for network_cuts in cuts
    )


def test_objectives_are_those_of_the_networks(mixed, expert, fitted):
    check_networks(fitted, mixed)
    front = fitted.front_
    assert len(front) > 20
    assert n_priced(fitted, mixed) > len(front) // 4
    assert fitted.statistics_["variables_priced"] > 5
    check_distances(fitted, ("a", "b", "d"))


@pytest.mark.long
def test_places_that_were_reused_keep_objectives_right(mixed, expert, monkeypatch):
    """With room for ten policies they come and go; what is stored must stay what the networks have."""
    left = []
    leave = FamilyScorer.leave

    def noted(scorer, *slot):
        left.append(slot)
        return leave(scorer, *slot)

    monkeypatch.setattr(FamilyScorer, "leave", noted)
    monkeypatch.setattr(of_problems, "library_capacity", lambda n_columns, n_rows: 10)
    learner = quick(8000, expert=expert, algorithm=MOGOMEA(archive_size=20)).fit(mixed)
    assert len(left) > 3
    check_networks(learner, mixed)
    check_distances(learner, ("a", "b", "d"))


@pytest.mark.sample(1)
@pytest.mark.parametrize("archive_update", ["generation", "immediate"])
def test_one_seed_gives_one_front_at_any_number_of_threads(mixed, expert, archive_update):
    algorithm = MOGOMEA(archive_update=archive_update)
    runs = [quick(expert=expert, n_jobs=n, algorithm=algorithm).fit(mixed) for n in (1, 2, 3)]
    assert {run.front_.run_hash for run in runs} == {runs[0].front_.run_hash}
    assert [candidate.network for candidate in runs[0].front_] == [
        candidate.network for candidate in runs[1].front_
    ]
    assert runs[0].statistics_["variables_priced"] == runs[1].statistics_["variables_priced"]
    check_networks(runs[0], mixed)


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_front_that_a_clock_ended_is_repeated_by_its_evaluations(mixed, expert, seconds):
    timed = quick(None, max_seconds=seconds, n_jobs=2, expert=expert).fit(mixed)
    assert timed.stopped_by_ == "max_seconds"
    again = quick(timed.n_eval_, expert=expert).fit(mixed)
    assert again.front_.run_hash == timed.front_.run_hash
    assert again.n_eval_ == timed.n_eval_


@pytest.mark.sample(1)
@pytest.mark.parametrize("archive_update", ["generation", "immediate"])
def test_history_counts_what_refinement_adds(mixed, archive_update):
    """Wherever the evaluations end, the last entry describes the front: also right after refinement."""
    for n_evaluations in [*range(4, 20), *range(180, 192)]:
        algorithm = MOGOMEA(archive_update=archive_update)
        learner = quick(n_evaluations, algorithm=algorithm, max_complexity=5000).fit(mixed)
        assert learner.n_eval_ == n_evaluations
        last = learner.history_[-1]
        assert last.archive_size == len(learner.front_)
        assert last.ideal == tuple(learner.front_.values.min(axis=0).tolist())
        assert last.n_eval <= n_evaluations
        check_networks(learner, mixed)


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    "limits", [{}, {"min_width": 0.08}, {"min_bin_count": 20}, {"max_bins": 3, "min_width": 0.3}]
)
@pytest.mark.parametrize("shape", ["uniform", "marginal"])
def test_cuts_keep_their_limits(mixed, limits, shape):
    # bins with a shape have no least width
    least_width = limits.get("min_width", 1e-3) if shape == "uniform" else 0.0
    cut_limits = CutLimits(1, limits.get("max_bins", 9), least_width, limits.get("min_bin_count", 1))
    learner = quick(1500, shape=shape, **limits).fit(mixed)
    n_cuts = 0
    for candidate in learner.front_:
        for name, cuts in candidate.network.cut_points.items():
            assert keeps_limits(mixed[name].to_numpy(), cuts, cut_limits), name
            n_cuts += len(cuts)
    assert n_cuts > 0


@pytest.mark.long
def test_error_of_ones_own_objective_comes_through_from_refinement(mixed):
    """The objective fails for priced cuts alone, so that the first failure is a refined solution's."""
    initial_cuts = first_cuts(mixed)

    def picky(edges, cut_points):
        if any(tuple(cuts.tolist()) not in initial_cuts for cuts in cut_points.values()):
            raised.append(edges)
            raise LookupError("priced")
        return float(len(edges))

    objective = OwnObjective("picky", picky)
    n_failed = 0
    raised = []
    for n_evaluations in range(2, 30):
        try:
            learner = quick(n_evaluations, objectives=["misfit", objective], min_width=0.0).fit(mixed)
        except LookupError:
            n_failed += 1
            raised.clear()
            continue
        assert raised == []
        assert np.isfinite(learner.front_.values).all()
        assert not n_priced(learner, mixed)
    assert n_failed > 10


def test_tables_without_continuous_columns_price_nothing(mixed):
    discrete = pd.DataFrame({"b": mixed["b"] > 0, "c": mixed["c"], "d": mixed["d"]})
    learner = quick(500).fit(discrete)
    check_networks(learner, discrete)
    assert "variables_priced" not in learner.statistics_


def test_optimal_front_is_not_behind_where_grids_miss_the_gap(mixed):
    """Two groups with a gap between: priced cuts fit better with as many parameters."""
    learner = quick(5000).fit(mixed)
    on_grid = ParetoBayesNetLearner(
        **PUBLISHED_FRONT, max_evaluations=5000, max_seconds=None, random_state=1
    ).fit(mixed)
    for most in (10, 20, 40):
        ours, theirs = (
            run.front_.values[run.front_.values[:, 1] <= most, 0].min() for run in (learner, on_grid)
        )
        assert ours < theirs - 0.05


def test_networks_and_own_objectives_have_no_edges_of_variables_with_one_bin():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    seen = []

    def n_edges(edges, cut_points):
        seen.extend(edge for edge in edges if any(not len(cut_points[name]) for name in edge))
        return float(len(edges))

    options = {"min_bin_count": 10, "initial_indegree": 2}
    with_objective = quick(
        1500, objectives=["misfit", "complexity", OwnObjective("edges", n_edges)], **options
    ).fit(frame)
    assert not seen
    single = 0
    for front in (with_objective.front_, quick(1500, **options).fit(frame).front_):
        for candidate in front:
            bins = [candidate.network.cardinality(name) for edge in candidate.network.edges for name in edge]
            assert all(n > 1 for n in bins)
            single += any(candidate.network.cardinality(name) == 1 for name in "abcd")
    assert single
    for candidate in with_objective.front_:
        assert candidate.objectives["edges"] == len(candidate.network.edges)


def test_fine_and_coarse_cuts_are_priced():
    """At a low price a column gets more bins than at a high one, so that a front has networks of both kinds."""
    frame = pd.DataFrame({"x": np.random.default_rng(0).normal(size=480)})
    learner = quick(600, max_bins=15)
    problem = front_problem(learner, read_table(frame), ["misfit", "complexity"], None, seed=0)
    assert [score.weight for score in problem.pricing.scores] == pytest.approx(
        [share * np.log(480) / 2 for share in (0.2, 0.5, 1, 2, 4)]
    )
    column = CutColumn.of_values(frame["x"].to_numpy())
    limits = problem.pricing.limits
    optima = [
        CutProblem.of_rows(column, Neighbourhood(), score).optimal(limits) for score in problem.pricing.scores
    ]
    n_bins = [len(best.cut_points) + 1 for best in optima]
    assert n_bins == sorted(n_bins, reverse=True)
    assert n_bins[0] > n_bins[-1]
    front = learner.fit(frame).front_
    assert {candidate.network.cardinality("x") for candidate in front} >= {n_bins[0], n_bins[-1]}


@pytest.mark.filterwarnings("ignore:1 column of the table is constant")
@pytest.mark.parametrize(("n_rows", "factor"), [(75, 1.0), (150, 0.25)])
def test_choices_cost_more_with_few_rows(n_rows, factor):
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    frame["constant"] = "same"
    cuts = np.array([-0.3, 0.4])
    misfits = []
    for cut_cost in (0.5, 0.0):
        learner = ParetoBayesNetLearner(cut_cost=cut_cost, shape="uniform")
        problem = front_problem(learner, read_table(frame), ["misfit", "complexity"], None, 1)
        assert problem.scorer.rule.edge_cost == pytest.approx(2 * cut_cost * factor * np.log(3))
        policies = [problem.enter_between_runs(0, cuts, ()), 0, 0, 0, 0]
        misfits.append(evaluate_genotypes(problem, [problem.genotype([], policies)])[0][0, 0])
    of_a_cut = 0.5 * (1 + factor) * np.log(n_rows - 1)
    # the first policy of each of the other three columns has one cut
    assert misfits[0] - misfits[1] == pytest.approx((len(cuts) + 3) * of_a_cut / n_rows)
