"""The prior of amounts of levels: one width in log odds or logarithms of means, however many rows a level has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gomea_bn import fit_shape
from gomea_bn.learning.averaging.effects_fit import Design
from gomea_bn.learning.averaging.logit_fit import LogitRows, fitted_counts, fitted_logit
from gomea_bn.network.conditionals import ColumnFacts, Columns, ProbabilityScale, indicators, log_levels
from gomea_bn.problems import LevelFunctions

Values = NDArray[np.float64]
N_ROWS = np.array([300, 200, 100, 30, 6, 1])
EFFECTS = np.array([0.0, 0.8, -0.8, 1.2, -1.2, 0.0])
WARDS = np.repeat(np.arange(len(N_ROWS)), N_ROWS)


def design_of(order: NDArray[np.int64]) -> Design:
    """Return the indicators of the wards that the search scores, of which ward g has the number ``order[g]``."""
    wards = order[WARDS]
    levels = LevelFunctions(wards.astype(np.int32), len(order))
    functions = indicators(["g"], [len(order)]).combined(levels.matrix)
    columns = functions.at(wards)
    means = columns.mean(axis=0)
    return Design((functions,), (), (), columns - means, means, np.ones(len(order)))


def levels_of(n_levels: int) -> NDArray[np.int64]:
    """Return levels that follow the wards, the last one in the ward of one row."""
    generator = np.random.default_rng(n_levels)
    of_levels = np.linspace(-1, 1, n_levels) * EFFECTS[WARDS, None] + generator.gumbel(
        size=(len(WARDS), n_levels)
    )
    levels = of_levels.argmax(axis=1)
    levels[-1] = n_levels - 1
    return levels


def logit_of(levels: NDArray[np.int64], n_levels: int, order: NDArray[np.int64], *, has_several: bool) -> Any:
    member = fitted_logit(LogitRows(levels, n_levels, design_of(order), has_several), (), ("g",), {})
    assert member is not None
    return member.fitted


def parts_of(logit: Any, order: NDArray[np.int64]) -> tuple[Values, Values]:
    """Return the amounts of the wards, (n_indices, n_wards), and the log probabilities of levels in all rows."""
    coefficients = np.atleast_2d(logit.coefficients)
    amounts = coefficients[:, 1:] @ logit.terms.functions[0].at(order).T
    logs = log_levels((coefficients[:, :1] + amounts)[:, WARDS], logit.constants, logit.positions)
    return amounts, logs


def of_wards(values: Values) -> Values:
    return np.asarray(np.bincount(WARDS, values, len(N_ROWS)), np.float64)


@pytest.mark.parametrize("n_levels", [2, 3])
def test_log_odds_of_outer_levels_have_one_width(n_levels: int) -> None:
    levels, order = levels_of(n_levels), np.arange(len(N_ROWS))
    logit = logit_of(levels, n_levels, order, has_several=False)
    [amounts], logs = parts_of(logit, order)
    positions = logit.positions[0]
    # where the posterior is greatest, what the rows of a level say is as far as the prior lets it move
    said = of_wards(positions[levels] - np.exp(logs) @ positions) / np.ptp(positions)
    widths = said / (0.25 * amounts * np.ptp(positions))
    assert 1 / 16 <= widths[-1] <= 4
    np.testing.assert_allclose(widths, widths[-1], rtol=0.05)


def test_log_odds_of_each_level_have_one_width_also_next_to_a_level_without_rows() -> None:
    levels, order = levels_of(4), np.arange(len(N_ROWS))
    amounts, logs = parts_of(logit_of(levels, 4, order, has_several=True), order)
    said = np.array([of_wards((levels == k) - np.exp(logs[:, k])) for k in range(4)])
    width = said[0, -1] / (0.5 * amounts[0, -1])
    assert 1 / 16 <= width <= 4
    np.testing.assert_allclose(said, width * 0.5 * amounts, atol=0.05)
    further, _ = parts_of(logit_of(levels, 6, order, has_several=True), order)
    np.testing.assert_allclose(
        further[:4] - further[:4].mean(axis=0), amounts - amounts.mean(axis=0), atol=0.01
    )


@pytest.mark.parametrize("has_several", [False, True])
def test_other_numbers_of_levels_and_a_reversed_child_change_no_probability(has_several: bool) -> None:
    levels, order = levels_of(3), np.arange(len(N_ROWS))
    renamed = np.array([3, 0, 5, 1, 4, 2])
    _, logs = parts_of(logit_of(levels, 3, order, has_several=has_several), order)
    _, others = parts_of(logit_of(levels, 3, renamed, has_several=has_several), renamed)
    _, turned = parts_of(logit_of(2 - levels, 3, order, has_several=has_several), order)
    np.testing.assert_allclose(np.exp(others), np.exp(logs), atol=5e-3)
    np.testing.assert_allclose(np.exp(turned[:, ::-1]), np.exp(logs), atol=5e-3)


def test_logarithms_of_means_have_one_width() -> None:
    generator, order = np.random.default_rng(1), np.arange(len(N_ROWS))
    y = generator.poisson(3 * np.exp(0.4 * EFFECTS[WARDS])).astype(float)
    y[-1] = 12
    scale = ProbabilityScale(fit_shape(y).shape, len(y))
    facts = ColumnFacts({"y": (0.0, y.max())}, {}, {}, {False: {"y": scale}, True: {"y": scale}})
    counts: Any = fitted_counts(design_of(order), "y", (), ("g",), Columns({"y": y}), {}, facts).fitted
    coefficients = np.asarray(counts.coefficients).ravel()
    amounts = counts.terms.functions[0].at(order) @ coefficients[1:]
    means = np.exp(coefficients[0] + amounts[WARDS])
    widths = of_wards((y - means) / (1 + counts.dispersion * means)) / (4 * amounts)
    assert 1 / 16 <= widths[-1] <= 4
    np.testing.assert_allclose(widths, widths[-1], rtol=0.05)
