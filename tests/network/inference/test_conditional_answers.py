"""Answers of networks with conditional densities: against sums over grids, drawn rows, and each other."""

import copy
import pickle
import warnings
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import LEVELS, SUPPORT, averaged_example, copy_with, grid_of, tables_of
from inference_examples import slow_joint
from numpy.testing import assert_allclose
from numpy.typing import NDArray

from gomea_bn import (
    BayesNetLearner,
    DiscretizedBayesNet,
    GomeaBnError,
    GomeaBnWarning,
    average_families,
    read_table,
)
from gomea_bn.network.conditionals import Columns, Conditionals
from gomea_bn.network.inference import answers, cell_engine
from gomea_bn.network.inference.completion import completed_table
from gomea_bn.network.inference.engine import engine_for
from gomea_bn.network.inference.evidence import EvidenceReader
from gomea_bn.network.marginals import marginal
from gomea_bn.problems.cuts import bin_codes

N_DRAWS = 20_000


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return averaged_example()


@pytest.fixture(scope="module")
def rows(network: DiscretizedBayesNet) -> pd.DataFrame:
    return network.sample(40, random_state=1, values="numbers")


@pytest.fixture(scope="module")
def gaps(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.mask(np.random.default_rng(2).random(rows.shape) < 0.4)


@cache
def _drawn(n: int) -> pd.DataFrame:
    return averaged_example().sample(n, random_state=3, values="numbers")


def _grid_values(network: DiscretizedBayesNet, name: str, n_cells: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return values of a column, or codes of its levels, and the logarithms of the widths of their cells."""
    if name in LEVELS:
        return np.arange(len(LEVELS[name])), np.zeros(len(LEVELS[name]))
    middles, widths = grid_of(network, name, n_cells)
    if name == "p":
        # the column has a point mass at 0
        return np.append(middles, 0.0), np.append(np.log(widths), 0.0)
    return middles, np.log(widths)


def _slow_answer(
    network: DiscretizedBayesNet,
    targets: list[str],
    known: Mapping[str, float],
    *,
    cut: Mapping[str, float] | None = None,
    n_cells: int = 60,
) -> NDArray[np.float64]:
    """Return P(shown bins or levels of targets | exact values), summed over the product of grids of all other columns.

    The columns of `cut` have a value by an intervention: their densities do not count.
    """
    known = {**known, **(cut or {})}
    unknown = [name for name in network.names if name not in known]
    shape = [1] * len(unknown)
    values: dict[str, NDArray[Any]] = {name: np.array(value).reshape(shape) for name, value in known.items()}
    logs: Any = 0.0
    codes = {}
    for axis, name in enumerate(unknown):
        of_column, widths = _grid_values(network, name, n_cells)
        along = [-1 if k == axis else 1 for k in range(len(unknown))]
        values[name] = of_column.reshape(along)
        logs = logs + widths.reshape(along)
        codes[name] = of_column if name in LEVELS else bin_codes(of_column, network.cut_points[name])
    columns = Columns(values)
    for name in network.names:
        if name not in (cut or {}):
            logs = logs + network.families[name].log_density(columns)
    joint = np.exp(logs - logs.max())
    for axis, name in enumerate(unknown):
        if name in targets:
            sums = [
                joint.compress(codes[name] == code, axis).sum(axis, keepdims=True)
                for code in range(network.cardinality(name))
            ]
            joint = np.concatenate(sums, axis)
        else:
            joint = joint.sum(axis, keepdims=True)
    places = [unknown.index(name) for name in targets]
    result = np.moveaxis(joint, places, range(len(places))).ravel()
    return np.asarray(result / result.sum())


@pytest.mark.parametrize(
    ("targets", "known"),
    [
        (["g"], {"b": 5.7, "c": 0.4}),
        (["d"], {"b": 5.7, "a": 0.2}),
        (["a"], {"b": 5.5, "d": 1, "p": 3.0}),
        (["p"], {"b": 6.2, "c": 0.9, "g": 1}),
        (["g", "c"], {"a": 0.3, "b": 6.0}),
        (["b", "g"], {"a": 2.5, "p": 0.0, "d": 2}),
        (["b"], {"c": 0.15, "d": 0, "a": -0.7}),
    ],
)
def test_answers_are_sums_over_fine_grids(network, targets, known):
    evidence = {name: LEVELS[name][int(v)] if name in LEVELS else v for name, v in known.items()}
    answer = network.query(targets, evidence)
    np.testing.assert_allclose(answer, _slow_answer(network, targets, known), atol=0.005)
    assert answer.attrs["resolution_error"] < 0.01
    # the tables over the shown bins do not know the exact values
    of_bins = network.query(targets, evidence, cells="bins")
    assert np.abs(of_bins - _slow_answer(network, targets, known)).max() > 0.004


@pytest.mark.parametrize(
    ("targets", "evidence"),
    [
        ("d", None),
        ("a", {"b": (5.4, 5.6), "g": "no"}),
        (["g", "c"], {"d": {0, 1}, "p": None}),
        ("g", {"d": {0: 0.2, 2: 1.0}, "a": (0.5, None)}),
        ("p", {"b": {(5.0, 5.4), (6.5, 6.9)}, "c": 0.4}),
        ("a", {"b": {(7.5, 8.0): 1.0, (2.0, 3.0): 4.0, (5.0, 5.2): 6.0}}),
        ("c", {"p": 0.0, "a": 9.0, "d": 1}),
    ],
)
@pytest.mark.filterwarnings("ignore:Values outside")
def test_answers_agree_with_weighted_draws(network, targets, evidence):
    exact = network.query(targets, evidence)
    estimate = network.query(targets, evidence, method="sampling", n_draws=N_DRAWS, random_state=1)
    assert exact.index.equals(estimate.index)
    error = estimate.attrs["standard_error"]
    assert 0 < error < 0.03
    assert np.abs(exact - estimate).max() < 4 * error + exact.attrs["resolution_error"]
    assert np.isclose(estimate.sum(), 1)


def test_answers_agree_with_drawn_rows(network):
    drawn = _drawn(200_000)
    chosen = drawn[drawn["b"].between(5.4, 5.6) & (drawn["g"] == "no")]
    answer = network.query("a", {"b": (5.4, 5.6), "g": "no"})
    codes = np.searchsorted(network.cut_points["a"], chosen["a"])
    expected = np.bincount(codes, minlength=len(answer)) / len(chosen)
    assert np.abs(answer.to_numpy() - expected).max() < 4 * 0.5 / np.sqrt(len(chosen))


def test_marginals_agree_with_drawn_rows(network):
    codes = network.discretize(_drawn(200_000))
    for name in network.names:
        answer, is_exact = marginal(network, name)
        expected = np.bincount(codes[name], minlength=network.cardinality(name)) / len(codes)
        assert is_exact
        np.testing.assert_allclose(answer, expected, atol=0.006)


def test_standard_errors_are_the_spread_of_repeated_estimates(network):
    answers = [
        network.query("g", {"b": 5.7, "c": (0.2, 0.6)}, method="sampling", n_draws=500, random_state=seed)
        for seed in range(150)
    ]
    spread = np.std([answer.to_numpy()[0] for answer in answers])
    assert np.isclose(np.mean([answer.attrs["standard_error"] for answer in answers]), spread, rtol=0.2)


def test_probabilities_of_levels_are_ratios_of_joint_densities(network, rows):
    for target in ("g", "d"):
        joint = np.column_stack(
            [np.exp(network.log_density(rows.assign(**{target: level}))) for level in LEVELS[target]]
        )
        answer = network.predict_proba(rows.drop(columns=target), target)
        np.testing.assert_allclose(answer, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
        assert answer.attrs["cells"] == 0
        predicted = network.predict(rows, target)
        assert predicted.tolist() == [LEVELS[target][code] for code in joint.argmax(axis=1)]


def test_means_medians_and_quantiles_are_those_of_the_density(network, rows):
    row = rows.iloc[:1]
    for name in ("a", "b", "c"):
        values, widths = grid_of(network, name, 4000)
        density = network.log_density(pd.concat([row] * len(values)).assign(**{name: values}))
        masses = np.exp(density - density.max()) * widths
        masses /= masses.sum()
        answer = network.predict_interval(row, name, [0.1, 0.9]).iloc[0]
        low, high = SUPPORT[name]
        expected = [
            masses @ values,
            *(values[np.searchsorted(np.cumsum(masses), q)] for q in (0.5, 0.1, 0.9)),
        ]
        assert np.abs(answer.to_numpy() - expected).max() < 0.01 * (high - low)
        assert network.predict(row, name).iloc[0] == pytest.approx(answer["mean"])


def test_densities_of_some_columns_given_others_integrate_to_1(network, rows):
    for name, given in (("b", ["c"]), ("c", ["a", "d"]), ("p", ["b"]), ("a", [])):
        values, log_widths = _grid_values(network, name, 400)
        frame = pd.concat([rows.iloc[:1]] * len(values)).assign(**{name: values})
        density = network.log_density(frame, of=name, given=given)
        # numerator and denominator are sums over different cells
        assert np.exp(density + log_widths).sum() == pytest.approx(1, abs=0.03)


def test_densities_of_rows_with_missing_cells_are_sums_of_complete_ones(network, rows):
    for missing in (["g"], ["d"], ["g", "d"]):
        complete = [rows.iloc[:5]]
        for name in missing:
            complete = [frame.assign(**{name: level}) for frame in complete for level in LEVELS[name]]
        expected = np.logaddexp.reduce([network.log_density(frame) for frame in complete])
        answer = network.log_density(rows.iloc[:5].assign(**dict.fromkeys(missing)))
        np.testing.assert_allclose(answer, expected, atol=1e-9)
    values, log_widths = _grid_values(network, "b", 400)
    terms = network.log_density(pd.concat([rows.iloc[:1]] * len(values)).assign(b=values)) + log_widths
    answer = network.log_density(rows.iloc[:1].assign(b=np.nan))
    assert answer[0] == pytest.approx(np.logaddexp.reduce(terms), abs=0.01)


def test_a_row_is_answered_alike_in_every_company(network, gaps):
    order = np.random.default_rng(0).permutation(len(gaps))
    target = gaps.drop(columns="b")
    whole, densities = network.predict_proba(target, "b").to_numpy(), network.log_density(gaps)
    np.testing.assert_allclose(network.predict_proba(target.iloc[order], "b"), whole[order], rtol=1e-12)
    np.testing.assert_allclose(network.log_density(gaps.iloc[order]), densities[order], rtol=1e-12)
    np.testing.assert_allclose(network.predict_proba(target.iloc[3:4], "b"), whole[3:4], rtol=1e-12)
    np.testing.assert_allclose(network.log_density(gaps.iloc[3:4]), densities[3:4], rtol=1e-12)


def test_rows_of_a_frame_agree_with_single_questions(network, gaps):
    of_a: list[object] = [(0.0, 1.5), *gaps["a"].tolist()[1:]]
    questions = gaps[["b", "d"]].assign(a=pd.Series(of_a, index=gaps.index, dtype=object))
    answers = network.query("c", questions, cells=64)
    for row in range(6):
        evidence = {str(name): value for name, value in questions.iloc[row].items()}
        expected = network.query("c", evidence, cells=64)
        np.testing.assert_allclose(answers.iloc[row], expected, rtol=1e-12)


def test_copies_give_the_same_answers(network, gaps):
    expected = network.predict_proba(gaps, "c")
    for other in (pickle.loads(pickle.dumps(network)), copy.deepcopy(network), averaged_example()):
        assert other == network
        pd.testing.assert_frame_equal(other.predict_proba(gaps, "c"), expected)
        np.testing.assert_array_equal(other.log_density(gaps), network.log_density(gaps))


def test_bins_as_cells_answer_by_the_shown_tables(network, gaps):
    evidence = {"a": 0.3, "d": 2, "c": 0.7}
    likelihoods = {
        name: np.eye(network.cardinality(name))[
            LEVELS[name].index(value)
            if name in LEVELS
            else int(np.searchsorted(network.cut_points[name], value))
        ]
        for name, value in evidence.items()
    }
    expected = slow_joint(network.of_tables(), likelihoods, ["b"])
    answer = network.query("b", evidence, cells="bins")
    np.testing.assert_allclose(answer, expected / expected.sum(), atol=1e-12)
    assert "cells" not in answer.attrs
    pd.testing.assert_frame_equal(
        network.predict_proba(gaps, "a", cells="bins"), network.of_tables().predict_proba(gaps, "a")
    )


def test_more_cells_come_nearer_to_the_density(network):
    known = {"b": 5.9, "d": 1}
    expected = _slow_answer(network, ["a"], known, n_cells=50)
    errors = {}
    for cells in (1, 16, 64, None):
        answer = network.query("a", known, cells=cells)
        errors[cells] = np.abs(answer - expected).max()
        shown = max(map(network.cardinality, SUPPORT))
        assert answer.attrs["cells"] <= max(cells or 10**6, shown + 1)
    assert errors[None] < errors[16] < errors[1]
    assert np.isnan(network.query("a", known, cells=1).attrs["resolution_error"])
    assert network.query("g", {"a": 0.2, "b": 6.0, "p": 1.0}).attrs == {"cells": 0, "resolution_error": 0.0}


@pytest.mark.parametrize("cells", [0, -1, 2.5, True, "fine"])
def test_wrong_cells_are_refused(network, cells):
    with pytest.raises(GomeaBnError, match="cells"):
        network.query("a", cells=cells)
    with pytest.raises(GomeaBnError, match="cells"):
        network.of_tables().predict_proba(pd.DataFrame({"a": [1.0]}), "b", cells=cells)


def test_networks_of_tables_know_no_cells(network, gaps):
    of_tables = network.of_tables()
    plain = of_tables.query("b", {"a": 0.3})
    assert plain.attrs == {}
    np.testing.assert_array_equal(of_tables.query("b", {"a": 0.3}, cells=64), plain)
    # all numbers of a bin are the same evidence
    np.testing.assert_array_equal(of_tables.query("b", {"a": 0.301}), plain)
    assert (network.query("b", {"a": 0.3}) != network.query("b", {"a": 0.301})).any()


def test_one_set_of_cuts_answers_like_its_tables():
    of_tables = copy_with(1)
    conditionals = Conditionals.of_tables([tables_of(of_tables)], n_rows=60)
    network = of_tables.changed(conditionals=conditionals)
    frame = of_tables.sample(30, random_state=2, values="numbers")
    frame = frame.mask(np.random.default_rng(3).random(frame.shape) < 0.4)
    np.testing.assert_allclose(network.log_density(frame), of_tables.log_density(frame), atol=1e-6)
    for target in ("b", "g"):
        difference = network.predict_proba(frame, target) - of_tables.predict_proba(frame, target)
        # draws answer rows with many unknown columns of one family
        assert (difference.abs().max(axis=1) < 1e-6).mean() > 0.9
        assert difference.abs().to_numpy().max() < 0.02
    np.testing.assert_allclose(
        network.query(["a", "c"], {"b": (5.2, 6.1)}),
        of_tables.query(["a", "c"], {"b": (5.2, 6.1)}),
        atol=1e-6,
    )


def test_distributions_of_all_variables_are_those_of_single_ones(network, gaps):
    # both need different tables, but have the same cells if their number is set
    engine = engine_for(network, cells=20)
    reader = EvidenceReader(engine.network)
    stated: dict[str, object] = {"b": {(5.3, 5.9): 1.0, (6.5, 6.6): 3.0}, "d": {1, 2}, "a": 0.4}
    for evidence in (reader.frame(gaps, network.names)[0], reader.stated(stated)[0]):
        marginals = engine.marginals(evidence)
        for v in range(len(network.names)):
            rows = np.flatnonzero(evidence.codes[:, v] < 0)
            if v not in evidence.weights:
                expected = engine.joint(evidence.take(rows), [v]).tables
                np.testing.assert_allclose(marginals[v][rows], expected, atol=1e-9)
            np.testing.assert_allclose(marginals[v].sum(axis=1), 1)
    of_b, cells = marginals[network.names.index("b")][0], reader.bins["b"].edges
    inside = (cells[:-1] < 5.9) & (cells[1:] > 5.3) | (cells[:-1] < 6.6) & (cells[1:] > 6.5)
    assert (of_b[~inside] == 0).all()
    drawn = network.sample(4000, random_state=1, evidence=stated)
    assert abs((drawn["b"] > 6).mean() - of_b[cells[1:] > 6].sum()) < 4 * 0.5 / np.sqrt(4000)


def test_many_rows_are_answered_in_blocks(network, gaps, monkeypatch):
    whole = network.predict_interval(gaps, "b"), network.predict(gaps, "g"), network.impute(gaps, "mean")
    monkeypatch.setattr(answers, "MOST_CELLS", 1000)
    monkeypatch.setattr(cell_engine, "_OWN_CELLS", 3000)
    monkeypatch.setattr(cell_engine, "_BLOCK", 500)
    parts = network.predict_interval(gaps, "b"), network.predict(gaps, "g"), network.impute(gaps, "mean")
    pd.testing.assert_frame_equal(whole[0], parts[0])
    pd.testing.assert_series_equal(whole[1], parts[1])
    pd.testing.assert_frame_equal(whole[2], parts[2])


@pytest.mark.parametrize(
    ("values", "targets", "known"),
    [
        ({"c": 0.3}, ["d"], {}),
        ({"b": 5.8}, ["c"], {"a": 0.4}),
        ({"b": 5.8}, ["g"], {"a": 0.4}),
        ({"g": 1}, ["b"], {"a": 0.4, "c": 0.6}),
        ({"a": 1.2, "g": 0}, ["b"], {"d": 2}),
    ],
)
def test_interventions_leave_out_the_densities_of_what_they_set(network, values, targets, known):
    stated, evidence = (
        {name: LEVELS[name][int(v)] if name in LEVELS else v for name, v in of_some.items()}
        for of_some in (values, known)
    )
    answer = network.do(stated).query(targets, evidence)
    np.testing.assert_allclose(answer, _slow_answer(network, targets, known, cut=values), atol=0.004)


def test_what_an_intervention_sets_is_certain(network):
    after = network.do({"b": 5.8})
    assert after.query("b", {"a": 0.3}).loc[5.8] == 1
    assert after.sample(50, random_state=1, evidence={"c": (0.2, 0.4)})["b"].eq(5.8).all()
    rows = after.sample(20, random_state=2).assign(b=np.nan)
    assert after.impute(rows, random_state=3)["b"].eq(5.8).all()
    np.testing.assert_allclose(after.impute(rows, "mean")["b"], 5.8, atol=1e-6)
    with pytest.raises(GomeaBnError, match="probability 0"):
        after.query("c", {"b": 5.7})
    impossible = rows.assign(b=[5.8] * 19 + [5.7], c=np.nan)
    for how in ("draw", "mean"):
        for method in ("exact", "sampling"):
            with pytest.raises(GomeaBnError, match=r"row 19 .* probability 0"):
                after.impute(impossible, how, method=method, n_draws=50, random_state=1)
    # no evidence flows against a cut edge
    np.testing.assert_allclose(after.query("a", {"c": 0.3}), network.query("a"), atol=1e-9)


def test_filled_cells_are_distributed_like_the_answers(network, rows):
    row = rows.iloc[[4]].assign(a=np.nan, c=np.nan, g=None, d=None)
    n = 4000
    filled = network.impute(pd.concat([row] * n, ignore_index=True), random_state=1)
    for name in ("a", "c"):
        spread = filled[name].std() / np.sqrt(n)
        assert abs(filled[name].mean() - network.predict(row, name).iloc[0]) < 4 * spread
    for name in ("g", "d"):
        shares = filled[name].value_counts(normalize=True).reindex(LEVELS[name])
        expected = network.predict_proba(row, name).iloc[0]
        assert np.abs(shares.to_numpy() - expected.to_numpy()).max() < 4 * 0.5 / np.sqrt(n)
    # columns without evidence below them follow their exact densities given the drawn parents
    codes = pd.Categorical(filled["d"], LEVELS["d"]).codes
    masses = network.families["d"].masses(None, Columns({"c": filled["c"].to_numpy()}))
    assert np.abs(np.eye(3)[codes].mean(axis=0) - masses.mean(axis=0)).max() < 4 * 0.5 / np.sqrt(n)


def test_filled_means_and_modes_are_the_predictions(network, gaps):
    for how in ("mean", "mode"):
        filled = network.impute(gaps, how)
        for name in ("a", "b", "g"):
            missing = gaps[name].isna()
            expected = network.predict(gaps[missing], name, how if name in SUPPORT else "mode")
            if name in SUPPORT:
                # both need different tables, and may have different cells
                np.testing.assert_allclose(filled.loc[missing, name].astype(float), expected, atol=0.03)
            else:
                assert filled.loc[missing, name].tolist() == expected.tolist()


def test_rows_drawn_given_evidence_agree_with_the_answers(network):
    evidence = {"b": (5.3, 5.9), "d": {1, 2}, "p": 2.0}
    drawn = network.sample(4000, random_state=2, evidence=evidence)
    assert drawn["b"].between(5.3, 5.9).all()
    assert drawn["p"].eq(2.0).all()
    assert set(drawn["d"]) == {1, 2}
    codes = network.discretize(drawn)
    for name in ("a", "c", "g"):
        shares = np.bincount(codes[name], minlength=network.cardinality(name)) / len(codes)
        assert np.abs(shares - network.query(name, evidence)).max() < 4 * 0.5 / np.sqrt(4000)


def test_filled_tables_keep_what_is_observed(network, gaps):
    kinds = {name: "continuous" if name in SUPPORT else "discrete" for name in network.names}
    table = read_table(gaps.astype({"d": float}).astype({"d": "Int64"}), kinds=kinds, missing="keep")
    filled = completed_table(network, table, np.random.default_rng(1))
    assert filled.n_missing == 0
    for before, after in zip(table.columns, filled.columns, strict=True):
        seen = before.values >= 0 if before.levels else ~np.isnan(before.values)
        np.testing.assert_array_equal(after.values[seen], before.values[seen])


def test_sampling_answers_all_questions(network, gaps):
    options: dict[str, Any] = {"method": "sampling", "n_draws": 4000, "random_state": 1}
    few = gaps.iloc[:6]
    answer = network.predict_proba(few, "b", **options)
    errors = np.array(answer.attrs["standard_error"])
    assert (np.abs(answer - network.predict_proba(few, "b", cells=64)).max(axis=1) < 5 * errors + 0.01).all()
    assert not network.impute(few, "draw", **options).isna().any().any()
    means = network.impute(few, "mean", **options)["a"].to_numpy()
    np.testing.assert_allclose(means, network.impute(few, "mean")["a"], atol=0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GomeaBnWarning)
        density = network.log_density(few, **options)
    np.testing.assert_allclose(density, network.log_density(few), atol=0.3)
    with pytest.raises(GomeaBnError, match="agrees with the evidence"):
        network.do({"b": 5.8}).query("a", {"b": 5.7}, **options)


def test_numbers_outside_the_support_count_as_its_ends(network):
    with pytest.warns(GomeaBnWarning, match="1 value of 'a'"):
        outside = network.query("b", {"a": 20.0})
    np.testing.assert_array_equal(outside, network.query("b", {"a": SUPPORT["a"][1]}))
    frame = pd.DataFrame({"a": [-5.0], "g": ["no"], "p": [-3.0], "c": [0.2], "d": [1]})
    with pytest.warns(GomeaBnWarning, match="'a'"):
        answer = network.predict_proba(frame, "b")
    # the lower end of "p" is a point mass
    pd.testing.assert_frame_equal(answer, network.predict_proba(frame.assign(a=-1.0, p=0.0), "b"))
    with pytest.warns(GomeaBnWarning, match="'c'"):
        assert network.do({"c": 7.0}) == network.do({"c": 1.0})


def test_intervals_outside_the_support_count_as_its_end_bins(network):
    last = network.cut_points["b"][-1]
    with pytest.warns(GomeaBnWarning, match="'b'"):
        outside = network.query("a", {"b": (7.5, 8.0)})
    np.testing.assert_allclose(outside, network.query("a", {"b": (last, None)}), atol=1e-12)


def network_of_ties(*before: str) -> DiscretizedBayesNet:
    """Return the network of `tied_network`, with some columns moved before the others."""
    generator = np.random.default_rng(3)
    a = generator.normal(size=3000)
    b = a + 0.01 * generator.normal(size=3000)
    c = 100 * (b - a) + 0.3 * generator.normal(size=3000)
    g = pd.Categorical((c + 0.3 * generator.normal(size=3000) > 0.7).astype(int))
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "g": g, "apart": generator.normal(size=3000)})
    cuts = {name: np.quantile(frame[name], [0.25, 0.5, 0.75]) for name in ("a", "b", "c", "apart")}
    edges = [("a", "b"), ("a", "c"), ("b", "c"), ("c", "g")]
    frame = frame[[*before, *(name for name in frame if name not in before)]]
    return average_families(DiscretizedBayesNet.from_table(frame, edges, cuts), frame, n_copies=1)


@pytest.fixture(scope="module")
def tied_network() -> DiscretizedBayesNet:
    """A network of a, a column that all but equals it, and a third one that depends on their small difference."""
    return network_of_ties()


def test_columns_without_influence_on_an_answer_are_not_drawn_for_it(tied_network):
    other = network_of_ties("apart")
    assert other.order[0] == "apart"
    for known in ({}, {"a": (0.0, 1.0)}):
        answer = tied_network.query("g", known)
        assert "standard_error" in answer.attrs
        assert answer.equals(other.query("g", known))


def test_draws_answer_where_cells_are_too_coarse(tied_network):
    drawn = tied_network.sample(400_000, random_state=8)
    for known, rows in (({}, slice(None)), ({"a": (0.0, 1.0)}, drawn["a"].between(0.0, 1.0))):
        answer = tied_network.query("g", known)
        share = (drawn["g"][rows] == 1).mean()
        assert set(answer.attrs) == {"standard_error"}
        assert answer[1] == pytest.approx(share, abs=0.006)
        # a number of cells that was asked for is kept, with its error
        by_cells = tied_network.query("g", known, cells=24)
        assert abs(by_cells[1] - share) > 0.02
        assert "resolution_error" in by_cells.attrs
    assert tied_network.query("g").equals(tied_network.query("g"))


def test_explanations_of_many_findings_warn_where_draws_contradict_them(tied_network):
    generator = np.random.default_rng(1)
    frame = tied_network.sample(3000, random_state=2).assign(
        **{name: pd.Categorical(generator.integers(0, 2, 3000)) for name in "uvwt"}
    )
    edges = [*tied_network.edges, ("u", "v"), ("v", "w"), ("w", "t")]
    cuts = tied_network.cut_points
    wider = average_families(DiscretizedBayesNet.from_table(frame, edges, cuts), frame, n_copies=1)
    # cells of levels answer about intervals
    findings = {**dict.fromkeys("uvwt", 1), "a": (0.0, 1.0)}
    with pytest.warns(GomeaBnWarning, match="too coarse for columns that almost determine each other"):
        wider.explain("g", findings, state=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        wider.explain("t", {**dict.fromkeys("uvw", 1), "a": (0.0, 1.0)}, state=1)


def test_explanations_are_by_draws_where_cells_are_too_coarse(tied_network):
    drawn = tied_network.sample(400_000, random_state=8)
    why = tied_network.explain("g", {"a": (0.0, 1.0)}, state=1)
    rows = drawn["a"].between(0.0, 1.0)
    assert why.baseline == pytest.approx((drawn["g"] == 1).mean(), abs=0.012)
    assert why.answer == pytest.approx((drawn["g"][rows] == 1).mean(), abs=0.012)
    assert why.pushes["shapley"].sum() == pytest.approx(why.answer - why.baseline, abs=1e-12)
    # draws are no reason to say that a column without a path to the target moves it
    assert why.drivers.loc["apart", "lowest"] == why.drivers.loc["apart", "highest"]
    assert why.drivers.loc["apart", "bits"] == 0.0
    low, high = (drawn["g"][drawn["c"].between(*ends)].astype(int).mean() for ends in ((-9, -1), (1, 9)))
    assert why.drivers.loc["c", "lowest"] < low + 0.1
    assert why.drivers.loc["c", "highest"] > high - 0.2


def test_finer_cells_explain_before_draws_of_rare_findings_do() -> None:
    rng = np.random.default_rng(0)
    r, angle = rng.gamma(9, 1, 3000), rng.uniform(0, 2 * np.pi, 3000)
    frame = pd.DataFrame({"r": r, "p": r * (1 + 0.002 * rng.normal(size=3000))})
    frame["x"], frame["y"] = np.cos(angle), np.sin(angle) + 0.05 * rng.normal(size=3000)
    frame["k"] = r + 3 * frame["y"] + rng.normal(size=3000) * (0.2 + frame["y"].abs())
    cuts = {str(name): np.quantile(frame[name], np.arange(1, 6) / 6) for name in frame}
    edges = [("r", "p"), ("x", "y"), ("r", "k"), ("y", "k")]
    network = average_families(DiscretizedBayesNet.from_table(frame, edges, cuts), frame, n_copies=1)
    drawn = network.sample(500_000, random_state=9)
    rows = drawn["p"].between(8.0, 8.5) & drawn["x"].between(-0.1, 0.1)
    why = network.explain("k", {"p": (8.0, 8.5), "x": (-0.1, 0.1)})
    assert why.answer == pytest.approx(drawn["k"][rows].mean(), abs=0.2)


@pytest.fixture(scope="module")
def network_of_many_parents() -> DiscretizedBayesNet:
    """Return a network whose outcome follows eleven columns of six levels each."""
    r = np.random.default_rng(3)
    names = [f"c{number}" for number in range(11)]
    frame = pd.DataFrame({name: r.choice(list("abcdef"), 3_000) for name in names})
    odds = sum(0.8 * frame[name].isin(["a", "b", "c"]) - 0.4 for name in names)
    frame["y"] = np.where(odds + r.logistic(size=3_000) > 0, "yes", "no")
    learner = BayesNetLearner(target="y", max_evaluations=200, random_state=1, n_jobs=1)
    return learner.fit(frame).network_


def test_draws_answer_where_tables_would_be_too_large(network_of_many_parents):
    network = network_of_many_parents
    assert len(network.parents("y")) == 11
    drawn = network.sample(100_000, random_state=2)
    questions = {"c0": ["a", "f"], "c3": ["b", None]}
    answers = []
    for c0, c3 in zip(*questions.values(), strict=True):
        answer = network.query("y", {"c0": c0, "c3": c3})
        same = (drawn["c0"] == c0) & ((drawn["c3"] == c3) if c3 else True)
        share = float((drawn["y"][same] == "yes").mean())
        # two findings leave few enough combinations
        error = answer.attrs.get("standard_error", 0.0)
        assert error < 0.01
        assert (error > 0) == (c3 is None)
        assert abs(answer["yes"] - share) < 4 * np.hypot(error, np.sqrt(share * (1 - share) / same.sum()))
        answers.append(answer["yes"])
    of_rows = network.query("y", pd.DataFrame(questions))
    assert_allclose(of_rows["yes"], answers, atol=0.02)
    assert 0 < of_rows.attrs["standard_error"][1] < 0.01


def test_answers_by_draws_do_not_depend_on_other_rows(network_of_many_parents, monkeypatch):
    network = network_of_many_parents
    rows = pd.DataFrame({"y": ["yes", "no", "no"], "c1": ["a", "b", "b"]})
    answers = network.query("c0", rows)
    assert_allclose(answers.iloc[1], answers.iloc[2], rtol=1e-12)
    assert_allclose(network.query("c0", rows.iloc[2:]).iloc[0], answers.iloc[2], rtol=1e-12)
    # the errors of few draws say nothing
    monkeypatch.setattr("gomea_bn.network.inference.cell_engine._DRAWS_OF_LARGE", 4)
    with pytest.warns(GomeaBnWarning, match="in 3 rows"):
        assert network.query("c0", rows).attrs["standard_error"] == [1.0, 1.0, 1.0]


def test_tables_that_are_too_large_are_refused_where_cells_are_given(network_of_many_parents):
    with pytest.raises(GomeaBnError, match="needs tables of about"):
        network_of_many_parents.query("y", {"c0": "a"}, cells=64)
    with pytest.raises(GomeaBnError, match="needs tables of about"):
        network_of_many_parents.query("y", {"c0": "a"}, cells="bins")
    with pytest.raises(
        GomeaBnError, match="What the edge c0 → y is worth needs tables over the 11 parents of 'y'"
    ):
        network_of_many_parents.why(("c0", "y"))


def test_rows_with_all_parents_need_no_table_of_them(network_of_many_parents):
    network = network_of_many_parents
    rows = network.sample(5, random_state=4)
    answer = network.predict_proba(rows, "y")
    logs = [
        network.log_density(rows.assign(y=level), of=["y"], given=network.parents("y")) for level in answer
    ]
    assert_allclose(answer.to_numpy(), np.exp(np.transpose(logs)), rtol=1e-9)
    assert "standard_error" not in answer.attrs
