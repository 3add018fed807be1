"""Pairs of columns are compared with the rows: what is off is found, kept with the network, and said."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, ExpertKnowledge, read_table
from gomea_bn.learning.checks import Misfit, checked_network, chosen_pairs, crossed, seconds_of_checks
from gomea_bn.network.matched_rows import with_margins
from gomea_bn.plots.html import network_html
from gomea_bn.review.page_data import network_data
from gomea_bn.runtime import FitClock
from gomea_bn.runtime.fit_clock import DRAWS

OPTIONS: dict[str, Any] = {"max_evaluations": 2000, "max_seconds": None, "random_state": 1}
# square of the misfit that rows do not show, in those of standard errors
UNSEEN = 1.0
COLUMNS = ["first", "first_bin", "second", "second_bin", "rows", "network", "standard_error"]


def rows(n_rows: int = 800, seed: int = 3) -> pd.DataFrame:
    """Return a chain of two numbers and a level, in which all pairs depend on each other."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n_rows)
    y = x + 0.5 * rng.normal(size=n_rows)
    return pd.DataFrame({"x": x, "y": y, "z": np.where(y + 0.5 * rng.normal(size=n_rows) > 0, "high", "low")})


def with_gaps(frame: pd.DataFrame) -> pd.DataFrame:
    """Return rows in which y is missing mostly where x is large."""
    chance = 1 / (1 + np.exp(-3 * frame["x"]))
    return frame.assign(y=frame["y"].mask(np.random.default_rng(5).random(len(frame)) < chance))


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    """A default fit."""
    return BayesNetLearner(**OPTIONS).fit(rows()).network_


@pytest.fixture(scope="module")
def other_rows() -> pd.DataFrame:
    """Rows in which x depends on the others the other way round; each column is distributed as before."""
    frame = rows(2_000, 4)
    return frame.assign(x=-frame["x"])


@pytest.fixture(scope="module")
def off(network: DiscretizedBayesNet, other_rows: pd.DataFrame) -> DiscretizedBayesNet:
    """The network, compared with rows that it does not fit."""
    return checked_network(network, table(network, other_rows), 0)


def table(network: DiscretizedBayesNet, frame: pd.DataFrame) -> Any:
    """Return rows as a table with the kinds of a network."""
    kinds = {name: "continuous" if name in network.cut_points else "discrete" for name in network.names}
    return read_table(frame, kinds=kinds, missing="keep")


def test_a_fit_agrees_with_its_rows_and_says_so(network: DiscretizedBayesNet) -> None:
    assert network.checks.columns.tolist() == COLUMNS
    assert network.checks.attrs == {"pairs": 3, "off": 0}
    assert network.summary().endswith(
        "All 3 pairs of columns agree with the rows within four standard errors."
    )


@pytest.mark.parametrize("gaps", [False, True])
def test_rows_of_the_network_are_not_off(network: DiscretizedBayesNet, gaps: bool) -> None:
    for seed in range(10):
        drawn = network.sample(5_000, seed)
        checked = checked_network(network, table(network, with_gaps(drawn) if gaps else drawn), seed)
        assert checked.checks.attrs == {"pairs": 3, "off": 0}


def test_pairs_that_are_off_have_the_shares_of_rows_and_network(
    network: DiscretizedBayesNet, off: DiscretizedBayesNet, other_rows: pd.DataFrame
) -> None:
    found = off.checks
    assert found.attrs == {"pairs": 3, "off": 2}
    assert all("x" in pair for pair in zip(found["first"], found["second"], strict=True))
    codes = network.discretize(other_rows)
    for pair in found.to_dict("records"):
        names = pair["first"], pair["second"]
        labels = [network.bin_labels(name) for name in names]
        share = pd.crosstab(codes[names[0]], codes[names[1]], normalize="all").to_numpy()
        joint = network.query(list(names)).to_numpy().reshape(share.shape)
        cell = labels[0].index(pair["first_bin"]), labels[1].index(pair["second_bin"])
        assert pair["rows"] == pytest.approx(share[cell])
        assert pair["network"] == pytest.approx(joint[cell], abs=0.02)
        larger = max(p * (1 - p) for p in (pair["rows"], pair["network"]))
        assert pair["standard_error"] == pytest.approx(np.sqrt(larger * (1 / 2_000 + 1 / 20_000)))
        errors = np.sqrt(np.maximum(share * (1 - share), joint * (1 - joint)) * (1 / 2_000 + 1 / 20_000))
        away = np.abs(share - joint) / errors
        assert away[cell] == pytest.approx(away.max(), rel=0.1)
    away = (found["rows"] - found["network"]).abs() / found["standard_error"]
    assert away.is_monotonic_decreasing
    assert away.min() > 4


