"""Queries, predictions and log densities: evidence of all kinds, frames, levels held as text, errors."""

import datetime as dt
import math
import warnings
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inference_examples import slow_joint
from network_examples import one_column, slow_code, small_network
from shaped_examples import random_network
from wrong_input import untyped

from gomea_bn import DiscretizedBayesNet, GomeaBnError, GomeaBnWarning, Shape, fit_shape
from gomea_bn.data.columns import encode_levels
from gomea_bn.network.bin_distributions import BinDistributions


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    return DiscretizedBayesNet(
        ["x", "day", "y"],
        [("x", "day"), ("day", "y"), ("x", "y")],
        cut_points={"x": [1.0, 2.0], "y": [5.0]},
        support={"x": (0.0, 4.0), "y": (0.0, 10.0)},
        levels={"day": ["mon", "tue", "wed"]},
        tables={
            "x": [0.5, 0.3, 0.2],
            "day": [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [0.1, 0.8, 0.1]],
            "y": [[[0.1, 0.9], [0.3, 0.7], [0.5, 0.5]], [[0.2, 0.8], [0.6, 0.4], [0.7, 0.3]],
                  [[0.9, 0.1], [0.4, 0.6], [0.25, 0.75]]],
        },
    )  # fmt: skip


def expected_answer(network, likelihoods, targets):
    joint = slow_joint(network, likelihoods, targets)
    return (joint / joint.sum()).ravel()


@pytest.mark.parametrize(
    ("evidence", "likelihoods"),
    [
        ({"day": "tue"}, {"day": [0, 1, 0]}),
        ({"day": {"tue", "wed"}}, {"day": [0, 1, 1]}),
        ({"day": frozenset(["mon"])}, {"day": [1, 0, 0]}),
        ({"day": {"tue": 0.25, "mon": 0.5}}, {"day": [0.5, 0.25, 0]}),
        ({"day": pd.Series({"tue": 2, "wed": 1})}, {"day": [0, 2, 1]}),
        ({"x": 1.0}, {"x": [1, 0, 0]}),
        ({"x": (0.5, 1.75)}, {"x": [0.5, 0.75, 0]}),
        ({"x": (None, 1.5)}, {"x": [1, 0.5, 0]}),
        ({"x": (3, None)}, {"x": [0, 0, 0.5]}),
        ({"x": pd.Interval(1.5, 3)}, {"x": [0, 0.5, 0.5]}),
        ({"x": {(0, 0.5), (3, 4)}}, {"x": [0.5, 0, 0.5]}),
        ({"x": {(0, 0.5): 3, (3, 4): 1}}, {"x": [1.5, 0, 0.5]}),
        ({"x": (0.5, 2), "day": {"mon", "tue"}}, {"x": [0.5, 1, 0], "day": [1, 1, 0]}),
        ({"x": None, "day": math.nan}, {}),
        ({"day": pd.NA, "x": pd.NaT}, {}),
        ({"x": np.int64(3), "day": None}, {"x": [0, 0, 1]}),
        ({}, {}),
    ],
)
def test_evidence_weighs_the_bins_and_levels(network, evidence, likelihoods):
    arrays = {name: np.array(values, float) for name, values in likelihoods.items()}
    answer = network.query("y", evidence)
    np.testing.assert_allclose(answer.to_numpy(), expected_answer(network, arrays, ["y"]), atol=1e-12)
    # the same as a row of a frame
    if evidence:
        frame = pd.DataFrame(
            {name: pd.Series([value, None], dtype=object) for name, value in evidence.items()}
        )
        rows = network.query("y", frame)
        np.testing.assert_allclose(rows.to_numpy()[0], answer.to_numpy(), atol=1e-12)
        np.testing.assert_allclose(rows.to_numpy()[1], network.query("y").to_numpy(), atol=1e-12)


@pytest.mark.parametrize("cells", [None, "bins"])
def test_an_interval_open_at_the_smallest_value_leaves_its_point_mass_out(cells):
    generator = np.random.default_rng(0)
    rain = np.where(generator.random(400) < 0.5, 0.0, generator.gamma(2.0, 2.0, 400))
    wet = np.where(rain + 0.3 * generator.normal(size=400) > 0.4, "yes", "no")
    frame = pd.DataFrame({"rain": rain, "wet": wet})
    shapes = {"rain": fit_shape(rain).shape}
    network = DiscretizedBayesNet.from_table(frame, [("rain", "wet")], {"rain": [0.1, 3.0]}, shapes=shapes)
    assert 0.0 in shapes["rain"].points
    above = network.query("wet", {"rain": pd.Interval(0, np.inf, closed="neither")}, cells=cells)
    just_above = network.query("wet", {"rain": (1e-12, None)}, cells=cells)
    np.testing.assert_allclose(above, just_above, atol=1e-9)
    # both ends of a pair belong to it, and the label of the first bin contains the smallest value
    for all_of_it in ((0, None), pd.Interval(0, np.inf, closed="right")):
        answer = network.query("wet", {"rain": all_of_it}, cells=cells)
        np.testing.assert_allclose(answer, network.query("wet", cells=cells), atol=1e-9)
    assert np.abs(above.to_numpy() - answer.to_numpy()).max() > 0.1
    evidence = {"rain": pd.Interval(0, np.inf, closed="neither")}
    assert (network.sample(50, evidence=evidence, random_state=1)["rain"] > 0).all()


