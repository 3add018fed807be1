"""The learner as its users call it: conventions, errors, knowledge, limits, repetition."""

import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from gomea_bn import (
    GOMEA,
    BayesNetLearner,
    DiscretizedBayesNet,
    ExpertKnowledge,
    GomeaBnError,
    LinkageTree,
    read_table,
)
from gomea_bn.learning.search import discretizer_rounds

QUICK: dict[str, Any] = {"max_evaluations": 3000, "random_state": 1}


@pytest.fixture(scope="module")
def fitted(mixed):
    return BayesNetLearner(**QUICK).fit(mixed)


def test_the_strong_edges_are_found_and_the_run_is_described(mixed, fitted):
    skeleton = {frozenset(edge) for edge in fitted.network_.edges}
    assert {frozenset("ab"), frozenset("bc")} <= skeleton
    assert list(fitted.feature_names_in_) == list(mixed.columns)
    assert fitted.n_features_in_ == 5
    assert fitted.n_eval_ == 3000
    assert fitted.stopped_by_ == "max_evaluations"
    assert 0 < fitted.n_eval_full_ <= fitted.n_eval_
    assert 0 <= fitted.time_to_best_ <= fitted.fit_seconds_
    objectives = [entry.objective for entry in fitted.history_]
    assert objectives == sorted(objectives, reverse=True)
    assert -objectives[-1] == fitted.score_
    counts = {"families_scored", "cache_hits", "variables_priced", "prices_known", "policies_entered"}
    assert set(fitted.statistics_) == counts | {"stages"}
    assert fitted.network_.metadata["n_eval"] == 3000


def test_the_score_is_the_log_density_minus_the_penalty(mixed):
    fitted = BayesNetLearner(scoring_method="density-bic", shape="uniform", **QUICK).fit(mixed)
    # with pseudo_count 0 the tables are those that density-bic maximises
    raw = DiscretizedBayesNet.from_table(
        fitted.table_, fitted.network_.edges, fitted.network_.cut_points, pseudo_count=0.0
    )
    scale = sum(np.log(high - low) for low, high in raw.support.values())
    expected = raw.log_density(mixed).sum() + len(mixed) * scale - np.log(len(mixed)) / 2 * raw.n_parameters
    assert fitted.score_ == pytest.approx(expected, abs=1e-8)


def test_parameters_can_be_read_and_set():
    learner = BayesNetLearner(max_bins=4)
    parameters = learner.get_params()
    assert parameters["max_bins"] == 4
    assert learner.set_params(max_bins=6, patience=None) is learner
    assert (learner.max_bins, learner.patience) == (6, None)
    assert repr(learner) == "BayesNetLearner(max_bins=6, patience=None)"
    with pytest.raises(GomeaBnError, match="max_bin'"):
        learner.set_params(max_bin=3)


def test_clone_copies_the_parameters_and_nothing_learned(mixed, fitted):
    knowledge = ExpertKnowledge(forbidden_edges=[("a", "b")])
    learner = BayesNetLearner("equal-width", knowledge=knowledge, cut_points={"e": [1000.0]}, **QUICK)
    copy = clone(learner)
    assert copy is not learner
    assert copy.get_params() == learner.get_params()
    assert not hasattr(clone(fitted), "network_")
    assert clone(fitted).fit(mixed).network_ == fitted.network_


@pytest.mark.long
def test_scikit_learn_can_score_and_tune_it():
    frame = load_iris(as_frame=True).frame
    learner = BayesNetLearner(density="bins", **QUICK)
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(learner, frame, cv=folds)
    train, test = next(folds.split(frame))
    by_hand = clone(learner).fit(frame.iloc[train]).network_.log_density(frame.iloc[test]).mean()
    assert scores[0] == pytest.approx(by_hand, abs=1e-12)
    search = GridSearchCV(learner, {"max_bins": [2, 8]}, cv=folds).fit(frame)
    assert search.best_params_ == {"max_bins": 8}
    assert isinstance(search.best_estimator_.network_, DiscretizedBayesNet)


def test_fit_never_changes_the_frame(mixed):
    frame = mixed.set_index(np.arange(240)[::-1])
    frame["c"] = frame["c"].astype("category")
    before = frame.copy(deep=True)
    BayesNetLearner(**QUICK, missing="drop").fit(frame)
    pd.testing.assert_frame_equal(frame, before)


