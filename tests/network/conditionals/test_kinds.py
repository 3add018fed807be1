"""What holds for every kind of conditional: masses, draws, files, and rows that are added."""

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
    random_conditionals_network,
    random_rows,
    with_levels,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from scipy.stats import chisquare

from gomea_bn import DiscretizedBayesNet
from gomea_bn.network.conditionals.kind import Fitted, FurtherRows
from gomea_bn.network.conditionals.kinds import KINDS, fitted_from_content
from gomea_bn.network.conditionals.scales import Columns

SEEDS = st.integers(0, 5000)
all_kinds = pytest.mark.parametrize(
    "kind", [None, *KINDS], ids=lambda kind: "tables" if kind is None else kind.__name__
)
kinds_alone = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def test_every_kind_has_a_random_example():
    assert set(RANDOM_KINDS) == set(KINDS)


def cuts_inside(network: DiscretizedBayesNet, seed: int, n: int) -> NDArray[np.float64] | None:
    """Return random cuts of "y", with its point masses; None for levels."""
    if "y" in network.levels:
        return None
    low, high = network.support["y"]
    points = network.shapes["y"].point_values if "y" in network.shapes else np.empty(0)
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
        return densities(np.arange(len(network.levels["y"])))
    known, (low, high) = conditionals_of(network), network.support["y"]
    of_copies = [tables.cut_points["y"] for tables in known.copies]
    breaks = np.unique(np.concatenate([[low, high], cuts, known.scales["y"].edges, *of_copies]))
    breaks = np.unique(np.concatenate([np.linspace(a, b, 49) for a, b in itertools.pairwise(breaks)]))
    places, weights = np.polynomial.legendre.leggauss(24)
    half = np.diff(breaks)[:, None] / 2
    values = (breaks[:-1, None] + half + half * places).ravel()
    masses = densities(values) * (half * weights).ravel()
    points = network.shapes["y"].point_values if "y" in network.shapes else np.empty(0)
    everything = np.concatenate([values, points])
    cells = [sum(cut < value for cut in cuts.tolist()) for value in everything.tolist()]
    masses = np.concatenate([masses, densities(points)])
    return np.asarray(np.bincount(cells, masses, len(cuts) + 1), np.float64)


@all_kinds
@given(SEEDS)
def test_masses_are_integrals_of_the_density(kind, seed):
    network = random_conditionals_network(seed, kind)
    cuts, rows = cuts_inside(network, seed, 3), random_rows(network, 2, seed)
    masses = network.families["y"].masses(cuts, Columns(rows))
    assert_allclose(masses.sum(axis=-1), 1.0, rtol=1e-12)
    assert (masses >= 0).all()
    for k in range(2):
        assert_allclose(masses[k], integrals(network, cuts, {n: rows[n][k] for n in PARENTS}), atol=2e-4)


@all_kinds
@given(SEEDS)
def test_values_that_broadcast_have_the_densities_of_rows(kind, seed):
    network = random_conditionals_network(seed, kind)
    family, rows = network.families["y"], random_rows(network, 4, seed)
    own = random_rows(network, 5, seed + 1)["y"]
    cuts = network.cut_points.get("y")
    grid = Columns({**{name: rows[name][:, None] for name in PARENTS}, "y": own[None, :]})
    repeated = Columns({**{name: np.repeat(rows[name], 5) for name in PARENTS}, "y": np.tile(own, 4)})
    assert_allclose(family.log_density(grid).ravel(), family.log_density(repeated), rtol=1e-12)
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
def test_finer_cells_add_up(kind, seed):
    network = random_conditionals_network(seed, kind)
    if "y" in network.levels:
        return
    family, columns = network.families["y"], Columns(random_rows(network, 3, seed))
    fine = np.sort(np.random.default_rng(seed).uniform(*network.support["y"], 5))
    parts = family.masses(fine, columns)
    whole = family.masses(fine[[1, 3]], columns)
    assert_allclose(np.add.reduceat(parts, [0, 2, 4], axis=-1), whole, rtol=1e-9, atol=1e-12)