def test_an_answer_of_a_query_is_evidence(network):
    of_x = network.query("x", {"day": "wed"})
    weights = {"x": of_x.to_numpy()}
    np.testing.assert_allclose(
        network.query("y", {"x": of_x}).to_numpy(), expected_answer(network, weights, ["y"]), atol=1e-12
    )


def test_the_first_interval_of_an_answer_contains_the_minimum():
    network = DiscretizedBayesNet(
        ["x", "y"], [("x", "y")], cut_points={"x": [1.0]}, support={"x": (0.0, 4.0)},
        levels={"y": ["no", "yes"]}, tables={"x": [0.6, 0.4], "y": [[0.9, 0.1], [0.2, 0.8]]},
        shapes={"x": Shape([0.0, 4.0], [0.5], [0.5], {0.0: 0.5})},
    )  # fmt: skip
    answer = network.query("y", {"x": network.query("x")})
    weights = np.array([0.6, 0.4]) ** 2
    expected = weights @ [[0.9, 0.1], [0.2, 0.8]] / weights.sum()
    np.testing.assert_allclose(answer.to_numpy(), expected, atol=1e-12)


def test_intervals_of_a_column_of_intervals(network):
    frame = pd.DataFrame({"x": pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 4)])}, index=["a", "b"])
    answer = network.query("day", frame)
    assert answer.index.tolist() == ["a", "b"]
    assert answer.loc["a"].tolist() == pytest.approx([0.2, 0.3, 0.5])
    assert answer.loc["b"].tolist() == pytest.approx([0.4, 0.44, 0.16])


@pytest.mark.parametrize(
    ("evidence", "likelihood"),
    [
        ((20, 30), [0, 0, 1]),
        ((-7, -2), [1, 0, 0]),
        ((4, 9), [0, 0, 1]),
        ((None, -1), [1, 0, 0]),
        ({(20, 30), (-7, -2)}, [1, 0, 1]),
        ({(-7, -2): 1, (20, 30): 3}, [1, 0, 3]),
        ({(20, 30): 3, (0, 0.5): 1}, [0.5, 0, 3]),
        ({(20, 30): 3, (40, 50): 1, (0, 1): 1}, [1, 0, 3]),
        ({(20, 30), (3, 4), (0, 1)}, [1, 0, 1]),
        ({(3, 4): 5, (20, 30): 3, (1.5, 2): 2}, [0, 1, 4]),
        ({(1.5, 3): 2, (20, 30): 3}, [0, 1, 3]),
        ({(3, 9): 1, (-5, 0.5): 1}, [0.5, 0, 0.5]),
    ],
)
def test_intervals_outside_the_support_are_whole_end_bins(network, evidence, likelihood):
    expected = expected_answer(network, {"x": np.array(likelihood, float)}, ["day"])
    is_outside = not isinstance(evidence, dict) or (3, 9) not in evidence
    with pytest.warns(GomeaBnWarning, match="of 'x'") if is_outside else nullcontext():
        answer = network.query("day", {"x": evidence})
    np.testing.assert_allclose(answer.to_numpy(), expected, atol=1e-12)


def ends(low, high):
    """Return disjoint intervals of ends that may lie outside the support, with weights."""
    numbers = st.lists(st.integers(low, high), min_size=2, max_size=8, unique=True).map(sorted)
    pairs = numbers.map(lambda chosen: list(zip(chosen[::2], chosen[1::2], strict=False)))
    return pairs.flatmap(lambda of: st.tuples(*(st.tuples(st.just(p), st.integers(1, 5)) for p in of)))


