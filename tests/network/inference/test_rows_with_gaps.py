"""Rows with several unknown cells: against sums over fine grids of complete rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_wine

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, GomeaBnWarning, average_families
from gomea_bn.network.inference import cell_engine, elimination
from gomea_bn.network.inference.answers import log_density
from gomea_bn.network.inference.completion import impute
from gomea_bn.network.inference.engine import engine_for

N_ROWS = 4


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.normal(size=1500)
    frame = pd.DataFrame({"x": x, "y": x + 0.03 * rng.normal(size=1500)})
    frame["z"] = frame["x"] + frame["y"] + 0.05 * rng.normal(size=1500)
    frame["bent"] = np.sin(2 * x) + 0.05 * rng.normal(size=1500)
    frame["k"] = pd.Categorical(rng.integers(0, 2, 1500))
    frame["branch"] = np.where(frame["k"] == 1, x, -x) + 0.1 * rng.normal(size=1500)
    return frame


@pytest.fixture(scope="module")
def network(frame: pd.DataFrame) -> DiscretizedBayesNet:
    edges = [("x", "y"), ("x", "z"), ("y", "z"), ("x", "bent"), ("x", "branch"), ("k", "branch")]
    cuts = {str(c): np.quantile(frame[c], [0.2, 0.4, 0.6, 0.8]) for c in frame if c != "k"}
    return average_families(DiscretizedBayesNet.from_table(frame, edges, cuts), frame, n_copies=3)


def on_grid(
    network: DiscretizedBayesNet, row: pd.DataFrame, target: str, missing: list[str]
) -> tuple[NDArray[Any], NDArray[Any], float]:
    """Return values of the target, their probabilities, and the log density of the other cells of a row.

    The numbers are the middles of fine cells, narrower around the values that the row had.
    """
    columns: list[tuple[NDArray[Any], NDArray[Any]]] = []
    for name in (target, *missing):
        if name in network.levels:
            columns.append((np.array(network.levels[name]), np.ones(len(network.levels[name]))))
            continue
        low, high = network.support[name]
        near, cuts = row[name].iloc[0] + np.linspace(-0.4, 0.4, 121), network.cut_points[name]
        ends = np.unique(np.clip(np.concatenate((np.linspace(low, high, 81), near, cuts)), low, high))
        columns.append(((ends[1:] + ends[:-1]) / 2, np.diff(ends)))
    places = np.meshgrid(*(values for values, _ in columns), indexing="ij")
    widths = np.meshgrid(*(of_values for _, of_values in columns), indexing="ij")
    many = row.loc[row.index.repeat(places[0].size)].reset_index(drop=True)
    many = many.assign(**{n: of_name.ravel() for n, of_name in zip((target, *missing), places, strict=True)})
    many["k"] = pd.Categorical(many["k"].astype(int))
    logs = network.log_density(many) + np.log(np.prod(widths, axis=0).ravel())
    masses = np.exp(logs - logs.max()).reshape(places[0].shape)
    of_target = masses.reshape(len(masses), -1).sum(axis=1)
    return columns[0][0], of_target / of_target.sum(), float(logs.max() + np.log(masses.sum()))


CASES = [
    ("z", ["y"]),
    ("y", ["x"]),
    ("x", ["y"]),
    ("z", ["x"]),
    ("bent", ["x"]),
    ("branch", ["k"]),
    ("x", ["bent", "k"]),
]


@pytest.mark.parametrize(("target", "missing"), CASES)
def test_distributions_are_those_of_fine_grids(network, frame, target, missing):
    rows = frame.sample(N_ROWS, random_state=1).reset_index(drop=True)
    gaps = rows.astype({"k": object}).assign(**dict.fromkeys(missing, np.nan))
    intervals = network.predict_interval(gaps, target, [0.1, 0.9])
    probabilities = network.predict_proba(gaps, target)
    for row in range(N_ROWS):
        values, masses, _ = on_grid(network, rows.iloc[[row]], target, missing)
        mean = masses @ values
        deviation = np.sqrt(masses @ (values - mean) ** 2)
        low, high = values[np.searchsorted(np.cumsum(masses), [0.1, 0.9])]
        assert abs(intervals["mean"][row] - mean) < 0.15 * deviation
        assert 1 / 1.2 < (intervals["90%"][row] - intervals["10%"][row]) / (high - low) < 1.2
        expected = np.bincount(np.searchsorted(network.cut_points[target], values), masses, 5)
        assert np.abs(probabilities.iloc[row] - expected).max() < 0.02


@pytest.mark.parametrize("missing", [["y", "z"], ["x", "k"], ["bent", "x"]])
def test_log_densities_are_those_of_fine_grids(network, frame, missing):
    rows = frame.sample(N_ROWS, random_state=2).reset_index(drop=True)
    gaps = rows.astype({"k": object}).assign(**dict.fromkeys(missing, np.nan))
    expected = [on_grid(network, rows.iloc[[r]], missing[0], missing[1:])[2] for r in range(N_ROWS)]
    np.testing.assert_allclose(network.log_density(gaps), expected, atol=0.05)


def test_filled_cells_are_those_of_fine_grids(network, frame):
    row = frame.sample(1, random_state=3)
    gaps = pd.concat([row.assign(x=np.nan, y=np.nan)] * 500, ignore_index=True)
    filled = network.impute(gaps, random_state=1)
    for name, other in (("x", "y"), ("y", "x")):
        values, masses, _ = on_grid(network, row, name, [other])
        mean = masses @ values
        deviation = np.sqrt(masses @ (values - mean) ** 2)
        assert abs(filled[name].mean() - mean) < 0.25 * deviation
        assert 0.8 < filled[name].std() / deviation < 1.2
    # two columns that almost determine each other do so in filled rows
    row["z"] = np.nan
    row["bent"] = row["branch"] = np.nan
    filled = network.impute(
        pd.concat([row.assign(x=np.nan, y=np.nan)] * 500, ignore_index=True), random_state=1
    )
    drawn = network.sample(4000, random_state=2, values="numbers")
    spread, expected = (
        np.diff(np.quantile(rows["y"] - rows["x"], [0.1, 0.9]))[0] for rows in (filled, drawn)
    )
    assert 0.8 < spread / expected < 1.25


def test_loosely_bound_cells_are_filled_as_fine_grids_say(network, frame, monkeypatch):
    def no_rounds(engine, evidence, *given):
        assert not len(evidence)
        return iter(())

    # neither cells nor draws of single rows are needed
    monkeypatch.setattr(cell_engine.CellEngine, "rounds", no_rounds)
    row = frame.sample(1, random_state=3).astype({"k": object})
    row["branch"] = row["x"] = np.nan
    row[["y", "z"]] = np.nan
    filled = network.impute(pd.concat([row] * 1500, ignore_index=True), random_state=1)
    drawn = network.sample(40_000, random_state=2, values="numbers")
    near = drawn[(drawn["bent"] - row["bent"].iloc[0]).abs() < 0.05]
    near = near[near["k"].astype(int) == int(row["k"].iloc[0])]
    assert len(near) > 200
    for name in ("x", "branch", "z"):
        apart = np.abs(np.quantile(filled[name], [0.1, 0.5, 0.9]) - np.quantile(near[name], [0.1, 0.5, 0.9]))
        assert apart.max() < 0.25 * near[name].std()
    # what is drawn together belongs together
    assert abs(filled["x"].corr(filled["z"]) - near["x"].corr(near["z"])) < 0.02


@pytest.fixture(scope="module")
def tight() -> DiscretizedBayesNet:
    """Return a network of three causes of a column that its last one almost determines, and of one that is loose."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["a", "b", "c"])
    frame["loose"] = frame["a"] - frame["b"] + frame["c"] + rng.normal(size=1500)
    frame["cause"] = frame["a"] + frame["b"] + frame["c"] + rng.normal(size=1500)
    frame["effect"] = frame["cause"] + 0.01 * rng.normal(size=1500)
    edges = [(name, child) for name in "abc" for child in ("loose", "cause")]
    cuts = {str(c): np.quantile(frame[c], [0.2, 0.4, 0.6, 0.8]) for c in frame}
    by_tables = DiscretizedBayesNet.from_table(frame, [*edges, ("cause", "effect")], cuts)
    return average_families(by_tables, frame, n_copies=1)


