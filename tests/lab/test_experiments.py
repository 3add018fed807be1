"""Every experiment at a size of seconds: rows depend on their task alone, and reports hold the published numbers."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from bench_examples import measured_part
from front_checks import PUBLISHED_FRONT

from gomea_bn import BayesNetLearner, GomeaBnError, ParetoBayesNetLearner
from gomea_bn.discretization import BayesianDiscretizer
from gomea_bn.simulation import random_network
from lab.published import chen, confidence, mgcd, monti, printed, topdown
from lab.published.algorithms import GOMEA_ALGORITHMS, LEARNERS, learn, true_fit
from lab.published.fronts import STRATEGIES
from lab.published.tables import (
    FAMILIES,
    ORDERS,
    TABLES,
    family_edges,
    parents_first,
    published_network,
    published_table,
)
from lab.runner.cluster import attempt
from lab.runner.page import claims_sheet, markdown_section
from lab.runner.registry import experiment, experiments
from lab.runner.run import run_experiment
from lab.runner.statistics import number

TINY: dict[str, dict[str, Any]] = {
    "table1": {"sizes": (100,), "variants": ("tree",)},
    "table2": {"sizes": (4,), "variants": ("ide-cozman",)},
    "fig3": {"sizes": (100,), "variants": ("equal-frequency",)},
    "fig4": {"sizes": (4,), "algorithms": ("EF", "BD", "LDBN")},
    "fig5": {"sizes": (100,), "variants": ("EF",)},
    "fig6": {"sizes": (100,), "variants": ("tree",)},
    "chen": {"sizes": (2,), "variants": ("iris",)},
    "topdown": {"sizes": (100,), "variants": ("chain",)},
    "linkage": {"sizes": (100,), "variants": ("asia",)},
    "ims": {"sizes": (100,), "variants": ("asia",)},
    "monti": {"sizes": (250,), "variants": ("0.25",), "algorithms": ("EF3", "EF")},
    "mgcd": {"sizes": (150,), "variants": ("random", "sachs"), "algorithms": ("GMM", "EF")},
    "confidence": {"sizes": (100,), "variants": ("random-8", "asia")},
}


def test_every_published_experiment_is_run_here() -> None:
    assert list(TINY) == [name for name, entry in experiments().items() if entry.plan is not None]


@pytest.mark.long
@pytest.mark.parametrize("name", TINY)
def test_tiny_runs_repeat_and_are_reported(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confidence, "MOST_DRAWN_SWEEPS", 40)
    tested = experiment(name)
    plan = tested.planned(nets=1, evaluations=300, **TINY[name])
    tasks = tested.expand(plan)
    rows = [attempt(tested.measure, task) for task in tasks]
    assert [row.get("error") for row in rows] == [None] * len(tasks)
    again = attempt(tested.measure, tasks[-1])
    assert measured_part([again]) == measured_part(rows[-1:])
    report = tested.report(plan, rows)
    assert report.sheets
    text = markdown_section(tested, plan, report, 0, 0)
    # summaries leave out tables that stand behind published numbers
    assert ("<details>" in text) == bool(report.claims)
    for sheet in report.sheets:
        assert f"### {sheet.heading}" in text
        assert all(len(row) == len(sheet.columns) for row in sheet.rows)
    assert {row[4] for row in claims_sheet(report).rows} <= {
        "reproduced",
        "beaten",
        "behind",
        "even",
        "not reproduced",
        "not run",
        "undecided",
    }
    more = [{**row, "task": {**row["task"], "net": net}} for net in range(3) for row in rows]
    for k in range(len(rows)):  # an interrupted run, or one with a failed task
        tested.report(plan, more[:k] + more[k + 1 :])
    empty = tested.report(plan, [])  # a run that was interrupted before its first row
    assert all(row[4] == "not run" for row in claims_sheet(empty).rows)


@pytest.mark.long
def test_two_worker_processes_give_the_rows_of_this_one(tmp_path) -> None:
    tested = experiment("table1")
    plan = tested.planned(nets=2, sizes=(100,), evaluations=300, variants=("tree",), algorithms=("EF",))
    both = run_experiment(tested, plan, tmp_path / "both", n_workers=2)
    alone = [attempt(tested.measure, task) for task in tested.expand(plan)]
    assert len(alone) == 6
    assert not both.failures
    assert measured_part(alone) == measured_part(both.rows)


def test_every_published_cell_is_a_claim() -> None:
    tested = experiment("table1")
    claims = tested.report(tested.plan, []).claims
    assert len(claims) == sum(map(len, printed.TABLE_1.values())) == 27
    assert {claim.paper for claim in claims} >= {1.57, 0.94, 1.62, 3.43, 0.41}
    other = experiment("table2").report(experiment("table2").plan, []).claims
    assert len(other) == 36


def test_learners_are_those_that_the_estimator_accepts() -> None:
    assert set(LEARNERS) >= {"EW", "EF", "EF-AIC", "BD", "LDBN"}
    frame = random_network(4, random_state=1).sample(80, random_state=1)
    limits = {"seconds": None, "evaluations": 200}
    for name in LEARNERS:
        network = learn(name, frame, limits, 1)
        assert network.network.names == tuple(frame.columns)
        assert network.n_eval <= 200


def test_the_floor_has_the_true_graph_and_cuts() -> None:
    truth = random_network(6, random_state=2)
    fitted = true_fit(truth, truth.sample(5_000, random_state=2))
    assert fitted.edges == truth.edges
    for name, cuts in truth.cut_points.items():
        np.testing.assert_array_equal(fitted.cut_points[name], cuts)


def test_floors_differ_by_their_smoothing_alone() -> None:
    tested = experiment("table1")
    plan = tested.planned(nets=1, sizes=(200,), algorithms=("EF",), evaluations=300, variants=("ide-cozman",))
    rows = [attempt(tested.measure, task) for task in tested.expand(plan)]
    assert [row["task"]["algorithm"] for row in rows] == ["floor", "floor-auto", "EF"]
    assert rows[0]["measured"]["edges"] == rows[1]["measured"]["edges"]
    assert rows[0]["measured"]["kl"] != rows[1]["measured"]["kl"]
    (line,) = (row for row in tested.report(plan, rows).sheets[0].rows if row[1] == "EF")
    columns = tested.report(plan, rows).sheets[0].columns
    for name, row in zip(("floor", "floor-auto"), rows, strict=False):
        assert line[columns.index(name)] == number(row["measured"]["kl"])


def test_the_child_is_the_last_of_a_family():
    assert family_edges(("B", "AEG")) == [("A", "G"), ("E", "G")]


def test_published_tables_and_graphs_fit_together() -> None:
    shapes = {name: published_table(name)[0].shape for name in TABLES}
    assert shapes == {"auto": (392, 8), "wine": (178, 14), "housing": (506, 14), "iris": (150, 5)}
    for name, families in FAMILIES.items():
        frame, kinds = published_table(name)
        assert sorted(family[-1] for family in families) == sorted(frame.columns)
        assert sorted(ORDERS[name][0]) == sorted(frame.columns)
        assert [c for c in map(str, frame) if kinds[c] == "discrete"] == list(TABLES[name])
        seen: set[str] = set()
        for family in families:
            assert set(family[:-1]) <= seen
            seen.add(family[-1])


def test_the_published_cuts_and_density_of_auto_are_found_from_the_graph_here() -> None:
    frame, kinds = published_table("auto")
    order = [family[-1] for family in reversed(FAMILIES["auto"]) if kinds[family[-1]] == "continuous"]
    edges = family_edges(FAMILIES["auto"])
    cuts = BayesianDiscretizer(order=order, kinds=kinds).fit(frame, network=edges).cut_points_
    assert cuts["F"].tolist() == [12.35, 13.75, 16.05, 22.85]
    # one more per cell
    network = chen.laplace_network(frame, kinds, edges, cuts, 0.0)
    assert network.score(frame) == pytest.approx(-25.144190, abs=5e-7)


@pytest.mark.long
def test_ten_folds_give_the_published_density_for_the_published_graph() -> None:
    tested = experiment("chen")
    plan = tested.planned(nets=1, variants=("auto",), algorithms=("BD",), seconds=10.0)
    rows = [attempt(tested.measure, task) for task in tested.expand(plan)]
    assert chen.mean_densities(rows, "0")["auto", "BD"] == pytest.approx([-26.04], abs=0.1)


@pytest.mark.long
def test_methods_with_own_smoothing_run_only_if_they_are_asked_for() -> None:
    tested = experiment("chen")
    assert not set(chen.OWN_SMOOTHING) & set(tested.plan.algorithms)
    plan = tested.planned(
        nets=1, sizes=(2,), variants=("iris",), algorithms=chen.OWN_SMOOTHING, evaluations=300, seconds=5.0
    )
    rows = [attempt(tested.measure, task) for task in tested.expand(plan)]
    assert [row.get("error") for row in rows] == [None] * 4
    for row in rows:
        assert set(row["measured"]["density"]) == {"0", "0.01"}
    densities = chen.mean_densities(rows, "0")
    assert set(densities) == {("iris", name) for name in chen.OWN_SMOOTHING}
    assert [row[4] for row in claims_sheet(tested.report(plan, rows)).rows].count("not run") > 0


def test_folds_of_an_order_hold_every_row_once() -> None:
    tested = experiment("chen")
    plan = tested.planned(nets=1, sizes=(7,), variants=("iris",), algorithms=("MDL",))
    rows = [attempt(tested.measure, task) for task in tested.expand(plan)]
    assert sum(row["measured"]["n"] for row in rows) == 150
    mean = chen.mean_densities(rows, "0")["iris", "MDL"]
    total = sum(row["measured"]["density"]["0"] for row in rows)
    assert mean == pytest.approx([total / 150])
    assert chen.mean_densities(rows[:-1], "0") == {}  # a fold is missing


def test_exploded_values_fold_back() -> None:
    frame = topdown.exploded("collider", 3_000, 4)
    assert frame.to_numpy().min() >= 0
    assert frame.to_numpy().max() < 15
    coarse = frame // 5
    fine = (frame % 5).apply(pd.Series.value_counts, normalize=True)
    assert fine.to_numpy() == pytest.approx(0.2, abs=0.05)
    assert abs(coarse["A"].corr(coarse["C"])) < 0.1  # no edge between the parents


def test_noisy_states_are_numbers_around_their_levels() -> None:
    truth = published_network("alarm")
    frame = monti.noisy_sample(truth, 2_000, 0.25, 1)
    levels = truth.sample(2_000, random_state=1)
    assert len(monti.CONTINUOUS) == len(set(monti.CONTINUOUS)) == 22
    for name in monti.CONTINUOUS:
        assert truth.cardinality(name) in (3, 4)
        rest = frame[name] - levels[name].cat.codes
        assert abs(rest.mean()) < 0.03
        assert rest.std() == pytest.approx(0.25, abs=0.02)


def test_parents_come_first_and_otherwise_the_order_of_the_network() -> None:
    truth = published_network("alarm")
    order, remaining = [], list(truth.names)
    while remaining:
        order.append(next(name for name in remaining if not set(truth.parents(name)) & set(remaining)))
        remaining.remove(order[-1])
    assert parents_first(truth) == order
    assert order != list(truth.names)


def test_gaussian_values_lie_in_their_intervals() -> None:
    truth = mgcd.random_truth(3)
    assert 10 <= len(truth.names) <= 30
    assert max(len(truth.parents(name)) for name in truth.names) <= 6
    frame = mgcd.gaussian_sample(truth, 500, 3)
    codes = truth.discretize(truth.sample(500, random_state=3))
    pd.testing.assert_frame_equal(truth.discretize(frame), codes)


def test_predictions_are_those_of_queries() -> None:
    truth = random_network(6, random_state=5, discrete_fraction=0.4)
    rows = truth.sample(25, random_state=6)
    targets = sorted(truth.levels)
    rate = mgcd.hit_rate(truth, truth, targets, rows, 1.0, np.random.default_rng(0))
    expected = []
    for target in targets:
        blanket = truth.markov_blanket(target)
        for _, row in rows.iterrows():
            posterior = truth.query(target, {name: row[name] for name in blanket})
            expected.append(posterior[row[target]])
    assert rate == pytest.approx(np.mean(expected), abs=1e-9)
    none = mgcd.hit_rate(truth, truth, targets[:1], rows, 0.0, np.random.default_rng(0))
    marginal = truth.query(targets[0])
    assert none == pytest.approx(np.mean([marginal[value] for value in rows[targets[0]]]), abs=1e-9)
    assert not math.isclose(rate, none)


def test_calibration_error_compares_confidence_with_the_share_of_true_pairs() -> None:
    # bins: (.1, .1) with no true pair, (.55, .6) apart, (1, 1) with one true pair of two
    error = confidence.calibration_error([0.1, 0.1, 0.55, 0.6, 1, 1], [0, 0, 1, 0, 1, 0])
    assert error == pytest.approx((0.2 + 0.45 + 0.6 + 1) / 6)
    assert confidence.area_under_curve([0.9, 0.5], [0.5, 0.1]) == pytest.approx(3.5 / 4)


@pytest.mark.long
def test_confidences_are_those_of_all_pairs() -> None:
    task = {"network": "asia", "rows": 200, "net": 1, "seconds": None, "evaluations": 300}
    for method in confidence.METHODS:
        values = confidence.measure({**task, "method": method}).values
        assert len(values["true"]) == 8
        assert len(values["false"]) == 28 - 8
        assert np.mean(values["true"]) > np.mean(values["false"])


PUBLISHED: dict[str, Any] = {
    "density": "bins", "shape": "uniform", "max_bins": 15, "max_indegree": 6, "pseudo_count": 1.0,
    "max_seconds": 60.0, "max_evaluations": 500, "patience": 10.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EW", BayesNetLearner("equal-width", **PUBLISHED)),
        ("EF", BayesNetLearner("equal-frequency", **PUBLISHED)),
        ("BD", BayesNetLearner("bayesian", **PUBLISHED)),
        ("optimal", BayesNetLearner("optimal", **{**PUBLISHED, "pseudo_count": "auto"})),
        (
            "EF-AIC",
            BayesNetLearner(
                "equal-frequency",
                **{**PUBLISHED, "pseudo_count": 8.0},
                penalty="aic",
            ),
        ),
    ],
)
def test_learners_of_the_experiments_have_the_settings_of_their_recorded_rows(name, expected):
    assert repr(GOMEA_ALGORITHMS[name](max_evaluations=500)) == repr(expected)
    if name in ("EW", "EF", "BD"):
        assert repr(BayesNetLearner.published(name, max_evaluations=500)) == repr(expected)


@pytest.mark.parametrize(("name", "bins"), [("EF", "equal-frequency"), ("EW", "equal-width")])
def test_published_fronts_have_the_settings_of_their_recorded_rows(name, bins):
    expected = ParetoBayesNetLearner(**{**PUBLISHED_FRONT, "discretizer": bins, "max_seconds": 60.0})
    assert repr(ParetoBayesNetLearner.published(name)) == repr(expected)
    assert repr(STRATEGIES[name]()) == repr(expected)


def test_options_replace_published_ones_and_other_names_are_refused():
    assert BayesNetLearner.published("EF", max_bins=9).max_bins == 9
    assert ParetoBayesNetLearner.published(max_bins=15).discretizer == "equal-frequency"
    for learner in (BayesNetLearner, ParetoBayesNetLearner):
        with pytest.raises(GomeaBnError, match="name must be"):
            learner.published("LDBN")
