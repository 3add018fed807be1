"""Numbers of bins that refinement may choose."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gomea_bn import DiscretizedBayesNet, read_table, refine_boundaries
from gomea_bn.data.table import Table
from gomea_bn.learning.options import automatic_bins


def steps(n_steps: int, n_rows: int) -> Table:
    """A column in as many clear steps of its parent."""
    rng = np.random.default_rng(n_steps)
    x = rng.uniform(size=n_rows)
    return read_table(pd.DataFrame({"x": x, "y": np.floor(x * n_steps) + 0.2 * rng.uniform(size=n_rows)}))


def network(table: Table, n_bins: int) -> DiscretizedBayesNet:
    """A network whose cuts are next to the steps."""
    x = (np.arange(1, n_bins) + 0.3) / n_bins
    return DiscretizedBayesNet.from_table(table, [("x", "y")], {"x": x, "y": np.arange(1, n_bins) - 0.3})


def test_free_numbers_of_bins_grow_with_the_rows_as_in_learning() -> None:
    table = steps(20, 3000)
    start = network(table, 20)
    refined = refine_boundaries(start, table, bin_counts="free")
    assert refined.network.cardinality("y") > 20
    most = automatic_bins(3000)
    assert refine_boundaries(start, table, bin_counts="free", max_bins=most).network == refined.network
    few = refine_boundaries(start, table, bin_counts="free", max_bins=15)
    assert refined.score_after > few.score_after + 100


def test_a_network_with_more_bins_keeps_them_where_they_pay() -> None:
    table = steps(28, 4000)
    assert automatic_bins(4000) < 28
    start = network(table, 28)
    refined = refine_boundaries(start, table, bin_counts="free")
    assert refined.network.cardinality("y") == 28
    assert refined.score_after > refined.score_before + 1000
    assert refine_boundaries(start, table, bin_counts="free", max_bins=28).network == refined.network


@pytest.mark.parametrize("n_rows", [100, 3000])
def test_a_discretizer_may_make_as_many_bins_as_a_learner_allows(
    monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> None:
    table = steps(4, n_rows)
    seen = []

    def recorded(name: str, **options: int) -> object:
        seen.append(options["max_bins"])
        return proposer(name, **options)

    from gomea_bn.learning.cuts import refinement

    proposer = refinement.proposer
    monkeypatch.setattr(refinement, "proposer", recorded)
    refine_boundaries(network(table, 4), table, "equal-frequency")
    assert seen == [automatic_bins(n_rows)]