@given(parts=ends(-10, 14), data=st.data())
@pytest.mark.filterwarnings("ignore:Values outside")
def test_weighted_intervals_count_by_their_values_in_any_order(network, parts, data):
    answer = np.asarray(network.query("day", {"x": dict(parts)}))
    again = np.asarray(network.query("day", {"x": dict(data.draw(st.permutations(parts)))}))
    assert answer.tolist() == again.tolist()
    rows = pd.DataFrame(
        network.query("day", pd.DataFrame({"x": pd.Series([dict(parts), 1.5], dtype=object)}))
    )
    np.testing.assert_allclose(rows.loc[0], answer, atol=1e-12)
    # every half of a unit weighs as the largest of the intervals that hold it
    likelihood = np.zeros(3)
    for middle, code, share in ((0.5, 0, 1), (1.5, 1, 1), (2.5, 2, 0.5), (3.5, 2, 0.5)):
        weights = [w for (low, high), w in parts if low < middle < high]
        weights += [w for (low, high), w in parts if (code == 0 and high <= 0) or (code == 2 and low >= 4)]
        likelihood[code] += share * max(weights, default=0)
    expected = expected_answer(network, {"x": likelihood}, ["day"])
    np.testing.assert_allclose(answer, expected, atol=1e-12)


def test_every_way_to_state_a_value_outside_the_support_warns(network):
    mixed = pd.DataFrame({"x": pd.Series([(0, 1), 9.5, None, (20, 30)], dtype=object)})
    rows = network.sample(2, 1)
    for ask, words in (
        (lambda: network.query("y", {"x": 1e9}), "1 value of 'x' (support 0 to 4); for example x = 1000000000."),
        (lambda: network.query("y", {"x": (20, None)}), "1 value of 'x' (support 0 to 4); for example x in 20..."),
        (lambda: network.query("y", {"x": {(-3, -2), (5, 6)}}), "2 values of 'x' (support 0 to 4)"),
        (lambda: network.query("y", mixed), "2 values of 'x' (support 0 to 4); for example x = 9.5."),
        (lambda: network.do({"x": 1e9}), "1 value of 'x' (support 0 to 4); for example x = 1000000000."),
        (lambda: network.sample(2, 1, evidence={"x": (5, 6)}), "for example x in 5..6."),
        (lambda: network.log_density(rows.assign(x=9.0), of="y", given="x"), "2 values of 'x'"),
    ):  # fmt: skip
        with pytest.warns(GomeaBnWarning) as caught:
            ask()
        assert [words in str(warning.message) for warning in caught] == [True]
        assert caught[0].filename == __file__


