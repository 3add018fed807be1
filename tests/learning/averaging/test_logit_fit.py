"""Whether discrete columns follow logits, and what rows that are left out of their fit are predicted to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from numpy.typing import NDArray

from gomea_bn import DiscretizedBayesNet, average_families
from gomea_bn.learning.averaging.logit_fit import LogitRows, best_logit
from gomea_bn.network.conditionals import FamilyLogit, Stack
from gomea_bn.network.conditionals.family_logit import log_levels, logit_design


def some_rows(n_rows: int, n_levels: int, seed: int = 0) -> LogitRows:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n_rows, 2))
    g = generator.integers(0, 3, n_rows)
    noisy = 2 * x[:, 0] - x[:, 1] + np.array([0.0, 1.0, -1.0])[g] + generator.logistic(size=n_rows)
    levels = np.searchsorted(np.quantile(noisy, np.arange(1, n_levels) / n_levels), noisy)
    return LogitRows(levels, n_levels, x, [g], [3])


def logs_of(rows: LogitRows, fitted: object, of: LogitRows) -> NDArray[np.float64]:
    """Return the log probabilities of some rows under the logit that was fitted to others."""
    found = best_logit(rows) if fitted is None else fitted
    assert found is not None
    design = logit_design(found.terms.of_rows(of.parents), of.groups, of.n_group_levels)  # type: ignore[attr-defined]
    logs = log_levels(design @ found.slopes, found.constants, found.positions)  # type: ignore[attr-defined]
    return np.asarray(logs[np.arange(len(of.levels)), of.levels], np.float64)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_rows_are_predicted_as_by_fits_without_them(n_levels: int) -> None:
    rows = some_rows(150, n_levels)
    fitted = best_logit(rows)
    assert fitted is not None
    left_out = []
    for row in range(60):
        others, one = np.delete(np.arange(150), row), np.array([row])
        left_out.append(logs_of(rows.some(others), None, rows.some(one))[0])
    inside = logs_of(rows, fitted, rows)[:60]
    optimism = inside.mean() - np.mean(left_out)
    assert optimism > 0
    # to first order
    assert fitted.left_out[:60].mean() == pytest.approx(np.mean(left_out), abs=0.25 * optimism)
    assert np.corrcoef(fitted.left_out[:60], left_out)[0, 1] > 0.99


def test_levels_are_as_frequent_as_in_the_rows_wherever_the_parents_lie() -> None:
    rows = some_rows(500, 3)
    moved = LogitRows(rows.levels, 3, rows.parents + 5.0, rows.groups, rows.n_group_levels)
    fitted = best_logit(moved)
    assert fitted is not None
    design = logit_design(fitted.terms.of_rows(moved.parents), moved.groups, moved.n_group_levels)
    shares = np.exp(log_levels(design @ fitted.slopes, fitted.constants, fitted.positions)).mean(axis=0)
    np.testing.assert_allclose(shares, np.bincount(rows.levels) / 500, atol=0.01)


def test_logits_need_a_column_of_two_to_eight_levels() -> None:
    rows = some_rows(400, 9)
    assert best_logit(rows) is None
    one = LogitRows(np.zeros(400, np.int64), 2, rows.parents, rows.groups, rows.n_group_levels)
    assert best_logit(one) is None


def test_a_level_without_rows_keeps_the_probability_of_half_a_row() -> None:
    rows = some_rows(200, 2)
    fitted = best_logit(LogitRows(2 * rows.levels, 4, rows.parents, rows.groups, rows.n_group_levels))
    assert fitted is not None
    logs = log_levels(np.zeros(1), fitted.constants, fitted.positions)[0]
    assert 0 < np.exp(logs[1]) < 0.01
    assert np.exp(logs[1]) == pytest.approx(np.exp(logs[3]))


def stack_of(x: NDArray[np.float64], codes: NDArray[np.int64], **options: object) -> Stack:
    frame = pd.DataFrame({"x": x, "k": pd.Categorical(codes.astype(str))})
    cuts = {"x": np.quantile(x, [1 / 3, 2 / 3])}
    network = DiscretizedBayesNet.from_table(frame, [("x", "k")], cuts, pseudo_count=1.0)
    return conditionals_of(average_families(network, frame, n_copies=2, **options)).stacks["k"]  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_columns_that_do_not_depend_have_no_logit(seed: int) -> None:
    generator = np.random.default_rng(seed)
    assert not stack_of(generator.normal(size=600), generator.integers(0, 2, 600)).smooth


def test_steps_stay_tables_and_slopes_become_logits() -> None:
    generator = np.random.default_rng(0)
    x = generator.normal(size=2_000)
    p = np.where(x > np.quantile(x, 2 / 3), 0.8, 0.2)
    of_step = stack_of(x, (generator.random(2_000) < p).astype(np.int64))
    assert of_step.smooth_weight < 0.5
    rows = (generator.logistic(size=2_000) < 6 * x).astype(np.int64)
    [(weight, of_slope)] = stack_of(x, rows).smooth
    assert isinstance(of_slope, FamilyLogit)
    assert weight > 0.6
    assert of_slope.words == "a logit of a line"
    assert not of_slope.in_units
    assert not stack_of(x, rows, line="none").smooth
