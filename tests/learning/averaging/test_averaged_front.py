"""Misfits of the networks of a front with averaged families."""

import numpy as np
import pandas as pd
import pytest
from averaged_examples import conditionals_of

from gomea_bn import DiscretizedBayesNet, Front, GomeaBnError, average_families, averaged_misfits, read_table
from gomea_bn.data import Table
from gomea_bn.front import MISFIT
from gomea_bn.problems.cuts import equal_frequency_cuts


def rows_of(seed: int, n: int = 120) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    return pd.DataFrame({"x": x, "y": x + 0.1 * rng.uniform(-1, 1, n)})


TABLE = read_table(rows_of(0))


def front_of(table: Table | None) -> Front:
    """Return a front of two networks, with an edge and without."""
    cuts = {column.name: equal_frequency_cuts(column.values, 3) for column in TABLE.columns}
    networks = [DiscretizedBayesNet.from_table(TABLE, edges, cuts) for edges in ([("x", "y")], [])]
    return Front(
        [MISFIT], [[-network.score(TABLE.to_frame())] for network in networks], networks, table=table
    )


def test_misfits_are_those_of_the_networks_and_of_their_averages() -> None:
    front, test = front_of(TABLE), rows_of(1)
    averages = [average_families(each.network, TABLE, n_copies=3, random_state=5) for each in front]
    for scored, given in ((TABLE.to_frame(), None), (test, test)):
        misfits = averaged_misfits(front, test=given, n_copies=3, random_state=5)
        assert misfits.index.tolist() == [0, 1]
        assert misfits.index.name == "id"
        for averaged, (number, row) in zip(averages, misfits.iterrows(), strict=True):
            network = front.network(int(str(number)))
            assert row["misfit"] == pytest.approx(-network.score(scored))
            assert row["averaged_misfit"] == pytest.approx(-averaged.score(scored))
            assert row["line_weight"] == conditionals_of(averaged).mean_line_weight(averaged)
    assert misfits["line_weight"].tolist()[0] > 0.8
    assert misfits["line_weight"].tolist()[1] == 0.0
    assert misfits["averaged_misfit"][0] < misfits["misfit"][0]
    # the front stays
    assert front.names == ("misfit",)


def test_some_networks_and_given_rows() -> None:
    whole = averaged_misfits(front_of(TABLE), n_copies=2, line="none")
    some = averaged_misfits(front_of(None), TABLE.to_frame(), ids=[-1], n_copies=2, line="none")
    pd.testing.assert_frame_equal(some, whole[1:])
    assert whole["line_weight"].tolist() == [0.0, 0.0]


def test_fronts_without_rows_and_unknown_ids_are_refused() -> None:
    with pytest.raises(
        GomeaBnError, match="This front has no rows; pass the table that it was learned from as data"
    ):
        averaged_misfits(front_of(None))
    with pytest.raises(GomeaBnError, match="index must be one of the front's networks 0 to 1, got 2"):
        averaged_misfits(front_of(TABLE), ids=[2])
    with pytest.raises(GomeaBnError, match="line must be one of"):
        averaged_misfits(front_of(TABLE), line="yes")