def test_a_point_mass_at_the_end_is_inside_the_support():
    network = one_column(
        [1.0, 2.0], (0.0, 4.0), [0.5, 0.25, 0.25], shape=Shape([0.0, 4.0], [0.5], [0.5], {4.0: 0.5})
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = network.sample(20, 1, evidence={"x": (4, 9)})
    assert (rows["x"] == 4).all()


def test_several_targets_have_a_joint_answer(network):
    joint = network.query(["y", "x"], {"day": "mon"})
    expected = expected_answer(network, {"day": np.array([1.0, 0, 0])}, ["y", "x"])
    np.testing.assert_allclose(joint.to_numpy(), expected, atol=1e-12)
    assert joint.index.names == ["y", "x"]
    assert joint.loc[pd.Interval(5, 10), pd.Interval(1, 2)] == pytest.approx(expected[4])
    by_y = joint.groupby(level="y", observed=True).sum()
    np.testing.assert_allclose(by_y.to_numpy(), network.query("y", {"day": "mon"}).to_numpy(), atol=1e-12)
    single = network.query(["x"])
    assert single.index.equals(network.query("x").index)
    frame = network.query(["x", "day"], pd.DataFrame({"y": [1.0, np.nan]}))
    assert frame.shape == (2, 9)
    np.testing.assert_allclose(frame.loc[1].to_numpy(), network.query(["x", "day"]).to_numpy(), atol=1e-12)


@pytest.mark.parametrize(
    ("targets", "evidence", "words"),
    [
        ("dya", {}, ["target: unknown variable 'dya'", "Did you mean 'day'?"]),
        ("day", {"yy": 1.0}, ["evidence: unknown variable 'yy'", "Did you mean 'y'?"]),
        ("day", {"day": "mon"}, ["both target and evidence"]),
        ("day", {"x": "high"}, ["evidence['x'] must be a finite number", "'high'"]),
        ("day", {"x": np.inf}, ["evidence['x']", "inf"]),
        ("x", {"day": "sun"}, ["evidence['day']", "'mon', 'tue', 'wed'", "'sun'"]),
        ("x", {"day": np.array(["mon"])}, ["evidence['day']"]),
        ([], {}, ["targets must be one or more different variables"]),
        (["x", "x"], {}, ["targets must be"]),
        ("y", {"x": (2, 1)}, ["evidence['x']", "the smaller first"]),
        ("y", {"x": (1, 2, 3)}, ["evidence['x']", "pair (low, high)"]),
        ("y", {"x": {(0, 2), (1, 3)}}, ["do not overlap"]),
        ("y", {"x": {1.5, 2.5}}, ["evidence['x']", "pair (low, high)"]),
        ("y", {"day": set()}, ["weight above 0"]),
        ("y", {"day": {"mon": 0}}, ["weight above 0"]),
        ("y", {"day": {"mon": -1, "tue": 2}}, ["evidence['day']['mon']", "at least 0"]),
        ("y", {"day": {"mon": "much"}}, ["evidence['day']['mon']", "'much'"]),
        ("y", {"day": {"sun"}}, ["one of the levels 'mon', 'tue', 'wed'", "'sun'"]),
        ("y", {"day": ["mon"]}, ["one of the levels", "['mon']"]),
        ("y", pd.DataFrame({"dya": ["mon"]}), ["evidence: unknown variable 'dya'", "'day'"]),
        ("y", pd.DataFrame({"y": [1.0]}), ["both target and evidence"]),
        ("y", pd.DataFrame({"x": [1.0, (2, 1)]}), ["evidence['x'] of row 1"]),
        ("y", pd.DataFrame({"day": ["mon", "sun"]}), ["'sun' in row 1"]),
    ],
)  # fmt: skip
def test_evidence_that_cannot_be_read_is_refused(network, targets, evidence, words):
    with pytest.raises(GomeaBnError) as caught:
        network.query(targets, evidence)
    for word in words:
        assert word in str(caught.value)


def test_impossible_rows_are_named(network):
    certain = network.do({"day": "mon"})
    rows = pd.DataFrame({"x": [0.5, 1.5, 0.5], "day": ["mon", "tue", "wed"], "y": [1.0, 2.0, 3.0]})
    for ask in (
        lambda: certain.query("y", rows[["x", "day"]]),
        lambda: certain.predict_proba(rows, "y"),
        lambda: certain.predict(rows, "y"),
        lambda: certain.impute(rows.assign(y=np.nan)),
        lambda: certain.impute(rows.assign(y=np.nan), "mean"),
        lambda: certain.log_density(rows, "y", given="day"),
    ):
        with pytest.raises(GomeaBnError, match=r"rows 1, 2 \(counted from 0\) have probability 0"):
            ask()
    assert certain.log_density(rows).tolist()[1:] == [-math.inf] * 2
    with pytest.raises(GomeaBnError, match=r"probability 0.*x = 0\.5, day = 'tue'"):
        certain.query("y", {"x": 0.5, "day": "tue"})
    with pytest.raises(GomeaBnError, match="probability 0"):
        network.changed(tables={**network.tables, "x": [0.5, 0.5, 0.0]}).query("y", {"x": 2.5})
    with pytest.raises(GomeaBnError, match=r"None of 50 draws agrees .* day = 'tue'\. Raise n_draws"):
        certain.query("y", {"day": "tue"}, method="sampling", n_draws=50)


@pytest.fixture
def of_times() -> DiscretizedBayesNet:
    """Return a network whose variables are a date, a duration, a time of day and a level."""
    names = ["visit [days since 1970-01-01]", "stay [seconds]", "hour [hours]", "sick"]
    table = [[0.9, 0.1], [0.2, 0.8]]
    return DiscretizedBayesNet(
        names,
        [(names[3], name) for name in names[:3]],
        cut_points={names[0]: [19_358.0], names[1]: [3600.0], names[2]: [12.0]},
        support={names[0]: (19_000.0, 20_000.0), names[1]: (0.0, 7200.0), names[2]: (0.0, 24.0)},
        levels={"sick": ["no", "yes"]},
        tables={names[0]: table, names[1]: table, names[2]: table, "sick": [0.5, 0.5]},
    )


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("visit", "2023-01-02", 19_359),
        ("visit", "01.01.2023", 19_358),
        ("visit", "2023-01-01T12:00", 19_358.5),
        ("visit", dt.date(2023, 1, 2), 19_359),
        ("visit", dt.datetime(2023, 1, 1, 12), 19_358.5),
        ("visit", pd.Timestamp("2023-01-02", tz="Europe/Rome"), 19_358 + 23 / 24),
        ("visit", np.datetime64("2023-01-02"), 19_359),
        ("stay", dt.timedelta(hours=1.5), 5400),
        ("stay", pd.Timedelta("30min"), 1800),
        ("stay", np.timedelta64(2, "h"), 7200),
        ("hour", dt.time(13, 30), 13.5),
        ("hour", "13:30", 13.5),
        ("visit", (dt.date(2022, 1, 1), None), (18_993, None)),
        ("visit", ("2022-01-01", dt.date(2023, 7, 1)), (18_993, 19_539)),
        ("visit", {(dt.date(2022, 6, 1), dt.date(2022, 7, 1)): 2, (19_500, 19_600): 1},
         {(19_144, 19_174): 2, (19_500, 19_600): 1}),
        ("visit", pd.Interval(pd.Timestamp("2022-06-01"), pd.Timestamp("2023-07-01")), (19_144, 19_539)),
        ("visit", np.datetime64("NaT"), None),
    ],
)  # fmt: skip
def test_a_variable_of_dates_takes_what_its_column_holds(of_times, name, value, number):
    long_name = next(full for full in of_times.names if full.startswith(name))
    expected = of_times.query("sick", {long_name: number})
    for given_name in (name, long_name):
        assert of_times.query("sick", {given_name: value}).tolist() == expected.tolist()
        cells = pd.DataFrame({given_name: pd.Series([value, None], dtype=object)})
        np.testing.assert_allclose(of_times.query("sick", cells).loc[0], expected, atol=1e-12)
    if not isinstance(value, (tuple, dict, pd.Interval)) and number is not None:
        assert of_times.do({name: value}) == of_times.do({long_name: number})


