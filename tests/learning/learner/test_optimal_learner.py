"""The learner with optimal cuts, its default: repetition, limits, scores, knowledge, small and odd tables."""

import json
import math
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from learning_inside import of_problems
from oracles import slow_violations
from pricing_examples import all_cuts, keeps_limits, slow_network_score, table_variables
from pricing_examples import slow_learner_score as slow_score
from processor_time import at_most
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from gomea_bn import (
    GOMEA,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    refine_boundaries,
)
from gomea_bn.cli import app as cli
from gomea_bn.problems.cuts import CutLimits
from gomea_bn.runtime.fit_clock import BEFORE_SEARCH
from gomea_bn.simulation import random_network


def quick(n_evaluations=2500, **options):
    """Return a learner of tables that ends by its evaluations alone."""
    limits = {"max_evaluations": n_evaluations, "max_seconds": None, "patience": None}
    defaults = {"curves": "none", "random_state": 1, **limits}
    return BayesNetLearner(**{**defaults, **options})


def same(learner, other):
    """Return whether two learners found the same network."""
    a, b = learner.network_, other.network_
    cuts = {name: values.tolist() for name, values in a.cut_points.items()}
    return (
        a.edges == b.edges
        and cuts == {name: values.tolist() for name, values in b.cut_points.items()}
        and learner.score_ == other.score_
    )


@pytest.fixture(scope="module")
def rows():
    """Return 400 rows: four continuous columns, one of them rounded, and two of levels."""
    frame = random_network(5, random_state=5).sample(400, 5)
    names = list(frame.columns)
    frame[names[1]] = frame[names[1]].round(1)
    frame["level"] = np.where(frame[names[0]] > frame[names[0]].median(), "high", "low")
    return frame


@pytest.fixture(scope="module")
def fitted(rows):
    return quick().fit(rows)


def test_optimal_cuts_by_marginal_likelihood_are_the_default(rows, fitted):
    assert (BayesNetLearner().discretizer, fitted.network_.metadata["scoring_method"]) == (
        "optimal",
        "density-bd",
    )
    assert fitted.score_ == pytest.approx(slow_score(fitted), abs=1e-7)
    assert fitted.statistics_["variables_priced"] > 5
    assert fitted.statistics_["policies_entered"] > 0
    objectives = [entry.objective for entry in fitted.history_]
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] == -fitted.score_
    assert [entry.n_eval for entry in fitted.history_] == sorted(entry.n_eval for entry in fitted.history_)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("method", "cut_cost"), [("density-bd", 0.0), ("density-bd", 3.0), ("density-bic", 0.5)]
)
def test_score_is_that_of_the_network_counted_again(rows, method, cut_cost):
    learner = quick(scoring_method=method, cut_cost=cut_cost).fit(rows)
    assert learner.score_ == pytest.approx(slow_score(learner, method, cut_cost), abs=1e-7)


