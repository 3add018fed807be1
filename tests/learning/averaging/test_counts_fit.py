"""Whether counts keep their logarithmic means, and what rows that are left out of a fit are predicted to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of
from learning_inside import design_of_terms
from numpy.typing import NDArray
from scipy.stats import poisson

from gomea_bn import BayesNetLearner, DiscretizedBayesNet, average_families, fit_shape
from gomea_bn.learning.averaging import Member
from gomea_bn.learning.averaging.logit_fit import fitted_counts
from gomea_bn.network.conditionals import (
    ColumnFacts,
    Columns,
    FamilyCounts,
    LineScale,
    ProbabilityScale,
    Terms,
    UnitScale,
    broken_line,
)

TERMS = Terms((broken_line("x", np.array([-5.0, 5.0]), in_units=False),))


def rows_of(n_rows: int, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    x = np.clip(generator.normal(size=n_rows), -3, 3)
    return pd.DataFrame({"x": x, "y": generator.poisson(4 * np.exp(0.5 * x))})


def member_of(frame: pd.DataFrame, rows: NDArray[np.int64]) -> tuple[Member, ColumnFacts]:
    """Return the fit to some rows, with the shape of all."""
    y = frame["y"].to_numpy(float)
    scales: dict[str, LineScale] = {
        "x": UnitScale(0.0, 1.0, (-99.0, 99.0)),
        "y": ProbabilityScale(fit_shape(y).shape, len(y)),
    }
    facts = ColumnFacts({"x": (-3.0, 3.0), "y": (0.0, y.max())}, {}, {}, {False: scales, True: scales})
    columns = Columns({name: frame[name].to_numpy(float)[rows] for name in ("x", "y")})
    design = design_of_terms(TERMS, np.ones(TERMS.n_terms), columns, facts.scales, {})
    places = {"x": columns.positions("x", scales["x"])}
    return fitted_counts(design, "y", ("x",), (), columns, places, facts), facts


def test_rows_are_predicted_as_by_fits_without_them() -> None:
    frame, every = rows_of(80), np.arange(80)
    fitted, facts = member_of(frame, every)
    columns = Columns({name: frame[name].to_numpy(float) for name in ("x", "y")})
    inside = fitted.fitted.given("y", facts).log_density(columns)[0]
    without = [member_of(frame, np.delete(every, row))[0].fitted for row in range(40)]
    exact = np.array([one.given("y", facts).log_density(columns)[0][row] for row, one in enumerate(without)])
    optimism = inside[:40].mean() - exact.mean()
    assert optimism > 0
    # to first order, and the dispersion is that of all rows
    assert fitted.left_out[:40].mean() == pytest.approx(exact.mean(), abs=0.5 * optimism)
    assert np.corrcoef(fitted.left_out[:40], exact)[0, 1] > 0.99


@pytest.fixture(scope="module")
def network() -> DiscretizedBayesNet:
    learner = BayesNetLearner(max_evaluations=200, max_seconds=None, random_state=1)
    return learner.fit(rows_of(1000)).network_


def test_a_law_of_counts_is_found_and_kept(network: DiscretizedBayesNet) -> None:
    assert network.edges == [("x", "y")]
    (_, counts), *_ = conditionals_of(network).stacks["y"].members
    assert isinstance(counts, FamilyCounts)
    assert counts.dispersion <= 1 / 32
    assert "a count with" in network.summary()


def test_new_rows_are_predicted_about_as_by_the_law(network: DiscretizedBayesNet) -> None:
    test = rows_of(3000, 1)
    test["y"] = test["y"].clip(upper=network.support["y"][1])
    logs = network.log_density_terms(test)["y"]
    law = poisson(4 * np.exp(0.5 * test["x"])).logpmf(test["y"])
    assert law.mean() - logs.mean() < 0.02
    tables = average_families(network, rows_of(1000), line="none").log_density_terms(test)["y"]
    assert logs.mean() > tables.mean() + 0.02


def test_answers_are_those_of_the_law(network: DiscretizedBayesNet) -> None:
    drawn = network.sample(4000, 1, evidence={"x": 1.0})["y"]
    assert (drawn == drawn.round()).all()
    assert drawn.mean() == pytest.approx(4 * np.exp(0.5), rel=0.04)
    assert drawn.var() == pytest.approx(4 * np.exp(0.5), rel=0.15)