def test_dependence_is_compared_where_gaps_depend_on_values(
    network: DiscretizedBayesNet, other_rows: pd.DataFrame
) -> None:
    gaps = with_gaps(other_rows)
    found = checked_network(network, table(network, gaps), 0).checks
    pairs = {frozenset(pair) for pair in zip(found["first"], found["second"], strict=True)}
    assert pairs == {frozenset("xy"), frozenset("xz")}
    of_pair = found[
        [{"x", "y"} == {*pair} for pair in zip(found["first"], found["second"], strict=True)]
    ].iloc[0]
    known = network.discretize(gaps.dropna())
    cells = (
        known[of_pair[place]] == network.bin_labels(of_pair[place]).index(of_pair[f"{place}_bin"])
        for place in ("first", "second")
    )
    assert of_pair["rows"] == pytest.approx((next(cells) & next(cells)).mean())


def test_neither_order_of_rows_nor_of_columns_matters(
    off: DiscretizedBayesNet, network: DiscretizedBayesNet, other_rows: pd.DataFrame
) -> None:
    turned = other_rows.sample(frac=1, random_state=1)[["z", "x", "y"]]
    checked = checked_network(network.in_order(["z", "x", "y"]), table(network, turned), 0)
    assert checked.metadata["checks"] == off.metadata["checks"]


def test_columns_in_one_bin_are_compared_over_quarters_of_their_rows() -> None:
    rng = np.random.default_rng(8)
    frame = rows(2_000, 4).assign(alone=rng.normal(size=2_000))
    fitted = BayesNetLearner(**OPTIONS).fit(frame).network_
    assert not len(fitted.cut_points["alone"])
    assert fitted.checks.attrs["pairs"] == 6
    # the same values, now in the order of y
    joined = frame.assign(alone=np.sort(frame["alone"])[frame["y"].rank().astype(int) - 1])
    checked = checked_network(fitted, table(fitted, joined), 0)
    found = checked.checks
    of_pair = found[[{"y", "alone"} == {*pair} for pair in zip(found["first"], found["second"], strict=True)]]
    (pair,) = of_pair.to_dict("records")
    place = "first" if pair["first"] == "alone" else "second"
    low, high = (float(end) for end in pair[f"{place}_bin"].strip("([])").split(","))
    inside = joined["alone"].between(low, high)
    assert inside.mean() == pytest.approx(0.25, abs=0.002)
    other = {"first": "second", "second": "first"}[place]
    codes = checked.discretize(joined)["y"]
    in_bin = codes == checked.bin_labels("y").index(pair[f"{other}_bin"])
    assert pair["rows"] == pytest.approx((inside & in_bin).mean(), abs=0.002)
    again = DiscretizedBayesNet.from_json(checked.to_json())
    pd.testing.assert_frame_equal(again.checks, found)


def test_rows_count_by_their_weights(network: DiscretizedBayesNet, other_rows: pd.DataFrame) -> None:
    weights = (np.arange(len(other_rows)) % 3).astype(float)
    found = checked_network(network, table(network, other_rows), 0, weights).checks
    assert len(found) == 2
    codes = network.discretize(other_rows)
    for pair in found.to_dict("records"):
        in_cell = [
            codes[pair[place]] == network.bin_labels(pair[place]).index(pair[f"{place}_bin"])
            for place in ("first", "second")
        ]
        assert pair["rows"] == pytest.approx(weights[in_cell[0] & in_cell[1]].sum() / weights.sum())
        larger = max(p * (1 - p) for p in (pair["rows"], pair["network"]))
        # three fifths of the rows: 3 ** 2 / (3 * 5)
        error = np.sqrt(larger * (1 / (0.6 * 2_000) + 1 / 20_000))
        assert pair["standard_error"] == pytest.approx(error, rel=1e-3)


def slow_misfit(pairs: list[tuple[list[list[float]], list[list[float]]]], n_draws: int) -> float:
    """Return the misfit of a column by pairs of numbers of rows and probabilities, by bin of the other column."""
    excess, n_shares, weight, rows = 0.0, 0, 0.0, 0.0
    for counts, network in pairs:
        met = [(k, p) for k, p in zip(counts, network, strict=True) if sum(k) > 0 and sum(p) > 0]
        for of_rows, of_network in met:
            n = 1 / (1 / sum(of_rows) + 1 / (n_draws * sum(of_network)))
            for count, joint in zip(of_rows, of_network, strict=True):
                f, p = count / sum(of_rows), joint / sum(of_network)
                if n * p * (1 - p) >= 1:
                    excess += n * (f - p) ** 2 / (p * (1 - p)) - (len(met) - 1) / len(met)
                    n_shares, weight, rows = n_shares + 1, weight + n, rows + sum(of_rows)
    return float(np.sqrt(max(excess, 0.0) / weight + UNSEEN * n_shares / rows))


