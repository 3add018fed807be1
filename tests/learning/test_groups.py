"""Tests of groups of rows, such as those of one person."""

import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import invoke, ok
from hypothesis import example, given
from hypothesis import strategies as st

from gomea_bn import (
    BayesNetClassifier,
    BayesNetEnsemble,
    BayesNetLearner,
    BayesNetRegressor,
    GomeaBnError,
    GomeaBnWarning,
    ParetoBayesNetLearner,
    read_table,
)
from gomea_bn.certainty import edge_probabilities
from gomea_bn.data.selection import likeness
from gomea_bn.data.weights import rows_to_search_in_groups
from gomea_bn.learning import network_of_graph
from gomea_bn.prediction import cross_validate
from gomea_bn.prediction.distributions import folds_of

OPTIONS: dict[str, Any] = {"max_seconds": None, "max_evaluations": 600, "random_state": 1}


def persons(n=80, m=8, seed=0):
    """Columns of persons, constant within each and independent, and two of rows, one of which follows the other."""
    rng = np.random.default_rng(seed)
    of_persons = {
        "person": rng.permutation(n) + 500,
        "age": rng.normal(50, 12, n),
        "sex": rng.choice(["f", "m"], n),
        "weight": rng.gamma(20, 3.5, n),
        "smoker": rng.choice(["no", "yes"], n),
    }
    rows = pd.DataFrame({name: np.repeat(values, m) for name, values in of_persons.items()})
    dose = rng.normal(size=n * m)
    return rows.assign(dose=dose, response=0.9 * dose + 0.4 * rng.normal(size=n * m))


def fitted(frame, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        return BayesNetLearner(**{**OPTIONS, **options}).fit(frame)


def slow_correlation(values, groups):
    """Intraclass correlation by the analysis of variance, group by group, in plain Python."""
    members = [
        [y for y, g in zip(values, groups, strict=True) if g == group] for group in sorted(set(groups))
    ]
    n, k = len(values), len(members)
    mean = sum(values) / n
    between = sum(len(m) * (sum(m) / len(m) - mean) ** 2 for m in members) / (k - 1)
    within = sum((y - sum(m) / len(m)) ** 2 for m in members for y in m) / (n - k)
    size = (n - sum(len(m) ** 2 for m in members) / n) / (k - 1)
    return (between - within) / (between + (size - 1) * within), between / within


@given(st.integers(0, 2**32 - 1), st.floats(0, 2))
def test_likeness_is_that_of_an_analysis_of_variance(seed, effect):
    rng = np.random.default_rng(seed)
    groups = np.append(np.arange(6), rng.integers(0, 6, 34))
    values = (effect * rng.normal(size=6)[groups] + rng.normal(size=40)).round(1)
    ranks = [float(np.mean(np.flatnonzero(np.sort(values) == value))) for value in values]
    correlation, ratio = slow_correlation(ranks, groups.tolist())
    found, found_ratio = likeness(values, groups)
    assert found == pytest.approx(max(correlation, 0.0), abs=1e-12)
    assert found_ratio == pytest.approx(ratio)
    # two levels are their indicator
    levels = (values > np.median(values)).astype(np.int64)
    if 0 < levels.sum() < 40:
        correlation, ratio = slow_correlation(levels.tolist(), groups.tolist())
        assert likeness(levels, groups)[0] == pytest.approx(max(correlation, 0.0), abs=1e-12)


def test_columns_that_are_constant_in_groups_have_a_correlation_of_one():
    groups = np.repeat(np.arange(20), 5)
    assert likeness(groups**2.0, groups)[0] == 1
    assert likeness(groups % 3, groups)[0] == 1
    assert likeness(np.zeros(100), groups)[0] == 0


def test_one_row_of_every_person_is_searched_and_all_are_counted():
    frame = persons()
    given_rows = read_table(frame, groups="person")
    table = rows_to_search_in_groups(given_rows)
    assert table.groups is not None
    assert table.all_rows is not None
    counts = np.bincount(np.unique(table.groups.codes, return_inverse=True)[1])
    # rows with the ends of dose and response are further ones
    assert len(counts) == 80
    assert counts.sum() <= 84
    for name in ("dose", "response"):
        values = table.columns[table.names.index(name)].values
        assert (values.min(), values.max()) == (frame[name].min(), frame[name].max())
    assert table.all_rows.table.n_rows == 640
    assert table.all_rows.weights.sum() == pytest.approx(table.n_rows)
    assert np.ptp(table.all_rows.weights) == 0
    # what was drawn is not drawn from again
    assert rows_to_search_in_groups(table) is table


def test_all_rows_are_searched_where_those_of_a_group_are_no_more_alike_than_others():
    rng = np.random.default_rng(3)
    x = rng.normal(size=600)
    frame = pd.DataFrame({"site": np.repeat(np.arange(20), 30), "x": x, "y": x + rng.normal(size=600)})
    assert rows_to_search_in_groups(read_table(frame, groups="site")).n_rows == 600


def test_some_rows_of_a_group_are_searched_where_they_are_a_little_alike():
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(50), 60)
    x, y = 0.4 * rng.normal(size=(2, 50))[:, site] + rng.normal(size=(2, 3000))
    table = rows_to_search_in_groups(read_table(pd.DataFrame({"site": site, "x": x, "y": y}), groups="site"))
    product = likeness(x, site)[0] * likeness(y, site)[0]
    assert 1 < 1 + int(0.1 / product) < 60
    assert 50 * (1 + int(0.1 / product)) <= table.n_rows <= 50 * (1 + int(0.1 / product)) + 4