def test_a_cause_that_is_missing_with_others_is_drawn_next_to_its_effect(tight):
    drawn = tight.sample(40, random_state=1, values="numbers")
    filled = tight.impute(drawn.assign(a=np.nan, b=np.nan, c=np.nan, cause=np.nan), random_state=1)
    apart, expected = ((rows["cause"] - rows["effect"]).abs() for rows in (filled, drawn))
    assert apart.max() < 3 * expected.max()
    # and the others next to it
    assert filled[["a", "b", "c"]].sum(axis=1).corr(filled["cause"]) > 0.75


def test_rows_that_lack_different_cells_keep_the_correlations(tight):
    drawn = tight.sample(400, random_state=2, values="numbers")
    gaps = drawn.mask(np.random.default_rng(3).random(drawn.shape) < 0.4)
    assert len(np.unique(gaps.isna().to_numpy(), axis=0)) > 40
    filled = tight.impute(gaps, random_state=1)
    np.testing.assert_array_equal(filled.to_numpy()[gaps.notna()], gaps.to_numpy()[gaps.notna()])
    np.testing.assert_allclose(filled.corr(), drawn.corr(), atol=0.12)


def test_rough_log_densities_add_up_to_exact_ones(tight):
    drawn = tight.sample(300, random_state=2, values="numbers")
    gaps = drawn.mask(np.random.default_rng(3).random(drawn.shape) < 0.4)
    gaps = gaps[gaps.notna().any(axis=1)]
    rough = log_density(
        cell_engine.CellEngine(tight, cell_engine.OF_ROWS, is_rough=True), gaps, None, (), "points"
    )
    apart = rough - tight.log_density(gaps)
    assert abs(apart.sum()) < 5
    assert 1e-6 < np.abs(apart).max() < 2