def misfits(network: DiscretizedBayesNet) -> dict[str, float]:
    """Return the misfits that a network records."""
    return dict(network.metadata["checks"]["misfits"])


def test_misfits_are_those_of_plain_sums() -> None:
    rng = np.random.default_rng(8)
    pairs = []
    misfit = Misfit()
    for n_other in (2, 3, 5):
        network = rng.dirichlet(np.full(3 * n_other, 0.7)).reshape(3, n_other)
        network /= network.sum()
        counts = (
            rng.multinomial(400, rng.dirichlet(200 * network.ravel() + 0.1)).reshape(3, n_other).astype(float)
        )
        if n_other == 5:
            counts[:, 1] = 0
        misfit.add(counts, network, 20_000)
        pairs.append((counts.T.tolist(), network.T.tolist()))
    assert misfit.share == pytest.approx(slow_misfit(pairs, 20_000))
    assert Misfit().share is None


def test_rows_of_the_network_show_no_misfit_and_fewer_edges_do(network: DiscretizedBayesNet) -> None:
    assert misfits(network).keys() == set("xyz")
    shares = []
    for n_rows in (2_000, 20_000):
        drawn = table(network, network.sample(n_rows, 1))
        shares.append(misfits(checked_network(network, drawn, 0)))
        unseen = np.sqrt(UNSEEN * 8 / n_rows)
        assert all(share < 2 * unseen for share in shares[-1].values())
    assert all(shares[1][name] < 0.6 * shares[0][name] for name in "xyz")
    no_edge = ExpertKnowledge(forbidden_edges=[("x", "y"), ("y", "x")])
    less = BayesNetLearner(**OPTIONS, knowledge=no_edge).fit(rows()).network_
    without = misfits(checked_network(less, table(less, rows(2_000, 4)), 0))
    assert min(without[name] / shares[0][name] for name in "xy") > 2, (without, shares)


def test_the_record_stays_with_the_network_alone(off: DiscretizedBayesNet) -> None:
    read = DiscretizedBayesNet.from_json(off.to_json())
    for same in (read, off.with_metadata(title="t"), off.in_order(["z", "y", "x"])):
        pd.testing.assert_frame_equal(same.checks, off.checks)
        assert same.checks.attrs == off.checks.attrs
    others = (
        off.do({"x": 0.0}),
        off.of_tables(),
        off.changed(shapes={}),
        off.update(rows(50, 6)),
        DiscretizedBayesNet.from_table(rows(), off.edges, off.cut_points, metadata=off.metadata),
    )
    for other in others:
        assert other.checks.attrs == {"pairs": 0, "off": 0}
        assert not len(other.checks)
        assert "standard errors" not in other.summary()


@pytest.mark.parametrize(
    "damage",
    [
        None,
        {"pairs": "3", "off": 1, "worst": []},
        {"pairs": 3, "off": 1},
        {"pairs": 3, "off": 1, "worst": [None]},
        {"pairs": 3, "off": 1, "worst": [None], "cut_points": {"x": [0.2, 0.1], "z": [1.0], "u": None}},
        {"pairs": 3, "off": 1, "worst": [{"columns": ["x", "unknown"], "cells": [0, 0]}]},
        {
            "pairs": 3,
            "off": 1,
            "worst": [{"columns": ["x", "y"], "cells": [0, 99], "rows": 0.1, "network": 0.2}],
        },
    ],
)
def test_a_damaged_record_names_no_pair(network: DiscretizedBayesNet, damage: Any) -> None:
    damaged = network.with_metadata(checks=damage)
    assert not len(damaged.checks)
    assert damaged.summary()
    assert "Off the rows" not in damaged.query("y", {"x": 0.0}).attrs["rows"]["words"]