# the two rows of a person have each other's ranks in two columns
@example(2048)
@given(st.integers(0, 2**32 - 1))
def test_the_rows_searched_do_not_depend_on_places_names_and_units(seed):
    rng = np.random.default_rng(seed)
    frame = persons(30, 3, seed % 100)
    order = rng.permutation(len(frame))
    other = frame.iloc[order][["dose", "smoker", "person", "age", "response", "sex", "weight"]]
    other = other.assign(person=[f"p{value:.0f}" for value in 7 - other["person"]], age=other["age"] * 365.25)
    first, second = (rows_to_search_in_groups(read_table(rows, groups="person")) for rows in (frame, other))
    doses, others = (np.sort(t.columns[t.names.index("dose")].values) for t in (first, second))
    np.testing.assert_array_equal(doses, others)


def test_edges_between_independent_columns_of_persons_vanish():
    frame, wanted = persons(), {frozenset(("dose", "response"))}
    alone = fitted(frame.drop(columns="person"))
    grouped = fitted(frame, groups="person")
    assert {frozenset(edge) for edge in alone.network_.edges} > wanted
    assert {frozenset(edge) for edge in grouped.network_.edges} == wanted
    assert grouped.network_.n_parameters < alone.network_.n_parameters / 10
    record = grouped.network_.metadata["groups"]
    assert record == {"column": "person", "groups": 80, "rows": 640, "searched": grouped.table_.n_rows}
    assert "80 groups of 640 rows by 'person'" in grouped.network_.summary()


def test_tables_count_all_rows():
    frame = persons(60, 5).assign(visit=np.where(np.arange(300) % 5 < 2, "early", "late"))
    learner = fitted(frame, groups="person", pseudo_count=0.001)
    searched = learner.table_.columns[learner.table_.names.index("visit")].values
    # those of the rows searched are off
    assert abs(np.mean(searched == 0) - 0.4) > 0.02
    assert learner.network_.query(["visit"])["early"] == pytest.approx(0.4, abs=1e-2)
    assert learner.network_.metadata["left_out_columns"] == {"person": "it names the groups of the rows"}


def test_the_column_of_groups_is_no_variable_unless_kinds_names_it():
    frame = persons(20, 4).assign(person=lambda rows: rows["person"] % 5)
    assert "person" not in read_table(persons(20, 4), groups="person").names
    table = read_table(frame, groups="person", kinds={"person": "discrete"})
    assert "person" in table.names
    assert table.groups is not None