def test_rows_have_no_many_draws_once_it_is_late(network, frame, monkeypatch):
    monkeypatch.setattr(cell_engine, "_MOST_ROUNDS", 2)
    monkeypatch.setattr(cell_engine, "_MOST_DIFFERENCE", 0.0)
    monkeypatch.setattr(cell_engine, "_WORTH_OF_DRAW", np.inf)
    many: list[int] = []
    weighted = cell_engine.CellEngine._weighted_draws

    def counted(engine: Any, evidence: Any, wanted: Any, n: int, generator: Any) -> Any:
        if n == cell_engine._DRAWS_OF_UNSETTLED:
            many.append(len(evidence))
        return weighted(engine, evidence, wanted, n, generator)

    monkeypatch.setattr(cell_engine.CellEngine, "_weighted_draws", counted)
    gaps = frame.sample(6, random_state=1).reset_index(drop=True).assign(x=np.nan, y=np.nan)
    late = impute(engine_for(network), gaps, "draw", np.random.default_rng(1), is_late=lambda: True)
    assert not many
    assert not late.isna().to_numpy().any()
    impute(engine_for(network), gaps, "draw", np.random.default_rng(1))
    assert sum(many) == 6


def test_answers_that_fall_short_say_so(network, frame, monkeypatch):
    rows = frame.sample(4, random_state=1).reset_index(drop=True)
    gaps = rows.assign(y=np.where(rows.index == 2, rows["y"], np.nan))
    assert "coarse_rows" not in network.predict_interval(gaps, "z").attrs
    monkeypatch.setattr(cell_engine, "_MOST_ROUNDS", 2)
    monkeypatch.setattr(cell_engine, "_LEAST_DRAWS", np.inf)
    for answer in (
        lambda: network.predict(gaps, "z"),
        lambda: network.predict_interval(gaps, "z"),
        lambda: network.predict_proba(gaps, "z"),
        lambda: network.impute(gaps.assign(z=np.nan), "mean"),
    ):
        with pytest.warns(GomeaBnWarning, match=r"'z'.* coarse in 3 rows .*rows 0, 1, 3") as caught:
            attrs = answer().attrs
        assert len(caught) == 1
        assert attrs["coarse_rows"] == [0, 1, 3]
        assert attrs["resolution_error"] > 0.05


@pytest.mark.long
def test_every_round_has_room_for_its_plan(monkeypatch):
    frame = load_wine(as_frame=True).frame
    network = BayesNetLearner(max_evaluations=20_000, random_state=1).fit(frame).network_
    answered = elimination.Part.marginals
    rooms = []

    def checked(part: elimination.Part) -> Any:
        costs = np.zeros((len(part.batch.patterns), 3))
        plan = elimination.empty_plan(len(part.model.cards))
        elimination.kernels.plan_costs(part.model, part.batch, True, plan, costs)
        rooms.append(len(part.plan.work))
        assert costs[np.unique(part.batch.pattern_of), 1].max() <= rooms[-1]
        return answered(part)

    monkeypatch.setattr(elimination.Part, "marginals", checked)
    network.predict(frame.mask(np.random.default_rng(0).random(frame.shape) < 0.2), "target")
    # rounds with other numbers of cells have other plans
    assert len(set(rooms)) > 1