def test_dates_may_stand_next_to_intervals_and_name_targets(of_times):
    cells = pd.DataFrame(
        {"visit": pd.Series([dt.date(2022, 6, 1), "2023-06-01", (None, 19_358)], dtype=object)}
    )
    rows = of_times.query("sick", cells)
    assert rows["yes"].tolist() == pytest.approx([1 / 9.0 * 2 / (1 / 9.0 * 2 + 1), 8 / 9, 2 / 11])
    assert of_times.query("visit").equals(of_times.query(of_times.names[0]))
    frame = of_times.sample(3, 1)
    assert of_times.predict(frame, "visit").equals(of_times.predict(frame, of_times.names[0]))
    drawn = of_times.sample(3, 1, evidence={"visit": dt.date(2023, 1, 2)})
    assert (drawn["visit"] == pd.Timestamp("2023-01-02")).all()


def test_values_that_are_no_dates_are_named(of_times):
    frame = of_times.sample(3, 1)
    for ask, words in (
        (lambda: of_times.query("sick", {"visit": "May"}), "evidence['visit'] must be a number, or a date"),
        (lambda: of_times.query("sick", {"visit": "May"}), "or a date such as 2024-12-31, got 'May'"),
        (lambda: of_times.query("sick", {"visit": dt.timedelta(1)}), "a date such as 2024-12-31, got datetime"),
        (lambda: of_times.query("sick", {"stay": dt.date(2023, 1, 1)}), "or a duration such as"),
        (lambda: of_times.query("sick", {"hour": dt.date(2023, 1, 1)}), "or a time of day such as 13:30"),
        (lambda: of_times.query("sick", {"visit": 1, of_times.names[0]: 2}), "evidence names 'visit [days"),
        (lambda: of_times.query("visit", {of_times.names[0]: 2}), "both target and evidence"),
        (lambda: of_times.query("sick", {"vist": 1}), "unknown variable 'vist'. Did you mean 'visit'?"),
        (
            lambda: of_times.predict(frame.assign(visit=pd.Timedelta(days=1)), "sick"),
            "must hold values in days since 1970-01-01, got values in seconds",
        ),
    ):  # fmt: skip
        with pytest.raises(GomeaBnError) as caught:
            ask()
        assert words in str(caught.value)


def test_estimates_carry_their_standard_error(network):
    evidence = {"y": 7.0, "x": (0.5, 2.5)}
    exact = network.query("day", evidence)
    estimate = network.query("day", evidence, method="sampling", n_draws=20_000, random_state=1)
    error = estimate.attrs["standard_error"]
    assert 1e-4 < error < 0.02
    assert np.abs(estimate - exact).max() < 5 * error
    assert "standard_error" not in exact.attrs
    again = network.query("day", evidence, method="sampling", n_draws=20_000, random_state=1)
    assert again.tolist() == estimate.tolist()
    rows = network.predict_proba(network.sample(3, 0), "x", method="sampling", random_state=1)
    assert len(rows.attrs["standard_error"]) == 3
    with pytest.warns(GomeaBnWarning, match="standard errors of up to"):
        estimates = network.log_density(
            pd.DataFrame({"x": [np.nan], "day": ["mon"], "y": [1.0]}), method="sampling", n_draws=100
        )
    assert estimates[0] == pytest.approx(
        math.log(0.5 * 0.2 * 0.1 + 0.3 * 0.6 * 0.2 + 0.2 * 0.1 * 0.9) - math.log(5), abs=0.7
    )