@pytest.mark.long
def test_costlier_cuts_are_fewer(rows):
    sizes = [
        sum(map(len, quick(cut_cost=cost).fit(rows).network_.cut_points.values())) for cost in (0, 0.5, 6)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[2]


@pytest.mark.sample(1)
@pytest.mark.parametrize("seed", range(4))
def test_optimal_cuts_score_at_least_as_much_as_equal_frequency(seed):
    frame = random_network(6, random_state=seed).sample(500, seed)
    optimal = quick(6000).fit(frame)
    equal_frequency = quick(6000, discretizer="equal-frequency", scoring_method="density-bd").fit(frame)
    assert optimal.score_ >= equal_frequency.score_
    assert equal_frequency.score_ == pytest.approx(slow_score(equal_frequency), abs=1e-7)


def test_no_single_variable_can_be_cut_better_at_the_end(rows):
    """The best network was refined until pricing found nothing more."""
    names = [name for name in rows if rows[name].dtype == float]
    frame = rows.iloc[:80][[*names[:3], "level"]]
    frame = frame.assign(**{name: (frame[name].rank(pct=True) * 6).round() for name in names[:3]})
    # no bound on the density of repeated values
    learner = quick(4000, shape="uniform", kinds=dict.fromkeys(names[:3], "continuous")).fit(frame)
    cut_points = learner.network_.cut_points
    assert sorted(cut_points) == sorted(names[:3])
    variables, position = table_variables(learner.table_), {name: i for i, name in enumerate(frame)}
    edges = [(position[a], position[b]) for a, b in learner.network_.edges]
    for name in names[:3]:
        for cuts in all_cuts(frame[name].to_numpy(), CutLimits()):
            tried = [cut_points.get(other, np.empty(0)) if other != name else cuts for other in frame]
            assert slow_network_score(variables, edges, tried, edge_cost=1.0) <= learner.score_ + 1e-7


@pytest.mark.parametrize("refine", ["sample", "best", "doubling"])
def test_one_seed_gives_one_network_at_any_number_of_threads(rows, refine):
    runs = [quick(n_jobs=n, algorithm=GOMEA(refine=refine)).fit(rows) for n in (1, 2, 3)]
    assert same(runs[0], runs[1])
    assert same(runs[0], runs[2])
    assert [run.n_generations_ for run in runs] == [runs[0].n_generations_] * 3
    assert runs[0].statistics_["variables_priced"] == runs[1].statistics_["variables_priced"] > 0


@pytest.mark.sample(2)
@pytest.mark.parametrize("n_evaluations", [1, 2, 3, 30, 61, 62, 63, 64, 500, 1999])
def test_evaluation_budget_is_exact(rows, n_evaluations):
    learner = quick(n_evaluations, n_jobs=2).fit(rows)
    assert (learner.n_eval_, learner.stopped_by_) == (n_evaluations, "max_evaluations")
    assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-7)
    assert same(learner, quick(n_evaluations).fit(rows))


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("seconds", "curves", "refine"),
    [(0.1, "none", "sample"), (0.1, "auto", "sample"), (0.3, "none", "best")],
)
def test_run_that_a_clock_ended_is_repeated_by_its_evaluations(rows, seconds, curves, refine):
    wide = pd.concat(
        [rows, rows.sample(frac=1, random_state=0).add_suffix("_").reset_index(drop=True)], axis=1
    )
    options = {"algorithm": GOMEA(refine=refine), "curves": curves, "random_state": 7}
    timed = quick(None, max_seconds=seconds, n_jobs=2, **options).fit(wide)
    assert timed.stopped_by_ == "max_seconds"
    # another preparation is another search
    if {*BEFORE_SEARCH} & {*timed.network_.metadata.get("cut_short", [])}:
        pytest.skip("the machine is too slow for the limit")
    # what follows the search may be cut short as well
    of_search = [(entry.n_eval, entry.objective) for entry in timed.history_]
    for n_jobs in (1, 2):
        again = quick(timed.n_eval_, n_jobs=n_jobs, **options).fit(wide)
        assert [(entry.n_eval, entry.objective) for entry in again.history_] == of_search
        assert same(timed, again) or "cut_short" in timed.network_.metadata


@pytest.mark.long
def test_libraries_without_room_exchange_what_no_solution_uses(rows, monkeypatch):
    """The first library fills all places, so that every new policy takes the place of another."""
    monkeypatch.setattr(of_problems, "library_capacity", lambda n_columns, n_rows: 2)
    runs = [quick(4000, n_jobs=n).fit(rows) for n in (1, 2)]
    assert same(*runs)
    assert runs[0].statistics_["policies_entered"] > 1
    assert runs[0].score_ == pytest.approx(slow_score(runs[0]), abs=1e-7)


def test_interrupt_keeps_a_network(rows):
    seen = []

    def interrupt(progress):
        seen.append(progress)
        if len(seen) == 7:
            signal.raise_signal(signal.SIGINT)

    former = signal.getsignal(signal.SIGINT)
    learner = quick(None, max_seconds=60, callback=interrupt).fit(rows)
    assert signal.getsignal(signal.SIGINT) is former
    assert learner.stopped_by_ == "interrupt"
    assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-7)
    assert same(learner, quick(learner.n_eval_).fit(rows))