@all_kinds
@pytest.mark.parametrize("seed", range(12))
def test_draws_fall_into_cells_by_their_masses(kind, seed):
    network, n = random_conditionals_network(seed, kind), 3000
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
def test_files_and_pickles_keep_every_bit_of_the_densities(kind, seed):
    network = random_conditionals_network(seed, kind)
    frame = pd.DataFrame(with_levels(network, random_rows(network, 50, seed)))
    logs = network.log_density(frame)
    for again in (DiscretizedBayesNet.from_json(network.to_json()), pickle.loads(pickle.dumps(network))):
        assert again == network
        assert_array_equal(again.log_density(frame), logs)
        pd.testing.assert_frame_equal(again.sample(20, 1), network.sample(20, 1))
    for line in conditionals_of(network).lines.values():
        content = json.loads(json.dumps(line.to_content()))
        assert type(again_line := fitted_from_content(content)) is type(line)
        assert again_line.to_content() == content


def followed_by_y(network: DiscretizedBayesNet) -> Fitted:
    return conditionals_of(network).lines["y"]


def further_rows(
    network: DiscretizedBayesNet,
    rows: dict[str, NDArray[Any]],
    weights: NDArray[np.float64],
    old: float = 1.0,
) -> FurtherRows:
    known = conditionals_of(network)
    scales = known.line_scales(network.support)[followed_by_y(network).in_units]
    n_levels = {name: len(levels) for name, levels in network.levels.items()}
    return FurtherRows(
        Columns(rows),
        weights,
        old,
        50.0,
        known.n_rows,
        scales,
        n_levels,
        lambda: Columns(random_rows(network, 200, 1)),
    )


def masses_with(
    network: DiscretizedBayesNet, rows: FurtherRows, at: dict[str, NDArray[Any]]
) -> NDArray[np.float64]:
    """Return the probabilities of cells of "y" at values of the parents once its line has taken rows."""
    line = followed_by_y(network).with_rows("y", rows)
    changed = network.changed(conditionals=conditionals_of(network).changed(lines={"y": line}))
    return changed.families["y"].masses(network.cut_points.get("y"), Columns(at))


@kinds_alone
@given(SEEDS)
def test_rows_of_no_weight_change_nothing(kind, seed):
    network = random_conditionals_network(seed, kind)
    rows, at = random_rows(network, 20, seed), random_rows(network, 6, seed + 1)
    masses = network.families["y"].masses(network.cut_points.get("y"), Columns(at))
    assert_allclose(masses_with(network, further_rows(network, rows, np.zeros(20)), at), masses, atol=1e-9)


@kinds_alone
@given(SEEDS)
def test_added_rows_count_in_any_order_and_by_their_weights(kind, seed):
    network = random_conditionals_network(seed, kind)
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
def test_many_rows_of_one_value_draw_a_column_to_it(kind, seed):
    network = random_conditionals_network(seed, kind)
    one = {name: values[:1] for name, values in random_rows(network, 1, seed).items()}
    rows = {name: np.repeat(values, 30) for name, values in one.items()}
    line, cuts = followed_by_y(network), network.cut_points.get("y")
    before = np.ravel(network.families["y"].masses(cuts, Columns(one)))
    after = np.ravel(masses_with(network, further_rows(network, rows, np.full(30, 1e4)), one))
    cell = int(one["y"][0]) if cuts is None else int(np.searchsorted(cuts, one["y"][0]))
    # all but the share of the tables
    assert after[cell] >= min(before[cell], line.weight / 2) - 1e-9


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.can_leave_out])
@given(SEEDS)
def test_rows_that_are_left_out_are_less_likely(kind, seed):
    network = random_conditionals_network(seed, kind)
    rows = further_rows(network, random_rows(network, 40, seed), np.ones(40))
    # to these rows alone
    fitted = followed_by_y(network).with_rows("y", replace(rows, old=0.0))
    logs, _ = fitted.density("y", rows.scales, rows.n_levels).log_density(rows.columns, None)
    left_out = np.log(fitted.left_out("y", rows)[np.arange(40), rows.levels("y")])
    assert left_out.mean() < logs.mean()