def test_predictions_by_hand(network):
    rows = pd.DataFrame({"day": ["mon", None], "y": [np.nan, 2.0], "unused": [1, 2]}, index=[10, 20])
    proba = network.predict_proba(rows, "x")
    assert proba.index.tolist() == [10, 20]
    assert isinstance(proba.columns, pd.IntervalIndex)
    given_mon = np.array([0.5 * 0.2, 0.3 * 0.6, 0.2 * 0.1]) / 0.3
    np.testing.assert_allclose(proba.loc[10].to_numpy(), given_mon, atol=1e-12)
    assert network.predict(rows, "x").loc[10] == pytest.approx(given_mon @ [0.5, 1.5, 3.0])
    assert network.predict(rows, "x", "mode").loc[10] == pytest.approx(1.5)
    # a third of the probability lies below 1, the median is in the second bin
    median = 1 + (0.5 - given_mon[0]) / given_mon[1]
    assert network.predict(rows, "x", "median").loc[10] == pytest.approx(median)
    intervals = network.predict_interval(rows, "x", [0.1, 1.0])
    assert intervals.columns.tolist() == ["mean", "median", "10%", "100%"]
    assert intervals.loc[10].tolist() == pytest.approx([given_mon @ [0.5, 1.5, 3.0], median, 0.3, 4.0])
    days = network.predict(pd.DataFrame({"x": [0.5, 1.5], "y": [None, None]}), "day")
    assert days.tolist() == ["wed", "mon"]
    assert days.cat.categories.tolist() == ["mon", "tue", "wed"]


def test_predictions_that_make_no_sense_are_refused(network):
    rows = network.sample(3, 0)
    with pytest.raises(GomeaBnError, match=r"target: unknown variable 'z'"):
        network.predict(rows, "z")
    with pytest.raises(
        GomeaBnError, match=r"how must be one of 'mean', 'median', 'mode' or None, got 'best'"
    ):
        network.predict(rows, "x", "best")
    with pytest.raises(GomeaBnError, match=r"how must be 'mode' or None for 'day', which is discrete"):
        network.predict(rows, "day", "mean")
    with pytest.raises(
        GomeaBnError, match=r"'day' is discrete; intervals need a continuous target. Use predict_proba"
    ):
        network.predict_interval(rows, "day")
    with pytest.raises(GomeaBnError, match=r"quantiles must be a sequence .* such as \[0.5\], got 0.5"):
        network.predict_interval(rows, "x", untyped(0.5))
    for wrong in ("0.5", None):
        with pytest.raises(GomeaBnError, match="quantiles must be a sequence of numbers from 0 to 1, got"):
            network.predict_interval(rows, "x", untyped(wrong))
    with pytest.raises(GomeaBnError, match=r"quantiles\[1\] must be .* at most 1, got 2"):
        network.predict_interval(rows, "x", [0.5, 2])
    with pytest.raises(GomeaBnError, match=r"'y' has 1 infinite value in row 0"):
        network.predict(rows.assign(y=[np.inf, 1, 2]), "x")


def test_values_outside_the_support_are_reported(network):
    rows = pd.DataFrame({"x": [-1.0, 9.0, 1.0], "day": ["mon"] * 3, "y": [5.0, 12.0, np.nan]})
    with pytest.warns(
        GomeaBnWarning, match=r"nearest bin: 2 values of 'x' \(support 0 to 4\), 1 value of 'y'"
    ):
        network.impute(rows)
    with pytest.warns(GomeaBnWarning, match=r"1 value of 'y' \(support 0 to 10\)"):
        answer = network.predict_proba(rows, "x")
    inside = network.predict_proba(rows.assign(y=[5.0, 10.0, np.nan]), "x")
    np.testing.assert_array_equal(answer.to_numpy(), inside.to_numpy())


@given(seed=st.integers(0, 300))
def test_the_density_of_rows_with_missing_cells_equals_enumeration(seed):
    network = random_network(seed, 4)
    frame = network.sample(8, seed)
    rows = frame.astype(object).mask(np.random.default_rng(seed).random(frame.shape) < 0.4)
    densities = network.log_density(rows)
    for position in range(len(rows)):
        likelihoods, inside = {}, 0.0
        for name in network.names:
            value = rows.iloc[position][name]
            if not pd.isna(value):
                code = slow_code(network, name, value)
                likelihoods[name] = np.eye(network.cardinality(name))[code]
                if name in network.cut_points:
                    bins = BinDistributions(network, name)
                    inside += float(bins.log_densities(np.array([float(value)]), np.array([code]))[0])
        expected = np.log(slow_joint(network, likelihoods, []).item()) + inside
        assert densities[position] == pytest.approx(expected, abs=1e-9)