def test_an_interrupt_after_the_search_loses_nothing(rows, monkeypatch):
    of_rows = DiscretizedBayesNet.from_table

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        return of_rows(*arguments, **options)

    monkeypatch.setattr(DiscretizedBayesNet, "from_table", interrupted)
    former = signal.getsignal(signal.SIGINT)
    learner = quick(500).fit(rows)
    assert signal.getsignal(signal.SIGINT) is former
    assert learner.stopped_by_ == "max_evaluations"
    assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-7)


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("curves", "preparation", "limits"), [("none", 2.5, (0.3, 0.9)), ("auto", 4.5, (0.9,))]
)
def test_deadline_holds_on_a_large_table(curves, preparation, limits):
    frame = random_network(10, random_state=2).sample(50_000, 2)
    BayesNetLearner(max_evaluations=2).fit(frame.iloc[:50])  # compiling is not part of it
    for seconds in limits:
        # the limit does not include the preparation of the columns
        with at_most(seconds + preparation):
            learner = BayesNetLearner(
                max_seconds=seconds, curves=curves, density="bins", random_state=1, n_jobs=1
            ).fit(frame)
        assert learner.stopped_by_ == "max_seconds"


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "limits",
    [
        {"min_width": 0.05},
        {"min_width": 0.4},
        {"min_bin_count": 25},
        {"max_bins": 3},
        {"max_bins": 2, "min_width": 0.1, "min_bin_count": 40},
        {"min_bin_count": 1000},
        {},
    ],
)
@pytest.mark.parametrize("method", ["density-bd", "density-bic"])
def test_learned_cuts_keep_their_limits(rows, limits, method):
    """Also in columns whose quantiles crowd, and also for cuts that nobody priced."""
    frame = rows.assign(heavy=np.exp(3 * np.random.default_rng(0).normal(size=len(rows))))
    cut_limits = CutLimits(
        1, limits.get("max_bins", 15), limits.get("min_width", 1e-3), limits.get("min_bin_count", 1)
    )
    for n_evaluations, shape in ((20, "auto"), (20, "uniform"), (1500, "auto"), (1500, "uniform")):
        learner = quick(n_evaluations, scoring_method=method, shape=shape, **limits).fit(frame)
        assert len(learner.network_.cut_points) == 5
        for name, cuts in learner.network_.cut_points.items():
            # bins with a shape have no least width
            has_shape = name in learner.network_.shapes
            of_column = replace(cut_limits, min_width=0.0) if has_shape else cut_limits
            assert keeps_limits(frame[name].to_numpy(), cuts, of_column), name
        assert learner.score_ == pytest.approx(slow_score(learner, method), abs=1e-7)


def test_fixed_cuts_stay_and_cost_nothing(rows):
    names = list(rows.columns)
    middle = float(rows[names[0]].median())
    learner = quick(cut_points={names[0]: [middle], names[2]: []}).fit(rows)
    assert learner.network_.cut_points[names[0]].tolist() == [middle]
    assert learner.network_.cut_points[names[2]].tolist() == []
    assert learner.network_.cardinality(names[2]) == 1
    assert learner.network_.metadata["fixed_cut_points"] == sorted([names[0], names[2]])
    assert learner.score_ == pytest.approx(slow_score(learner, fixed=names[:1]), abs=1e-7)
    every = {name: [float(rows[name].median())] for name in names[:4]}
    learner = quick(500, cut_points=every).fit(rows)
    assert {name: cuts.tolist() for name, cuts in learner.network_.cut_points.items()} == every
    assert "variables_priced" not in learner.statistics_
    assert learner.score_ == pytest.approx(slow_score(learner, fixed=names[:4]), abs=1e-7)


