"""Learning with curves: graphs that bins miss, what the network records, and settings without curves."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from option_examples import problem_of_learner

from gomea_bn import BayesNetLearner, ExpertKnowledge
from gomea_bn.network.recorded import counted_parents


def sums(n_rows: int = 500, seed: int = 0) -> pd.DataFrame:
    """Three independent columns, their noisy sum, a child of the sum, and a discrete child of the first column."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n_rows))
    total = 1.2 * a + 0.6 * b - 0.6 * c + 0.6 * rng.normal(size=n_rows)
    return pd.DataFrame(
        {
            "a": a,
            "b": b,
            "c": c,
            "total": total,
            "child": np.tanh(total) + 0.3 * rng.normal(size=n_rows),
            "sign": np.where(a + 0.2 * rng.normal(size=n_rows) > 0, "plus", "minus"),
        }
    )


TRUE = {
    frozenset(pair)
    for pair in (("a", "total"), ("b", "total"), ("c", "total"), ("total", "child"), ("a", "sign"))
}


def learned(frame: pd.DataFrame, **options: Any) -> BayesNetLearner:
    options = {"curves": "auto", "max_evaluations": 30_000, "random_state": 3, **options}
    return BayesNetLearner(max_seconds=None, patience=None, **options).fit(frame)


def skeleton(learner: BayesNetLearner) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in learner.network_.edges}


@pytest.fixture(scope="module")
def fitted() -> BayesNetLearner:
    return learned(sums())


@pytest.mark.long
def test_curves_find_parents_that_bins_miss_and_show_them_by_few_bins(fitted: BayesNetLearner) -> None:
    network, by_tables = fitted.network_, learned(sums(), curves="none")
    assert skeleton(fitted) == TRUE
    assert skeleton(by_tables) != TRUE
    assert all(2 <= network.cardinality(name) <= 6 for edge in network.edges for name in edge)
    fresh = sums(5_000, seed=1)
    assert network.score(fresh) > by_tables.network_.score(fresh) - 0.1
    assert "curves" not in by_tables.network_.metadata


def test_the_metadata_and_the_summary_say_what_curves_gain() -> None:
    rng = np.random.default_rng(5)
    strong, weak, noise = rng.normal(size=(3, 150))
    frame = pd.DataFrame({"strong": strong, "weak": weak, "sum": 2 * strong + 0.2 * weak + 0.2 * noise})
    network = learned(
        frame, knowledge=ExpertKnowledge(forbidden_edges=[("sum", "strong"), ("sum", "weak")])
    ).network_
    record = network.metadata["curves"]
    assert list(record) == ["sum"]
    assert network.edges == [("strong", "sum"), ("weak", "sum")]
    # counts over both parents would be sparse
    assert record["sum"]["table_parents"] == ["strong"]
    assert counted_parents(network) == [(), (), ("strong",)]
    text = f"smooth curves of these are {record['sum']['nats']:.1f} nats better than a table of counts"
    assert text in network.summary()


@pytest.mark.long
def test_a_record_that_is_not_ours_is_left_out_of_the_summary(fitted: BayesNetLearner) -> None:
    network = fitted.network_
    plain = learned(sums(), curves="none", max_evaluations=500).network_
    for record in (3, {"a": 1}, {"total": {"nats": "x"}}):
        content = json.loads(plain.to_json())
        content["metadata"]["curves"] = record
        assert "smooth curves" not in plain.from_json(json.dumps(content)).summary()
    assert network.from_json(network.to_json()).summary() == network.summary()


def test_ctrl_c_during_the_search_still_gives_tables_with_bins() -> None:
    def stop(progress: Any) -> bool:
        return bool(progress.n_eval > 2_000)

    network = learned(sums(), callback=stop).network_
    assert network.metadata["curves"]
    assert network.edges
    assert all(network.cardinality(name) > 1 for edge in network.edges for name in edge)


def test_the_score_counts_the_better_of_table_and_curves_without_cuts_that_only_show() -> None:
    frame = sums().drop(columns="sign")
    fitted = learned(frame)
    problem = problem_of_learner(fitted)
    network, names = fitted.network_, fitted.table_.names
    record = network.metadata["curves"]
    # all families with parents follow curves, so the search needs no cuts
    assert set(record) == {name for name in names if network.parents(name)}
    edges = [(names.index(parent), names.index(child)) for parent, child in network.edges]
    scores = []
    for shown in (True, False):
        cuts = [network.cut_points[name] if shown else np.empty(0) for name in names]
        policies = [problem.enter_between_runs(v, cuts[v], []) for v in range(len(names))]
        genotype = problem.genotype(edges, policies)
        families = problem.families(genotype)
        of_curves = problem.scorer.score(families)
        scores.append(float(of_curves.sum()) + problem.scorer.constant_score)
        if shown:
            counted = enumerate(counted_parents(network))
            in_tables = [(names.index(parent), child) for child, of_child in counted for parent in of_child]
            shown_families = problem.families(problem.genotype(in_tables, policies))
            by_tables = problem.scorer.table_scores(shown_families)
    assert {name: of_column["nats"] for name, of_column in record.items()} == pytest.approx(
        {name: of_curves[names.index(name)] - by_tables[names.index(name)] for name in record}, abs=1e-6
    )
    assert scores[0] < scores[1] == pytest.approx(fitted.score_, abs=1e-6)
    assert fitted.score_ == -fitted.history_[-1].objective


def test_bins_show_curves_next_to_a_discrete_child() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    frame = pd.DataFrame(
        {"x": x, "square": x**2 + 0.2 * rng.normal(size=400), "sign": np.where(x > 0, "+", "-")}
    )
    network = learned(frame, max_evaluations=5_000).network_
    assert {frozenset(edge) for edge in network.edges} == {
        frozenset(("x", "square")),
        frozenset(("x", "sign")),
    }
    at_zero, at_two = (network.query("square", {"x": value}) for value in (0.1, 2.0))
    assert float(np.abs(at_zero - at_two).sum()) > 1


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_and_repetitions_give_the_same_network(fitted: BayesNetLearner, n_jobs: int) -> None:
    again = learned(sums(), n_jobs=n_jobs)
    # other ways may lead to the same network
    found, expected = ([(h.n_eval, h.objective) for h in one.history_] for one in (again, fitted))
    assert found == expected
    assert again.network_.to_json() == fitted.network_.to_json()


def test_conditionals_of_many_rows_are_the_same_in_threads() -> None:
    # with fewer rows one thread fits them
    frame = sums(4_500)[["a", "total", "child"]]
    alone, together = (learned(frame, max_evaluations=500, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert alone.network_.to_json() == together.network_.to_json()


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "options",
    [{"shape": "uniform"}, {"scoring_method": "density-bic"}, {"discretizer": "equal-frequency"}],
    ids=["uniform", "bic", "equal-frequency"],
)
def test_settings_without_curves_are_as_before(options: dict[str, Any]) -> None:
    frame = sums(200)
    few = {"max_evaluations": 1_500, **options}
    with_curves, without = (learned(frame, curves=curves, **few) for curves in ("auto", "none"))
    assert with_curves.score_ == without.score_
    assert with_curves.network_.edges == without.network_.edges
    assert "curves" not in with_curves.network_.metadata


def test_fixed_cuts_stay_under_curves() -> None:
    cuts = {"a": [0.1], "total": []}
    learner = learned(sums(), cut_points=cuts)
    assert {name: learner.network_.cut_points[name].tolist() for name in cuts} == cuts
    # an edge of a column with a single bin stays if curves need it
    assert frozenset(("b", "total")) in skeleton(learner)