def test_complete_rows_keep_their_exact_density_next_to_incomplete_ones():
    network = random_network(5, 4)
    frame = network.sample(30, 1)
    expected = network.log_density(frame)
    rows = frame.astype(object)
    rows.iloc[::3, 1] = None
    densities = network.log_density(rows)
    complete = np.arange(30) % 3 > 0
    assert densities[complete].tolist() == expected[complete].tolist()
    assert (densities[~complete] != expected[~complete]).all()


@given(seed=st.integers(0, 300))
def test_conditional_densities_are_quotients(seed):
    network = random_network(seed, 4)
    frame = network.sample(6, seed)
    first, second, third, fourth = network.names
    whole = network.log_density(frame)
    chain = (
        network.log_density(frame[[first]], of=first)
        + network.log_density(frame[[first, third]], of=third, given=[first])
        + network.log_density(frame, of=[second, fourth], given=[third, first])
    )
    np.testing.assert_allclose(chain, whole, atol=1e-9)
    np.testing.assert_allclose(
        network.log_density(frame, given=[third]), whole - network.log_density(frame, third), atol=1e-9
    )
    # what is missing is summed out on either side
    gaps = frame.astype({third: object}).assign(**{third: None})
    np.testing.assert_allclose(
        network.log_density(gaps, of=[first, third], given=second),
        network.log_density(frame, of=first, given=second),
        atol=1e-9,
    )


def test_columns_of_a_density_are_checked(network):
    rows = network.sample(3, 0)
    with pytest.raises(GomeaBnError, match="'x' is both in of and in given"):
        network.log_density(rows, of=["x"], given=["x"])
    with pytest.raises(GomeaBnError, match="of: unknown variable 'z'"):
        network.log_density(rows, of="z")
    with pytest.raises(GomeaBnError, match=r"given: unknown variable 'dya'\. Did you mean 'day'"):
        network.log_density(rows, given=["dya"])
    empty = network.log_density(rows.iloc[:0].astype(object), of="x")
    assert empty.shape == (0,)


@pytest.mark.parametrize("seed", range(4))
def test_the_mean_of_a_posterior_is_that_of_its_draws(seed):
    network = small_network(seed, 4)
    name = next(iter(network.cut_points), None)
    if name is None:
        return
    evidence = {other: network.sample(1, seed)[other].iloc[0] for other in network.names[:2] if other != name}
    draws = network.sample(20_000, seed, evidence=evidence)[name]
    frame = pd.DataFrame({other: [evidence.get(other)] for other in network.names})
    answer = network.predict_interval(frame, name, [0.25])
    spread = draws.std() / math.sqrt(len(draws))
    assert draws.mean() == pytest.approx(answer["mean"].iloc[0], abs=5 * spread)
    assert (draws <= answer["25%"].iloc[0]).mean() == pytest.approx(0.25, abs=0.02)
    assert (draws <= answer["median"].iloc[0]).mean() == pytest.approx(0.5, abs=0.02)


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    cylinders = rng.choice([4, 6, 8], 60)
    return pd.DataFrame({"cylinders": cylinders, "fast": rng.random(60) < cylinders / 10})


@pytest.fixture
def networks(rows: pd.DataFrame, tmp_path) -> tuple[DiscretizedBayesNet, DiscretizedBayesNet]:
    """Return a network, and the same one as a reader of plain BIF sees it, whose levels are text."""
    network = DiscretizedBayesNet.from_table(rows, [("cylinders", "fast")], {})
    network.to_bif(tmp_path / "network.bif")
    return network, DiscretizedBayesNet.from_file(tmp_path / "network.bif", restore=False)


def test_numbers_match_levels_that_are_texts_of_them(rows, networks):
    network, of_text = networks
    assert of_text.levels["cylinders"] == ("4", "6", "8")
    with pytest.warns(GomeaBnWarning, match="Column 'cylinders' holds numbers.*text: '4', '6', '8'"):
        answer = of_text.predict_proba(rows, "fast")
    np.testing.assert_allclose(answer, network.predict_proba(rows, "fast"), atol=1e-6)
    gaps = rows.astype({"cylinders": float, "fast": object}).mask(np.eye(60, 2, dtype=bool))
    with pytest.warns(GomeaBnWarning, match="matched by their values"):
        filled = of_text.impute(gaps, "mode")
    assert filled["cylinders"].dtype == np.float64
    assert filled["cylinders"][1:].tolist() == rows["cylinders"][1:].tolist()
    assert filled["cylinders"][0] in (4, 6, 8)


