"""What holds for every kind of conditional, next to tables and alone: masses, draws, files, answers, added rows."""

import itertools
import json
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from conditional_oracles import (
    PARENTS,
    RANDOM_KINDS,
    SMOOTHING,
    random_conditionals_network,
    random_rows,
    with_levels,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.stats import chisquare

from gomea_bn import DiscretizedBayesNet, GomeaBnError
from gomea_bn.network.conditionals import (
    Columns,
    Family,
    FamilyCounts,
    FamilyTable,
    Fitted,
    FurtherRows,
    Stack,
)
from gomea_bn.network.conditionals.kinds import KINDS, fitted_from_content
from gomea_bn.plots.html import network_html

SEEDS = st.integers(0, 5000)
CASES = [(None, False), *itertools.product(KINDS, (False, True))]


def name_of(case: tuple[type[Fitted] | None, bool]) -> str:
    kind, alone = case
    return "tables" if kind is None else f"{kind.__name__}{' alone' if alone else ''}"


all_kinds = pytest.mark.parametrize("case", CASES, ids=name_of)
kinds_alone = pytest.mark.parametrize("case", [case for case in CASES if case[1]], ids=name_of)


def network_of(seed: int, case: tuple[type[Fitted] | None, bool]) -> DiscretizedBayesNet:
    return random_conditionals_network(seed, case[0], alone=case[1])


def stack_of(network: DiscretizedBayesNet) -> Stack:
    return conditionals_of(network).stacks["y"]


def points_of(network: DiscretizedBayesNet) -> NDArray[np.float64]:
    """Return the point masses of "y", among them a fixed value."""
    points = network.shapes["y"].point_values if "y" in network.shapes else np.empty(0)
    fixed = stack_of(network).fixed_value
    return points if fixed is None else np.union1d(points, [fixed])


def test_every_kind_has_a_random_example():
    assert set(RANDOM_KINDS) == set(KINDS)


def cuts_inside(network: DiscretizedBayesNet, seed: int, n: int) -> NDArray[np.float64] | None:
    """Return random cuts of "y", with its point masses; None for levels."""
    if "y" in network.levels:
        return None
    low, high = network.support["y"]
    points = points_of(network)
    inside = points[(points > low) & (points < high)]
    return np.unique(np.concatenate([np.random.default_rng(seed).uniform(low, high, n), inside]))


def integrals(
    network: DiscretizedBayesNet, cuts: NDArray[np.float64] | None, row: dict[str, NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the integral of the density of "y" over cells, with the probabilities of points, by Gauss' rule.

    Levels have their probabilities.
    """
    family = network.families["y"]

    def densities(values: NDArray[Any]) -> NDArray[np.float64]:
        parents = {name: np.broadcast_to(row[name], values.shape) for name in PARENTS}
        return np.exp(family.log_density(Columns({**parents, "y": values})))

    if cuts is None:
        return np.broadcast_to(densities(np.arange(len(network.levels["y"]))), len(network.levels["y"]))
    known, (low, high) = conditionals_of(network), network.support["y"]
    breaks = np.unique(np.concatenate([[low, high], cuts, known.scales["y"].edges, family.jumps("y")]))
    breaks = np.unique(np.concatenate([np.linspace(a, b, 49) for a, b in itertools.pairwise(breaks)]))
    places, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(breaks)[:, None] / 2
    values = (breaks[:-1, None] + half + half * places).ravel()
    masses = densities(values) * (half * weights).ravel()
    points = points_of(network)
    everything = np.concatenate([values, points])
    cells = [sum(cut < value for cut in cuts.tolist()) for value in everything.tolist()]
    masses = np.concatenate([masses, densities(points)])
    return np.asarray(np.bincount(cells, masses, len(cuts) + 1), np.float64)


@all_kinds
@given(SEEDS)
def test_masses_are_integrals_of_the_density(case, seed):
    network = network_of(seed, case)
    cuts, rows = cuts_inside(network, seed, 3), random_rows(network, 2, seed)
    masses = network.families["y"].masses(cuts, Columns(rows))
    assert_allclose(masses.sum(axis=-1), 1.0, rtol=1e-12)
    assert (masses >= 0).all()
    for k in range(2):
        of_row = masses if masses.ndim == 1 else masses[k]
        assert_allclose(of_row, integrals(network, cuts, {n: rows[n][k] for n in PARENTS}), atol=5e-4)


@all_kinds
@given(SEEDS)
def test_values_that_broadcast_have_the_densities_of_rows(case, seed):
    network = network_of(seed, case)
    family, rows = network.families["y"], random_rows(network, 4, seed)
    own = random_rows(network, 5, seed + 1)["y"]
    cuts = network.cut_points.get("y")
    grid = Columns({**{name: rows[name][:, None] for name in PARENTS}, "y": own[None, :]})
    repeated = Columns({**{name: np.repeat(rows[name], 5) for name in PARENTS}, "y": np.tile(own, 4)})
    assert_allclose(
        np.broadcast_to(family.log_density(grid), (4, 5)).ravel(), family.log_density(repeated), rtol=1e-12
    )
    # one parent along an axis of its own
    apart = Columns({"x": rows["x"][:, None, None], "w": rows["w"][:, None], "g": np.arange(3)})
    codes = np.indices((4, 4, 3)).reshape(3, -1)
    flat = Columns({"x": rows["x"][codes[0]], "w": rows["w"][codes[1]], "g": codes[2]})
    # an axis of a parent that no table has is left out
    of_flat = family.masses(cuts, flat)
    masses = np.broadcast_to(family.masses(cuts, apart), (4, 4, 3, of_flat.shape[-1]))
    assert_allclose(
        masses.reshape(48, -1), np.broadcast_to(of_flat, (48, of_flat.shape[-1])), rtol=1e-10, atol=1e-14
    )


@all_kinds
@given(SEEDS)
def test_finer_cells_add_up(case, seed):
    network = network_of(seed, case)
    if "y" in network.levels:
        return
    family, columns = network.families["y"], Columns(random_rows(network, 3, seed))
    fine = np.sort(np.random.default_rng(seed).uniform(*network.support["y"], 5))
    parts = family.masses(fine, columns)
    whole = family.masses(fine[[1, 3]], columns)
    assert_allclose(np.add.reduceat(parts, [0, 2, 4], axis=-1), whole, rtol=1e-9, atol=1e-12)


@all_kinds
@pytest.mark.parametrize("seed", range(12))
def test_draws_fall_into_cells_by_their_masses(case, seed):
    network, n = network_of(seed, case), 3000
    row = {name: values[:1] for name, values in random_rows(network, 1, seed).items()}
    columns = Columns({name: np.repeat(values, n) for name, values in row.items()})
    for name in network.names:
        family, cuts = network.families[name], network.cut_points.get(name)
        drawn = family.draw(columns, n, np.random.default_rng(seed))
        assert drawn.shape == (n,)
        if cuts is None:
            counts = np.bincount(drawn, minlength=3)
        else:
            low, high = network.support[name]
            assert low <= drawn.min() <= drawn.max() <= high
            counts = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
        masses = np.ravel(family.masses(cuts, Columns(row)))
        likely = masses > 1e-3
        assert counts[~likely].sum() <= 20
        expected = masses[likely] / masses[likely].sum() * counts[likely].sum()
        assert likely.sum() == 1 or chisquare(counts[likely], expected).pvalue > 1e-5, name


@all_kinds
@pytest.mark.parametrize("seed", range(6))
def test_files_and_pickles_keep_every_bit_of_the_densities(case, seed):
    network = network_of(seed, case)
    frame = pd.DataFrame(with_levels(network, random_rows(network, 50, seed)))
    logs = network.log_density(frame)
    for again in (DiscretizedBayesNet.from_json(network.to_json()), pickle.loads(pickle.dumps(network))):
        assert again == network
        assert_array_equal(again.log_density(frame), logs)
        pd.testing.assert_frame_equal(again.sample(20, 1), network.sample(20, 1))
    for _, fitted in stack_of(network).members:
        content = json.loads(json.dumps(fitted.to_content()))
        assert type(again_fitted := fitted_from_content(content)) is type(fitted)
        assert again_fitted.to_content() == content


@all_kinds
@pytest.mark.parametrize("seed", range(4))
def test_answers_are_sums_of_densities(case, seed):
    network = network_of(seed, case)
    rows = random_rows(network, 6, seed)
    frame = pd.DataFrame(with_levels(network, rows))
    masses = network.families["y"].masses(network.cut_points.get("y"), Columns(rows))
    masses = np.broadcast_to(masses, (6, masses.shape[-1]))
    # cells of a column do not follow its transformation
    transforms = [getattr(fitted, "transform", None) for _, fitted in stack_of(network).members]
    tolerance = 5e-4 if all(one is None for one in transforms) else 4e-3
    for k, row in enumerate(frame.drop(columns="y").to_dict("records")):
        assert_allclose(network.query("y", row).to_numpy(), masses[k], atol=tolerance)
    if (fixed := stack_of(network).fixed_value) is not None:
        # any other value is impossible
        frame["y"] = network.levels["y"][int(fixed)] if "y" in network.levels else fixed
    of_levels = [network.log_density(frame.assign(g=level)) for level in network.levels["g"]]
    logs = network.log_density(frame.assign(g=pd.Series([None] * 6, dtype=object)))
    assert_allclose(logs, np.logaddexp.reduce(of_levels, axis=0), rtol=1e-6, atol=1e-6)


@all_kinds
@pytest.mark.parametrize("seed", range(4))
def test_marginals_are_those_of_draws(case, seed):
    network = network_of(seed, case)
    codes = network.discretize(network.sample(20_000, 1, values="numbers"))["y"].to_numpy()
    shares = np.bincount(codes, minlength=network.cardinality("y")) / 20_000
    assert_allclose(network.query("y", {}).to_numpy(), shares, atol=0.02)
    if "y" not in network.levels:
        curve = network.conditional_density("y", {"x": network.support["x"][0], "w": 0.0, "g": "k"})
        total = np.trapezoid(curve.densities, curve.values) + sum(curve.points.values())
        assert total == pytest.approx(1.0, abs=0.02)


@all_kinds
@pytest.mark.parametrize("seed", range(2))
def test_networks_are_described_watched_and_updated(case, seed):
    network = network_of(seed, case)
    frame = network.sample(60, 2)
    assert repr(conditionals_of(network)) in (
        f"Conditionals({conditionals_of(network).n_sets} sets of cuts, {n} lines)" for n in (0, 1)
    )
    for _, fitted in stack_of(network).smooth:
        assert fitted.words in network.summary()
    assert "y" in network_html(network)
    report = network.drift(frame)
    assert np.isfinite(report[["log_loss", "expected"]]).all(axis=None)
    if not stack_of(network).takes_rows:
        with pytest.raises(GomeaBnError, match="does not hold the counts"):
            network.update(frame)
        return
    updated = network.update(frame)
    assert np.isfinite(updated.score(frame))
    assert updated.metadata["n_rows"] > 60
    assert DiscretizedBayesNet.from_json(updated.to_json()) == updated


def further_rows(
    network: DiscretizedBayesNet,
    rows: dict[str, NDArray[Any]],
    weights: NDArray[np.float64],
    old: float = 1.0,
) -> FurtherRows:
    known = conditionals_of(network)
    return FurtherRows(
        Columns(rows),
        weights,
        old,
        50.0,
        known.n_rows,
        network.families["y"].facts,
        SMOOTHING,
        lambda: Columns(random_rows(network, 200, 1)),
    )


def masses_with(
    network: DiscretizedBayesNet, rows: FurtherRows, at: dict[str, NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the probabilities of cells of "y" at values of the parents once its stack has taken rows."""
    if not stack_of(network).takes_rows:
        pytest.skip("it takes no rows")
    family = Family("y", stack_of(network).with_rows("y", rows), rows.facts)
    return family.masses(network.cut_points.get("y"), Columns(at))


@kinds_alone
@given(SEEDS)
def test_rows_of_no_weight_change_nothing(case, seed):
    network = network_of(seed, case)
    rows, at = random_rows(network, 20, seed), random_rows(network, 6, seed + 1)
    masses = network.families["y"].masses(network.cut_points.get("y"), Columns(at))
    assert_allclose(masses_with(network, further_rows(network, rows, np.zeros(20)), at), masses, atol=1e-9)


@kinds_alone
@given(SEEDS)
def test_added_rows_count_in_any_order_and_by_their_weights(case, seed):
    network = network_of(seed, case)
    rows, at = random_rows(network, 20, seed), random_rows(network, 6, seed + 1)
    order = np.random.default_rng(seed).permutation(20)
    backwards = {name: values[order] for name, values in rows.items()}
    repeated = {name: np.repeat(values, 2) for name, values in rows.items()}
    masses = masses_with(network, further_rows(network, rows, np.full(20, 2.0)), at)
    for others in (
        further_rows(network, backwards, np.full(20, 2.0)),
        further_rows(network, repeated, np.ones(40)),
    ):
        assert_allclose(masses_with(network, others, at), masses, atol=1e-7)


@kinds_alone
@given(SEEDS)
def test_many_rows_of_one_value_draw_a_column_to_it(case, seed):
    network = network_of(seed, case)
    one = {name: values[:1] for name, values in random_rows(network, 1, seed).items()}
    rows = {name: np.repeat(values, 30) for name, values in one.items()}
    cuts, family = network.cut_points.get("y"), network.families["y"]
    if cuts is not None and stack_of(network).n_sets:
        # all bins that hold the value, which tables spread rows over
        cuts = family.jumps("y")
        cuts = np.array(
            [cuts[cuts < one["y"]].min(initial=np.inf), cuts[cuts >= one["y"]].max(initial=-np.inf)]
        )
        cuts = np.sort(cuts[np.isfinite(cuts)])
    before = np.ravel(family.masses(cuts, Columns(one)))
    if not stack_of(network).takes_rows:
        pytest.skip("it takes no rows")
    if isinstance(stack_of(network).members[-1][1], FamilyCounts):
        pytest.skip("its mean decides how wide its noise is")
    taken = Family(
        "y", stack_of(network).with_rows("y", further_rows(network, rows, np.full(30, 1e4))), family.facts
    )
    after = np.ravel(taken.masses(cuts, Columns(one)))
    cell = int(one["y"][0]) if cuts is None else int(np.searchsorted(cuts, one["y"][0]))
    assert after[cell] >= min(before[cell], 0.45) - 1e-9


@kinds_alone
@given(SEEDS)
def test_rows_that_are_left_out_are_less_likely(case, seed):
    network = network_of(seed, case)
    rows = further_rows(network, random_rows(network, 40, seed), np.ones(40))
    if not stack_of(network).can_leave_out:
        pytest.skip("it leaves no rows out")
    # to these rows alone
    fitted = stack_of(network).with_rows("y", replace(rows, old=0.0))
    stacks = fitted, fitted.left_out("y", rows)
    logs, left_out = (Family("y", stack, rows.facts).log_density(rows.columns).mean() for stack in stacks)
    assert left_out < logs + 1e-12


@given(SEEDS)
def test_tables_that_leave_rows_out_are_those_before_they_took_them(seed):
    network = network_of(seed, (FamilyTable, True))
    rows, at = (
        further_rows(network, random_rows(network, 40, seed), np.ones(40)),
        random_rows(network, 6, seed),
    )
    again = stack_of(network).with_rows("y", rows).left_out("y", rows)
    logs = [Family("y", stack, rows.facts).log_density(Columns(at)) for stack in (again, stack_of(network))]
    assert_allclose(logs[0], logs[1], rtol=1e-12)