def test_fit_only_stores_what_ends_in_an_underscore(mixed):
    learner = BayesNetLearner(**QUICK)
    before = dict(vars(learner))
    learner.fit(mixed)
    after = {name: value for name, value in vars(learner).items() if not name.endswith("_")}
    assert after == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"discretizer": "kmeans"}, "discretizer must be one of"),
        ({"scoring_method": "mdl"}, "scoring_method must be one of"),
        ({"scoring_method": "bdeu"}, "discrete columns only"),
        ({"knowledge": {"required_edges": []}}, "knowledge must be an ExpertKnowledge"),
        ({"kinds": {"z": "discrete"}}, "kinds: unknown column 'z'"),
        ({"kinds": {"a": "real"}}, "must be one of 'continuous', 'discrete', got 'real'"),
        ({"kinds": {"c": "continuous"}}, "'c' must hold numbers"),
        ({"max_levels": 3}, "Column 'd' must have at most 3 levels"),
        ({"algorithm": "gomea"}, "algorithm must be a GOMEA"),
        ({"max_seconds": None, "max_evaluations": None, "patience": None}, "Set a limit"),
        ({"n_jobs": 0}, "n_jobs must be .*got 0"),
        ({"n_jobs": 1.5}, r"n_jobs must be .*got 1\.5"),
        ({"random_state": -1}, "random_state must be .*got -1"),
        ({"random_state": "seed"}, "random_state must be .*got 'seed'"),
        ({"cut_points": {"z": [0.0]}}, "unknown column 'z'"),
        ({"cut_points": {"c": [0.0]}}, "'c' is discrete"),
        ({"cut_points": {"a": [1.0, 0.0]}}, "must increase strictly"),
        ({"cut_points": {"a": [99.0]}}, "must lie inside the range"),
        ({"cut_points": {"a": [float("nan")]}}, "must be finite"),
        ({"knowledge": ExpertKnowledge(required_edges=[("a", "z")])}, "unknown column 'z'"),
        ({"knowledge": ExpertKnowledge(required_edges=[("a", "b"), ("b", "a")])}, "cycle"),
        ({"knowledge": ExpertKnowledge([("a", "c"), ("b", "c")], max_indegree=1)}, "2 parents"),
        ({"knowledge": ExpertKnowledge([("a", "d")], max_table_cells=7)}, "at least 8 cells"),
    ],
)
def test_each_bad_option_is_named(mixed, options, message):
    with pytest.raises(GomeaBnError, match=message):
        BayesNetLearner(**{**QUICK, **options}).fit(mixed)


def test_bad_sources_are_named(mixed, tmp_path):
    cases: list[tuple[Any, str]] = [
        ([[1.0, 2.0]], "must be a Table, .* or the path of a file; got list"),
        (np.zeros(5), r"shape \(n_rows, n_columns\)"),
        (tmp_path / "none.csv", "does not exist"),
        (mixed.iloc[:5], "at least 10 rows"),
        (mixed.assign(b=np.where(np.arange(240) == 17, np.nan, 1.0)), "Column 'b' .*row 17"),
    ]
    for source, message in cases:
        with pytest.raises(GomeaBnError, match=message):
            BayesNetLearner(missing="error", **QUICK).fit(source)


def test_an_unfitted_learner_says_so(mixed):
    for call in (BayesNetLearner().score, BayesNetLearner().score_samples):
        with pytest.raises(GomeaBnError, match="call fit"):
            call(mixed)
    with pytest.raises(GomeaBnError, match="call fit"):
        BayesNetLearner().sample(3)


def test_one_seed_gives_one_network_at_any_number_of_threads(mixed):
    # populations grow large enough that threads really share a generation
    runs = [
        BayesNetLearner(max_evaluations=60_000, random_state=3, n_jobs=threads).fit(mixed)
        for threads in (1, 2, 3, -1)
    ]
    for run in runs[1:]:
        assert run.network_ == runs[0].network_
        assert run.score_ == runs[0].score_
        assert [e.n_eval for e in run.history_] == [e.n_eval for e in runs[0].history_]
        assert run.n_generations_ == runs[0].n_generations_
    others = [BayesNetLearner(max_evaluations=60, random_state=seed).fit(mixed) for seed in range(4)]
    assert any(other.history_[-1].n_eval != others[0].history_[-1].n_eval for other in others)