def test_knowledge_is_kept(rows):
    a, b, c, d, e, level = rows.columns
    knowledge = ExpertKnowledge(
        required_edges=[(a, e), (c, e)],
        forbidden_edges=[(a, b), (b, a)],
        temporal_order=[[a, c], [e, level]],
        max_indegree=3,
        max_table_cells=30,
    )
    for threads in (1, 2):
        learner = quick(knowledge=knowledge, n_jobs=threads).fit(rows)
        network = learner.network_
        position = {name: i for i, name in enumerate(rows.columns)}
        sizes = [
            len(network.cut_points[name]) + 1 if name in network.cut_points else rows[name].nunique()
            for name in rows
        ]
        edges = [(position[i], position[j]) for i, j in network.edges]
        assert slow_violations(knowledge, list(rows.columns), edges, sizes) == []
        assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-7)
    assert d in network.names


@pytest.mark.parametrize("n_rows", [10, 11, 13])
@pytest.mark.parametrize("method", ["density-bd", "density-bic"])
def test_the_smallest_tables_are_scored_right(n_rows, method):
    rng = np.random.default_rng(n_rows)
    frame = pd.DataFrame({"x": rng.normal(size=n_rows), "y": np.arange(n_rows) * 0.5})
    frame["z"] = np.where(frame["x"] > 0, "a", "b")
    learner = quick(400, scoring_method=method).fit(frame)
    assert learner.score_ == pytest.approx(slow_score(learner, method), abs=1e-9)
    for name, cuts in learner.network_.cut_points.items():
        assert keeps_limits(frame[name].to_numpy(), cuts, CutLimits())
    assert math.isfinite(learner.score(frame))


def test_columns_of_few_values_and_many_ties_are_scored_right():
    rng = np.random.default_rng(1)
    x = rng.normal(size=300)
    frame = pd.DataFrame(
        {
            "two": np.where(x > 0, 1.5, -0.25),
            "three": np.round(np.clip(x, -1, 1)) + 0.5,
            "mostly": np.where(rng.random(300) < 0.9, 3.25, rng.normal(size=300)),
            "tied": np.round(x * 2) / 2,
            "free": x + rng.normal(scale=0.1, size=300),
        }
    )
    kinds = dict.fromkeys(frame.columns, "continuous")
    learner = quick(kinds=kinds).fit(frame)
    cuts = learner.network_.cut_points
    assert set(cuts) == set(frame.columns)
    assert cuts["two"].tolist() in ([], [0.625])
    for name, column_cuts in cuts.items():
        assert keeps_limits(frame[name].to_numpy(), column_cuts, CutLimits())
        assert not set(column_cuts.tolist()) & set(frame[name])
    assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-7)


def test_published_options_score_all_discrete_tables_as_the_paper_does():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.integers(0, 3, 100), "b": rng.integers(0, 2, 100)})
    frame["c"] = (frame["a"] + frame["b"]) % 3
    by_default = quick(600).fit(frame.astype(str)).network_.metadata
    assert (by_default["scoring_method"], by_default["equivalent"]) == ("density-bd", True)
    learner = quick(600, shape="uniform").fit(frame.astype(str))
    assert learner.network_.metadata["scoring_method"] == "density-bic"
    assert "variables_priced" not in learner.statistics_
    equal_frequency = quick(600, discretizer="equal-frequency").fit(frame.astype(str))
    assert same(learner, equal_frequency)
    # priors that pricing cannot use are fine where nothing is priced
    assert quick(600, scoring_method="bdeu").fit(frame.astype(str)).network_.edges
    assert quick(600, prior="bdeu", scoring_method="density-bd").fit(frame.astype(str)).network_.edges


def test_other_priors_are_fine_where_all_cuts_are_fixed(rows):
    cuts = {name: [float(rows[name].median())] for name in rows.columns if rows[name].dtype.kind == "f"}
    learner = quick(600, prior="bdeu", cut_points=cuts).fit(rows)
    assert learner.network_.metadata["scoring_method"] == "density-bd"
    assert "variables_priced" not in learner.statistics_
    with pytest.raises(GomeaBnError, match="prior='bdeu'"):
        quick(600, prior="bdeu", cut_points=dict(list(cuts.items())[1:])).fit(rows)