def test_a_table_has_the_column_or_the_groups():
    frame = persons(30, 4)
    with pytest.warns(GomeaBnWarning, match="pass groups="):
        plain = read_table(frame)
    named = read_table(frame, groups="person")
    scores = [
        fitted(rows, groups=groups, max_evaluations=100).score_
        for rows, groups in ((frame, "person"), (plain, "person"), (named, "person"), (named, None))
    ]
    assert len(set(scores)) == 1
    for wrong in ("clinic", "age"):
        with pytest.raises(GomeaBnError, match="groups must be a column of the Table"):
            fitted(named, groups=wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "clinic"}, "groups: unknown column 'clinic'"),
        ({"groups": 3}, "groups must be the name of a column or None, got 3"),
        ({"groups": "gap"}, r"column 'gap' must name a group in every row; it is missing in row 2"),
        ({"groups": "few"}, "groups must leave at least 10 rows to search, got"),
    ],
)
def test_wrong_groups_are_refused(options, message):
    frame = persons(20, 4).assign(
        gap=lambda rows: rows["person"].where(rows.index != 2), few=np.arange(80) // 40
    )
    frame["of_few"] = frame["few"] * 1.5
    frame = frame[["few", "gap", "of_few", "sex"]] if options["groups"] == "few" else frame
    frame = frame.assign(other=frame["of_few"] > 0) if "of_few" in frame else frame
    with pytest.raises(GomeaBnError, match=message):
        fitted(frame.drop(columns=[] if options["groups"] == "gap" else "gap"), **options)


def test_rows_of_a_single_group_are_refused():
    frame = persons(1, 60)
    table = read_table(frame, groups="person", kinds={"age": "continuous", "weight": "continuous"})
    says = "all 60 rows have one value of 'person', and would count as one observation. Name a column of "
    with pytest.raises(GomeaBnError, match=says):
        network_of_graph(table, [("dose", "response")], {})
    with pytest.raises(GomeaBnError, match=says):
        BayesNetLearner(groups="person", **OPTIONS).fit(frame)


def test_a_gap_of_the_target_is_named_by_its_row_of_the_table():
    frame = persons()
    frame.loc[[3, 500], "smoker"] = None
    for learner in (BayesNetLearner, ParetoBayesNetLearner):
        with pytest.raises(GomeaBnError, match="got 2 missing values of 'smoker' in rows 3, 500"):
            learner(**OPTIONS, target="smoker", groups="person").fit(frame)


def test_weights_and_pieces_have_no_groups():
    frame = persons(20, 4)
    learner = BayesNetLearner(**OPTIONS, groups="person")
    with pytest.raises(GomeaBnError, match="sample_weight and groups both decide"):
        learner.fit(frame, sample_weight=np.ones(80))
    with pytest.raises(GomeaBnError, match="sample_weight and groups both decide"):
        cross_validate(frame, groups="person", sample_weight=np.ones(80))
    with pytest.raises(GomeaBnError, match="groups needs a table in memory"):
        learner.fit([frame, frame])


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_folds_hold_out_groups(seed, has_target):
    table = read_table(persons(25, 3), groups="person")
    folds = folds_of(table, "smoker" if has_target else None, 5, np.random.default_rng(seed))
    assert table.groups is not None
    assert {len(set(folds[table.groups.codes == code].tolist())) for code in range(25)} == {1}
    assert np.bincount(folds).tolist() == [15] * 5
    if has_target:
        shares = [
            table.columns[table.names.index("smoker")].values[folds == fold].mean() for fold in range(5)
        ]
        assert np.ptp(shares) <= 0.21