def test_answers_name_such_a_pair_where_rows_are_not_known(
    off: DiscretizedBayesNet, network: DiscretizedBayesNet
) -> None:
    alone = without_rows(off)
    pair = off.checks[
        [{"x", "y"} == {*of} for of in zip(off.checks["first"], off.checks["second"], strict=True)]
    ]
    (worst,) = pair.to_dict("records")
    words = alone.query("x", {"y": 0.0}).attrs["rows"]["words"]
    assert words.startswith("Off the rows of the fit: ")
    assert f"{worst['first']} {worst['first_bin']}" in words
    assert alone.predict(rows(1)[["x", "y"]], "z").attrs == {}
    # both columns are given, or only one of them is asked about
    for answer in (alone.query("x"), alone.query("x", {"y": None})):
        assert "rows" not in answer.attrs
    assert " y " not in alone.query("z", {"x": 0.0, "y": 0.0}).attrs["rows"]["words"].partition(";")[0]
    assert "rows" not in without_rows(network).query("x", {"y": 0.0}).attrs


def without_rows(network: DiscretizedBayesNet) -> DiscretizedBayesNet:
    """Return a network as a file of an earlier version has it, without numbers of rows."""
    metadata = {key: value for key, value in network.metadata.items() if key != "row_counts"}
    return DiscretizedBayesNet.from_json(network.changed(metadata=metadata).to_json())


def test_texts_name_the_worst_pairs(off: DiscretizedBayesNet) -> None:
    worst = off.checks.iloc[0]
    named = f"{worst['first']} {worst['first_bin']} and {worst['second']} {worst['second_bin']}, "
    text = f"2 of 3 pairs of columns do not agree with the rows within four standard errors. Farthest off: {named}"
    origin = network_data(off, None, off.metadata, None)["origin"]
    for shown in (off.summary(), network_html(off), origin):
        assert text in shown
        assert ("with no edge between them" in shown) == (len(off.edges) < 3)


def test_near_pairs_are_compared_of_many_columns() -> None:
    n = 60
    joined = np.zeros((n, n), np.int8)
    for child in range(1, n):
        joined[child - 1, child] = 1
    pairs = chosen_pairs(joined, [2] * n, 1_000)
    assert len(pairs) == len(set(pairs)) == 1_000
    assert {(v, v + 1) for v in range(n - 1)} | {(v, v + 2) for v in range(n - 2)} <= set(pairs)
    assert chosen_pairs(joined[:3, :3], [2, 1, 3], 3) == [(0, 2)]


def test_a_clock_leaves_at_most_a_tenth_of_its_limit_to_the_checks() -> None:
    assert seconds_of_checks(1_000_000, 20, FitClock(13.0)) == pytest.approx(1.3)
    assert 1.3 < seconds_of_checks(1_000_000, 20, FitClock()) < seconds_of_checks(2_000_000, 20, FitClock())
    assert seconds_of_checks(100, 3, FitClock(1000.0)) == seconds_of_checks(100, 3, FitClock())


def test_late_checks_have_fewer_draws_and_find_what_is_off(
    network: DiscretizedBayesNet, other_rows: pd.DataFrame
) -> None:
    late, given = FitClock(1e-9), table(network, other_rows)
    found = checked_network(network, given, 0, clock=late).checks
    assert late.cut_short == [DRAWS]
    assert found.attrs == {"pairs": 3, "off": 2}
    errors = checked_network(network, given, 0).checks["standard_error"]
    assert (found["standard_error"].to_numpy() > errors.to_numpy()).all()


def test_margins_are_those_of_the_rows_and_odds_ratios_stay() -> None:
    rng = np.random.default_rng(1)
    joint, like = (part / part.sum() for part in (rng.random((3, 4)) + 0.1, rng.random((3, 4)) + 0.1))
    scaled = with_margins(joint, like)
    for axis in (0, 1):
        np.testing.assert_allclose(scaled.sum(axis=axis), like.sum(axis=axis), rtol=1e-6)
    ratios = [of[1:, 1:] * of[0, 0] / (of[1:, :1] * of[:1, 1:]) for of in (joint, scaled)]
    np.testing.assert_allclose(*ratios)


def test_pairs_of_cells_are_counted_without_gaps() -> None:
    first, second = np.array([0, 1, -1, 1]), np.array([2, 0, 1, -1])
    np.testing.assert_array_equal(crossed([first, second], [2, 3]), [[0, 0, 1], [1, 0, 0]])
    weighted = crossed([first, second], [2, 3], np.array([0.5, 2.0, 1.0, 1.0]))
    np.testing.assert_array_equal(weighted, [[0, 0, 0.5], [2, 0, 0]])
    np.testing.assert_array_equal(crossed([first], [2]), [1, 2])


@pytest.mark.parametrize("options", [{"density": "bins"}, {"sample_rows": 1000}])
def test_networks_with_conditionals_are_compared(options: dict[str, Any]) -> None:
    fitted = BayesNetLearner(**OPTIONS, **options).fit(rows(1_500)).network_
    assert fitted.checks.attrs["pairs"] == (0 if "density" in options else 3)
