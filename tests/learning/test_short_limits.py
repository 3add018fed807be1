"""Preparation of a table whose time is over: libraries begin with few bins, and every part is short."""

import numpy as np
import pandas as pd
import pytest
from option_examples import table_problem

from gomea_bn import BayesNetLearner, ParetoBayesNetLearner, read_table
from gomea_bn.data import Table
from gomea_bn.runtime import NO_LIMIT, FitClock


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(2)
    x = rng.normal(size=400)
    y = x + rng.normal(scale=0.5, size=400)
    return read_table({"x": x, "y": y, "z": np.exp(y), "k": np.where(x > 0, "a", "b")})


def bins_of(table: Table, clock: FitClock, **options: object) -> list[int]:
    """The numbers of bins of the first policies of all continuous columns."""
    problem = table_problem(table, curves="none", **options, clock=clock)
    return [policy.n_bins for variable in problem.scorer.variables for policy in variable.policies]


def test_libraries_of_priced_cuts_begin_with_few_bins_when_time_is_up(table):
    assert bins_of(table, FitClock(0.0)) == 3 * [2, 3, 4, 5]
    assert bins_of(table, FitClock(0.0), max_bins=3) == 3 * [2, 3]
    assert max(bins_of(table, NO_LIMIT)) == 15


def test_libraries_of_bins_that_the_search_chooses_stay_whole(table):
    clocks = FitClock(0.0), NO_LIMIT
    late, whole = (bins_of(table, clock, discretizer="equal-frequency") for clock in clocks)
    assert late == whole


@pytest.mark.parametrize("kind", [BayesNetLearner, ParetoBayesNetLearner])
def test_a_limit_that_is_over_before_the_search_gives_networks_of_all_rows(kind):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(3_000, 12)).cumsum(axis=1))
    kind(max_seconds=0.3, sample_rows=1_000, random_state=1).fit(frame)
    with pytest.warns(UserWarning, match="time limit is short"):
        fitted = kind(max_seconds=0.001, sample_rows=2_000, random_state=1).fit(frame)
    assert fitted.statistics_["preparation_cut_short"] == 1
    network = fitted.network_ if kind is BayesNetLearner else fitted.front_.knee().network
    assert len(network.names) == 12
    assert fitted.table_.n_rows == 3_000