# a search that ends early has still arcs at variables of one bin, as has one for which edges are free
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("n_evaluations", "edge_cost", "min_bin_count"),
    [(2, 1.0, 6), (30, 1.0, 6), (800, 0.0, 4), (800, 1.0, 4)],
)
def test_edges_of_a_variable_with_one_bin_say_nothing_and_are_left_out(
    n_evaluations, edge_cost, min_bin_count
):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 4)), columns=list("abcd"))
    all_single = set()
    for seed in range(4):
        learner = quick(
            n_evaluations,
            random_state=seed,
            min_bin_count=min_bin_count,
            initial_indegree=2,
            edge_cost=edge_cost,
        ).fit(frame)
        network = learner.network_
        single = {name for name in network.names if network.cardinality(name) == 1}
        all_single |= single
        assert not single & {name for edge in network.edges for name in edge}
        assert learner.score_ == pytest.approx(slow_score(learner), abs=1e-8)  # the search's own
    assert all_single
    expected = ExpertKnowledge(required_edges=[("a", "b")])
    assert ("a", "b") in quick(800, min_bin_count=4, knowledge=expected).fit(frame).network_.edges


def test_one_continuous_column_next_to_a_class():
    frame = load_iris(as_frame=True).frame[["petal length (cm)", "target"]]
    learner = quick(600, kinds={"target": "discrete"}).fit(frame)
    assert len(learner.network_.edges) == 1
    assert len(learner.network_.cut_points["petal length (cm)"]) >= 2
    alone = quick(600).fit(frame[["petal length (cm)"]])
    assert alone.network_.edges == []
    assert alone.score_ == pytest.approx(slow_score(alone), abs=1e-8)


@pytest.mark.long
def test_the_price_of_edges_keeps_independent_columns_apart():
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(60, 10)), columns=list("abcdefghij"))
    free, priced = (quick(20_000, edge_cost=cost).fit(frame) for cost in (0.0, 1.0))
    assert len(free.network_.edges) > 2 * len(priced.network_.edges)
    assert free.network_.metadata["edge_cost"] == 0.0
    assert refine_boundaries(free.network_, frame).score_before == pytest.approx(free.score_, abs=1e-8)
    assert refine_boundaries(priced.network_, frame).score_before == pytest.approx(priced.score_, abs=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"prior": "bdeu"},
            'cannot price cuts under prior=\'bdeu\'.*prior="dirichlet", .*="density-bic", .*="equal-frequency"',
        ),
        ({"scoring_method": "bic"}, "scoring_method='bic' is for discrete columns only"),
    ],
)
def test_each_bad_option_is_named(rows, options, message):
    with pytest.raises(GomeaBnError, match=message):
        quick(100, **options).fit(rows)
    with pytest.raises(
        GomeaBnError, match="refine must be one of 'sample', 'best', 'doubling', 'none', got 'all'"
    ):
        GOMEA(refine="all")


@pytest.mark.long
def test_command_line_passes_the_limits_on(rows, tmp_path):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    options = {"--min-width": 0.1, "--min-bin-count": 30, "--cut-cost": 0.25, "--max-evaluations": 1500}
    flat = [str(word) for pair in options.items() for word in pair]
    arguments = ["learn", str(tmp_path / "rows.csv"), "--seed", "1", "--out", str(tmp_path / "run"), *flat]
    outcome = CliRunner().invoke(cli.main, arguments)
    assert outcome.exit_code == 0, outcome.output
    learner = BayesNetLearner(
        min_width=0.1,
        min_bin_count=30,
        cut_cost=0.25,
        max_evaluations=1500,
        random_state=1,
    ).fit(tmp_path / "rows.csv")
    recorded = json.loads((tmp_path / "run" / "run.json").read_text())
    assert recorded["parameters"]["min_width"] == 0.1
    written = json.loads((tmp_path / "run" / "network.json").read_text())
    assert f"{learner.score_!r}" in json.dumps(written)