@pytest.mark.parametrize("cuts", [(), ("age", "weight", "dose", "response")])
def test_a_graph_of_ones_own_counts_persons(cuts):
    frame = persons()
    given = {name: [float(frame[name].median())] for name in cuts}
    edges = [("dose", "response"), ("age", "smoker")]
    network = network_of_graph(read_table(frame, groups="person"), edges, given)
    record: Any = network.metadata["groups"]
    assert (record["groups"], record["rows"]) == (80, 640)
    assert 80 <= record["searched"] <= 84
    alone = network_of_graph(read_table(frame.drop(columns="person")), edges, given)
    answers = [of.query("smoker", {"age": (None, 50)}, interval=0.9).attrs for of in (network, alone)]
    widths = [np.subtract(of["interval"]["high"], of["interval"]["low"]).max() for of in answers]
    # the rows of a person are not eight observations
    assert widths[0] > 1.5 * widths[1]
    assert answers[0]["rows"]["rows"] == answers[1]["rows"]["rows"] > 200
    assert answers[0]["rows"]["evidence"] == pytest.approx(answers[0]["rows"]["rows"] / 8, rel=0.1)
    # all rows are counted, by the same weight
    expected = (frame["sex"] == "f").mean()
    assert network.query("sex")["f"] == pytest.approx(alone.query("sex")["f"], abs=0.01)
    assert network.query("sex")["f"] == pytest.approx(expected, abs=0.02)