def test_texts_of_numbers_match_levels_that_are_numbers(rows, networks):
    network, _ = networks
    texts = rows.astype({"cylinders": str})
    with pytest.warns(GomeaBnWarning, match="Column 'cylinders' holds text.*numbers: 4, 6, 8"):
        answer = network.predict_proba(texts, "fast")
    np.testing.assert_array_equal(answer, network.predict_proba(rows, "fast"))
    with pytest.raises(GomeaBnError, match="unknown level 'six'"), pytest.warns(GomeaBnWarning):
        network.predict_proba(texts.replace("6", "six"), "fast", unknown="error")


def test_evidence_may_be_a_number(networks):
    network, of_text = networks
    np.testing.assert_array_equal(
        network.query("fast", {"cylinders": "6"}), network.query("fast", {"cylinders": 6})
    )
    expected = network.query("fast", {"cylinders": 6})
    np.testing.assert_allclose(of_text.query("fast", {"cylinders": 6}), expected, atol=1e-6)
    np.testing.assert_allclose(of_text.query("fast", {"cylinders": {6.0, 8}}).sum(), 1)
    with pytest.raises(GomeaBnError, match="'4', '6', '8', got 5"):
        of_text.query("fast", {"cylinders": 5})


def test_other_values_are_still_unknown():
    column = pd.Series([1, 2])
    with pytest.raises(GomeaBnError, match="unknown level 2"), pytest.warns(GomeaBnWarning):
        encode_levels(column, "x", ("1", "3"))
    # two levels are the number 1
    with pytest.raises(GomeaBnError, match="unknown level 1"):
        encode_levels(column[:1], "x", ("1", "1.0"))
    # one level is a number, so that the levels are not those of a file of text
    with pytest.raises(GomeaBnError, match="unknown level 1"):
        encode_levels(column[:1], "x", ("1", 2))


@pytest.mark.parametrize("answer", ["predict_proba", "predict", "predict_interval"])
def test_absent_columns_count_as_missing_with_a_warning(answer):
    network = random_network(2)
    target = next(iter(network.cut_points))
    rows = network.sample(5, random_state=1, values="numbers")
    kept, *absent = [name for name in network.names if name != target]
    with pytest.warns(GomeaBnWarning, match=f"lacks {len(absent)} columns? of the network") as caught:
        few = getattr(network, answer)(rows[[kept]], target)
    assert [warning.filename for warning in caught] == [__file__]
    assert all(repr(name) in str(caught[0].message) for name in absent)
    expected = getattr(network, answer)(rows.assign(**dict.fromkeys(absent)), target)
    assert few.equals(expected)
    swapped = rows.rename(columns=str.swapcase)
    with pytest.raises(GomeaBnError, match=r"none of the columns that answers need.*Did you mean"):
        getattr(network, answer)(swapped, target)


BASE_RATE = r"^'k' has no edges in this network: what is given changes nothing, and the answer is"


@pytest.fixture(scope="module")
def lonely() -> DiscretizedBayesNet:
    """A network in which k has no edges, and x -> y and u -> v are apart."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({name: rng.choice(["p", "q"], 60) for name in "kxyuv"})
    return DiscretizedBayesNet.from_table(rows, [("x", "y"), ("u", "v")], {})


def test_answers_that_are_base_rates_say_so(lonely):
    rows = lonely.sample(3, 1).drop(columns="k")
    calls = [
        lambda: lonely.query("k", {"x": "p"}),
        lambda: lonely.query("k", rows),
        lambda: lonely.predict(rows, "k"),
        lambda: lonely.predict_proba(rows, "k"),
    ]
    for call in calls:
        with pytest.warns(GomeaBnWarning, match=BASE_RATE) as caught:
            call()
        assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(GomeaBnWarning, match="'y' has no path of edges to given columns"):
        lonely.query("y", {"u": "p", "k": "q"})
    with pytest.warns(GomeaBnWarning, match="'k' has no edges"):
        lonely.query(["y", "k"], {"x": "p"})


def test_answers_that_given_columns_change_give_no_warning(lonely):
    rows = lonely.sample(3, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GomeaBnWarning)
        lonely.query("k")
        lonely.query("k", {})
        lonely.query("k", {"x": None})
        lonely.query("y", {"x": "p", "u": "q"})
        lonely.predict(rows, "y")
        lonely.predict_proba(rows, "x")


def test_a_base_rate_of_a_number_says_so():
    rng = np.random.default_rng(3)
    rows = pd.DataFrame({"k": rng.normal(size=40), "x": rng.choice(["p", "q"], 40)})
    network = DiscretizedBayesNet.from_table(rows, [], {"k": [0.0]})
    with pytest.warns(GomeaBnWarning, match=BASE_RATE):
        network.predict_interval(rows[["x"]], "k")