@pytest.mark.long
def test_one_seed_gives_one_network_in_two_processes(mixed, tmp_path):
    mixed.to_csv(tmp_path / "rows.csv", index=False)
    script = (
        "import sys; from gomea_bn import BayesNetLearner\n"
        "learner = BayesNetLearner(max_evaluations=5000, random_state=11, n_jobs=2).fit(sys.argv[1])\n"
        "print(learner.network_.to_json())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "rows.csv")]
    texts = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert texts[0] == texts[1]
    here = BayesNetLearner(max_evaluations=5000, random_state=11).fit(tmp_path / "rows.csv")
    assert here.network_ == DiscretizedBayesNet.from_json(texts[0])


@pytest.mark.long
def test_random_states_of_every_kind(mixed):
    by_integer = BayesNetLearner(max_evaluations=500, random_state=5).fit(mixed)
    assert by_integer.seed_ == 5
    for state in (np.random.default_rng(0), np.random.RandomState(0), None, np.int64(5)):
        learner = BayesNetLearner(max_evaluations=500, random_state=state).fit(mixed)
        again = BayesNetLearner(max_evaluations=500, random_state=learner.seed_).fit(mixed)
        assert again.network_ == learner.network_


def test_knowledge_is_honoured(mixed):
    knowledge = ExpertKnowledge(
        required_edges=[("e", "a"), ("d", "b")],
        forbidden_edges=[("b", "c"), ("c", "b")],
        temporal_order=[["e"], ["a", "b"]],
        max_indegree=2,
        max_table_cells=40,
    )
    for seed in range(5):
        network = (
            BayesNetLearner(knowledge=knowledge, max_evaluations=4000, random_state=seed).fit(mixed).network_
        )
        edges = set(network.edges)
        assert {("e", "a"), ("d", "b")} <= edges
        assert not edges & {("b", "c"), ("c", "b"), ("a", "e"), ("b", "e")}
        assert max(len(network.parents(name)) for name in network.names) <= 2
        assert max(table.size for table in network.tables.values()) <= 40


@pytest.mark.long
def test_the_tighter_indegree_holds(mixed):
    for of_learner, of_knowledge in ((1, 3), (3, 1)):
        learner = BayesNetLearner(
            max_indegree=of_learner, knowledge=ExpertKnowledge(max_indegree=of_knowledge), **QUICK
        )
        network = learner.fit(mixed).network_
        assert max(len(network.parents(name)) for name in network.names) <= 1
    alone = BayesNetLearner(max_indegree=0, **QUICK).fit(mixed).network_
    assert alone.edges == []


@pytest.mark.parametrize("discretizer", ["equal-frequency", "equal-width"])
def test_learned_bins_are_of_their_family(mixed, discretizer):
    network = BayesNetLearner(discretizer, max_bins=6, **QUICK).fit(mixed).network_
    assert set(network.cut_points) == set("abe")
    for name, cuts in network.cut_points.items():
        assert 1 <= len(cuts) <= 5
        edges = np.array([network.support[name][0], *cuts, network.support[name][1]])
        counts = network.discretize(mixed)[name].value_counts()
        if discretizer == "equal-width":
            assert np.diff(edges) == pytest.approx(np.full(len(cuts) + 1, np.ptp(edges) / (len(cuts) + 1)))
        else:
            assert counts.max() - counts.min() <= 1


@pytest.mark.sample(4)
@pytest.mark.parametrize("method", ["bdeu", "bic", "k2", "aic", "density-bic", "density-bd"])
def test_every_score_learns_from_discrete_columns(mixed, method):
    frame = pd.DataFrame({"b": mixed["b"] > 0, "c": mixed["c"], "d": mixed["d"]})
    network = BayesNetLearner(scoring_method=method, **QUICK).fit(frame).network_
    assert {frozenset("bc")} <= {frozenset(edge) for edge in network.edges}
    assert network.cut_points == {}


def test_scores_and_samples_are_the_networks(mixed, fitted):
    rows = fitted.score_samples(mixed)
    assert rows.shape == (240,)
    np.testing.assert_array_equal(rows, fitted.network_.log_density(mixed))
    assert fitted.score(mixed) == rows.mean()
    pd.testing.assert_frame_equal(fitted.sample(20, 3), fitted.network_.sample(20, 3))
    assert fitted.sample().shape == (1, 5)


def test_a_file_is_learned_like_its_frame(mixed, fitted, tmp_path):
    path = tmp_path / "rows.csv"
    mixed.to_csv(path, index=False)
    from_file = BayesNetLearner(**QUICK).fit(path)
    assert from_file.network_ == fitted.network_
    assert from_file.score(str(path)) == pytest.approx(fitted.score(mixed), abs=1e-12)


def test_an_array_gets_names():
    values = np.random.default_rng(0).normal(size=(60, 3))
    learner = BayesNetLearner(**QUICK).fit(values)
    assert list(learner.feature_names_in_) == ["x0", "x1", "x2"]
    assert learner.score_samples(values).shape == (60,)
    assert (
        learner.network_
        == BayesNetLearner(**QUICK).fit(pd.DataFrame(values, columns=["x0", "x1", "x2"])).network_
    )


def test_missing_rows_are_dropped_on_request(mixed, fitted):
    holes = pd.concat([mixed, mixed.iloc[:2]], ignore_index=True)
    holes.loc[240, "a"] = np.nan
    holes.loc[241, "e"] = np.inf
    learner = BayesNetLearner(missing="drop", **QUICK).fit(holes)
    assert learner.table_.dropped_rows == (240, 241)
    assert learner.network_ == fitted.network_
    assert np.flatnonzero(np.isnan(learner.score_samples(holes))).tolist() == [240, 241]
    assert learner.score(holes) == pytest.approx(fitted.score(mixed))


def test_tables_of_two_columns_and_of_one_can_be_learned(mixed):
    pair = BayesNetLearner(**QUICK).fit(mixed[["a", "b"]])
    assert len(pair.network_.edges) == 1
    single = BayesNetLearner(shape="uniform", **QUICK).fit(mixed[["a"]])
    assert single.network_.edges == []
    assert len(single.network_.cut_points["a"]) >= 1


def test_one_column_without_a_choice_ends_at_once(mixed):
    learner = BayesNetLearner(cut_points={"a": [0.0]}, max_evaluations=50, random_state=0).fit(mixed[["a"]])
    assert learner.network_.cut_points["a"].tolist() == [0.0]
    assert learner.n_eval_ <= 50


def test_a_callback_sees_progress_and_stops_the_run(mixed):
    seen = []

    def stop_at_five(progress):
        seen.append(progress)
        return progress.n_generations == 5

    # with curves the last stage may still drop cuts that nothing needs
    learner = BayesNetLearner(callback=stop_at_five, curves="none", random_state=2).fit(mixed)
    assert learner.stopped_by_ == "callback"
    assert learner.n_generations_ == 5
    assert [p.n_generations for p in seen if p.n_generations] == [1, 2, 3, 4, 5]
    assert [p.n_eval for p in seen] == sorted(p.n_eval for p in seen)
    assert -seen[-1].best == learner.score_


def test_limits_end_the_run(mixed):
    generations = BayesNetLearner(max_generations=3, random_state=1).fit(mixed)
    assert (generations.stopped_by_, generations.n_generations_) == ("max_generations", 3)
    evaluations = BayesNetLearner(max_evaluations=1234, random_state=1).fit(mixed)
    assert (evaluations.stopped_by_, evaluations.n_eval_) == ("max_evaluations", 1234)
    patient = BayesNetLearner(max_seconds=None, patience=1.5, random_state=1).fit(mixed)
    assert patient.stopped_by_ == "patience"


@pytest.mark.long
def test_other_algorithms_can_be_given(mixed):
    algorithm = GOMEA(linkage=LinkageTree("mi"), elite_update="immediate", base_population=4)
    learner = BayesNetLearner(algorithm=algorithm, random_repair=False, **QUICK).fit(mixed)
    assert learner.network_ == clone(learner).fit(mixed).network_


def test_verbose_is_silent_off_a_terminal(mixed, capfd, fitted):
    learner = BayesNetLearner(verbose=True, **QUICK).fit(mixed)
    assert capfd.readouterr() == ("", "")
    assert learner.network_ == fitted.network_
    stopped = BayesNetLearner(verbose=True, callback=lambda progress: True, **QUICK).fit(mixed)
    assert stopped.stopped_by_ == "callback"


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["optimal", "equal-frequency", "mdl"])
def test_the_problem_is_built_once_per_round(mixed, monkeypatch, name):
    built = []

    def counting(module):
        real = module.learning_problem

        def build(table, options, *arguments, **keywords):
            built.append(bool(arguments))
            return real(table, options, *arguments, **keywords)

        monkeypatch.setattr(module, "learning_problem", build)

    counting(importlib.import_module("gomea_bn.learning.search.search"))
    counting(discretizer_rounds)
    rounds = BayesNetLearner(name, **QUICK).fit(mixed).statistics_.get("rounds", 1)
    assert built == [False] + [True] * (rounds - 1)


@pytest.mark.long
def test_a_table_gives_the_network_of_its_frame(mixed):
    table = read_table(mixed)
    network = BayesNetLearner(**QUICK).fit(mixed).network_
    learner = BayesNetLearner(**QUICK).fit(table)
    assert learner.table_ is table
    assert learner.network_ == network
    assert learner.score(table) == network.score(mixed)