def test_standard_errors_are_those_of_means_over_groups():
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(100), 9)
    x = rng.normal(size=100)[person] + 0.001 * rng.normal(size=900)
    frame = pd.DataFrame(
        {"person": person, "x": x, "k": np.where(rng.normal(size=100)[person] > 0, "a", "b")}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        alone = cross_validate(frame.drop(columns="person"), compare=["histogram"], random_state=1)
        grouped = cross_validate(frame, compare=["histogram"], random_state=1, groups="person")
    ratio = grouped["log_density_error"].iloc[0] / alone["log_density_error"].iloc[0]
    # nine rows that agree are one
    assert 2.4 < ratio < 3.6
    with pytest.raises(GomeaBnError, match="folds must be at most the number of groups, 100, got 200"):
        cross_validate(frame, folds=200, groups="person")


@pytest.mark.parametrize("resampling", ["subsample", "bootstrap"])
def test_ensembles_draw_groups(resampling):
    learner = BayesNetLearner(**{**OPTIONS, "max_evaluations": 200}, groups="person")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        ensemble = BayesNetEnsemble(learner, n_networks=2, resampling=resampling, random_state=1).fit(
            persons()
        )
    assert ensemble.table_.n_rows <= 84
    assert {network.metadata["groups"]["rows"] for network in ensemble.networks_} == {640}
    if resampling == "subsample":
        of_persons = {"age", "sex", "weight", "smoker"}
        assert not any(set(edge) <= of_persons for network in ensemble.networks_ for edge in network.edges)


def test_fronts_and_estimators_take_groups():
    frame = persons(40, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        options: dict[str, Any] = {
            "max_seconds": None,
            "max_evaluations": 300,
            "single_evaluations": 200,
            "random_state": 1,
        }
        front = ParetoBayesNetLearner(**options, groups="person").fit(frame)
        learner = BayesNetLearner(**{**OPTIONS, "max_evaluations": 200}, groups="person")
        classifier = BayesNetClassifier(learner, structure="naive").fit(
            frame.drop(columns="smoker"), frame["smoker"]
        )
        regressor = BayesNetRegressor(learner, random_state=1).fit(
            frame.drop(columns="response"), frame["response"]
        )
    for table in (front.table_, classifier.table_, regressor.table_):
        assert table.n_rows < 60
        assert "person" not in table.names
    assert "by 'person'" in front.front_.knee().network.summary()
    # rows have the column, which says nothing
    X = frame.drop(columns="response")
    np.testing.assert_array_equal(regressor.predict(X), regressor.predict(X.assign(person=-1)))
    assert regressor.score(X, frame["response"]) > 0.6
    with pytest.raises(GomeaBnError, match="groups must be a column of X, got the target 'person'"):
        BayesNetRegressor(learner).fit(X.drop(columns="person"), pd.Series(np.arange(200.0), name="person"))


def test_probabilities_of_edges_count_groups():
    frame = persons(40, 6)
    learner = fitted(frame, groups="person", max_evaluations=200)
    by_table, by_frame = (
        edge_probabilities(learner.network_, rows, random_state=1).arcs for rows in (learner.table_, frame)
    )
    np.testing.assert_allclose(by_table, by_frame, atol=1e-9)
    with pytest.warns(GomeaBnWarning, match="groups by 'person', which is no column of the rows"):
        edge_probabilities(learner.network_, frame.drop(columns="person"), random_state=1)


def noticed(frame):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(frame)
    return [str(one.message) for one in caught if "pass groups=" in str(one.message)]


def test_groups_without_the_option_are_noticed():
    frame = persons(40, 4)
    (said,) = noticed(frame)
    assert "'person' (40 values, within each of which '" in said
    assert said.endswith('pass groups="person".')
    # by their runs, whatever the name
    (said,) = noticed(frame.rename(columns={"person": "z"}))
    assert "'z' (40 values, within each of which 'age', 'sex', 'weight' and 1 more are constant)" in said
    # texts, in any order, under the name of an identifier
    mixed = frame.assign(person=frame["person"].map("p{}".format)).sample(frac=1, random_state=1)
    (said,) = noticed(mixed.rename(columns={"person": "PatientID"}))
    assert 'pass groups="PatientID"' in said
    assert not noticed(frame.drop(columns="person"))


def test_ordinary_columns_are_not_taken_for_groups():
    rng = np.random.default_rng(5)
    n = 600
    age = np.sort(rng.integers(20, 60, n))
    frame = pd.DataFrame(
        {
            "age": age,
            "decade": age // 10,
            "half": np.where(age < 40, "young", "old"),
            "month": np.tile(np.arange(12), n // 12),
            "case_number": rng.integers(0, 100, n),
            "site": rng.choice(list("abcd"), n),
            "x": rng.normal(size=n) + age / 10,
            "y": rng.normal(size=n),
        }
    )
    assert not noticed(frame)
    assert not noticed(frame.assign(id=np.arange(n) * 7 % 601))


def test_commands_take_groups(tmp_path):
    path, out = tmp_path / "rows.csv", tmp_path / "run"
    persons(40, 4).to_csv(path, index=False)
    options = ["--max-seconds", "0", "--max-evaluations", "200", "--seed", "1"]
    plain = invoke("learn", str(path), *options)
    assert "give --group person" in plain.output
    result = ok("learn", str(path), "--group", "person", *options, "--out", str(out))
    assert "40 groups of 160 rows by 'person'" in result.output
    record = json.loads((out / "run.json").read_text())
    assert record["parameters"]["groups"] == "person"
    assert record["data"]["groups"]["rows"] == 160
    ok("confidence", str(out), "--repeat", "1", "--max-seconds", "5")
    arguments = ["--compare", "histogram", "--folds", "2", "--seed", "1"]
    ok("cross-validate", str(path), "--group", "person", *arguments)
    edges, own = tmp_path / "edges.csv", tmp_path / "own.json"
    edges.write_text("parent,child\ndose,response\n")
    ok("fit", str(edges), str(path), "--group", "person", "-o", str(own))
    assert json.loads(own.read_text())["metadata"]["groups"]["column"] == "person"
    noticed_in_fit = ok("fit", str(edges), str(path), "-o", str(own)).stderr
    assert noticed_in_fit.count("'person' (40 values") == 1
    wrong = invoke("learn", str(path), "--group", "clinic", *options)
    assert wrong.exit_code == 2
    assert "--group: unknown column 'clinic'" in wrong.output
    both = invoke("learn", str(path), "--group", "person", "--weight", "age", *options)
    assert both.exit_code == 2
    assert "--weight and --group both decide" in both.output
